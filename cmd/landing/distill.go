package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
)

// mostLearned bounds -n.
const mostLearned = 10_000_000

// A counted is how samples of so many evaluations compare with the data.
type counted struct {
	Evaluations float64      `json:"evaluations"`  // of the network, a sample
	Distance    metric.Float `json:"jsd"`          // to all data; null where none is defined
	Ratio       metric.Float `json:"over_teacher"` // of the distance to the teacher's
	Violation   metric.Float `json:"violation"`    // the worst
	Failed      int          `json:"failed"`
	Seconds     float64      `json:"seconds"`
}

// distilled is what distill prints.
type distilled struct {
	Run     string      `json:"run"`
	Teacher run.Teacher `json:"teacher"`
	Epochs  int         `json:"epochs"`
	Seconds struct {
		Draw  float64 `json:"draw"`
		Train float64 `json:"train"`
	} `json:"seconds"`
	Of      counted         `json:"teacher_samples"`
	Samples []counted       `json:"samples"`
	Good    bool            `json:"good"` // what Verdict is of
	Verdict string          `json:"verdict"`
	Remedy  *verdict.Remedy `json:"remedy,omitempty"`
}

// faithful is how far from the data, in distances of the teacher's, samples of a good student are at most.
const faithful = 1.5

// judge says whether the student is as good as it should be by the most evaluations of its network, and what to do.
// In many directions each evaluation may bring samples closer together, so that fewer are nearer to the data
// (docs/distill.md), and a student that validation rows ended may have learned too long.
func (d *distilled) judge(p *problem.Problem, ended bool) {
	c := d.Samples[0]
	of := func(c counted) string {
		return fmt.Sprintf("samples of %s", text.Plural(int(math.Round(c.Evaluations)), "evaluation"))
	}
	faulty := func(c counted) bool {
		return c.Failed > d.Of.Failed || float64(c.Violation) > max(float64(d.Of.Violation), p.Generate.MaxViolation)
	}
	switch {
	case c.Failed > d.Of.Failed:
		d.Verdict = fmt.Sprintf("of %s %d failed, of the teacher's %d: they could not be brought to the set", of(c),
			c.Failed, d.Of.Failed)
	case faulty(c):
		d.Verdict = fmt.Sprintf("%s violate the set by %.2g, the teacher's by %.2g", of(c), float64(c.Violation),
			float64(d.Of.Violation))
	case c.Ratio != c.Ratio:
		d.Verdict = "no distance is defined for these data: landing report --text says what samples are worth"
		d.Remedy = &verdict.Remedy{Verb: verdict.Evaluate, Run: d.Run}
		return
	case c.Ratio > faithful:
		d.Verdict = fmt.Sprintf("%s are %.2f times as far from the data as the teacher's, above %v: ", of(c),
			float64(c.Ratio), faithful)
		best := c
		for _, fewer := range d.Samples[1:] {
			if fewer.Ratio < best.Ratio && !faulty(fewer) {
				best = fewer
			}
		}
		if n := int(math.Round(best.Evaluations)); best.Ratio <= faithful {
			d.Verdict += fmt.Sprintf("take %d, whose samples are %.2f times as far", n, float64(best.Ratio))
			d.Remedy = &verdict.Remedy{Verb: verdict.Generate, Run: d.Run,
				Settings: []string{fmt.Sprintf("generate.evaluations=%d", n)}}
			return
		}
		mends := "longer training"
		if ended {
			mends = "shorter training"
			d.Remedy = &verdict.Remedy{Verb: verdict.Distill, Run: d.Teacher.Run,
				Settings: []string{"train.stop=epochs", fmt.Sprintf("train.epochs=%d", max(1, d.Epochs/2))}}
		}
		d.Verdict += fmt.Sprintf("%s may bring them nearer, or a student of more evaluations (--steps %d)", mends,
			2*int(math.Round(c.Evaluations)))
	default:
		d.Good = true
		d.Verdict = fmt.Sprintf("%s are %.2f times as far from the data as the teacher's, within %v", of(c),
			float64(c.Ratio), faithful)
		return
	}
	if d.Remedy != nil {
		return
	}
	d.Remedy = &verdict.Remedy{Verb: verdict.GoOn, Run: d.Run, Seconds: math.Ceil(2 * p.Train.MaxSeconds)}
	if p.Train.MaxSeconds == 0 {
		d.Remedy.Settings = []string{fmt.Sprintf("train.epochs=%d", 3*p.Train.Epochs)}
	}
}

