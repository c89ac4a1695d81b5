package langevin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Of an overdamped step all that is known of its noise is its share of the displacement:
// r_k² = τ_k²/(τ Σ_{i≤k} τ_i), τ of the backward step; with one level of noise 1/(k + 1).
func TestTargetSizeOfOverdamped(t *testing.T) {
	for _, c := range []Convention{Paper, Reference} {
		p := process(zoo.Euclidean{D: 1}, OLLA)
		p.Convention = c
		sum := 0.0
		for k := range p.Schedule.N {
			τ := p.Schedule.Tau(k)
			sum += τ
			testkit.Near(t, p.TargetSize(k), τ/math.Sqrt(sum*p.BackTau(k)), 1e-14, "%v: r_%d", c, k)
		}
		p.Schedule.SigmaMax = p.Schedule.SigmaMin
		for k := range p.Schedule.N {
			testkit.Near(t, p.TargetSize(k), 1/math.Sqrt(float64(k+1)), 1e-14, "%v: with one level of noise r_%d", c, k)
		}
	}
}

// With balanced gains, what a network must put out at t_{k+1} is of size 1: m |c_k| = r_k.
func TestBalancedGains(t *testing.T) {
	for _, m := range []Method{OLLA, ULLA} {
		for _, c := range []Convention{Paper, Reference} {
			p := process(zoo.Euclidean{D: 1}, m)
			p.Convention = c
			gain := p.BalancedGains()
			for k := range p.Schedule.N {
				got, want := gain(p.Schedule.Time(k+1))*math.Abs(p.ScoreCoefficient(k)), p.TargetSize(k)
				testkit.Near(t, got, want, 1e-14*want, "%v %v: m c_%d", m, c, k)
			}
		}
	}
}

// Names are read in any case, and as what prints them; RDDPM is OLLA-P. The zero process is the default of the problem
// file. The error of an unknown name lists the known ones.
func TestNamesAndTheirRefusals(t *testing.T) {
	for name, want := range map[string]Method{"RDDPM": OLLAP, "rddpm": OLLAP, "olla-p": OLLAP, "ulla": ULLA} {
		if got, err := ParseMethod(name); err != nil || got != want {
			t.Errorf("%s is read as %v, %v", name, got, err)
		}
	}
	for _, m := range []Method{OLLA, OLLAP, ULLA, ULLAP} {
		testkit.Equal(t, testkit.Must(ParseMethod(m.String())), m)
	}
	for _, c := range []Convention{Paper, Reference} {
		testkit.Equal(t, testkit.Must(ParseConvention(c.String())), c)
	}
	for _, w := range []Walls{ElasticWalls, PaperWalls, LateWalls} {
		testkit.Equal(t, testkit.Must(ParseWalls(w.String())), w)
	}
	var p Process
	if p.Convention.String() != "reference" || p.Method.String() != "ULLA" || p.Rho(0) != 1 {
		t.Errorf("the zero process is %v in the %v convention with ρ = %v", p.Method, p.Convention, p.Rho(0))
	}
	var e *ConfigError
	if m, err := ParseMethod("HMC"); m != 0 || !errors.As(err, &e) || e.Field != "Method" || e.Value != "HMC" ||
		!strings.Contains(err.Error(), "one of ULLA, OLLA, ULLA-P, OLLA-P") {
		t.Errorf("a method that is none: %v", err)
	}
	if w, err := ParseWalls("rubber"); w != 0 || !errors.As(err, &e) || e.Field != "Walls" || e.Value != "rubber" {
		t.Errorf("walls that are none: %v", err)
	}
	if c, err := ParseConvention("mine"); c != 0 || !errors.As(err, &e) || e.Field != "Convention" ||
		e.Value != "mine" {
		t.Errorf("a convention that is none: %v", err)
	}
}

