package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// A subject is what the checks look at: the input, and points to look at it
// from.
type subject struct {
	Input
	ctx  context.Context
	pool *parallel.Pool

	set     constraint.Set
	eval    constraint.Evaluator // of one point
	names   []string
	d, m, c int
	proc    langevin.Process // the input's, with what cannot run replaced
	invalid error            // why something was replaced

	data     []point // a sample of the data
	on       []point // on Σ: data first, then random starts, landed
	near     []point // off Σ by about a step
	boundary []point // on Σ with an inequality at 0
	tried    [2]int  // random starts, and rows of data, that were landed
	arrived  [2]int  // of them, those that reached Σ
	stuck    []point // the first of those that did not arrive
	scale    float64 // spread of the points on Σ
	radius   float64 // how far near points are from Σ

	paths   langevin.Paths
	elapsed time.Duration // of the forward paths
	broken  error         // why they end early

	flat []bool // components whose gradient vanishes where they hold

	descent  *geometry.Solver
	val, jac []float64 // c, c×d
	stream   keyed.Stream
}

// A point is a place of R^d and where it comes from, for messages.
type point struct {
	x    []float64
	from string
}

const (
	maxPoints  = 48   // on Σ from data, and on Σ from random starts
	maxPaths   = 32   // forward paths
	onΣ        = 1e-9 // violation, relative to the size of a constraint's terms, of a point on Σ
	maxBounded = 32   // inequalities whose boundary is visited
)

func newSubject(ctx context.Context, in Input, pool *parallel.Pool) *subject {
	set := in.Process.Set
	s := &subject{
		Input: in, ctx: ctx, pool: pool, set: set, eval: set.NewEvaluator(1),
		names: constraint.Components(set), d: set.Dim(), m: len(set.Equalities()),
		stream: keyed.EvidencePoints.Stream(in.Seed, 0),
	}
	s.c = len(s.names)
	s.flat = make([]bool, s.c)
	s.val, s.jac = make([]float64, s.c), make([]float64, s.c*s.d)
	s.descent = geometry.NewSolver(set, 0)
	s.runnable()
	s.sampleData()
	s.land()
	s.visitBoundaries()
	s.simulate()
	return s
}

func (s *subject) title() string { return constraint.Name(s.set) }

// budget returns how many points to look at when each costs about work
// operations.
func (s *subject) budget(work float64, most int) int {
	return max(4, min(most, int(2e8/max(work, 1))))
}

// factoring returns the operations of one evaluation of the geometry.
func (s *subject) factoring() float64 {
	g := float64(max(geometry.Groups(s.set), 1))
	return float64(s.c)*float64(s.c)*float64(s.d)/(g*g) + float64(s.c*s.d)
}

// runnable copies the process, replacing what cannot run, so that its paths can
// be looked at all the same.
func (s *subject) runnable() {
	s.proc = *s.Process
	s.proc.Terminal = false
	s.invalid = s.Process.Validate()
	var config *langevin.ConfigError
	if errors.As(s.invalid, &config) && config.Field == "Landing.Rate" {
		s.proc.Landing.Rate = s.proc.MonotoneRate()
	}
	if errors.As(s.invalid, new(*constraint.UnsupportedError)) {
		s.proc.Curvature = false
	}
}

// sampleData takes rows at equal distances through the data.
func (s *subject) sampleData() {
	n := len(s.Data) / s.d
	k := min(n, s.budget(float64(s.c*s.d), 4*maxPoints))
	for i := range k {
		row := i * n / k
		s.data = append(s.data, point{s.Data[row*s.d : (row+1)*s.d], fmt.Sprintf("data row %d", row)})
	}
}

// land finds points on Σ from data and from random starts, and points near them.
func (s *subject) land() {
	n := s.budget(40*s.factoring(), maxPoints)
	var starts []point
	rows := min(n, len(s.data))
	for i := range rows {
		starts = append(starts, s.data[i*len(s.data)/rows])
	}
	for i, p := range append(starts, s.starts(n)...) {
		kind := 0
		if i < rows {
			kind = 1
		}
		s.tried[kind]++
		x := append([]float64(nil), p.x...)
		if s.descent.Descend(x, onΣ) && s.selected(x) {
			s.arrived[kind]++
			s.on = append(s.on, point{x, "the point of Σ next to " + p.from})
		} else if s.stuck = append(s.stuck, point{x, p.from}); len(s.stuck) > 8 {
			s.stuck = s.stuck[:8]
		}
	}
	s.scale = spread(s.on, s.d)
	τ := s.largestStep()
	s.radius = min(τ*math.Sqrt(float64(max(s.d-s.m, 1))), 0.1*s.scale)
	for i, p := range s.on {
		x := make([]float64, s.d)
		dense.AddScaled(x, p.x, s.radius*[]float64{1, 0.1}[i%2], s.direction(i, 1))
		s.near = append(s.near, point{x, "a point beside " + p.from})
	}
}

// selected reports whether the set counts a point as its own: one that is some of
// the components of {h = 0, g ≤ 0}, as SO(n) of O(n), says so.
func (s *subject) selected(x []float64) bool {
	selects := s.set.Capabilities().Selects
	return selects == nil || selects(x)
}

