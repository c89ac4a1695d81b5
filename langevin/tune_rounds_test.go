package langevin

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// within is no force up to a distance, and NaN beyond it; it counts its calls.
type within struct {
	reach float64
	calls *int
}

func (f within) Gradient(dst, x []float64, _ int) {
	*f.calls++
	for i, v := range x {
		dst[i] = 0
		if !(math.Abs(v) <= f.reach) {
			dst[i] = math.NaN()
		}
	}
}

func (within) Value(dst, _ []float64, _ int) { clear(dst) }

func tuned(set constraint.Set, m Method, f Potential, τ float64) *Chains {
	return &Chains{Count: 16, Keep: 1, Seed: 5, Process: &Process{
		Set: set, Method: m, Potential: f, Friction: 1, Schedule: Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1},
	}}
}

// A step with which a simulation breaks down is halved, and the next round begins where the first
// one did, with noise of its own: the first of T, T/2, T/4, … with which 50 steps from there do
// not break down is the one. So it is for steps of a point (OLLA) and of a point and a momentum (the splitting).
func TestTuneHalves(t *testing.T) {
	pool := testkit.Pool(t, 1)
	line := zoo.Affine{A: [][]float64{{0, 1}}, B: []float64{0}}
	for _, symmetric := range []bool{false, true} {
		calls := 0
		c := tuned(line, OLLA, within{1, &calls}, 64)
		c.Symmetric = symmetric
		x0 := make([]float64, 32)
		for i := range 16 {
			x0[2*i] = 0.01 * float64(i)
		}
		got := testkit.Must(c.Tune(t.Context(), pool, x0))
		want, halved := 64.0, 0
		for ; ; halved++ {
			round := tuned(line, OLLA, within{1, &calls}, want)
			round.Symmetric, round.watch, round.Thin = symmetric, true, 50
			round.Seed = keyed.Round(5, halved+1)
			draws, err := round.Run(t.Context(), pool, x0)
			if err == nil && !math.IsNaN(draws.Refused) {
				break
			}
			want /= 2
		}
		if got != want || halved < 5 || c.Process.Schedule.T != 64 || x0[6] != 0.03 {
			t.Errorf("symmetric %v: step %v, want 64/2^%d = %v", symmetric, got, halved, want)
		}
	}
	// No step is short enough: the error of the last of 30 rounds, each of one look.
	calls := 0
	var diverged *DivergedError
	_, err := tuned(line, OLLA, within{-1, &calls}, 1).Tune(t.Context(), pool, make([]float64, 32))
	if !errors.As(err, &diverged) || calls != 30 {
		t.Errorf("%v after %d looks", err, calls)
	}
	// Tuning also fails if the energy is not finite at any step size: no step size repairs this, so it is an error, and
	// the step and its shares are those of the last round.
	for _, leaps := range []int{0, 2} {
		c := tuned(line, OLLA, unknown{}, 1)
		c.Symmetric, c.Leaps = leaps == 0, leaps
		got, err := c.Tune(t.Context(), pool, make([]float64, 32))
		refused := map[int]string{0: "NaN % of moves", 2: "100 % of moves"}[leaps]
		if got != 0 || fault.KindOf(err) != fault.Check {
			t.Errorf("%d leaps, an energy that is no number: step %v, %v", leaps, got, err)
		}
		for _, says := range []string{"at 1.86e-09, after 30 rounds", refused, "sample.step"} {
			testkit.Refused(t, err, says)
		}
	}
}

// unknown is no force whose energy is no number.
type unknown struct{}

func (unknown) Gradient(dst, _ []float64, n int) { clear(dst) }

func (unknown) Value(dst, _ []float64, n int) {
	for i := range dst[:n] {
		dst[i] = math.NaN()
	}
}

