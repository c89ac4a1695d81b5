package choose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A narrow window caps ε at a quarter of its depth, below a step's 0.1, which throws
// points 0.2 beyond it; without inequalities it is 0.
func TestRepulsionReasons(t *testing.T) {
	pool := testkit.Pool(t, 1)
	process := func(lower, upper []float64) *langevin.Process {
		box := testkit.Must(zoo.NewBox(lower, upper))
		p := interval{Method: langevin.OLLA, Tau: 0.01, Rho: 1, Friction: 1}.Process()
		p.Set = box
		return p
	}
	narrow := process([]float64{0}, []float64{0.2})
	ε, why := Repulsion(t.Context(), narrow, []float64{0.1, 0.05, 0.15}, 1, pool)
	if !(ε > 0.05 && ε < 0.1) || !strings.Contains(why, "a quarter of the shallowest window") {
		t.Errorf("ε = %v: %s", ε, why)
	}
	sphere := process([]float64{0}, nil)
	sphere.Set = zoo.Sphere{D: 3}
	if ε, why := Repulsion(t.Context(), sphere, nil, 1, pool); ε != 0 || why != "there are no inequalities" {
		t.Errorf("sphere: ε = %v: %s", ε, why)
	}
}

// Inequalities that no point comes near, or that no step along Σ moves, have no say.
func TestRepulsionOfSome(t *testing.T) {
	pool := testkit.Pool(t, 1)
	circle := func(inequalities ...formula.Component) *langevin.Process {
		set := testkit.Must(formula.New(formula.Spec{
			Dim: 2, Equality: []formula.Component{{Name: "r", Expr: "norm(x) - 1"}}, Inequality: inequalities,
		}))
		p := interval{Method: langevin.ULLA, Tau: 0.01, Rho: 1, Friction: 1}.Process()
		p.Set = set
		return p
	}
	right := formula.Component{Name: "right", Expr: "x[0] >= 0"}
	far := formula.Component{Name: "far", Expr: "1000*x[1] <= 50000"}
	still := formula.Component{Name: "still", Expr: "1000*norm(x) <= 1000"}
	ε, why := Repulsion(t.Context(), circle(right), nil, 1, pool)
	if math.Abs(ε/0.01-1) > 0.05 || why != "ρε is a typical step across the boundary" {
		t.Errorf("one edge: ε = %v: %s", ε, why)
	}
	if got, why := Repulsion(t.Context(), circle(right, far, still), nil, 1, pool); math.Abs(got/0.01-1) > 0.05 ||
		why != "ρε is a typical step across the boundary" {
		t.Errorf("one edge of three: ε = %v: %s", got, why)
	}
	if got, why := Repulsion(t.Context(), circle(far), nil, 1, pool); got != 0 ||
		why != "no point comes near the edge of an inequality" {
		t.Errorf("far: ε = %v: %s", got, why)
	}
}

// The rate makes the largest step land exactly what it finds.
func TestRate(t *testing.T) {
	p := &langevin.Process{Schedule: langevin.Schedule{N: 10, T: 2, SigmaMin: 0.1, SigmaMax: 1.5}}
	p.Landing = langevin.Landing{Explicit: true, Rate: p.MonotoneRate()}
	most := 0.0
	for k := range p.Steps() {
		most = max(most, p.Rho(k))
	}
	if math.Abs(most-1) > 1e-12 {
		t.Errorf("largest ρ is %v", most)
	}
}

// The ε that is recommended gives the uniform law on an interval to within 0.03; ten times less sticks and five times
// more leaves edges empty or throws points out, both by more than twice that distance. The chains have some 3000
// independent draws, so the noise of a distance is about 0.01; a false alarm needs five of those, a rate below 1e-6.
// The seeds are fixed.
func TestRecommendedRepulsion(t *testing.T) {
	pool := testkit.Pool(t, 2)
	for _, c := range []interval{
		{Method: langevin.OLLA, Tau: 0.0025, Rho: 1, Friction: 1},
		{Method: langevin.OLLA, Tau: 0.0025, Rho: 0.3, Friction: 1},
		{Method: langevin.ULLA, Tau: 0.05, Rho: 1, Friction: 1},
		{Method: langevin.ULLA, Tau: 0.05, Rho: 0.3, Friction: 1},
	} {
		ε, reason := Repulsion(t.Context(), c.Process(), nil, 1, pool)
		if want := c.Best(); math.Abs(ε/want-1) > 1e-9 {
			t.Errorf("%v: ε = %v (%s), want s/ρ = %v", c.Method, ε, reason, want)
		}
		var d [3]float64
		for i, f := range []float64{0.1, 1, 5} {
			d[i] = c.Distance(t, f*ε, 400, pool)
		}
		if d[1] > 0.03 || d[0] < 2*d[1] || d[2] < 2*d[1] {
			t.Errorf("%v, ρ = %v: distances %.4f at ε/10, %.4f at ε, %.4f at 5ε", c.Method, c.Rho, d[0], d[1], d[2])
		}
	}
}

// An interval is long unlearned chains on [0, 1] with steps of τ that land the share ρ.
type interval struct {
	Method             langevin.Method
	Tau, Rho, Friction float64
}

// Process returns that of the chains, with ε = 0.
func (c interval) Process() *langevin.Process {
	box, err := zoo.NewBox([]float64{0}, []float64{1})
	if err != nil {
		panic(err)
	}
	return &langevin.Process{
		Set: box, Method: c.Method, Friction: c.Friction,
		Walls:   langevin.PaperWalls,
		Landing: langevin.Landing{Explicit: true, Rate: c.Rho / c.Tau}, NoTerminal: true,
		Schedule: langevin.Schedule{N: 1, T: c.Tau, SigmaMin: 1, SigmaMax: 1},
	}
}

// Best returns the ε with ρε = s, the length of a step.
func (c interval) Best() float64 {
	if c.Method.Underdamped() {
		return c.Tau / c.Rho
	}
	return math.Sqrt(c.Tau) / c.Rho
}

// Distance returns the largest distance of the distribution function of the draws of 64 chains to that of the uniform
// law.
func (c interval) Distance(t *testing.T, ε float64, draws int, pool *parallel.Pool) (worst float64) {
	const count = 64
	p := c.Process()
	p.Repulsion = ε
	chains := &langevin.Chains{Process: p, Count: count, Burn: 5 * draws, Keep: draws, Thin: 20, Seed: 1}
	x0 := make([]float64, count)
	for i := range x0 {
		x0[i] = (float64(i) + 0.5) / count
	}
	d := testkit.Must(chains.Run(t.Context(), pool, x0))
	n := float64(len(d.X))
	for i, v := range slices.Sorted(slices.Values(d.X)) {
		v = min(max(v, 0), 1)
		worst = max(worst, v-float64(i)/n, float64(i+1)/n-v)
	}
	return worst
}
