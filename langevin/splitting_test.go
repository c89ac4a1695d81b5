package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
)

// A flight of the splitting that would end beyond a wall stays where it is, and only
// the part of its momentum across that wall turns round: at each of the six walls of a
// box, so that the gradient is that of the wall that was met. To round-off, for any wall.
func TestFlightTurnsAtEachWall(t *testing.T) {
	box, err := zoo.NewBox([]float64{-1, -1, -1}, []float64{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Set: box, Method: ULLAP, Friction: 1, Schedule: Schedule{N: 1, T: 0.2, SigmaMin: 1, SigmaMax: 1}}
	for wall := range 6 {
		j, side := wall/2, float64(2*(wall%2)-1)
		x, momentum := []float64{0.1, -0.2, 0.3}, []float64{0.5, 0.7, -0.4}
		x[j], momentum[j] = 0.95*side, 0.9*side
		s := newSplitting(p, 1)
		at, q := append([]float64(nil), x...), append([]float64(nil), momentum...)
		if err := s.set.At(at, 1); err != nil {
			t.Fatal(err)
		}
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
