package langevin_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The backward sampler with the exact score, without randomness: the law of its states
// goes through the steps by quadrature, over states and over noise, so that what is left
// at the end is the error of the steps alone, and can be seen to halve with them.
//
// A set is one-dimensional here, with a coordinate y of period L: the angle of the unit circle, L = 2π, or the position
// between the walls of [0, 1], unfolded, L = 2. There the forward process is the free one, wrapped: with S = Σ τ_k,
// from y_0 ~ N(μ, v) and p_0 ~ N(0, 1),
//
//	overdamped   y ~ N(μ, v + S)
//	underdamped  (y, p) Gaussian, Var p = 1, c = Cov(y, p) = (1 − e^{−γS})/γ,
//	             V = Var y = v + 2(S − c)/γ
//
// between walls with the mirror image of (−y, −p). The law of a state is held as the
// coefficients M_mn = E[e^{−iωmy} He_n(p)/√n!], ω = 2π/L, of its density
//
//	q(y, p) = φ(p)/L · Σ_mn M_mn e^{iωmy} He_n(p)/√n!.
type wrapped struct {
	set           constraint.Set
	walls         bool
	L, μ, v       float64
	S, γ          float64 // of all steps; friction
	point         func(x []float64, y float64)
	tangent       func(v []float64, y float64)
	coordinate    func(x []float64) float64
	modes, powers int // m ≤ modes, n < powers
}

// circle and interval are the two sets, with data as wide as their size allows.
func circle() wrapped {
	return wrapped{
		set: zoo.Sphere{D: 2}, L: 2 * math.Pi, μ: 0.5, v: 0.25, S: 1.5, γ: 1.5, modes: 8, powers: 10,
		point:      func(x []float64, y float64) { x[1], x[0] = math.Sincos(y) },
		tangent:    func(v []float64, y float64) { v[0], v[1] = -math.Sin(y), math.Cos(y) },
		coordinate: func(x []float64) float64 { return math.Atan2(x[1], x[0]) },
	}
}

func interval(t *testing.T) wrapped {
	t.Helper()
	box := testkit.Must(zoo.NewBox([]float64{0}, []float64{1}))
	return wrapped{
		set: box, walls: true, L: 2, μ: 0.05, v: 0.02, S: 0.4, γ: 4, modes: 12, powers: 10,
		point:      func(x []float64, y float64) { x[0] = y },
		tangent:    func(v []float64, _ float64) { v[0] = 1 },
		coordinate: func(x []float64) float64 { return x[0] },
	}
}

// moments returns V and c of the forward process after S.
func (w wrapped) moments(m langevin.Method, S float64) (V, c float64) {
	if !m.Underdamped() {
		return w.v + S, 0
	}
	c = (1 - math.Exp(-w.γ*S)) / w.γ
	return w.v + 2*(S-c)/w.γ, c
}

// score is the exact score at time S, in the coordinate.
func (w wrapped) score(m langevin.Method, S, y, p float64) float64 {
	V, c := w.moments(m, S)
	q, dq := 0.0, 0.0 // and its derivative, by p if underdamped
	add := func(y, p, sign float64) {
		for turn := -6; turn <= 6; turn++ {
			δ := y - w.μ + float64(turn)*w.L
			r := p - c*δ/V
			if m.Underdamped() {
				spread := 1 - c*c/V
				e := math.Exp(-δ*δ/(2*V) - r*r/(2*spread))
				q, dq = q+e, dq-sign*e*r/spread
			} else {
				e := math.Exp(-δ * δ / (2 * V))
				q, dq = q+e, dq-sign*e*δ/V
			}
		}
	}
	add(y, p, 1)
	if w.walls {
		add(-y, -p, -1)
	}
	if m.Underdamped() {
		return 2 * w.γ * (dq/q + p)
	}
	return 2 * dq / q
}

// exact returns M of the forward process after S.
func (w wrapped) exact(m langevin.Method, S float64) [][]complex128 {
	V, c := w.moments(m, S)
	M := w.empty(m)
	for k := range M {
		ω := 2 * math.Pi / w.L * float64(k)
		at := cmplx.Exp(complex(-ω*ω*V/2, -ω*w.μ))
		for n := range M[k] { // He_n(p)/√n! of a Gaussian is (−iωc)^n/√n! of e^{−iωy}
			M[k][n] = at
			if w.walls { // ½ (M + that of (−y, −p))
				M[k][n] = complex(real(at), 0)
				if n%2 == 1 {
					M[k][n] = complex(0, imag(at))
				}
			}
			at *= complex(0, -ω*c/math.Sqrt(float64(n+1)))
		}
	}
	return M
}

