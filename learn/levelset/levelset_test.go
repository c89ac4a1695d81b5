package levelset

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// bumpy returns a network near ‖x‖ − 1 whose layers have odd widths: each unit
// of the first looks in a direction of its own.
func bumpy(seed uint64) *Network {
	n := &Network{score.NewMLP[float64]([]int{3, 37, 21, 1}, seed), 3}
	st := keyed.New(seed, keyed.Probe, 7)
	st.Normals(n.Weight(0), 0, 0)
	w, u := n.Weight(2), make([]float64, 21)
	st.Uniforms(u, 1, 0)
	for i := range w {
		w[i] = 0.05 + 0.1*u[i]
	}
	w1 := n.Weight(1)
	for i := range w1 {
		w1[i] = math.Abs(w1[i])
	}
	copy(n.Bias(0), make([]float64, 37))
	// The bias that puts the surface through (1, 0, 0).
	h := make([]float64, 1)
	New(n).Values(h, []float64{1, 0, 0}, 1)
	n.Bias(2)[0] -= h[0]
	return n
}

func TestSuite(t *testing.T) { constrainttest.Run(t, New(bumpy(1)), constrainttest.Options{}) }

// The gradients that fitting needs: those of c·h + v·∇h in every parameter agree with central differences.
func TestParameterGradient(t *testing.T) {
	n := bumpy(2)
	x, v, c := make([]float64, 15), make([]float64, 15), []float64{0.3, -1, 0, 2, 0.7}
	keyed.New(1, keyed.Probe, 8).Normals(x, 0, 0)
	keyed.New(1, keyed.Probe, 8).Normals(v, 1, 0)
	objective := func() (sum float64) {
		h, g := make([]float64, 5), make([]float64, 15)
		New(n).Jacobians(h, g, x, 5)
		for i := range h {
			sum += c[i] * h[i]
			for j := range 3 {
				sum += v[3*i+j] * g[3*i+j]
			}
		}
		return sum
	}
	p := n.Pack()
	q := p.NewPass(8)
	q.Value(x, 5)
	q.Gradient()
	q.Direct(v)
	q.Tangent()
	q.Adjoint(c)
	g := p.NewGradient(8)
	g.Add(q, c)
	got := make([]float64, len(n.Params))
	g.Sum(got)
	for i := range n.Params {
		const step = 1e-5
		was := n.Params[i]
		n.Params[i] = was + step
		up := objective()
		n.Params[i] = was - step
		down := objective()
		n.Params[i] = was
		if want := (up - down) / (2 * step); math.Abs(got[i]-want) > 1e-8*(1+math.Abs(want)) {
			t.Fatalf("parameter %d: gradient %v, by differences %v", i, got[i], want)
		}
	}
}

// A sum of gradients that is used again, for fewer points than its passes have room for, sees these alone.
func TestGradientForgets(t *testing.T) {
	n := bumpy(2)
	x, v, c := make([]float64, 24), make([]float64, 24), []float64{0.3, -1, 0, 2, 0.7, 1, 1, -2}
	keyed.New(1, keyed.Probe, 8).Normals(x, 0, 0)
	keyed.New(1, keyed.Probe, 8).Normals(v, 1, 0)
	p := n.Pack()
	add := func(g *Gradient, q *Pass, n int) []float64 {
		q.Value(x, n)
		q.Gradient()
		q.Direct(v)
		q.Tangent()
		q.Adjoint(c)
		g.Add(q, c)
		sum := make([]float64, len(p.net.Params))
		g.Sum(sum)
		return sum
	}
	g, q := p.NewGradient(8), p.NewPass(8)
	add(g, q, 8)
	g.Clear()
	got := add(g, q, 5)
	for i, want := range add(p.NewGradient(5), p.NewPass(5), 5) {
		if math.Abs(got[i]-want) > 1e-13*(1+math.Abs(want)) {
			t.Fatalf("parameter %d: %v after another sum, %v at first", i, got[i], want)
		}
	}
}

