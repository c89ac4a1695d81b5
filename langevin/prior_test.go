package langevin

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The empirical prior holds the terminal states of the forward paths that did not
// fail, in order; if none is left, it says so.
func TestEmpiricalPrior(t *testing.T) {
	pool := testkit.Pool(t, 2)
	x0 := make([]float64, 0, 3*40)
	for range 40 {
		x0 = append(x0, 0, 0, 1)
	}
	for _, c := range []struct {
		σ     float64
		fails bool
	}{{1, true}, {20, true}, {0.1, false}} {
		p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLAP,
			Schedule: Schedule{N: 4, T: 1, SigmaMin: c.σ, SigmaMax: c.σ}}
		testkit.OK(t, p.Validate())
		sim := NewSimulator(p, pool, 16)
		var paths Paths
		testkit.Must(sim.Forward(context.Background(), &paths, x0, 3, 5))
		var want []float64
		for i := range paths.Count {
			if !paths.Failed[i] {
				want = append(want, paths.At(i, 4)...)
			}
		}
		if (len(want) < len(x0)) != c.fails {
			t.Fatalf("σ = %g: %d of %d paths are good", c.σ, len(want)/3, paths.Count)
		}
		got, err := sim.EmpiricalPrior(context.Background(), x0, 3, 5)
		var none *PriorError
		if errors.As(err, &none) != (len(want) == 0) || err != nil && none == nil || !slices.Equal(got.States, want) {
			t.Errorf("σ = %g: %d states, want %d; %v", c.σ, len(got.States)/3, len(want)/3, err)
		}
	}
}
