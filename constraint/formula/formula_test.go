package formula_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

func build(t testing.TB, text string) *formula.Set {
	t.Helper()
	var spec formula.Spec
	testkit.OK(t, yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.Strict()))
	return testkit.Must(formula.New(spec))
}

const sphere = `
dim: 3
equality:
  - {name: radius, expr: "norm(x) = 1"}
`

const torus = `
dim: 3
let: {R: "2", r: "0.6", rho: "norm(x[0:2])"}
equality:
  - {name: tube, expr: "sqrt((rho - R)^2 + x[2]^2) - r"}
`

const bonds = `
dim: 15
equality:
  - {name: "bond[j]", for: "j in 0..3", expr: "distance(x[3*j:3*j+3], x[3*j+3:3*j+6]) - 1.3"}
`

const box = `
dim: 3
inequality:
  - {name: low, expr: "-0.4*vector(i in 0..2, i+1) <= x"}
  - {name: "high[i]", for: "i in 0..2", expr: "x[i] <= 0.5 + 0.1*i"}
`

const arm = `
dim: 14
let: {c: "x[0:7]", s: "x[7:14]"}
equality:
  - {name: "unit[j]", for: "j in 0..6", expr: "c[j]^2 + s[j]^2 - 1"}
`

const floor = `
inequality:
  - {name: "floor[j]", for: "j in 0..6", expr: "s[j] >= -0.8"}
`

func TestSuite(t *testing.T) {
	for name, text := range testkit.Ordered(map[string]string{"sphere": sphere, "torus": torus, "bonds": bonds,
		"arm": arm, "box": box, "arm with a floor": arm + floor}) {
		c := build(t, text).Capabilities()
		testkit.KeepValue(t, []any{name, c.Name, c.Work, c.Support, c.Names, c.Families, c.Steps, c.StepDim})
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, build(t, text), constrainttest.Options{}) })
	}
}

func TestNames(t *testing.T) {
	got := constraint.Components(build(t, box))
	want := []string{"low[0]", "low[1]", "low[2]", "high[0]", "high[1]", "high[2]"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("components %q, want %q", got, want)
		}
	}
}

// The hand-written sets and the formulas agree to round-off, Hessian products included.
func TestHandWritten(t *testing.T) {
	for text, of := range map[string]constraint.Set{sphere: zoo.Sphere{D: 3}, torus: zoo.Torus{Major: 2, Minor: 0.6}} {
		const n = 300
		set := build(t, text)
		d, c := set.Dim(), len(constraint.Components(set))
		x := normals(1, n*d)
		v, w, j, k := make([]float64, n*c), make([]float64, n*c), make([]float64, n*c*d), make([]float64, n*c*d)
		set.NewEvaluator(n).Jacobians(v, j, x, n)
		hand := of.NewEvaluator(n)
		hand.Jacobians(w, k, x, n)
		near(t, text, v, w, 1e-13)
		near(t, text+" ∇", j, k, 1e-11)
		set.Values(w, x, n)
		near(t, text+" values", w, v, 0)
		u := normals(2, n*d)
		set.NewEvaluator(n).HessianVectors(j, x, u, n)
		hand.HessianVectors(k, x, u, n)
		near(t, text+" ∇²v", j, k, 1e-11)
	}
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}

// A call allocates nothing.
func TestNoAllocation(t *testing.T) {
	const n = 100
	s := build(t, torus).NewEvaluator(n)
	x, v, j := normals(1, n*3), make([]float64, n), make([]float64, n*3)
	for name, call := range map[string]func(){
		"Values":         func() { s.Values(v, x, n) },
		"Jacobians":      func() { s.Jacobians(v, j, x, n) },
		"HessianVectors": func() { s.HessianVectors(j, x, x, n) },
	} {
		if a := testing.AllocsPerRun(50, call); a >= 1 {
			t.Errorf("%s allocates %v times a call", name, a)
		}
	}
}

