package judge

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
)

// Steps says how far generated states are from Σ on the way, x_N first.
type Steps struct {
	Times     []float64       `json:"times"`      // t_N = T, …, t_0 = 0
	Component []StepViolation `json:"components"` // equalities first
	// Areas under the mean curves over t, all equalities' and all inequalities'.
	Equalities   metric.Float `json:"area_equalities"`
	Inequalities metric.Float `json:"area_inequalities"`
}

// String says the areas.
func (s *Steps) String() string {
	return fmt.Sprintf("area under the mean violation over t: equalities %.3g, inequalities %.3g", s.Equalities,
		s.Inequalities)
}

// A StepViolation is |h_i| or max(g_j, 0) of one component.
type StepViolation struct {
	Component string         `json:"component"`
	Mean      []metric.Float `json:"mean"`  // over samples that have not failed, at each of Times
	Worst     []metric.Float `json:"worst"` // of them
	Area      metric.Float   `json:"area"`  // under Mean over t, by trapezoids
	Final     metric.Float   `json:"final"` // mean in the samples: after terminal projection, if there is one
}

// StepsOf makes Steps of a trace.
func StepsOf(p *langevin.Process, t *method.Trace) *Steps {
	N, m := t.Steps(), len(p.Set.Equalities())
	s := &Steps{}
	for k := N; k >= 0; k-- {
		s.Times = append(s.Times, p.Schedule.Time(k))
	}
	for a, name := range constraint.Components(p.Set) {
		v := StepViolation{Component: name, Final: metric.Float(t.Mean(N+1, a))}
		for k := N; k >= 0; k-- {
			v.Mean, v.Worst = append(v.Mean, metric.Float(t.Mean(k, a))), append(v.Worst, metric.Float(t.Worst(k, a)))
		}
		for i := range N {
			v.Area += (v.Mean[i] + v.Mean[i+1]) / 2 * metric.Float(s.Times[i]-s.Times[i+1])
		}
		if s.Component = append(s.Component, v); a < m {
			s.Equalities += v.Area
		} else {
			s.Inequalities += v.Area
		}
	}
	return s
}
