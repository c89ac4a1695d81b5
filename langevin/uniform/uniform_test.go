package uniform

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// draw runs the chains and returns the rows of their states.
func draw(t *testing.T, set constraint.Set, starts []float64) (*Draws, [][]float64) {
	t.Helper()
	pool := testkit.Pool(t, 2)
	heard, last := 0, 0
	out, err := Draw(context.Background(), Config{Set: set, Starts: starts, Seed: 1, MaxSteps: 100_000, Pool: pool,
		Progress: func(steps int) {
			if heard++; steps <= last {
				t.Errorf("%d steps are done after %d", steps, last)
			}
			last = steps
		}})
	testkit.OK(t, err)
	if most := out.Steps / 256; heard > most || most > 0 && (heard == 0 || last > out.Steps) {
		t.Errorf("heard of %d steps at last, %d times, of %d", last, heard, out.Steps)
	}
	if out.Rhat > 1.05 || out.ESS < mixedESS || out.Lost != 0 || len(out.States) != out.Kept*set.Dim() {
		t.Fatalf("%d numbers, split-R̂ %v, %v effective draws, %d of %d lost", len(out.States), out.Rhat, out.ESS,
			out.Lost, out.Kept)
	}
	var rows [][]float64
	for i := 0; i < len(out.States); i += set.Dim() {
		rows = append(rows, out.States[i:i+set.Dim()])
	}
	return out, rows
}

// The chains find the uniform law of the torus, whose angle φ of the tube has density ∝ R + r cos φ, so E cos φ =
// r/(2R) = 0.15, and not a flat φ; from points that lie in one quarter. By the means of 128 independent chains the
// limit of 4.5 standard errors has a false alarm with odds of 1.5e-5, and a flat φ is 8 of them off or more: no
// standard error above 0.018 passes.
func TestTorus(t *testing.T) {
	var starts []float64
	u := make([]float64, 2)
	for i := range 100 {
		keyed.New(1, keyed.Probe, 5).Uniforms(u, uint64(i), 0)
		a, b := u[0]*math.Pi/2, u[1]
		starts = append(starts, (2+0.6*math.Cos(b))*math.Cos(a), (2+0.6*math.Cos(b))*math.Sin(a), 0.6*math.Sin(b))
	}
	set := zoo.Torus{Major: 2, Minor: 0.6}
	got, se := mean(t, set, starts, 4, func(x []float64) float64 {
		ρ := math.Hypot(x[0], x[1])
		if h := math.Hypot(ρ-2, x[2]) - 0.6; math.Abs(h) > 1e-12 {
			t.Fatalf("a state has h = %g", h)
		}
		return (ρ - 2) / 0.6
	})
	if math.Abs(got-0.15) > 4.5*se || se > 0.018 {
		t.Errorf("E cos φ = %.4f ± %.4f, want 0.15", got, se)
	}
	got, se = mean(t, set, starts, 1, func(x []float64) float64 { return x[0] })
	if math.Abs(got) > 5.5*se || se > 0.1 {
		t.Errorf("E x = %.4f ± %.4f, want 0", got, se) // of 32 chains: odds of 5e-6
	}
}

// Starts in a narrow part of Σ, far from its edge: an arc of ±120°, and points within 6° of its middle. The first
// rounds choose the step and ε of those that count.
func TestNarrowStarts(t *testing.T) {
	set := testkit.Must(zoo.NewCap([]float64{1, 0}, -0.5))
	var starts []float64
	for i := range 20 {
		θ := 0.01 * float64(i-10)
		starts = append(starts, math.Cos(θ), math.Sin(θ))
	}
	_, rows := draw(t, set, starts)
	var angle []float64
	for _, s := range rows {
		angle = append(angle, math.Atan2(s[1], s[0]))
	}
	// θ is uniform on ±2π/3, of standard deviation 1.209. Four standard errors of the mean at 400 effective draws are
	// 0.24; of the standard deviation, 4·1.209·√(0.8/4/400) = 0.11. At fixed seeds a false alarm has odds below 1e-3.
	if got := stat.Mean(angle, nil); math.Abs(got) > 0.24 {
		t.Errorf("mean angle %.3f, want 0", got)
	}
	testkit.Near(t, stat.StdDev(angle, nil), 2*math.Pi/math.Sqrt(27), 0.11, "standard deviation of the angle")
}

