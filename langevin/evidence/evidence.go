// Package evidence gathers what is known of a feasible set before anything runs on
// it: points on Σ, beside it and at its edges, and forward paths from them.
//
// It judges nothing. Package choose takes constants of a process from it, package check its findings. What is gathered
// is a function of process, data and seed, and nothing changes it afterwards: scratch belongs to a Probe.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
)

// A Point is a place of R^d and where it comes from, for messages.
type Point struct {
	X    []float64
	From string
}

// A Case is what evidence is gathered of.
type Case struct {
	Process *langevin.Process // with its set; it need not be valid
	Data    []float64         // n×d; nil if there is none
	Still   bool              // nothing follows the process: no forward path is run
	Seed    uint64
}

// Evidence is what was gathered.
type Evidence struct {
	Case
	Running langevin.Process // the process, with what cannot run replaced; it ends without a projection
	Invalid error            // why something was replaced

	Set     constraint.Set
	Names   []string // of the components, equalities first
	D, M, C int      // dimension, equalities, components

	Sample   []Point // of the data
	On       []Point // on Σ: next to data first, then to random starts
	Near     []Point // off Σ by about a step
	Boundary []Point // on Σ with an inequality at 0
	Stuck    []Point // the first of those that did not reach Σ
	Starts   Tries   // random starts
	Rows     Tries   // rows of data
	Scale    float64 // spread of the points on Σ
	Radius   float64 // how far near points are from Σ

	Paths   langevin.Paths   // from points on Σ, those next to data first
	Elapsed time.Duration    // of the forward paths
	Bounces langevin.Bounces // of all of them, off elastic walls
	Broken  error            // why they end early; there are none then

	stream keyed.Stream
}

// Tries are points that were moved towards Σ.
type Tries struct{ Tried, Arrived int }

const (
	MaxPoints  = 48  // on Σ from data, and on Σ from random starts
	maxPaths   = 32  // forward paths
	maxKept    = 4e8 // numbers of paths that are kept whole
	maxBounded = 32  // inequalities whose boundary is visited
	maxStuck   = 8

	// Tolerance is the violation of a point on Σ, relative to the size of a constraint's terms.
	Tolerance = 1e-9
)

// Gather gathers the evidence of a case. Paths that break off are noted; that ctx is done ends them too.
func Gather(ctx context.Context, c Case, pool *parallel.Pool) *Evidence {
	set := c.Process.Set
	e := &Evidence{
		Case: c, Set: set, Names: constraint.Components(set), D: set.Dim(), M: len(set.Equalities()),
		stream: keyed.EvidencePoints.Stream(c.Seed, 0),
	}
	e.C = len(e.Names)
	e.runnable()
	e.sample()
	e.land(ctx)
	e.visitBoundaries(ctx)
	e.simulate(ctx, pool)
	return e
}

// runnable copies the process, replacing what cannot run, so that its paths can be looked at all the same.
func (e *Evidence) runnable() {
	e.Running = *e.Process
	e.Running.NoTerminal = true
	e.Invalid = e.Process.Validate()
	var config *langevin.ConfigError
	if errors.As(e.Invalid, &config) && config.Field == "Landing.Rate" {
		e.Running.Landing.Rate = e.Running.MonotoneRate()
	}
	if errors.As(e.Invalid, new(*constraint.UnsupportedError)) {
		e.Running.Curvature = false
	}
}

// simulate runs forward paths from points on Σ, those next to data first.
func (e *Evidence) simulate(ctx context.Context, pool *parallel.Pool) {
	if e.Still || e.Running.Validate() != nil || len(e.On) == 0 {
		return
	}
	n := min(e.Kept(maxPaths), len(e.On))
	x0 := make([]float64, 0, n*e.D)
	for i := range n {
		x0 = append(x0, e.On[i].X...)
	}
	sim := langevin.NewSimulator(&e.Running, pool, 8)
	start := time.Now()
	var r langevin.Report
	r, e.Broken = sim.Forward(ctx, &e.Paths, x0, e.Seed, keyed.CheckPaths.At(0))
	e.Bounces = r.Bounces
	e.Elapsed = time.Since(start)
	if e.Broken != nil {
		e.Paths = langevin.Paths{}
	}
}

// Kept returns how many forward paths, of at most n, to keep whole at once: one, or as
// many as have maxKept numbers in all.
func (e *Evidence) Kept(n int) int {
	path := float64(e.Running.Schedule.N+1) * float64(e.D)
	return max(1, int(min(float64(n), maxKept/path)))
}

// States returns at most n states of forward paths, spread over paths and times.
func (e *Evidence) States(n int) []Point {
	total := e.Paths.Count * e.Paths.Steps
	n = min(n, total)
	out := make([]Point, n)
	for i := range out {
		at := i * total / n
		path, k := at/e.Paths.Steps, at%e.Paths.Steps+1
		out[i] = Point{e.Paths.At(path, k), fmt.Sprintf("step %d of forward path %d", k, path)}
	}
	return out
}