func (w wrapped) empty(m langevin.Method) [][]complex128 {
	powers := w.powers
	if !m.Underdamped() {
		powers = 1
	}
	M := make([][]complex128, w.modes+1)
	for k := range M {
		M[k] = make([]complex128, powers)
	}
	return M
}

// hermite writes He_n(p)/√n!.
func hermite(h []float64, p float64) {
	h[0] = 1
	for n := 1; n < len(h); n++ {
		h[n] = p * h[n-1]
		if n > 1 {
			h[n] -= math.Sqrt(float64(n-1)) * h[n-2]
		}
		h[n] /= math.Sqrt(float64(n))
	}
}

// normalNodes are those of a quadrature for the normal law.
func normalNodes(n int) (x, weight []float64) {
	x, weight = make([]float64, n), make([]float64, n)
	quad.Hermite{}.FixedLocations(x, weight, math.Inf(-1), math.Inf(1))
	for i := range x {
		x[i] *= math.Sqrt2
		weight[i] /= math.Sqrt(math.Pi)
	}
	return x, weight
}

// nodes are those of y, p and the noise of a step.
type nodes struct{ y, p, wp, ζ, wζ []float64 }

func (w wrapped) nodes(m langevin.Method) (q nodes) {
	count, length := 2*w.modes+6, w.L
	if w.walls {
		count, length = count/2, w.L/2
	}
	for i := range count {
		q.y = append(q.y, length*(float64(i)+0.5)/float64(count))
	}
	q.p, q.wp = []float64{0}, []float64{1}
	if m.Underdamped() {
		q.p, q.wp = normalNodes(w.powers + 2)
	}
	q.ζ, q.wζ = normalNodes(4)
	return q
}

// back takes M of x_{k+1} through the backward step to x_k.
func (w wrapped) back(t *testing.T, p *langevin.Process, s *langevin.Stepper, q nodes, M [][]complex128, k int,
) [][]complex128 {
	t.Helper()
	d, rows := p.Set.Dim(), len(q.p)*len(q.ζ)
	vec := func() []float64 { return make([]float64, rows*d) }
	x, next, ζ, out, failed := vec(), vec(), vec(), vec(), make([]bool, rows)
	tangent, h := make([]float64, d), make([]float64, len(M[0]))
	S := 0.0
	for i := range k + 1 {
		S += p.Schedule.Tau(i)
	}
	score := rowScore(func(dst, x, v []float64) {
		y, momentum := w.coordinate(x), 0.0
		w.tangent(dst, y)
		for j := range v {
			momentum += v[j] * dst[j]
		}
		s := w.score(p.Method, S, y, momentum)
		for j := range dst {
			dst[j] *= s
			if !w.walls {
				dst[j] += 3 * x[j] // normal: the step takes it out
			}
		}
	})
	to, ω := w.empty(p.Method), 2*math.Pi/w.L
	for _, y := range q.y {
		w.tangent(tangent, y)
		for a, v := range q.p {
			for b, z := range q.ζ {
				row := (a*len(q.ζ) + b) * d
				w.point(x[row:row+d], y)
				for j := range d {
					next[row+j] = x[row+j] + p.MomentumTau(k)*v*tangent[j]
					ζ[row+j] = z * tangent[j]
					if !w.walls {
						ζ[row+j] -= 2 * x[row+j]
					}
				}
			}
		}
		info := testkit.Must(s.Backward(out, x, next, ζ, failed, rows, k, score))
		info.Folds.Carry(x)
		for a, v := range q.p {
			hermite(h, v)
			density := 0.0
			for m := range M {
				e := cmplx.Exp(complex(0, ω*float64(m)*y))
				for n, c := range M[m] {
					if term := real(c*e) * h[n]; m == 0 {
						density += term
					} else {
						density += 2 * term
					}
				}
			}
			for b := range q.ζ {
				row := (a*len(q.ζ) + b) * d
				if failed[a*len(q.ζ)+b] {
					t.Fatal("a projection failed")
				}
				at := w.coordinate(out[row : row+d])
				w.tangent(tangent, at)
				momentum := 0.0
				for j := range d {
					momentum += tangent[j] * (x[row+j] - out[row+j]) / p.MomentumTau(max(k-1, 0))
				}
				hermite(h, momentum)
				weight := density * q.wp[a] * q.wζ[b] / float64(len(q.y))
				e := cmplx.Exp(complex(0, -ω*at))
				mode := complex(weight, 0)
				for m := range to {
					for n := range to[m] {
						c := mode * complex(h[n], 0)
						if w.walls { // and that of (−y, −p)
							if c = complex(real(c), 0); n%2 == 1 {
								c = complex(0, imag(mode)*h[n])
							}
						}
						to[m][n] += c
					}
					mode *= e
				}
			}
		}
	}
	return to
}

