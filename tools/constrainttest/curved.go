package constrainttest

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// curvature: 𝓗, 𝓗₁ and 𝓗₂ against differences of Π itself. With ∇J Π = 0,
//
//	𝓗(x)              = Σ_j (I−Π) (∂_u Π) u,  u = Π e_j
//	∇JᵀG†𝓗₁(x, p)     = −(I−Π) (∂_p Π) p      for tangent p
//	∇JᵀG†𝓗₂(x, p)     = −(I−Π) (∂_l Π) p      with l = ∇JᵀG†J
//
// at points that are no step away from another active set.
func curvature(t *testing.T, s evaluated, x []float64) {
	b := geometry.New(s, 1, 0)
	k, err := geometry.NewCurvature(s, 1)
	if err != nil {
		t.Skip("no Hessian-vector products")
	}
	d := s.Dim()
	done := 0
	for i := 0; i < len(x)/d && done < 2; i++ {
		xi := x[i*d : (i+1)*d]
		if !clearOfEdges(s, xi) {
			continue
		}
		done++
		testkit.OK(t, b.At(xi, 1))
		want, l, p := nans(d), nans(d), unit(d, uint64(i)+200)
		b.Landing(l)
		b.Tangent(p, p)
		if math.Sqrt(dense.Dot(p, p)) < 1e-6 {
			continue // no tangent direction
		}
		// agrees holds want against the normal part of what differ says of a step.
		agrees := func(what string, differ func(sum []float64, h float64)) {
			slope(t, fmt.Sprintf("%s at point %d", what, i), 10+dense.Norm(want), func(h float64) float64 {
				sum := make([]float64, d)
				differ(sum, h)
				return away(b, sum, want)
			})
		}
		k.Mean(want, b)
		agrees("𝓗", func(sum []float64, h float64) {
			for j := range d {
				e := make([]float64, d)
				e[j] = 1
				b.Tangent(e, e)
				dense.Axpy(sum, 1, turn(t, s, xi, e, e, h))
			}
		})
		k.Momentum(want, b, p, 0)
		agrees("𝓗₁", func(sum []float64, h float64) { dense.Axpy(sum, -1, turn(t, s, xi, p, p, h)) })
		k.Momentum(want, b, p, 2)
		agrees("𝓗₁ + 2𝓗₂", func(sum []float64, h float64) {
			dense.Axpy(sum, -1, turn(t, s, xi, p, p, h))
			if dense.Norm(l) > 1e-12 {
				dense.Axpy(sum, -2, turn(t, s, xi, l, p, h))
			}
		})
	}
	if done == 0 {
		t.Skip("every point is at the edge of an inequality")
	}
}

// clearOfEdges reports whether no inequality changes its state within 0.3 of x.
func clearOfEdges(s evaluated, x []float64) bool {
	m, c, d := len(s.Equalities()), len(constraint.Components(s)), s.Dim()
	v, jac := make([]float64, c), make([]float64, c*d)
	s.Jacobians(v, jac, x, 1)
	for a := m; a < c; a++ {
		if math.Abs(v[a]) < 0.3*dense.Norm(jac[a*d:(a+1)*d]) {
			return false
		}
	}
	return true
}

// turn returns (Π(x + h u) − Π(x − h u)) w / 2h, for |u| ≤ 1.
func turn(t *testing.T, s evaluated, x, u, w []float64, h float64) []float64 {
	t.Helper()
	out := make([]float64, len(x))
	b, v := geometry.New(s, 1, 0), nans(len(x))
	for _, sign := range []float64{1, -1} {
		testkit.OK(t, b.At(shifted(x, sign*h, u), 1))
		b.Tangent(v, w)
		dense.Axpy(out, sign/(2*h), v)
	}
	return out
}

// away returns the distance of the normal part of v from want.
func away(b geometry.Geometry, v, want []float64) float64 {
	π := nans(len(v))
	b.Tangent(π, v)
	dense.Axpy(π, 1, want)
	return floats.Distance(v, π, 2)
}

