package langevin

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A flight of the splitting that would end beyond a wall stays where it is, and only
// the part of its momentum across that wall turns round: at each of the six walls of a
// box, so that the gradient is that of the wall that was met. To round-off, for any wall.
func TestFlightTurnsAtEachWall(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{-1, -1, -1}, []float64{1, 1, 1}))
	p := &Process{Set: box, Method: ULLAP, Friction: 1, Schedule: Schedule{N: 1, T: 0.2, SigmaMin: 1, SigmaMax: 1}}
	for wall := range 6 {
		j, side := wall/2, float64(2*(wall%2)-1)
		x, momentum := []float64{0.1, -0.2, 0.3}, []float64{0.5, 0.7, -0.4}
		x[j], momentum[j] = 0.95*side, 0.9*side
		s := newSplitting(p, 1)
		at, q := append([]float64(nil), x...), append([]float64(nil), momentum...)
		testkit.OK(t, s.set.At(at, 1))
		failed, report := []bool{false}, Report{}
		if err := s.flight(at, q, failed, 1, &report.Projections); err != nil || failed[0] {
			t.Fatalf("wall %d: %v, %v", wall, failed, err)
		}
		for i := range at {
			want := momentum[i]
			if i == j {
				want = -want
			}
			if at[i] != x[i] || math.Abs(q[i]-want) > 1e-15 {
				t.Errorf("wall at %v of x_%d: from %v with momentum %v to %v with %v", side, j, x, momentum, at, q)
			}
		}
	}
}

// In a corner, where the mirrored flight backwards would end beyond another wall, the whole momentum
// turns round, whichever walls these are; the flights beside it do what they do alone.
func TestFlightTurnsInCorners(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{-1, -1, -1}, []float64{1, 1, 1}))
	p := &Process{Set: box, Method: ULLAP, Friction: 1, Schedule: Schedule{N: 1, T: 0.2, SigmaMin: 1, SigmaMax: 1}}
	for met := range 6 {
		for other := range 6 {
			a, b, sideA, sideB := met/2, other/2, float64(2*(met%2)-1), float64(2*(other%2)-1)
			if a == b {
				continue
			}
			x, momentum := []float64{0.1, 0.1, 0.1, 0, 0.2, 0}, []float64{0.2, 0.2, 0.2, 0.3, -0.1, 0.5}
			x[a], momentum[a], x[b], momentum[b] = 0.95*sideA, 0.9*sideA, 0.95*sideB, -1.5*sideB
			s := newSplitting(p, 2)
			at, q := append([]float64(nil), x...), append([]float64(nil), momentum...)
			testkit.OK(t, s.set.At(at, 2))
			failed, report := make([]bool, 2), Report{}
			if err := s.flight(at, q, failed, 2, &report.Projections); err != nil || failed[0] || failed[1] {
				t.Fatalf("walls %d and %d: %v, %v", met, other, err, failed)
			}
			for i := range 3 {
				if at[i] != x[i] || math.Abs(q[i]+momentum[i]) > 1e-15 {
					t.Errorf("walls %d and %d: from %v with %v to %v with %v", met, other, x[:3], momentum[:3], at[:3],
						q[:3])
				}
				if !(math.Abs(q[3+i]-momentum[3+i]) < 1e-14) || !(math.Abs(at[3+i]-x[3+i]-s.h*momentum[3+i]) < 1e-15) {
					t.Errorf("beside it: from %v with %v to %v with %v", x[3:], momentum[3:], at[3:], q[3:])
				}
			}
		}
	}
}

// Beside a singular point, here where the middle atoms' neighbours come into a line with
// them, normals turn within a step and Newton's method may meet Σ far away: such a flight
// turns back. Coordinates of the chains under f = ½‖x‖² stay within ten standard deviations
// of a Gaussian (180 000 numbers: false alarm below 10⁻¹⁷); without that they reach thousands.
func TestFlightsEndNearby(t *testing.T) {
	φ := conformation.Coordinate{Kind: conformation.Dihedral, Atoms: []int{0, 1, 2, 3}}
	set := testkit.Must(conformation.New(conformation.Spec{Molecule: molecule.Anonymous(5),
		Conditions: []conformation.Condition{{Low: 2.7, High: 2.7, Coordinate: φ}}}))
	p := &Process{Set: set, Method: ULLAP, Friction: 5, Potential: Quadratic{},
		Schedule: Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1}}
	x0 := testkit.Must(Start(t.Context(), p, 8, 1))
	draws := chains(t, Chains{Process: p, Symmetric: true, Count: 8, Burn: 500, Keep: 1500, Thin: 2, Seed: 1}, x0)
	worst := 0.0
	for _, v := range draws.X {
		worst = max(worst, math.Abs(v))
	}
	if !(worst < 10) || draws.Report.Projections.Unreachable == 0 {
		t.Errorf("a coordinate of %.3g; %d projections failed", worst, draws.Report.Projections.Unreachable)
	}
}

