// Package euclidean holds the rivals of the paper that know of Σ only when they generate: a
// network learns the overdamped process of the space around Σ,
//
//	x_{k+1} = x_k − ½τ∇f + √τ ζ,   x_k = x_{k+1} + ½τ(∇f + s) + √τ ζ   (τ = σ²Δt),
//
// and what a step does with Σ is the difference between them ("Euclidean forward with backward
// variants"; package program has the programs):
//
//	euclidean    nothing
//	projected    x_k becomes the nearest point of Σ, by an interior-point method
//	lagrangian   the same by an augmented Lagrangian
//	guided       the drift gains −wτ∇V with V = ½‖h‖² + ½‖max(g, 0)‖²
//	corrected    the end that x_{k+1} and s extrapolate to is moved to Σ, and the step goes
//	             there; the last state is landed (physics-constrained flow matching)
//
// The forward process is package langevin's OLLA on constraint.Ambient(Σ), its loss package cwpm's.
package euclidean

import (
	"cmp"
	"context"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/program"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Variant is what a backward step does with Σ.
type Variant int

const (
	Plain Variant = iota
	Projected
	Lagrangian
	Guided
	Corrected
)

// Options of the variants; 0 means the default.
type Options struct {
	Interior   program.InteriorOptions   // of Projected
	Lagrangian program.LagrangianOptions // of Lagrangian
	Strength   float64                   // w of Guided; 0 means 1
	Steps      int                       // Gauss–Newton steps of Corrected at each end that is extrapolated; 0 means 1
}

// A Method is the learned process of the space around Σ, and a variant.
type Method struct {
	variant Variant
	of      *pathmatch.Method // of the space around
	by      *langevin.Process // that generates
	set     constraint.Set    // Σ
	land    bool              // Corrected lands the last state
	opt     Options
}

const (
	most     = 100_000 // iterations
	steepest = 1e9     // strength and penalty
)

// The rows of the registry.
var (
	EuclideanKind = method.Kind{Name: "euclidean", Forward: Forward, New: maker(Plain)}
	ProjectedKind = method.Kind{Name: "projected", Forward: Forward, New: maker(Projected),
		Options: []score.Option{{Name: "iterations", Default: 100, Lowest: 1, Most: most, Whole: true,
			Doc: "of the interior-point method at most, of a point"}}}
	LagrangianKind = method.Kind{Name: "lagrangian", Forward: Forward, New: maker(Lagrangian),
		Options: []score.Option{{Name: "iterations", Default: 200, Lowest: 1, Most: most, Whole: true,
			Doc: "at most, of a point"}, {Name: "penalty", Default: 10, Lowest: 1 / steepest, Most: steepest,
			Doc: "ρ at first, of components in units of length"}}}
	GuidedKind = method.Kind{Name: "guided", Forward: Forward, New: maker(Guided),
		Options: []score.Option{{Name: "strength", Default: 1, Lowest: 1 / steepest, Most: steepest,
			Doc: "w of the guidance −wτ∇V"}}}
	CorrectedKind = method.Kind{Name: "corrected", Forward: Forward, New: maker(Corrected),
		Options: []score.Option{{Name: "corrections", Default: 1, Lowest: 1, Most: 1000, Whole: true,
			Doc: "Gauss–Newton steps at each end that is extrapolated"}}}
)

// Forward returns the process of the space around the set of p.
func Forward(p langevin.Process) langevin.Process {
	p.Set, p.Method = constraint.Ambient(p.Set), langevin.OLLA
	p.NoTerminal, p.Curvature, p.Landing, p.Repulsion, p.NewGeometry = true, false, langevin.Landing{}, 0, nil
	return p
}

func maker(v Variant) func(method.Config) (method.Method, error) {
	return func(c method.Config) (method.Method, error) {
		set, land := c.Process.Set, !c.Process.NoTerminal
		forward := Forward(*c.Process)
		c.Process = &forward
		of, err := pathmatch.Make(c)
		if err != nil {
			return nil, err
		}
		o := Options{Strength: c.Options["strength"], Steps: int(c.Options["corrections"])}
		o.Interior.Iterations = int(c.Options["iterations"])
		o.Lagrangian.Iterations, o.Lagrangian.Penalty = o.Interior.Iterations, c.Options["penalty"]
		return &Method{v, of, of.Process(), set, land, o}, nil
	}
}

var names = [...]string{"euclidean", "projected", "lagrangian", "guided", "corrected"}

func (m *Method) Name() string                  { return names[m.variant] }
func (m *Method) Momentum() bool                { return false }
func (m *Method) Gain() func(t float64) float64 { return m.of.Gain() }

// Prior returns nil: generation begins where paths of the space around end.
func (m *Method) Prior() method.Prior { return nil }

func (m *Method) Capabilities() method.Capabilities {
	return method.Capabilities{Noising: m.of.Process(), Recast: m.Recast}
}

// Recast is method.Capabilities.Recast: one network serves all variants, on the grid of times that it
// was trained on or a coarser one.
func (m *Method) Recast(by method.Method) (method.Method, error) {
	to, ok := by.(*Method)
	if !ok {
		return nil, &langevin.ConfigError{Field: "Method", Value: by.Name(), Want: "one of " +
			strings.Join(names[:], ", ") + ": the score of the space around the set was learned"}
	}
	if err := m.of.Process().CanDraw(to.of.Process()); err != nil {
		return nil, err
	}
	return &Method{to.variant, m.of, to.of.Process(), m.set, to.land, to.opt}, nil
}

// Feasible implements method.Method: what guidance leaves is as far from Σ as it is.
func (m *Method) Feasible() bool {
	switch m.variant {
	case Plain, Guided:
		return len(constraint.Components(m.set)) == 0
	case Corrected:
		return m.land
	}
	return true
}

func (m *Method) Source(data []float64, pool *parallel.Pool) method.Source[float32] {
	return m.of.Source(data, pool)
}

func (m *Method) Sampler(rows int, pool *parallel.Pool) method.Sampler {
	return newSampler(m, rows, pool)
}

// An act is what a variant does with Σ: to the score of a step, after it, and at the end.
type act interface {
	langevin.Act
	lead(s method.Score) // the network's, of samples to come
}

func (m *Method) newAct(rows int) act {
	free := func() []float64 { return make([]float64, rows*m.set.Dim()) }
	p := plain{set: m.set.NewEvaluator(rows), values: make([]float64, rows*len(constraint.Components(m.set)))}
	switch m.variant {
	case Projected:
		return &nearest{plain: p, by: program.NewInterior(m.set, rows, m.opt.Interior), ok: make([]bool, rows)}
	case Lagrangian:
		return &nearest{plain: p, by: program.NewLagrangian(m.set, rows, m.opt.Lagrangian), ok: make([]bool, rows)}
	case Guided:
		return &guided{plain: p, proc: m.by, by: program.NewGuidance(m.set, rows), w: cmp.Or(m.opt.Strength, 1),
			gradient: free(), steep: make([]float64, rows)}
	case Corrected:
		return &corrected{plain: p, proc: m.by, by: program.NewCorrection(m.set, rows), steps: cmp.Or(m.opt.Steps, 1),
			land: m.land, force: free(), end: free(), to: free(), ok: make([]bool, rows)}
	}
	return &p
}

// plain does nothing.
type plain struct {
	method.Score
	set    constraint.Evaluator // of Σ
	values []float64            // rows×c
}

func (p *plain) lead(s method.Score)                                     { p.Score = s }
func (*plain) At(int)                                                    {}
func (*plain) After([]float64, int, int, []bool) (none geometry.Outcome) { return none }

func (p *plain) Values(x []float64, n int) []float64 {
	p.set.Values(p.values, x, n)
	return p.values
}

// nearest brings every x_k to the nearest point of Σ. Where the program finds none x_k stays as it
// is, and the next step sets out from there; at x_0 the sample is lost.
type nearest struct {
	plain
	by interface {
		Nearest(dst, x []float64, ok []bool, n int) geometry.Outcome
	}
	ok []bool
}

func (a *nearest) After(x []float64, n, k int, failed []bool) (o geometry.Outcome) {
	if k < 0 {
		return o
	}
	o = a.by.Nearest(x, x, a.ok, n)
	for i, ok := range a.ok[:n] {
		if k == 0 && !ok {
			failed[i] = true
		}
	}
	return o
}

// guided adds the guidance to the score: ½τs′ = ½τs − η∇V with η = min(wτ, 1/Σ‖∇c_i‖²), so that no step of the guidance
// is longer than that to where V would vanish if components were linear and orthogonal. The paper has no such bound;
// without it the guidance of a quadratic component sends points that are a few units off Σ farther away at every step.
type guided struct {
	plain
	proc            *langevin.Process
	by              *program.Guidance
	w, τ            float64
	gradient, steep []float64
}

func (a *guided) At(k int) { a.τ = a.proc.BackTau(k) }

func (a *guided) Eval(dst, x, p []float64, n int, t float64) {
	a.Score.Eval(dst, x, p, n, t)
	d := len(a.gradient) / len(a.steep)
	a.by.Gradient(a.gradient, a.steep, x, n)
	for i := range n {
		η := a.w * a.τ
		if η*a.steep[i] > 1 {
			η = 1 / a.steep[i]
		}
		for j := i * d; j < (i+1)*d; j++ {
			dst[j] -= 2 / a.τ * η * a.gradient[j]
		}
	}
}

// corrected moves the end to which x_{k+1} leads,
//
//	x̂ = x_{k+1} + ½v(∇f + s),   v = τ_0 + … + τ_k,
//
// to x̂′ by Gauss–Newton steps, and takes the score that leads there, s′ = s + 2(x̂′ − x̂)/v. With
// f = 0, x̂ is the mean of x_0 given x_{k+1} (Tweedie). x_0 is landed.
type corrected struct {
	plain
	proc  *langevin.Process
	by    *program.Correction
	steps int
	land  bool
	k     int

	force, end, to []float64 // rows×d: ∇f, x̂, x̂′
	ok             []bool
	count          geometry.Outcome // of the step in hand
}

func (a *corrected) At(k int) { a.k, a.count = k, geometry.Outcome{} }

func (a *corrected) Eval(dst, x, p []float64, n int, t float64) {
	a.Score.Eval(dst, x, p, n, t)
	v := 0.0
	for k := range a.k + 1 {
		v += a.proc.Schedule.Tau(k)
	}
	d := len(a.end) / len(a.ok)
	clear(a.force[:n*d])
	if f := a.proc.Potential; f != nil {
		f.Gradient(a.force[:n*d], x[:n*d], n)
	}
	for j := range n * d {
		a.end[j] = x[j] + v/2*(a.force[j]+dst[j])
	}
	copy(a.to, a.end[:n*d])
	for range a.steps {
		a.count.Add(a.by.Step(a.to, a.to, a.ok, n))
	}
	for j := range n * d {
		dst[j] += 2 / v * (a.to[j] - a.end[j])
	}
}

func (a *corrected) After(x []float64, n, k int, failed []bool) (o geometry.Outcome) {
	if k >= 0 {
		return a.count
	}
	if !a.land {
		return o
	}
	o = a.by.Land(x, a.ok, n)
	for i, ok := range a.ok[:n] {
		failed[i] = failed[i] || !ok
	}
	return o
}

// A sampler generates by the backward steps of the space around Σ, with what the variant does between them.
type sampler struct {
	method.Sampler // of the space around, for Ends
	m              *Method
	sim            *langevin.Simulator
	acts           []act // of workers
}

func newSampler(m *Method, rows int, pool *parallel.Pool) *sampler {
	s := &sampler{Sampler: m.of.Sampler(rows, pool), m: m, sim: langevin.NewSimulator(m.by, pool, rows).Tolerate()}
	for range pool.Workers() {
		s.acts = append(s.acts, m.newAct(rows))
	}
	return s
}

// NewTrace implements method.Sampler: traces are of Σ.
func (s *sampler) NewTrace() *method.Trace {
	p := *s.m.by
	p.Set = s.m.set
	return langevin.NewTrace(&p)
}

// Watch implements method.Sampler.
func (s *sampler) Watch(t *method.Trace) { s.sim.Watch(t) }

// Generate implements method.Sampler.
func (s *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64, prior method.Prior,
	scores func(worker int) method.Score) (method.Report, error) {
	r, err := s.sim.Backward(ctx, dst, failed, first, seed, prior, func(worker int) method.Score {
		s.acts[worker].lead(scores(worker))
		return s.acts[worker]
	})
	out, o := method.Told(r), r.Projections
	out.Programs = method.Programs{Points: o.Points, Iterations: o.Iterations, Failed: o.Failed()}
	return out, err
}