// distillOptions are the flags of distill.
type distillOptions struct {
	experiment.Student
	place
	steps, data, checkpoint string
	budget                  time.Duration
	given                   func(flag string) bool
}

func (o *distillOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.StringVar(&o.steps, "steps", "1,2,4", "numbers of evaluations of the network that a sample is to take")
	f.IntVarP(&o.Samples, "number", "n", 0, "number of samples of the run to learn (default: 20000)")
	f.StringVar(&o.checkpoint, "checkpoint", "", "checkpoint of the run to learn from (default: as generate)")
	movedFlag(f, &o.data)
	f.StringArrayVar(&o.Settings, "set", nil, "replace one key of the student, as in train.epochs=100 (repeatable)")
	f.DurationVar(&o.budget, "for", 0, "training time, as in 90s, once samples are drawn: train.max_seconds")
	o.place.flags(f)
}

// check looks at the flags, and completes the student.
func (o *distillOptions) check() (err error) {
	if o.Steps, err = parseSteps(o.steps); err != nil {
		return err
	}
	if n := o.Samples; o.given("number") && (n < 1 || n > mostLearned) {
		return badFlag("number", n, fmt.Sprintf("1 to %d", mostLearned))
	}
	if o.given("for") {
		if err := checkBudget(o.budget); err != nil {
			return err
		}
	}
	o.Settings, err = withBudget(o.budget, o.Settings, "train.epochs=0")
	return err
}

func distillVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "distill RUN",
		Short: "Train a student of a run that makes a sample in a few network evaluations",
		Long: `distill draws samples of a trained run and trains a student on them, in a run folder of its own. The
student makes a sample in as few evaluations of its network as --steps says; the last step is a
projection onto the set. The folder is a run like any other: generate, report, train and show work on
it. generate.evaluations says how many evaluations its samples take: the largest of --steps, unless
--set says otherwise. manifest.json says which run taught it.`,
		Example: "  landing distill runs/volcano-001\n  landing distill runs/volcano-001 --steps 4 --for 2m\n" +
			"  landing generate runs/volcano-few-001 --set generate.evaluations=1 -n 100000 -o samples.npy",
		Args: args(1, "a run folder"),
	}, new(distillOptions), runDistill)
}

