package formula_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/formula"
)

// Faults at points name the component and the place.
func TestFaultAtPoint(t *testing.T) {
	s := build(t, torus)
	err := s.Fault([]float64{0, 0, 1})
	want := `constraint "tube": sqrt(0) has the derivative +Inf, at column 1 of "norm(x[0:2])"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := s.Fault([]float64{2, 0.1, 0.3}); err != nil {
		t.Errorf("a fault on the torus: %v", err)
	}
}

// A Spec that cannot be a set is refused with the entry at fault.
func TestSpecFaults(t *testing.T) {
	one := func(name, text string) []formula.Component { return []formula.Component{{Name: name, Expr: text}} }
	for _, c := range []struct {
		spec formula.Spec
		want string
	}{
		{formula.Spec{}, "dim: 0; expected the number of coordinates, at least 1"},
		{formula.Spec{Dim: 2}, "equality: missing; expected at least one equality or inequality"},
		{formula.Spec{Dim: 2, Let: formula.Definitions{{Name: "c", Expr: "y"}}, Equality: one("a", "c")},
			`let.c: c: unknown name "y"`},
		{formula.Spec{Dim: 2, Equality: one("", "x[0]")}, "equality[0].name: missing"},
		{formula.Spec{Dim: 2, Inequality: one("a", "x[0] = 1")},
			"inequality[0].expr: a: an equation stands under inequality"},
		{formula.Spec{Dim: 2, Equality: one("a", "x = [1, 2, 3]")},
			`equality[0].expr: a: -: shapes do not fit, a vector of 2 and a vector of 3, at column 3`},
		{formula.Spec{Dim: 2, Equality: one("a", "let r = 2; r = q")},
			`equality[0].expr: a: unknown name "q"; known are dim, pi, r, x, at column 16 of "let r = 2; r = q"`},
		{formula.Spec{Dim: 2, Equality: one("a", "x[0] = 1 = 2")}, `equality[0].expr: a: unexpected "="`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a", For: "j in 0..1", Expr: "x[j]"}}},
			`equality[0].name: "a" names two constraints`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[k]", For: "j in 0..1", Expr: "x[j]"}}},
			`equality[0].name: unknown name "k"`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[j", For: "j in 0..1", Expr: "x[j]"}}},
			`equality[0].name: expected a closing ]`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[j]", For: "j in 0..2", Expr: "x[j]"}}},
			`equality[0].expr: a[2]: index 2 out of range`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[j]", For: "j in 0..x[0]", Expr: "x[j]"}}},
			`equality[0].for: a[j]: an index must not depend on x, at column 10`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[j]", For: "j in 0..", Expr: "x[j]"}}},
			`equality[0].for: a[j]: the range ends too early; expected one such as j in 0..6, at column 8 of "j ` +
				`in 0.."`},
		{formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "a[j]", For: "j in 0..99999", Expr: "x[0] = j"}}},
			`equality[0].name: "a[16384]": more than 16384 constraints`},
	} {
		_, err := formula.New(c.spec)
		if err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Families, ranges and relations give the names, order and signs that they say.
func TestFamilies(t *testing.T) {
	s := build(t, `
dim: 6
let: {p: "reshape(x, 3, 2)", least: 0.5}
equality:
  - {name: "pair[i,j]", for: "i in 0..2, j in i+1..2", expr: "distance(p[i], p[j]) = i + j"}
  - {name: both, expr: "p[0] = p[1]"}
inequality:
  - {name: "low[2*i]", for: "i in 0..1", expr: "x[i] >= least"}
  - {name: high, expr: "x[5] ≤ 1"}
  - {name: own, expr: "let r = 2; x[5] - r <= r*r"}
`)
	if got, want := fmt.Sprint(s.Equalities(), s.Inequalities()),
		"[pair[0,1] pair[0,2] pair[1,2] both[0] both[1]] [low[0] low[2] high own]"; got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	v := make([]float64, 9)
	s.Values(v, []float64{0, 0, 3, 4, 0, 7}, 1)
	near(t, "values", v, []float64{5 - 1, 7 - 2, math.Sqrt(18) - 3, -3, -4, 0.5, 0.5, 6, 1}, 1e-15)
}