// rowScore makes a Score of a function of one row.
type rowScore func(dst, x, p []float64)

func (f rowScore) Eval(dst, x, p []float64, n int, _ float64) {
	d := len(dst) / n
	for i := range n {
		var v []float64
		if p != nil {
			v = p[i*d : (i+1)*d]
		}
		f(dst[i*d:(i+1)*d], x[i*d:(i+1)*d], v)
	}
}

// err returns the largest error of the first four coefficients of the law of x_0 that
// backward steps make, N of them, from the exact law of x_N.
func (w wrapped) err(t *testing.T, p langevin.Process, N int) float64 {
	t.Helper()
	p.Set, p.Friction = w.set, w.γ
	p.Schedule = langevin.Schedule{N: N, T: 1, SigmaMin: 0.6, SigmaMax: 1.3}
	sum := 0.0
	for k := range N {
		sum += p.Schedule.Tau(k)
	}
	p.Schedule.T = w.S / sum
	testkit.OK(t, p.Validate())
	q, M := w.nodes(p.Method), w.exact(p.Method, w.S)
	s := p.NewStepper(len(q.p) * len(q.ζ))
	for k := N - 1; k >= 0; k-- {
		M = w.back(t, &p, s, q, M, k)
	}
	worst, want := 0.0, w.exact(p.Method, 0)
	for m := 1; m <= 4; m++ {
		worst = max(worst, cmplx.Abs(M[m][0]-want[m][0]))
	}
	return worst
}

// On the circle, and between elastic walls, every method brings the exact law back, in both conventions, with and
// without curvature: its error is small and halves with the step. There is no randomness in it.
func TestExactScoreBringsTheLawBack(t *testing.T) {
	type run struct {
		law   wrapped
		name  string
		curve bool
	}
	runs := []run{{circle(), "circle", false}, {circle(), "circle", true}, {interval(t), "interval", false}}
	for _, r := range runs {
		for _, m := range []langevin.Method{langevin.OLLA, langevin.OLLAP, langevin.ULLA, langevin.ULLAP} {
			if r.curve && m.Projected() {
				continue
			}
			for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
				t.Run(fmt.Sprintf("%s, %v, %v, curvature %v", r.name, m, c, r.curve), func(t *testing.T) {
					p := langevin.Process{Method: m, Convention: c, Curvature: r.curve}
					halves(t, 0.03, func(N int) float64 { return r.law.err(t, p, N) })
				})
			}
		}
	}
}

// halves fails the test unless the error of 30 steps halves with 60 and 120, to at most
// the bound. A wrong factor in a step or a score leaves an error that does not fall.
func halves(t *testing.T, bound float64, err func(N int) float64) {
	t.Helper()
	coarse, fine := err(30), err(60)
	if r := coarse / fine; !(r > 1.5 && r < 2.6) || fine > 2*bound {
		t.Errorf("error %.5f with 30 steps and %.5f with 60", coarse, fine)
	}
	if testing.Short() {
		return
	}
	finer := err(120)
	if r := fine / finer; !(r > 1.75 && r < 2.25) || finer > bound {
		t.Errorf("error %.5f with 60 steps and %.5f with 120", fine, finer)
	}
	t.Logf("errors %.5f, %.5f, %.5f", coarse, fine, finer)
}