// Gaussian data N(0, w²) beside paths that travel √2, with the best score of each step: the law of
// samples is Gaussian, and its variance follows without sampling. The bounds are a little above what split noise
// gives; late noise has 1.07, 1.07 and 1.14 with 50 steps.
func TestSplitNoise(t *testing.T) {
	for _, c := range []struct {
		w   float64
		off [2]float64 // 50 and 100 steps
	}{{1, [2]float64{0.02, 0.02}}, {0.2, [2]float64{0.02, 0.01}}, {0.1, [2]float64{0.03, 0.01}},
		{0.03, [2]float64{0.07, 0.03}}} {
		for i, N := range []int{50, 100} {
			p := &Process{Set: zoo.Euclidean{D: 1}, Method: ULLA, Friction: math.Sqrt(13),
				Schedule: Schedule{N: N, T: 1, SigmaMin: 0.165, SigmaMax: 3.3}}
			score := learned(p, c.w*c.w)
			late := spread(t, p, score.end, score)/(c.w*c.w) - 1
			p.Split = true
			split := spread(t, p, score.end, score)/(c.w*c.w) - 1
			t.Logf("width %v, %d steps: variance off by %+.4f, late %+.4f", c.w, N, split, late)
			if math.Abs(split) > c.off[i] {
				t.Errorf("width %v, %d steps: variance off by %+.4f", c.w, N, split)
			}
		}
	}
}

// A simulator draws both noises, apart: its samples have the variance that follows without sampling. Of
// 20 000 the variance is known to 1 %; 5 % is a false alarm in 2 million.
func TestSplitNoiseOfSamples(t *testing.T) {
	const n, w = 20_000, 0.1
	p := &Process{Set: zoo.Euclidean{D: 1}, Method: ULLA, Friction: math.Sqrt(13), Split: true,
		Schedule: Schedule{N: 50, T: 1, SigmaMin: 0.165, SigmaMax: 3.3}}
	score := learned(p, w*w)
	pool := testkit.Pool(t, 2)
	x, sum := make([]float64, n), 0.0
	testkit.Must(NewSimulator(p, pool, 500).Backward(t.Context(), x, make([]bool, n), 0, 1,
		normal(math.Sqrt(score.end)), func(int) Score { return score }))
	for _, v := range x {
		sum += v * v / n
	}
	if got, want := sum, spread(t, p, score.end, score); math.Abs(got/want-1) > 0.05 {
		t.Errorf("the variance of samples is %.3g, want %.3g", got, want)
	}
}

// normal is the law N(0, σ²) on the line.
type normal float64

func (σ normal) Sample(dst []float64, s keyed.Stream, sample uint64) {
	s.Normals(dst, sample, 0)
	dst[0] *= float64(σ)
}

// Noise is split where its formula holds: with a momentum, in the reference convention.
func TestSplitRefusals(t *testing.T) {
	for _, c := range []struct {
		m    Method
		c    Convention
		able bool
	}{{ULLA, Reference, true}, {ULLAP, Reference, true}, {ULLA, Paper, false}, {OLLA, Reference, false}} {
		p := process(zoo.Sphere{D: 3}, c.m)
		p.Convention, p.Split = c.c, true
		var e *ConfigError
		if err := p.Validate(); (err == nil) != c.able || err != nil && (!errors.As(err, &e) || e.Field != "Split") {
			t.Errorf("%v, %v: %v", c.m, c.c, err)
		}
	}
}

// A step's noise has the covariance that split.go says: of a score c p̃, with J = a + τc, τ²(h²J² + g²),
// in all directions along Σ and in no other.
func TestSplitStep(t *testing.T) {
	const c, k = -0.7, 3
	p := process(zoo.Sphere{D: 3}, ULLA)
	p.Split = true
	s := p.NewStepper(1)
	score := scoreFunc(func(dst, _, q []float64, _ float64) {
		for j, v := range q {
			dst[j] = c * v
		}
	})
	x, next := []float64{0, 0, 1}, []float64{0.1, 0, 1}
	step := func(ζ, η [3]float64) []float64 {
		y := make([]float64, 3)
		noise := append(ζ[:], η[:]...)
		testkit.OK(t, s.start(x, 1))
		s.ullaBackward(x, next, noise, 1, k, score)
		copy(y, s.move)
		return y
	}
	still := step([3]float64{}, [3]float64{})
	τ := p.BackTau(k)
	h, g := p.splitNoise(k)
	J := p.Decay(τ) + τ*c
	for j := range 3 {
		var e [3]float64
		e[j] = 1
		late, early := step(e, [3]float64{}), step([3]float64{}, e)
		for i := range 3 {
			wantLate, wantEarly := 0.0, 0.0
			if i == j && j < 2 {
				wantLate, wantEarly = -τ*g, -τ*h*J
			}
			if a, b := late[i]-still[i], early[i]-still[i]; math.Abs(a-wantLate) > 1e-14 ||
				math.Abs(b-wantEarly) > 1e-14 {
				t.Errorf("coordinate %d of noise %d: %v and %v, want %v and %v", i, j, a, b, wantLate, wantEarly)
			}
		}
	}
	if a := p.Decay(p.Schedule.Tau(k + 1)); h < mostEarly && math.Abs(a*a*h*h-g*g) > 1e-14 ||
		math.Abs(a*a*h*h+g*g-(1-a*a)) > 1e-14 {
		t.Errorf("h = %v and g = %v do not halve the noise", h, g)
	}
}
