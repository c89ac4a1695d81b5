package zoo

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
)

// nearCut is the cosine of an angle below which Log takes it from its sine: near π the cosine says little of it.
const nearCut = -0.5

// leastSine is the sine of the angle to the cut locus, where shortest curves are two, within which there is no Log.
const leastSine = 0x1p-20

// straight is Exp, and difference Log, of the convex part of an affine space.
func straight(y, w, x, v []float64) {
	copy(w, v)
	dense.AddScaled(y, x, 1, v)
}

func difference(v, x, y []float64) bool {
	dense.AddScaled(v, y, -1, x)
	return true
}

// Exp runs along the great circle: of the unit vector e along v and θ = ‖v‖/r
//
//	y = r (cos θ x̂ + sin θ e)      w = ‖v‖ (cos θ e − sin θ x̂)
func (s Sphere) Exp(y, w, x, v []float64) {
	r, nx, nv := s.radius(), dense.Norm(x), dense.Norm(v)
	sin, cos := math.Sincos(nv / r)
	per := 1.0 // r sin θ/‖v‖
	if nv > 0 {
		per = r * sin / nv
	}
	for j, u := range x {
		u, vj := u/nx, v[j]
		y[j] = r*cos*u + per*vj
		if w != nil {
			w[j] = cos*vj - nv*sin*u
		}
	}
}

// Log is θ r e, e being the direction of y across x and θ the angle between them.
func (s Sphere) Log(v, x, y []float64) bool {
	nx, ny := dense.Norm(x), dense.Norm(y)
	cos := min(dense.Dot(x, y)/(nx*ny), 1)
	for j, u := range x { // sin θ e
		v[j] = y[j]/ny - cos*u/nx
	}
	f := 0.0
	if cos < nearCut {
		sin := dense.Norm(v)
		if !(sin > leastSine) {
			return false
		}
		f = (math.Pi - math.Asin(min(sin, 1))) / sin
	} else {
		f = angleOverSine(cos)
	}
	for j := range v {
		v[j] *= s.radius() * f
	}
	return cos == cos
}

// Exp is x exp(A), with A the skew part of xᵀv and w = y A. Of S = AᵀA, whose eigenvalues
// are the squares of A's angles,
//
//	exp(A) = cos √S + A sin √S/√S
func (s *orthogonalEvaluator) Exp(y, w, x, v []float64) {
	t, n := s.w, s.n
	copy(t.b, x)
	copy(t.y, v)
	dense.TMul(t.m, t.b, t.y, n)
	skew(t.c, t.m, n)
	dense.TMul(t.m, t.c, t.c, n)
	dense.Eigen(t.m, t.u, t.λ, n)
	for i := range n {
		t.λ[i] = math.Sqrt(max(t.m[i*n+i], 0))
	}
	function(t.k, t.λ, t.u, n, func(θ float64) float64 {
		if θ < 1e-4 {
			return 1 - θ*θ/6
		}
		return math.Sin(θ) / θ
	})
	dense.Mul(t.m, t.c, t.k, n)
	function(t.k, t.λ, t.u, n, math.Cos)
	for e, v := range t.k {
		t.m[e] += v
	}
	dense.Mul(y, t.b, t.m, n)
	if w != nil {
		dense.Mul(w, y, t.c, n)
	}
}

// between writes the skew part W of V = xᵀy to c, and the eigenvectors of its symmetric part to u, whose eigenvalues
// are then on the diagonal of m.
func (t *orthogonalScratch) between(x, y []float64, n int) {
	copy(t.b, x)
	copy(t.y, y)
	dense.TMul(t.m, t.b, t.y, n)
	skew(t.c, t.m, n)
	for i := range n {
		for j := range i {
			t.m[i*n+j] = (t.m[i*n+j] + t.m[j*n+i]) / 2
			t.m[j*n+i] = t.m[i*n+j]
		}
	}
	dense.Eigen(t.m, t.u, t.λ, n)
}

// skew writes (m − mᵀ)/2, which may stand in the place of m.
func skew(dst, m []float64, n int) {
	for i := range n {
		dst[i*n+i] = 0
		for j := range i {
			a := (m[i*n+j] - m[j*n+i]) / 2
			dst[i*n+j], dst[j*n+i] = a, -a
		}
	}
}