// Draws that cannot be projected are left out and counted; a coordinate that Σ
// holds constant does not count for mixing.
func TestLostAndConstant(t *testing.T) {
	circle := testkit.Must(zoo.NewCurve([]zoo.Term{{Coefficient: 1, X: 2}, {Coefficient: 1, Y: 2}, {Coefficient: -1}}))
	x, n := projected(t.Context(), circle, []float64{3, 0, 0, 0, 0, -0.5, math.NaN(), 1}) // the gradient vanishes at 0
	if n != 2 || len(x) != 4 || math.Abs(x[0]-1) > 1e-12 || math.Abs(x[3]+1) > 1e-12 {
		t.Errorf("%d lost, left are %v", n, x)
	}
	if !constant([][]float64{{0, 0.9e-9}}, 1) || constant([][]float64{{0, 1.1e-9}}, 1) ||
		!constant([][]float64{{1, 1 + 1.9e-9}}, 1) || constant([][]float64{{-1, -1 + 2.1e-9}}, 1) {
		t.Error("the limit of a constant")
	}
	if constant([][]float64{{0, 0.9e-9}}, 1e-6) || !constant([][]float64{{0, 0.9e-15}}, 1e-6) {
		t.Error("the limit of a constant among small numbers")
	}
	// At the limit itself, which is the fixed point of x = 10⁻⁹(1 + x).
	limit := 1e-9
	for range 5 {
		limit = 1e-9 * (1 + limit)
	}
	if !constant([][]float64{{0, limit}}, 1) || constant([][]float64{{0, math.Nextafter(limit, 1)}}, 1) {
		t.Error("the limit of a constant, exactly")
	}
	if !constant([][]float64{{2, 2 + 1e-15}, {2, 2}}, 1) || constant([][]float64{{2, 2}, {2, 2.1}}, 1) {
		t.Error("what is constant to round-off, and what is not")
	}
}

// The worst coordinate counts, wherever it stands, and both limits do.
func TestJudge(t *testing.T) {
	draws := &langevin.Draws{Count: 4, Keep: 200, Dim: 3, X: make([]float64, 4*200*3)}
	noise := keyed.New(1, keyed.Probe, 6)
	z := make([]float64, 3)
	for c := range 4 {
		for i := range 200 {
			noise.Normals(z, uint64(c), i)
			row := draws.X[(c*200+i)*3:][:3]
			// The middle one mixes slowly.
			row[0], row[1], row[2] = z[0], 0.01*z[1]+math.Sin(float64(i)/40+float64(c)), z[2]
		}
	}
	var d Draws
	d.judge(draws)
	if d.Worst != 1 || d.Rhat < 1.01 || d.ESS > 100 {
		t.Errorf("coordinate %d, split-R̂ %v, %v effective draws: the middle one has mixed worst",
			d.Worst, d.Rhat, d.ESS)
	}
	large := d
	for i := range draws.X {
		draws.X[i] *= 0x1p-40
	}
	if d.judge(draws); !reflect.DeepEqual(d, large) {
		t.Errorf("draws that are small are judged %+v, others %+v", d, large)
	}
	for _, c := range []struct {
		rhat, ess float64
		mixed     bool
	}{{1.009, 401, true}, {1.011, 401, false}, {1.009, 399, false}} {
		if d := (&Draws{Rhat: c.rhat, ESS: c.ess}); d.Mixed() != c.mixed {
			t.Errorf("split-R̂ %v, %v effective draws: mixed is %v", c.rhat, c.ess, d.Mixed())
		}
	}
}

