package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Start and goal become the condition of the set's open places, in its order; what is not open, is
// missing or is of another length is named.
func TestEnds(t *testing.T) {
	recipe, _, err := problem.Source("arm")
	testkit.OK(t, err)
	run := func(set ...string) *Loaded {
		p := testkit.Must(problem.Load(recipe, "", "", problem.ParseSettings(set...)))
		l := &Loaded{Settled: settle.Settled{Problem: p}}
		l.Process = testkit.Must(p.Build())
		if names := p.Condition.Columns; names != nil {
			d := l.Process.Set.Dim()
			l.Condition = newCondition(names, make([]float64, 2*d), d)
		}
		return l
	}
	both := run("set.start={joints: condition}", "set.goal={position: condition}")
	asked, err := both.Between("0.1,0.2,0.3,-2,0.5,1.5, 0.7", "0.4,0.5,0.205")
	if err != nil || len(asked.Rows) != 17 {
		t.Fatalf("%v, %v", asked, err)
	}
	for k, want := range map[int]float64{0: math.Cos(0.1), 3: math.Cos(-2), 7: math.Sin(0.1), 10: math.Sin(-2),
		14: 0.4, 15: 0.5, 16: 0.205} {
		if math.Abs(asked.Rows[k]-want) > 1e-15 {
			t.Errorf("%s is %v, want %v", both.Condition.Names[k], asked.Rows[k], want)
		}
	}
	goal, closed := run("set.goal={position: condition}", "condition.columns=[a, b, c]"), run()
	// names of a person's own are for the same numbers
	got, err := goal.Between("", "0.4, 0.5,0.2")
	if err != nil || !slices.Equal(got.Rows, []float64{0.4, 0.5, 0.2}) || !strings.Contains(got.Warning, "a is 0.4") {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct {
		l                 *Loaded
		start, goal, want string
	}{
		{both, "0.4,0.5,0.2", "0.4,0.5,0.2", `--start is "0.4,0.5,0.2"; expected 7 numbers, values of the joints`},
		{both, "", "0.4,0.5,0.2", "the run leaves its start open: expected --start with 7 numbers"},
		{goal, "0.4,0.5,0.2", "0.4,0.5,0.2", "expected none: the set of the run does not leave its start open"},
		{goal, "", "0.4,nan,0.2", `--goal is "0.4,nan,0.2"; expected three numbers in metres`},
		{goal, "", "0.4,0.2", `--goal is "0.4,0.2"; expected three numbers in metres`},
		{closed, "0.4,0.5,0.2", "", "no arm that leaves start or goal open"},
		{&Loaded{Settled: settle.Settled{Process: &langevin.Process{Set: zoo.Sphere{D: 3}}}}, "1,1,1", "",
			"of motions of an arm; the run's set is sphere"},
		{&Loaded{Settled: settle.Settled{Process: &langevin.Process{Set: closed.Process.Set}}}, "", "1,1,1",
			"no arm that leaves"},
	} {
		_, err := c.l.Between(c.start, c.goal)
		if fault.KindOf(err) != fault.Config || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q to %q: %v, want %s", c.start, c.goal, err, c.want)
		}
	}
}
