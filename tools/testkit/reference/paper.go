package reference

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// A Cubic is the function c + b·x + ½ xᵀAx + (w·x)³/6, with A symmetric.
type Cubic struct {
	C    float64
	B, W []float64
	A    [][]float64
}

// Value, Gradient and Hessian of the function at x.
func (q Cubic) Value(x []float64) float64 {
	v := q.C
	for i := range x {
		v += q.B[i] * x[i]
		for j := range x {
			v += x[i] * q.A[i][j] * x[j] / 2
		}
	}
	u := q.along(x)
	return v + u*u*u/6
}

// Gradient of the function at x.
func (q Cubic) Gradient(x []float64) []float64 {
	u, g := q.along(x), make([]float64, len(x))
	for i := range x {
		g[i] = q.B[i] + u*u*q.W[i]/2
		for j := range x {
			g[i] += q.A[i][j] * x[j]
		}
	}
	return g
}

// Hessian of the function at x.
func (q Cubic) Hessian(x []float64) *mat.Dense {
	u, h := q.along(x), mat.NewDense(len(x), len(x), nil)
	for i := range x {
		for j := range x {
			h.Set(i, j, q.A[i][j]+u*q.W[i]*q.W[j])
		}
	}
	return h
}

func (q Cubic) along(x []float64) (u float64) {
	for i := range x {
		u += q.W[i] * x[i]
	}
	return u
}

// Formula writes the function as a problem file does.
func (q Cubic) Formula() string {
	var b, w strings.Builder
	fmt.Fprintf(&b, "%v", q.C)
	for i := range q.B {
		fmt.Fprintf(&b, " + (%v) * x[%d]", q.B[i], i)
		fmt.Fprintf(&w, " + (%v) * x[%d]", q.W[i], i)
		for j := range q.B {
			fmt.Fprintf(&b, " + (%v) * x[%d] * x[%d] / 2", q.A[i][j], i, j)
		}
	}
	return b.String() + " + (0" + w.String() + ")^3 / 6"
}

// Paper is the forward and backward process of the paper's Algorithms 1 and 2, written
// from their lines with dense matrices, at one point at a time: slow, and with nothing
// of the packages that are tested with it. Its walls are the paper's, its convention too.
type Paper struct {
	H, G                             []Cubic
	Underdamped, Projected, Implicit bool
	Curvature                        bool
	Alpha, Epsilon, Gamma, Dt        float64
	Sigma                            []float64 // σ_0 … σ_N
	GradF                            func(x []float64) []float64
	Score                            func(x, p []float64, t float64) []float64 // p is nil if overdamped
}

// stack is J = [h; g_I + ε], its gradients, their Hessians, G⁻¹ and Π at a point.
type stack struct {
	J        *mat.VecDense
	grad     *mat.Dense // rows
	hess     []*mat.Dense
	inverse  *mat.Dense
	Π        *mat.Dense
	isActive []bool
}

// at stacks what is active at x, or the inequalities given.
func (p *Paper) at(x []float64, inequalities []bool, ε float64) *stack {
	d, s := len(x), &stack{isActive: inequalities}
	if inequalities == nil {
		s.isActive = make([]bool, len(p.G))
		for j, g := range p.G {
			s.isActive[j] = g.Value(x) >= 0
		}
	}
	var values, rows []float64
	add := func(c Cubic, shift float64) {
		values, rows = append(values, c.Value(x)+shift), append(rows, c.Gradient(x)...)
		s.hess = append(s.hess, c.Hessian(x))
	}
	for _, h := range p.H {
		add(h, 0)
	}
	for j, g := range p.G {
		if s.isActive[j] {
			add(g, ε)
		}
	}
	s.J, s.grad = mat.NewVecDense(len(values), values), mat.NewDense(len(values), d, rows)
	var gram, inverse, normal, Π mat.Dense
	gram.Mul(s.grad, s.grad.T())
	if err := inverse.Inverse(&gram); err != nil {
		panic("reference: " + err.Error())
	}
	normal.Product(s.grad.T(), &inverse, s.grad)
	eye := mat.NewDense(d, d, nil)
	for i := range d {
		eye.Set(i, i, 1)
	}
	Π.Sub(eye, &normal)
	s.inverse, s.Π = &inverse, &Π
	return s
}

