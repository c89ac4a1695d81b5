package constraint_test

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// A view has the components it says, with the values, gradients and second
// derivatives of the set it looks at, dense and packed.
func TestView(t *testing.T) {
	s := testkit.Must(formula.New(formula.Spec{
		Dim:      4,
		Equality: []formula.Component{{Name: "a", Expr: "x[0]^2 + x[1]"}, {Name: "b", Expr: "x[2] - 1"}},
		Inequality: []formula.Component{
			{Name: "p", Expr: "x[0] - x[3]"}, {Name: "q", Expr: "x[1]^3"}, {Name: "r", Expr: "x[2]*x[3]"},
		},
	}))
	const n, d = 2, 4
	x, u := []float64{0.5, -1, 2, 3, 0.1, 0.2, -0.3, 0.4}, []float64{1, 2, -1, 0.5, 0.3, -0.7, 1, 1}
	all := constraint.Components(s)
	values, jac, hess := make([]float64, n*5), make([]float64, n*5*d), make([]float64, n*5*d)
	s.NewEvaluator(n).Jacobians(values, jac, x, n)
	s.NewEvaluator(n).HessianVectors(hess, x, u, n)
	for _, c := range []struct {
		view   constraint.Set
		h, g   []string
		sparse bool
	}{
		{constraint.Edge(s, 1), []string{"a", "b", "q"}, []string{"p", "r"}, true},
		{constraint.Edge(s, 0), []string{"a", "b", "p"}, []string{"q", "r"}, true},
		{constraint.EqualitiesOf(s), []string{"a", "b"}, nil, true},
		{constraint.View(s, []int{4, 1}, 1), []string{"r"}, []string{"b"}, true},
		{constraint.Edge(sets.Plain(s), 2), []string{"a", "b", "r"}, []string{"p", "q"}, false},
	} {
		names := append(slices.Clone(c.h), c.g...)
		if !slices.Equal(c.view.Equalities(), c.h) || !slices.Equal(c.view.Inequalities(), c.g) {
			t.Fatalf("got %v %v, want %v %v", c.view.Equalities(), c.view.Inequalities(), c.h, c.g)
		}
		k := len(names)
		v, j, v2, w := make([]float64, n*k), make([]float64, n*k*d), make([]float64, n*k), make([]float64, n*k*d)
		e := c.view.NewEvaluator(n)
		e.Jacobians(v, j, x, n)
		e.Values(v2, x, n)
		support := c.view.Capabilities().Support
		if (support != nil) != c.sparse || (e.SparseJacobians != nil) != c.sparse ||
			(e.HessianVectors != nil) != c.sparse {
			t.Fatalf("%v: support %v, want one: %v", names, support, c.sparse)
		}
		var packed []float64
		if c.sparse {
			e.HessianVectors(w, x, u, n)
			total := 0
			for _, s := range support {
				total += len(s)
			}
			packed = make([]float64, n*total)
			e.SparseJacobians(make([]float64, n*k), packed, x, n)
		}
		for i := range n {
			for a, name := range names {
				o := slices.Index(all, name)
				if want := values[i*5+o]; v[i*k+a] != want || v2[i*k+a] != want {
					t.Errorf("%v: value of %s is %v, want %v", names, name, v[i*k+a], want)
				}
				row := jac[(i*5+o)*d : (i*5+o+1)*d]
				testkit.EqualSlices(t, j[(i*k+a)*d:(i*k+a+1)*d], row, "%v: gradient of %s differs", names, name)
				if !c.sparse {
					continue
				}
				testkit.EqualSlices(t, w[(i*k+a)*d:(i*k+a+1)*d], hess[(i*5+o)*d:(i*5+o+1)*d],
					"%v: second derivative of %s differs", names, name)
				for _, at := range support[a] {
					testkit.Equal(t, packed[0], row[at], "%v: packed gradient of %s differs", names, name)
					packed = packed[1:]
				}
			}
		}
	}
}

