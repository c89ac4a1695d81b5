package sweep

import (
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The time that is left is that of the cells that ended, for each one that is open; where none has ended their budgets
// in seconds, else it is not known.
func TestTimeLeft(t *testing.T) {
	s := &session{plan: &Plan{}}
	add := func(b Budget, state work.State, seconds float64) {
		s.mine = append(s.mine, len(s.state))
		s.plan.Cells = append(s.plan.Cells, &Cell{Budget: b})
		s.state = append(s.state, CellStatus{State: state,
			Entry: &compare.Entry{Cost: compare.Cost{Cell: metric.Float(seconds)}}})
	}
	add(Budget{Seconds: 90}, work.Waiting, 0)
	add(Budget{Seconds: 60}, work.Begun, 0)
	testkit.Equal(t, s.secondsLeft(), 150)
	add(Budget{Epochs: 5}, work.Waiting, 0)
	if got := s.secondsLeft(); !got.IsNaN() {
		t.Errorf("without a clock it is %v", got)
	}
	add(Budget{Epochs: 5}, work.Done, 10)
	add(Budget{Epochs: 5}, work.Done, 30)
	add(Budget{Epochs: 5}, work.Failed, 0)
	testkit.Equal(t, s.secondsLeft(), 60)
	if p := s.progress(1); p.Failed != 1 || p.Cell != 2 || p.Of != 6 || p.Left != 60 {
		t.Errorf("%+v", p)
	}
}
