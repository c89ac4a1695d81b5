package formula_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// bowl is the part of the unit sphere with x₂ ≤ 0.3, by hand.
type bowl struct{ zoo.Sphere }

func (bowl) Inequalities() []string                  { return []string{"rim"} }
func (bowl) Capabilities() constraint.Capabilities   { return constraint.Capabilities{} }
func (s bowl) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (b bowl) Values(values, x []float64, n int) {
	h := make([]float64, n)
	b.Sphere.Values(h, x, n)
	for i := range n {
		values[2*i], values[2*i+1] = h[i], x[3*i+2]-0.3
	}
}

func (b bowl) Jacobians(values, jac, x []float64, n int) {
	h, j := make([]float64, n), make([]float64, 3*n)
	b.Sphere.Jacobians(h, j, x, n)
	b.Values(values, x, n)
	for i := range n {
		copy(jac[6*i:6*i+3], j[3*i:3*i+3])
		copy(jac[6*i+3:6*i+6], []float64{0, 0, 1})
	}
}

func (b bowl) HessianVectors(dst, x, v []float64, n int) {
	h := make([]float64, 3*n)
	b.Sphere.HessianVectors(h, x, v, n)
	clear(dst[:6*n])
	for i := range n {
		copy(dst[6*i:6*i+3], h[3*i:3*i+3])
	}
}

// OLLA and ULLA on a set with an equality and an inequality walk the same way on
// formulas and on hand-written Go, and the rim is met on the way.
func TestProcesses(t *testing.T) {
	f := build(t, `
dim: 3
equality:
  - {name: radius, expr: "norm(x) = 1"}
inequality:
  - {name: rim, expr: "x[2] <= 0.3"}
`)
	const rows, steps = 64, 30
	for _, method := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		for _, implicit := range []bool{true, false} {
			for _, curvature := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v implicit=%v curvature=%v", method, implicit, curvature), func(t *testing.T) {
					walk := func(p *langevin.Process) ([]float64, int) {
						p.Method, p.Friction, p.Repulsion, p.Curvature = method, 5, 0.02, curvature
						p.Schedule = langevin.Schedule{N: steps, T: 1, SigmaMin: 0.5, SigmaMax: 1}
						p.Landing = langevin.Landing{Explicit: !implicit, Rate: 20}
						testkit.OK(t, p.Validate())
						s := p.NewStepper(rows)
						start := keyed.New(1, keyed.Probe, 0)
						x, prev, next, ζ := make([]float64, 3*rows), make([]float64, 3*rows), make([]float64, 3*rows),
							make([]float64, 3*rows)
						for i := range uint64(rows) {
							zoo.Sphere{D: 3}.SampleUniform(x[3*i:3*i+3], start, i)
							x[3*i+2] = -math.Abs(x[3*i+2])
						}
						copy(prev, x)
						failed, over := make([]bool, rows), 0
						for k := range steps {
							start.Normals(ζ, 1000, k)
							testkit.Must(s.Forward(next, x, prev, ζ, failed, rows, k))
							prev, x, next = x, next, prev
							for i := range rows {
								// Beyond the rim, or pushed back to g = −ε.
								if z := x[3*i+2]; z > 0.3 || math.Abs(z-0.28) < 1e-9 {
									over++
								}
							}
						}
						return x, over
					}
					want, over := walk(&langevin.Process{Set: bowl{zoo.Sphere{D: 3}}, Walls: langevin.PaperWalls})
					got, _ := walk(&langevin.Process{Set: f, Walls: langevin.PaperWalls})
					if over == 0 {
						t.Fatal("no walk met the rim: the test shows nothing")
					}
					near(t, "x", got, want, 1e-10)
				})
			}
		}
	}
}

// On affine formulas explicit landing shrinks h, and an active g + ε, by the factor
// 1 − ασ²Δt a step, whatever the noise (the decay lemma).
func TestDecay(t *testing.T) {
	f := build(t, `
dim: 4
equality:
  - {name: "sum", expr: "x[0] + 2*x[1] - x[2] = 0.5"}
inequality:
  - {name: floor, expr: "0.2 - x[3] + 0.1*x[0] <= 0"}
`)
	const rows, α, ε = 16, 3.0, 0.05
	p := &langevin.Process{
		Set: f, Method: langevin.OLLA, Walls: langevin.PaperWalls, Repulsion: ε,
		Landing:  langevin.Landing{Explicit: true, Rate: α},
		Schedule: langevin.Schedule{N: 10, T: 1, SigmaMin: 0.5, SigmaMax: 1},
	}
	testkit.OK(t, p.Validate())
	x, next, ζ := make([]float64, 4*rows), make([]float64, 4*rows), make([]float64, 4*rows)
	st := keyed.New(2, keyed.Probe, 0)
	st.Normals(x, 0, 0)
	s, failed := p.NewStepper(rows), make([]bool, rows)
	before, after := make([]float64, 2*rows), make([]float64, 2*rows)
	active := 0
	for k := range 10 {
		st.Normals(ζ, 1, k)
		testkit.Must(s.Forward(next, x, nil, ζ, failed, rows, k))
		f.Values(before, x, rows)
		f.Values(after, next, rows)
		keep := 1 - α*p.Schedule.Tau(k)
		for i := range rows {
			if h := before[2*i]; math.Abs(after[2*i]-keep*h) > 1e-12*(1+math.Abs(h)) {
				t.Fatalf("step %d: h = %v after %v, want a factor %v", k, after[2*i], h, keep)
			}
			if g := before[2*i+1]; g >= 0 {
				active++
				if math.Abs(after[2*i+1]+ε-keep*(g+ε)) > 1e-12*(1+g) {
					t.Fatalf("step %d: g + ε = %v after %v, want a factor %v", k, after[2*i+1]+ε, g+ε, keep)
				}
			}
		}
		x, next = next, x
	}
	if active == 0 {
		t.Fatal("the inequality was never active: the test shows nothing")
	}
}

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