// A round takes 50 steps, one of HMC a fifth of them; without force nothing goes wrong, the step of the splitting
// stays, and that of HMC grows by halves as long as it is at most ten times the first.
func TestTuneWithoutForce(t *testing.T) {
	pool := testkit.Pool(t, 1)
	x0 := make([]float64, 16)
	for _, c := range []struct {
		leaps, calls int
		want         float64
	}{
		{0, 1 + 50, 0.25}, // a step begins with the force that the last one ended with
		{1, 6 * (1 + 10), 0.25 * 1.5 * 1.5 * 1.5 * 1.5 * 1.5},
		{2, 6 * (1 + 20), 0.25 * 1.5 * 1.5 * 1.5 * 1.5 * 1.5},
	} {
		calls := 0
		chains := tuned(zoo.Euclidean{D: 1}, ULLAP, within{1e9, &calls}, 0.25)
		chains.Symmetric, chains.Leaps = c.leaps == 0, c.leaps
		if got, err := chains.Tune(t.Context(), pool, x0); err != nil || got != c.want || calls != c.calls {
			t.Errorf("%d leaps: step %v, %v, after %d looks, want %v after %d", c.leaps, got, err, calls, c.want,
				c.calls)
		}
	}
	// Where the next step refuses too much, the last that did not is taken, however short: in a well
	// of frequency 10 that is 0.15, of 0.225 no move would last.
	first := 0.15 / (1.5 * 1.5 * 1.5)
	stiff := tuned(zoo.Euclidean{D: 1}, ULLAP, Quadratic{Weight: []float64{100}}, first)
	stiff.Leaps, stiff.Count = 2, 64
	if got, err := stiff.Tune(t.Context(), pool, make([]float64, 64)); err != nil || got != first*1.5*1.5*1.5 {
		t.Errorf("in a narrow well: step %v, %v", got, err)
	}
	bare := tuned(zoo.Euclidean{D: 1}, ULLAP, blind{}, 0.25)
	bare.Leaps = 1
	var config *ConfigError
	if got, err := bare.Tune(t.Context(), pool, x0); got != 0 || !errors.As(err, &config) ||
		config.Field != "Potential" {
		t.Errorf("HMC without values of the potential: %v, %v", got, err)
	}
}

// blind knows no values.
type blind struct{}

func (blind) Gradient(dst, x []float64, _ int) { copy(dst, x) }

// What Tune finds is a step with which moves go wrong as rarely as they should, in long chains,
// and the step that it left for it went wrong more often: flights that turn back at the ends of an
// interval, projections that fail on a flat ellipsoid, moves that Metropolis refuses. Shares of
// rounds scatter: a tenth of a share at either side, for failures all of it.
func TestTunedShares(t *testing.T) {
	pool := testkit.Pool(t, 1)
	interval := testkit.Must(zoo.NewBox([]float64{0}, []float64{1}))
	ellipsoid := zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.2}}
	turned := func(d *Draws) float64 { return d.Turned }
	refused := func(d *Draws) float64 { return d.Refused }
	for name, c := range map[string]struct {
		set          constraint.Set
		f            Potential
		start        []float64
		leaps        int
		τ            float64
		share        func(*Draws) float64
		most, beyond float64 // at the step found; at twice or 1.5 times it
		factor       float64
	}{
		"interval":         {interval, nil, []float64{0.5}, 0, 64, turned, 0.55, 0.45, 2},
		"interval, HMC":    {interval, nil, []float64{0.5}, 1, 64, turned, 0.39, 0.09, 1.5},
		"ellipsoid":        {ellipsoid, nil, []float64{1, 0, 0}, 0, 2, (*Draws).FailedShare, 0.002, 0.0005, 2},
		"refused, long":    {zoo.Euclidean{D: 1}, Quadratic{}, []float64{0}, 0, 64, refused, 0.025, 0.018, 2},
		"HMC, long":        {zoo.Euclidean{D: 1}, Quadratic{}, []float64{0}, 2, 64, refused, 0.39, 0.09, 1.5},
		"HMC, short":       {zoo.Euclidean{D: 1}, Quadratic{}, []float64{0}, 1, 0.3, refused, 0.39, 0.09, 1.5},
		"HMC, many, short": {zoo.Euclidean{D: 40}, Quadratic{}, make([]float64, 40), 1, 0.3, refused, 0.39, 0.09, 1.5},
	} {
		chains := tuned(c.set, ULLAP, c.f, c.τ)
		chains.Symmetric, chains.Leaps, chains.Count = c.leaps == 0, c.leaps, 64
		var x0 []float64
		for range chains.Count {
			x0 = append(x0, c.start...)
		}
		τ := testkit.Must(chains.Tune(t.Context(), pool, x0))
		at := func(τ float64) float64 {
			p := *chains.Process
			p.Schedule.T = τ
			long := &Chains{Process: &p, Symmetric: true, Leaps: c.leaps, Count: 64, Burn: 50, Keep: 1, Thin: 300,
				Seed: 9, watch: true}
			draws := testkit.Must(long.Run(t.Context(), pool, x0))
			return c.share(draws)
		}
		here, there := at(τ), at(c.factor*τ)
		t.Logf("%s: step %v, share %v, %v at %v times it", name, τ, here, there, c.factor)
		if here > c.most || there < c.beyond {
			t.Errorf("%s: at the step %v the share is %v, at %v times it %v", name, τ, here, c.factor, there)
		}
		if f, _ := math.Frexp(τ / c.τ); c.leaps == 0 && f != 0.5 {
			t.Errorf("%s: the step %v is no half of halves of %v", name, τ, c.τ)
		}
		if c.τ == 0.3 { // the longest of those that it grew by
			j := math.Log(τ/c.τ) / math.Log(1.5)
			if math.Abs(j-math.Round(j)) > 1e-9 || j < 1 {
				t.Errorf("%s: the step %v is not %v and halves of it", name, τ, c.τ)
			}
		}
	}
}