// A break-down is laid to the sample and component that geometry names, counted from the block's
// first; to the state and the block's first where it names none; and what geometry said is kept.
func TestWhatBrokeDown(t *testing.T) {
	for _, c := range []struct {
		err             error
		sample          int
		component, text string
	}{
		{&geometry.NonFiniteError{Row: 3, Component: "tube", Value: math.Inf(1)}, 103, "tube", "the value is +Inf"},
		{&geometry.RankError{Row: 2, Component: "knot", Norm: 1e-17}, 102, "knot",
			"its gradient vanishes (norm 1e-17)"},
		{fmt.Errorf("held up: %w", &geometry.RankError{Row: 1, Component: "knot"}), 101, "knot", "the rank drops"},
		{errors.New("out of paper"), 100, "state", "out of paper"},
	} {
		e := diverged("backward", 100, 7, c.err).(*DivergedError)
		if e.Sample != c.sample || e.Component != c.component || e.Step != 7 || e.Direction != "backward" ||
			!strings.Contains(e.Err.Error(), c.text) || !errors.Is(e, e.Err) {
			t.Errorf("%v: %+v", c.err, e)
		}
		text := fmt.Sprintf("backward simulation broke down at sample %d, step 7, component %q: ", c.sample,
			c.component)
		if !strings.HasPrefix(e.Error(), text) {
			t.Errorf("%v, want %q", e, text)
		}
	}
}

// spoiled is no force, and NaN in coordinate 1 where x_0 is the number given.
type spoiled float64

func (s spoiled) Gradient(dst, x []float64, n int) {
	clear(dst)
	d := len(x) / n
	for i := range n {
		if x[i*d] == float64(s) {
			dst[i*d+1] = math.NaN()
		}
	}
}

func (s spoiled) Value(dst, _ []float64, _ int) { clear(dst) }

// A state that no constraint looks at is looked at in the end, by sample and coordinate; one that a
// constraint sees stops the chain or path at the step, by sample, also in a later block.
func TestWhereStatesBreakDown(t *testing.T) {
	pool := testkit.Pool(t, 2)
	starts := make([]float64, 3*40)
	for i := range 40 {
		starts[3*i] = float64(i)
	}
	p := process(zoo.Euclidean{D: 3}, OLLA)
	p.Potential = spoiled(21)
	var e *DivergedError
	var paths Paths
	_, err := NewSimulator(p, pool, 16).Forward(t.Context(), &paths, starts, 1, 0)
	if !errors.As(err, &e) || e.Sample != 21 || e.Component != "x[1]" || e.Step != p.Schedule.N ||
		e.Direction != "forward" {
		t.Errorf("a free path: %v", err)
	}
	for _, m := range []Method{OLLA, ULLA} {
		free := process(zoo.Euclidean{D: 3}, m)
		free.Potential, free.Schedule = spoiled(21), Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1}
		for thin, burn := range map[int]int{1: 0, 3: 4} {
			// A state is looked at when it is kept; a momentum before it flies, as chains whose
			// momentum is no number would stay where they are.
			for _, c := range []Chains{{}, {Symmetric: true}, {Leaps: 2}} {
				component, step := "x[1]", burn+thin
				if c.Symmetric || c.Leaps > 0 {
					component, step = "p[1]", 1
				}
				c.Process, c.Count, c.Burn, c.Keep, c.Thin = free, 40, burn, 2, thin
				_, err = c.Run(t.Context(), pool, starts)
				if !errors.As(err, &e) || e.Sample != 21 || e.Component != component || e.Step != step ||
					e.Direction != "chain" {
					t.Errorf("%v, %+v: a free chain: %v", m, c, err)
				}
			}
		}
	}
	p.Set = zoo.Affine{A: [][]float64{{0, 1, 1}}, B: []float64{0}}
	_, err = NewSimulator(p, pool, 16).Forward(t.Context(), &paths, starts, 1, 0)
	if !errors.As(err, &e) || e.Sample != 21 || e.Direction != "forward" || e.Step > 1 {
		t.Errorf("a path on a plane: %v", err)
	}
	starts[3*33+1] = math.Inf(1)
	for _, m := range []Method{OLLA, ULLA} {
		p.Method, p.Friction, p.Potential = m, 1, nil
		p.Schedule = Schedule{N: 3, T: 0.3, SigmaMin: 1, SigmaMax: 1}
		_, err = NewSimulator(p, pool, 16).Forward(t.Context(), &paths, starts, 1, 0)
		if !errors.As(err, &e) || e.Sample != 33 || e.Direction != "forward" || e.Step != 0 {
			t.Errorf("%v: a start that is no point: %v", m, err)
		}
		// What begins with a momentum looks at the start for it.
		first := map[bool]int{false: 1, true: 0}
		for _, c := range []Chains{{}, {Symmetric: true}, {Leaps: 2}} {
			c.Process, c.Count, c.Keep = p, 40, 2
			_, err = c.Run(t.Context(), pool, starts)
			if !errors.As(err, &e) || e.Sample != 33 || e.Direction != "chain" ||
				e.Step != first[c.Symmetric || m.Underdamped() && c.Leaps == 0] {
				t.Errorf("%v, %+v: a start that is no point: %v", m, c, err)
			}
		}
		p.NoTerminal = true
	}
	p.Schedule.SigmaMax = 2
	var config *ConfigError
	if _, err := (&Chains{Process: p, Count: 1, Keep: 1}).Run(t.Context(), pool, starts); !errors.As(err, &config) ||
		config.Field != "Schedule.SigmaMax" {
		t.Errorf("chains with two levels of noise: %v", err)
	}
}

