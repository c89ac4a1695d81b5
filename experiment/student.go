package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
)

// Counted says how samples of so many evaluations of the network compare with the data.
type Counted struct {
	Evaluations float64      `json:"evaluations"`  // a sample
	Distance    metric.Float `json:"jsd"`          // to all data; null where none is defined
	Ratio       metric.Float `json:"over_teacher"` // of the distance to the teacher's
	Violation   metric.Float `json:"violation"`    // the worst
	Failed      int          `json:"failed"`
	Seconds     float64      `json:"seconds"`
}

// A StudentReport says how good a few-step student is.
type StudentReport struct {
	Of      Counted         `json:"teacher_samples"`
	Samples []Counted       `json:"samples"` // of the student, those of the most evaluations first
	Good    bool            `json:"good"`    // what Verdict is of
	Verdict string          `json:"verdict"`
	Remedy  *verdict.Remedy `json:"remedy,omitempty"`
}

// ReportStudent judges samples of a checkpoint of a teacher, and samples of its student by each number of evaluations.
func ReportStudent(ctx context.Context, teacher, student *Run, checkpoint string, steps []int) (*StudentReport, error) {
	of, err := teacher.counted(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	over := func(c Counted) Counted {
		if of.Distance > 0 {
			c.Ratio = c.Distance / of.Distance
		}
		return c
	}
	report := &StudentReport{Of: over(of)}
	for _, n := range slices.Backward(steps) {
		r, err := student.Redraw(ctx, problem.Settings{{Key: problem.KeyGenerateEvaluations, Value: n}}, nil)
		if err != nil {
			return nil, err
		}
		c, err := r.counted(ctx, "")
		if err != nil {
			return nil, err
		}
		report.Samples = append(report.Samples, over(c))
	}
	last, err := LastEpoch(student.Folder)
	if err != nil {
		return nil, err
	}
	var m run.Manifest
	if err := student.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return nil, err
	}
	report.judge(student.Problem, student.Folder.Dir, m.Teacher.Run, last.Epoch, m.Stopped != nil)
	return report, nil
}

// counted judges samples of a run.
func (r *Run) counted(ctx context.Context, checkpoint string) (Counted, error) {
	c := Counted{Ratio: metric.NaN}
	t, err := r.Trained(checkpoint)
	if err != nil {
		return c, err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return c, err
	}
	n := r.SampleCount()
	s, failed := r.Generate(ctx, t, prior, n, 0, r.Problem.Seed, nil)
	if s == nil {
		return c, failed
	}
	good := s.Good()
	c.Evaluations, c.Distance = float64(s.Evaluated)/float64(n), r.Reference().DistanceTo(good)
	c.Failed, c.Seconds = s.Failed(), s.Time.Seconds()
	if len(good) > 0 {
		c.Violation = judge.Largest(judge.Violations(r.Process.Set, good)).Worst
	}
	return c, nil
}

// faithful is how far from the data, in distances of the teacher's, samples of a good student are at most.
const faithful = 1.5

// judge says whether a student is as good as it should be by the most evaluations of its network, and what to do.
// student and teacher are run folders; ended says that validation rows ended the student's training, which may have
// been too long. In many directions each evaluation may bring samples closer together, so that fewer are nearer to the
// data (docs/distill.md).
func (d *StudentReport) judge(p *problem.Problem, student, teacher string, epochs int, ended bool) {
	c := d.Samples[0]
	of := "samples of " + text.Plural(int(math.Round(c.Evaluations)), "evaluation")
	far := fmt.Sprintf("%s are %.2f times as far from the data as the teacher's", of, float64(c.Ratio))
	faulty := func(c Counted) bool {
		return c.Failed > d.Of.Failed || float64(c.Violation) > max(float64(d.Of.Violation), p.Generate.MaxViolation)
	}
	longer := &verdict.Remedy{Verb: verdict.GoOn, Run: student, Seconds: math.Ceil(2 * p.Train.MaxSeconds)}
	if p.Train.MaxSeconds == 0 {
		longer.Settings = []string{fmt.Sprintf("train.epochs=%d", 3*p.Train.Epochs)}
	}
	switch d.Remedy = longer; {
	case c.Failed > d.Of.Failed:
		d.Verdict = fmt.Sprintf("of %s %d failed, of the teacher's %d: they could not be brought to the set", of,
			c.Failed, d.Of.Failed)
		return
	case faulty(c):
		d.Verdict = fmt.Sprintf("%s violate the set by %.2g, the teacher's by %.2g", of, float64(c.Violation),
			float64(d.Of.Violation))
		return
	case c.Ratio.IsNaN():
		d.Verdict = "no distance is defined for these data: landing report --text says what samples are worth"
		d.Remedy = &verdict.Remedy{Verb: verdict.Evaluate, Run: student}
		return
	case c.Ratio <= faithful:
		d.Good, d.Remedy = true, nil
		d.Verdict = fmt.Sprintf("%s, within %v", far, faithful)
		return
	}
	best := c
	for _, fewer := range d.Samples[1:] {
		if fewer.Ratio < best.Ratio && !faulty(fewer) {
			best = fewer
		}
	}
	if n := int(math.Round(best.Evaluations)); best.Ratio <= faithful {
		d.Verdict = fmt.Sprintf("%s, above %v: take %d, whose samples are %.2f times as far", far, faithful, n,
			float64(best.Ratio))
		d.Remedy = &verdict.Remedy{Verb: verdict.Generate, Run: student,
			Settings: []string{fmt.Sprintf("generate.evaluations=%d", n)}}
		return
	}
	mends := "longer"
	if ended {
		mends = "shorter"
		d.Remedy = &verdict.Remedy{Verb: verdict.Distill, Run: teacher,
			Settings: []string{"train.stop=epochs", fmt.Sprintf("train.epochs=%d", max(1, epochs/2))}}
	}
	d.Verdict = fmt.Sprintf("%s, above %v: %s training may bring them nearer, or a student of more evaluations "+
		"(--steps %d)", far, faithful, mends, 2*int(math.Round(c.Evaluations)))
}
