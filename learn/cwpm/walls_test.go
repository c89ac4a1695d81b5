package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The loss on paths that bounce off the end of a half line, term by term: where the step
// from x to z bounced, its proposal is −z and the mirror image of x is −x, so the momentum
// that left x is (−z − x)/τ and the backward step from z aims at −x.
func TestLossAtABounce(t *testing.T) {
	half := testkit.Must(zoo.NewBox([]float64{0}, nil))
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.OLLAP, langevin.ULLAP} {
		for _, c := range []langevin.Convention{langevin.Reference, langevin.Paper} {
			p := &langevin.Process{
				Set: half, Method: m, Friction: 2, Convention: c, Potential: langevin.Quadratic{},
				Schedule: langevin.Schedule{N: 6, T: 0.6, SigmaMin: 0.5, SigmaMax: 1.5},
			}
			testkit.OK(t, p.Validate())
			pool := parallel.New(1)
			var paths langevin.Paths
			x0 := make([]float64, 40)
			for i := range x0 {
				x0[i] = 0.02 * float64(i)
			}
			testkit.Must(langevin.NewSimulator(p, pool, 7).Forward(t.Context(), &paths, x0, 3, 0))
			pool.Close()
			l := NewLoss(p, reads[float64](p), 1, Options{})
			bounced, left := 0, 0
			for i := range paths.Count {
				for k := range paths.Steps {
					testkit.Must(l.Prepare(&paths, []Term{{Item: i, K: k, Weight: 0.7}}, noise))
					at := func(k int) float64 { return paths.At(i, k)[0] }
					x, aim, s := at(k+1), at(k), 0.4
					if paths.Folded(i, k+1) {
						aim = -aim
						bounced++
					}
					τ := p.BackTau(k)
					mean, variance := x+τ/2*(x+s), τ
					if m.Underdamped() {
						a, momentum := math.Exp(-2*τ), make([]float64, 1)
						if k+2 > paths.Steps {
							noise(momentum, i)
						} else {
							to := at(k + 2)
							if paths.Folded(i, k+2) {
								to = -to
								left++
							}
							momentum[0] = (to - x) / p.MomentumTau(k)
						}
						mean, variance = x-τ*(a*momentum[0]+τ*(x+s)), τ*τ*(1-a*a)
					}
					want, ds := 0.7*(aim-mean)*(aim-mean)/(2*variance), make([]float64, 1)
					if got := l.Evaluate(ds, []float64{s}); math.Abs(got-want) > 1e-12*(1+want) {
						t.Fatalf("%v %v, path %d, k = %d: loss %v, want %v", m, c, i, k, got, want)
					}
				}
			}
			if bounced < 10 || m.Underdamped() && left < 10 {
				t.Errorf("%v: %d terms bounced, %d left for the wall", m, bounced, left)
			}
		}
	}
}