// A refiner bounds the way it moves a point in all: ln(1 + eˣ) falls to e⁻⁶ in
// steps of 1.4 and less, six and more in all.
func TestRefinerBoundsTheWholeWay(t *testing.T) {
	n := &Network{score.NewMLP[float64]([]int{1, 1, 1}, 1), 1}
	n.Weight(0)[0], n.Bias(0)[0], n.Weight(1)[0], n.Bias(1)[0] = 1, 0, 1, -math.Exp(-6)
	set, x := New(n), []float64{0}
	if arrives(newRefiner(set, 2), x) || x[0] != 0 {
		t.Errorf("a refiner of 2 moved 0 to %v", x[0])
	}
	if want := math.Log(math.Expm1(math.Exp(-6))); !arrives(newRefiner(set, 7), x) || math.Abs(x[0]-want) > 1e-9 {
		t.Errorf("a refiner of 7 moved 0 to %v, want %v", x[0], want)
	}
}

func bunny(t testing.TB) *Set {
	n := testkit.Must(ReadNetwork(testkit.Shared(t, "data/mesh/bunny_sdf.npz")))
	return New(n)
}

// The values of sdf_bunny_ops.npz.
func TestGoldenOps(t *testing.T) {
	g := golden.Read(t, "sdf_bunny_ops.npz")
	f := func(name string) []float64 { return g[name].AsFloat64() }
	set := bunny(t)
	n := len(f("x_on")) / 3
	const ατ = 25 * 0.15 * 0.1
	for _, where := range []string{"on", "off"} {
		b := geometry.New(set, n, 0)
		testkit.OK(t, b.At(f("x_"+where), n))
		golden.Near(t, "h", b.Values(), f("h_"+where))
		jac, v := make([]float64, 3*n), make([]float64, n)
		set.Jacobians(v, jac, f("x_"+where), n)
		golden.Near(t, "∇h", jac, f("jac_h_"+where))
		reference.Landed(t, f, where, b, f("x_"+where), ατ)
	}
	for _, c := range []struct{ base, move, want string }{{"x_on", "newton_v", "newton_step_tight"},
		{"x_off", "", "newton_zero_tight"}} {
		ok := reference.Projected(t, f, set, n, c.base, c.move, c.want)
		for i, want := range f(c.want + "_ok") {
			if ok[i] != (want != 0) {
				t.Errorf("%s: row %d converged is %v, want %v", c.want, i, ok[i], want != 0)
			}
		}
	}
}

// loosely is the Newton iteration of Block.Project, stopped as the reference stops it: at |h| < 1e-4, or one step later
// where most rows of its batch are not yet there. It returns both states, or nothing if ten steps are too few.
func loosely(set *Set, base, y []float64) (states [][]float64) {
	h, n, g := make([]float64, 1), make([]float64, 3), make([]float64, 3)
	set.Jacobians(h, n, base, 1)
	z := append([]float64(nil), y...)
	for μ, k := 0.0, 0; k <= 10 && len(states) < 2; k++ {
		set.Jacobians(h, g, z, 1)
		if math.Abs(h[0]) < 1e-4 {
			states = append(states, append([]float64(nil), z...))
		}
		μ += h[0] / (g[0]*n[0] + g[1]*n[1] + g[2]*n[2])
		for j := range z {
			z[j] = y[j] - μ*n[j]
		}
	}
	return states
}

