package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// The values of md_ops.npz, with its ridge.
func TestGoldenAlanineOps(t *testing.T) {
	g := golden.Read(t, "md_ops.npz")
	f := func(name string) []float64 { return g[name].AsFloat64() }
	const n, α, τ, ε = 6, 50.0, 2 * 0.002, 0.05
	split := func(v []float64, width, part int) (out []float64) {
		for i := range n {
			out = append(out, v[(2*i+part)*width:(2*i+part+1)*width]...)
		}
		return out
	}
	set := reference.Alanine
	for _, where := range []string{"on", "off"} {
		x := f("x_" + where)
		b := reference.NewRidge(set, 1e-6, ε)(n)
		testkit.OK(t, b.At(x, n))
		v, jac := make([]float64, 2*n), make([]float64, 60*n)
		set.NewEvaluator(n).Jacobians(v, jac, x, n)
		golden.Near(t, "h", split(v, 1, 0), f("h_"+where))
		golden.Near(t, "g", split(v, 1, 1), f("g_"+where))
		golden.Near(t, "∇h", split(jac, 30, 0), f("jac_h_"+where))
		golden.Near(t, "∇g", split(jac, 30, 1), f("jac_g_"+where))
		for i, a := range g["active_"+where].AsFloat64() {
			if active := i%2 == 0 || v[i] >= 0; active != (a != 0) {
				t.Errorf("component %d of point %d: active is %v", i%2, i/2, active)
			}
		}
		tangent, landing := make([]float64, 30*n), make([]float64, 30*n)
		b.Tangent(tangent, f("y"))
		golden.Near(t, "Πy", tangent, f("tangent_"+where))
		b.Landing(landing)
		explicit, implicit := make([]float64, 30*n), make([]float64, 30*n)
		for i, x := range x {
			explicit[i] = x + 0.1*tangent[i] - α*τ*landing[i]
			implicit[i] = x - landing[i]
		}
		golden.Near(t, "explicit landing", explicit, f("explicit_"+where))
		golden.Near(t, "implicit landing", implicit, f("implicit_"+where))
	}
	for _, c := range []struct{ base, move, want string }{{"x_on", "newton_v", "newton_step_tight"},
		{"x_off", "", "newton_zero_tight"}} {
		y := append([]float64(nil), f(c.base)...)
		if c.move != "" {
			for i, v := range f(c.move) {
				y[i] += v
			}
		}
		projected := append([]float64(nil), y...)
		referenceProjection(t, projected)
		golden.Near(t, c.want, projected, f(c.want))
		// Ours moves along the normals at the base point: the same to second order, and on Σ.
		b, ok := geometry.New(set, n, ε), make([]bool, n)
		testkit.OK(t, b.At(f(c.base), n))
		ours, v := make([]float64, len(y)), make([]float64, 2*n)
		geometry.NewProjection(set, n).Project(b, ours, y, ok, 0)
		set.Values(v, ours, n)
		for i := range n {
			step, apart := 0.0, 0.0
			for j := 30 * i; j < 30*i+30; j++ {
				step += math.Pow(y[j]-f(c.base)[j], 2) + math.Pow(ours[j]-y[j], 2)
				apart += math.Pow(ours[j]-projected[j], 2)
			}
			if !ok[i] || math.Abs(v[2*i]) > 1e-13 || v[2*i+1] > 1e-13 || math.Sqrt(apart) > 5*step {
				t.Errorf("%s: point %d: ok %v, h and g %v, %.3g from the reference's after a step of %.3g", c.want, i,
					ok[i], v[2*i:2*i+2], math.Sqrt(apart), math.Sqrt(step))
			}
		}
	}
}

// referenceProjection is the reference's projection for this set, in place. It repeats implicit landing with g instead
// of g + ε, on the active components.
func referenceProjection(t *testing.T, x []float64) {
	t.Helper()
	n := len(x) / 30
	b, v := reference.NewRidge(reference.Alanine, 1e-6, 0)(1), make([]float64, 30)
	for i := range n {
		xi := x[30*i : 30*i+30]
		for range 50 {
			testkit.OK(t, b.At(xi, 1))
			if c := b.Values(); math.Abs(c[0]) < 1e-12 && c[1] < 1e-12 {
				break
			}
			b.Landing(v)
			for j := range xi {
				xi[j] -= v[j]
			}
		}
	}
}