// closedForm: what a Projector says is what the factorisation says.
func closedForm(t *testing.T, s evaluated, x []float64) {
	p := s.Projector
	if p == nil {
		t.Skip("no closed form of the normal space")
	}
	d, m := s.Dim(), len(s.Equalities())
	n := len(x) / d
	b := geometry.New(sets.Plain(s), n, 0)
	testkit.OK(t, b.At(x, n))
	h, work, regular := nans(n*m), nans(n*p.WorkSize()), make([]bool, n)
	p.Factor(h, work, regular, x, n)
	for i, good := range regular {
		if !good {
			t.Fatalf("point %d is not regular", i)
		}
	}
	check := func(what string, got, want []float64) {
		t.Helper()
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-11*(1+math.Abs(want[i]))) {
				t.Fatalf("%s: element %d of point %d is %.15g in closed form, %.15g by factorisation", what, i%d, i/d,
					got[i], want[i])
			}
		}
	}
	check("h", h, b.Values())
	v, u := make([]float64, n*d), make([]float64, n*m)
	for i := range n {
		copy(v[i*d:], unit(d, uint64(i)+300))
		copy(u[i*m:], unit(m, uint64(i)+400))
	}
	got, want := nans(n*d), nans(n*d)
	b.Landing(want)
	p.Landing(got, x, work, n)
	check("landing", got, want)
	b.Normal(want, u)
	p.Normal(got, u, x, work, n)
	check("∇hᵀG⁻¹u", got, want)
	b.Tangent(want, v)
	p.Tangent(got, v, x, work, n)
	check("Πv", got, want)
	p.Tangent(v, v, x, work, n)
	check("Πv in place", v, want)
}

// geodesics holds Exp and Log, which a set has both or neither of, against what a geodesic is:
// it stays on h = 0, its speed does not change, it does not turn within Σ, and Log leads back.
func geodesics(t *testing.T, s evaluated, x []float64) {
	if (s.Exp == nil) != (s.Log == nil) {
		t.Fatal("one of Exp and Log")
	}
	if s.Exp == nil {
		t.Skip("no closed-form geodesics")
	}
	d := s.Dim()
	n, smooth := len(x)/d, constraint.EqualitiesOf(s)
	g, m := geometry.New(smooth, n, 0), len(s.Equalities())
	testkit.OK(t, g.At(x, n))
	dirs := make([]float64, n*d)
	for i := range n {
		copy(dirs[i*d:], unit(d, uint64(i)))
	}
	g.Tangent(dirs, dirs)
	y, w, v, back := nans(d), nans(d), make([]float64, d), nans(d)
	at := func(p, v []float64, time float64) []float64 {
		u, out := make([]float64, d), nans(d)
		floats.AddScaledTo(u, u, time, v)
		s.Exp(out, nil, p, u)
		return out
	}
	size := make([]float64, n)
	for i := range n {
		size[i] = 0.1 * (1 + dense.Norm(x[i*d:(i+1)*d]))
	}
	for i := range n {
		p := x[i*d : (i+1)*d]
		for _, length := range []float64{0, 1e-9, 1e-3, size[i]} {
			floats.AddScaledTo(v, make([]float64, d), length, dirs[i*d:(i+1)*d])
			s.Exp(y, w, p, v)
			for k, h := range constraint.Values(s, y)[:m] {
				if !(math.Abs(h) < 1e-12) {
					t.Errorf("point %d: component %d is %.3g at the end of a geodesic", i, k, h)
				}
			}
			if !s.Log(back, p, y) || floats.Distance(back, v, 2) > 1e-13+1e-12*length {
				t.Errorf("point %d: a velocity of size %g comes back off by %g", i, length, floats.Distance(back, v, 2))
			}
			if math.Abs(dense.Norm(w)-dense.Norm(v)) > 1e-13+1e-12*length {
				t.Errorf("point %d: a geodesic of speed %g ends with %g", i, dense.Norm(v), dense.Norm(w))
			}
			if length < 1e-3 {
				continue
			}
			// Differences in the time, of a curve that takes it to go as far as it may turn.
			const h = 1e-4
			before, after, acceleration := at(p, v, 1-h), at(p, v, 1+h), make([]float64, d)
			for j := range d {
				if slope := (after[j] - before[j]) / (2 * h); math.Abs(slope-w[j]) > 1e-6*length+1e-11 {
					t.Errorf("point %d: velocity %d at the end is %g, by differences %g", i, j, w[j], slope)
				}
				acceleration[j] = (after[j] - 2*y[j] + before[j]) / (h * h)
			}
			one := geometry.New(smooth, 1, 0)
			testkit.OK(t, one.At(y, 1))
			bend := dense.Norm(acceleration)
			one.Tangent(acceleration, acceleration)
			if turn := dense.Norm(acceleration); turn > 1e-5*bend+1e-6 {
				t.Errorf("point %d: a geodesic turns by %g within Σ, and by %g in all", i, turn, bend)
			}
		}
		for _, k := range []int{i, (i + 1) % n} {
			q := x[k*d : (k+1)*d]
			if !s.Log(v, p, q) {
				continue
			}
			s.Exp(y, nil, p, v)
			if far := floats.Distance(y, q, math.Inf(1)); far > 1e-12*(1+dense.Norm(q)) {
				t.Errorf("Exp of Log misses point %d from %d by %g", k, i, far)
			}
		}
	}
	p, q := x[:d], at(x[:d], dirs[:d], size[0])
	if a := testing.AllocsPerRun(5, func() { s.Log(v, p, q); s.Exp(y, w, p, v) }); a != 0 {
		t.Errorf("Log and Exp allocate %v times", a)
	}
}

