package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
)

func (p *canvas) loss(epochs []train.Epoch) {
	if len(epochs) < 2 {
		return
	}
	var x, loss, rate []float64
	for _, r := range epochs {
		x, loss, rate = append(x, float64(r.Epoch)), append(loss, r.Loss), append(rate, r.Rate)
	}
	p.Add("loss", figure.FigureRef{Title: "Training loss", Caption: "Mean over the batches of each epoch. It has no " +
		"unit, and falls to what noise leaves, not to 0."},
		figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "loss (no unit)", LogY: true},
			figure.Series{Name: "loss", X: x, Y: loss}))
	p.Add("rate", figure.FigureRef{Title: "Learning rate", Caption: "Length of a training step, of each " +
		"epoch's last batch. It falls when the loss stops falling, and with train.anneal at the end."},
		figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "learning rate", LogY: true},
			figure.Series{Name: "rate", X: x, Y: rate}))
}

func (p *canvas) progress(evaluations []judge.Progress, j *judge.JSD) {
	if len(evaluations) < 2 || j == nil {
		return
	}
	var x, y, floor []float64
	for _, v := range evaluations {
		x, y, floor = append(x, v.Seconds), append(y, float64(v.JSD)), append(floor, float64(j.Mean))
	}
	p.Add("jsd", figure.FigureRef{Title: "Distance to the data against training time",
		Caption: "Against all data; the floor is what a perfect memoriser of the training rows scores."},
		figure.Lines(figure.LineOptions{XLabel: "seconds of training", YLabel: j.Metric, LogX: true},
			figure.Series{Name: "samples", X: x, Y: y}, figure.Series{Name: "floor", X: x, Y: floor}))
}

func (p *canvas) heldOut(records []run.Record, loss bool) {
	s := figure.Series{Name: "validation rows"}
	for _, m := range run.Decode[train.Measured](records, "held-out") {
		if m.Distance.IsNaN() {
			continue
		}
		d, noise := float64(m.Distance), float64(m.Noise)
		s.X, s.Y = append(s.X, float64(m.Epoch)), append(s.Y, d)
		s.Lo, s.Hi = append(s.Lo, d-noise), append(s.Hi, d+noise)
	}
	if len(s.X) < 2 {
		return
	}
	title, label, what := "Held-out distance", "energy distance", "Energy distance of samples to the validation rows "+
		"without bias"
	if loss {
		title, label, what = "Held-out loss", "loss", "Loss on paths of the validation rows"
	}
	p.Add("held-out", figure.FigureRef{Title: title + " against epochs",
		Caption: what + ", with its standard error, most of which all epochs have in common: differences are known " +
			"better. Where it no longer falls the training ends."},
		figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: label, LogX: true}, s))
}

func (p *canvas) nearest(r *judge.Reference, x []float64) {
	if len(r.HeldOut) == 0 {
		return
	}
	train, d := r.Alone(r.Train)
	held, _ := r.Alone(r.HeldOut)
	samples, _ := r.Alone(x)
	p.Add("nearest", figure.FigureRef{Title: "Distance to the nearest training point",
		Caption: "Samples much nearer than held-out points would be copies."},
		figure.Histogram(figure.HistogramOptions{XLabel: "distance to the nearest training point, in the " +
			"unit of points", Log: true},
			figure.Column{Name: "held-out points", Values: metric.NearestDistances(held, train, d)},
			figure.Column{Name: "samples", Values: metric.NearestDistances(samples, train, d)}))
}

func (p *canvas) violation(set constraint.Set, x []float64) {
	label := "violation |h(x)|"
	if len(set.Inequalities()) > 0 {
		label = "violation |h(x)|, max(g(x), 0)"
	}
	p.Add("violation", figure.FigureRef{Title: "Constraint violation of the samples",
		Caption: "Violation of samples, in the unit of the constraint's formula. Zeros are counted below the axis."},
		figure.Histogram(figure.HistogramOptions{XLabel: label, Log: true}, violationColumns(set, x)...))
}

// maxColumns bounds the components that a histogram can tell apart.
const maxColumns = 8

// violationColumns returns each component's violations, or where there are many
// the largest of the equalities and of the inequalities of each sample.
func violationColumns(set constraint.Set, x []float64) []figure.Column {
	names, m := constraint.Components(set), len(set.Equalities())
	values, c := judge.Excess(set, x)
	n := len(x) / set.Dim()
	var columns []figure.Column
	add := func(name string, from, to int) {
		if from == to {
			return
		}
		column := figure.Column{Name: name}
		for i := range n {
			column.Values = append(column.Values, slices.Max(values[i*c+from:i*c+to]))
		}
		columns = append(columns, column)
	}
	if c > maxColumns {
		add(fmt.Sprintf("largest |h|, m = %d", m), 0, m)
		add(fmt.Sprintf("largest max(g, 0), l = %d", c-m), m, c)
		return columns
	}
	for a, name := range names {
		add(name, a, a+1)
	}
	return columns
}

// steps draws the curves of a trace: each component's, or where there are many the sums
// of equalities and of inequalities.
func (p *canvas) steps(s *judge.Steps, equalities int) {
	if s == nil || len(s.Component) == 0 {
		return
	}
	var x []float64
	for i := range len(s.Times) + 1 {
		x = append(x, float64(i))
	}
	var curves []figure.Series
	caption, zero := "", []string(nil)
	add := func(name string, of []judge.StepViolation) {
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
