package program

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// motions are of the Panda's flange at a constant height past a ball, n waypoints; with a bound on steps
// each waypoint has components in common with the next.
func motions(t testing.TB, n int, steps bool) constraint.Set {
	t.Helper()
	arm, free := robot.Panda(), math.NaN()
	spec := trajectory.Spec{
		Arm: arm, Waypoints: n, Margin: 0.01,
		Path:      trajectory.Position("tool", len(arm.Joints)-1, [3]float64{}, [3]float64{free, free, 0.3}),
		Obstacles: []scene.Obstacle{{A: [3]float64{0.4, 0.1, 0.3}, Radius: 0.2}},
	}
	for link := range 7 {
		spec.Volume = append(spec.Volume, robot.Sphere{Link: link})
	}
	if steps {
		spec.Steps = make([]float64, len(arm.Joints))
		for j := range 7 {
			spec.Steps[j] = 0.2
		}
	}
	return testkit.Must(trajectory.New(spec))
}

// beside returns n points beside a set, from where it begins searches, on Σ and then off it by spread.
func beside(t testing.TB, set constraint.Set, n int, spread float64) []float64 {
	t.Helper()
	d := set.Dim()
	x, ok := normals(n, d, 1), make([]bool, n)
	noise := normals(n, d, spread)
	for i := range n {
		set.Capabilities().Start(x[i*d:(i+1)*d], keyed.OwnData.Stream(3, 0), uint64(i), 0)
	}
	if o := NewCorrection(set, n).Land(x, ok, n); o.Failed() > n/2 {
		t.Fatalf("%+v", o)
	}
	for i, v := range noise {
		x[i] += v
	}
	return x
}

// opaque is a set that does not say what its components depend on.
type opaque struct{ constraint.Set }

func (o opaque) Capabilities() constraint.Capabilities {
	c := o.Set.Capabilities()
	c.Support = nil
	return c
}

func (o opaque) NewEvaluator(rows int) constraint.Evaluator {
	e := o.Set.NewEvaluator(rows)
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians}
}

// In a product the nearest point is that of each factor, to the last bit, and takes as many iterations as the slower
// of them; a factor without one loses the whole point, which stays, and no other.
func TestNearestByParts(t *testing.T) {
	a := written(t, 3, []string{"x[0]^2 + 2*x[1]^2 + 3*x[2]^2 = 1"},
		[]string{"x[0] + x[1] <= 0.4", "sin(3*x[2]) <= 0.3 + x[1]"})
	b := written(t, 2, nil, []string{"dot(x, x) <= 0.5", "x[0] <= 0.2"})
	set := constraint.Product(a, b)
	if shares := geometry.Shares(set); len(shares) != 2 {
		t.Fatalf("%v", shares)
	}
	const n = 30
	xa, xb, x := normals(n, 3, 0.5), normals(n, 2, 0.7), []float64(nil)
	xb[2*7] = math.NaN()
	for i := range n {
		x = append(append(x, xa[3*i:3*i+3]...), xb[2*i:2*i+2]...)
	}
	each(t, set, n, func(t *testing.T, w nearest) {
		y, ok := make([]float64, 5*n), make([]bool, n)
		o := w.Nearest(y, x, ok, n)
		if o.Failed() != 1 || o.NotFinite != 1 || ok[7] {
			t.Errorf("%+v, %v", o, ok)
		}
		iterations := make([]int, n)
		for k, f := range []constraint.Set{a, b} {
			var alone nearest = NewInterior(f, 1, InteriorOptions{})
			if _, ok := w.(*Lagrangian); ok {
				alone = NewLagrangian(f, 1, LagrangianOptions{})
			}
			from, d := 3*k, f.Dim()
			for i := range n {
				row, found := slices.Clone(x[5*i+from:5*i+from+d]), make([]bool, 1)
				if o := alone.Nearest(row, row, found, 1); i != 7 {
					iterations[i] = max(iterations[i], o.Iterations)
					if !found[0] || !slices.Equal(row, y[5*i+from:5*i+from+d]) {
						t.Errorf("point %d, factor %d is %v, alone %v", i, k, y[5*i+from:5*i+from+d], row)
					}
				}
				if s := paths(w); i == 7 && k == 0 && s.of(i)[k].fate != moving {
					t.Error("a part of a lost point went on")
				}
			}
		}
		if row := y[5*7 : 5*8]; !slices.Equal(row[:3], x[5*7:5*7+3]) || row[4] != x[5*7+4] {
			t.Errorf("the lost point is %v, was %v", row, x[5*7:5*8])
		}
		sum := 0
		for _, k := range iterations {
			sum += k
		}
		if o.Iterations != sum {
			t.Errorf("%d iterations; those of the slower factors are %d", o.Iterations, sum)
		}
	})
}

