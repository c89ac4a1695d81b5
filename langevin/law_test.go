package langevin

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// linearise returns the matrices of an affine map (state, ζ) ↦ state, column by column.
func linearise(n, m int, f func(state, ζ []float64) []float64) (a, b *mat.Dense) {
	zero := f(make([]float64, n), make([]float64, m))
	a, b = mat.NewDense(n, n, nil), mat.NewDense(n, m, nil)
	for j := range n + m {
		state, ζ := make([]float64, n), make([]float64, m)
		if j < n {
			state[j] = 1
		} else {
			ζ[j-n] = 1
		}
		for i, v := range f(state, ζ) {
			if j < n {
				a.Set(i, j, v-zero[i])
			} else {
				b.Set(i, j-n, v-zero[i])
			}
		}
	}
	return a, b
}

// push returns A C Aᵀ + B Bᵀ.
func push(c, a, b *mat.Dense) *mat.Dense {
	var t, out, noise mat.Dense
	t.Mul(a, c)
	out.Mul(&t, a.T())
	noise.Mul(b, b.T())
	out.Add(&out, &noise)
	return &out
}

func stationary(a, b *mat.Dense) *mat.Dense {
	n, _ := a.Dims()
	c := mat.NewDense(n, n, nil)
	for range 20_000 {
		c = push(c, a, b)
	}
	return c
}

// On a Gaussian f = ‖x‖²/2 the stationary covariance of the chain itself follows from a discrete Lyapunov equation.
// With τ = σ²Δt and Π the projector of an affine Σ:
//
//	OLLA       Π / (1 − τ/4)
//	ULLA       Π (1+a)/2 / (1 − τ²/(2(1+a)))
//	splitting  Π
func TestStationaryCovariance(t *testing.T) {
	for name, set := range map[string]constraint.Set{
		"R2":     zoo.Euclidean{D: 2},
		"affine": zoo.Affine{A: [][]float64{{1, 2, -1}}, B: []float64{0}},
	} {
		for _, τ := range []float64{0.05, 0.3} {
			for _, m := range []string{"OLLA", "ULLA", "splitting"} {
				d := set.Dim()
				p := &Process{
					Set: set, Friction: 1.5, Landing: Landing{Explicit: true, Rate: 1}, Potential: Quadratic{},
					Schedule: Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1},
				}
				a := p.Decay(τ)
				var A, B *mat.Dense
				want := 1.0
				check := func(err error) {
					testkit.OK(t, err)
				}
				switch m {
				case "OLLA":
					p.Method, want = OLLA, 1/(1-τ/4)
					s := p.NewStepper(1)
					A, B = linearise(d, d, func(x, ζ []float64) []float64 {
						y := make([]float64, d)
						_, err := s.Forward(y, x, nil, ζ, nil, 1, 0)
						check(err)
						return y
					})
				case "ULLA":
					p.Method, want = ULLA, (1+a)/2/(1-τ*τ/(2*(1+a)))
					s := p.NewStepper(1)
					A, B = linearise(2*d, d, func(z, ζ []float64) []float64 {
						y := make([]float64, d)
						_, err := s.Forward(y, z[:d], z[d:], ζ, nil, 1, 0)
						check(err)
						return append(y, z[:d]...)
					})
				case "splitting":
					s := newSplitting(p, 1)
					A, B = linearise(2*d, d, func(z, ζ []float64) []float64 {
						z = append([]float64(nil), z...)
						_, err := s.step(z[:d], z[d:], ζ, make([]bool, 1), 1)
						check(err)
						return z
					})
				}
				c := stationary(A, B)
				π := tangentMatrix(t, set, make([]float64, d))
				for i := range d {
					for j := range d {
						if e := math.Abs(c.At(i, j) - want*π[i*d+j]); e > 1e-9 {
							t.Errorf("%s %s τ=%v: covariance[%d,%d] = %v, want %v", name, m, τ, i, j, c.At(i, j),
								want*π[i*d+j])
						}
					}
				}
			}
		}
	}
}

func chains(t *testing.T, c Chains, x0 []float64) *Draws {
	t.Helper()
	pool := testkit.Pool(t, 0)
	return testkit.Must(c.Run(context.Background(), pool, x0))
}

// Without curvature terms the samples of OLLA lie (d−1)/(2α) off the unit sphere; with them they do not. The mean of 64
// chains × 4000 steps has a standard error near 2e-4, so the band of ±8 % of 0.05 is 20 standard errors wide.
func TestCurvatureOffset(t *testing.T) {
	const α, τ = 20, 0.002
	for _, curvature := range []bool{false, true} {
		p := &Process{
			Set: zoo.Sphere{D: 3}, Method: OLLA, Landing: Landing{Explicit: true, Rate: α}, Curvature: curvature,
			Schedule: Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1}, NoTerminal: true,
		}
		x0 := testkit.Must(Start(t.Context(), p, 64, 1))
		draws := chains(t, Chains{Process: p, Count: 64, Burn: 200, Keep: 4000, Seed: 1}, x0)
		sum := 0.0
		for i := 0; i < len(draws.X); i += 3 {
			x := draws.X[i : i+3]
			sum += math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]) - 1
		}
		mean := sum / float64(len(draws.X)/3)
		if want := 2 / (2.0 * α); !curvature && math.Abs(mean-want) > 0.08*want {
			t.Errorf("offset %v, want %v", mean, want)
		}
		if curvature && math.Abs(mean) > 0.002 {
			t.Errorf("offset %v with curvature terms", mean)
		}
	}
}

// scoreFunc makes a score of a function of one row.
type scoreFunc func(dst, x, p []float64, t float64)

func (f scoreFunc) Eval(dst, x, p []float64, n int, t float64) {
	d := len(dst) / n
	for i := range n {
		var pi []float64
		if p != nil {
			pi = p[i*d : (i+1)*d]
		}
		f(dst[i*d:(i+1)*d], x[i*d:(i+1)*d], pi, t)
	}
}

// Chains of each kind keep their keys: the same draws and shares whatever the number of workers.
func TestChainsAreReproducible(t *testing.T) {
	p := &Process{
		Set: zoo.Sphere{D: 3}, Method: ULLA, Friction: 1, Landing: Landing{Explicit: true, Rate: 1},
		Potential: Linear{B: []float64{0, 0, 3}},
		Schedule:  Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1},
	}
	projected := *p
	projected.Method = ULLAP
	x0 := testkit.Must(Start(t.Context(), p, 40, 1))
	for name, c := range map[string]Chains{
		"ULLA": {Process: p}, "ULLA-P": {Process: &projected}, "splitting": {Process: &projected, Symmetric: true},
		"chmc": {Process: &projected, Leaps: 8},
	} {
		c.Count, c.Burn, c.Keep, c.Thin, c.Seed = 40, 3, 5, 2, 1
		var first *Draws
		for _, workers := range []int{1, 2, 7} {
			pool := parallel.New(workers)
			draws, err := c.Run(context.Background(), pool, x0)
			pool.Close()
			testkit.OK(t, err)
			if first == nil {
				first = draws
			}
			if !slices.Equal(draws.X, first.X) || draws.Refused != first.Refused || draws.Turned != first.Turned {
				t.Errorf("%s: %d workers draw others", name, workers)
			}
		}
		if name == "chmc" && first.Refused == 0 {
			t.Error("chmc refuses nothing: its Metropolis steps are not seen here")
		}
	}
}
