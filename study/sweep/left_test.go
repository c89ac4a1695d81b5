package sweep

import (
	"fmt"
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The time that is left is that of the cells that ended, for each one that is open; where none has ended the budgets
// of their trainings in seconds, else it is not known.
func TestTimeLeft(t *testing.T) {
	s := &session{plan: &Plan{}}
	training := 0
	add := func(b Budget, state work.State, seconds float64) {
		training++
		s.mine = append(s.mine, len(s.state))
		s.plan.Cells = append(s.plan.Cells, &Cell{Budget: b, Training: fmt.Sprint(training)})
		s.state = append(s.state, CellStatus{State: state,
			Entry: &compare.Entry{Cost: compare.Cost{Cell: metric.Float(seconds)}}})
	}
	add(Budget{Seconds: 90}, work.Waiting, 0)
	add(Budget{Seconds: 60}, work.Begun, 0)
	training-- // the next cell shares it
	add(Budget{Seconds: 60}, work.Waiting, 0)
	testkit.Equal(t, s.secondsLeft(), 150)
	add(Budget{Epochs: 5}, work.Waiting, 0)
	if got := s.secondsLeft(); !got.IsNaN() {
		t.Errorf("without a clock it is %v", got)
	}
	add(Budget{Epochs: 5}, work.Done, 10)
	add(Budget{Epochs: 5}, work.Done, 30)
	add(Budget{Epochs: 5}, work.Failed, 0)
	testkit.Equal(t, s.secondsLeft(), 80)
	if p := s.progress(1); p.Failed != 1 || p.Cell != 2 || p.Of != 7 || p.Left != 80 {
		t.Errorf("%+v", p)
	}
}
