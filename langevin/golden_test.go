package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// The values of the operations' files: constraint, gradient, projector, both landing modes, projection.
func TestGoldenOps(t *testing.T) {
	for _, of := range []struct {
		file  string
		set   constraint.Set
		ατ    float64
		tight string // names of the projections end so
	}{
		{"sphere_ops.npz", zoo.Sphere{D: 3}, 10 * (0.8 * 0.04), ""},
		{"so10_ops.npz", referenceO10(t), 15 * (0.5 * 0.05), "_tight"},
	} {
		g := golden.Read(t, of.file)
		f := func(name string) []float64 { return g[name].AsFloat64() }
		d := of.set.Dim()
		n := len(f("x_on")) / d
		for _, where := range []string{"on", "off"} {
			x := f("x_" + where)
			b := geometry.New(of.set, n, 0)
			testkit.OK(t, b.At(x, n))
			golden.Near(t, "h", b.Values(), f("h_"+where))
			jac, v := make([]float64, len(b.Values())*d), make([]float64, len(b.Values()))
			of.set.NewEvaluator(n).Jacobians(v, jac, x, n)
			golden.Near(t, "∇h", jac, f("jac_h_"+where))
			reference.Landed(t, f, where, b, x, of.ατ)
		}
		reference.Projected(t, f, of.set, n, "x_on", "newton_v", "newton_step"+of.tight)
		reference.Projected(t, f, of.set, n, "x_off", "", "newton_zero"+of.tight)
	}
}

func goldenNet(t *testing.T, g map[string]arrayfile.Array) Score {
	t.Helper()
	net := testkit.Must(score.FromLayers[float64](g, "net_layer_"))
	return score.NewField(net.Model(score.Reading{}, kernel.Float32), 8)
}

// goldenCase is a sampler in a golden file of trajectories.
type goldenCase struct {
	file, name string
	method     Method
	implicit   bool
}

func goldenCases(set string) []goldenCase {
	return []goldenCase{
		{set + "_over.npz", "OLLA_explicit", OLLA, false},
		{set + "_over.npz", "OLLA_implicit", OLLA, true},
		{set + "_over.npz", "OLLA_P", OLLAP, false},
		{set + "_under.npz", "ULLA_explicit", ULLA, false},
		{set + "_under.npz", "ULLA_implicit", ULLA, true},
		{set + "_under.npz", "ULLA_P", ULLAP, false},
	}
}

// Three-step trajectories of all samplers in both directions, with the noise
// and network of the golden files, in the reference convention.
func TestGoldenSphereTrajectories(t *testing.T) {
	for _, c := range goldenCases("sphere") {
		t.Run(c.name, func(t *testing.T) {
			replay(t, c, &Process{
				Set: zoo.Sphere{D: 3}, Method: c.method, Friction: 5,
				Schedule: Schedule{N: 3, T: 0.12, SigmaMin: 0.5, SigmaMax: 1},
				Landing:  Landing{Explicit: !c.implicit, Rate: 10},
			})
		})
	}
}

// replay compares the three steps of p, forward and backward, with the golden ones.
func replay(t *testing.T, c goldenCase, p *Process) {
	t.Helper()
	g := golden.Read(t, c.file)
	f := func(name string) []float64 { return g[name].AsFloat64() }
	testkit.OK(t, p.Validate())
	d := p.Set.Dim()
	n := len(f("x_init")) / d
	s := p.NewStepper(n)
	failed := make([]bool, n)
	for k, σ := range f("sigma") {
		if math.Abs(p.Schedule.Sigma(k)-σ) > 1e-15 {
			t.Fatalf("σ_%d = %v, want %v", k, p.Schedule.Sigma(k), σ)
		}
	}
	pseudo := func(c float64) []float64 { // x + c p̃ with p̃ = Π noise_v0
		x := f("x_init")
		testkit.OK(t, s.at.At(x, n))
		v := make([]float64, len(x))
		s.at.Tangent(v, f("noise_v0"))
		for i := range v {
			v[i] = x[i] + c*v[i]
		}
		return v
	}
	row := func(name string, k int) []float64 { return f(name)[k*d*n : (k+1)*d*n] }
	follow := func(direction string, prev []float64, step func(dst, x, prev []float64, j int) error) {
		hist := c.name + "_" + direction + "_hist"
		x, next := append([]float64(nil), f("x_init")...), make([]float64, d*n)
		for j := range 3 {
			testkit.OK(t, step(next, x, prev, j))
			if j == 2 && !p.Method.Projected() {
				testkit.Must(s.Terminal(next, failed, n))
			}
			golden.Near(t, hist, next, row(hist, j+1))
			prev, x, next = x, next, make([]float64, d*n)
		}
	}
	follow("fwd", pseudo(-p.Schedule.Tau(0)), func(dst, x, prev []float64, j int) error {
		_, err := s.Forward(dst, x, prev, row("noise_z", j), failed, n, j)
		return err
	})
	net := goldenNet(t, g)
	follow("bwd", pseudo(p.MomentumTau(2)), func(dst, x, next []float64, j int) error {
		_, err := s.Backward(dst, x, next, row("noise_z", j), failed, n, 2-j, net)
		return err
	})
	for i, bad := range failed {
		if bad {
			t.Errorf("row %d failed", i)
		}
	}
}
