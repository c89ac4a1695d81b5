package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// The values of robot10_ops.npz, but for newton_*_asis_cache, which hold a fault of the
// reference, geometry answered from that of other points: the ridge is what keeps the
// vanishing gradients from being an error, at the price that Π is no projector.
func TestGoldenArmOps(t *testing.T) {
	g := golden.Read(t, "robot10_ops.npz")
	f := func(name string) []float64 { return g[name].AsFloat64() }
	const n, d, α, τ, ε = 6, 140, 200.0, 0.002, 0.001
	set := summedArm()
	for _, where := range []string{"on", "off"} {
		x := f("x_" + where)
		b := reference.NewRidge(set, 1e-6, ε)(n)
		testkit.OK(t, b.At(x, n))
		v, jac := make([]float64, 2*n), make([]float64, 2*d*n)
		set.NewEvaluator(n).Jacobians(v, jac, x, n)
		for i := range n {
			golden.Near(t, "h", v[2*i:2*i+1], f("h_" + where)[i:i+1])
			golden.Near(t, "g", v[2*i+1:2*i+2], f("g_" + where)[i:i+1])
			golden.Near(t, "∇h", jac[2*i*d:(2*i+1)*d], f("jac_h_" + where)[i*d:(i+1)*d])
			golden.Near(t, "∇g", jac[(2*i+1)*d:(2*i+2)*d], f("jac_g_" + where)[i*d:(i+1)*d])
			testkit.Equal(t, b.Active(i), 2, "point %d", i)
		}
		reference.Landed(t, f, where, b, x, α*τ)
	}
	for _, c := range []struct{ base, move, want string }{{"x_on", "newton_v", "newton_step"},
		{"x_off", "", "newton_zero"}} {
		y := reference.Moved(f, c.base, c.move)
		ok, grown := summedProjection(t, set, y, f(c.base))
		nearly(t, c.want, y, f(c.want), golden.Tolerance+grown)
		for i, v := range f(c.want + "_ok") {
			if ok[i] != (v != 0) {
				t.Errorf("%s: point %d arrives: %v, want %v", c.want, i, ok[i], v != 0)
			}
		}
	}
}

// The reference's projection of a block onto its sums stops after stepsOfSums, or when at
// all rows h and g were below enough before a step; a row with more than tolerable then goes
// back. That is far from round-off: on squares each step at best halves the distance.
const (
	stepsOfSums = 30
	enough      = 1e-6
	tolerable   = 1e-5
)

// summedProjection is the reference's projection on its sums, in place, of steps from base: implicit landing with g
// instead of g + ε. It reports which rows arrive, and the growth of round-off: the gradients shrink during the
// iteration, so that round-off grows from step to step.
func summedProjection(t *testing.T, set constraint.Set, x, base []float64) (ok []bool, grown float64) {
	t.Helper()
	noise, start := make([]float64, len(x)), append([]float64(nil), x...)
	ok = projectSums(t, set, x, base)
	for probe := range uint64(8) {
		keyed.New(1, keyed.Probe, 2).Normals(noise, probe, 0)
		y := append([]float64(nil), start...)
		for j := range y {
			y[j] += 1e-15 * noise[j]
		}
		projectSums(t, set, y, base)
		for j, v := range y {
			grown = max(grown, 5*math.Abs(v-x[j]))
		}
	}
	if grown > 1e-6 {
		t.Fatalf("round-off grows to %.3g", grown)
	}
	return ok, grown
}

func projectSums(t *testing.T, set constraint.Set, x, base []float64) (ok []bool) {
	t.Helper()
	d := set.Dim()
	n := len(x) / d
	b, v := reference.NewRidge(set, 1e-6, 0)(n), make([]float64, len(x))
	at := func(limit float64) (all bool) {
		testkit.OK(t, b.At(x, n))
		ok, all = ok[:0], true
		for c := b.Values(); len(c) > 0; c = c[2:] {
			ok = append(ok, c[0] <= limit && c[1] <= limit)
			all = all && ok[len(ok)-1]
		}
		return all
	}
	for done, k := false, 0; k < stepsOfSums && !done; k++ {
		done = at(enough)
		b.Landing(v)
		for j := range x {
			x[j] -= v[j]
		}
	}
	at(tolerable)
	for i, arrived := range ok {
		if !arrived {
			copy(x[i*d:(i+1)*d], base[i*d:(i+1)*d])
		}
	}
	return ok
}

// Three-step trajectories of all samplers. Projections are the reference's own.
func TestGoldenArmTrajectories(t *testing.T) {
	set := summedArm()
	for _, c := range goldenCases("robot10") {
		t.Run(c.name, func(t *testing.T) {
			replayLanding(t, c, &Process{
				Set: set, Method: c.method, Friction: 1, Repulsion: 0.001,
				Walls:       PaperWalls,
				NewGeometry: reference.NewRidge(set, 1e-6, 0.001),
				Schedule:    Schedule{N: 3, T: 0.006, SigmaMin: 0.1, SigmaMax: 2},
				Landing:     Landing{Explicit: !c.implicit, Rate: 200},
			}, func(x, base []float64) float64 {
				_, grown := summedProjection(t, set, x, base)
				return grown
			})
		})
	}
}