// mixed returns a set with the same Σ: equalities h → A h with a fixed invertible A of uneven scales, inequalities
// rescaled by positive factors. If repeat is set, every component appears once more, equalities scaled by 3 and
// inequalities by 5.
func mixed(s constraint.Set, repeat bool) constraint.Set {
	m, l := len(s.Equalities()), len(s.Inequalities())
	rows, more := m, 0
	if repeat {
		rows, more = 2*m, l
	}
	a := mat.NewDense(rows+l+more, m+l, nil)
	for i := range m {
		if repeat {
			a.Set(i, i, 1)
			a.Set(m+i, i, 3)
			continue
		}
		for j := range i { // lower triangular, diagonal 2, 20, 200, 2, …
			a.Set(i, j, 0.5/float64(1+i-j))
		}
		a.Set(i, i, []float64{2, 20, 200}[i%3])
	}
	for j := range l {
		a.Set(rows+j, m+j, float64(1+j%3))
		if repeat {
			a.Set(rows+l+j, m+j, 5)
		}
	}
	return &linear{s, a, rows}
}

// rescaled returns a set with the same Σ: each component times its own positive factor.
func rescaled(s constraint.Set) constraint.Set {
	c := len(constraint.Components(s))
	a := mat.NewDense(c, c, nil)
	for i := range c {
		a.Set(i, i, []float64{1e-3, 1, 1e4}[i%3])
	}
	return &linear{s, a, len(s.Equalities())}
}

// linear is the set whose components are combinations of another's. The first m are equalities.
type linear struct {
	set constraint.Set
	a   *mat.Dense
	m   int
}

func (s *linear) Dim() int               { return s.set.Dim() }
func (s *linear) Equalities() []string   { return numbered("h", s.m) }
func (s *linear) Inequalities() []string { return numbered("g", s.a.RawMatrix().Rows-s.m) }

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s[%d]", prefix, i)
	}
	return names
}

func (s *linear) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s *linear) NewEvaluator(rows int) constraint.Evaluator {
	inner, c := s.set.NewEvaluator(rows), s.a.RawMatrix().Cols
	return constraint.Evaluator{Values: func(values, x []float64, n int) {
		v := make([]float64, n*c)
		inner.Values(v, x, n)
		s.combine(values, v, n, 1)
	}, Jacobians: func(values, jac, x []float64, n int) {
		v, j := make([]float64, n*c), make([]float64, n*c*s.Dim())
		inner.Jacobians(v, j, x, n)
		s.combine(values, v, n, 1)
		s.combine(jac, j, n, s.Dim())
	}}
}

func (s *linear) combine(dst, src []float64, n, width int) {
	rows, cols := s.a.Dims()
	for p := range n {
		mat.NewDense(rows, width, dst[p*rows*width:(p+1)*rows*width]).Mul(s.a,
			mat.NewDense(cols, width, src[p*cols*width:(p+1)*cols*width]))
	}
}
