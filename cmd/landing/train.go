package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// trainOptions are the flags of train. A run folder has fewer of them than a problem.
type trainOptions struct {
	source
	place
	checkpoint string
	timeout    time.Duration
	engine     string
}

func (o *trainOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	o.place.flags(f)
	f.StringVar(&o.checkpoint, "checkpoint", "", "of a run folder: checkpoint to continue from (default: the newest)")
	f.DurationVar(&o.budget, "for", 0, "training time, as in 5m or 1h30m; of a run folder: so much more")
	f.DurationVar(&o.timeout, "timeout", 0, "stop after so long, as in 8h, with a checkpoint and exit code 6; "+
		"landing train RUN continues with the same bytes")
	f.StringVar(&o.engine, "engine", "", "socket of a program that computes the gradients: landing.torch.fit in Python")
	f.Lookup("engine").Hidden = true
}

// check looks at the flags for a problem or for a run folder.
func (o *trainOptions) check(given func(flag string) bool, args []string) error {
	if resumes(args[0]) {
		for _, flag := range []string{"variant", "out", "runs", "force"} {
			if given(flag) {
				return usage("--%s is for a problem; this is a run folder, which training continues in", flag)
			}
		}
	} else if given("checkpoint") {
		return usage("--checkpoint is for a run folder; this is a problem, which has none")
	}
	return bounds(inTime("for", o.budget, given), inTime("timeout", o.timeout, given))
}

func trainVerb(a *app) *cobra.Command {
	o := new(trainOptions)
	cmd := command(a, &cobra.Command{
		Use:   "train PROBLEM|RUN",
		Short: "Train on a problem, or continue the training of a run folder",
		Long: `PROBLEM is a recipe (landing recipes) or a YAML file: train makes a run folder and trains in it.
Ctrl-C keeps what was done. RUN is a run folder: train continues from its newest checkpoint, with
the same bytes as if it had not stopped.

--for sets the training time. The command times a short warm-up, and writes the number of epochs
that fill the time to manifest.json. The learning rate falls to 0 at the end. With --set
train.epochs this number is an upper bound.

--set train.stop=held_out trains until the distance of samples to the validation rows no longer
falls, and keeps the best average of the weights.

In a run folder, --for and --set train.epochs train longer than was planned, also if the run has
finished. The learning rate starts again where a run of the new length would have it. The earlier
checkpoint stays. --set takes those other keys of training that a run can continue with; an error
lists them.`,
		Example: "  landing train volcano --data volcano.csv\n  landing train problem.yaml --for 5m\n" +
			"  landing train problem.yaml --set train.epochs=500 --timeout 8h\n" +
			"  landing train runs/volcano-001 --for 10m",
	}, o, runTrain)
	return cmd
}

