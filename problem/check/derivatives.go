package check

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// derivatives compares gradients and Hessian-vector products with central differences by slope: over decades of step
// sizes the error of a correct derivative falls like step² until round-off. One that stops falling earlier is wrong
// by what is left.
func derivatives(e *Evidence) []Finding {
	points := e.Near
	if len(points) == 0 {
		points = e.Stuck
	}
	points = points[:min(len(points), e.Budget(20*float64(e.C*e.D), 8))]
	var out []Finding
	first, second := newSlopes(e.C), newSlopes(e.C)
	probe := e.Probe()
	hessian := probe.HessianVectors != nil
	plus, minus, x := make([]float64, e.C), make([]float64, e.C), make([]float64, e.D)
	jp, jm, hv := make([]float64, e.C*e.D), make([]float64, e.C*e.D), make([]float64, e.C*e.D)
	for n, p := range points {
		if !probe.At(p.X) {
			continue
		}
		v := e.Direction(n, evidence.ForDerivatives)
		if hessian {
			probe.HessianVectors(hv, p.X, v, 1)
		}
		for decade := range decades {
			step := math.Pow(10, -1-float64(decade)) * e.Scale
			for _, side := range []struct {
				step    float64
				c, grad []float64
			}{{step, plus, jp}, {-step, minus, jm}} {
				if dense.AddScaled(x, p.X, side.step, v); hessian {
					probe.Jacobians(side.c, side.grad, x, 1)
				} else {
					probe.Values(side.c, x, 1)
				}
			}
			for i := range e.C {
				g := probe.Grad(i)
				first.add(i, decade, step, (plus[i]-minus[i])/(2*step)-dense.Dot(g, v), dense.Norm(g),
					terms(probe.Val[i], g, p.X))
				if hessian {
					row := hv[i*e.D : (i+1)*e.D]
					worst := 0.0
					for j := range row {
						worst = max(worst, math.Abs((jp[i*e.D+j]-jm[i*e.D+j])/(2*step)-row[j]))
					}
					second.add(i, decade, step, worst, dense.Norm(row), dense.Norm(g)+dense.Norm(row)*dense.Norm(p.X))
				}
			}
		}
		first.close(p.From, func(i int) bool { return e.kinked(p.X, v, i) })
		if hessian {
			second.close(p.From, func(i int) bool { return e.kinked(p.X, v, i) })
		}
	}
	for i, name := range e.Names {
		out = append(out, first.finding(i, name, "∇"))
		if hessian {
			out = append(out, second.finding(i, name, "∇²v"))
		}
	}
	return out
}

const decades = 7

// terms bounds the size of what is added up in c(x): its value and x_j ∂_j c.
func terms(value float64, grad, x []float64) float64 {
	s := math.Abs(value)
	for j, g := range grad {
		s += math.Abs(x[j] * g)
	}
	return s + dense.Norm(grad)
}

// slopes collects errors of one kind of derivative, by component.
type slopes []struct {
	now, floor [decades]float64 // error at the point in progress, and its round-off
	size       float64          // of the derivative there
	worst      slope            // of the points so far
}

// A slope is how the error of a derivative falls with the step.
type slope struct {
	points   int
	relative float64 // smallest error of any step over the derivative's size
	exact    bool    // it reached round-off
	rate     float64 // d log error / d log step before that; NaN if at round-off throughout
	from     string
}

func newSlopes(c int) slopes {
	s := make(slopes, c)
	for i := range s {
		s[i].worst = slope{exact: true, rate: math.NaN()}
	}
	return s
}

func (s slopes) add(i, decade int, step, err, size, terms float64) {
	s[i].now[decade], s[i].size = math.Abs(err), size
	s[i].floor[decade] = 100 * (terms + size*step) * 0x1p-52 / step
}

// close ends a point. A point on a line with a kink says nothing of the derivative, and is left out.
func (s slopes) close(from string, kinked func(i int) bool) {
	for i := range s {
		at := s.judge(i)
		if at.from = from; !at.exact && kinked(i) {
			continue
		}
		w := &s[i].worst
		at.points = w.points + 1
		if w.points == 0 || (w.exact && !at.exact) || w.exact == at.exact && at.relative > w.relative {
			*w = at
		}
		w.points = at.points
	}
}

func (s slopes) judge(i int) slope {
	out, c := slope{relative: math.Inf(1), rate: math.NaN()}, &s[i]
	size := max(c.size, math.SmallestNonzeroFloat64)
	var rates []float64
	for k, e := range c.now {
		if k > 0 && c.now[k-1] > 10*c.floor[k-1] && e > c.floor[k] {
			rates = append(rates, math.Log10(c.now[k-1]/e))
		}
		// Round-off is well below its bound, so a correct derivative falls past it; an error that stays and meets the
		// rising bound is not round-off.
		if e <= c.floor[k] && (k == 0 || 5*e <= c.now[k-1]) {
			out.exact = true
		}
		out.relative = min(out.relative, e/size)
	}
	out.rate = metric.Median(rates)
	return out
}

func (s slopes) finding(i int, name, what string) Finding {
	w := s[i].worst
	f := Finding{Component: name, Numbers: Numbers{"error": w.relative, "slope": w.rate, "points": float64(w.points)}}
	switch {
	case w.points == 0:
		f.Status, f.Message = Warn, what+" could not be compared: no point is finite and away from kinks"
	case w.exact:
		f.Message = fmt.Sprintf("%s agrees with finite differences to round-off", what)
		if finite(w.rate) {
			f.Message += fmt.Sprintf(" (slope %.1f)", w.rate)
		}
	case w.relative < 1e-5:
		f.say(Warn, "%s is only good to %.1g of its size (at %s): is it itself a finite difference, or "+
			"float32?", what, w.relative, w.from)
	default:
		f.say(Fail, "%s is wrong by %.2g of its size at %s: finite differences of any step disagree", what,
			w.relative, w.from)
	}
	return f
}