// Values and gradients of the reference implementation, on and off Σ.
func TestGoldenOps(t *testing.T) {
	for _, c := range []struct {
		file, spec string
		d          int
	}{{"md_ops.npz", "alanine.yaml", 30}, {"robot10_ops.npz", "arm.yaml", 140}} {
		t.Run(c.spec, func(t *testing.T) {
			text := testkit.Must(os.ReadFile("testdata/" + c.spec))
			set, g := build(t, string(text)), golden.Read(t, c.file)
			for _, where := range []string{"on", "off"} {
				f := func(name string) []float64 { return g[name+"_"+where].AsFloat64() }
				x := f("x")
				n := len(x) / c.d
				v, j := make([]float64, 2*n), make([]float64, 2*n*c.d)
				set.NewEvaluator(n).Jacobians(v, j, x, n)
				h, gv, jh, jg := f("h"), f("g"), f("jac_h"), f("jac_g")
				for i := range n {
					golden.Near(t, "h", v[2*i:2*i+1], h[i:i+1])
					golden.Near(t, "g", v[2*i+1:2*i+2], gv[i:i+1])
					golden.Near(t, "∇h", j[2*i*c.d:(2*i+1)*c.d], jh[i*c.d:(i+1)*c.d])
					golden.Near(t, "∇g", j[(2*i+1)*c.d:(2*i+2)*c.d], jg[i*c.d:(i+1)*c.d])
				}
			}
		})
	}
}

// ring has d equations in R^d, each of three coordinates, and an inequality for every third coordinate.
func ring(d int) formula.Spec {
	return formula.Spec{Dim: d,
		Equality: []formula.Component{{Name: "link[i]", For: fmt.Sprintf("i in 0..%d", d-1),
			Expr: "sin(x[i])*x[(i+1) % dim]^2 + x[(i+7) % dim] = 1"}},
		Inequality: []formula.Component{{Name: "cap[i]", For: fmt.Sprintf("i in 0..%d", (d-1)/3),
			Expr: "x[3*i]^4 <= 9"}}}
}

func normals(seed uint64, n int) []float64 {
	v := make([]float64, n)
	keyed.New(seed, keyed.Probe, 1).Normals(v, 0, 0)
	return v
}

// Packed Hessian products are the numbers of whole rows along the support, through every set that wraps formulas.
func TestPackedHessianProducts(t *testing.T) {
	const d, n = 260, 3
	s := testkit.Must(formula.New(ring(d)))
	held := constraint.Hold(s, []int{4, 5, d - 1})
	for name, s := range map[string]constraint.Set{
		"formulas": s, "view": constraint.Edge(s, 2), "hold": held, "slice": constraint.Slice(held, []float64{1, 2, 3}),
		"all": constraint.All(s, constraint.EqualitiesOf(s)), "product": constraint.Product(s, s),
		"given": constraint.Given(s, 2),
	} {
		d, c, size := s.Dim(), len(constraint.Components(s)), 0
		support := s.Capabilities().Support
		for _, at := range support {
			size += len(at)
		}
		x, v := normals(1, n*d), normals(2, n*d)
		rows, packed := make([]float64, n*c*d), make([]float64, n*size)
		e := s.NewEvaluator(n)
		e.HessianVectors(rows, x, v, n)
		e.SparseHessianVectors(packed, x, v, n)
		some := false
		for i := range n * c {
			for _, j := range support[i%c] {
				if packed[0] != rows[i*d+j] {
					t.Fatalf("%s: ∇²v[%d] of component %d is %v packed, %v in full", name, j, i%c, packed[0],
						rows[i*d+j])
				}
				some = some || packed[0] != 0
				packed = packed[1:]
			}
		}
		testkit.Equal(t, some, true, "%s: a product is not 0", name)
	}
	if e := testkit.Must(formula.New(ring(150))).NewEvaluator(1); e.SparseHessianVectors != nil {
		t.Error("a small set has packed products; its curvature would be rounded otherwise than before")
	}
}

