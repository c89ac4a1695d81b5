package langevin

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// quadrature returns the mean of g under the density exp(−f) on a surface x(u, v), by the
// midpoint rule with 400×400 points; area is that of a cell.
func quadrature(u1, v1 float64, x func(u, v float64) []float64, area func(u, v float64) float64,
	f, g func(x []float64) float64) float64 {
	const n = 400
	sum, all := 0.0, 0.0
	for i := range n {
		for j := range n {
			u, v := (float64(i)+0.5)*u1/n, (float64(j)+0.5)*v1/n
			y := x(u, v)
			w := area(u, v) * math.Exp(-f(y))
			sum, all = sum+w*g(y), all+w
		}
	}
	return sum / all
}

// Constrained HMC has the law exp(−f) by area, whatever its step: means over 48 independent chains against quadrature.
// A limit of 5 standard errors with 47 degrees of freedom has a false alarm with odds of 9e-6 a mean, 1e-4 of all;
// standard errors are held to the number that the table says.
func TestHMC(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	axes := []float64{1, 0.6, 0.2}
	ellipsoid := zoo.Ellipsoid{Axes: axes}
	sphereCap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	zero := func([]float64) float64 { return 0 }
	b := []float64{1.5, 0.5, -1}
	linear := func(x []float64) float64 { return -(b[0]*x[0] + b[1]*x[1] + b[2]*x[2]) }
	onEllipsoid := func(u, v float64) []float64 {
		s, c := math.Sincos(u)
		return []float64{axes[0] * s * math.Cos(v), axes[1] * s * math.Sin(v), axes[2] * c}
	}
	areaOf := func(u, v float64) float64 {
		p := axes[1] * axes[2] * math.Sin(u) * math.Cos(v)
		q := axes[0] * axes[2] * math.Sin(u) * math.Sin(v)
		r := axes[0] * axes[1] * math.Cos(u)
		return math.Sin(u) * math.Sqrt(p*p+q*q+r*r)
	}
	square := func(x []float64) float64 { return x[0] * x[0] }
	first := func(x []float64) float64 { return x[0] }
	third := func(x []float64) float64 { return x[2] }
	onTorus := func(u, v float64) []float64 {
		ρ := 2 + 0.6*math.Cos(u)
		return []float64{ρ * math.Cos(v), ρ * math.Sin(v), 0.6 * math.Sin(u)}
	}
	torusArea := func(u, _ float64) float64 { return 2 + 0.6*math.Cos(u) }
	// Given h = 0, the density by area is 1/‖∇h‖: h = Σ(x/a)² − 1 has ‖∇h‖ = 2√Σ(x/a²)².
	given := func(x []float64) float64 {
		s := 0.0
		for i, a := range axes {
			s += x[i] * x[i] / (a * a * a * a)
		}
		return math.Log(s) / 2
	}
	level := testkit.Must(Level(ellipsoid, nil))
	for _, c := range []struct {
		name  string
		set   constraint.Set
		f     Potential
		g     func(x []float64) float64
		want  float64
		steps []float64
		most  float64
	}{
		{"ellipsoid", ellipsoid, nil, square,
			quadrature(math.Pi, 2*math.Pi, onEllipsoid, areaOf, zero, square), []float64{0.1, 0.2}, 0.008},
		{"ellipsoid, level", ellipsoid, level, square,
			quadrature(math.Pi, 2*math.Pi, onEllipsoid, areaOf, given, square), []float64{0.15}, 0.008},
		{"torus, f = −b·x", zoo.Torus{Major: 2, Minor: 0.6}, Linear{b}, first,
			quadrature(2*math.Pi, 2*math.Pi, onTorus, torusArea, linear, first), []float64{0.1, 0.7}, 0.05},
		{"cap", sphereCap, nil, third, 0.6, []float64{0.5}, 0.008},
		{"cap, f = −b·x", sphereCap, Linear{b}, third, quadrature(1, 2*math.Pi, func(u, v float64) []float64 {
			z := 0.2 + 0.8*u
			return []float64{math.Sqrt(1-z*z) * math.Cos(v), math.Sqrt(1-z*z) * math.Sin(v), z}
		}, func(_, _ float64) float64 { return 1 }, linear, third), []float64{0.1}, 0.008},
	} {
		for _, τ := range c.steps {
			r := chainsOf(t, c.set, c.f, τ, 10)
			got, se := chainMean(r, c.g)
			t.Logf("%s, step %v: %.4f ± %.4f, want %.4f; refused %.2f, turned %.2f", c.name, τ, got, se, c.want,
				r.Refused, r.Turned)
			if math.Abs(got-c.want) > 5*se || se > c.most {
				t.Errorf("%s, step %v: %.4f ± %.4f, want %.4f", c.name, τ, got, se, c.want)
			}
		}
	}
}

// chainsOf runs 48 chains of HMC.
func chainsOf(t *testing.T, set constraint.Set, f Potential, τ float64, leaps int) *Draws {
	t.Helper()
	p := &Process{
		Set: set, Method: ULLAP, Friction: 1, Potential: f, Schedule: Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1},
	}
	pool := testkit.Pool(t, 2)
	x0 := testkit.Must(Start(t.Context(), p, 48, 1))
	c := &Chains{Process: p, Leaps: leaps, Count: 48, Burn: 100, Keep: 250, Thin: 2, Seed: 1}
	return testkit.Must(c.Run(context.Background(), pool, x0))
}

// chainMean returns the mean of g and its standard error by the means of chains.
func chainMean(r *Draws, g func(x []float64) float64) (mean, se float64) {
	means := make([]float64, r.Count)
	for k := range means {
		for i := range r.Keep {
			means[k] += g(r.X[(k*r.Keep+i)*r.Dim:][:r.Dim]) / float64(r.Keep)
		}
	}
	mean, sd := stat.MeanStdDev(means, nil)
	return mean, sd / math.Sqrt(float64(r.Count))
}

type noSecond struct{ constraint.Set }

func (s noSecond) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.HessianVectors = nil
	return e
}
