package formula_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
