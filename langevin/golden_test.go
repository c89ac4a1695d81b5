package langevin

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
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

// The reference's O(10): h = XXᵀ − I, and (V − XVᵀX)/2 for Π.
func referenceO10(t *testing.T) reference.Group {
	t.Helper()
	return testkit.Must(reference.NewGroup(10, zoo.OrthogonalOptions{Special: true}))
}

// A looseNewton projects as the reference does: Newton's method from λ = 0, left as soon as ‖h‖ < tolerance: 1e-6 in
// the steps of OLLA-P and ULLA-P, 1e-5 at the end of OLLA and ULLA. Its points are up to that far from ours, which are
// on Σ to round-off.
type looseNewton struct {
	reference.Group
	tolerance float64
}

func (s looseNewton) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Group.NewEvaluator(rows)
	e.Retract = func(dst, base, v []float64) bool { return s.retract(e, dst, base, v) }
	return e
}

func (s looseNewton) retract(e constraint.Evaluator, dst, base, v []float64) bool {
	const d, m = 100, 55
	h, jac, normal := make([]float64, m), make([]float64, m*d), make([]float64, m*d)
	e.Jacobians(h, normal, base, 1)
	y := make([]float64, d)
	for i := range y {
		y[i] = base[i] + v[i]
	}
	var sys mat.Dense
	var step, λ mat.VecDense
	for range 20 {
		e.Jacobians(h, jac, y, 1)
		if floats.Norm(h, 2) < s.tolerance {
			copy(dst, y)
			return true
		}
		n := mat.NewDense(m, d, normal)
		sys.Mul(mat.NewDense(m, d, jac), n.T())
		if λ.SolveVec(&sys, mat.NewVecDense(m, h)) != nil {
			return false
		}
		step.MulVec(n.T(), &λ)
		floats.Sub(y, step.RawVector().Data)
	}
	return false
}

// Three-step trajectories of all samplers in both directions, with the noise
// and network of the golden files, in the reference convention.
func TestGoldenSO10Trajectories(t *testing.T) {
	for _, c := range goldenCases("so10") {
		set := looseNewton{referenceO10(t), 1e-5}
		if c.method.Projected() {
			set.tolerance = 1e-6
		}
		t.Run(c.name, func(t *testing.T) {
			replay(t, c, &Process{
				Set: set, Method: c.method, Friction: 10,
				Schedule: Schedule{N: 3, T: 0.15, SigmaMin: 0.3, SigmaMax: 0.9, Geometric: true},
				Landing:  Landing{Explicit: !c.implicit, Rate: 15},
			})
		})
	}
}

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
