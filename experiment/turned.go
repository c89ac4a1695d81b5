package experiment

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
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
// component of the set that changes when points turn or move, or a potential whose force does
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
	for i, v := range before {
		if !near(v, after[i], math.Abs(v)) {
			return fmt.Sprintf("component %q of the set", names[i%len(names)])
		}
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

// near compares what may differ by round-off. What is not a number on both sides tells
// nothing.
func near(a, b, size float64) bool {
	return math.Abs(a-b) <= 1e-6*(1+size) || a != a && b != b
}