// Room for systems goes with the band of a set, not with the square of its components.
func TestRoomOfMotions(t *testing.T) {
	for _, waypoints := range []int{20, 40} {
		w := NewInterior(motions(t, waypoints, true), 1, InteriorOptions{})
		if c := w.c; len(w.matrix) > 30*c || len(w.gradient) > 30*c || c < 15*waypoints {
			t.Errorf("%d waypoints: %d components take %d numbers, their gradients %d", waypoints, c, len(w.matrix),
				len(w.gradient))
		}
	}
}

// Motions have the nearest points that the same set has when it does not say what depends on what: waypoints
// that share nothing, and with bounds on steps, where systems are bands.
func TestNearestOfMotions(t *testing.T) {
	for name, steps := range map[string]bool{"alone": false, "bands": true} {
		set := motions(t, 3, steps)
		const n = 12
		d := set.Dim()
		x := beside(t, set, n, 0.03)
		kinds := map[bool][]nearest{}
		for _, s := range []constraint.Set{set, opaque{set}} {
			_, hidden := s.(opaque)
			kinds[hidden] = []nearest{NewInterior(s, n, InteriorOptions{}), NewLagrangian(s, n, LagrangianOptions{})}
		}
		if k := len(paths(kinds[false][0]).parts); steps && k > 2 || !steps && k < 3 {
			t.Errorf("%s: %d parts", name, k)
		}
		for k, w := range kinds[false] {
			y, z, ok, also := make([]float64, n*d), make([]float64, n*d), make([]bool, n), make([]bool, n)
			o, p := w.Nearest(y, x, ok, n), kinds[true][k].Nearest(z, x, also, n)
			if o.Failed() > 0 || p.Failed() > 0 {
				t.Errorf("%s, %d: %+v, as one %+v", name, k, o, p)
			}
			// Counts do not change from machine to machine: more are a step that is not what it was.
			if most := [][2]int{{10, 30}, {30, 40}}[k]; !steps && o.Iterations > most[0]*n || o.Iterations > most[1]*n {
				t.Errorf("%s, %d: %d iterations of %d points", name, k, o.Iterations, n)
			}
			worst := 0.0
			for i := range y {
				worst = max(worst, math.Abs(y[i]-z[i]))
			}
			t.Logf("%s, %d: apart by %.2g; %+v, as one %+v", name, k, worst, o, p)
			if !(worst < 1e-7) {
				t.Errorf("%s, %d: apart by %v", name, k, worst)
			}
		}
	}
}

// Guidance of motions is that of the same set when it does not say what depends on what.
func TestGuidanceOfMotions(t *testing.T) {
	set := motions(t, 3, true)
	const n = 9
	d := set.Dim()
	x := beside(t, set, n, 0.1)
	got, steep := make([]float64, n*d), make([]float64, n)
	want, also := make([]float64, n*d), make([]float64, n)
	NewGuidance(set, n).Gradient(got, steep, x, n)
	NewGuidance(opaque{set}, n).Gradient(want, also, x, n)
	for i, v := range want {
		if !(math.Abs(got[i]-v) < 1e-14) {
			t.Errorf("number %d is %v, want %v", i, got[i], v)
		}
	}
	for i, v := range also {
		if !(math.Abs(steep[i]-v) < 1e-12*v) {
			t.Errorf("Σ‖∇c‖² of point %d is %v, want %v", i, steep[i], v)
		}
	}
}

// written makes a set of formulas.
func written(t testing.TB, dim int, equalities, inequalities []string) constraint.Set {
	t.Helper()
	s := formula.Spec{Dim: dim}
	for _, e := range equalities {
		s.Equality = append(s.Equality, formula.Component{Name: e, Expr: e})
	}
	for _, e := range inequalities {
		s.Inequality = append(s.Inequality, formula.Component{Name: e, Expr: e})
	}
	return testkit.Must(formula.New(s))
}

// normals are n points of R^d about 0, with a spread.
func normals(n, d int, spread float64) []float64 {
	x := make([]float64, n*d)
	keyed.OwnData.Stream(7, 0).Normals(x, 0, 0)
	for i := range x {
		x[i] *= spread
	}
	return x
}

