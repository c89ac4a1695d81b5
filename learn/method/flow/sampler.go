package flow

import (
	"context"
	"errors"

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
