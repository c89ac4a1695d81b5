package constraint_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// written returns a set of formulas; those that begin with "g:" are inequalities.
func written(dim int, formulas ...string) constraint.Set {
	spec := formula.Spec{Dim: dim}
	for i, f := range formulas {
		name := fmt.Sprintf("f%d", i)
		if rest, ok := strings.CutPrefix(f, "g:"); ok {
			spec.Inequality = append(spec.Inequality, formula.Component{Name: name, Expr: rest})
		} else {
			spec.Equality = append(spec.Equality, formula.Component{Name: name, Expr: f})
		}
	}
	return testkit.Must(formula.New(spec))
}

// potato is the level set of a network, near a sphere.
func potato() constraint.Set {
	n := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 12, 1}, 1), Beta: 3}
	n.Bias(1)[0] = -2
	for i := range 12 {
		copy(n.Weight(0)[3*i:3*i+3], []float64{math.Cos(float64(i)), math.Sin(float64(i)),
			math.Cos(2.5*float64(i) + 1)})
		n.Bias(0)[i], n.Weight(1)[i] = 0, 0.5
	}
	return levelset.New(n)
}

// Joined sets of all kinds pass the suite, as those that they are made of do.
func TestJoined(t *testing.T) {
	sphere, torus := zoo.Sphere{D: 3}, zoo.Torus{Major: 2, Minor: 0.6}
	box := testkit.Must(zoo.NewBox([]float64{-1, -1}, []float64{1, 0.5}))
	o3 := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	stiefel := testkit.Must(zoo.NewStiefel(3, 2))
	chain := testkit.Must(zoo.NewChain(2, []float64{1, 1.5, 1}, nil, true))
	lens := written(3, "norm(x) = 1", "g:x[0] <= 0.4", "g:x[1]*x[2] <= 0.3")
	for name, s := range testkit.Ordered(map[string]constraint.Set{
		"spheres":              constraint.Product(sphere, zoo.Sphere{D: 2, R: 2}),
		"torus × sphere × box": constraint.Product(torus, sphere, box),
		"O(3) × sphere":        constraint.Product(o3, sphere),
		"O(3) × Stiefel":       constraint.Product(o3, stiefel, o3),
		"formulas × chain":     constraint.Product(lens, chain),
		"potato × box":         constraint.Product(potato(), box),
		"ellipsoid × formulas": constraint.Product(zoo.Ellipsoid{Axes: []float64{1, 2}}, lens),
		"cap × simplex": constraint.Product(testkit.Must(zoo.NewCap([]float64{0, 1, 1}, 0.2)),
			testkit.Must(zoo.NewSimplex(3))),
		"product of products":    constraint.Product(constraint.Product(sphere, chain), constraint.Product(torus)),
		"plain × sphere":         constraint.Product(sets.Plain(torus), sphere),
		"free × sphere":          constraint.Product(zoo.Euclidean{D: 2}, sphere),
		"half a sphere":          constraint.All(sphere, written(3, "g:x[0] <= 0.1", "g:x[1] + x[2] <= 0.8")),
		"sphere twice":           constraint.All(sphere, sphere),
		"sphere again otherwise": constraint.All(sphere, written(3, "x[0]^2 + x[1]^2 + x[2]^2 = 1")),
		"circle":                 constraint.All(sphere, zoo.Affine{A: [][]float64{{0, 0.6, 0.8}}, B: []float64{0.3}}),
		"boxes":                  constraint.All(box, testkit.Must(zoo.NewBox([]float64{-0.5, -2}, nil))),
		"axis and its copy":      constraint.All(zoo.RedundantAxis{}, written(3, "x[0] + x[1] = 0", "x[0] - x[1] = 0")),
		"rotations with a wall":  constraint.All(o3, written(9, "g:x[0] <= 0.7")),
		"potato cut":             constraint.All(potato(), written(3, "g:x[2] <= 0.3")),
		"coupled spheres": constraint.All(constraint.Product(sphere, sphere),
			written(6, "dot(x[0:3], x[3:6]) = 0.2")),
		"product of all": constraint.Product(constraint.All(sphere, written(3, "g:x[0] <= 0.1")), torus),
		"all of all": constraint.All(constraint.All(sphere, written(3, "g:x[0] <= 0.1")),
			written(3, "g:x[1] <= 0.3")),
		"edge of a product":   constraint.Edge(constraint.Product(sphere, box), 1),
		"sphere in a product": constraint.EqualitiesOf(constraint.Product(box, sphere)),
	}) {
		c := s.Capabilities()
		testkit.KeepValue(t, []any{name, c.Name, c.Work, c.Support, c.Names, c.Parts, c.Held})
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, s, constrainttest.Options{Points: 8}) })
	}
}