// Three-step trajectories of all samplers in both directions with the noise and the score network of the golden files,
// in the reference convention. Steps start from the golden states. States that the reference has projected are compared
// with the same iteration, stopped as early.
func TestGoldenTrajectories(t *testing.T) {
	set := bunny(t)
	for _, c := range []struct {
		file, name string
		method     langevin.Method
		implicit   bool
	}{
		{"over", "OLLA_explicit", langevin.OLLA, false},
		{"over", "OLLA_implicit", langevin.OLLA, true},
		{"over", "OLLA_P", langevin.OLLAP, false},
		{"under", "ULLA_explicit", langevin.ULLA, false},
		{"under", "ULLA_implicit", langevin.ULLA, true},
		{"under", "ULLA_P", langevin.ULLAP, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := golden.Read(t, "sdf_bunny_"+c.file+".npz")
			f := func(name string) []float64 { return g[name].AsFloat64() }
			p := &langevin.Process{
				Set: set, Method: c.method, Friction: 20,
				Schedule: langevin.Schedule{N: 3, T: f("timesteps")[3], SigmaMin: 0.2, SigmaMax: 0.6},
				Landing:  langevin.Landing{Explicit: !c.implicit, Rate: 25},
			}
			projected := p.Method.Projected()
			if projected {
				p.Set = flat{set}
				p.Method, p.Landing.Explicit = map[langevin.Method]langevin.Method{langevin.OLLAP: langevin.OLLA,
					langevin.ULLAP: langevin.ULLA}[p.Method], true
			}
			testkit.OK(t, p.Validate())
			n := len(f("x_init")) / 3
			s := p.NewStepper(n)
			failed := make([]bool, n)
			pseudo := func(c float64) []float64 { // x + c p̃ with p̃ = Π noise_v0
				x := f("x_init")
				v := make([]float64, len(x))
				if p.Method.Underdamped() {
					b := geometry.New(set, n, 0)
					testkit.OK(t, b.At(x, n))
					b.Tangent(v, f("noise_v0"))
				}
				for i := range v {
					v[i] = x[i] + c*v[i]
				}
				return v
			}
			row := func(name string, k int) []float64 { return f(name)[k*3*n : (k+1)*3*n] }
			follow := func(direction string, prev []float64, step func(dst, x, prev []float64, j int) error) {
				hist, lost := c.name+"_"+direction+"_hist", make([]bool, n)
				for j := range 3 {
					x, next := row(hist, j), make([]float64, 3*n)
					testkit.OK(t, step(next, x, prev, j))
					for i := range n {
						r, want := next[3*i:3*i+3], row(hist, j+1)[3*i:3*i+3]
						var states [][]float64
						switch {
						case projected:
							states = loosely(set, x[3*i:3*i+3], r)
						case j == 2: // the terminal projection
							states = loosely(set, r, r)
						default:
							continue
						}
						if states == nil {
							lost[i] = true
							copy(r, x[3*i:3*i+3])
							continue
						}
						copy(r, states[0])
						if math.Abs(r[0]-want[0]) > golden.Tolerance {
							copy(r, states[1])
						}
					}
					golden.Near(t, fmt.Sprintf("%s, state %d", hist, j+1), next, row(hist, j+1))
					prev = x
				}
				for i, ok := range f(c.name + "_" + direction + "_ok") {
					if lost[i] == (ok != 0) {
						t.Errorf("%s: row %d is lost: %v; kept by the reference: %v", direction, i, lost[i], ok)
					}
				}
			}
			follow("fwd", pseudo(-p.Schedule.Tau(0)), func(dst, x, prev []float64, j int) error {
				_, err := s.Forward(dst, x, prev, row("noise_z", j), failed, n, j)
				return err
			})
			net := testkit.Must(score.FromLayers[float64](g, "net_layer_"))
			follow("bwd", pseudo(p.MomentumTau(2)), func(dst, x, next []float64, j int) error {
				_, err := s.Backward(dst, x, next, row("noise_z", j), failed, n, 2-j,
					score.NewField(net.Model(score.Reading{}, kernel.Float32), 8))
				return err
			})
		})
	}
}

// Steps of OLLA-P and ULLA-P themselves, from the golden states, against the golden ones:
// both lie on the line through the proposal along the normal at the start, so they differ
// along it alone, by what the reference leaves at |h| < 1e-4. Ours are on Σ.
func TestGoldenProjectedSteps(t *testing.T) {
	set := bunny(t)
	for file, m := range map[string]langevin.Method{"over": langevin.OLLAP, "under": langevin.ULLAP} {
		g := golden.Read(t, "sdf_bunny_"+file+".npz")
		f := func(name string) []float64 { return g[name].AsFloat64() }
		name := map[langevin.Method]string{langevin.OLLAP: "OLLA_P_", langevin.ULLAP: "ULLA_P_"}[m]
		p := &langevin.Process{
			Set: set, Method: m, Friction: 20,
			Schedule: langevin.Schedule{N: 3, T: f("timesteps")[3], SigmaMin: 0.2, SigmaMax: 0.6},
		}
		testkit.OK(t, p.Validate())
		net, err := score.FromLayers[float64](g, "net_layer_")
		testkit.OK(t, err)
		field := score.NewField(net.Model(score.Reading{}, kernel.Float32), 8)
		n := len(f("x_init")) / 3
		s, compared := p.NewStepper(n), 0
		for _, direction := range []string{"fwd", "bwd"} {
			row := func(k int) []float64 { return f(name + direction + "_hist")[k*3*n : (k+1)*3*n] }
			for j := 1; j < 3; j++ { // the step before tells the momentum
				got, failed := make([]float64, 3*n), make([]bool, n)
				ζ := f("noise_z")[j*3*n : (j+1)*3*n]
				if direction == "fwd" {
					_, err = s.Forward(got, row(j), row(j-1), ζ, failed, n, j)
				} else {
					_, err = s.Backward(got, row(j), row(j-1), ζ, failed, n, 2-j, field)
				}
				testkit.OK(t, err)
				h, normal := make([]float64, n), make([]float64, 3*n)
				set.Jacobians(h, normal, row(j), n)
				set.Values(h, got, n)
				for i, ok := range f(name + direction + "_ok") {
					if ok == 0 || failed[i] {
						continue
					}
					d, along, size := [3]float64{}, 0.0, 0.0
					for e := range d {
						d[e] = got[3*i+e] - row(j + 1)[3*i+e]
						along += d[e] * normal[3*i+e]
						size += normal[3*i+e] * normal[3*i+e]
					}
					aside := 0.0
					for e := range d {
						aside = max(aside, math.Abs(d[e]-along/size*normal[3*i+e]))
					}
					if compared++; aside > golden.Tolerance || math.Abs(along) > 3e-4*size || math.Abs(h[i]) > 1e-12 {
						t.Errorf("%v, %s, state %d of row %d: %.3g aside, %.3g along the normal, h = %.3g",
							m, direction, j+1, i, aside, along/math.Sqrt(size), h[i])
					}
				}
			}
		}
		if compared < 2*n {
			t.Errorf("%v: %d states compared", m, compared)
		}
	}
}

