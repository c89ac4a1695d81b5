package experiment

import (
	"encoding/json"
	"fmt"

	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/uniform"
	"github.com/landing-diffusion/landing/verdict"
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
func (p *points) observe(c *compared, marks []float64, scores *JSD, heldOut bool) {
	if c.observables == nil {
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

// verdict judges samples by their evaluation, all but its verdict; off is the error of
// CheckViolation.
func (r *Run) verdict(v *Evaluation, at points, off error) verdict.Verdict {
	e := verdict.Evidence{
		Asked: v.Samples, Failed: v.Failed, Wrong: v.Wrong, MaxFailed: r.Problem.Generate.MaxFailed,
		Samples: at.samples, Rows: at.rows, Held: at.held, Train: at.train, Dim: at.d,
		SampleNearest: at.sampleNearest, HeldNearest: at.heldNearest,
		Energy: v.AllRows, Seed: r.Problem.Seed, Numbers: at.numbers,
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
		e.Given = &verdict.Given{Test: g.Pairs, Samples: g.samples, Held: g.held, Dim: r.Data.D}
	}
	for _, f := range v.Findings {
		if f.Warning {
			e.Kind = append(e.Kind, verdict.KindFault{Says: f.Verdict, Share: f.Share})
		}
	}
	h := r.history(v.Epoch)
	e.Course = h.course
	if m := h.mixing; m != nil && v.Start != nil && v.Start.Prior == "chains" &&
		!(&uniform.Draws{Rhat: float64(m.Rhat), ESS: float64(m.ESS)}).Mixed() {
		e.Chains = fmt.Sprintf("the chains behind the uniform prior have not mixed: split-R̂ %.3f at x[%d], %.0f "+
			"effective draws", float64(m.Rhat), m.Worst, float64(m.ESS))
	}
	out := verdict.Of(e)
	mend := remedies{r, &out, h, v.begun, nil}
	for i := range out.Findings {
		out.Findings[i].Remedy = mend.of(out.Findings[i].Code)
	}
	return out
}

// leftOff says that samples violate the set by more than generate.max_violation by a method that does not
// bring them to it; empty where it does, or where steps on the set were to be left as they end.
func (r *Run) leftOff(v *Evaluation) string {
	worst, limit := worstOf(v.Component), r.Problem.Generate.MaxViolation
	if r.Method.Feasible() || !method.Leaves(r.Method, r.Process.Set) || !(limit > 0 && float64(worst.Worst) > limit) {
		return ""
	}
	return fmt.Sprintf("samples are off the set: %s brings none to it; sample %d violates %q by %.3g", r.Method.Name(),
		worst.WorstSample, worst.Component, worst.Worst)
}

// history is what a run folder tells of a training.
type history struct {
	course  *verdict.Course // of the network of an epoch; nil where nothing is known of it
	stopped bool            // it is not at its end
	seconds float64         // trained
	mixing  *Mixing         // of chains behind the prior
}

// history reads it for the network of an epoch; what cannot be read is not known.
func (r *Run) history(epoch int) (h history) {
	records, err := r.Folder.Metrics()
	if err != nil {
		return h
	}
	for _, k := range records {
		if k.Kind == "prior" {
			var m Mixing
			if json.Unmarshal(k.Data, &m) == nil {
				h.mixing = &m
			}
		}
	}
	epochs, evaluations := decode(records)
	if len(epochs) == 0 {
		return h
	}
	last := epochs[len(epochs)-1]
	h.seconds = last.Seconds
	c := &verdict.Course{Epochs: epoch}
	var status run.Status
	known := r.Folder.ReadJSON(run.StatusFile, &status) == nil
	if epoch != last.Epoch { // of an earlier checkpoint
		if w := r.Weights(); w == nil || w.Epoch != epoch || !known {
			return h
		}
		c.Chosen, c.Open = true, status.State != "trained"
		c.Epochs, h.stopped = last.Epoch, c.Open
	} else if known && status.Epoch == epoch {
		c.Planned = status.Epochs
		h.stopped = status.Epochs > epoch
	}
	for _, e := range epochs {
		c.Rate, c.Highest = e.Rate, max(c.Highest, e.Rate)
	}
	for _, p := range evaluations {
		c.Distances = append(c.Distances, float64(p.JSD))
	}
	h.course = c
	return h
}
