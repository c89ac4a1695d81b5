package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// small are options that fit a sphere in a second.
func small() Options {
	o := Defaults()
	o.Width, o.Layers, o.Steps, o.Batch, o.Rate = 32, 2, 400, 512, 0.01
	return o
}

// A sphere away from the origin is fitted to a hundredth of its size, with slopes
// near one, normals within degrees and no stray part.
func TestFitSphere(t *testing.T) {
	pool := testkit.Pool(t, 0)
	m := ball.Mesh(3).Scaled([3]float64{-0.2, 0.1, 0.3}, 0.8)
	steps := 0
	n := testkit.Must(Fit(context.Background(), m, small(), pool, func(s Step) { steps = s.Step }))
	r := Examine(n, m, pool)
	if steps != 400 || r.Residual.Mean > 0.002 || r.Residual.Max > 0.02 || math.Abs(r.Slope.Mean-1) > 0.05 ||
		r.Angle.Mean > 6 || r.Inside != 1 || r.Outside != 1 || r.Parts != 1 || len(r.Faults()) > 0 {
		t.Errorf("%d steps, %+v", steps, r)
	}
}

// The fit is a function of the mesh and the options, whatever the workers.
func TestFitIsDeterministic(t *testing.T) {
	o := small()
	o.Steps = 5
	var params [][]float64
	for _, workers := range []int{1, 3} {
		pool := parallel.New(workers)
		n, err := Fit(context.Background(), ball.Mesh(1), o, pool, nil)
		pool.Close()
		testkit.OK(t, err)
		params = append(params, n.Params)
	}
	for i, v := range params[0] {
		if v != float64(float32(v)) {
			t.Fatalf("parameter %d is %v, more than a file keeps", i, v)
		}
		if params[1][i] != v {
			t.Fatalf("parameter %d is %v with one worker, %v with three", i, v, params[1][i])
		}
	}
}

// The gradient of a step is that of its loss, against central differences.
func TestGradient(t *testing.T) {
	pool := testkit.Pool(t, 1)
	o := small()
	o.Width, o.Batch, o.Rate = 9, 64, 1e-9
	o.Value, o.Normal, o.Eikonal = 2, 0.7, 0.4
	f := newFitter(ball.Mesh(1), o, pool)
	params := append([]float64(nil), f.net.Params...)
	loss := func(i int, by float64) float64 {
		copy(f.net.Params, params)
		f.net.Params[i] += by
		f.packed.Set()
		clear(f.m)
		clear(f.v)
		s := f.step(0)
		return o.Value*s.Value*s.Value + o.Normal*s.Normal*s.Normal + o.Eikonal*s.Eikonal*s.Eikonal
	}
	for i := range params {
		loss(i, 0)
		got := f.grad[i]
		const step = 1e-5
		if want := (loss(i, step) - loss(i, -step)) / (2 * step); math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
			t.Fatalf("parameter %d: gradient %v, by differences %v", i, got, want)
		}
	}
}

// The terms of a step are means: of h² and ‖∇h − n‖² over the half of the points
// that are on the surface, of (‖∇h‖ − 1)² over all.
func TestStepMeans(t *testing.T) {
	pool := testkit.Pool(t, 2)
	o := small()
	o.Batch = 192
	f, k := newFitter(ball.Mesh(1), o, pool), 3
	set, want := levelset.New(f.net), Step{Step: k + 1}
	x, n, h, g := make([]float64, 3), make([]float64, 3), make([]float64, 1), make([]float64, 3)
	for i := range o.Batch {
		on := i < o.Batch/2
		f.point(x, n, uint64(i), k, on)
		set.Jacobians(h, g, x, 1)
		want.Eikonal += (norm(g) - 1) * (norm(g) - 1) / float64(o.Batch)
		if on {
			want.Value += h[0] * h[0] / float64(o.Batch/2)
			for j := range g {
				want.Normal += (g[j] - n[j]) * (g[j] - n[j]) / float64(o.Batch/2)
			}
		}
	}
	got := f.step(k)
	for _, c := range [][2]float64{{got.Value, want.Value}, {got.Normal, want.Normal}, {got.Eikonal, want.Eikonal}} {
		if math.Abs(c[0]-math.Sqrt(c[1])) > 1e-13 || got.Step != want.Step {
			t.Fatalf("%+v, want the squares %+v", got, want)
		}
	}
}

