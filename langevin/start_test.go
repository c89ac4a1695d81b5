package langevin

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// longChain is a chain of eight bonds of length 0.6, anchored at (−2, 0, 0), that keeps
// clear of the unit ball: Gaussian points are too far from it for Newton's method.
func longChain(t *testing.T) constraint.Set {
	t.Helper()
	s := testkit.Must(formula.New(formula.Spec{
		Dim: 24, Let: formula.Definitions{{Name: "bead", Expr: "reshape(x, 8, 3)"}},
		Equality: []formula.Component{
			{Name: "first", Expr: "distance([-2, 0, 0], bead[0]) = 0.6"},
			{Name: "bond[i]", For: "i in 0..6", Expr: "distance(bead[i], bead[i+1]) = 0.6"},
		},
		Inequality: []formula.Component{{Name: "ball[i]", For: "i in 0..7", Expr: "norm(bead[i]) >= 1.05"}},
	}))
	return s
}

// Where Newton's method fails from every Gaussian point, chains start from where
// landing leads, on Σ and inside its walls.
func TestStartByLanding(t *testing.T) {
	set, ok := longChain(t), make([]bool, 1)
	b, newton := geometry.New(set, 1, 0), geometry.NewProjection(set, 1)
	x := make([]float64, 24)
	for try := range 20 {
		keyed.ChainPoints.Stream(3, 0).Normals(x, 0, try)
		testkit.OK(t, b.At(x, 1))
		if newton.Project(b, x, x, ok, 0); ok[0] {
			t.Fatal("Newton's method finds a start: the test says nothing")
		}
	}
	p := &Process{Set: set, Repulsion: 0.02}
	starts := testkit.Must(Start(t.Context(), p, 4, 3))
	for i := range 4 {
		values := constraint.Values(set, starts[24*i:24*i+24])
		for a, v := range values {
			if a < 8 && math.Abs(v) > 1e-12 || a >= 8 && v > 0 {
				t.Errorf("start %d has component %d = %.3g", i, a, v)
			}
		}
	}
	if slices.Equal(starts[:24], starts[24:48]) {
		t.Error("two chains start from one point")
	}
	if again, _ := Start(t.Context(), p, 2, 3); !slices.Equal(again, starts[:48]) {
		t.Error("starts are no function of the seed and the chain's number")
	}
}

// Starts that Newton's method finds are its own, the first of each chain.
func TestStartByNewton(t *testing.T) {
	set := sets.Plain(zoo.Ellipsoid{Axes: []float64{1, 0.3, 2}})
	got := testkit.Must(Start(t.Context(), &Process{Set: set}, 20, 5))
	b, newton, ok := geometry.New(set, 1, 0), geometry.NewProjection(set, 1), make([]bool, 1)
	later, x := 0, make([]float64, 3)
	for i := range 20 {
		ok[0] = false
		for try := 0; !ok[0]; try++ {
			keyed.ChainPoints.Stream(5, 0).Normals(x, uint64(i), try)
			if b.At(x, 1) == nil {
				newton.Project(b, x, x, ok, 0)
			}
			if !ok[0] {
				later++
			}
		}
		testkit.EqualSlices(t, x, got[3*i:3*i+3], "chain %d starts from", i)
	}
	if later == 0 {
		t.Error("no first try failed: the test says too little")
	}
}

// Of an empty set there is no start: the error names what is violated most.
func TestNoStart(t *testing.T) {
	set, err := formula.New(formula.Spec{Dim: 2, Equality: []formula.Component{
		{Name: "unit", Expr: "dot(x, x) = 1"}, {Name: "far", Expr: "x[0] = 5"},
	}})
	testkit.OK(t, err)
	_, err = Start(t.Context(), &Process{Set: set}, 2, 1)
	testkit.Refused(t, err, `for chain 0 none of 100 points`)
	if testkit.Refused(t, err, `violates "`); fault.KindOf(err) != fault.Check {
		t.Errorf("of kind %v", fault.KindOf(err))
	}
}

// A known point is where all chains begin, projected, whatever the level's measure wraps.
type known struct {
	Quadratic
	point []float64
}

func (k known) Begin() []float64 { return k.point }

func TestStartWhereThePotentialSays(t *testing.T) {
	set := zoo.Ellipsoid{Axes: []float64{1, 1, 1}}
	for _, level := range []bool{false, true} {
		p := &Process{Set: set, Potential: known{point: []float64{0, 0, 3}}}
		if level {
			f := testkit.Must(Level(set, p.Potential))
			p.Potential = f
		}
		x := testkit.Must(Start(t.Context(), p, 3, 1))
		for i := range 3 {
			if r := math.Abs(x[3*i]) + math.Abs(x[3*i+1]) + math.Abs(x[3*i+2]-1); r > 1e-12 {
				t.Errorf("level %v: chain %d begins at %v", level, i, x[3*i:3*i+3])
			}
		}
	}
	_, err := Start(t.Context(), &Process{Set: set, Potential: known{point: []float64{0, 0, 0}}}, 1, 1)
	testkit.Refused(t, err, "begin with one that is nearer", "from the centre")
}
