package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// maxComponents bounds the constraints that a table lists.
const maxComponents = 8

// maxNumbers bounds the numbers of points that a verb holds in memory at once.
const maxNumbers = 100_000_000

// judgement says how samples of a run are drawn and what is done with them: for report, and for demo.
type judgement struct {
	checkpoint string
	n          int      // samples; 0 means experiment.Loaded.SampleCount
	seed       *uint64  // nil: the problem's
	report     bool     // figures and a page, not numbers alone
	settings   []string // keys of generation
	diagnose   bool
	samples    string // file to read samples from, instead of drawing any
}

// drawFlags are those of verbs that draw samples.
func drawFlags(f *pflag.FlagSet, settings *[]string, diagnose *bool) {
	f.StringArrayVar(settings, "set", nil,
		"draw by another value of a key that needs no training, as in process.landing.rate=50 (repeatable)")
	f.BoolVar(diagnose, "diagnose", false, "measure how far states are from the set at every step")
}

// judgeFile evaluates samples that were drawn before.
func judgeFile(ctx context.Context, out *console, r *experiment.Run, file string) (answer, error) {
	s, record, err := r.ReadSamples(file)
	if err != nil {
		return answer{}, err
	}
	var state train.State
	if record == nil {
		out.say("note: there is no %s: how the samples were drawn is not known, and none counts as failed",
			experiment.RecordName(file))
	} else {
		state.Epoch = record.Epoch
		if r, err = r.Redraw(ctx, problem.ParseSettings(record.Settings()...), nil); err != nil {
			return answer{}, err
		}
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return answer{}, err
	}
	start, err := r.CompareStart(ctx, prior, s.N())
	if err != nil {
		return answer{}, err
	}
	v, fault := r.Evaluate(ctx, s, state, start)
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	v.Verdict.WriteCommands(commandLine)
	return answer{evaluated{Evaluation: v}, func(w io.Writer) { printEvaluation(w, v, "") }}, fault
}

// judge generates, evaluates and reports if asked to. A failed check is returned after everything is written.
func (a *app) judge(ctx context.Context, r *experiment.Run, j *judgement) (answer, error) {
	t, err := r.Trained(j.checkpoint)
	if err != nil {
		return answer{}, err
	}
	n, seed := j.n, r.Problem.Seed
	if n == 0 {
		n = r.SampleCount()
	}
	if n < 0 || float64(n)*float64(r.Data.D) > maxNumbers {
		return answer{}, &usageError{fmt.Errorf("-n is %d; expected a number of samples above 0, and at most %.0g "+
			"numbers in all", n, float64(maxNumbers))}
	}
	if j.seed != nil {
		seed = *j.seed
	}
	bar := a.out.progress()
	s, v, fault, err := experiment.Judge(ctx, r, experiment.Judging{Trained: t, Samples: n, Seed: seed,
		Diagnose: j.diagnose || j.report, Likelihood: true, Line: commandLine, Tick: func(done int) {
			bar.count(done, n, func() string { return fmt.Sprintf("generated %d of %d", done, n) })
		}})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	out := evaluated{Evaluation: v}
	if j.report {
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
		if out.Report, err = r.Report(s, v, commandLine); err != nil {
			return answer{}, err
		}
	}
	return answer{out, func(w io.Writer) { printEvaluation(w, v, out.Report) }}, fault
}

// evaluated is what report and demo print.
type evaluated struct {
	*judge.Evaluation
	Report string `json:"report,omitempty"`
}

