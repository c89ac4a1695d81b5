package langevin

import (
	"testing"

	"github.com/landing-diffusion/landing/internal/testkit/golden"
	"github.com/landing-diffusion/landing/internal/testkit/reference"
)

// The values of robot10_ops.npz: the ridge is what keeps the
// vanishing gradients from being an error, at the price that Π is no projector.
func TestGoldenArmOps(t *testing.T) {
	g := golden.Read(t, "robot10_ops.npz")
	f := func(name string) []float64 { return g[name].AsFloat64() }
	const n, d, α, τ, ε = 6, 140, 200.0, 0.002, 0.001
	for _, where := range []string{"on", "off"} {
		x := f("x_" + where)
		b := reference.NewRidge(reference.SummedArm{}, 1e-6, ε)(n)
		if err := b.At(x, n); err != nil {
			t.Fatal(err)
		}
		jac := make([]float64, 2*d*n)
		reference.SummedArm{}.Jacobians(make([]float64, 2*n), jac, x, n)
		for i := range n {
			golden.Near(t, "h", b.Values()[2*i:2*i+1], f("h_" + where)[i:i+1])
			golden.Near(t, "g", b.Values()[2*i+1:2*i+2], f("g_" + where)[i:i+1])
			golden.Near(t, "∇h", jac[2*i*d:(2*i+1)*d], f("jac_h_" + where)[i*d:(i+1)*d])
			golden.Near(t, "∇g", jac[(2*i+1)*d:(2*i+2)*d], f("jac_g_" + where)[i*d:(i+1)*d])
			if b.Active(i) != 2 {
				t.Errorf("point %d has %d active components", i, b.Active(i))
			}
		}
		tangent, landing := make([]float64, d*n), make([]float64, d*n)
		b.Tangent(tangent, f("y"))
		golden.Near(t, "Πy", tangent, f("tangent_"+where))
		b.Landing(landing)
		explicit, implicit := make([]float64, d*n), make([]float64, d*n)
		for i, x := range x {
			explicit[i] = x + 0.1*tangent[i] - α*τ*landing[i]
			implicit[i] = x - landing[i]
		}
		golden.Near(t, "explicit landing", explicit, f("explicit_"+where))
		golden.Near(t, "implicit landing", implicit, f("implicit_"+where))
	}
}

// Trajectories of OLLA and ULLA up to their projections, whose result on such a
// set depends on when the reference gives up.
func TestGoldenArmTrajectories(t *testing.T) {
	for _, c := range goldenCases("robot10") {
		if c.method.Projected() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			replayLanding(t, c, &Process{
				Set: reference.SummedArm{}, Method: c.method, Friction: 1, Repulsion: 0.001,
				Walls:       PaperWalls,
				NewGeometry: reference.NewRidge(reference.SummedArm{}, 1e-6, 0.001),
				Schedule:    Schedule{N: 3, T: 0.006, SigmaMin: 0.1, SigmaMax: 2},
				Landing:     Landing{Explicit: !c.implicit, Rate: 200},
			}, nil)
		})
	}
}
