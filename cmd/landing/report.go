package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/problem"
)

// reportOptions are the flags of report.
type reportOptions struct {
	judgement
	seed        uint64
	data        string
	text, force bool
	given       func(flag string) bool
}

func (o *reportOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	checkpointFlag(f, &o.checkpoint)
	f.IntVarP(&o.n, "number", "n", 0, "number of samples (default: as many as data points, at most 50 000, on a mesh "+
		"20 000)")
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	movedFlag(f, &o.data)
	drawFlags(f, &o.settings, &o.diagnose)
	f.BoolVar(&o.text, "text", false, "print the numbers alone, and write no files")
	f.StringVar(&o.samples, "samples", "", "evaluate the samples of this file instead of drawing any; like --text, "+
		"writes no files")
	f.BoolVar(&o.force, "force", false, "write over an earlier report and its figures")
}

// check looks at the flags, and completes the judgement.
func (o *reportOptions) check() error {
	if o.given("seed") {
		o.judgement.seed = &o.seed
	}
	o.report = !o.text && o.samples == ""
	if o.force && !o.report {
		return &usageError{fmt.Errorf("--force and --text do not go together: no files are written")}
	}
	for _, flag := range []string{"set", "diagnose", "number", "seed", "checkpoint"} {
		if o.samples != "" && o.given(flag) {
			return &usageError{fmt.Errorf("--samples and --%s do not go together: the samples are drawn", flag)}
		}
	}
	return nil
}

func reportVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "report RUN",
		Short: "Evaluate samples of a run, and write figures and an HTML report",
		Long: `report draws samples, evaluates them, and writes them with figures and a page into the run
folder. --text prints the numbers alone and writes no files.

The numbers are: the Jensen–Shannon distance to the data, with reference values for all data and for
held-out data; the distance from the prior to where forward paths end; the violation of each
constraint; and distances to the nearest training point. Problems are listed first.

--set draws by other values of keys that need no training; an error lists these keys. The report then
goes into a folder of the run folder that is named by them. --samples evaluates a file that landing
generate wrote, by the keys that it was drawn by.`,
		Example: "  landing report runs/volcano-001\n" +
			"  landing report runs/volcano-001 --text --set process.steps=25 --json\n" +
			"  landing report runs/volcano-001 --samples samples.npy",
		Args: args(1, "a run folder"),
	}, new(reportOptions), runReport)
}

func runReport(ctx context.Context, a *app, o *reportOptions, args []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	r, err := a.open(ctx, args[0], o.data)
	if err != nil {
		return answer{}, err
	}
	if o.samples != "" {
		return judgeFile(ctx, &a.out, r, o.samples)
	}
	if r, err = r.Redraw(ctx, problem.ParseSettings(o.settings...), nil); err != nil {
		return answer{}, err
	}
	if o.report {
		r.Folder.Force = o.force
		if err := r.Folder.Free(r.Out(run.ReportFile)); err != nil {
			return answer{}, err
		}
		// The report is written last: without it, samples and figures are what an unfinished report left.
		r.Folder.Force = true
	}
	return a.judge(ctx, r, &o.judgement)
}