// unitOf is a unit after a number.
func unitOf(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

func printEvaluation(w io.Writer, v *judge.Evaluation, report string) {
	printVerdict(w, &v.Verdict)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }
	samples := fmt.Sprintf("%d, %d failed", v.Samples, v.Failed)
	if v.Broken > 0 {
		samples += fmt.Sprintf(", %d of them broke down on the way", v.Broken)
	}
	if v.Wrong > 0 {
		samples += fmt.Sprintf(", %d of them on a wrong component", v.Wrong)
	}
	row("samples", samples)
	if v.Weights != "" {
		row("weights", fmt.Sprintf("of epoch %d: %s", v.Epoch, v.Weights))
	}
	if len(v.Drawn) > 0 {
		row("drawn by", drawnBy(v.Drawn))
	}
	shown := slices.Clone(v.Component)
	for _, f := range v.Families {
		row(fmt.Sprintf("violation of %s (%d)", f.Component, f.Components), fmt.Sprintf("worst %.2g%s, mean %.2g, "+
			"median %.2g, 90 %% %.2g, 99 %% %.2g", f.Worst, unitOf(f.Unit), f.Mean, f.Median, f.Q90, f.Q99))
	}
	if len(v.Families) > 0 {
		shown = nil
	}
	if len(shown) > maxComponents { // the worst ones; --json has all
		slices.SortStableFunc(shown, func(a, b metric.Violation) int { return cmp.Compare(b.Worst, a.Worst) })
		shown = shown[:maxComponents]
		row("components", fmt.Sprintf("%d, the %d worst of them:", len(v.Component), maxComponents))
	}
	for _, c := range shown {
		row("violation of "+c.Component, fmt.Sprintf("worst %.2g, mean %.2g, median %.2g, 90 %% %.2g, 99 %% %.2g",
			c.Worst,
			c.Mean, c.Median, c.Q90, c.Q99))
	}
	printWalls(row, v.Walls)
	if b := v.Bounces; b != nil {
		row("steps at walls", fmt.Sprintf("%d mirrored, %d turned back, %d pushed inside", b.Reflected, b.TurnedBack,
			b.Pushed))
	}
	if p := v.Programs; p != nil {
		row("programs within steps", fmt.Sprintf("%d points, %.3g iterations each; %d found no point of the set",
			p.Points, float64(p.Iterations)/float64(p.Points), p.Failed))
	}
	printSteps(row, v.Steps)
	distances := func(what string, d *judge.JSD) {
		if d == nil {
			return
		}
		all := against(d.Full, d.Mean, d.SD)
		if d.Law > 0 {
			all += fmt.Sprintf("   new draws of the law %.4f", d.Law)
		}
		if !d.Uniform.IsNaN() {
			all += fmt.Sprintf("   uniform %.4f", d.Uniform)
		}
		row(what+" to all data", all)
		for _, p := range d.Parts {
			told := against(p.Full, p.Mean, p.SD)
			if p.Law > 0 {
				told += fmt.Sprintf("   new draws %.4f", p.Law)
			}
			row("  of "+p.Name, told)
		}
		if d.HeldOut.IsNaN() {
			return
		}
		row(what+" to held-out data", fmt.Sprintf("%.4f   floor %.4f", d.HeldOut, d.HeldOutFloor))
		for _, p := range d.Parts {
			row("  of "+p.Name, fmt.Sprintf("%.4f   floor %.4f", p.HeldOut, p.HeldOutFloor))
		}
	}
	distances("distance (JSD)", v.JSD)
	distances("observables (JSD)", v.Observed)
	for _, f := range v.Findings {
		printFinding(row, f)
	}
	printConditional(row, v.Given)
	if l := v.NLL; l != nil {
		row("negative log-likelihood", l.String())
	}
	row("start of backward paths", whereStarts(v.Start))
	if v.HeldOut != "" {
		row("held-out points", v.HeldOut)
	}
	switch {
	case v.TwoSample.M > 0:
		copies(row, v)
	case v.Failed == v.Samples:
		row("held-out points", "not compared: no sample is left")
	default:
		row("held-out points", "not compared: the data has too few points to hold any out")
	}
	row("seconds", fmt.Sprintf("training %.1f (simulation %.2f), generation %.2f", v.Seconds.Train, v.Seconds.Simulate,
		v.Seconds.Generate))
	if report != "" {
		row("report", report)
	}
	t.Flush()
}

// printVerdict says what is wrong, and the commands that mend it.
func printVerdict(w io.Writer, v *verdict.Verdict) {
	fmt.Fprintln(w, v.Title())
	told := map[string]bool{"": true} // commands that stand above
	for i, f := range v.Findings {
		share := f.Share()
		if share != "" {
			share = ", " + share
		}
		fmt.Fprintf(w, "  %d. %s%s: %s\n", i+1, f.Code, share, f.Says)
		command := f.Remedy.String()
		if !told[command] {
			fmt.Fprintf(w, "     %s\n", command)
		}
		told[command] = true
	}
	for _, s := range v.Grouped() {
		fmt.Fprintf(w, "  not judged: %s\n", s)
	}
	fmt.Fprintln(w)
}

