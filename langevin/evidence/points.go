package evidence

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

// sample takes rows at equal distances through the data.
func (e *Evidence) sample() {
	n := len(e.Data) / e.D
	k := min(n, e.Budget(float64(e.C*e.D), 4*MaxPoints))
	for i := range k {
		row := i * n / k
		e.Sample = append(e.Sample, Point{e.Data[row*e.D : (row+1)*e.D], fmt.Sprintf("data row %d", row)})
	}
}

// land finds points on Σ from data and from random starts, and points near them.
func (e *Evidence) land(ctx context.Context) {
	solver := geometry.NewSolver(e.Set, 0).Until(ctx)
	n := e.Budget(40*e.Factoring(), MaxPoints)
	var starts []Point
	rows := min(n, len(e.Sample))
	for i := range rows {
		starts = append(starts, e.Sample[i*len(e.Sample)/rows])
	}
	for i, p := range append(starts, e.starts(n)...) {
		if ctx.Err() != nil {
			return
		}
		count := &e.Starts
		if i < rows {
			count = &e.Rows
		}
		count.Tried++
		x := append([]float64(nil), p.X...)
		if solver.Descend(x, Tolerance) && e.selected(x) {
			count.Arrived++
			e.On = append(e.On, Point{x, "the point of Σ next to " + p.From})
		} else if len(e.Stuck) < maxStuck {
			e.Stuck = append(e.Stuck, Point{x, p.From})
		}
	}
	e.Scale = spread(e.On, e.D)
	e.Radius = min(e.LargestStep()*math.Sqrt(float64(max(e.D-e.M, 1))), 0.1*e.Scale)
	for i, p := range e.On {
		x := make([]float64, e.D)
		dense.AddScaled(x, p.X, e.Radius*[]float64{1, 0.1}[i%2], e.Direction(i, forNear))
		e.Near = append(e.Near, Point{x, "a point beside " + p.From})
	}
}

// selected reports whether the set counts a point as its own: one that is some of
// the components of {h = 0, g ≤ 0}, as SO(n) of O(n), says so.
func (e *Evidence) selected(x []float64) bool {
	selects := e.Set.Capabilities().Selects
	return selects == nil || selects(x)
}

// starts returns Gaussian points as wide as the data; without data those that the set
// has for a start, or points of several widths about the origin.
func (e *Evidence) starts(n int) []Point {
	mean, sd := make([]float64, e.D), make([]float64, e.D)
	for _, p := range e.Sample {
		for j, v := range p.X {
			mean[j] += v / float64(len(e.Sample))
		}
	}
	for _, p := range e.Sample {
		for j, v := range p.X {
			sd[j] += (v - mean[j]) * (v - mean[j]) / float64(len(e.Sample))
		}
	}
	own := e.Set.Capabilities().Start
	out := make([]Point, n)
	for i := range out {
		x := make([]float64, e.D)
		e.Normals(x, i, forStarts)
		switch {
		case len(e.Sample) > 1:
			for j := range x {
				x[j] = mean[j] + 1.5*math.Sqrt(sd[j])*x[j]
			}
		case own != nil:
			own(x, e.stream, uint64(i), int(forStarts))
		default:
			for j := range x {
				x[j] *= []float64{1, 0.3, 3}[i%3]
			}
		}
		out[i] = Point{x, fmt.Sprintf("random start %d", i)}
	}
	return out
}

// visitBoundaries finds points of Σ where an inequality is 0.
func (e *Evidence) visitBoundaries(ctx context.Context) {
	l := e.C - e.M
	if l == 0 || len(e.On) == 0 {
		return
	}
	from := e.Typical()
	some := min(l, e.Budget(100*float64(e.C*e.C*e.D), maxBounded))
	for i := range some {
		j := i * l / some
		solver := geometry.NewSolver(constraint.Edge(e.Set, j), 0).Until(ctx)
		for t := range min(3, len(from)) {
			if ctx.Err() != nil {
				return
			}
			p := from[(i+t*len(from)/3)%len(from)]
			x := append([]float64(nil), p.X...)
			if solver.Descend(x, Tolerance) {
				e.Boundary = append(e.Boundary,
					Point{x, fmt.Sprintf("the edge of %q next to %s", e.Names[e.M+j], p.From)})
			}
		}
	}
}

// spread returns the root mean square distance of points from their mean, or 1 if they are one point to within 1e-6.
func spread(points []Point, d int) float64 {
	x := make([]float64, 0, len(points)*d)
	for _, p := range points {
		x = append(x, p.X...)
	}
	mean, size := metric.Spread(x, d)
	if !(size > 1e-6*dense.Norm(mean)) || size == 0 {
		return 1
	}
	return size
}
