package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/metric"
)

// Steps says how far generated states are from Σ on the way, x_N first.
type Steps struct {
	Times     []float64       `json:"times"`      // t_N = T, …, t_0 = 0
	Component []StepViolation `json:"components"` // equalities first
	// Areas under the mean curves over t, all equalities' and all inequalities'.
	Equalities   metric.Float `json:"area_equalities"`
	Inequalities metric.Float `json:"area_inequalities"`
}

// A StepViolation is |h_i| or max(g_j, 0) of one component.
type StepViolation struct {
	Component string         `json:"component"`
	Mean      []metric.Float `json:"mean"`  // over samples that have not failed, at each of Times
	Worst     []metric.Float `json:"worst"` // of them
	Area      metric.Float   `json:"area"`  // under Mean over t, by trapezoids
	Final     metric.Float   `json:"final"` // mean in the samples: after terminal projection, if there is one
}

// steps makes Steps of a trace.
func steps(p *langevin.Process, t *method.Trace) *Steps {
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

// steps draws the curves of a trace: each component's, or where there are many the sums
// of equalities and of inequalities.
func (p *page) steps(s *Steps, equalities int) {
	if s == nil || len(s.Component) == 0 {
		return
	}
	var x []float64
	for i := range len(s.Times) + 1 {
		x = append(x, float64(i))
	}
	var curves []figure.Series
	caption, zero := "", []string(nil)
	add := func(name string, of []StepViolation) {
		if len(of) == 0 {
			return
		}
		y := make([]float64, len(x))
		for _, v := range of {
			for i, mean := range v.Mean {
				y[i] += float64(mean)
			}
			y[len(x)-1] += float64(v.Final)
		}
		if slices.Max(y) == 0 { // a logarithmic axis has no place for it
			zero = append(zero, name)
			return
		}
		curves = append(curves, figure.Series{Name: name, X: x, Y: y})
	}
	if len(s.Component) <= maxColumns {
		for i, v := range s.Component {
			add(v.Component, s.Component[i:i+1])
		}
	} else {
		add(fmt.Sprintf("sum of |h|, m = %d", equalities), s.Component[:equalities])
		add(fmt.Sprintf("sum of max(g, 0), l = %d", len(s.Component)-equalities), s.Component[equalities:])
	}
	if len(zero) > 0 {
		caption = fmt.Sprintf(" Exactly 0 at every step: %s.", strings.Join(zero, ", "))
	}
	caption = fmt.Sprintf("Mean over samples after each backward step; the last point is the samples, after "+
		"terminal projection if there is one. Areas under the curves over t: equalities %s, inequalities %s.%s",
		text.Number(s.Equalities), text.Number(s.Inequalities), caption)
	if len(curves) == 0 {
		p.notes = append(p.notes, "No constraint is violated at any backward step.")
		return
	}
	label := "mean violation"
	if len(curves) == 1 { // charts name one curve nowhere else
		label = "mean of " + curves[0].Name
		if !strings.HasPrefix(curves[0].Name, "sum") {
			label = "mean violation of " + curves[0].Name
		}
	}
	p.Add("steps", figure.FigureRef{Title: "Constraint violation on the way", Caption: caption},
		figure.Lines(figure.LineOptions{XLabel: "backward steps", YLabel: label, LogY: true}, curves...))
}
