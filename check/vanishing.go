package check

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

// vanishing looks for constraints whose gradient goes to zero where they hold.
// Such a component has no normal direction on Σ: its rank drops there, Π lets go
// of Σ and landing loses its force. Near a point of Σ it fits
//
//	‖∇c‖ ∼ |c|^q:   q = 0 for a regular constraint, (p−1)/p for a p-th power,
//
// so ½ for a square or a sum of squares.
func vanishing(s *subject) []Finding {
	var out []Finding
	all := s.approaches()
	for i, name := range s.names {
		p := all[i]
		f := Finding{Component: name, Numbers: Numbers{"exponent": p.exponent, "points": float64(p.points)}, Message: "its gradient does not vanish where it holds"}
		switch {
		case i < s.m && p.seen > 0 && p.steepest == 0:
			f.Status = Fail
			f.Message = fmt.Sprintf("its gradient is 0 at each of %d points on Σ and near it: it does not depend on x there and constrains nothing. Look for a term that cancels, or leave it out", p.seen)
		case i >= s.m && p.flat:
			f.Status = Fail
			f.Message = "is never negative, and 0 with gradient 0 where it holds: a ReLU or a sum of ReLUs. It counts as active everywhere (g ≥ 0) and " +
				"gives no direction to keep away from the edge: write its terms as separate inequalities, without the ReLU"
		case p.exponent > 0.25 && p.oneSided && p.exponent < 0.6:
			f.Status = Fail
			f.Message = fmt.Sprintf("is a square or a sum of squares: it is never negative near Σ, and its gradient vanishes there like |c|^%.2f. "+
				"Write its terms as separate equalities, without the squares", p.exponent)
		case p.exponent > 0.25 && p.oneSided:
			f.Status = Fail
			f.Message = fmt.Sprintf("behaves like a power %.2g of a constraint: it is never negative near Σ, and its gradient vanishes there like |c|^%.2f. "+
				"Write its terms as separate equalities, without the power", 1/(1-p.exponent), p.exponent)
		case p.exponent > 0.25:
			f.Status = Fail
			f.Message = fmt.Sprintf("its gradient vanishes on Σ like |c|^%.2f, as that of a power %.2g does: take the root, or a constraint with a gradient", p.exponent, 1/(1-p.exponent))
		}
		s.flat[i] = f.Status == Fail
		if f.Status != Fail && p.points == 0 && i < s.m {
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

// approaches comes near Σ from several sides at distances r, r/4, r/16 … and
// watches every component.
func (s *subject) approaches() []approach {
	const rungs = 7
	points := append(append([]point(nil), s.on...), s.boundary...)
	points = points[:min(len(points), s.budget(rungs*float64(s.c*s.d), 12))]
	if k := len(s.boundary); k > 0 && len(s.on) > len(points)/2 { // half of them at edges
		points = append(first(s.on, max(len(points)/2, 1)), first(s.boundary, max(len(points)/2, 1))...)
	}
	out := make([]approach, s.c)
	for i := range out {
		out[i].oneSided = true
	}
	x := make([]float64, s.d)
	for n, p := range points {
		if !s.at(p.x) {
			continue
		}
		for i := range out {
			out[i].start(s.val[i], dense.Norm(s.grad(i)), i < s.m)
		}
		v := s.direction(n, 4)
		for k := range rungs {
			dense.AddScaled(x, p.x, s.radius*math.Pow(4, -float64(k)), v)
			if !s.at(x) {
				continue
			}
			for i := range out {
				out[i].see(s.val[i], dense.Norm(s.grad(i)))
			}
		}
		for i := range out {
			out[i].end(i < s.m)
		}
	}
	for i := range out {
		a := &out[i]
		a.points, a.exponent = len(a.exponents), median(a.exponents)
		a.flat = i >= s.m && a.oneSided && a.still && !(a.exponent > 0.25)
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
	if q, ok := regress(a.rungs[0], a.rungs[1]); ok && (equality || a.base < onΣ) {
		a.exponents = append(a.exponents, q)
	}
}

// regress returns the least-squares slope of y on x, from at least four values
// that span a factor of ten.
func regress(x, y []float64) (float64, bool) {
	n := float64(len(x))
	if n < 4 {
		return 0, false
	}
	var mx, my, sxx, sxy, lo, hi float64
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
		lo, hi = min(lo, x[i]), max(hi, x[i])
	}
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if hi-lo < math.Log(10) {
		return 0, false
	}
	return sxy / sxx, true
}