// flat has the gradients of a set and values of zero, so that landing does nothing and a step is its tangential part.
type flat struct{ *Set }

func (f flat) NewEvaluator(rows int) constraint.Evaluator {
	e := f.Set.NewEvaluator(rows)
	jacobians := e.Jacobians
	e.Jacobians = func(values, jac, x []float64, n int) {
		jacobians(values, jac, x, n)
		clear(values[:n])
	}
	return e
}

// What is written reads back; files that are no network say why.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	n := bumpy(3)
	n.Round()
	var b bytes.Buffer
	testkit.OK(t, n.Write(&b))
	path := filepath.Join(dir, "net.npz")
	testkit.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
	back := testkit.Must(ReadNetwork(path))
	if back.Beta != n.Beta || len(back.Params) != len(n.Params) {
		t.Fatalf("read back β = %v, %d parameters", back.Beta, len(back.Params))
	}
	for i, v := range n.Params {
		if back.Params[i] != v {
			t.Fatalf("parameter %d is %v, was %v", i, back.Params[i], v)
		}
	}
	vec := func(shape []int, x ...float64) arrayfile.Array { return arrayfile.Array{Shape: shape, Float64: x} }
	good := map[string]arrayfile.Array{
		"lin0_weight": vec([]int{2, 1}, 1, 2), "lin0_bias": vec([]int{2}, 0, 0),
		"lin1_weight": vec([]int{1, 2}, 1, 2), "lin1_bias": vec([]int{1}, 0),
	}
	for name, c := range map[string]struct {
		key   string
		value arrayfile.Array
		want  string
	}{
		"no layers":  {"lin0_weight", arrayfile.Array{}, "no array lin0_weight"},
		"two values": {"lin1_weight", vec([]int{2, 2}, 1, 2, 3, 4), "layer 1 has weight"},
		"infinite":   {"lin1_bias", vec([]int{1}, math.Inf(1)), "parameter 6 of 7 is +Inf"},
		"beta":       {"beta", vec(nil, -1), "beta is [-1]"},
		"chain":      {"lin1_weight", vec([]int{1, 3}, 1, 2, 3), "takes 3 inputs but layer 0 has 2"},
	} {
		arrays := map[string]arrayfile.Array{}
		for k, v := range good {
			arrays[k] = v
		}
		if arrays[c.key] = c.value; name == "no layers" {
			delete(arrays, c.key)
		}
		testkit.Refused(t, testkit.Err(fromArrays("f.npz", arrays)), c.want, name)
	}
	testkit.OK(t, testkit.Err(fromArrays("f.npz", good)))
}

