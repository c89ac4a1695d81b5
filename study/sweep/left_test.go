package sweep

import (
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The time that is left is that of cells which are most like those that are to be run: of the line, of the problem
// and budget, of the budget, any; of a budget in seconds itself, where none has ended; else it is not known.
func TestTimeLeft(t *testing.T) {
	var cells []*Cell
	var state []CellStatus
	add := func(problem, method string, b Budget, seed uint64, seconds float64) int {
		c := &Cell{Budget: b, Label: compare.Label{Problem: problem, Method: method, Budget: b.String(), Seed: seed},
			Unit: &work.Unit{}}
		st := CellStatus{State: work.Waiting}
		if seconds > 0 {
			st = CellStatus{State: work.Done, Entry: &compare.Entry{Row: compare.Row{Label: c.Label},
				Cost: compare.Cost{Cell: metric.Float(seconds)}}}
		}
		cells, state = append(cells, c), append(state, st)
		return len(cells) - 1
	}
	few, many, timed := Budget{Epochs: 5}, Budget{Epochs: 50}, Budget{Seconds: 90}
	s := &session{plan: &Plan{}}
	want := func(i int, seconds float64) {
		t.Helper()
		s.plan.Cells, s.state = cells, state
		got := s.seconds(cells[i])
		if float64(got) != seconds && !(got.IsNaN() && seconds < 0) {
			t.Errorf("%+v: %v s, want %v", cells[i].Label, got, seconds)
		}
	}
	a := add("p", "A", few, 3, 0)
	b := add("p", "B", timed, 1, 0)
	want(a, -1)
	want(b, 90)
	add("q", "B", many, 1, 100)
	want(a, 100)
	want(b, 100)
	add("q", "A", few, 1, 50)
	want(a, 50)
	add("p", "B", few, 1, 20)
	want(a, 20)
	add("p", "A", few, 1, 8)
	add("p", "A", few, 2, 10)
	want(a, 9)
	s.mine = []int{a, b, 2}
	testkit.Equal(t, s.left(), 9+(100+50+20+8+10)/5.0)
	state[a] = CellStatus{State: work.Failed, Entry: &compare.Entry{Cost: compare.NoCost()}}
	if p := s.progress(1); p.Failed != 1 || p.Cell != 2 || p.Of != 3 || p.Left.IsNaN() {
		t.Errorf("%+v", p)
	}
}
