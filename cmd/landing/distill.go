package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
)

// mostLearned bounds -n.
const mostLearned = 10_000_000

// distilled is what distill prints.
type distilled struct {
	Run     string      `json:"run"`
	Teacher run.Teacher `json:"teacher"`
	Epochs  int         `json:"epochs"`
	Trained *train.Cost `json:"trained,omitempty"` // what the training took in all
	Seconds struct {
		Draw  float64 `json:"draw"`
		Train float64 `json:"train"`
	} `json:"seconds"`
	experiment.StudentReport
}

// distillOptions are the flags of distill.
type distillOptions struct {
	experiment.Student
	place
	data, checkpoint string
	budget           time.Duration
}

func (o *distillOptions) flags(f *pflag.FlagSet) {
	f.IntSliceVar(&o.Steps, "steps", []int{1, 2, 4}, "numbers of evaluations of the network that a sample is to take")
	f.IntVarP(&o.Samples, "number", "n", 0, "number of samples of the run to learn (default: 20000)")
	f.StringVar(&o.checkpoint, "checkpoint", "", "checkpoint of the run to learn from (default: as generate)")
	movedFlag(f, &o.data)
	f.StringArrayVar(&o.Settings, "set", nil, "replace one key of the student, as in train.epochs=100 (repeatable)")
	f.DurationVar(&o.budget, "for", 0, "training time, as in 90s, once samples are drawn: train.max_seconds")
	o.place.flags(f)
}

// check looks at the flags, and completes the student.
func (o *distillOptions) check(given func(flag string) bool, _ []string) error {
	for _, n := range o.Steps {
		if n < 1 || n > experiment.MostSteps {
			return badFlag("steps", n, fmt.Sprintf("numbers from 1 to %d with commas between, as in 1,2,4",
				experiment.MostSteps))
		}
	}
	slices.Sort(o.Steps)
	o.Steps = slices.Compact(o.Steps)
	err := bounds(bound{"number", !given("number") || o.Samples >= 1 && o.Samples <= mostLearned, o.Samples,
		fmt.Sprintf("1 to %d", mostLearned)}, inTime("for", o.budget, given))
	if err == nil {
		o.Settings, err = withBudget(o.budget, o.Settings, "train.epochs=0")
	}
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
	}, new(distillOptions), runDistill)
}

// runDistill makes a student's folder, trains it and measures its samples.
func runDistill(ctx context.Context, a *app, o *distillOptions, args []string) (answer, error) {
	dir := args[0]
	teacher, err := a.open(ctx, dir, o.data, experiment.Open)
	if err != nil {
		return answer{}, err
	}
	tick, end := counting[int](&a.out, "drew samples of "+dir+":")
	lesson, err := experiment.Teach(ctx, teacher, o.Student, o.checkpoint, tick)
	end()
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
	f, err := o.make(&a.out, lesson.Problem.Name)
	if err != nil {
		return answer{}, err
	}
	r, err := l.Begin(f, lesson.Problem.Resolved(), a.commandLine())
	if err != nil {
		return answer{}, err
	}
	if err := f.AmendManifest(func(m *run.Manifest) { m.Teacher, m.Asked = &from, nil }); err != nil {
		return answer{}, err
	}
	last, err := a.fit(ctx, r, "")
	if err != nil {
		return answer{}, err
	}
	report, err := experiment.ReportStudent(ctx, teacher, r, o.checkpoint, o.Steps)
	if err != nil {
		return answer{}, err
	}
	status, err := f.Status()
	if err != nil {
		return answer{}, err
	}
	result := distilled{Run: f.Dir, Teacher: from, Epochs: last.Epoch, Trained: status.Trained,
		StudentReport: *report}
	result.Seconds.Draw, result.Seconds.Train = from.Seconds, last.Seconds
	if result.Remedy != nil {
		result.Remedy.Command = commandLine(result.Remedy)
	}
	return answer{result, func(w io.Writer) {
		fmt.Fprintf(w, "trained %s\n", result.Trained.Text())
		result.print(w)
	}}, nil
}

func (d *distilled) print(w io.Writer) {
	fmt.Fprintln(w, "evaluations\tdistance\tover teacher's\tworst violation\tfailed\tseconds\t")
	row := func(c experiment.Counted, who string) {
		fmt.Fprintf(w, "%.4g\t%.4f\t%.2f\t%.2g\t%d\t%.2f\t%s\n", c.Evaluations, float64(c.Distance), float64(c.Ratio),
			float64(c.Violation), c.Failed, c.Seconds, who)
	}
	row(d.Of, "the teacher")
	for _, c := range d.Samples {
		row(c, "")
	}
	fmt.Fprintf(w, "%s\n", d.Verdict)
	if d.Remedy != nil {
		fmt.Fprintf(w, "try:   %s\n", d.Remedy)
	}
	fmt.Fprintf(w, "next:  %s\n", suggest(verdict.Generate, d.Run))
}
