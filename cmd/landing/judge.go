package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/run"
)

// maxNumbers bounds the numbers that one call generates.
const maxNumbers = 1_000_000_000

// maxComponents bounds the constraints that a table lists.
const maxComponents = 8

// open loads a run and says what the user should know of it.
func (a *app) open(dir, data string) (*experiment.Experiment, error) {
	e, err := experiment.Open(dir, data, a.workersPool())
	if err != nil {
		return nil, err
	}
	if e.Warning != "" {
		a.say("note: %s", e.Warning)
	}
	a.warnOfMesh(e)
	return e, nil
}

// warnOfMesh says what is wrong with the mesh of a surface.
func (a *app) warnOfMesh(e *experiment.Experiment) {
	for _, fault := range e.MeshFaults() {
		a.say("warning: %s", fault)
	}
}

func (a *app) generate() *cobra.Command {
	var n int
	var out, checkpoint, data string
	var seed, first uint64
	var force bool
	cmd := &cobra.Command{
		Use:   "generate RUN",
		Short: "Generate samples from a run",
		Long: `generate draws samples with the averaged weights of a run's newest checkpoint and
writes them to an NPY file (n×d, float64) or a CSV file. Sample number i is a
function of the seed and i alone.`,
		Example: "  landing generate runs/volcano-001 -n 10000 -o samples.npy",
		Args:    args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n <= 0 {
				return &usageError{fmt.Errorf("-n is %d; expected a number of samples above 0", n)}
			}
			ext := strings.ToLower(filepath.Ext(out))
			if ext != ".npy" && ext != ".csv" {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .npy or .csv", out)}
			}
			e, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			if float64(n)*float64(e.Data.D) > maxNumbers {
				return &usageError{fmt.Errorf("-n is %d; expected at most %.0g numbers in all samples; --first goes on from an earlier call", n, float64(maxNumbers))}
			}
			if !force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			net, _, err := e.Load(checkpoint)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("seed") {
				seed = e.Problem.Seed
			}
			bar := a.progress()
			s, failed := e.Generate(cmd.Context(), net, n, first, seed, func(done int) {
				bar.update(done == n, func() string { return fmt.Sprintf("generated %d of %d", done, n) })
			})
			bar.done()
			if s == nil {
				return failed
			}
			var b bytes.Buffer
			if ext == ".npy" {
				err = arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{s.N() - s.Failed(), s.Dim}, Float64: s.Good()})
			} else {
				err = writeCSV(&b, s.Good(), s.Dim, e.Problem.Data.Kind != "points")
			}
			if err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			components, violated := e.CheckViolation(s)
			worst := 0.0
			for _, c := range components {
				worst = max(worst, c.Worst)
			}
			lost := []uint64{}
			for i, l := range s.Lost {
				if l {
					lost = append(lost, first+uint64(i))
				}
			}
			if len(lost) > 0 {
				a.say("%d of %d samples failed (%d of them on a wrong component) and are not in %s: numbers %v", len(lost), n, s.Wrong, out, lost)
			}
			if err := a.result(map[string]any{
				"run": e.Folder.Dir, "file": out, "samples": s.N(), "written": s.N() - s.Failed(), "failed": len(lost), "failed_samples": lost, "wrong_component": s.Wrong,
				"violation": map[string]any{"worst": experiment.Float(worst)},
				"seed":      seed, "first": first, "seconds": map[string]float64{"generate": s.Time.Seconds()},
			}, func(w io.Writer) {
				fmt.Fprintf(w, "%d samples in %s (%.2f s), worst violation %.2g\n", s.N()-s.Failed(), out, s.Time.Seconds(), worst)
			}); err != nil {
				return err
			}
			return errors.Join(failed, violated)
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 1000, "number of samples")
	cmd.Flags().StringVarP(&out, "output", "o", "samples.npy", "file to write: .npy, or .csv")
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", "checkpoint to use (default: the newest)")
	cmd.Flags().StringVar(&data, "data", "", "the run's data file, if it has moved")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed (default: the problem's)")
	cmd.Flags().Uint64Var(&first, "first", 0, "number of the first sample")
	cmd.Flags().BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

// writeCSV writes rows with a header; places on Earth as latitude, longitude.
func writeCSV(w io.Writer, x []float64, d int, earth bool) error {
	var b bytes.Buffer
	if earth {
		fmt.Fprintln(&b, "latitude,longitude")
	} else {
		for j := range d {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "x%d", j)
		}
		b.WriteByte('\n')
	}
	for i := 0; i < len(x); i += d {
		if earth {
			lat, lon := dataset.LatLon(x[i], x[i+1], x[i+2])
			fmt.Fprintf(&b, "%.8f,%.8f\n", lat, lon)
			continue
		}
		for j, v := range x[i : i+d] {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.17g", v)
		}
		b.WriteByte('\n')
	}
	_, err := b.WriteTo(w)
	return err
}

// judgement is what eval, report and demo have in common.
type judgement struct {
	checkpoint string
	n          int // samples; 0 means as many as data points
	seed       uint64
	seeded     bool // use seed instead of the problem's
	report     bool
}

func (j *judgement) flags(cmd *cobra.Command, data *string) {
	cmd.Flags().StringVar(&j.checkpoint, "checkpoint", "", "checkpoint to use (default: the newest)")
	cmd.Flags().IntVarP(&j.n, "number", "n", 0, "number of samples (default: as many as data points; on a mesh at most 20 000)")
	cmd.Flags().Uint64Var(&j.seed, "seed", 0, "seed (default: the problem's)")
	cmd.Flags().StringVar(data, "data", "", "the run's data file, if it has moved")
}

