package flow

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/program"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/learn/method"
)

// Sampler allocates memory to follow the ODE in blocks of `rows` rows.
func (m *Method) Sampler(rows int, pool *parallel.Pool) method.Sampler {
	return &sampler{m: m, rows: rows, pool: pool, work: make([]*stepper, pool.Workers())}
}

type sampler struct {
	m    *Method
	rows int
	pool *parallel.Pool
	work []*stepper // of each worker
}

// A stepper moves a block of points along a field. Its steps allocate nothing.
type stepper struct {
	m          *Method
	d          int
	v          method.Score
	g, one     geometry.Geometry // of {h = 0}, where tangents are
	whole      geometry.Geometry // of Σ, where points are brought back; g, if there are no inequalities
	projection *geometry.Projection
	correction *program.Correction
	k          [4][]float64 // slopes
	y, start   []float64
	ok         []bool
	lost       []bool // rows that failed; they stay at their start
	free       bool   // there is nothing to keep
	iterations int
	broken     int
	err        error // why the first broke down
}

func (m *Method) newStepper(rows int) *stepper {
	d := m.set.Dim()
	vec := func() []float64 { return make([]float64, rows*d) }
	s := &stepper{m: m, d: d, g: geometry.New(m.smooth, rows, 0), one: geometry.New(m.smooth, 1, 0),
		projection: geometry.NewProjection(m.set, rows),
		free:       len(constraint.Components(m.set)) == 0, y: vec(), start: vec(),
		ok: make([]bool, rows), lost: make([]bool, rows)}
	if s.whole = s.g; len(m.set.Inequalities()) > 0 {
		s.whole = geometry.New(m.set, rows, 0)
	}
	for i := range s.k {
		if i == 0 || m.opt.Order == 4 {
			s.k[i] = vec()
		}
	}
	if m.opt.Correct {
		s.correction = program.NewCorrection(m.set, rows)
	}
	return s
}

// begin takes the points x, n×d, as the beginning.
func (s *stepper) begin(x []float64, v method.Score) {
	s.v, s.iterations, s.broken, s.err = v, 0, 0, nil
	copy(s.start, x)
	clear(s.lost)
}

var errNumbers = errors.New("its coordinates leave the finite numbers")

// lose gives a row up: it goes on from its start, where there is a tangent space, and counts as failed.
func (s *stepper) lose(x []float64, i int, why error) {
	if !s.lost[i] {
		s.lost[i] = true
		if why != nil {
			if s.broken++; s.err == nil {
				s.err = why
			}
		}
	}
	copy(x[i*s.d:(i+1)*s.d], s.start[i*s.d:(i+1)*s.d])
}

// field writes Π v_t at n points x: dst may not be x.
func (s *stepper) field(dst, x []float64, n int, t float64) {
	s.at(x, n)
	s.v.Eval(dst, x, nil, n, t)
	s.g.Tangent(dst, dst)
}

// at looks at the tangent spaces of n points x. Rows without one are lost.
func (s *stepper) at(x []float64, n int) {
	if s.g.At(x, n) != nil {
		for i := range n {
			if err := s.one.At(x[i*s.d:(i+1)*s.d], 1); err != nil {
				s.lose(x, i, err)
			}
		}
		if err := s.g.At(x, n); err != nil {
			panic("flow: a block of points with tangents has none: " + err.Error())
		}
	}
}

// step moves the n points x on Σ from t to t + h, and to Σ.
func (s *stepper) step(x []float64, n int, t, h float64) {
	d, y := s.d, s.y[:n*s.d]
	x = x[:n*d]
	s.field(s.k[0][:n*d], x, n, t)
	switch {
	case s.correction != nil:
		s.towards(y, x, n, t, h)
	case s.m.opt.Order == 4:
		// Π v is tangent to the level sets of h beside Σ too, so the stages need not be on Σ.
		for i, c := range [3]float64{h / 2, h / 2, h} {
			dense.AddScaled(y, x, c, s.k[i][:n*d])
			s.field(s.k[i+1][:n*d], y, n, t+c)
		}
		for j, v := range x {
			y[j] = v + h/6*(s.k[0][j]+2*s.k[1][j]+2*s.k[2][j]+s.k[3][j])
		}
	default:
		dense.AddScaled(y, x, h, s.k[0][:n*d])
	}
	s.back(x, y, n)
}

// towards writes the step of physics-constrained flow matching: where the velocity leads to at t = 1
// is brought nearer to Σ by one Gauss–Newton step, and the state goes its share of the way there.
func (s *stepper) towards(y, x []float64, n int, t, h float64) {
	dense.AddScaled(y, x, 1-t, s.k[0][:n*s.d])
	s.iterations += s.correction.Step(y, y, s.ok, n).Iterations
	share := h / (1 - t)
	for j, v := range x {
		y[j] = v + share*(y[j]-v)
	}
}