// Where a step's points are: on the mesh with the normal of their face, near it, and
// in a box half as wide again. Every step and every seed has its own.
func TestPoints(t *testing.T) {
	pool := testkit.Pool(t, 1)
	m := ball.Mesh(1).Scaled([3]float64{-5, 0, 0}, 2)
	f, tree := newFitter(m, small(), pool), mesh.NewTree(m)
	x, n := make([]float64, 3), make([]float64, 3)
	lo, hi := [3]float64{9, 9, 9}, [3]float64{}
	for i := range uint64(400) {
		f.point(x, n, i, 0, true)
		face, _, d := tree.Nearest([3]float64(x))
		if d > 1e-12 || [3]float64(n) != m.Normal(face) {
			t.Fatalf("point %d on the surface is %v off it, its normal %v", i, d, n)
		}
		y := append([]float64(nil), x...)
		if f.point(y, n, i, 1, true); y[0] == x[0] {
			t.Fatalf("point %d is the same in step 1", i)
		}
		f.point(y, n, i, 0, false)
		if i%2 == 0 { // standard deviation 0.3, and the whole move of 6 in R³ is never
			move := norm([]float64{y[0] - x[0], y[1] - x[1], y[2] - x[2]})
			if move == 0 || move > 6*0.3 {
				t.Fatalf("point %d near the surface is %v from it", i, move)
			}
			continue
		}
		for j := range lo {
			lo[j], hi[j] = min(lo[j], y[j]-f.centre[j]), max(hi[j], y[j]-f.centre[j])
		}
	}
	for j := range lo { // of 200 points none beyond 0.8 of a side: 0.9²⁰⁰ = 7e-10, six times
		if f.centre != [3]float64{10, 0, 0} || lo[j] < -3 || hi[j] > 3 || lo[j] > -2.4 || hi[j] < 2.4 {
			t.Fatalf("the box around %v is %v to %v, want ±3", f.centre, lo, hi)
		}
	}
	o := small()
	o.Seed = 9
	other := newFitter(m, o, pool)
	y := make([]float64, 3)
	f.point(x, n, 0, 0, true)
	if other.point(y, n, 0, 0, true); x[0] == y[0] || f.net.Params[0] == other.net.Params[0] {
		t.Error("seeds 1 and 9 have the same points or weights")
	}
}

// A first step of Adam moves a parameter by the rate but for the corrections of its means, which belong to the number
// of the step; the rate falls along a cosine to a hundredth.
func TestStepRate(t *testing.T) {
	pool := testkit.Pool(t, 1)
	o := small()
	o.Batch = 64
	for k, rate := range map[int]float64{0: 1, 100: 0.505 + 0.495*math.Sqrt2/2, 200: 0.505, 400: 0.01} {
		f := newFitter(ball.Mesh(0), o, pool)
		before := append([]float64(nil), f.net.Params...)
		f.step(k)
		T := float64(k + 1)
		want := o.Rate * rate * 0.1 / (1 - math.Pow(0.9, T)) / math.Sqrt(0.001/(1-math.Pow(0.999, T)))
		for i, g := range f.grad {
			if math.Abs(g) < 1e-3 { // ε = 1e-8 shows
				continue
			}
			if got := (before[i] - f.net.Params[i]) * math.Copysign(1, g); math.Abs(got/want-1) > 1e-3 {
				t.Fatalf("step %d: parameter %d moved by %v, want %v", k, i, got, want)
			}
		}
	}
}