// Calls allocate nothing once warm.
func TestAllocatesNothing(t *testing.T) {
	s := New(bumpy(1)).NewEvaluator(100)
	x, v, h, g := make([]float64, 300), make([]float64, 300), make([]float64, 100), make([]float64, 300)
	keyed.New(1, keyed.Probe, 9).Normals(x, 0, 0)
	keyed.New(1, keyed.Probe, 9).Normals(v, 1, 0)
	if n := testing.AllocsPerRun(20, func() {
		s.Jacobians(h, g, x, 100)
		s.HessianVectors(g, x, v, 100)
		s.Values(h, x, 100)
	}); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkForward simulates 40 000 bunny paths of 30 ULLA steps on all cores,
// from training rows of the published data.
func BenchmarkForward(b *testing.B) {
	p := &langevin.Process{
		Set: bunny(b), Friction: 20,
		Schedule: langevin.Schedule{N: 30, T: 3, SigmaMin: 0.2, SigmaMax: 0.6},
		Landing:  langevin.Landing{Explicit: true, Rate: 25},
	}
	data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(b, "data/mesh/bunny_eigfn50.npy")))
	pool := parallel.New(0)
	defer pool.Close()
	sim := langevin.NewSimulator(p, pool, 64)
	var paths langevin.Paths
	for b.Loop() {
		r := testkit.Must(sim.Forward(context.Background(), &paths, data.AsFloat64()[:3*40_000], 1, 0))
		if r.Failed > 0 {
			b.Fatalf("%d paths failed", r.Failed)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
}

// round returns a network whose level set is near the unit sphere: softplus of
// many directions, summed, grows with ‖x‖ alike to all sides.
func round() *Network {
	n := &Network{score.NewMLP[float64]([]int{3, 400, 1}, 1), 10}
	st := keyed.New(5, keyed.Probe, 0)
	w := n.Weight(0)
	for i := 0; i < len(w); i += 6 { // pairs of opposite directions
		st.Normals(w[i:i+3], uint64(i), 0)
		s := math.Sqrt(w[i]*w[i] + w[i+1]*w[i+1] + w[i+2]*w[i+2])
		for j := range 3 {
			w[i+j] /= s
			w[i+3+j] = -w[i+j]
		}
	}
	clear(n.Bias(0))
	for i := range n.Weight(1) {
		n.Weight(1)[i] = 4. / 400
	}
	n.Bias(1)[0] = -1.03
	return n
}

func TestSurface(t *testing.T) {
	s := testkit.Must(NewSurface(round(), ball.Mesh(3)))
	constrainttest.Run(t, s, constrainttest.Options{})
	// Heights on a sphere are uniform on [−1, 1]: the mean of 4000 squares is
	// 1/3 ± 0.0047, and the level set and the mesh are round to 3 %.
	sum, x, h := 0.0, make([]float64, 3), make([]float64, 1)
	for i := range 4000 {
		s.SampleUniform(x, keyed.New(1, keyed.Probe, 1), uint64(i))
		if s.Values(h, x, 1); math.Abs(h[0]) > 1e-13 { // round-off is far below
			t.Fatalf("sample %d has h = %v", i, h[0])
		}
		sum += x[2] * x[2] / (x[0]*x[0] + x[1]*x[1] + x[2]*x[2])
	}
	testkit.Near(t, sum/4000, 1./3, 0.03, "mean square of the height")
	testkit.Refused(t, testkit.Err(NewSurface(round(), ball.Mesh(3).Scaled([3]float64{5, 0, 0}, 1))),
		"not near", "a mesh elsewhere")
	// A point of the mesh that cannot be moved to Σ is drawn again. Here 1 in 180 of the area is out of reach, and no
	// point of it is among those that NewSurface tries.
	spot := ball.Mesh(3)
	n := int32(len(spot.Vertices) / 3)
	spot.Vertices = append(spot.Vertices, 2.2, 0, 0, 2.2, 0.37, 0, 2.2, 0, 0.37)
	spot.Faces = append(spot.Faces, n, n+1, n+2)
	s = testkit.Must(NewSurface(round(), spot))
	again := 0
	for i := range uint64(1000) {
		st := keyed.New(1, keyed.Probe, 1)
		if s.sampler.Sample(x, st, i, 0); x[0] > 2 {
			again++
		}
		if s.SampleUniform(x, st, i); math.Abs(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]-1) > 0.2 {
			t.Fatalf("sample %d is %v", i, x)
		}
	}
	if again == 0 {
		t.Error("no point was drawn again")
	}
	refine, y := newRefiner(s.Set, 0.5), []float64{0, 0, 3}
	if arrives(refine, y) || y[2] != 3 {
		t.Errorf("a point 2 away was moved to %v by a refiner of 0.5", y)
	}
}

