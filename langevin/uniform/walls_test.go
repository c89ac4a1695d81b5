package uniform

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// mean returns the mean of f over draws of several seeds, and its standard error by
// the means of their chains, which are independent.
func mean(
	t *testing.T, set constraint.Set, starts []float64, seeds int, f func(x []float64) float64,
) (mean, se float64) {
	t.Helper()
	pool := parallel.New(2)
	defer pool.Close()
	d := set.Dim()
	var means []float64
	for seed := range seeds {
		c := Config{Set: set, Starts: starts, Seed: uint64(seed + 1), MaxSteps: 20_000, Pool: pool}
		out := testkit.Must(Draw(context.Background(), c))
		if !out.Mixed() || out.Lost != 0 {
			t.Fatalf("split-R̂ %v, %v effective draws after %d steps, %d lost", out.Rhat, out.ESS, out.Steps, out.Lost)
		}
		for k := range out.Chains {
			m := 0.0
			for i := k * keep; i < (k+1)*keep; i++ {
				m += f(out.States[i*d:(i+1)*d]) / keep
			}
			means = append(means, m)
		}
	}
	mean, sd := stat.MeanStdDev(means, nil)
	return mean, sd / math.Sqrt(float64(len(means)))
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Next to the walls the chains put the mass that the uniform law has there. ULLA
// with repulsion puts 0.0631 in the cap's layer, 0.0398 in the half torus's, 0.3135
// in the box's and 0.0616 in the simplex's. With 6 seeds of 32 chains the limit of
// 4.5 standard errors has a false alarm with odds of 1.2e-5 a set, and the standard
// errors are held to what such a layer allows: it could not hide those numbers.
func TestWalls(t *testing.T) {
	sphereCap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	box := testkit.Must(zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1}))
	torus := testkit.Must(formula.New(formula.Spec{
		Dim:        3,
		Equality:   []formula.Component{{Name: "tube", Expr: "(sqrt(x[0]^2 + x[1]^2) - 2)^2 + x[2]^2 - 0.36"}},
		Inequality: []formula.Component{{Name: "half", Expr: "-x[1]"}},
	}))
	simplex := testkit.Must(zoo.NewSimplex(4))
	for _, c := range []struct {
		name        string
		set         constraint.Set
		starts      []float64
		layer       func(x []float64) bool
		exact, most float64
	}{
		{"cap", sphereCap, []float64{0, 0, 1, 0.6, 0, 0.8, 0, 0.6, 0.8, 0, -0.6, 0.8},
			func(x []float64) bool { return x[2] < 0.24 }, 0.05, 0.0025},
		{"half torus", torus, []float64{0, 2.6, 0, 0, 1.4, 0, 2, 0, 0.6, -2, 0, 0.6},
			func(x []float64) bool { return math.Abs(math.Atan2(x[0], x[1])) > math.Pi/2-0.05 }, 0.1 / math.Pi, 0.002},
		{"box", box, []float64{0.5, 0.5, 0.5, 0.1, 0.2, 0.3}, func(x []float64) bool {
			return min(x[0], x[1], x[2], 1-x[0], 1-x[1], 1-x[2]) < 0.05
		}, 1 - 0.9*0.9*0.9, 0.005},
		{"simplex", simplex, []float64{0.25, 0.25, 0.25, 0.25, 0.7, 0.1, 0.1, 0.1}, func(x []float64) bool {
			return min(x[0], x[1], x[2], x[3]) < (1-math.Cbrt(0.95))/4
		}, 0.05, 0.0025},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "half torus" && !testkit.Longest() {
				t.Skip("half of the time of all: LANDING_LONG=all")
			}
			got, se := mean(t, c.set, c.starts, 6, func(x []float64) float64 { return indicator(c.layer(x)) })
			t.Logf("%.4f ± %.4f, exact %.4f", got, se, c.exact)
			if se > c.most || math.Abs(got-c.exact) > 4.5*se {
				t.Errorf("%.4f ± %.4f in the layer, want %.4f", got, se, c.exact)
			}
		})
	}
}

// Where steps of a tenth of the spread mostly turn back, they are halved: a box that
// is a hundred times as long as it is wide.
func TestThin(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 0.01}))
	pool := testkit.Pool(t, 2)
	c := Config{Set: box, Starts: []float64{0.1, 0.003, 0.9, 0.007}, Seed: 1, MaxSteps: 100_000, Pool: pool}
	out := testkit.Must(Draw(context.Background(), c))
	if out.Rhat > 1.05 || out.Step > 0.015 {
		t.Errorf("split-R̂ %v, %v effective draws after %d steps of %v", out.Rhat, out.ESS, out.Steps, out.Step)
	}
}

// A ring of six atoms about the origin: six bonds, and its six angles in a band. ULLA breaks down there.
func TestRing(t *testing.T) {
	ring, err := formula.New(formula.Spec{
		Dim: 18,
		Let: formula.Definitions{{Name: "atom(i)", Expr: "x[3*i:3*i+3]"}},
		Equality: []formula.Component{
			{Name: "bond[i]", For: "i in 0..4", Expr: "distance(atom(i), atom(i+1)) - 1"},
			{Name: "closure", Expr: "distance(atom(5), atom(0)) - 1"},
			{Name: "centre[k]", For: "k in 0..2", Expr: "sum(i in 0..5, x[3*i+k])"},
		},
		Inequality: []formula.Component{
			{Name: "wide[i]", For: "i in 1..4", Expr: "angle(atom(i-1), atom(i), atom(i+1)) - 2.2"},
			{Name: "narrow[i]", For: "i in 1..4", Expr: "1.5 - angle(atom(i-1), atom(i), atom(i+1))"},
			{Name: "wide5", Expr: "angle(atom(4), atom(5), atom(0)) - 2.2"},
			{Name: "narrow5", Expr: "1.5 - angle(atom(4), atom(5), atom(0))"},
			{Name: "wide0", Expr: "angle(atom(5), atom(0), atom(1)) - 2.2"},
			{Name: "narrow0", Expr: "1.5 - angle(atom(5), atom(0), atom(1))"},
		},
	})
	testkit.OK(t, err)
	var start []float64
	for i := range 6 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 3)
		start = append(start, cos, sin, 0)
	}
	pool := testkit.Pool(t, 2)
	c := Config{Set: ring, Starts: start, Seed: 1, MaxRhat: 1.4, MaxSteps: 5_000, Pool: pool}
	out := testkit.Must(Draw(context.Background(), c))
	if !(out.Rhat < 1.4) || out.Lost != 0 {
		t.Errorf("split-R̂ %v, %v effective draws after %d steps of %v, %d lost",
			out.Rhat, out.ESS, out.Steps, out.Step, out.Lost)
	}
	e, m := constraint.Components(ring), len(ring.Equalities())
	for i := 0; i < len(out.States); i += 18 {
		if worst, at := constraint.Worst(constraint.Values(ring, out.States[i:i+18]), m); worst > 1e-9 {
			t.Fatalf("a state violates %q by %v", e[at], worst)
		}
	}
}
