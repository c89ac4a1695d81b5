package formula_test

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint/formula"
)

// A set as a problem file writes it: two unit vectors in the plane at an angle of at most 90°.
func ExampleNew() {
	text := `
dim: 4
let: {c: "x[0:2]", s: "x[2:4]"}
equality:
  - {name: "unit[j]", for: "j in 0..1", expr: "c[j]^2 + s[j]^2 = 1"}
inequality:
  - {name: angle, expr: "dot([c[0], s[0]], [c[1], s[1]]) >= 0"}
`
	var spec formula.Spec
	if err := yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.Strict()); err != nil {
		fmt.Println(err)
		return
	}
	set, err := formula.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := make([]float64, 3)
	set.Values(values, []float64{1, 0.6, 0, 0.8}, 1)
	fmt.Println(set)
	fmt.Println(set.Equalities(), set.Inequalities(), values)
	fmt.Println("angle varies with coordinates", set.Support()[2])
	// Output:
	// set of formulas in R^4 with 2 equalities and 1 inequality
	// [unit[0] unit[1]] [angle] [0 0 -0.6]
	// angle varies with coordinates [0 1 2 3]
}

// A fault is named with its component, its formula and the place in it.
func ExampleNew_fault() {
	_, err := formula.New(formula.Spec{
		Dim:      3,
		Equality: []formula.Component{{Name: "radius", Expr: "norm(x[0:4]) = 1"}},
	})
	for _, part := range strings.Split(err.Error(), ", at ") {
		fmt.Println(part)
	}
	// Output:
	// equality[0].expr: radius: slice [0:4] out of range: a vector of 3 has bounds 0 to 3
	// column 7 of "norm(x[0:4]) = 1"
}

// The same tape from Go: a chain of three beads with bonds of length 1, outside a ball.
func ExampleBuilder() {
	const beads = 3
	b := formula.NewBuilder(3 * beads)
	bead := b.X().Reshape(beads, 3)
	one, radius := b.Const(1), b.Const(0.5)
	for i := range beads - 1 {
		b.Equality(fmt.Sprintf("bond[%d]", i), expr.Distance(bead.At(i), bead.At(i+1)).Sub(one))
	}
	for i := range beads {
		b.Inequality(fmt.Sprintf("ball[%d]", i), radius.Sub(expr.Norm(bead.At(i))))
	}
	set, err := b.Set()
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{1, 0, 0, 1, 1, 0, 1, 1, 1}
	values, jacobian := make([]float64, 5), make([]float64, 5*9)
	set.NewEvaluator(1).Jacobians(values, jacobian, x, 1)
	fmt.Printf("%.3f\n", values)
	fmt.Println(jacobian[1], jacobian[4])
	// Output:
	// [0.000 0.000 -0.500 -0.914 -1.232]
	// -1 1
}
