package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
