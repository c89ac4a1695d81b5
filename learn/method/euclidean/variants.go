package euclidean

import (
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/program"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
)

// An act is what a variant does with Σ: to the score of a step, after it, and at the end. It is
// scratch space for one goroutine.
type act interface {
	method.Score
	lead(s method.Score) // the network's, of samples to come
	at(k int)            // the next step is x_{k+1} → x_k
	// after does with x_k (n×d) what comes after a step; k = 0 is the last.
	after(x []float64, n int, k int, failed []bool, count *method.Programs)
	// last does with x_0 what comes at the end.
	last(x []float64, n int, failed []bool, count *method.Programs)
}

func (m *Method) newAct(rows int) act {
	free := func() []float64 { return make([]float64, rows*m.set.Dim()) }
	switch m.variant {
	case Projected:
		return &nearest{by: program.NewInterior(m.set, rows, m.opt.Interior), ok: make([]bool, rows)}
	case Lagrangian:
		return &nearest{by: program.NewLagrangian(m.set, rows, m.opt.Lagrangian), ok: make([]bool, rows)}
	case Guided:
		return &guided{proc: m.by, by: program.NewGuidance(m.set, rows), w: m.opt.strength(), gradient: free(),
			steep: make([]float64, rows)}
	case Corrected:
		return &corrected{proc: m.by, by: program.NewCorrection(m.set, rows), steps: m.opt.steps(), land: m.land,
			force: free(), end: free(), to: free(), ok: make([]bool, rows)}
	}
	return &plain{}
}

// plain does nothing.
type plain struct{ method.Score }

func (p *plain) lead(s method.Score)                                      { p.Score = s }
func (*plain) at(int)                                                     {}
func (*plain) after([]float64, int, int, []bool, *method.Programs)        {}
func (*plain) last(x []float64, n int, failed []bool, c *method.Programs) {}

// add counts what became of points.
func add(c *method.Programs, o geometry.Outcome) {
	c.Add(method.Programs{Points: o.Points, Iterations: o.Iterations, Failed: o.Failed()})
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

func (a *nearest) after(x []float64, n, k int, failed []bool, c *method.Programs) {
	add(c, a.by.Nearest(x, x, a.ok, n))
	for i, ok := range a.ok[:n] {
		if k == 0 && !ok {
			failed[i] = true
		}
	}
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

func (a *guided) at(k int) { a.τ = a.proc.BackTau(k) }

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
	count          method.Programs // of the step in hand
}

func (a *corrected) at(k int) { a.k, a.count = k, method.Programs{} }

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
		add(&a.count, a.by.Step(a.to, a.to, a.ok, n))
	}
	for j := range n * d {
		dst[j] += 2 / v * (a.to[j] - a.end[j])
	}
}

func (a *corrected) after(_ []float64, _, _ int, _ []bool, c *method.Programs) { c.Add(a.count) }

func (a *corrected) last(x []float64, n int, failed []bool, c *method.Programs) {
	if !a.land {
		return
	}
	add(c, a.by.Land(x, a.ok, n))
	for i, ok := range a.ok[:n] {
		failed[i] = failed[i] || !ok
	}
}
