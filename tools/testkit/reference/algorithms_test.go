package reference

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// paper is the forward and backward process of the paper's Algorithms 1 and 2, written
// from their lines with dense matrices, at one point at a time: slow, and with nothing
// of the packages that are tested with it. Its walls are the paper's, its convention too.
type paper struct{ *PaperCase }

// gradF is ∇f.
func gradF(x []float64) []float64 {
	g := make([]float64, len(x))
	for j := range x {
		g[j] = PaperWeight(j) * (x[j] - PaperCentre(j))
	}
	return g
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
func (p paper) at(x []float64, inequalities []bool, ε float64) *stack {
	d, s := len(x), &stack{isActive: inequalities}
	if inequalities == nil {
		s.isActive = make([]bool, len(p.G))
		for j, g := range p.G {
			s.isActive[j] = g.value(x) >= 0
		}
	}
	var values, rows []float64
	add := func(c Cubic, shift float64) {
		values, rows = append(values, c.value(x)+shift), append(rows, c.gradient(x)...)
		s.hess = append(s.hess, c.hessian(x))
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

// pseudo returns x + cΠv, the point that carries a first momentum.
func (p paper) pseudo(x, v []float64, c float64) []float64 {
	return sum(x, c, p.at(x, nil, p.Epsilon).tangent(v))
}

// tau returns σ_k²Δt.
func (p paper) tau(k int) float64 { return p.Sigma[k] * p.Sigma[k] * p.Dt }

// forward returns x_{k+1} from x_k, x_{k−1} and ζ_k.
func (p paper) forward(x, before, ζ []float64, k int) []float64 {
	s, τ := p.at(x, nil, p.Epsilon), p.tau(k)
	if !p.Underdamped {
		μ := sum(x, -τ/2, s.tangent(gradF(x)))
		return p.finish(s, x, sum(μ, math.Sqrt(τ), s.tangent(ζ)), τ, p.meanCurvature(s, τ))
	}
	momentum := s.tangent(sum(make([]float64, len(x)), 1/p.tau(max(k-1, 0)), sum(x, -1., before)))
	a := math.Exp(-p.Gamma * τ)
	μ := sum(x, τ, s.tangent(sum(make([]float64, len(x)), a, momentum, -τ, gradF(x))))
	y := sum(μ, τ*math.Sqrt(1-a*a), s.tangent(ζ))
	return p.finish(s, x, y, τ, p.momentumCurvature(s, momentum, τ, -1))
}

// backward returns x_{k−1} from x_k, x_{k+1} and ζ_k.
func (p paper) backward(x, after, ζ []float64, k int) []float64 {
	s, τ, t := p.at(x, nil, p.Epsilon), p.tau(k), float64(k)*p.Dt
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
func (p paper) momentum(s *stack, x, after []float64, k int) []float64 {
	τ := p.tau(min(k+1, len(p.Sigma)-1))
	return s.tangent(sum(make([]float64, len(x)), 1/τ, sum(after, -1., x)))
}

// meanOver and meanUnder are μ^o_k and μ^u_k.
func (p paper) meanOver(s *stack, x []float64, k int) []float64 {
	drift := sum(gradF(x), 1., PaperScore(x, nil, float64(k)*p.Dt))
	return sum(x, p.tau(k)/2, s.tangent(drift))
}

func (p paper) meanUnder(s *stack, x, momentum []float64, t, τ float64) []float64 {
	a := math.Exp(-p.Gamma * τ)
	drift := sum(make([]float64, len(x)), a, momentum, τ, gradF(x), τ, PaperScore(x, momentum, t))
	return sum(x, -τ, s.tangent(drift))
}

// meanCurvature is κ^o = ½σ²Δt 𝓗.
func (p paper) meanCurvature(s *stack, τ float64) []float64 {
	tr := mat.NewVecDense(len(s.hess), nil)
	for i, h := range s.hess {
		var hΠ mat.Dense
		hΠ.Mul(h, s.Π)
		tr.SetVec(i, mat.Trace(&hΠ))
	}
	return sum(make([]float64, PaperDim), -τ/2, s.normal(tr))
}

// momentumCurvature is κ^U = −σ⁴Δt²∇JᵀG⁻¹[𝓗₁ + sign·α𝓗₂].
func (p paper) momentumCurvature(s *stack, momentum []float64, τ, sign float64) []float64 {
	landing, u := mat.NewVecDense(PaperDim, s.normal(s.J)), mat.NewVecDense(len(s.hess), nil)
	m, α := mat.NewVecDense(PaperDim, momentum), p.Alpha
	if p.Implicit {
		α = 1 / τ
	}
	for i, h := range s.hess {
		u.SetVec(i, mat.Inner(m, h, m)+sign*α*mat.Inner(m, h, landing))
	}
	return sum(make([]float64, PaperDim), -τ*τ, s.normal(u))
}

// finish projects the proposal y of a step from x, or adds the curvature and landing terms.
func (p paper) finish(s *stack, x, y []float64, τ float64, κ []float64) []float64 {
	switch {
	case p.Projected:
		return p.project(x, y, p.Epsilon)
	case p.Curvature:
		y = sum(y, 1., κ)
	}
	if !p.Implicit {
		return sum(y, -p.Alpha*τ, s.normal(s.J))
	}
	at := p.at(y, nil, p.Epsilon)
	return sum(y, -1., at.normal(at.J))
}

// project returns the point y + ∇J(x)ᵀλ that has h = 0 and, of the inequalities that y
// violates or that would be violated at the end, g ≤ −ε with λ ≤ 0 and λ(g + ε) = 0: by
// Newton's method on λ for each choice of those at −ε, the most first. It panics if there
// is none.
func (p paper) project(x, y []float64, ε float64) []float64 {
	violated := make([]bool, len(p.G))
	for j, g := range p.G {
		violated[j] = g.value(y) >= 0
	}
	for choice := 1<<len(p.G) - 1; choice >= 0; choice-- {
		active, fits := make([]bool, len(p.G)), true
		for j := range p.G {
			active[j] = choice>>j&1 == 1
		}
		z, λ := p.newton(x, y, active, ε)
		at := len(p.H)
		for j, g := range p.G {
			switch v := g.value(z); {
			case active[j]:
				free, _ := p.newton(x, y, without(active, j), ε)
				fits = fits && λ[at] < 0 && (violated[j] || g.value(free) > 0)
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
func (p paper) newton(x, y []float64, active []bool, ε float64) (z, λ []float64) {
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

// loss is L_CWPM of a path x_0 … x_N; v is the noise whose tangential part is p̃_N.
func (p paper) loss(path [][]float64, v []float64) float64 {
	total, N := 0.0, len(path)-1
	for k := range N {
		x, τ := path[k+1], p.tau(k+1)
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

// value, gradient and hessian of the function at x.
func (q Cubic) value(x []float64) float64 {
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

// gradient of the function at x.
func (q Cubic) gradient(x []float64) []float64 {
	u, g := q.along(x), make([]float64, len(x))
	for i := range x {
		g[i] = q.B[i] + u*u*q.W[i]/2
		for j := range x {
			g[i] += q.A[i][j] * x[j]
		}
	}
	return g
}

// hessian of the function at x.
func (q Cubic) hessian(x []float64) *mat.Dense {
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

// newPaperGolden computes paper.json from starts.
func newPaperGolden(start [][]float64) PaperGolden {
	g := PaperGolden{
		Start: start, Forward: map[string][][]float64{}, Backward: map[string][][]float64{}, Loss: map[string]float64{},
	}
	for _, c := range PaperCases() {
		p := paper{&c}
		for i, x := range start {
			v := PaperNoise(i, PaperSteps)
			path, before := [][]float64{x}, p.pseudo(x, v, -p.tau(0))
			for k := range PaperSteps {
				x, before = p.forward(x, before, PaperNoise(i, k), k), x
				path = append(path, x)
			}
			g.Forward[c.Name] = append(g.Forward[c.Name], path...)
			g.Loss[c.Name] += p.loss(path, v)
			if c.Name == "OLLA explicit" {
				g.Terminal = append(g.Terminal, p.project(x, x, 0))
			}
			x = start[i]
			back, after := [][]float64{x}, p.pseudo(x, v, p.tau(PaperSteps))
			for k := PaperSteps; k > 0; k-- {
				x, after = p.backward(x, after, PaperNoise(i, k-1), k), x
				back = append([][]float64{x}, back...)
			}
			g.Backward[c.Name] = append(g.Backward[c.Name], back...)
		}
	}
	return g
}