// On the sphere the forward law from a heat kernel around the pole is one: of time v + S, with c_l = E P_l(z) =
// e^{−l(l+1)(v+S)/2}. Its law goes through backward steps by quadrature over the height z and the noise. For OLLA S = Σ
// τ_k. For ULLA this is the limit γ → ∞, in which a step moves τζ and forgets its momentum: S = Σ τ_k², and what a
// network would learn, E[p_{k+1} | x_{k+1}]/τ, is −∇ln q by Tweedie's formula.
func TestExactScoreOnSphere(t *testing.T) {
	const v, all, degrees = 0.25, 0.8, 14
	z, wz := make([]float64, 24), make([]float64, 24)
	quad.Legendre{}.FixedLocations(z, wz, -1, 1)
	ζ, wζ := normalNodes(4)
	rows := len(ζ) * len(ζ)
	// legendre writes P_l(z) and their derivatives.
	legendre := func(p, dp *[degrees]float64, z float64) {
		p[0], p[1], dp[0], dp[1] = 1, z, 0, 1
		for l := 1; l+1 < degrees; l++ {
			n := float64(l)
			p[l+1] = ((2*n+1)*z*p[l] - n*p[l-1]) / (n + 1)
			dp[l+1] = dp[l-1] + (2*n+1)*p[l]
		}
	}
	heat := func(l int, S float64) float64 { return math.Exp(-float64(l*(l+1)) * (v + S) / 2) }
	for c := range 12 {
		m, convention, curve := langevin.Method(c%4), langevin.Convention(c/4%2), c >= 8
		if curve && m != langevin.OLLA { // those of ULLA are made for momenta that last
			continue
		}
		t.Run(fmt.Sprintf("%v, %v, curvature %v", m, convention, curve), func(t *testing.T) {
			halves(t, 0.02, func(N int) float64 {
				p := langevin.Process{
					Set: zoo.Sphere{D: 3}, Method: m, Friction: 1e9, Convention: convention, Curvature: curve,
					Schedule: langevin.Schedule{N: N, T: 1, SigmaMin: 0.7, SigmaMax: 1.2},
				}
				size := func(k int) float64 { // of a step, in the time of the heat kernel
					if τ := p.Schedule.Tau(k); m.Underdamped() {
						return τ * τ
					} else {
						return τ
					}
				}
				sum := 0.0
				for k := range N {
					sum += size(k)
				}
				if p.Schedule.T = all / sum; m.Underdamped() {
					p.Schedule.T = math.Sqrt(all / sum)
				}
				s := p.NewStepper(rows)
				x, next, noise, out := make([]float64, 3*rows), make([]float64, 3*rows), make([]float64, 3*rows),
					make([]float64, 3*rows)
				failed := make([]bool, rows)
				S := all
				var law, P, dP [degrees]float64
				for l := range law {
					law[l] = heat(l, S)
				}
				score := rowScore(func(dst, x, _ []float64) {
					legendre(&P, &dP, x[2])
					q, dq := 0.0, 0.0
					for l := range P {
						q += float64(2*l+1) * heat(l, S) * P[l]
						dq += float64(2*l+1) * heat(l, S) * dP[l]
					}
					if dst[0], dst[1], dst[2] = 0, 0, 2*dq/q; m.Underdamped() {
						dst[2] = -dq / q
					}
				})
				for k := N - 1; k >= 0; k-- {
					var to [degrees]float64
					for i, z := range z {
						r := math.Sqrt(1 - z*z)
						for a := range rows {
							x[3*a], x[3*a+1], x[3*a+2] = r, 0, z
							u, v := ζ[a/len(ζ)], ζ[a%len(ζ)] // along the meridian and across
							noise[3*a], noise[3*a+1], noise[3*a+2] = -z*u+0.7*r, v, r*u+0.7*z
							next[3*a], next[3*a+1], next[3*a+2] = r, 0.3, z-0.2
						}
						if _, err := s.Backward(out, x, next, noise, failed, rows, k, score); err != nil {
							t.Fatal(err)
						}
						legendre(&P, &dP, z)
						density := 0.0
						for l := range law {
							density += float64(2*l+1) / 2 * law[l] * P[l]
						}
						for a := range rows {
							if failed[a] {
								t.Fatal("a projection failed")
							}
							legendre(&P, &dP, out[3*a+2])
							for l := range to {
								to[l] += wz[i] * density * wζ[a/len(ζ)] * wζ[a%len(ζ)] * P[l]
							}
						}
					}
					law = to
					S -= size(k)
				}
				worst := 0.0
				for l := 1; l <= 4; l++ {
					worst = max(worst, math.Abs(law[l]-heat(l, 0)))
				}
				return worst
			})
		})
	}
}
