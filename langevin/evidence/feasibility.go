package evidence

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Shares of a spread of the data, besides what single precision makes of numbers.
const (
	// Far is how far from Σ, to first order, data may be.
	Far = 0.01
	// Off is what is worth telling: a shift of the law by it shows in a hundred million rows.
	Off = 1e-4

	singlePrecision = 0x1p-22 // of a number: some last places of a float32
)

// Feasibility is how far rows of data are from Σ. Nothing in it depends on units: neither
// those of the data nor those of the components.
type Feasibility struct {
	Gaps []geometry.Gap // of each row

	Spread float64 // of a coordinate: root mean square over rows and coordinates that are not held
	Size   float64 // of a coordinate, from 0: likewise
	free   float64 // coordinates that are not held
}

// Feasible measures the rows of data, n×d; not all of them once ctx is done.
func Feasible(ctx context.Context, set constraint.Set, data []float64, pool *parallel.Pool) *Feasibility {
	const block = 64
	d := set.Dim()
	n := len(data) / d
	f := &Feasibility{Gaps: make([]geometry.Gap, n)}
	f.scales(data, d, set.Capabilities().Held)
	rulers := make([]*geometry.Ruler, pool.Workers())
	_ = pool.DoUntil(ctx, parallel.Blocks(n, block), func(worker, b int) {
		if rulers[worker] == nil {
			rulers[worker] = geometry.NewRuler(set)
		}
		lo, hi := parallel.Block(b, n, block)
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			f.Gaps[i] = rulers[worker].Gap(data[i*d : (i+1)*d])
		}
	})
	return f
}

// FarOf returns how far from one component rows of data may be, in their unit.
func FarOf(set constraint.Set, data []float64) float64 {
	var f Feasibility
	f.scales(data, set.Dim(), set.Capabilities().Held)
	return Far * f.Spread
}

// scales sets Spread and Size. Rows that are all alike are as wide as they are large.
func (f *Feasibility) scales(data []float64, d int, held []int) {
	n, moves := float64(len(data)/d), make([]bool, d)
	for j := range moves {
		moves[j] = true
	}
	for _, j := range held {
		moves[j] = false
	}
	f.free = math.Max(float64(d-len(held)), 1)
	mean := make([]float64, d)
	for i, v := range data {
		mean[i%d] += v / n
	}
	for i, v := range data {
		if j := i % d; moves[j] {
			f.Spread += (v - mean[j]) * (v - mean[j]) / n / f.free
			f.Size += v * v / n / f.free
		}
	}
	f.Spread, f.Size = math.Sqrt(f.Spread), math.Sqrt(f.Size)
	if !(f.Spread > 1e-12*f.Size) {
		f.Spread = f.Size
	}
	if f.Spread == 0 {
		f.Spread, f.Size = 1, 1
	}
}

// Share returns how far row i is from Σ, in spreads. It is the larger of two ratios: the change that one component asks
// of a coordinate, over the spread of a coordinate; and the change that all components ask of the row, over the spread
// of a row, which is √d times as large.
func (f *Feasibility) Share(i int) float64 {
	g := f.Gaps[i]
	return max(g.Single, g.Step/math.Sqrt(f.free)) / f.Spread
}

// Tell says in words how far row i is, as Share measures it.
func (f *Feasibility) Tell(i int) string {
	g, root := f.Gaps[i], math.Sqrt(f.free)
	far, of, spread := g.Single, "a coordinate", f.Spread
	if g.Step > root*g.Single {
		far, of, spread = g.Step, "a row", f.Spread*root
	}
	if math.IsInf(far, 1) {
		return "its gradient is not finite or 0 there, so no direction leads to the set"
	}
	share := fmt.Sprintf("%.3g %% of", 100*far/spread)
	if far >= 0.9995*spread {
		share = fmt.Sprintf("%.3g times", far/spread)
	}
	return fmt.Sprintf("about %.3g from it, %s the spread of %s (%.3g)", far, share, of, spread)
}

// Rounded returns the share that single precision explains, or that is not worth telling.
func (f *Feasibility) Rounded() float64 { return Off + singlePrecision*f.Size/f.Spread }

// Beyond returns the first and the worst row whose share is above a limit, and how many are; −1 where none is.
func (f *Feasibility) Beyond(limit float64) (first, worst, rows int) {
	first, worst = -1, -1
	for i := range f.Gaps {
		if s := f.Share(i); s > limit {
			if rows++; rows == 1 {
				first, worst = i, i
			}
			if s > f.Share(worst) {
				worst = i
			}
		}
	}
	return first, worst, rows
}

// OnWalls returns how many rows of data, n×d, lie on the edge of each inequality, and how many rows it looked at. A row
// lies on the edge if its first-order distance is at most 10⁻¹⁰ of the spread of a coordinate. A law with a density on
// Σ has no such rows, so that no sample of a process lies there. An inequality without a gradient at a row has no edge
// there.
func OnWalls(set constraint.Set, data []float64) (on []int, looked int) {
	const onEdge, slopesOf, most, block = 1e-10, 16, 20_000, 128
	m, l, d := len(set.Equalities()), len(set.Inequalities()), set.Dim()
	on = make([]int, l)
	n := len(data) / d
	if l == 0 || n == 0 {
		return on, 0
	}
	var f Feasibility
	f.scales(data, d, set.Capabilities().Held)
	c, step := m+l, (n+most-1)/most
	several, one := set.NewEvaluator(block), set.NewEvaluator(1)
	x, values := make([]float64, 0, block*d), make([]float64, block*c)
	each := func(see func(row []float64, g []float64)) { // all rows that are looked at
		for at := 0; at < n; at += block * step {
			x = x[:0]
			for i := at; i < min(n, at+block*step); i += step {
				x = append(x, data[i*d:(i+1)*d]...)
			}
			k := len(x) / d
			several.Values(values[:k*c], x, k)
			for i := range k {
				see(x[i*d:(i+1)*d], values[i*c+m:(i+1)*c])
			}
		}
	}
	size, slopes := make([]float64, l), make([][]float64, l)
	each(func(_, g []float64) {
		looked++
		for j, v := range g {
			if v = math.Abs(v); v-v == 0 {
				size[j] = max(size[j], v)
			}
		}
	})
	val, jac := make([]float64, c), make([]float64, c*d)
	each(func(row, g []float64) { // where g is small beside what it is at others
		known := false
		for j, v := range g {
			if math.Abs(v) > 1e-6*size[j] || len(slopes[j]) == slopesOf {
				continue
			}
			if !known {
				one.Jacobians(val, jac, row, 1)
				known = true
			}
			slopes[j] = append(slopes[j], dense.Norm(jac[(m+j)*d:(m+j+1)*d]))
		}
	})
	edge := make([]float64, l)
	for j := range edge {
		if edge[j] = onEdge * f.Spread * metric.Median(slopes[j]); !(edge[j] > 0) || math.IsInf(edge[j], 1) {
			edge[j] = -1
		}
	}
	each(func(_, g []float64) {
		for j, v := range g {
			if math.Abs(v) <= edge[j] {
				on[j]++
			}
		}
	})
	return on, looked
}

// Walled reports whether `on` of n rows on an edge are so frequent that the law has mass there.
func Walled(on, n int) bool {
	const fewest, least = 5, 0.01
	return on >= fewest && float64(on) >= least*float64(n)
}