// On an affine set one step is the nearest point: x − n(n·x − 1) of a plane, whatever the
// component is scaled by, and however often it is written. Landing there takes that step.
func TestCorrectionOfAffineSets(t *testing.T) {
	const n = 9
	x := normals(n, 3, 2)
	want := slices.Clone(x)
	for i := range n {
		off := (2*x[3*i] - x[3*i+1] + 2*x[3*i+2] - 3) / 9
		want[3*i], want[3*i+1], want[3*i+2] = x[3*i]-2*off, x[3*i+1]+off, x[3*i+2]-2*off
	}
	for name, equalities := range map[string][]string{
		"once": {"2*x[0] - x[1] + 2*x[2] = 3"}, "scaled": {"1e5*(2*x[0] - x[1] + 2*x[2] - 3) = 0"},
		"twice": {"2*x[0] - x[1] + 2*x[2] = 3", "x[1] - 2*x[0] - 2*x[2] = -3"},
	} {
		c := NewCorrection(written(t, 3, equalities, nil), n)
		got, ok := make([]float64, 3*n), make([]bool, n)
		if o := c.Step(got, x, ok, n); o != (geometry.Outcome{Points: n, Iterations: n}) || slices.Contains(ok, false) {
			t.Errorf("%s: %+v, %v", name, o, ok)
		}
		landed := slices.Clone(x)
		if o := c.Land(landed, ok, n); o.Failed() > 0 || o.Iterations < n || o.Iterations > 2*n {
			t.Errorf("%s: landing took %+v", name, o)
		}
		for i, w := range want {
			if math.Abs(got[i]-w) > 1e-14 || math.Abs(landed[i]-w) > 1e-14 {
				t.Errorf("%s: number %d is %v and landed %v, want %v", name, i, got[i], landed[i], w)
			}
		}
	}
}

// Inequalities that hold are left alone, those that do not land on their edge; a point lands on a
// sphere and behind a wall at once.
func TestCorrectionOfWalls(t *testing.T) {
	s := written(t, 2, nil, []string{"x[0] <= 1", "x[1] >= 0"})
	c := NewCorrection(s, 4)
	x, ok := []float64{0.5, 0.5, 3, 2, -1, -2, 4, -4}, make([]bool, 4)
	if o := c.Step(x, x, ok, 4); o.Failed() > 0 || !slices.Equal(x, []float64{0.5, 0.5, 1, 2, -1, 0, 1, 0}) {
		t.Errorf("%v, %+v", x, o)
	}
	ball := written(t, 3, []string{"dot(x, x) = 1"}, []string{"x[2] >= 0.2"})
	c = NewCorrection(ball, 50)
	x, ok = normals(50, 3, 0.3), make([]bool, 50)
	for i := range 50 {
		x[3*i] += 1
	}
	o := c.Land(x, ok, 50)
	if o.Failed() > 0 || o.Iterations < 100 {
		t.Errorf("%+v", o)
	}
	for i := range 50 {
		v := constraint.Values(ball, x[3*i:3*i+3])
		if e, _ := constraint.Worst(v, 1); e > 1e-12 {
			t.Errorf("point %d is off by %v", i, e)
		}
	}
}

// Rows without a step stay, are counted by reason, and leave those beside them as they would be
// alone: NaN, a point without a gradient, and a set with no point at all.
func TestCorrectionCountsFailures(t *testing.T) {
	s := zoo.Sphere{D: 3}
	x := []float64{0.5, 0.5, 0.9, math.NaN(), 0, 0, 0, 0, 0, 2, 1, -1}
	alone, one := slices.Clone(x), NewCorrection(s, 1)
	flag := make([]bool, 1)
	for i := range 4 {
		one.Step(alone[3*i:3*i+3], alone[3*i:3*i+3], flag, 1)
	}
	c, ok := NewCorrection(s, 4), make([]bool, 4)
	got := make([]float64, 12)
	o := c.Step(got, x, ok, 4)
	testkit.Equal(t, o, (geometry.Outcome{Points: 4, Iterations: 2, NotFinite: 1, Unreachable: 1}))
	testkit.EqualSlices(t, ok, []bool{true, false, false, true})
	for i, v := range alone {
		if got[i] != v && (v == v || got[i] == got[i]) {
			t.Errorf("number %d is %v, alone %v", i, got[i], v)
		}
	}
	land := slices.Clone(x)
	if o := c.Land(land, ok, 4); o.NotFinite != 1 || o.Unreachable != 1 || o.Failed() != 2 {
		t.Errorf("landing: %+v", o)
	}
	if !math.IsNaN(land[3]) || land[6] != 0 {
		t.Errorf("lost rows move to %v", land[3:9])
	}

	none := NewCorrection(written(t, 2, []string{"x[0] = 1", "x[0] = 2"}, nil), 1)
	at := []float64{0.3, 0.4}
	if o := none.Land(at, flag, 1); flag[0] || o.Stalled != 1 || !slices.Equal(at, []float64{0.3, 0.4}) {
		t.Errorf("no point of the set, and yet %v, %+v", at, o)
	}
}

func TestCorrectionAllocates(t *testing.T) {
	s := zoo.Ellipsoid{Axes: []float64{1, 0.7, 0.5}}
	c, ok := NewCorrection(s, 20), make([]bool, 20)
	x := normals(20, 3, 1)
	y := slices.Clone(x)
	c.Land(y, ok, 20)
	if n := testing.AllocsPerRun(5, func() {
		copy(y, x)
		c.Step(y, y, ok, 20)
		c.Land(y, ok, 20)
	}); n != 0 {
		t.Errorf("a correction allocates %v times", n)
	}
}
