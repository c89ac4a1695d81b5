package zoo

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

// Geodesic is as in constraint.Evaluator. With y = x exp(A) the shortest curve is x exp(tA), with velocity xA at x, and
// parallel transport from y to x takes yΩ to x exp(A/2) Ω exp(−A/2). Of V = xᵀy, the symmetric part C = cos A and the
// skew part W = sin A commute, so with c = cos θ for each angle θ of A
//
//	A = W f(C), f(c) = θ/sin θ      exp(A/2) = g(C) + W (2g(C))⁻¹, g(c) = cos(θ/2)
//
// There is none if an angle is π, nor between two components of O(n).
func (s *Orthogonal) Geodesic(velocity, p, x, y []float64) bool {
	return (&orthogonalEvaluator{s, newOrthogonalScratch(s.n)}).Geodesic(velocity, p, x, y)
}

func (s *orthogonalEvaluator) Geodesic(velocity, p, x, y []float64) bool {
	w := s.w
	n := s.n
	copy(w.b, x)
	copy(w.y, y)
	dense.TMul(w.m, w.b, w.y, n)
	for i := range n {
		w.c[i*n+i] = 0
		for j := range i {
			a, b := w.m[i*n+j], w.m[j*n+i]
			w.c[i*n+j], w.c[j*n+i] = (a-b)/2, (b-a)/2
			w.m[i*n+j], w.m[j*n+i] = (a+b)/2, (a+b)/2
		}
	}
	dense.Eigen(w.m, w.u, w.λ, n)
	for i := range n {
		if w.λ[i] = min(w.m[i*n+i], 1); !(w.λ[i] > -1+0x1p-40) {
			return false
		}
	}
	function(w.k, w.λ, w.u, n, angleOverSine)
	dense.Mul(w.m, w.c, w.k, n) // A
	dense.Mul(velocity, w.b, w.m, n)
	if p == nil {
		return true
	}
	// E = exp(A/2) to k.
	function(w.m, w.λ, w.u, n, func(c float64) float64 { return 1 / math.Sqrt(2*(1+c)) })
	dense.Mul(w.k, w.c, w.m, n)
	function(w.m, w.λ, w.u, n, func(c float64) float64 { return math.Sqrt((1 + c) / 2) })
	for e, v := range w.m {
		w.k[e] += v
	}
	dense.TMul(w.m, w.y, p, n) // Ω
	dense.Mul(w.c, w.k, w.m, n)
	dense.MulT(w.m, w.c, w.k, n)
	dense.Mul(p, w.b, w.m, n)
	return true
}

// angleOverSine returns θ/sin θ of cos θ = c.
func angleOverSine(c float64) float64 {
	if t := 1 - c; t < 1e-4 { // 1 + t/3 + 2t²/15 + …, sin² θ = t(2 − t)
		return 1 + t/3 + 2*t*t/15
	}
	return math.Acos(c) / math.Sqrt((1-c)*(1+c))
}

// Geodesic is the arc of the great circle. With e the direction of y seen from x and θ the angle between them the
// velocity is θ r e; transport is the rotation R that takes ŷ to x̂ and leaves what is across both:
//
//	R p = p − (x̂ + ŷ) (x̂ + ŷ)·p/(1 + cos θ) + 2 x̂ (ŷ·p)
func (s Sphere) Geodesic(velocity, p, x, y []float64) bool {
	nx, ny := dense.Norm(x), dense.Norm(y)
	cos := min(dense.Dot(x, y)/(nx*ny), 1)
	if !(cos > -1+0x1p-40) {
		return false
	}
	if p != nil {
		py := dense.Dot(p, y) / ny
		a := (dense.Dot(p, x)/nx + py) / (1 + cos)
		for j := range p {
			p[j] += 2*py*x[j]/nx - a*(x[j]/nx+y[j]/ny)
		}
	}
	f := s.radius() * angleOverSine(cos)
	for j, v := range x { // the part of ŷ across x: sin θ e
		velocity[j] = f * (y[j]/ny - cos*v/nx)
	}
	return true
}