// What a set knows of itself survives a view of it where it is still true.
func TestViewKeeps(t *testing.T) {
	so := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	testkit.Equal(t, constraint.EqualitiesOf(so), constraint.Set(so),
		"the equalities of a set of equalities are another set")
	turned := constraint.View(so, []int{1, 0, 2, 3, 4, 5}, 6)
	if turned.Equalities()[0] != "gram[0,1]" || turned.NewEvaluator(1).Projector != nil {
		t.Error("components in another order are taken for the set")
	}
	some := constraint.View(so, []int{0, 2}, 2)
	c, e := some.Capabilities(), some.NewEvaluator(1)
	if c.Selects == nil || c.Selection != "det > 0" || c.Name != "SO(3)" {
		t.Errorf("lost: %+v", c)
	}
	if c.SampleUniform != nil || e.Retract != nil || e.Geodesic != nil || e.Projector != nil {
		t.Error("a closed form of another Σ is kept")
	}
	if o, ok := constraint.As[*zoo.Orthogonal](some); !ok || o != so {
		t.Error("the set within a view is not found")
	}
	if _, ok := constraint.As[zoo.Torus](some); ok {
		t.Error("a torus is found in SO(3)")
	}
	box := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 1}))
	none := constraint.EqualitiesOf(box)
	if s := none.Capabilities().Support; s == nil || len(s) != 0 || len(constraint.Components(none)) != 0 {
		t.Errorf("a box without its walls has support %v and components %v", s, constraint.Components(none))
	}
}

// The space around a set has no components, every direction but those held, and the set
// itself within; a set that has none is that space.
func TestAmbient(t *testing.T) {
	cap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	s := constraint.Ambient(constraint.Hold(cap, []int{1}))
	if n := len(constraint.Components(s)); n != 0 || s.Dim() != 3 || constraint.Name(s) != "R^3" {
		t.Errorf("%d components, %d coordinates, %s", n, s.Dim(), constraint.Name(s))
	}
	if own := s.Capabilities(); !slices.Equal(own.Held, []int{1}) || own.SampleUniform != nil || own.Fault != nil {
		t.Errorf("%+v", own)
	}
	if _, ok := constraint.As[zoo.Cap](s); !ok {
		t.Error("the set within is not found")
	}
	g := geometry.New(s, 2, 0)
	testkit.OK(t, g.At([]float64{1, 2, 3, 4, 5, 6}, 2))
	v := []float64{1, 1, 1, 1, 1, 1}
	g.Tangent(v, v)
	testkit.EqualSlices(t, v, []float64{1, 0, 1, 1, 0, 1}, "tangents")
	if g.Landing(v); !slices.Equal(v, make([]float64, 6)) {
		t.Errorf("it lands by %v", v)
	}
	if e := (zoo.Euclidean{D: 2}); constraint.Ambient(e) != constraint.Set(e) {
		t.Error("R^2 is another set than the space around it")
	}
}

func TestExcess(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ v, equality, inequality float64 }{
		{0, 0, 0}, {math.Copysign(0, -1), 0, 0}, {2, 2, 2}, {-2, 2, 0}, {0x1p-1074, 0x1p-1074, 0x1p-1074},
		{-0x1p-1074, 0x1p-1074, 0}, {inf, inf, inf}, {-inf, inf, 0}, {math.NaN(), inf, inf},
	} {
		for equality, want := range map[bool]float64{true: c.equality, false: c.inequality} {
			if got := constraint.Excess(c.v, equality); got != want || math.Signbit(got) {
				t.Errorf("Excess(%v, %v) = %v, want %v", c.v, equality, got, want)
			}
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		m         int
		excess    float64
		component int
	}{
		{nil, 0, 0, -1}, {[]float64{0, -3}, 1, 0, -1}, {[]float64{-3, 2}, 1, 3, 0}, {[]float64{-3, 4, 4}, 1, 4, 1},
		{[]float64{-3, -4}, 2, 4, 1}, {[]float64{1, math.NaN(), math.Inf(1)}, 3, math.Inf(1), 1},
	} {
		if excess, component := constraint.Worst(c.values, c.m); excess != c.excess || component != c.component {
			t.Errorf("Worst(%v, %d) = %v of %d, want %v of %d", c.values, c.m, excess, component, c.excess, c.component)
		}
	}
}