// Friction is 1 in units of the spread of a coordinate and steps are a tenth of it; halvings halve steps alone.
func TestScale(t *testing.T) {
	c := &Config{Set: zoo.Torus{Major: 2, Minor: 0.6}}
	for halvings, τ := range []float64{0.3, 0.15, 0.075} {
		p := c.chains(3*math.Sqrt2, halvings).Process
		if math.Abs(p.Friction-1./3) > 1e-15 || math.Abs(p.Schedule.Tau(0)-τ) > 1e-15 {
			t.Errorf("friction %v and step %v, want 1/3 and %v", p.Friction, p.Schedule.Tau(0), τ)
		}
	}
}

// Chains run until split-R̂ is below 1.01, or below the requested value if that is less. A larger request changes
// nothing. The allowed steps bound all rounds, and the result has the last round's steps.
func TestHowFarChainsMix(t *testing.T) {
	pool := testkit.Pool(t, 2)
	run := func(most float64, steps int) *Draws {
		out := testkit.Must(Draw(t.Context(), Config{Set: zoo.Sphere{D: 2}, Starts: []float64{1, 0, -1, 0, 0, 1, 0, -1},
			Seed: 1, MaxRhat: most, MaxSteps: steps, Pool: pool}))
		return out
	}
	plain, loose, strict := run(0, 60_000), run(1.5, 60_000), run(1.0005, 60_000)
	if plain.Rhat >= 1.01 || plain.Steps > 30_000 || loose.Steps != plain.Steps || loose.Rhat != plain.Rhat {
		t.Errorf("1.01: %d steps to %v; 1.5: %d to %v", plain.Steps, plain.Rhat, loose.Steps, loose.Rhat)
	}
	if strict.Steps <= plain.Steps || strict.Rhat >= 1.0005 && 2*strict.Steps < 60_000 {
		t.Errorf("1.0005: %d steps to %v, 1.01: %d to %v", strict.Steps, strict.Rhat, plain.Steps, plain.Rhat)
	}
	// Rounds of 256, 512, 1024 steps: the second is the last that 1000 steps hold, and of one
	// the first is made all the same.
	for allowed, want := range map[int]int{1: 256, 767: 256, 768: 768, 1000: 768, 1791: 768, 1792: 1792} {
		if got := run(1.0000001, allowed); got.Steps != want || len(got.States) != 2*(got.Kept-got.Lost) {
			t.Errorf("of %d steps allowed %d are made", allowed, got.Steps)
		}
	}
}

// A round begins where the one before ended, each chain at its own last draw: the states are those of rounds run by
// hand.
func TestRoundsGoOn(t *testing.T) {
	pool := testkit.Pool(t, 2)
	set := zoo.Torus{Major: 2, Minor: 0.6}
	starts := []float64{2.6, 0, 0} // one point: the first round has not mixed
	c := Config{Set: set, Starts: starts, Seed: 1, MaxSteps: 3 * keep * 2, Pool: pool}
	got := testkit.Must(Draw(context.Background(), c))
	if got.Steps != 3*keep*2 {
		t.Fatalf("%d steps, want those of two rounds", got.Steps)
	}
	at := langevin.Starts(starts, 3, chains)
	wide := spread(starts, 3)
	var draws *langevin.Draws
	for round := range 2 {
		run := c.chains(wide, 0)
		run.Seed, run.Thin = keyed.Round(c.Seed, round), 2<<round
		draws = testkit.Must(run.Run(context.Background(), pool, at))
		for k := range chains {
			for j := range 3 {
				series := draws.Series(j)[k]
				at[k*3+j] = series[len(series)-1]
			}
		}
		wide = max(wide, spread(draws.X, 3))
	}
	if want, _ := projected(t.Context(), set, draws.X); !slices.Equal(got.States, want) {
		t.Error("the second round does not begin at the last draws of the first")
	}
}

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
