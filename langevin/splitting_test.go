package langevin

import (
	"math"
	"testing"

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

// The share of flights that turn back: on [0, 1] a flight of length h meets a wall with probability E|hp| = h√(2/π),
// and a step τ has two flights of τ/2. About 0.0399 of the 400 000 flights turn. Even if each counted ten times, the
// bound is six standard deviations.
func TestTurnedShare(t *testing.T) {
	set := testkit.Must(zoo.NewBox([]float64{0}, []float64{1}))
	p := &Process{Set: set, Method: ULLAP, Friction: 50, Schedule: Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1}}
	x0 := make([]float64, 100)
	for i := range x0 {
		x0[i] = (float64(i) + 0.5) / 100
	}
	draws := chains(t, Chains{Process: p, Symmetric: true, Count: 100, Keep: 2000, Seed: 1}, x0)
	if want := 0.05 * math.Sqrt(2/math.Pi); math.Abs(draws.Turned-want) > 0.006 {
		t.Errorf("%v of the flights turned back, want %v", draws.Turned, want)
	}
}
