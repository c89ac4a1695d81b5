package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
)

// turn is a rotation about (1, 1, 1) by 60°, and move a translation.
var (
	turn = [3][3]float64{{2. / 3, -1. / 3, 2. / 3}, {2. / 3, 2. / 3, -1. / 3}, {-1. / 3, 2. / 3, 2. / 3}}
	move = [3]float64{0.7, -0.4, 1.1}
)

// turned writes v turned, atoms as rows.
func turned(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := 0; i+3 <= len(v); i += 3 {
		for j, row := range turn {
			out[i+j] = row[0]*v[i] + row[1]*v[i+1] + row[2]*v[i+2]
		}
	}
	return out
}

// turnedRows is how many rows of data are turned.
const turnedRows = 8

// fixed returns what of the process sees how points of three coordinates an atom lie: a
// component of the set that changes when points turn or move, but for those that hold them in their place
// (placed), or a potential whose force does
// not turn along; "" if nothing does. It looks at rows x of data, and at them a tenth larger.
func fixed(p *langevin.Process, x []float64) string {
	d := p.Set.Dim()
	x = x[:min(len(x), turnedRows*d)]
	at := append([]float64(nil), x...)
	for _, v := range x {
		at = append(at, 1.1*v)
	}
	there := turned(at)
	for i := range there {
		there[i] += move[i%3]
	}
	names := constraint.Components(p.Set)
	before, after := constraint.Values(p.Set, at), constraint.Values(p.Set, there)
	seen := map[int]bool{}
	for i, v := range before {
		if !near(v, after[i], math.Abs(v)) {
			seen[i%len(names)] = true
		}
	}
	if c := placed(p.Set, x, seen); c >= 0 {
		return fmt.Sprintf("component %q of the set", names[c])
	}
	if f := p.Potential; f != nil {
		n := len(at) / d
		before, after := make([]float64, len(at)), make([]float64, len(at))
		f.Gradient(before, at, n)
		f.Gradient(after, there, n)
		size := 0.0
		for _, v := range before {
			size = max(size, math.Abs(v))
		}
		for i, v := range turned(before) {
			if !near(v, after[i], size) {
				return "the potential"
			}
		}
	}
	return ""
}

// placed returns a component, of some that see how points lie, that more than says where they are; −1 if there is
// none. Components that keep turned rows, and hold all that three translations change, leave a point one
// place for each way of lying: where the network does not look there is nothing to see. So it is where
// a centre is held at the origin.
func placed(set constraint.Set, x []float64, seen map[int]bool) int {
	if len(seen) == 0 {
		return -1
	}
	d, c := set.Dim(), len(constraint.Components(set))
	first := slices.Min(slices.Collect(maps.Keys(seen)))
	size := 0.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	values := constraint.Values(set, turned(x))
	for i, v := range values {
		if a := i % c; seen[a] && (a >= len(set.Equalities()) || !(math.Abs(v) <= 1e-6*size)) {
			return a
		}
	}
	// What three translations change, of each row: they must change it in three ways.
	at := constraint.Values(set, x)
	for row := range len(x) / d {
		var change [3][]float64
		for k := range change {
			there := append([]float64(nil), x[row*d:(row+1)*d]...)
			for i := k; i < d; i += 3 {
				there[i] += size
			}
			for a, v := range constraint.Values(set, there) {
				if seen[a] {
					change[k] = append(change[k], (v-at[row*c+a])/size)
				}
			}
		}
		if !independent(change) {
			return first
		}
	}
	return -1
}

// independent reports whether three vectors are, by what Gram and Schmidt leave of each.
func independent(v [3][]float64) bool {
	for k := range v {
		before := dense.Norm(v[k])
		for j := range k {
			dense.Axpy(v[k], -dense.Dot(v[k], v[j])/dense.Dot(v[j], v[j]), v[j])
		}
		if !(dense.Norm(v[k]) > 1e-3*before) {
			return false
		}
	}
	return true
}

// near compares what may differ by round-off. What is not a number on both sides tells
// nothing.
func near(a, b, size float64) bool {
	return math.Abs(a-b) <= 1e-6*(1+size) || a != a && b != b
}
