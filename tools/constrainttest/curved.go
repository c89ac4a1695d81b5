package constrainttest

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

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
