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
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