// runDistill makes a student's folder, trains it and measures its samples.
func runDistill(ctx context.Context, a *app, o *distillOptions, args []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	dir := args[0]
	teacher, err := experiment.Open(ctx, dir, o.data, a.workersPool(), nil)
	if err != nil {
		return answer{}, err
	}
	if teacher.Warning != "" {
		a.out.say("note: %s", teacher.Warning)
	}
	bar := a.out.progress()
	lesson, err := experiment.Teach(ctx, teacher, o.Student, o.checkpoint, func(done, of int) {
		bar.count(done, of, func() string { return fmt.Sprintf("drew %d of %d samples of %s", done, of, dir) })
	})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	defer lesson.Remove()
	from := lesson.Teacher
	a.out.say("drew %d samples of %s in %.1f s, %.4g evaluations each", from.Samples-from.Failed, dir, from.Seconds,
		from.Each)
	l, err := experiment.Load(ctx, lesson.Problem, a.workersPool(), nil)
	if err != nil {
		return answer{}, err
	}
	f, err := o.make(lesson.Problem.Name)
	if err != nil {
		return answer{}, err
	}
	if f.Moved != "" {
		a.out.say("the run that was there is now %s", f.Moved)
	}
	r, err := l.Begin(f, lesson.Problem.Resolved(), append([]string{"landing"}, a.args...))
	if err != nil {
		return answer{}, err
	}
	if err := f.AmendManifest(func(m *run.Manifest) { m.Teacher, m.Asked = &from, nil }); err != nil {
		return answer{}, err
	}
	last, err := a.fit(ctx, r, "", board{})
	if err != nil {
		return answer{}, err
	}
	table, err := compareCounts(ctx, teacher, r, o.checkpoint, o.Steps)
	if err != nil {
		return answer{}, err
	}
	result := distilled{Run: f.Dir, Teacher: from, Epochs: last.Epoch, Of: table[0], Samples: table[1:]}
	result.Seconds.Draw, result.Seconds.Train = from.Seconds, last.Seconds
	var m run.Manifest
	if err := f.ReadJSON(run.ManifestFile, &m); err != nil {
		return answer{}, err
	}
	if result.judge(r.Problem, m.Stopped != nil); result.Remedy != nil {
		result.Remedy.Command = commandLine(result.Remedy)
	}
	return answer{result, func(w io.Writer) {
		fmt.Fprintf(w, "trained %d epochs in %s\n", last.Epoch, clock(last.Seconds))
		result.print(w)
	}}, nil
}

func (d *distilled) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "evaluations\tdistance\tover teacher's\tworst violation\tfailed\tseconds\t")
	row := func(c counted, who string) {
		fmt.Fprintf(tw, "%.4g\t%.4f\t%.2f\t%.2g\t%d\t%.2f\t%s\n", c.Evaluations, float64(c.Distance), float64(c.Ratio),
			float64(c.Violation), c.Failed, c.Seconds, who)
	}
	row(d.Of, "the teacher")
	for _, c := range d.Samples {
		row(c, "")
	}
	tw.Flush()
	fmt.Fprintf(w, "%s\n", d.Verdict)
	if d.Remedy != nil {
		fmt.Fprintf(w, "try:   %s\n", d.Remedy)
	}
	fmt.Fprintf(w, "next:  %s\n", suggest(verdict.Generate, d.Run))
}

// parseSteps reads numbers of evaluations.
func parseSteps(list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || n > experiment.MostSteps {
			return nil, &usageError{fmt.Errorf("--steps is %q; expected numbers from 1 to %d with commas between, "+
				"as in 1,2,4", list, experiment.MostSteps)}
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// compareCounts judges samples of the teacher, and then of the student by each number of evaluations, the most
// first.
func compareCounts(ctx context.Context, teacher, student *experiment.Run, checkpoint string, steps []int) (
	[]counted, error) {
	var table []counted
	count := func(r *experiment.Run, checkpoint string) error {
		t, err := r.Trained(checkpoint)
		if err != nil {
			return err
		}
		prior, err := r.Prior(ctx, nil)
		if err != nil {
			return err
		}
		n := r.SampleCount()
		s, failed := r.Generate(ctx, t, prior, n, 0, r.Problem.Seed, nil)
		if s == nil {
			return failed
		}
		good := s.Good()
		c := counted{Evaluations: float64(s.Evaluated) / float64(n), Ratio: metric.NaN, Failed: s.Failed(),
			Distance: r.Reference().DistanceTo(good), Seconds: s.Time.Seconds()}
		if len(good) > 0 {
			c.Violation = judge.Largest(judge.Violations(r.Process.Set, good)).Worst
		}
		if table = append(table, c); table[0].Distance > 0 {
			table[len(table)-1].Ratio = c.Distance / table[0].Distance
		}
		return nil
	}
	if err := count(teacher, checkpoint); err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(steps) {
		q, err := student.Redraw(ctx, problem.Settings{{Key: problem.KeyGenerateEvaluations, Value: n}}, nil)
		if err != nil {
			return nil, err
		}
		if err := count(q, ""); err != nil {
			return nil, err
		}
	}
	return table, nil
}