// Ten thousand equations take memory in proportion to their size: a Jacobian in full would have 1.3e8 numbers.
func TestLargeSetsArePacked(t *testing.T) {
	const d = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := testkit.Must(formula.New(ring(d)))
	e, size := s.NewEvaluator(1), 0
	for _, at := range s.Capabilities().Support {
		size += len(at)
	}
	x := normals(1, d)
	e.SparseJacobians(make([]float64, len(constraint.Components(s))), make([]float64, size), x, 1)
	e.SparseHessianVectors(make([]float64, size), x, x, 1)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 800 {
		t.Errorf("compiling and evaluating takes %d MB", mb)
	}
}

// spacecraft is a planar flight about a centre of gravity with limited thrust, from a place that is given.
func spacecraft(steps int) formula.Sequence {
	return formula.Sequence{
		Steps: steps, State: []string{"p[2]", "v[2]", "u[2]", "m"}, Given: []string{"px", "py"},
		Let: formula.Definitions{{Name: "h", Expr: "1/8"}, {Name: "r", Expr: "norm(p)"},
			{Name: "a", Expr: "u/m - p/r^3"}, {Name: "mean(w)", Expr: "(w + next(w))/2"},
			{Name: "gain", Expr: "h*mean(a)"}, {Name: "most", Make: func(s *expr.Scope) error { // as of a file
				return s.Define("most", s.Graph().Array([]float64{1, 2, 3, 4}, 4))
			}}},
		First: []formula.Component{{Name: "from", Expr: "p = [px, py]"}, {Name: "full", Expr: "m = 1"}},
		Between: []formula.Component{{Name: "dynamics.p", Expr: "next(p) - p = h*mean(v)"},
			{Name: "dynamics.v[i]", For: "i in 0..1", Expr: "next(v[i]) - v[i] = gain[i]"},
			{Name: "burn", Expr: "next(m) <= m"},
			{Name: "smooth", Expr: "next(next(m)) - 2*next(m) + m <= 0.1*(step + 1)"}},
		Within: []formula.Component{{Name: "thrust", Expr: "dot(u, u) <= most[step]"},
			{Name: "clear", Expr: "r >= 0.5"}},
		Last: []formula.Component{{Name: "berth", Expr: "p = [1, 0.5]"}},
	}
}

// A sequence is the set that its formulas are when they are written out step by step.
func TestSequence(t *testing.T) {
	const L, n = 4, 7
	s := testkit.Must(formula.NewSequence(spacecraft(L)))
	d := L*n + 2
	if c := s.Capabilities(); s.Dim() != d || c.Steps != L || c.StepDim != n ||
		strings.Join(c.StepNames, " ") != "p[0] p[1] v[0] v[1] u[0] u[1] m" {
		t.Errorf("%d %+v", s.Dim(), c)
	}
	x := make([]float64, d)
	keyed.New(1, keyed.Probe, 0).Normals(x, 0, 0)
	values := map[string]float64{}
	at := func(l, k int) float64 { return x[l*n+k] }
	for l := range L {
		r := math.Hypot(at(l, 0), at(l, 1))
		values[fmt.Sprintf("thrust[%d]", l)] = at(l, 4)*at(l, 4) + at(l, 5)*at(l, 5) - float64(l+1)
		values[fmt.Sprintf("clear[%d]", l)] = 0.5 - r
		a := func(l, i int) float64 {
			return at(l, 4+i)/at(l, 6) - at(l, i)/math.Pow(math.Hypot(at(l, 0), at(l, 1)), 3)
		}
		if l < L-2 {
			values[fmt.Sprintf("smooth[%d]", l)] = at(l+2, 6) - 2*at(l+1, 6) + at(l, 6) - 0.1*float64(l+1)
		}
		if l == L-1 {
			break
		}
		values[fmt.Sprintf("burn[%d]", l)] = at(l+1, 6) - at(l, 6)
		for i := range 2 {
			values[fmt.Sprintf("dynamics[%d].p[%d]", l, i)] = at(l+1, i) - at(l, i) - (at(l, 2+i)+at(l+1, 2+i))/16
			values[fmt.Sprintf("dynamics[%d].v[%d]", l, i)] = at(l+1, 2+i) - at(l, 2+i) - (a(l, i)+a(l+1, i))/16
		}
	}
	for i := range 2 {
		values[fmt.Sprintf("from[%d]", i)] = at(0, i) - x[L*n+i]
		values[fmt.Sprintf("berth[%d]", i)] = at(L-1, i) - []float64{1, 0.5}[i]
	}
	values["full"] = at(0, 6) - 1
	names, got := constraint.Components(s), constraint.Values(s, x)
	for i, name := range names {
		if want, ok := values[name]; !ok || math.Abs(got[i]-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("%s is %v, want %v", name, got[i], want)
		}
	}
	testkit.Equal(t, len(names), len(values), "components")
	// A component depends on one step, or on neighbours; families hold components of their name, each once.
	seen := map[int]bool{}
	for _, f := range s.Capabilities().Families {
		stem, _, _ := strings.Cut(strings.ReplaceAll(f.Name, "[i]", ""), ".")
		for _, i := range f.Of {
			if seen[i] || !strings.HasPrefix(names[i], stem) {
				t.Errorf("%s has %s", f.Name, names[i])
			}
			seen[i] = true
			free := s.Capabilities().Support[i]
			if reach := slices.Max(free)/n - free[0]/n; reach > 1 && f.Name != "smooth" && f.Name != "from" {
				t.Errorf("%s reaches over %d steps", names[i], reach)
			}
		}
	}
	testkit.Equal(t, len(seen), len(names), "components in families")
	constrainttest.Run(t, s, constrainttest.Options{})
}

