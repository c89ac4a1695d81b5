package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
)

// maxNumbers bounds the numbers of points that a verb holds in memory at once.
const maxNumbers = 100_000_000

// judgement says how samples of a run are drawn and what is done with them: for report, and for demo.
type judgement struct {
	checkpoint string
	n          int     // samples; 0 means experiment.Loaded.SampleCount
	seed       *uint64 // nil: the problem's
	report     bool    // figures and a page, not numbers alone
	diagnose   bool
}

// reportOptions are the flags of report.
type reportOptions struct {
	judgement
	settings    []string // keys of generation
	samples     string   // file to read samples from, instead of drawing any
	seed        uint64
	data        string
	text, force bool
}

func (o *reportOptions) flags(f *pflag.FlagSet) {
	checkpointFlag(f, &o.checkpoint)
	f.IntVarP(&o.n, "number", "n", 0, "number of samples (default: as many as data points, at most 50 000, on a mesh "+
		"20 000)")
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	movedFlag(f, &o.data)
	drawFlags(f, &o.settings, &o.diagnose)
	f.BoolVar(&o.text, "text", false, "print the numbers alone: no figures, no page")
	f.StringVar(&o.samples, "samples", "", "evaluate the samples of this file instead of drawing any; like --text, "+
		"without figures and page")
	f.BoolVar(&o.force, "force", false, "write over files of a report that were changed, or come from elsewhere")
}

// drawFlags are those of verbs that draw samples.
func drawFlags(f *pflag.FlagSet, settings *[]string, diagnose *bool) {
	f.StringArrayVar(settings, "set", nil,
		"draw by another value of a key that needs no training, as in process.landing.rate=50 (repeatable)")
	f.BoolVar(diagnose, "diagnose", false, "measure how far states are from the set at every step")
}

// check looks at the flags, and completes the judgement.
func (o *reportOptions) check(given func(flag string) bool, _ []string) error {
	if given("seed") {
		o.judgement.seed = &o.seed
	}
	o.report = !o.text && o.samples == ""
	if o.force && !o.report {
		return usage("--force and --text do not go together: no page is written")
	}
	for _, flag := range []string{"set", "diagnose", "number", "seed", "checkpoint"} {
		if o.samples != "" && given(flag) {
			return usage("--samples and --%s do not go together: the samples are drawn", flag)
		}
	}
	return nil
}

func reportVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "report RUN",
		Short: "Evaluate samples of a run, and write figures and an HTML report",
		Long: `report draws samples, evaluates them, and writes them with figures and a page into the run
folder. --text prints the numbers alone. Either way the run folder keeps the verdict, as evaluation.json,
for landing ls and compare. A report replaces an earlier one; it stops before files that you changed.

Problems are listed first. Then comes the Jensen–Shannon distance to the data, with reference values for all
data and for held-out data. The distance from the prior to the ends of forward paths, the violation of each
constraint, and the distances to the nearest training point follow.

--set draws by other values of keys that need no training; an error lists these keys. The report then
goes into a folder of the run folder that is named by them. --samples evaluates a file (NPY, CSV, Parquet) that
landing generate wrote, by the keys that it was drawn by, or that another program wrote.`,
		Example: "  landing report runs/volcano-001\n" +
			"  landing report runs/volcano-001 --text --set process.steps=25 --json\n" +
			"  landing report runs/volcano-001 --samples samples.npy",
	}, new(reportOptions), runReport)
}

func runReport(ctx context.Context, a *app, o *reportOptions, args []string) (answer, error) {
	r, err := a.open(ctx, args[0], o.data, experiment.Open)
	if err != nil {
		return answer{}, err
	}
	if o.samples != "" {
		return judgeFile(ctx, &a.out, r, o.samples)
	}
	if r, err = r.Redraw(ctx, problem.ParseSettings(o.settings...)); err != nil {
		return answer{}, err
	}
	if o.report {
		r.Folder.Force = o.force
		if err := r.Folder.Renewable(r.Out(run.ReportFile), r.Out(run.SamplesFile)); err != nil { // before it draws
			return answer{}, err
		}
	}
	return a.judge(ctx, r, &o.judgement)
}

// evaluated is what report and demo print.
type evaluated struct {
	*judge.Evaluation
	Report string `json:"report,omitempty"`
}

func (e evaluated) print(w io.Writer) {
	report.WriteText(w, e.Evaluation)
	if e.Report != "" {
		fmt.Fprintf(w, "report: %s\n", e.Report)
	}
}

// brief prints what a newcomer wants to know.
func (e evaluated) brief(w io.Writer) { report.WriteBrief(w, e.Evaluation, e.Report) }

// judgeFile evaluates samples that were drawn before, or by another program.
func judgeFile(ctx context.Context, out *console, r *experiment.Run, file string) (answer, error) {
	v, known, fault, err := experiment.JudgeFile(ctx, r, file, commandLine)
	if err != nil {
		return answer{}, err
	}
	if !known {
		out.say("note: there is no %s: how the samples were drawn is not known, and none counts as failed",
			experiment.RecordName(file))
	}
	e := evaluated{Evaluation: v}
	return answer{e, func(w io.Writer) {
		e.print(w)
		fmt.Fprintf(w, "beside the run's own samples:  landing compare %s %s\n", text.Shell(r.Folder.Dir),
			text.Shell(file))
	}}, fault
}

// again writes the command line that judges the same samples again.
func (j *judgement) again(of *verdict.Remedy) string {
	s := commandLine(of)
	if j.n > 0 {
		s += fmt.Sprint(" -n ", j.n)
	}
	if j.seed != nil {
		s += fmt.Sprint(" --seed ", *j.seed)
	}
	if j.checkpoint != "" {
		s += " --checkpoint " + text.Shell(j.checkpoint)
	}
	return s
}

// judge generates, evaluates and reports if asked to. A failed check is returned after everything is written.
func (a *app) judge(ctx context.Context, r *experiment.Run, j *judgement) (answer, error) {
	t, err := r.Trained(j.checkpoint)
	if err != nil {
		return answer{}, err
	}
	n, seed := cmp.Or(j.n, r.SampleCount()), r.Problem.Seed
	if n < 0 || float64(n)*float64(r.Data.D) > maxNumbers {
		return answer{}, badFlag("number", n, fmt.Sprintf("a number of samples above 0, and at most %.0g numbers in "+
			"all", float64(maxNumbers)))
	}
	if j.seed != nil {
		seed = *j.seed
	}
	tick, end := counting[int](&a.out, "generated")
	s, v, fault, err := experiment.Judge(ctx, r, experiment.Judging{Trained: t, Samples: n, Seed: seed,
		Diagnose: j.diagnose || j.report, Line: commandLine, Tick: func(done int) { tick(done, n) }})
	end()
	if err != nil {
		return answer{}, err
	}
	e := evaluated{Evaluation: v}
	if !j.report {
		experiment.KeepFirst(r, v, seed, fault)
	} else {
		if err := r.SaveSamples(s, t.State, seed); err != nil {
			return answer{}, err
		}
		k, _, err := experiment.KeptEvaluation(r)
		if err == nil && k != nil && (k.Samples != v.Samples || k.Seed != seed) {
			a.out.say("note: %s was of %d samples of seed %d; it is now of %d of seed %d", run.EvaluationFile,
				k.Samples, k.Seed, v.Samples, seed)
		}
		if err := experiment.KeepEvaluation(r, v, t.State, seed, fault); err != nil {
			return answer{}, err
		}
		if e.Report, err = r.Report(s, v, j.again); err != nil {
			return answer{}, err
		}
	}
	return answer{e, e.print}, fault
}