// tangent returns Πv, and normal ∇Jᵀ G⁻¹ u.
func (s *stack) tangent(v []float64) []float64 {
	var out mat.VecDense
	out.MulVec(s.Π, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

func (s *stack) normal(u *mat.VecDense) []float64 {
	var z, out mat.VecDense
	z.MulVec(s.inverse, u)
	out.MulVec(s.grad.T(), &z)
	return out.RawVector().Data
}

// sum returns x + Σ c_i v_i.
func sum(x []float64, terms ...any) []float64 {
	out := append([]float64(nil), x...)
	for i := 0; i < len(terms); i += 2 {
		for j, v := range terms[i+1].([]float64) {
			out[j] += terms[i].(float64) * v
		}
	}
	return out
}

// Pseudo returns x + cΠv, the point that carries a first momentum.
func (p *Paper) Pseudo(x, v []float64, c float64) []float64 {
	return sum(x, c, p.at(x, nil, p.Epsilon).tangent(v))
}

// Tau returns σ_k²Δt.
func (p *Paper) Tau(k int) float64 { return p.Sigma[k] * p.Sigma[k] * p.Dt }

// Forward returns x_{k+1} from x_k, x_{k−1} and ζ_k.
func (p *Paper) Forward(x, before, ζ []float64, k int) []float64 {
	s, τ := p.at(x, nil, p.Epsilon), p.Tau(k)
	if !p.Underdamped {
		μ := sum(x, -τ/2, s.tangent(p.GradF(x)))
		return p.finish(s, x, sum(μ, math.Sqrt(τ), s.tangent(ζ)), τ, p.meanCurvature(s, τ))
	}
	momentum := s.tangent(sum(make([]float64, len(x)), 1/p.Tau(max(k-1, 0)), sum(x, -1., before)))
	a := math.Exp(-p.Gamma * τ)
	μ := sum(x, τ, s.tangent(sum(make([]float64, len(x)), a, momentum, -τ, p.GradF(x))))
	y := sum(μ, τ*math.Sqrt(1-a*a), s.tangent(ζ))
	return p.finish(s, x, y, τ, p.momentumCurvature(s, momentum, τ, -1))
}

// Backward returns x_{k−1} from x_k, x_{k+1} and ζ_k.
func (p *Paper) Backward(x, after, ζ []float64, k int) []float64 {
	s, τ, t := p.at(x, nil, p.Epsilon), p.Tau(k), float64(k)*p.Dt
	if !p.Underdamped {
		y := sum(p.meanOver(s, x, k), math.Sqrt(τ), s.tangent(ζ))
		return p.finish(s, x, y, τ, p.meanCurvature(s, τ))
	}
	momentum := p.momentum(s, x, after, k)
	a := math.Exp(-p.Gamma * τ)
	// The paper adds the noise outside of the bracket; in it, as here, the law is the same.
	y := sum(p.meanUnder(s, x, momentum, t, τ), -τ*math.Sqrt(1-a*a), s.tangent(ζ))
	return p.finish(s, x, y, τ, p.momentumCurvature(s, momentum, τ, 1))
}

// momentum returns p̃_k = Π(x_k)(x_{k+1} − x_k)/(σ_{k+1}²Δt); x_{N+1} carries that of σ_N.
func (p *Paper) momentum(s *stack, x, after []float64, k int) []float64 {
	τ := p.Tau(min(k+1, len(p.Sigma)-1))
	return s.tangent(sum(make([]float64, len(x)), 1/τ, sum(after, -1., x)))
}

// meanOver and meanUnder are μ^o_k and μ^u_k.
func (p *Paper) meanOver(s *stack, x []float64, k int) []float64 {
	drift := sum(p.GradF(x), 1., p.Score(x, nil, float64(k)*p.Dt))
	return sum(x, p.Tau(k)/2, s.tangent(drift))
}

func (p *Paper) meanUnder(s *stack, x, momentum []float64, t, τ float64) []float64 {
	a := math.Exp(-p.Gamma * τ)
	drift := sum(make([]float64, len(x)), a, momentum, τ, p.GradF(x), τ, p.Score(x, momentum, t))
	return sum(x, -τ, s.tangent(drift))
}

// meanCurvature is κ^o = ½σ²Δt 𝓗.
func (p *Paper) meanCurvature(s *stack, τ float64) []float64 {
	tr := mat.NewVecDense(len(s.hess), nil)
	for i, h := range s.hess {
		var hΠ mat.Dense
		hΠ.Mul(h, s.Π)
		tr.SetVec(i, mat.Trace(&hΠ))
	}
	return sum(make([]float64, p.dim()), -τ/2, s.normal(tr))
}

// momentumCurvature is κ^U = −σ⁴Δt²∇JᵀG⁻¹[𝓗₁ + sign·α𝓗₂].
func (p *Paper) momentumCurvature(s *stack, momentum []float64, τ, sign float64) []float64 {
	landing, u := mat.NewVecDense(p.dim(), s.normal(s.J)), mat.NewVecDense(len(s.hess), nil)
	m, α := mat.NewVecDense(p.dim(), momentum), p.Alpha
	if p.Implicit {
		α = 1 / τ
	}
	for i, h := range s.hess {
		u.SetVec(i, mat.Inner(m, h, m)+sign*α*mat.Inner(m, h, landing))
	}
	return sum(make([]float64, p.dim()), -τ*τ, s.normal(u))
}

func (p *Paper) dim() int { return len(p.H[0].B) }

// finish projects the proposal y of a step from x, or adds the curvature and landing terms.
func (p *Paper) finish(s *stack, x, y []float64, τ float64, κ []float64) []float64 {
	switch {
	case p.Projected:
		return p.Project(x, y, p.Epsilon)
	case p.Curvature:
		y = sum(y, 1., κ)
	}
	if !p.Implicit {
		return sum(y, -p.Alpha*τ, s.normal(s.J))
	}
	at := p.at(y, nil, p.Epsilon)
	return sum(y, -1., at.normal(at.J))
}

// Project returns the point y + ∇J(x)ᵀλ that has h = 0 and, of the inequalities that y
// violates or that would be violated at the end, g ≤ −ε with λ ≤ 0 and λ(g + ε) = 0: by
// Newton's method on λ for each choice of those at −ε, the most first. It panics if there
// is none.
func (p *Paper) Project(x, y []float64, ε float64) []float64 {
	violated := make([]bool, len(p.G))
	for j, g := range p.G {
		violated[j] = g.Value(y) >= 0
	}
	for choice := 1<<len(p.G) - 1; choice >= 0; choice-- {
		active, fits := make([]bool, len(p.G)), true
		for j := range p.G {
			active[j] = choice>>j&1 == 1
		}
		z, λ := p.newton(x, y, active, ε)
		at := len(p.H)
		for j, g := range p.G {
			switch v := g.Value(z); {
			case active[j]:
				free, _ := p.newton(x, y, without(active, j), ε)
				fits = fits && λ[at] < 0 && (violated[j] || g.Value(free) > 0)
				at++
			case violated[j]:
				fits = fits && v <= -ε
			default:
				fits = fits && v <= 0
			}
		}
		if fits {
			return z
		}
	}
	panic("reference: no projection")
}

func without(active []bool, j int) []bool {
	out := append([]bool(nil), active...)
	out[j] = false
	return out
}

// newton solves J(y + ∇J(x)ᵀλ) = 0 for the equalities and the inequalities given.
func (p *Paper) newton(x, y []float64, active []bool, ε float64) (z, λ []float64) {
	base := p.at(x, active, ε)
	sol := mat.NewVecDense(base.J.Len(), nil)
	z = y
	for range 100 {
		at := p.at(z, active, ε)
		var jac mat.Dense
		var step, shift mat.VecDense
		jac.Mul(at.grad, base.grad.T())
		if err := step.SolveVec(&jac, at.J); err != nil {
			panic("reference: " + err.Error())
		}
		sol.SubVec(sol, &step)
		shift.MulVec(base.grad.T(), sol)
		if z = sum(y, 1., shift.RawVector().Data); mat.Norm(&step, math.Inf(1)) < 1e-15 {
			break
		}
	}
	return z, sol.RawVector().Data
}

// Loss is L_CWPM of a path x_0 … x_N; v is the noise whose tangential part is p̃_N.
func (p *Paper) Loss(path [][]float64, v []float64) float64 {
	total, N := 0.0, len(path)-1
	for k := range N {
		x, τ := path[k+1], p.Tau(k+1)
		s := p.at(x, nil, p.Epsilon)
		μ, weight := []float64(nil), 2*τ
		if p.Underdamped {
			momentum := s.tangent(v)
			if k+2 <= N {
				momentum = p.momentum(s, x, path[k+2], k+1)
			}
			a := math.Exp(-p.Gamma * τ)
			μ, weight = p.meanUnder(s, x, momentum, float64(k+1)*p.Dt, τ), 2*τ*τ*(1-a*a)
		} else {
			μ = p.meanOver(s, x, k+1)
		}
		for _, r := range s.tangent(sum(path[k], -1., μ)) {
			total += r * r / weight
		}
	}
	return total
}