// Three-step trajectories of all samplers on alanine, on the set as the reference writes
// it and as package conformation does. Projections are the reference's own.
func TestGoldenAlanineTrajectories(t *testing.T) {
	const degree = math.Pi / 180
	dihedral := func(low, high float64, atoms ...int) conformation.Condition {
		return conformation.Condition{Low: low * degree, High: high * degree,
			Coordinate: conformation.Coordinate{Kind: conformation.Dihedral, Atoms: atoms}}
	}
	ours := testkit.Must(conformation.New(conformation.Spec{Molecule: molecule.Anonymous(10), Max: true,
		Conditions: []conformation.Condition{dihedral(-70, -70, 1, 3, 4, 6), dihedral(130, 170, 3, 4, 6, 8)}}))
	for name, set := range map[string]constraint.Set{"reference": reference.Alanine, "conformation": ours} {
		for _, c := range goldenCases("md") {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				replayLanding(t, c, &Process{
					Set: set, Method: c.method, Friction: 10, Repulsion: 0.05,
					Walls:       PaperWalls,
					NewGeometry: reference.NewRidge(set, 1e-6, 0.05),
					Schedule:    Schedule{N: 3, T: 0.006, SigmaMin: 0.5, SigmaMax: 2},
					Landing:     Landing{Explicit: !c.implicit, Rate: 50},
				}, func(x, _ []float64) float64 {
					referenceProjection(t, x)
					return 0
				})
			})
		}
	}
}

// replayLanding compares the three steps of p, forward and backward, with the
// golden ones. project stands for the reference's projection, in place, of a step from
// base; of the last state that is the state. It returns what it magnified round-off to.
func replayLanding(t *testing.T, c goldenCase, p *Process, project func(x, base []float64) float64) {
	t.Helper()
	g := golden.Read(t, c.file)
	f := func(name string) []float64 { return g[name].AsFloat64() }
	testkit.OK(t, p.Validate())
	d := p.Set.Dim()
	n := len(f("x_init")) / d
	s, net := p.NewStepper(n), goldenNet(t, g)
	row := func(name string, k int) []float64 { return f(name)[k*d*n : (k+1)*d*n] }
	for _, direction := range []string{"fwd", "bwd"} {
		x, prev, grown := f("x_init"), append([]float64(nil), f("x_init")...), 0.0
		if p.Method.Underdamped() { // with a ridge Π² ≠ Π, so Π is left to the step
			c := -p.Schedule.Tau(0)
			if direction == "bwd" {
				c = p.MomentumTau(2)
			}
			for i, v := range f("noise_v0") {
				prev[i] += c * v
			}
		}
		for j := range 3 {
			var err error
			y, failed := make([]float64, d*n), make([]bool, n)
			if direction == "fwd" {
				_, err = s.Forward(y, x, prev, row("noise_z", j), failed, n, j)
			} else {
				_, err = s.Backward(y, x, prev, row("noise_z", j), failed, n, 2-j, net)
			}
			testkit.OK(t, err)
			if p.Method.Projected() { // back to the proposal
				for i, v := range s.move {
					y[i] = x[i] + v
				}
			}
			if j == 2 || p.Method.Projected() {
				base := x
				if !p.Method.Projected() {
					base = append([]float64(nil), y...)
				}
				grown = project(y, base)
			}
			hist := c.name + "_" + direction + "_hist"
			nearly(t, hist, y, row(hist, j+1), golden.Tolerance+grown)
			if grown > 0 { // the next step shall not grow it further
				copy(y, row(hist, j+1))
			}
			prev, x = x, y
		}
	}
}

// nearly is golden.Near with a tolerance.
func nearly(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tolerance) {
			t.Fatalf("%s: element %d is %.15g, want %.15g ± %.2g", what, i, v, want[i], tolerance)
		}
	}
}