func TestSequenceFaults(t *testing.T) {
	for _, c := range []struct {
		change func(q *formula.Sequence)
		want   string
	}{
		{func(q *formula.Sequence) { q.Steps = 1 }, "steps: 1; expected 2 to 142857 steps of 7 coordinates"},
		{func(q *formula.Sequence) { q.State = nil }, "state: missing"},
		{func(q *formula.Sequence) { q.State[1] = "v[2" }, `state[1]: "v[2"; expected a name such as v`},
		{func(q *formula.Sequence) { q.State[1] = "v[9999]" }, `state[1]: "v[9999]"`},
		{func(q *formula.Sequence) { q.State[1] = "m" }, "state[3]: m: the name is defined twice"},
		{func(q *formula.Sequence) { q.State[1] = "next" }, "state[1]: next: the name is part of the language"},
		{func(q *formula.Sequence) { q.Within[1].Expr = "q >= 1" },
			`within[1].expr: clear[0]: unknown name "q"`},
		{func(q *formula.Sequence) { q.Within[1].Expr = "next(m) <= m" }, "within[1].expr: clear[0]: there is " +
			"no next step here: next(…) is for formulas between steps that have one"},
		{func(q *formula.Sequence) { q.Within[1].Expr = "gain[0] <= 1" },
			"within[1].expr: clear[3]: there is no next step here"},
		{func(q *formula.Sequence) { q.Last[0].Expr = "next(p) = p" },
			"last[0].expr: berth: there is no next step here"},
		{func(q *formula.Sequence) { q.Between[0].Expr = "next(next(next(next(p)))) = p" },
			"between[0].expr: dynamics[0].p: there is no next step here"},
		{func(q *formula.Sequence) { q.Between[0].Expr = "next(p, 2) = p" },
			"between[0].expr: dynamics[0].p: next takes one argument, not 2"},
		{func(q *formula.Sequence) { q.Within[0].Expr = "dot(u, u)" },
			"within[0].expr: thrust[0]: a value alone; expected left = right, left <= right or left >= right"},
		{func(q *formula.Sequence) { q.Within[0].Name = "burn" }, `between[2].name: "burn[0]" names two constraints`},
		{func(q *formula.Sequence) { q.Within[0].Name = "" }, "within[0].name: missing"},
		{func(q *formula.Sequence) { q.Between[0].Name = "" }, "between[0].name: missing"},
		{func(q *formula.Sequence) { q.Let[1].Expr = "norm(q)" }, `let.r: r: unknown name "q"`},
		{func(q *formula.Sequence) { *q = formula.Sequence{Steps: 3, State: []string{"x"}} }, "between: missing"},
	} {
		q := spacecraft(4)
		c.change(&q)
		if _, err := formula.NewSequence(q); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