// largestStep returns the standard deviation of the largest step's move along
// one tangent: √τ for overdamped methods, τ for underdamped ones.
func (s *subject) largestStep() float64 {
	step := 0.0
	for k := range s.proc.Schedule.N {
		step = max(step, s.stepSize(k))
	}
	return step
}

func (s *subject) stepSize(k int) float64 {
	τ := s.proc.Schedule.Tau(k)
	if s.proc.Method.Underdamped() {
		return τ
	}
	return math.Sqrt(τ)
}

// starts returns Gaussian points as wide as the data, or of several widths about
// the origin.
func (s *subject) starts(n int) []point {
	mean, sd := make([]float64, s.d), make([]float64, s.d)
	for _, p := range s.data {
		for j, v := range p.x {
			mean[j] += v / float64(len(s.data))
		}
	}
	for _, p := range s.data {
		for j, v := range p.x {
			sd[j] += (v - mean[j]) * (v - mean[j]) / float64(len(s.data))
		}
	}
	out := make([]point, n)
	for i := range out {
		x := make([]float64, s.d)
		s.stream.Normals(x, uint64(i), 0)
		for j := range x {
			if len(s.data) > 1 {
				x[j] = mean[j] + 1.5*math.Sqrt(sd[j])*x[j]
			} else {
				x[j] *= []float64{1, 0.3, 3}[i%3]
			}
		}
		out[i] = point{x, fmt.Sprintf("random start %d", i)}
	}
	return out
}

// direction returns a unit vector, a function of (i, purpose).
func (s *subject) direction(i, purpose int) []float64 {
	v := make([]float64, s.d)
	s.stream.Normals(v, uint64(i), purpose)
	n := dense.Norm(v)
	for j := range v {
		v[j] /= n
	}
	return v
}

// typical returns the points of Σ next to data, or all where there are none.
func (s *subject) typical() []point {
	if n := s.arrived[1]; n > 0 {
		return s.on[:n]
	}
	return s.on
}

// visitBoundaries finds points of Σ where an inequality is 0.
func (s *subject) visitBoundaries() {
	l := s.c - s.m
	if l == 0 || len(s.on) == 0 {
		return
	}
	from := s.typical()
	some := min(l, s.budget(100*float64(s.c*s.c*s.d), maxBounded))
	for i := range some {
		j := i * l / some
		w := geometry.NewSolver(constraint.Edge(s.set, j), 0)
		for t := range min(3, len(from)) {
			p := from[(i+t*len(from)/3)%len(from)]
			x := append([]float64(nil), p.x...)
			if w.Descend(x, onΣ) {
				s.boundary = append(s.boundary, point{x, fmt.Sprintf("the edge of %q next to %s", s.names[s.m+j], p.from)})
			}
		}
	}
}

// simulate runs forward paths from points on Σ, those of data first.
func (s *subject) simulate() {
	if s.proc.Validate() != nil || len(s.on) == 0 {
		return
	}
	n := min(maxPaths, len(s.on))
	x0 := make([]float64, 0, n*s.d)
	for i := range n {
		x0 = append(x0, s.on[i].x...)
	}
	sim := langevin.NewSimulator(&s.proc, s.pool, 8)
	start := time.Now()
	_, s.broken = sim.Forward(s.ctx, &s.paths, x0, s.Seed, keyed.CheckPaths.At(0))
	s.elapsed = time.Since(start)
	if s.broken != nil {
		s.paths = langevin.Paths{}
	}
}

// states returns at most n states of forward paths, spread over paths and times.
func (s *subject) states(n int) []point {
	total := s.paths.Count * s.paths.Steps
	n = min(n, total)
	out := make([]point, n)
	for i := range out {
		at := i * total / n
		path, k := at/s.paths.Steps, at%s.paths.Steps+1
		out[i] = point{s.paths.At(path, k), fmt.Sprintf("step %d of forward path %d", k, path)}
	}
	return out
}

// at evaluates the components and their gradients at a point and reports
// whether all are finite.
func (s *subject) at(x []float64) bool {
	s.eval.Jacobians(s.val, s.jac, x, 1)
	for _, v := range s.val {
		if !finite(v) {
			return false
		}
	}
	for _, v := range s.jac {
		if !finite(v) {
			return false
		}
	}
	return true
}

func (s *subject) grad(i int) []float64 { return s.jac[i*s.d : (i+1)*s.d] }

// spread returns the root mean square distance of points from their mean, or 1
// if they are one point to within 1e-6.
func spread(points []point, d int) float64 {
	mean, sum := make([]float64, d), 0.0
	for _, p := range points {
		for j, v := range p.x {
			mean[j] += v / float64(len(points))
		}
	}
	for _, p := range points {
		for j, v := range p.x {
			sum += (v - mean[j]) * (v - mean[j]) / float64(len(points))
		}
	}
	if !(math.Sqrt(sum) > 1e-6*dense.Norm(mean)) || sum == 0 {
		return 1
	}
	return math.Sqrt(sum)
}