// Each fault of a mesh is named with what it does here; of a mesh without one
// octant, no uniform point falls into the middle of that.
func TestMeshFaults(t *testing.T) {
	whole := ball.Mesh(3)
	open := &mesh.Mesh{Vertices: append(whole.Vertices, 9, 9, 9)}
	for f := 0; f < len(whole.Faces); f += 3 {
		inside := true
		for _, v := range whole.Faces[f : f+3] {
			for _, x := range whole.Vertex(v) {
				inside = inside && x >= 0
			}
		}
		if !inside {
			open.Faces = append(open.Faces, whole.Faces[f:f+3]...)
		}
	}
	s := testkit.Must(NewSurface(round(), open))
	faults := s.Faults()
	if len(faults) != 2 || faults[0].Fault.Kind != mesh.Hole || faults[0].Fault.Count != 24 ||
		faults[1].Fault.Kind != mesh.Unused {
		t.Fatalf("faults %v", faults)
	}
	if text := faults[0].String(); !strings.HasPrefix(text, "the mesh has holes: 24 edges have one face only") ||
		!strings.Contains(text, "uniform points are missing") {
		t.Errorf("%q", text)
	}
	seen := map[string]bool{}
	for k := mesh.Hole; k <= mesh.Unused; k++ {
		f := MeshFault{mesh.Fault{Kind: k, Count: 1}}
		if effect := strings.TrimPrefix(f.String(), f.Fault.Name()+"; "); effect == "" || effect == f.String() ||
			seen[effect] {
			t.Errorf("%v: %q", k, f)
		} else {
			seen[effect] = true
		}
	}
	x := make([]float64, 3)
	for i := range 2000 {
		if s.SampleUniform(x, keyed.New(1, keyed.Probe, 1), uint64(i)); min(x[0], x[1], x[2]) > 0.1 {
			t.Fatalf("point %d is %.3g, where the mesh has no face", i, x)
		}
	}
}

// An evaluator takes more points than go through the network at once. A surface has the uniform law of its mesh.
func TestManyPoints(t *testing.T) {
	const n = 3*blockRows + 5
	s := New(bumpy(1))
	x, h, one := make([]float64, 3*n), make([]float64, n), make([]float64, 1)
	keyed.New(1, keyed.Probe, 12).Normals(x, 0, 0)
	s.NewEvaluator(n).Values(h, x, n)
	for i := range n {
		if s.Values(one, x[3*i:3*i+3], 1); one[0] != h[i] {
			t.Fatalf("h of point %d is %v among others, %v alone", i, h[i], one[0])
		}
	}
	if (&Surface{Set: s}).Capabilities().SampleUniform == nil || s.Capabilities().SampleUniform != nil {
		t.Error("a surface has a uniform law, a level set without a mesh has none")
	}
}

// An archive that inflates to gigabytes costs what its network needs: members that
// are no layers stay as they are, and a layer that promises too much is refused.
func TestReadNetworkInflatesLayersAlone(t *testing.T) {
	const huge = 1 << 26
	n := bumpy(3)
	n.Round()
	archive := func(bomb string) string {
		var plain, out bytes.Buffer
		testkit.OK(t, n.Write(&plain))
		old := testkit.Must(zip.NewReader(bytes.NewReader(plain.Bytes()), int64(plain.Len())))
		z := zip.NewWriter(&out)
		for _, f := range old.File {
			if f.Name != bomb {
				testkit.OK(t, z.Copy(f))
			}
		}
		w := testkit.Must(z.Create(bomb))
		head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 1)}", huge)
		testkit.Must(fmt.Fprintf(w, "\x93NUMPY\x01\x00\x46\x00%-69s\n%s", head, make([]byte, huge)))
		testkit.OK(t, z.Close())
		path := filepath.Join(t.TempDir(), "net.npz")
		testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o666))
		return path
	}
	for bomb, want := range map[string]string{
		"notes.npy": "", "lin0_weight.npy": "net.npz: entry \"lin0_weight.npy\": shape (67108864, 1) has 67108864 " +
			"elements, expected at most 16777216",
	} {
		path := archive(bomb)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadNetwork(path)
		runtime.ReadMemStats(&after)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v", bomb, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > huge/16 {
			t.Errorf("%s: %d bytes allocated", bomb, used)
		}
	}
}