// printFinding shows what a kind of data tells of samples.
func printFinding(row func(cells ...string), f domain.Finding) {
	verdict := f.Verdict
	if f.Warning {
		verdict = "WARN: " + verdict
	}
	row(f.Name, verdict)
	for _, m := range f.Measures {
		told := fmt.Sprintf("%.4g", m.Samples)
		if m.Unit != "" {
			told += " " + m.Unit
		}
		if !m.Data.IsNaN() {
			told += fmt.Sprintf("   data %.4g", m.Data)
		}
		if !m.Noise.IsNaN() {
			told += fmt.Sprintf("   noise %.2g   p = %.3f", m.Noise, m.PValue)
		}
		row("  "+m.Name, told)
	}
}

// printConditional shows how near samples are to the data given the condition.
func printConditional(row func(cells ...string), g *judge.Conditional) {
	if g == nil {
		return
	}
	for _, b := range g.Bins {
		row("distance where "+b.String(), against(b.Full, b.Mean, b.SD))
	}
	if g.Pairs.M == 0 {
		return
	}
	told := fmt.Sprintf("%.3g, floor %.3g ± %.2g, p = %.3f (%d held-out conditions)", g.Pairs.Statistic, g.Pairs.Mean,
		g.Pairs.SD, g.Pairs.PValue, g.Pairs.M)
	if g.Warning != "" {
		told += "; WARN: " + g.Warning
	}
	row("given the condition", told)
}

// drawnBy says by which keys samples were drawn, and what the run's own are.
func drawnBy(drawn []problem.Drawn) string {
	var keys []string
	for _, s := range drawn {
		told := s.String()
		switch {
		case s.Own == nil: // a key of a method that is not the run's
			told += " (the run has none)"
		case s.Changed():
			told += fmt.Sprintf(" (the run's: %v)", s.Own)
		}
		keys = append(keys, told)
	}
	return strings.Join(keys, ", ")
}

// printSteps shows the areas under the curves of violations on the way.
func printSteps(row func(cells ...string), s *judge.Steps) {
	if s != nil && len(s.Component) > 0 {
		row("violation on the way", fmt.Sprintf("area under its mean over t: equalities %.3g, inequalities %.3g",
			s.Equalities, s.Inequalities))
	}
}

// printWalls shows the walls that are warned of, and the first of the others.
func printWalls(row func(cells ...string), walls []judge.Wall) {
	alike := 0
	for _, w := range walls {
		if w.Warning == "" {
			if alike++; alike > maxComponents {
				continue
			}
		}
		row("wall of "+w.Component, w.String())
	}
	if alike > maxComponents {
		row("other walls", fmt.Sprintf("%d, nothing to warn of", alike-maxComponents))
	}
}

// copies compares samples with held-out points.
func copies(row func(cells ...string), v *judge.Evaluation) {
	ratio := fmt.Sprintf("ratio %.2f", v.Nearest.Ratio)
	if v.Nearest.HeldOut == 0 {
		ratio = "no ratio: most held-out points repeat a training point"
	}
	row("nearest training point", fmt.Sprintf("median %.3g; of held-out points %.3g; %s", v.Nearest.Samples,
		v.Nearest.HeldOut, ratio))
	row("copies of training points", fmt.Sprintf("%.1f %% of samples, %.1f %% of held-out points", 100*v.Nearest.Copied,
		100*v.Nearest.Repeated))
	row("energy distance, held-out", fmt.Sprintf("%.3g, floor %.3g ± %.2g, p = %.3f", v.TwoSample.Statistic,
		v.TwoSample.Mean, v.TwoSample.SD, v.TwoSample.PValue))
	if v.Given == nil {
		row("energy distance, all rows", fmt.Sprintf("%.3g, floor %.3g ± %.2g, p = %.3f", v.AllRows.Statistic,
			v.AllRows.Mean, v.AllRows.SD, v.AllRows.PValue))
	}
}

// against writes a distance with its floor.
func against(distance, floor, sd metric.Float) string {
	return fmt.Sprintf("%.4f   floor %.4f ± %.4f", distance, floor, sd)
}

// whereStarts says how far the prior is from where forward paths end.
func whereStarts(s *judge.Start) string {
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
	told := fmt.Sprintf("%.4g from where %d forward paths end to the %s, floor %.4g ± %.2g (%s); p = %.3f", s.Distance,
		s.Paths, from, s.Floor, s.FloorSD, s.Metric, s.PValue)
	if s.Warning != "" {
		told += "; WARN: " + s.Warning
	}
	return told
}