func TestFitRefuses(t *testing.T) {
	pool := testkit.Pool(t, 1)
	m := ball.Mesh(1)
	m.Faces[0], m.Faces[1] = m.Faces[1], m.Faces[0]
	var fault mesh.Fault
	if _, err := Fit(context.Background(), m, small(), pool, nil); !errors.As(err, &fault) ||
		fault.Kind != mesh.Flipped {
		t.Errorf("flipped faces: %v", err)
	}
	m = ball.Mesh(1)
	for i := 0; i < len(m.Faces); i += 3 {
		m.Faces[i], m.Faces[i+1] = m.Faces[i+1], m.Faces[i]
	}
	if _, err := Fit(context.Background(), m, small(), pool, nil); !errors.As(err, &fault) ||
		fault.Kind != mesh.InsideOut {
		t.Errorf("normals inwards: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Fit(ctx, ball.Mesh(1), small(), pool, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	o := small()
	for _, steps := range []int{1, 10} {
		o.Rate, o.Steps = 1e300, steps
		err := testkit.Err(Fit(context.Background(), ball.Mesh(1), o, pool, nil))
		testkit.Refused(t, err, fmt.Sprintf("diverged at step %d of %d", min(steps, 2), steps))
	}
}

// What cannot be is named with its value.
func TestOptions(t *testing.T) {
	pool := testkit.Pool(t, 1)
	for want, edit := range map[string]func(o *Options){
		"width is 2000; expected 1 to 1024":        func(o *Options) { o.Width = 2000 },
		"layers is -1; expected 1 to 10":           func(o *Options) { o.Layers = -1 },
		"steps is -5; expected 1 to 1000000000":    func(o *Options) { o.Steps = -5 },
		"batch is 100; expected a multiple of 64":  func(o *Options) { o.Batch = 100 },
		"batch is 32; expected 64 to 16777216":     func(o *Options) { o.Batch = 32 },
		"rate is NaN; expected a number above 0":   func(o *Options) { o.Rate = math.NaN() },
		"beta is +Inf; expected a number above 0":  func(o *Options) { o.Beta = math.Inf(1) },
		"value is -1; expected a number above 0":   func(o *Options) { o.Value = -1 },
		"normal is -1; expected a number above 0":  func(o *Options) { o.Normal = -1 },
		"eikonal is -1; expected a number above 0": func(o *Options) { o.Eikonal = -1 },
	} {
		o := Defaults()
		edit(&o)
		if _, err := Fit(context.Background(), ball.Mesh(0), o, pool, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	o := Defaults()
	o.Steps = 1
	n, err := Fit(context.Background(), ball.Mesh(0), o, pool, nil)
	if err != nil || n.Layers() != 4 || n.Sizes[1] != 128 {
		t.Errorf("one step: %v, %v", n.Sizes, err)
	}
}

// A mesh that networks learn well stays; others come to [−1, 1]³.
func TestPlace(t *testing.T) {
	m := ball.Mesh(1)
	if p, centre, scale := Place(m); p != m || centre != [3]float64{} || scale != 1 {
		t.Errorf("moved by %v, scaled by %v", centre, scale)
	}
	for name, given := range map[string]*mesh.Mesh{
		"small": m.Scaled([3]float64{}, 0.4), "far": m.Scaled([3]float64{-1, 0, 0}, 1),
		"large": m.Scaled([3]float64{1, 2, 3}, 1e5),
	} {
		p, centre, scale := Place(given)
		lo, hi := p.Bounds()
		for j := range 3 {
			if math.Abs(lo[j]+1) > 1e-9 || math.Abs(hi[j]-1) > 1e-9 ||
				math.Abs((given.Vertices[j]-centre[j])*scale-p.Vertices[j]) > 1e-12 {
				t.Errorf("%s: box %v to %v", name, lo, hi)
			}
		}
	}
}

// directed returns h = slope · softplus(β(n·x − c))/β, for large n·x − c the plane's slope (n·x − c).
func directed(n [3]float64, c, slope, β float64) *levelset.Network {
	net := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 1, 1}, 1), Beta: β}
	copy(net.Weight(0), n[:])
	net.Bias(0)[0], net.Weight(1)[0], net.Bias(1)[0] = -c, slope, 0
	return net
}

// A plane and an octahedron: distances, slopes and angles are known.
func TestExaminePlane(t *testing.T) {
	pool := testkit.Pool(t, 1)
	m := ball.Mesh(0)
	n := directed([3]float64{0, 0, 1}, -100, 3, 10)
	n.Bias(1)[0] = -300 // h = 3z
	r := Examine(n, m, pool)
	steep := math.Acos(1/math.Sqrt(3)) * 180 / math.Pi
	size := math.Sqrt(12) // points lie within |z| ≤ 1, and a third of these is the mean
	for name, c := range map[string][2]float64{
		"least angle": {r.Angle.Min, steep}, "largest angle": {r.Angle.Max, 180 - steep},
		"slope": {r.Slope.Min, 3}, "largest slope": {r.Slope.Max, 3},
	} {
		testkit.Near(t, c[0], c[1], 1e-9, "%s", name)
	}
	// 20 000 points: the mean to 0.2359/√20 000 = 0.0017, six of them; the largest to 0.02.
	if math.Abs(r.Residual.Mean*size-1./3) > 0.01 || math.Abs(r.Residual.Max*size-1) > 0.02 || r.Residual.Min < 0 {
		t.Errorf("residuals %+v of the size", r.Residual)
	}
	if r.Inside != 1 || r.Outside != 1 {
		t.Errorf("%d parts inside and %d outside of a half space", r.Inside, r.Outside)
	}
}

// A slab between two half spaces: parts that reach opposite sides of the grid are two.
func TestExamineSlab(t *testing.T) {
	pool := testkit.Pool(t, 1)
	for axis := range 3 {
		n := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 2, 1}, 1), Beta: 200}
		clear(n.Params)
		n.Weight(0)[axis], n.Weight(0)[3+axis] = 1, -1
		n.Weight(1)[0], n.Weight(1)[1], n.Bias(1)[0] = -1, -1, 0.5 // h = ½ − |x_j|
		if r := Examine(n, ball.Mesh(0), pool); r.Inside != 2 || r.Outside != 1 {
			t.Errorf("axis %d: %d parts inside and %d outside", axis, r.Inside, r.Outside)
		}
	}
}