// A generated state that breaks down in the last step is of step 0, told by sample: of a free space by
// its coordinate, of a plane by the component, watched or not.
func TestWhereSamplesBreakDown(t *testing.T) {
	pool := testkit.Pool(t, 2)
	plane := zoo.Affine{A: [][]float64{{0, 1, 1}}, B: []float64{0}}
	for _, watched := range []bool{false, true} {
		for _, noTerminal := range []bool{false, true} {
			for component, set := range map[string]constraint.Set{"x[1]": zoo.Euclidean{D: 3}, "": plane} {
				p := process(set, OLLA)
				p.NoTerminal = noTerminal
				first := p.Schedule.Time(1)
				last := scoreFunc(func(dst, x, _ []float64, t float64) {
					clear(dst)
					for i := range len(x) / 3 {
						if t == first && x[3*i] > 20 {
							dst[3*i+1] = math.Inf(1)
						}
					}
				})
				states := Empirical{make([]float64, 3)}
				prior := numbered{states, 27}
				sim := NewSimulator(p, pool, 16)
				if watched {
					sim.Watch(NewTrace(p))
				}
				_, err := sim.Backward(t.Context(), make([]float64, 3*40), make([]bool, 40), 0, 1, prior,
					func(int) Score { return last })
				var e *DivergedError
				if !errors.As(err, &e) || e.Sample != 27 || e.Step != 0 || e.Direction != "backward" ||
					component != "" && e.Component != component {
					t.Errorf("%T, watched %v, no last projection %v: %v", set, watched, noTerminal, err)
				}
			}
		}
	}
}

// numbered begins sample far at x_0 = 100.
type numbered struct {
	Empirical
	far uint64
}

func (n numbered) Sample(dst []float64, s keyed.Stream, sample uint64) {
	if n.Empirical.Sample(dst, s, sample); sample == n.far {
		dst[0] = 100
	}
}

// A prior of terminal states leaves out paths that failed, and says so where all did; of a set
// without a uniform law there is no uniform prior.
func TestPriorsThatAreNone(t *testing.T) {
	pool := testkit.Pool(t, 1)
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLAP, Schedule: Schedule{N: 4, T: 400, SigmaMin: 1, SigmaMax: 1.3}}
	x0 := testkit.Must(Start(t.Context(), p, 20, 1))
	sim := NewSimulator(p, pool, 8)
	var none *PriorError
	if _, err := sim.EmpiricalPrior(t.Context(), x0, 1, 0); !errors.As(err, &none) || none.Paths != 20 ||
		!strings.Contains(err.Error(), "all 20 forward paths") {
		t.Errorf("steps of twenty radii: %v", err)
	}
	p.Schedule.T = 1.2 // some fail
	var paths Paths
	report, err := sim.Forward(t.Context(), &paths, x0, 1, 0)
	if err != nil || report.Failed == 0 || report.Failed == 20 {
		t.Fatalf("%d of 20 failed, %v", report.Failed, err)
	}
	var want []float64
	for i := range 20 {
		if !paths.Failed[i] {
			want = append(want, paths.At(i, 4)...)
		}
	}
	if e, err := sim.EmpiricalPrior(t.Context(), x0, 1, 0); err != nil || !slices.Equal(e.States, want) {
		t.Errorf("%d states of %d paths, %v", len(e.States)/3, 20-report.Failed, err)
	}
	p.Set = zoo.Affine{A: [][]float64{{1, 1}}, B: []float64{0}}
	testkit.Refused(t, testkit.Err(UniformPrior(p)), "uniform", "the uniform law of a line")
}

