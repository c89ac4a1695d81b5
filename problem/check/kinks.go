package check

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// kinks looks for jumps of the gradient near Σ, along lines through points on Σ and on its edges. Newton's method,
// the curvature terms and the order of a step rest on constraints that are smooth where they act: for an equality
// near h = 0, for an inequality where g ≥ −ε or nearly so.
func kinks(e *Evidence) []Finding {
	points := append(append([]evidence.Point(nil), e.Boundary...), e.On...)
	points = points[:min(len(points), e.Budget(80*float64(e.C*e.D), 48))]
	worst := make([]jump, e.C)
	probe := e.Probe()
	for n, p := range points {
		v := e.Direction(n, evidence.ForKinks)
		for i, j := range jumps(probe, p.X, v, 2*e.Radius) {
			if j.relative > worst[i].relative && e.acts(i, j) {
				j.from = p.From
				worst[i] = j
			}
		}
	}
	var out []Finding
	for i, name := range e.Names {
		j := worst[i]
		f := Finding{Component: name, Numbers: Numbers{"jump": j.relative}, Message: "no kink found near Σ"}
		if j.relative > 0 {
			f.Status = Warn
			f.Numbers["value"] = j.value
			f.Message = fmt.Sprintf("has a kink near %s: its slope jumps by %.2g of the gradient where its value is "+
				"%.2g. Write the pieces of a max, min, |·| or ReLU as components of their own, or smooth it", j.from,
				j.relative, j.value)
		}
		out = append(out, f)
	}
	if len(points) == 0 {
		return nil
	}
	return out
}

// acts reports whether component i shapes steps near Σ where it jumps.
func (e *Evidence) acts(i int, j jump) bool {
	if i < e.M {
		return true
	}
	return j.value >= -max(e.Running.Repulsion, 1e-3*j.gradient*e.Scale, 1e-9)
}

// A jump is a discontinuity of a directional derivative.
type jump struct {
	relative float64 // to the gradient's norm; 0: none
	value    float64 // of the component there
	gradient float64 // its norm there
	from     string
}

const grid = 16

// jumps finds for each component the largest jump of φ'(t) = ∇c(x + tv)·v on [−r, r]. It takes the cell of a grid
// where φ' changes most and halves it: the change of a smooth φ' halves with the cell, that of a jump stays.
func jumps(probe *evidence.Probe, x, v []float64, r float64) []jump {
	c := len(probe.Val)
	y := make([]float64, len(x))
	slopes, sizes := make([][]float64, grid+1), make([]float64, c)
	at := func(t float64) []float64 {
		dense.AddScaled(y, x, t, v)
		probe.At(y)
		out := make([]float64, c)
		for i := range out {
			out[i] = dense.Dot(probe.Grad(i), v)
			sizes[i] = max(sizes[i], dense.Norm(probe.Grad(i)))
		}
		return out
	}
	for k := range slopes {
		slopes[k] = at(r * (2*float64(k)/grid - 1))
	}
	out := make([]jump, c)
	for i := range out {
		cell, change, total := 0, 0.0, 0.0
		for k := range grid {
			d := math.Abs(slopes[k+1][i] - slopes[k][i])
			total += d
			if d > change {
				cell, change = k, d
			}
		}
		// A smooth derivative changes in most cells; a jump is most of it all.
		if !finite(total) || change < 1e-6*sizes[i] || change < 2.5*total/grid {
			continue
		}
		lo, hi := r*(2*float64(cell)/grid-1), r*(2*float64(cell+1)/grid-1)
		a, b := slopes[cell][i], slopes[cell+1][i]
		for range 24 {
			mid := (lo + hi) / 2
			c := at(mid)[i]
			if math.Abs(c-a) > math.Abs(b-c) {
				hi, b = mid, c
			} else {
				lo, a = mid, c
			}
			if math.Abs(b-a) < change/8 {
				break
			}
		}
		if left := math.Abs(b - a); left >= change/8 {
			at(hi)
			out[i] = jump{relative: left / sizes[i], value: probe.Val[i], gradient: dense.Norm(probe.Grad(i))}
		}
	}
	return out
}

// kinked reports whether component i has a kink on the lines that the finite differences at x run along.
func (e *Evidence) kinked(x, v []float64, i int) bool {
	return jumps(e.Probe(), x, v, 1e-1*e.Scale)[i].relative > 0
}