// The components of a product are those of its factors at their own coordinates, under names that say whose.
func TestProductIsItsFactors(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{-1, -1}, []float64{1, 0.5}))
	lens := written(3, "norm(x) = 1", "g:x[0] <= 0.4")
	s := constraint.Product(box, constraint.Factor{Name: "lens", Set: lens}, zoo.Torus{Major: 2, Minor: 0.6})
	if got := fmt.Sprint(s.Equalities(), s.Inequalities()); got !=
		"[lens.f0 2.tube] [0.lower[0] 0.lower[1] 0.upper[0] 0.upper[1] lens.f1]" {
		t.Errorf("components %s", got)
	}
	x := []float64{0.1, 2, 0.5, -1, 2, 1, 2, 3}
	b, l, u := constraint.Values(box, x[:2]), constraint.Values(lens, x[2:5]),
		constraint.Values(zoo.Torus{Major: 2, Minor: 0.6}, x[5:])
	testkit.EqualSlices(t, constraint.Values(s, x), []float64{l[0], u[0], b[0], b[1], b[2], b[3], l[1]}, "values")
	testkit.Equal(t, fmt.Sprint(s.Capabilities().Support), "[[2 3 4] [5 6 7] [0] [1] [0] [1] [2]]", "support")
	if n := geometry.JacobianSize(s); n != 2*3+1*3+2*1+2*1 { // lens, torus, x_0, x_1
		t.Errorf("derivatives are kept as %d numbers", n)
	}
	if got := s.Capabilities().Name; got != "product of box in R^2 and set of formulas in R^3 with 1 equality and "+
		"1 inequality and torus" {
		t.Errorf("name %q", got)
	}
}

// Names stay where they are one set's alone, and tell the sets apart where they are not.
func TestNamesOfAll(t *testing.T) {
	sphere := zoo.Sphere{D: 3}
	for _, c := range []struct {
		sets []constraint.Set
		want string
	}{
		{[]constraint.Set{sphere, written(3, "x[0]")}, "[radius f0]"},
		{[]constraint.Set{sphere, written(3, "x[0]"), zoo.Sphere{D: 3, R: 2}}, "[0.radius f0 2.radius]"},
		{[]constraint.Set{sphere, sphere, testkit.Must(formula.New(formula.Spec{Dim: 3,
			Equality: []formula.Component{{Name: "0.radius", Expr: "x[0]"}}}))}, "[0.radius 1.radius 2.0.radius]"},
	} {
		testkit.Equal(t, fmt.Sprint(constraint.Components(constraint.All(c.sets...))), c.want, "components")
	}
}