// Where ∇h loses its rank the density of a level is that of no point, +∞ as an energy, and its force is the force of
// the potential alone. The rows beside it do not change.
func TestLevelWhereTheRankDrops(t *testing.T) {
	f := Quadratic{Center: []float64{1, 0}}
	level := testkit.Must(Level(zoo.Ellipsoid{Axes: []float64{1, 1}}, f))
	x, value, force := []float64{0, 0, 3, 4}, make([]float64, 2), make([]float64, 4)
	level.(Energy).Value(value, x, 2)
	level.Gradient(force, x, 2)
	if !math.IsInf(value[0], 1) || math.IsInf(value[1], 0) {
		t.Errorf("values %v", value)
	}
	if force[0] != -1 || force[1] != 0 || force[2]-force[2] != 0 {
		t.Errorf("forces %v", force)
	}
	if free, err := Level(zoo.Euclidean{D: 2}, f); err != nil || fmt.Sprint(free) != fmt.Sprint(f) {
		t.Errorf("of no equalities the level is %v, %v", free, err)
	}
	if _, err := Level(noSecond{zoo.Ellipsoid{Axes: []float64{1, 1}}}, nil); err == nil {
		t.Error("no error without second derivatives")
	}
	// A potential without values has none before a condition either, and its force does not reach the condition.
	b := Before(blind{}, 2, 1)
	if _, ok := b.(Energy); ok {
		t.Error("values of a potential that has none")
	}
	dst := []float64{9, 9, 9, 9, 9, 9}
	if b.Gradient(dst, []float64{1, 2, 3, 4, 5, 6}, 2); !slices.Equal(dst, []float64{1, 2, 0, 4, 5, 0}) {
		t.Errorf("forces before a condition: %v", dst)
	}
}

// The first step of a chain is kicked as every other, at the origin of a line too, where all is 0
// that a step remembers of the one before.
func TestFirstKick(t *testing.T) {
	p := process(zoo.Euclidean{D: 1}, ULLAP)
	p.Potential = Linear{[]float64{3}}
	s := newSplitting(p, 1)
	testkit.OK(t, s.set.At([]float64{0}, 1))
	momentum := []float64{0}
	if s.kick([]float64{0}, momentum, 1); momentum[0] != 3*s.τ/2 {
		t.Errorf("the momentum is %v, want %v", momentum[0], 3*s.τ/2)
	}
}

// Paths that no wall sent back have nothing to unfold, whatever walls others met.
func TestNothingToUnfold(t *testing.T) {
	z, v := []float64{1, 2}, []float64{3, 4}
	plain := Paths{Count: 1, Steps: 3, Dim: 2, X: make([]float64, 8)}
	if plain.Unfold(0, 0, 3, z, v, nil); z[0] != 1 || z[1] != 2 || v[0] != 3 || v[1] != 4 {
		t.Errorf("unfolded %v and %v", z, v)
	}
	stream := keyed.New(1, keyed.Probe, 0)
	stream.Normals(plain.X, 0, 0)
	if &plain.Proposal(0, 2)[0] != &plain.At(0, 2)[0] || &plain.Origin(0, 2)[0] != &plain.At(0, 1)[0] {
		t.Error("a step that no wall sent back comes from elsewhere, or goes elsewhere")
	}
}