func (a *app) eval() *cobra.Command {
	var j judgement
	var data string
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Score samples of a run against its data",
		Long: `eval generates samples and reports the Jensen–Shannon distance to the data (with
its noise floor, against all data and held-out data), how far the prior is from
where forward paths end, the violation of each constraint, and distances to the
nearest training point. It writes no files.`,
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			j.seeded = cmd.Flags().Changed("seed")
			return a.judge(cmd.Context(), e, j)
		},
	}
	j.flags(cmd, &data)
	return cmd
}

func (a *app) report() *cobra.Command {
	j := judgement{report: true}
	var data string
	var force bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write figures and the HTML report of a run",
		Args:  args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			e.Folder.Force = force
			if err := e.Folder.Free(run.ReportFile); err != nil {
				return err
			}
			// The report is written last: without it, samples and figures are
			// what an unfinished report left.
			e.Folder.Force = true
			j.seeded = cmd.Flags().Changed("seed")
			return a.judge(cmd.Context(), e, j)
		},
	}
	j.flags(cmd, &data)
	cmd.Flags().BoolVar(&force, "force", false, "write over an earlier report and its figures")
	return cmd
}

// judge generates, evaluates, reports if asked to, and prints. A failed check is
// returned after everything is written.
func (a *app) judge(ctx context.Context, e *experiment.Experiment, j judgement) error {
	net, state, err := e.Load(j.checkpoint)
	if err != nil {
		return err
	}
	n, seed := j.n, j.seed
	if n == 0 {
		n = e.SampleCount()
	}
	if n < 0 || float64(n)*float64(e.Data.D) > maxNumbers {
		return &usageError{fmt.Errorf("-n is %d; expected a number of samples above 0, and at most %.0g numbers in all", n, float64(maxNumbers))}
	}
	if !j.seeded {
		seed = e.Problem.Seed
	}
	bar := a.progress()
	s, failed := e.Generate(ctx, net, n, 0, seed, func(done int) {
		bar.update(done == n, func() string { return fmt.Sprintf("generated %d of %d", done, n) })
	})
	bar.done()
	if s == nil {
		return failed
	}
	v, violated := e.Evaluate(s, state)
	if v.Start, err = e.CompareStart(ctx, n); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	out := struct {
		*experiment.Evaluation
		Report string `json:"report,omitempty"`
	}{Evaluation: v}
	if j.report {
		if err := e.SaveSamples(s); err != nil {
			return err
		}
		if out.Report, err = e.Report(s, v); err != nil {
			return err
		}
	}
	if err := a.result(out, func(w io.Writer) { printEvaluation(w, v, out.Report) }); err != nil {
		return err
	}
	return errors.Join(failed, violated)
}

func printEvaluation(w io.Writer, v *experiment.Evaluation, report string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }
	samples := fmt.Sprintf("%d, %d failed", v.Samples, v.Failed)
	if v.Wrong > 0 {
		samples += fmt.Sprintf(", %d of them on a wrong component", v.Wrong)
	}
	row("samples", samples)
	shown := slices.Clone(v.Component)
	if len(shown) > maxComponents { // the worst ones; --json has all
		slices.SortStableFunc(shown, func(a, b experiment.Component) int { return cmp.Compare(b.Worst, a.Worst) })
		shown = shown[:maxComponents]
		row("components", fmt.Sprintf("%d, the %d worst of them:", len(v.Component), maxComponents))
	}
	for _, c := range shown {
		row("violation of "+c.Name, fmt.Sprintf("worst %.2g, mean %.2g, median %.2g, 90 %% %.2g, 99 %% %.2g", c.Worst, c.Mean, c.Median, c.Q90, c.Q99))
	}
	if d := v.JSD; d != nil {
		row("distance (JSD) to all data", fmt.Sprintf("%.4f   floor %.4f ± %.4f   uniform %.4f", d.Full, d.Floor, d.FloorSD, d.Uniform))
		row("distance (JSD) to held-out data", fmt.Sprintf("%.4f   floor %.4f", d.HeldOut, d.HeldOutFloor))
	}
	row("start of backward paths", start(v.Start))
	ratio := fmt.Sprintf("ratio %.2f", v.Nearest.Ratio)
	if v.Nearest.HeldOut == 0 {
		ratio = "no ratio: most held-out points repeat a training point"
	}
	row("nearest training point", fmt.Sprintf("median %.3g; of held-out points %.3g; %s", v.Nearest.Samples, v.Nearest.HeldOut, ratio))
	row("copies of training points", fmt.Sprintf("%.1f %% of samples, %.1f %% of held-out points", 100*v.Nearest.Copied, 100*v.Nearest.Repeated))
	row("energy distance, held-out", fmt.Sprintf("%.3g, floor %.3g ± %.2g, p = %.3f", v.TwoSample.Statistic, v.TwoSample.Floor, v.TwoSample.FloorSD, v.TwoSample.PValue))
	row("seconds", fmt.Sprintf("training %.1f (simulation %.2f), generation %.2f", v.Seconds.Train, v.Seconds.Simulate, v.Seconds.Generate))
	if report != "" {
		row("report", report)
	}
	t.Flush()
}

// start says how far the prior is from where forward paths end.
func start(s *experiment.Start) string {
	switch {
	case s.Prior == "empirical":
		return "where forward paths end: the prior is empirical"
	case s.Paths == 0:
		return "not compared: no forward path kept its projection"
	}
	from := "uniform prior"
	if s.Prior == "chains" {
		from = "draws of chains"
	}
	return fmt.Sprintf("%.4g from where %d forward paths end to the %s, floor %.4g ± %.2g (%s); p = %.3f", s.Distance, s.Paths, from, s.Floor, s.FloorSD, s.Metric, s.PValue)
}