// Budget returns how many points to look at when each costs about work operations, where an evaluation of the set
// counts C·D and what the set says it takes.
func (e *Evidence) Budget(work float64, most int) int {
	if own := e.Set.Capabilities().Work; own > 0 {
		work *= 1 + own/float64(e.C*e.D)
	}
	return max(4, min(most, int(2e8/max(work, 1))))
}

// Factoring returns the operations of one evaluation of the geometry.
func (e *Evidence) Factoring() float64 {
	g := float64(max(geometry.Groups(e.Set), 1))
	return float64(e.C)*float64(e.C)*float64(e.D)/(g*g) + float64(e.C*e.D)
}

// large reports whether data stand in for random starts and edges. Those violate thousands of inequalities at once in
// such a set, and each takes minutes.
func (e *Evidence) large() bool { return len(e.Sample) > 0 && e.Factoring() > 1e11 }

// LargestStep returns the standard deviation of the largest step's move along one tangent.
func (e *Evidence) LargestStep() float64 {
	step := 0.0
	for k := range e.Running.Schedule.N {
		step = max(step, e.StepSize(k))
	}
	return step
}

// StepSize returns that of step k.
func (e *Evidence) StepSize(k int) float64 {
	return e.Running.Method.StepSize(e.Running.Schedule.Tau(k))
}

// A Use of random directions: those of two uses are independent.
type Use int

const (
	forStarts Use = iota
	forNear
	_ // was that of a check that is gone: the streams of the others stay
	ForKinks
	ForVanishing
	ForRanks
	ForBends
	ForWalks
	ForFiniteness Use = 9
)

// Normals writes independent standard normal numbers, those of (i, use).
func (e *Evidence) Normals(dst []float64, i int, use Use) { e.stream.Normals(dst, uint64(i), int(use)) }

// Direction returns a unit vector, that of (i, use).
func (e *Evidence) Direction(i int, use Use) []float64 {
	v := make([]float64, e.D)
	e.Normals(v, i, use)
	for _, j := range e.Set.Capabilities().Held {
		v[j] = 0
	}
	n := dense.Norm(v)
	for j := range v {
		v[j] /= n
	}
	return v
}

// Typical returns the points of Σ next to data, or all where there are none.
func (e *Evidence) Typical() []Point {
	if n := e.Rows.Arrived; n > 0 {
		return e.On[:n]
	}
	return e.On
}

// First returns at most n points; what is appended to them leaves p alone.
func First(p []Point, n int) []Point { return slices.Clip(p[:min(n, len(p))]) }

// A Probe evaluates the set at single points. It is scratch space for one goroutine. Its Jacobians and HessianVectors
// write a row a component, along the support where the set tells one: Row finds it.
type Probe struct {
	constraint.Evaluator
	Val, Jac []float64 // c components and their gradients
	support  [][]int   // nil: all coordinates
	from     []int     // c+1
	grad     []float64 // d
}

// Probe makes a Probe.
func (e *Evidence) Probe() *Probe {
	p := &Probe{Evaluator: e.Set.NewEvaluator(1), Val: make([]float64, e.C), support: e.Set.Capabilities().Support,
		from: make([]int, e.C+1), grad: make([]float64, e.D)}
	if p.SparseJacobians == nil || (p.HessianVectors == nil) != (p.SparseHessianVectors == nil) {
		p.support = nil
	}
	if p.support != nil {
		p.Jacobians, p.HessianVectors = p.SparseJacobians, p.SparseHessianVectors
	}
	for i := range e.C {
		p.from[i+1] = p.from[i] + e.D
		if p.support != nil {
			p.from[i+1] = p.from[i] + len(p.support[i])
		}
	}
	p.Jac = make([]float64, p.from[e.C])
	return p
}

// At evaluates the components and their gradients at a point and reports whether all are finite.
func (p *Probe) At(x []float64) bool {
	p.Jacobians(p.Val, p.Jac, x, 1)
	return dense.Finite(p.Val) && dense.Finite(p.Jac)
}

// Row returns the row of component i of a matrix of the size of Jac.
func (p *Probe) Row(matrix []float64, i int) []float64 { return matrix[p.from[i]:p.from[i+1]] }

// Grad returns the gradient of component i at the point that At was at, until the next call.
func (p *Probe) Grad(i int) []float64 {
	if p.support == nil {
		return p.Row(p.Jac, i)
	}
	clear(p.grad)
	for k, v := range p.Row(p.Jac, i) {
		p.grad[p.support[i][k]] = v
	}
	return p.grad
}

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
	random := n
	if e.large() {
		random = 0
	}
	for i, p := range append(starts, e.starts(random)...) {
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
	if l == 0 || len(e.On) == 0 || e.large() {
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
