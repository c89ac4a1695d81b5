package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// vanishing looks for constraints whose gradient goes to zero where they hold. Such a component has no normal
// direction on Σ: its rank drops there, Π lets go of Σ and landing loses its force. Near a point of Σ it fits
//
//	‖∇c‖ ∼ |c|^q:   q = 0 for a regular constraint, (p−1)/p for a p-th power,
//
// so ½ for a square or a sum of squares.
func vanishing(e *Evidence) []Finding {
	var out []Finding
	for i, name := range e.Names {
		p := e.approaches[i]
		f := Finding{Component: name, Numbers: Numbers{"exponent": p.exponent, "points": float64(p.points)},
			Message: "its gradient does not vanish where it holds"}
		if fault := p.fault(i < e.M); fault != "" {
			f.Status, f.Message = Fail, fault
		} else if p.points == 0 && i < e.M {
			continue
		}
		out = append(out, f)
	}
	return out
}

// An approach is how a component behaves on the way to where it holds.
type approach struct {
	exponent float64 // q, the median over points; NaN if nothing was seen
	oneSided bool    // it is never negative
	flat     bool    // inequality: never negative, and somewhere 0 with gradient 0
	points   int

	exponents []float64
	still     bool         // somewhere it is 0 without a gradient
	seen      int          // points, on Σ and near it
	steepest  float64      // the largest ‖∇c‖ at them
	base      float64      // |c| at the point in progress
	rungs     [2][]float64 // log |c| and log ‖∇c‖ at the distances from it
}

// approaches comes near Σ from several sides at distances r, r/4, r/16 … and watches every component. fault says why
// the component has no normal direction where it holds; empty if it has one.
func (a *approach) fault(equality bool) string {
	switch {
	case equality && a.seen > 0 && a.steepest == 0:
		return fmt.Sprintf("its gradient is 0 at each of %d points on Σ and near it: it does not depend on x there "+
			"and constrains nothing. Look for a term that cancels, or leave it out", a.seen)
	case !equality && a.flat:
		return "is never negative, and 0 with gradient 0 where it holds: a ReLU or a sum of ReLUs. It counts as " +
			"active everywhere (g ≥ 0) and gives no direction to keep away from the edge: write its terms as " +
			"separate inequalities, without the ReLU"
	case a.exponent > 0.25 && a.oneSided && a.exponent < 0.6:
		return fmt.Sprintf("is a square or a sum of squares: it is never negative near Σ, and its gradient vanishes "+
			"there like |c|^%.2f. Write its terms as separate equalities, without the squares", a.exponent)
	case a.exponent > 0.25 && a.oneSided:
		return fmt.Sprintf("behaves like a power %.2g of a constraint: it is never negative near Σ, and its gradient "+
			"vanishes there like |c|^%.2f. Write its terms as separate equalities, without the power",
			1/(1-a.exponent), a.exponent)
	case a.exponent > 0.25:
		return fmt.Sprintf("its gradient vanishes on Σ like |c|^%.2f, as that of a power %.2g does: take the root, or "+
			"a constraint with a gradient", a.exponent, 1/(1-a.exponent))
	}
	return ""
}

func approaches(e *evidence.Evidence) []approach {
	const rungs = 7
	points := append(append([]evidence.Point(nil), e.On...), e.Boundary...)
	points = points[:min(len(points), e.Budget(rungs*float64(e.C*e.D), 12))]
	if k := len(e.Boundary); k > 0 && len(e.On) > len(points)/2 { // half of them at edges
		points = append(evidence.First(e.On, max(len(points)/2, 1)),
			evidence.First(e.Boundary, max(len(points)/2, 1))...)
	}
	out := make([]approach, e.C)
	for i := range out {
		out[i].oneSided = true
	}
	x, probe := make([]float64, e.D), e.Probe()
	for n, p := range points {
		if !probe.At(p.X) {
			continue
		}
		for i := range out {
			out[i].start(probe.Val[i], dense.Norm(probe.Grad(i)), i < e.M)
		}
		v := e.Direction(n, evidence.ForVanishing)
		for k := range rungs {
			dense.AddScaled(x, p.X, e.Radius*math.Pow(4, -float64(k)), v)
			if !probe.At(x) {
				continue
			}
			for i := range out {
				out[i].see(probe.Val[i], dense.Norm(probe.Grad(i)))
			}
		}
		for i := range out {
			out[i].end(i < e.M)
		}
	}
	for i := range out {
		a := &out[i]
		a.points, a.exponent = len(a.exponents), metric.Median(a.exponents)
		a.flat = i >= e.M && a.oneSided && a.still && !(a.exponent > 0.25)
	}
	return out
}

// start notes a point on Σ.
func (a *approach) start(c, g float64, equality bool) {
	a.base, a.rungs = math.Abs(c), [2][]float64{}
	a.oneSided = a.oneSided && (equality || c >= 0)
	a.still = a.still || c >= 0 && g < 1e-9
	a.seen, a.steepest = a.seen+1, max(a.steepest, g)
}

// see notes a point near it.
func (a *approach) see(c, g float64) {
	a.still = a.still || c >= 0 && g < 1e-9
	a.oneSided = a.oneSided && c >= -10*a.base
	a.seen, a.steepest = a.seen+1, max(a.steepest, g)
	if math.Abs(c) > 100*a.base && g > 0 && c != 0 {
		a.rungs[0], a.rungs[1] = append(a.rungs[0], math.Log(math.Abs(c))), append(a.rungs[1], math.Log(g))
	}
}

// end fits the exponent, where the component holds with equality.
func (a *approach) end(equality bool) {
	if q, ok := regress(a.rungs[0], a.rungs[1]); ok && (equality || a.base < evidence.Tolerance) {
		a.exponents = append(a.exponents, q)
	}
}

// regress returns the least-squares slope of y on x, from at least four values that span a factor of ten.
func regress(x, y []float64) (float64, bool) {
	if len(x) < 4 || slices.Max(x)-slices.Min(x) < math.Log(10) {
		return 0, false
	}
	return metric.Slope(x, y), true
}

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
