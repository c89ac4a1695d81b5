package langevin

import (
	"errors"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// gaussian is the best score of p, on its own grid, for data N(0, v) on the line: that
// which minimises the loss of each step.
type gaussian struct {
	p      *Process
	cx, cp []float64 // s = cx x + cp p̃ at step k
	end    float64   // variance of x_N
}

func learned(p *Process, v float64) *gaussian {
	N := p.Schedule.N
	g := &gaussian{p: p}
	xx, xm, mm := v, 0.0, 1.0 // of x_{k+1} and p_{k+1}
	for k := range N {
		τk, back := p.Schedule.Tau(k), p.BackTau(k)
		if !p.Method.Underdamped() {
			xx += τk
			// E[x_k | x_{k+1}] = x_{k+1} − (τ_k/Var) x_{k+1} = x_{k+1} + ½τ s
			g.cx, g.cp = append(g.cx, -2*τk/(back*xx)), append(g.cp, 0)
			continue
		}
		a := p.Decay(τk)
		xm, mm = a*xm, a*a*mm+1-a*a
		xx, xm = xx+2*τk*xm+τk*τk*mm, xm+τk*mm
		xq, mq, qq := 0.0, 0.0, 1.0 // q = p̃
		if k+1 < N {
			τ := p.Schedule.Tau(k + 1)
			a, r := p.Decay(τ), τ/p.MomentumTau(k)
			xq, mq, qq = r*a*xm, r*a*mm, r*r*(a*a*mm+1-a*a)
		}
		det := xx*qq - xq*xq
		fx, fq := (xm*qq-mq*xq)/det, (mq*xx-xm*xq)/det // E[p_{k+1} | x_{k+1}, p̃]
		g.cx = append(g.cx, τk/(back*back)*fx)
		g.cp = append(g.cp, τk/(back*back)*fq-p.Decay(back)/back)
	}
	g.end = xx
	return g
}

// Eval is linear between the times of the grid.
func (g *gaussian) Eval(dst, x, p []float64, n int, t float64) {
	for i := range dst[:n] {
		dst[i] = g.p.atStep(g.cx)(t) * x[i]
		if p != nil {
			dst[i] += g.p.atStep(g.cp)(t) * p[i]
		}
	}
}

// spread returns the variance of what the backward process of p makes of x_N ~ N(0, v)
// with a score that is linear: each step is.
func spread(t *testing.T, p *Process, v float64, score Score) float64 {
	t.Helper()
	s, N := p.NewStepper(1), p.Schedule.N
	xx, xn, nn := v, v, v // of x_{k+1} and x_{k+2}
	if p.Method.Underdamped() {
		τ := p.MomentumTau(N - 1)
		nn = v + τ*τ
	}
	step := func(k int, x, next, ζ, η float64) float64 {
		y := make([]float64, 1)
		testkit.Must(s.Backward(y, []float64{x}, []float64{next}, []float64{ζ, η}, make([]bool, 1), 1, k, score))
		return y[0]
	}
	for k := N - 1; k >= 0; k-- {
		a, b, c, e := step(k, 1, 0, 0, 0), step(k, 0, 1, 0, 0), step(k, 0, 0, 1, 0), step(k, 0, 0, 0, 1)
		xx, xn, nn = a*a*xx+2*a*b*xn+b*b*nn+c*c+e*e, a*xx+b*xn, xx
	}
	return xx
}

// On a coarser grid than that of training the sampler evaluates the score at the times of the coarser grid. For
// Gaussian data on the line the best score of each step is known. The figures are the variance of samples, as a
// multiple of the data's, with the score learned on 50 steps and with the score learned on the coarse grid. The bounds
// are the values at the right times. A sampler that evaluates the score at the number of a step, not at its time, has
// 0.74 and 0.72 at 40 steps.
func TestScoreOnCoarserGrid(t *testing.T) {
	const v = 0.2
	for _, m := range []Method{OLLA, ULLA} {
		fine := &Process{Set: zoo.Euclidean{D: 1}, Method: m, Friction: 5,
			Schedule: Schedule{N: 50, T: 2, SigmaMin: 0.1, SigmaMax: 2}}
		score := learned(fine, v)
		testkit.Near(t, spread(t, fine, score.end, score)/v, 1, 0.06, "%v, on its own grid", m)
		for _, c := range []struct {
			n   int
			off float64
		}{{40, 0.1}, {25, 0.2}, {10, 0.7}} {
			coarse := *fine
			coarse.Schedule.N = c.n
			testkit.OK(t, fine.CanDraw(&coarse))
			own := learned(&coarse, v)
			got, best := spread(t, &coarse, own.end, score)/v, spread(t, &coarse, own.end, own)/v
			t.Logf("%v, %d steps: %.3f; learned on them %.3f", m, c.n, got, best)
			testkit.Near(t, got, 1, c.off, "%v, %d steps", m, c.n)
		}
	}
}

// Fewer steps of the same kind, other walls, landing and projection are drawn by;
// more steps and a score of the other kind are not.
func TestCanDraw(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, ULLA)
	same := *p
	same.Method, same.NoTerminal, same.Landing, same.Walls = ULLAP, !p.NoTerminal, Landing{true, 1}, PaperWalls
	same.Schedule.N--
	testkit.OK(t, p.CanDraw(&same))
	for field, change := range map[string]func(*Process){
		"Method": func(q *Process) { q.Method = OLLAP }, "Schedule.N": func(q *Process) { q.Schedule.N++ },
	} {
		by := *p
		change(&by)
		var e *ConfigError
		if err := p.CanDraw(&by); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