// back moves the proposals y to Σ and writes them to x.
func (s *stepper) back(x, y []float64, n int) {
	d := s.d
	for i := range n {
		row := y[i*d : (i+1)*d]
		if !dense.Finite(row) {
			s.lose(x, i, errNumbers)
			copy(row, x[i*d:(i+1)*d])
		}
	}
	if s.free {
		copy(x, y)
		return
	}
	there := s.whole == s.g && s.m.opt.Order != 4 // field was at x last
	if !there && s.whole.At(x, n) != nil {        // a row on Σ without a normal space: field would have lost it
		for i := range n {
			s.lose(x, i, nil)
		}
		return
	}
	s.iterations += s.projection.Project(s.whole, y, y, s.ok, 0).Iterations
	for i := range n {
		if s.ok[i] && !s.lost[i] {
			copy(x[i*d:(i+1)*d], y[i*d:(i+1)*d])
			continue
		}
		s.lose(x, i, nil)
	}
}

// of returns the stepper of a worker.
func (g *sampler) of(worker int) *stepper {
	if g.work[worker] == nil {
		g.work[worker] = g.m.newStepper(g.rows)
	}
	return g.work[worker]
}

func (g *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64,
	prior method.Prior, scores func(worker int) method.Score) (method.Report, error) {
	d, n := g.m.set.Dim(), len(failed)
	start := keyed.GeneratedStart.Stream(seed, 0)
	reports := make([]method.Report, parallel.Blocks(n, g.rows))
	g.pool.Do(len(reports), func(worker, b int) {
		lo, hi := parallel.Block(b, n, g.rows)
		s, x := g.of(worker), dst[lo*d:hi*d]
		for i := lo; i < hi; i++ {
			prior.Sample(dst[i*d:(i+1)*d], start, first+uint64(i))
		}
		s.begin(x, scores(worker))
		N := g.m.opt.Steps
		for k := 0; k < N && ctx.Err() == nil; k++ {
			s.step(x, hi-lo, float64(k)/float64(N), 1/float64(N))
		}
		r := method.Report{Iterations: s.iterations, Broken: s.broken, Break: s.err}
		for i, lost := range s.lost[:hi-lo] {
			if failed[lo+i] = lost; lost {
				r.Failed++
			}
		}
		reports[b] = r
	})
	var sum method.Report
	for _, r := range reports {
		sum.Failed += r.Failed
		sum.Iterations += r.Iterations
		if sum.Broken += r.Broken; sum.Break == nil {
			sum.Break = r.Break
		}
	}
	return sum, ctx.Err()
}

// Ends are draws of the prior: a flow begins there whatever the data.
func (g *sampler) Ends(ctx context.Context, x0 []float64, seed, refresh uint64) ([]float64, error) {
	d := g.m.set.Dim()
	out, from := make([]float64, len(x0)), keyed.FlowStarts.Stream(seed, refresh)
	g.pool.Do(len(x0)/d, func(_, i int) { g.m.prior.Sample(out[i*d:(i+1)*d], from, uint64(i)) })
	return out, ctx.Err()
}

func (g *sampler) NewTrace() *method.Trace { return nil }
func (g *sampler) Watch(*method.Trace)     {}

// mostDirections bounds the dimension of a Σ whose density is followed: a step takes as many passes.
const mostDirections = 10

// directions returns the dimension of Σ where the density is known: on a set that knows its
// volume, and so that of its uniform law; else 0.
func (m *Method) directions() int {
	own := m.set.Capabilities()
	if own.Volume == 0 || own.SampleUniform == nil || len(m.set.Inequalities()) > 0 || geometry.CanCurve(m.set) != nil {
		return 0
	}
	if n := m.set.Dim() - len(m.set.Equalities()); n <= mostDirections {
		return n
	}
	return 0
}

// logDensity follows the ODE from each x at t = 1 back to x_0 by steps of Runge and Kutta, and with it
// (Chen and Lipman, equation 6)
//
//	log p_1(x) = −log vol Σ − ∫ div Π v_t(x_t) dt.
func (m *Method) logDensity(ctx context.Context, dst, x []float64, rows, steps int, pool *parallel.Pool,
	scores func(worker int) method.Along) (bool, error) {
	d, n, volume := m.set.Dim(), len(dst), math.Log(m.set.Capabilities().Volume)
	work := make([]*diverger, pool.Workers())
	var mute atomic.Bool
	pool.Do(parallel.Blocks(n, rows), func(worker, b int) {
		if work[worker] == nil {
			work[worker] = m.newDiverger(rows)
		}
		lo, hi := parallel.Block(b, n, rows)
		s, y := work[worker], append([]float64(nil), x[lo*d:hi*d]...)
		along := scores(worker)
		s.begin(y, along)
		s.along, s.mute = along, false
		clear(s.sum)
		for k := 0; k < steps && ctx.Err() == nil && !s.mute; k++ {
			s.stepBack(y, hi-lo, 1-float64(k)/float64(steps), 1/float64(steps))
		}
		if s.mute {
			mute.Store(true)
		}
		for i := range hi - lo {
			if dst[lo+i] = -volume - s.sum[i]; s.lost[i] {
				dst[lo+i] = math.NaN()
			}
		}
	})
	return !mute.Load(), ctx.Err()
}