// quartic is f = Σ x_j⁴.
type quartic struct{}

func (quartic) Gradient(dst, x []float64, _ int) {
	for i, v := range x {
		dst[i] = 4 * v * v * v
	}
}

func (quartic) Value(dst, x []float64, n int) {
	d := len(x) / n
	for i := range n {
		dst[i] = 0
		for _, v := range x[i*d : (i+1)*d] {
			dst[i] += v * v * v * v
		}
	}
}

// The step that Tune finds for the splitting is about the same for one direction of exp(−Σx⁴) and for 64, since
// averages see the error of each alone, and at it their second moment is right: Γ(3/4)/Γ(1/4). A step that kept the
// energy of all 64 as well as that of one would be less than half as long (a factor ∛√64 and more).
func TestTuneByDirections(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	pool := testkit.Pool(t, 2)
	var steps []float64
	for _, directions := range []int{1, 64} {
		row := make([]float64, directions+1)
		row[0] = 1
		set := zoo.Affine{A: [][]float64{row}, B: []float64{0}}
		p := &Process{Set: set, Potential: quartic{}, Friction: 1,
			Method: ULLAP, Schedule: Schedule{N: 1, T: 1, SigmaMin: 1, SigmaMax: 1}}
		count := 4096 / directions
		c := &Chains{Process: p, Symmetric: true, Count: count, Burn: 50, Keep: 50, Thin: 10, Seed: 3}
		τ := testkit.Must(c.Tune(t.Context(), pool, make([]float64, count*(directions+1))))
		steps = append(steps, τ)
		p.Schedule.T = τ
		draws := testkit.Must(c.Run(t.Context(), pool, make([]float64, count*(directions+1))))
		moment := 0.0
		for _, v := range draws.X {
			moment += v * v / float64(4096*c.Keep)
		}
		// 200 000 draws of variance 0.136, at least a tenth of them effective: a standard error of 0.0026.
		testkit.Near(t, moment, math.Gamma(0.75)/math.Gamma(0.25), 0.013,
			"%d directions, step %v: E x²", directions, τ)
	}
	if steps[1] < 0.5*steps[0] || steps[1] > 2*steps[0] {
		t.Errorf("steps %v", steps)
	}
	t.Logf("steps %v", steps)
}