// resumes reports whether an argument of train is a folder. A recipe's name is never one.
func resumes(name string) bool {
	if slices.Contains(problem.Recipes(), name) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func runTrain(ctx context.Context, a *app, o *trainOptions, args []string) (answer, error) {
	if o.timeout > 0 { // unlike a budget, it does not change the plan: a stopped training resumes to the same bytes
		end := fault.Errorf(fault.Time, "", "stopped by --timeout %v", o.timeout)
		limited, cancel := context.WithTimeoutCause(ctx, o.timeout, end)
		defer cancel()
		ctx = limited
	}
	var r *experiment.Run
	var engine *train.Engine
	var err error
	if o.engine != "" {
		conn, err := net.Dial("unix", o.engine)
		if err != nil || a.group != nil {
			return answer{}, usage("--engine %s: expected a socket, and no MPI: %v", o.engine, err)
		}
		if engine, err = train.NewEngine(conn); err != nil {
			return answer{}, err
		}
	}
	if engine != nil && engine.Rank > 0 {
		if r, err = a.open(ctx, args[0], o.data, experiment.Open); err == nil {
			r.Engine = engine
			err = r.MakeRows(ctx)
		}
		return answer{}, err
	}
	if resumes(args[0]) {
		r, err = a.reopen(ctx, args[0], o)
	} else {
		r, err = a.begin(ctx, args[0], &o.source, &o.place)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && train.Interrupted(err) {
			err = cause // which says that --timeout ended it
		}
		return answer{}, err
	}
	r.Engine = engine
	p := r.Problem
	if !resumes(args[0]) && engine == nil && p.Train.MaxSeconds == 0 && !p.Wrote(problem.KeyTrainEpochs) {
		if err := a.foretell(ctx, r); err != nil {
			return answer{}, err
		}
	}
	return a.finish(ctx, r, o)
}

// longTraining is how many seconds a training without a given length may take before a forecast is printed. Only tests
// lower it.
var longTraining = 1800.0

// foretell says how long a training takes that nobody gave a length, if that is long, and how to have a result soon.
func (a *app) foretell(ctx context.Context, r *experiment.Run) error {
	report, done := a.out.preparing()
	report("timing a few batches, for a forecast")
	c, err := r.Forecast(ctx)
	done()
	if err == nil && c.Seconds > longTraining {
		var words []string
		for _, word := range a.commandLine() {
			words = append(words, text.Shell(word))
		}
		a.out.say("note: this training takes %s on this machine. For a result in minutes:\n  %s --for 5m", c,
			strings.Join(words, " "))
	}
	return ctx.Err() // a fault is reported where training meets it
}

// reopen opens a run to continue its training, by other settings if some are given.
func (a *app) reopen(ctx context.Context, dir string, o *trainOptions) (*experiment.Run, error) {
	settings, err := withBudget(o.budget, o.settings)
	if err != nil {
		return nil, err
	}
	r, err := a.open(ctx, dir, o.data, experiment.Open)
	if err != nil {
		return nil, err
	}
	if err := r.Folder.Lock(); err != nil {
		return nil, err
	}
	if len(settings) == 0 {
		return r, nil
	}
	return r.Extend(problem.ParseSettings(settings...), o.checkpoint, a.commandLine())
}

// begin makes a run folder for a problem. Nothing is made if the problem or its
// data is at fault.
func (a *app) begin(ctx context.Context, name string, src *source, at *place) (*experiment.Run, error) {
	p, verbatim, err := src.load(name)
	if err != nil {
		return nil, err
	}
	report, done := a.out.preparing()
	l, err := experiment.Load(ctx, p, a.workersPool(), report)
	done()
	if err != nil {
		return nil, err
	}
	idle := p.Idle(l.Process)
	if warnOfFaults(&a.out, l); len(idle) > 0 {
		a.out.say("note: what is given of %s means nothing to the method %s", strings.Join(idle, ", "), l.Method.Name())
	}
	f, err := at.make(&a.out, p.Name)
	if err != nil {
		return nil, err
	}
	for _, c := range l.Chosen {
		if c.Key == "prior" || c.Key == "train.stop" || c.Key == "train.epochs" && !l.Problem.Train.HeldOut() {
			a.out.say("%s: %v, since %s", c.Key, c.Value, c.Reason)
		}
	}
	return l.Begin(f, verbatim, a.commandLine())
}

// trained is what train prints.
type trained struct {
	Run     string         `json:"run"`
	Epochs  int            `json:"epochs"`
	Loss    metric.Float   `json:"loss"`
	Worst   []metric.Float `json:"worst_violation"`   // on forward paths, by component
	Stopped string         `json:"stopped,omitempty"` // why, where held-out distances are looked at
	Weights *run.Weights   `json:"weights,omitempty"` // that they chose
	Trained *train.Cost    `json:"trained,omitempty"` // what the training took in all
	Seconds judge.Seconds  `json:"seconds"`
}

// finish trains a run to its end.
func (a *app) finish(ctx context.Context, r *experiment.Run, o *trainOptions) (answer, error) {
	defer r.Folder.Unlock()
	last, err := a.fit(ctx, r, o.checkpoint)
	if err != nil {
		return answer{}, err
	}
	t := trained{Run: r.Folder.Dir, Epochs: last.Epoch, Loss: metric.Float(last.Loss), Worst: []metric.Float{},
		Seconds: judge.Seconds{Train: metric.Float(last.Seconds), Simulate: metric.Float(last.Simulated)}}
	for _, v := range last.Worst {
		t.Worst = append(t.Worst, metric.Float(v))
	}
	status, err := r.Folder.Status()
	if err != nil {
		return answer{}, err
	}
	m, err := r.Folder.Manifest()
	if err != nil {
		return answer{}, err
	}
	t.Stopped, t.Weights, t.Trained = status.Stopped, m.Weights, status.Trained
	return answer{t, func(w io.Writer) {
		fmt.Fprintf(w, "trained %s: loss %.4g\n", cmp.Or(t.Trained.Text(),
			fmt.Sprintf("%s in %s", plural(t.Epochs, "epoch"), text.Clock(last.Seconds))), last.Loss)
		if t.Stopped != "" {
			fmt.Fprintf(w, "why:   %s\n", t.Stopped)
		}
		if t.Weights != nil {
			after := ""
			if s := t.Weights.Seconds; s > 0 {
				after = fmt.Sprintf(", after %s of training", text.Clock(s))
			}
			fmt.Fprintf(w, "best:  weights of epoch %d%s: %s\n", t.Weights.Epoch, after, t.Weights.Reason)
		}
		ext := strings.ToLower(filepath.Ext(r.Problem.Data.Path))
		if r.Domain.Writers[ext] == nil { // samples have the format of the data where that is one of its kind
			ext = ".npy"
		}
		fmt.Fprintf(w, "next:  landing report %s\n       landing generate %s -n 10000 -o samples%s\n",
			text.Shell(r.Folder.Dir), text.Shell(r.Folder.Dir)+asking(r), ext)
	}}, nil
}

// asking is the flag that generate needs of a run with a condition: that of its first row, as an example.
func asking(r *experiment.Run) string {
	if r.Condition == nil {
		return ""
	}
	var values []string
	row, names := r.TrainRows[r.Condition.At:], r.Condition.Names
	if f := places(r, row); f != "" {
		return f
	}
	for k, name := range names {
		if angle, ok := strings.CutPrefix(name, "sin_"); ok && k > 0 && names[k-1] == "cos_"+angle {
			values[len(values)-1] = fmt.Sprintf("%s=%.6g", angle, math.Atan2(row[k], row[k-1])*180/math.Pi) // degrees
			continue
		}
		values = append(values, fmt.Sprintf("%s=%.6g", name, row[k]))
	}
	return " --condition " + strings.Join(values, ",")
}

// places is the flags of a start and a goal of an arm, where points alone are open.
func places(r *experiment.Run, row []float64) (flags string) {
	names := r.Condition.Names
	for k := 0; k < len(names); k += 3 {
		place, point := strings.CutSuffix(names[k], "_x")
		if !point || k+3 > len(names) {
			return ""
		}
		flags += fmt.Sprintf(" --%s=%.6g,%.6g,%.6g", place, row[k], row[k+1], row[k+2])
	}
	if _, arm := kinds.WithEnds(r.Process.Set); !arm {
		return ""
	}
	return flags
}

// fit trains with progress, and says how to go on if it is interrupted.
func (a *app) fit(ctx context.Context, r *experiment.Run, checkpoint string) (train.Epoch, error) {
	r.Group = a.group
	r.Workers = a.workers
	held := fmt.Sprintf("and %d held-out", r.Data.N-len(r.Split.Train))
	if r.Problem.Train.HeldOut() {
		held = fmt.Sprintf("%d validation and %d test", len(r.Split.Val), len(r.Split.Test))
	}
	a.out.say("%s: %s on %s, %d training %s points", r.Title(), r.Method.Name(), r.Data.Name, len(r.Split.Train), held)
	a.out.say("run folder: %s", r.Folder.Dir)
	if a.out.said == sayJSON {
		emit(a.out.stderr, event{Event: eventRun, Run: r.Folder.Dir})
	}
	if a.group != nil {
		how := "sums in the order of one process"
		if !r.Problem.MPI.Exact {
			how = "mpi.exact=false: weights depend on how many"
		}
		a.out.say("%d ranks, %s", a.group.Size(), how)
	}
	c := &course{app: a, run: r, bar: a.out.progress(), judge: train.Judge(r.Problem.Train.ByLoss()), start: time.Now(),
		first: -1}
	var doing func(string)
	doing, c.ready = a.out.preparing()
	watch := c.observer()
	watch.Doing = func(what string) {
		if c.first >= 0 { // after the last epoch
			c.bar.clear()
			a.out.say("%s", what)
		}
		doing(what)
	}
	err := r.Train(ctx, checkpoint, watch)
	c.ready()
	c.bar.done()
	if train.Interrupted(err) {
		if c.last.Epoch == 0 { // of this call; an earlier one may have trained some
			if was, e := experiment.LastEpoch(r.Folder); e == nil {
				c.last = was
			}
		}
		why, again := "interrupted", suggest(verdict.GoOn, r.Folder.Dir)
		if cause := context.Cause(ctx); fault.KindOf(cause) == fault.Time {
			why = cause.Error()
			err = fault.Errorf(fault.Time, "", "%w after epoch %d; %s goes on", cause, c.last.Epoch, again)
		}
		a.out.say("%s after epoch %d; all is kept. Go on with:\n  %s", why, c.last.Epoch, again)
		return c.last, &said{err}
	}
	if err == nil && c.last.Epoch == 0 {
		a.out.say("all %d epochs were trained before", c.epochs)
		return experiment.LastEpoch(r.Folder)
	}
	return c.last, err
}

// tellShare is by how much a number of epochs must differ from the last one that was printed, to be printed.
const tellShare = 0.1

// A course is how far a training has come, as it is shown.
type course struct {
	*app
	run    *experiment.Run
	bar    *progress
	judge  string
	last   train.Epoch
	epochs int // 0: a clock will decide
	told   int // the epochs of the last decision that was printed

	start time.Time // of the epochs that the rate is measured over, from first on
	first int
	rows  int64
	ready func() // ends the display of what is done before the first epoch
}

func (c *course) observer() experiment.Observer {
	return experiment.Observer{
		Begin: func(n int) { c.epochs = n },
		Clock: func(d train.Decision) {
			c.epochs = d.Plan.Epochs
			if far := tellShare * float64(c.told); c.told == 0 || math.Abs(float64(c.epochs-c.told)) > far {
				c.told = c.epochs
				c.bar.line(d.String())
			}
		},
		HeldOut: func(m train.Measured, fault string) {
			if fault != "" {
				c.bar.line(fmt.Sprintf("epoch %d: no %s: %s", m.Epoch, c.judge, fault))
				return
			}
			c.bar.line(fmt.Sprintf("epoch %d: %s %.4g ± %.2g", m.Epoch, c.judge, m.Distance, m.Noise))
		},
		Verdict: func(v train.Verdict) {
			c.epochs = v.Plan.Epochs
			c.bar.line(v.String())
			if v.From < v.After { // its epochs come again
				c.first = -1
			}
		},
		Epoch: func(t train.Epoch) {
			if c.ready(); c.first < 0 {
				c.first, c.rows, c.start = t.Epoch, t.Rows, time.Now()
			}
			c.last = t
			c.bar.show(t.Epoch == c.epochs, inNumbers(t, c.epochs), func() string {
				return epochLine(t, c.epochs, c.first, c.rows, time.Since(c.start))
			})
		},
		Mixing: func(steps, most int) {
			c.ready()
			if time.Since(c.start) > time.Second {
				c.bar.update(false,
					func() string { return fmt.Sprintf("prior: chains at step %d of at most %d", steps, most) })
			}
		},
		Prior: func(p experiment.Prior) {
			m := p.Mixing
			c.bar.clear()
			c.out.say("prior: uniform, from %d chains of %d steps: split-R̂ %.3f, %.0f effective draws", m.Chains,
				m.Steps, float64(m.Rhat), float64(m.ESS))
			if m.Lost > 0 {
				c.out.say("note: %d of %d draws of the chains could not be projected and are left out", m.Lost, m.Draws)
			}
			for _, note := range []string{c.run.Warning, p.Warning} {
				if note != "" {
					c.out.say("note: %s", note)
				}
			}
		},
		Evaluation: func(p judge.Progress) {
			if p.Fault != "" {
				c.bar.line(fmt.Sprintf("epoch %d, after %s: no evaluation: %s", p.Epoch, text.Clock(p.Seconds),
					p.Fault))
				return
			}
			c.bar.line(fmt.Sprintf("epoch %d, after %s: distance to the data %.4f, worst violation %.2g, %d failed",
				p.Epoch, text.Clock(p.Seconds), float64(p.JSD), float64(p.Violation), p.Failed))
		},
	}
}

// inNumbers says how far a training is.
func inNumbers(t train.Epoch, epochs int) *at {
	loss := metric.Float(t.Loss)
	n := &at{Done: t.Epoch, Of: epochs, Loss: &loss, Failed: t.Failed}
	if len(t.Worst) > 0 { // of paths on a set
		worst := metric.Float(slices.Max(t.Worst))
		n.Violation = &worst
	}
	return n
}

func epochLine(t train.Epoch, epochs, first int, rows int64, since time.Duration) string {
	var b strings.Builder
	of := fmt.Sprint(epochs)
	if epochs == 0 { // a clock will decide
		of = "…"
	}
	fmt.Fprintf(&b, "epoch %*d/%s  loss %-8.4g", len(of), t.Epoch, of, t.Loss)
	if len(t.Worst) > 0 { // of paths on a set
		fmt.Fprintf(&b, "  worst |h| %.1e", slices.Max(t.Worst))
	}
	if t.Failed > 0 {
		fmt.Fprintf(&b, "  %d paths failed", t.Failed)
		if t.Broken > 0 {
			fmt.Fprintf(&b, ", %d broke down", t.Broken)
		}
	}
	if n := t.Epoch - first; n > 0 {
		s := since.Seconds()
		fmt.Fprintf(&b, "  %s rows/s", text.SI(float64(t.Rows-rows)/s))
		if epochs > 0 {
			fmt.Fprintf(&b, "  %s left", text.Clock(s/float64(n)*float64(epochs-t.Epoch)))
		}
	}
	return b.String()
}

// demoOptions are the flags of demo.
type demoOptions struct {
	source
	place
}

func (o *demoOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.settings, "set", nil, "replace one key, as in train.epochs=50 (repeatable)")
	o.place.flags(f)
}

func demoVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "demo",
		Short: "Train, generate, evaluate and report on a week of earthquakes",
		Long: `demo trains ULLA on earthquakes that ship in the binary, generates as many samples, evaluates
them, and leaves a run folder with a map and a report. It takes about a minute on two cores.`,
		Example: "  landing demo",
	}, new(demoOptions), runDemo)
}

func runDemo(ctx context.Context, a *app, o *demoOptions, _ []string) (answer, error) {
	r, err := a.begin(ctx, "demo", &o.source, &o.place)
	if err != nil {
		return answer{}, err
	}
	if _, err := a.fit(ctx, r, ""); err != nil {
		return answer{}, err
	}
	got, fault := a.judge(ctx, r, &judgement{report: true})
	if e, ok := got.object.(evaluated); ok {
		got.text = e.brief
	}
	return got, fault
}