// What sets know of themselves survives a product and an intersection where it is true of them.
func TestJoinedKeep(t *testing.T) {
	o2 := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{Special: true}))
	sphere, torus := zoo.Sphere{D: 3}, zoo.Torus{Major: 2, Minor: 0.6}
	holds := func(s constraint.Set) string {
		c, e := s.Capabilities(), s.NewEvaluator(1)
		return fmt.Sprint(c.SampleUniform != nil, c.Selects != nil, c.Fault != nil, c.Support != nil,
			e.HessianVectors != nil, e.SparseJacobians != nil, e.Retract != nil, e.Geodesic != nil, e.Projector != nil)
	}
	for _, c := range []struct {
		set  constraint.Set
		want string
	}{ // draws, selects, explains, support, Hessian, sparse, retraction, geodesics, projector
		{constraint.Product(sphere, sphere), "true false false true true true true true false"},
		{constraint.Product(o2, o2), "true true false true true true true true true"},
		{constraint.Product(sphere, torus), "true false false true true true false false false"},
		{constraint.Product(sphere, sets.Plain(torus)), "false false false true false true false false false"},
		{constraint.Product(o2, written(2, "x[0]")), "false true true true true true false false false"},
		{constraint.All(o2, zoo.Sphere{D: 4, R: math.Sqrt2}), "false true false false true false false false false"},
		{constraint.All(o2, written(4, "x[0]")), "false true true true true true false false false"},
	} {
		if got := holds(c.set); got != c.want {
			t.Errorf("%s: %s, want %s", constraint.Name(c.set), got, c.want)
		}
	}
	two := constraint.Product(o2, o2).Capabilities()
	turn, flip := []float64{0, -1, 1, 0}, []float64{0, 1, 1, 0}
	if !two.Selects(slices.Concat(turn, turn)) || two.Selects(slices.Concat(turn, flip)) ||
		two.Selects(slices.Concat(flip, turn)) {
		t.Error("a product selects other points than its factors")
	}
	testkit.Equal(t, two.Selection, "det > 0 of SO(2) and det > 0 of SO(2)", "selection")
	log := written(1, "log(x[0])")
	err := constraint.Product(sphere, log).Capabilities().Fault([]float64{1, 0, 0, 0})
	testkit.Refused(t, err, `factor 1: constraint "f0": log(0)`)
	if o, ok := constraint.As[*zoo.Orthogonal](constraint.All(written(4, "x[0]"), o2)); !ok || o != o2 {
		t.Error("a set within an intersection is not found")
	}
	if _, ok := constraint.As[*zoo.Orthogonal](constraint.Product(o2, o2)); ok {
		t.Error("a factor is taken for its product")
	}
	for _, f := range []func(){
		func() { constraint.Product() }, func() { constraint.All() }, func() { constraint.All(sphere, o2) },
		func() { constraint.Product(sphere, constraint.Factor{Name: "0", Set: sphere}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

// Factors of a uniform point are independent, alike factors and nested products too: of 20 000 products of coordinates,
// of variance 1/9, the mean is within 5/(3√20000) = 0.012 with a false-alarm rate of 6·10⁻⁷; so are those of a factor
// of one sample with another of the next, or of the sample with twice the number.
func TestFactorsAreIndependent(t *testing.T) {
	sphere := zoo.Sphere{D: 3}
	s := constraint.Product(sphere, constraint.Product(sphere, sphere), sphere)
	const n = 20_000
	draw := s.Capabilities().SampleUniform
	x := make([][]float64, 2*n)
	for i := range x {
		x[i] = make([]float64, 12)
		draw(x[i], keyed.New(1, keyed.Probe, 41), uint64(i))
	}
	for name, other := range map[string]func(i int) int{
		"its own":   func(i int) int { return i },
		"the next":  func(i int) int { return i + 1 },
		"the twice": func(i int) int { return 2 * i },
	} {
		for a := range 4 {
			for b := range 4 {
				if a == b && name == "its own" {
					continue
				}
				sum := 0.0
				for i := 1; i < n; i++ {
					sum += x[i][3*a] * x[other(i)][3*b]
				}
				if math.Abs(sum/n) > 0.012 {
					t.Errorf("factor %d of a sample and %d of %s: mean product %v", a, b, name, sum/n)
				}
			}
		}
	}
}

// A geodesic of a product is one of each factor; where one has none, the vector that was to be carried stays.
func TestGeodesicOfProduct(t *testing.T) {
	s := constraint.Product(zoo.Sphere{D: 2}, zoo.Sphere{D: 2, R: 2}).NewEvaluator(1)
	x, y := []float64{1, 0, 2, 0}, []float64{math.Cos(0.3), math.Sin(0.3), 2 * math.Cos(0.5), -2 * math.Sin(0.5)}
	v, p := make([]float64, 4), []float64{-math.Sin(0.3), math.Cos(0.3), 0, 0}
	if !s.Geodesic(v, p, x, y) || math.Abs(v[1]-0.3) > 1e-14 || math.Abs(v[3]+1) > 1e-14 || math.Abs(p[1]-1) > 1e-14 {
		t.Errorf("velocity %v, carried %v", v, p)
	}
	y[2], y[3], p[0] = -2, 0, 7
	if s.Geodesic(v, p, x, y) || p[0] != 7 || math.Abs(p[1]-1) > 1e-14 {
		t.Errorf("to the opposite point: carried %v", p)
	}
	if s.Geodesic(v, nil, x, y) {
		t.Error("a shortest curve to the opposite point")
	}
}

// A point is regular where each factor is; elsewhere the product is factored.
func TestRegularProduct(t *testing.T) {
	o2 := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}))
	p := constraint.Product(o2, o2).NewEvaluator(1).Projector
	good, bad := []float64{0, -1, 1, 0}, []float64{1, 0, 0, 0}
	h, work, regular := make([]float64, 6), make([]float64, p.WorkSize()), make([]bool, 1)
	for _, c := range []struct {
		x    []float64
		want bool
	}{{slices.Concat(good, good), true}, {slices.Concat(good, bad), false}, {slices.Concat(bad, good), false}} {
		if p.Factor(h, work, regular, c.x, 1); regular[0] != c.want {
			t.Errorf("at %v regular is %v", c.x, regular[0])
		}
	}
}

// heavy is a set that says what it takes.
type heavy struct{ constraint.Set }

func (h heavy) Capabilities() constraint.Capabilities {
	c := h.Set.Capabilities()
	c.Work = 5
	return c
}

// The work of sets adds up, and stays with what is made of one.
func TestWork(t *testing.T) {
	one, d := heavy{zoo.Sphere{D: 3}}, 3
	for name, c := range map[string]struct {
		set  constraint.Set
		want float64
	}{
		"none":    {constraint.Product(zoo.Sphere{D: 2}, zoo.Sphere{D: 3}), 0},
		"product": {constraint.Product(one, zoo.Sphere{D: 3}, one), 10},
		"all":     {constraint.All(one, written(d, "g:x[0]"), one), 10},
		"held":    {constraint.Hold(one, []int{2}), 5},
		"given":   {constraint.Given(one, 2), 5},
	} {
		testkit.Equal(t, c.set.Capabilities().Work, c.want, "%s", name)
	}
}