// Log is x A, with A the principal logarithm of V = xᵀy: as in Geodesic, but for the space of the angles near π. There
// the cosine says little of an angle θ; it is π − asin s, of s the singular values of the skew part B of V in that
// space. They come, with the planes, from the eigenvectors of the symmetric matrix
//
//	( 0  −B )        of eigenvalues ±s; it is iB, Hermitian, in real numbers, and
//	( B   0 )        the same function of it has A in the place of B.
func (s *orthogonalEvaluator) Log(v, x, y []float64) bool {
	t, n := s.w, s.n
	t.between(x, y, n)
	least := 1.0
	for i := range n {
		t.λ[i] = min(t.m[i*n+i], 1)
		least = min(least, t.λ[i])
	}
	if least != least {
		return false
	}
	if least >= nearCut {
		function(t.k, t.λ, t.u, n, angleOverSine)
		dense.Mul(t.m, t.c, t.k, n)
		dense.Mul(v, t.b, t.m, n)
		return true
	}
	split := t.gap(n)
	function(t.k, t.λ, t.u, n, func(c float64) float64 {
		if c < split {
			return 0
		}
		return angleOverSine(c)
	})
	dense.Mul(t.m, t.c, t.k, n)
	if !t.turned(split, n) {
		return false
	}
	dense.Mul(v, t.b, t.m, n)
	return true
}

// gap returns a cosine between −0.9 and −0.1 in the middle of the widest gap between the
// eigenvalues λ, so that no space of one of them is cut in two.
func (t *orthogonalScratch) gap(n int) float64 {
	t.needSorted(n)
	copy(t.sorted, t.λ)
	slices.Sort(t.sorted)
	low, at, width := -0.9, 0.0, -1.0
	for i := range n + 1 {
		high := -0.1
		if i < n {
			high = min(max(t.sorted[i], -0.9), -0.1)
		}
		if high-low > width {
			at, width = (low+high)/2, high-low
		}
		low = high
	}
	return at
}

// turned adds A in the space of the eigenvectors u with λ below split to m, of the skew part c.
// It is false if an angle is π.
func (t *orthogonalScratch) turned(split float64, n int) bool {
	p := 0
	for j := range n { // the space's basis by rows
		if t.λ[j] < split {
			for i := range n {
				t.basis[p*n+i] = t.u[i*n+j]
			}
			p++
		}
	}
	q := 2 * p
	clear(t.wide[:q*q])
	for a := range p {
		ua := t.basis[a*n : (a+1)*n]
		for i := range n { // row a of Uᵀ W
			sum := 0.0
			for k, u := range ua {
				sum += u * t.c[k*n+i]
			}
			t.k[a*n+i] = sum
		}
		for b := range a {
			β := dense.Dot(t.k[a*n:(a+1)*n], t.basis[b*n:(b+1)*n])
			t.wide[a*q+p+b], t.wide[b*q+p+a] = -β, β
			t.wide[(p+a)*q+b], t.wide[(p+b)*q+a] = β, -β
		}
	}
	dense.Eigen(t.wide, t.wideU, t.wideλ, q)
	for i := range q {
		σ := t.wide[i*q+i]
		if !(math.Abs(σ) > leastSine) {
			return false
		}
		t.wideλ[i] = math.Copysign(math.Pi-math.Asin(min(math.Abs(σ), 1)), σ)
	}
	for a := range p {
		for b := range a {
			// The lower left block of U θ Uᵀ, and of what is skew in it.
			α := 0.0
			for i := range q {
				α += t.wideλ[i] * (t.wideU[(p+a)*q+i]*t.wideU[b*q+i] - t.wideU[(p+b)*q+i]*t.wideU[a*q+i]) / 2
			}
			for i, u := range t.basis[a*n : (a+1)*n] {
				for j, w := range t.basis[b*n : (b+1)*n] {
					t.m[i*n+j] += α * u * w
					t.m[j*n+i] -= α * u * w
				}
			}
		}
	}
	return true
}

// needSorted makes the room that Log takes near the cut locus.
func (t *orthogonalScratch) needSorted(n int) {
	if t.sorted == nil {
		t.sorted, t.basis = make([]float64, n), make([]float64, n*n)
		t.wide, t.wideU, t.wideλ = make([]float64, 4*n*n), make([]float64, 4*n*n), make([]float64, 2*n)
	}
}

// Geodesic is as in constraint.Evaluator. With y = x exp(A) the shortest curve is x exp(tA), with velocity xA at x, and
// parallel transport from y to x takes yΩ to x exp(A/2) Ω exp(−A/2). Of V = xᵀy, the symmetric part C = cos A and the
// skew part W = sin A commute, so with c = cos θ for each angle θ of A
//
//	A = W f(C), f(c) = θ/sin θ      exp(A/2) = g(C) + W (2g(C))⁻¹, g(c) = cos(θ/2)
//
// There is none if an angle is π, nor between two components of O(n).
func (s *orthogonalEvaluator) Geodesic(velocity, p, x, y []float64) bool {
	w, n := s.w, s.n
	w.between(x, y, n)
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