// Slopes are measured to both sides of the mesh. With a bend of the level set's
// function along one of the eight faces they are from 0 to 1 there, ½ on the mesh
// itself and in the mean, and 0 elsewhere: 1/16 ± 0.0012 in all, 8 deviations.
func TestExamineBesideTheMesh(t *testing.T) {
	pool := testkit.Pool(t, 1)
	c := 1 / math.Sqrt(3)
	r := Examine(directed([3]float64{c, c, c}, c, 1, 1000), ball.Mesh(0), pool)
	if r.Slope.Max < 0.999 || r.Slope.Min > 1e-9 || math.Abs(r.Slope.Mean-1./16) > 0.01 {
		t.Errorf("slopes %+v", r.Slope)
	}
}

func TestQuantiles(t *testing.T) {
	x := make([]float64, 200)
	for i := range x {
		x[i] = float64((i * 73) % 200)
	}
	testkit.Equal(t, quantiles(x), (Quantiles{Min: 0, Mean: 99.5, Q99: 198, Max: 199}))
}

// A level set that is empty has no part inside.
func TestExamineEmpty(t *testing.T) {
	pool := testkit.Pool(t, 0)
	m := ball.Mesh(2)
	n := testkit.Must(Fit(context.Background(), m, small(), pool, nil))
	top := n.Bias(n.Layers() - 1)
	top[0] = 100 // nothing is inside
	if r := Examine(n, m, pool); r.Inside != 0 || r.Outside != 1 ||
		!strings.Contains(strings.Join(r.Faults(), "\n"), "empty") {
		t.Errorf("an empty set has %d parts inside and %d outside; %q", r.Inside, r.Outside, r.Faults())
	}
}

// Each bad fit gives a fault, and a good one of a shell with a cavity gives none.
func TestFaults(t *testing.T) {
	good := Report{Residual: Quantiles{Mean: 1e-3}, Slope: Quantiles{Min: 0.14}, Inside: 1, Outside: 2, Parts: 2,
		Cavities: 1}
	if f := good.Faults(); len(f) > 0 {
		t.Errorf("a good fit: %q", f)
	}
	for want, edit := range map[string]func(r *Report){
		"is empty on a grid":                 func(r *Report) { r.Inside = 0 },
		"stray or broken parts: 3 inside":    func(r *Report) { r.Inside = 3 },
		"merged or missing":                  func(r *Report) { r.Parts = 3 },
		"cavities that the mesh has not: 3 ": func(r *Report) { r.Outside = 3 },
		"cavities are open or missing":       func(r *Report) { r.Outside = 1 },
		"0.0021 of the size":                 func(r *Report) { r.Residual.Mean = 0.0021 },
		"NaN of the size":                    func(r *Report) { r.Residual.Mean = math.NaN() },
		"as small as 0.09 near":              func(r *Report) { r.Slope.Min = 0.09 },
		"as small as NaN near":               func(r *Report) { r.Slope.Min = math.NaN() },
	} {
		r := good
		edit(&r)
		if f := r.Faults(); len(f) != 1 || !strings.Contains(f[0], want) {
			t.Errorf("%q, want %q", f, want)
		}
	}
}
