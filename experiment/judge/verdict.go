package judge

import (
	"fmt"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/method"
)

// points are the rows that a verdict looks at, samples without those that failed.
type points struct {
	samples, rows, held, train []float64 // as distances of points alone are taken
	sampleNearest, heldNearest []float64 // to the nearest training row
	d                          int
	numbers                    []verdict.Number
}

// observe adds the observables behind a distance of points, given by their marks, and those of all rows, or of
// held-out ones alone.
func (p *points) observe(c *Compared, marks []float64, scores *JSD, heldOut bool) {
	if c.Observables == nil {
		return
	}
	rows := c.Full
	if heldOut {
		rows = c.HeldOut
	}
	for k, part := range scores.Parts {
		p.numbers = append(p.numbers, verdict.Number{Name: part.Name, Samples: metric.Column(marks, k, c.Dim),
			Rows: metric.Column(rows, k, c.Dim), Times: float64(part.Full / part.Floor.Mean)})
	}
}

// evidence is what a verdict on samples rests on, by their evaluation; off is the error of CheckViolation.
func (r *Reference) evidence(v *Evaluation, at points, off error, of About) verdict.Evidence {
	e := verdict.Evidence{
		Asked: v.Samples, Failed: v.Failed, Wrong: v.Wrong, MaxFailed: r.Problem.Generate.MaxFailed,
		Samples: at.samples, Rows: at.rows, Held: at.held, Train: at.train, Dim: at.d,
		SampleNearest: at.sampleNearest, HeldNearest: at.heldNearest,
		Energy: v.AllRows, Seed: r.Problem.Seed, Numbers: at.numbers, Course: of.Course,
	}
	if off != nil {
		e.Violation = off.Error()
	} else if off := r.leftOff(v); off != "" {
		e.Violation = off
	}
	for _, w := range v.Walls {
		e.Walls = append(e.Walls, verdict.Wall{Says: w.differs("samples", "of the data"), Samples: float64(w.Samples),
			Data: float64(w.Reference), Differs: w.Warning != ""})
	}
	if t := v.Start; t != nil {
		e.Start = &verdict.Start{Prior: t.Prior, Paths: t.Paths, PValue: float64(t.PValue), Apart: float64(t.Apart)}
	}
	if g := v.Given; g != nil {
		e.Given = &verdict.Given{Test: g.Pairs, Samples: g.samples, Held: g.held, Dim: r.Dim}
	}
	for _, f := range v.Findings {
		if f.Warning {
			e.Kind = append(e.Kind, verdict.KindFault{Says: f.Verdict, Share: f.Share})
		}
	}
	if v.Start != nil && v.Start.Prior == "chains" {
		e.Chains = of.Chains
	}
	return e
}

// leftOff says that samples violate the set by more than generate.max_violation by a method that does not
// bring them to it; empty where it does, or where steps on the set were to be left as they end.
func (r *Reference) leftOff(v *Evaluation) string {
	worst, limit := Largest(v.Component), r.Problem.Generate.MaxViolation
	if r.Method.Feasible() || !method.Leaves(r.Method, r.Process.Set) || !(limit > 0 && float64(worst.Worst) > limit) {
		return ""
	}
	return fmt.Sprintf("samples are off the set: %s brings none to it; sample %d violates %q by %.3g", r.Method.Name(),
		worst.WorstSample, worst.Component, worst.Worst)
}