// A diverger follows a block of points and the divergence of their field.
type diverger struct {
	*stepper
	along     method.Along
	mute      bool // the score told no derivatives
	curvature *geometry.Curvature
	m         int
	unit, f   []float64 // rows×d: unit vectors on the tangent space; the field before Π, then 𝓗
	columns   []float64 // d×rows×d: Π e_j
	basis     []float64 // rows×m×d: orthonormal tangents
	slopes    []float64 // rows×m×d
	div       [4][]float64
	sum       []float64 // rows: ∫ div
}

func (m *Method) newDiverger(rows int) *diverger {
	as := *m
	as.opt.Order, as.opt.Correct = 4, false
	d, k := m.set.Dim(), m.directions()
	c, _ := geometry.NewCurvature(m.smooth, rows) // Directions asked
	s := &diverger{stepper: as.newStepper(rows), curvature: c, m: k, unit: make([]float64, rows*d),
		f: make([]float64, rows*d), columns: make([]float64, d*rows*d), basis: make([]float64, rows*k*d),
		slopes: make([]float64, rows*k*d), sum: make([]float64, rows)}
	for i := range s.div {
		s.div[i] = make([]float64, rows)
	}
	return s
}

// diverge writes Π v_t and its divergence on the level set of h through each of n points x: with
// orthonormal tangents e and the mean curvature vector 𝓗 = Σ II(e, e),
//
//	div Π v = Σ e·(∂v/∂e) + v·𝓗.
func (s *diverger) diverge(dst, div, x []float64, n int, t float64) {
	d, m := s.d, s.m
	s.at(x, n)
	for j := range d {
		clear(s.unit)
		for i := range n {
			s.unit[i*d+j] = 1
		}
		s.g.Tangent(s.columns[j*n*d:(j+1)*n*d], s.unit[:n*d])
	}
	for i := range n {
		s.tangents(i, n)
	}
	if !s.along.EvalAlong(s.f[:n*d], s.slopes, x, s.basis, n, m, t) {
		s.mute = true
		return
	}
	s.curvature.Mean(s.unit[:n*d], s.g)
	for i := range n {
		div[i] = dense.Dot(s.f[i*d:(i+1)*d], s.unit[i*d:(i+1)*d])
		div[i] += dense.Dot(s.basis[i*m*d:(i+1)*m*d], s.slopes[i*m*d:(i+1)*m*d])
	}
	s.g.Tangent(dst, s.f[:n*d])
}

// tangents writes an orthonormal basis of the tangent space at point i of n: of what is left of the
// columns of Π, the longest, m times.
func (s *diverger) tangents(i, n int) {
	d := s.d
	column := func(j int) []float64 { return s.columns[(j*n+i)*d : (j*n+i+1)*d] }
	for a := range s.m {
		best, size := 0, -1.0
		for j := range d {
			if q := dense.Norm(column(j)); q > size {
				best, size = j, q
			}
		}
		e := s.basis[(i*s.m+a)*d : (i*s.m+a+1)*d]
		for c, v := range column(best) {
			e[c] = v / size
		}
		for j := range d {
			dense.Axpy(column(j), -dense.Dot(column(j), e), e)
		}
	}
}

// stepBack moves n points x from t to t − h.
func (s *diverger) stepBack(x []float64, n int, t, h float64) {
	d, y := s.d, s.y[:n*s.d]
	x = x[:n*d]
	s.diverge(s.k[0][:n*d], s.div[0], x, n, t)
	for i, c := range [3]float64{h / 2, h / 2, h} {
		dense.AddScaled(y, x, -c, s.k[i][:n*d])
		s.diverge(s.k[i+1][:n*d], s.div[i+1], y, n, t-c)
	}
	for j, v := range x {
		y[j] = v - h/6*(s.k[0][j]+2*s.k[1][j]+2*s.k[2][j]+s.k[3][j])
	}
	for i := range n {
		s.sum[i] += h / 6 * (s.div[0][i] + 2*s.div[1][i] + 2*s.div[2][i] + s.div[3][i])
	}
	s.back(x, y, n)
}
