package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/verdict"
)

// source is the problem that a verb names, with its changes.
type source struct {
	data, variant string
	settings      []string
	budget        time.Duration // of train; 0: what the problem says
}

func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.data, "data", "", "data file; replaces data.path")
	cmd.Flags().StringArrayVar(&s.settings, "set", nil, "replace one key, as in train.epochs=500 (repeatable)")
	cmd.Flags().StringVar(&s.variant, "variant", "", "the problem's variants to apply, in order, such as olla or "+
		"olla,fast")
}

// load reads the problem and the bytes to keep as it was given.
func (s *source) load(name string) (*problem.Problem, []byte, error) {
	data, origin, err := problem.Source(name)
	if err != nil {
		return nil, nil, err
	}
	settings, err := s.within()
	if err != nil {
		return nil, nil, err
	}
	p, err := problem.Load(data, origin, s.variant, settings)
	if err != nil {
		return nil, nil, err
	}
	if s.data != "" {
		p.Data.Path = s.data
	}
	for key, path := range p.Files() {
		if path == "" || key == "data.path" && s.data != "" {
			continue
		}
		given := slices.ContainsFunc(s.settings, func(setting string) bool { // it, or what it is part of
			set, _, _ := strings.Cut(setting, "=")
			rest, ok := strings.CutPrefix(key, set)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
		if !filepath.IsAbs(path) && !given {
			path = filepath.Join(filepath.Dir(name), path) // as the problem file means it
		}
		if key != "data.path" { // config.yaml must find it from anywhere; the manifest keeps the data's path
			if path, err = filepath.Abs(path); err != nil {
				return nil, nil, err
			}
		}
		p.SetFile(key, path)
	}
	return p, data, nil
}

// within returns the settings with those of the budget before them: the epochs of the problem
// are no bound of it.
func (s *source) within() ([]string, error) {
	if s.budget == 0 {
		return s.settings, nil
	}
	for _, given := range s.settings {
		if strings.HasPrefix(given, "train.max_seconds=") {
			return nil, errBothBudgets
		}
	}
	return append([]string{fmt.Sprintf("train.max_seconds=%v", s.budget.Seconds()), "train.epochs=0"},
		s.settings...), nil
}

var errBothBudgets = &usageError{errors.New("--for says what --set train.max_seconds says; expected one of them")}

// Bounds of --for.
const (
	leastBudget = time.Second
	mostBudget  = 1000 * time.Hour
)

func checkBudget(d time.Duration) error {
	if d < leastBudget || d > mostBudget {
		return &usageError{fmt.Errorf("--for is %v; expected a time from %v to %v, such as 90s, 5m or 1h30m", d,
			leastBudget, mostBudget)}
	}
	return nil
}

// place is where a new run folder goes.
type place struct {
	out, parent string
	force       bool
}

func (w *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.out, "out", "", "run folder to make (default: the first free NAME-001 … under --runs)")
	cmd.Flags().StringVar(&w.parent, "runs", runsDir, "folder that holds runs")
	cmd.Flags().BoolVar(&w.force, "force", false, "if the run folder exists, move it aside")
}

func (w *place) make(name string) (*run.Folder, error) {
	if w.out != "" {
		return run.Create(w.out, w.force)
	}
	if w.parent == "" {
		return nil, &usageError{errors.New("--runs is empty; expected a folder")}
	}
	return run.CreateNumbered(w.parent, name)
}

func (a *app) train() *cobra.Command {
	var src source
	var at place
	var most limit
	var events board
	cmd := &cobra.Command{
		Use:   "train PROBLEM",
		Short: "Train on a recipe or a problem file",
		Long: `train makes a run folder and trains the problem in it. PROBLEM is a recipe
(landing recipes) or a YAML file. Ctrl-C keeps what was done.

--for trains as long as it says: a short warm-up is timed, and the number of epochs that
fills the time is written to manifest.json. The learning rate falls to 0 until the end. With
--set train.epochs there are at most so many.

--set train.stop=held_out trains until the distance of samples to the validation rows no longer
falls, and keeps the best average of the weights.

--max-time stops the call after a time, as Ctrl-C does, and changes nothing of the plan: a
checkpoint is left, landing resume goes on with the same bytes, and the exit code is 6.

--tensorboard writes each epoch's numbers and the violations of samples that are drawn on the way
as events into the run folder, or with --tensorboard=DIR into DIR/RUN; landing resume goes on with
them. tensorboard --logdir shows them while the training goes.`,
		Example: "  landing train volcano --data volcano.csv\n  landing train problem.yaml --for 5m\n" +
			"  landing train problem.yaml --set train.epochs=500\n  landing train problem.yaml --max-time 8h",
		Args: args(1, "a recipe or a problem file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") {
				if err := checkBudget(src.budget); err != nil {
					return err
				}
			}
			if err := most.check(cmd); err != nil {
				return err
			}
			ctx, cancel := most.within(cmd.Context())
			defer cancel()
			r, err := a.begin(args[0], &src, &at)
			if err != nil {
				return err
			}
			return a.trainAndTell(ctx, r, "", events)
		},
	}
	src.flags(cmd)
	at.flags(cmd)
	cmd.Flags().DurationVar(&src.budget, "for", 0, "train so long, as in 5m or 1h30m: train.max_seconds")
	most.flag(cmd)
	events.flag(cmd, "write events for TensorBoard into the run folder, or into a new folder in DIR")
	return cmd
}

// begin makes a run folder for a problem. Nothing is made if the problem or its
// data is at fault.
func (a *app) begin(name string, src *source, at *place) (*experiment.Run, error) {
	p, verbatim, err := src.load(name)
	if err != nil {
		return nil, err
	}
	l, err := experiment.Load(p, a.workersPool())
	if err != nil {
		return nil, err
	}
	a.warnOfFaults(l)
	if idle := p.Idle(); len(idle) > 0 {
		a.say("note: what is given of %s means nothing to the method %s", strings.Join(idle, ", "), l.Method.Name())
	}
	f, err := at.make(p.Name)
	if err != nil {
		return nil, err
	}
	if f.Moved != "" {
		a.say("the run that was there is now %s", f.Moved)
	}
	for _, c := range l.Chosen {
		if c.Key == "prior" || c.Key == "train.stop" || c.Key == "train.epochs" && !l.Problem.Train.HeldOut() {
			a.say("%s: %v, since %s", c.Key, c.Value, c.Reason)
		}
	}
	return l.Begin(f, verbatim, append([]string{"landing"}, a.args...))
}

func (a *app) resume() *cobra.Command {
	var data, checkpoint string
	var settings []string
	var budget time.Duration
	var most limit
	var events board
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that was stopped, or train a finished one longer",
		Long: `resume continues a run from its newest checkpoint, bit for bit as if it had not
stopped.

--for and --set train.epochs train a run longer than was planned, a finished one too. The
learning rate begins anew where a run planned so long from the start would have it, and falls
to 0 until the new end. The checkpoint of before stays. Of other keys --set takes those of
training that a run can go on with; an error names them.

--max-time is that of landing train: the call stops after it, with exit code 6.

Events for TensorBoard go on where they are, if there are any; --tensorboard begins with those of
all epochs until now.`,
		Example: "  landing resume runs/volcano-001\n  landing resume runs/volcano-001 --for 10m\n" +
			"  landing resume runs/volcano-001 --set train.epochs=2000",
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") {
				if err := checkBudget(budget); err != nil {
					return err
				}
				for _, given := range settings {
					if strings.HasPrefix(given, "train.max_seconds=") {
						return errBothBudgets
					}
				}
				settings = append([]string{fmt.Sprintf("train.max_seconds=%v", budget.Seconds())}, settings...)
			}
			if err := most.check(cmd); err != nil {
				return err
			}
			ctx, cancel := most.within(cmd.Context())
			defer cancel()
			r, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			if err := r.Folder.Lock(); err != nil {
				return err
			}
			if len(settings) > 0 {
				if r, err = r.Extend(settings, checkpoint, append([]string{"landing"}, a.args...)); err != nil {
					return err
				}
			}
			return a.trainAndTell(ctx, r, checkpoint, events)
		},
	}
	movedFlag(cmd, &data)
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", "checkpoint to go on from (default: the newest)")
	cmd.Flags().StringArrayVar(&settings, "set", nil,
		"go on with another value of a key of training, as in train.epochs=2000 (repeatable)")
	cmd.Flags().DurationVar(&budget, "for", 0, "train so much longer, as in 10m")
	most.flag(cmd)
	events.flag(cmd, "write events for TensorBoard into the run folder, or into a new folder in DIR (default: where "+
		"they were written)")
	return cmd
}

// trained is what train and resume print.
type trained struct {
	Run     string         `json:"run"`
	Epochs  int            `json:"epochs"`
	Loss    metric.Float   `json:"loss"`
	Worst   []metric.Float `json:"worst_violation"`   // on forward paths, by component
	Stopped string         `json:"stopped,omitempty"` // why, where held-out distances are looked at
	Weights *run.Weights   `json:"weights,omitempty"` // that they chose
	Seconds judge.Seconds  `json:"seconds"`

	Remembered string `json:"remembered,omitempty"` // that the loss jumps where paths are drawn afresh
}

func (a *app) trainAndTell(ctx context.Context, r *experiment.Run, checkpoint string, events board) error {
	defer r.Folder.Unlock()
	last, err := a.fit(ctx, r, checkpoint, events)
	if err != nil {
		return err
	}
	t := trained{Run: r.Folder.Dir, Epochs: last.Epoch, Loss: metric.Float(last.Loss), Worst: []metric.Float{},
		Seconds: judge.Seconds{Train: metric.Float(last.Seconds), Simulate: metric.Float(last.Simulated)}}
	for _, v := range last.Worst {
		t.Worst = append(t.Worst, metric.Float(v))
	}
	var status run.Status
	if err := r.Folder.ReadJSON(run.StatusFile, &status); err != nil {
		return err
	}
	t.Stopped, t.Weights = status.Stopped, r.Folder.ChosenWeights()
	if t.Remembered = experiment.Remembered(r.Folder, r.Problem.Train.Refresh); t.Remembered != "" {
		a.say("note: %s", t.Remembered)
	}
	return a.result(t, func(w io.Writer) {
		fmt.Fprintf(w, "trained %d epochs in %s: loss %.4g\n", t.Epochs, clock(last.Seconds), last.Loss)
		if t.Stopped != "" {
			fmt.Fprintf(w, "why:   %s\n", t.Stopped)
		}
		if t.Weights != nil {
			fmt.Fprintf(w, "best:  weights of epoch %d: %s\n", t.Weights.Epoch, t.Weights.Reason)
		}
		fmt.Fprintf(w, "next:  landing report %s\n       landing generate %s -n 10000 -o samples.npy\n",
			text.Shell(r.Folder.Dir), text.Shell(r.Folder.Dir)+asking(r))
	})
}

// asking is the flag that generate needs of a run with a condition: that of a row which is about in the
// middle. The mean itself need not be one, as of labels.
func asking(r *experiment.Run) string {
	if r.Condition == nil {
		return ""
	}
	c, nearest := r.Condition, math.Inf(1)
	var middle []float64
	for row := range slices.Chunk(r.TrainRows, c.At+len(c.Names)) {
		far := 0.0
		for k, v := range row[c.At:] {
			far += math.Pow((v-c.Read.Mean[k])/c.Read.Scale[k], 2)
		}
		if far < nearest {
			middle, nearest = row[c.At:], far
		}
	}
	var values []string
	for k, v := range middle {
		values = append(values, fmt.Sprintf("%s=%.6g", c.Names[k], v))
	}
	return " --condition " + strings.Join(values, ",")
}

// fit trains with progress, and says how to go on if it is interrupted.
func (a *app) fit(ctx context.Context, r *experiment.Run, checkpoint string, events board) (train.Epoch, error) {
	var last train.Epoch
	r.Group = a.group
	r.Workers = a.workers
	bar := a.progress()
	judgedBy := train.Judge(r.Problem.Train.ByLoss())
	held := fmt.Sprintf("and %d held-out", r.Data.N-len(r.Split.Train))
	if r.Problem.Train.HeldOut() {
		held = fmt.Sprintf("%d validation and %d test", len(r.Split.Val), len(r.Split.Test))
	}
	a.say("%s: %s on %s, %d training %s points", r.Title(), r.Method.Name(), r.Data.Name, len(r.Split.Train), held)
	a.say("run folder: %s", r.Folder.Dir)
	a.working(r.Folder.Dir)
	if a.group != nil {
		how := "sums in the order of one process"
		if !r.Problem.MPI.Exact {
			how = "mpi.exact=false: weights depend on how many"
		}
		a.say("%d ranks, %s", a.group.Size(), how)
	}
	start, first, rows, epochs := time.Now(), -1, int64(0), 0
	o, done, err := events.observe(a, r, experiment.Observer{
		Begin: func(n int) { epochs = n },
		Clock: func(d train.Decision) {
			epochs = d.Plan.Epochs
			bar.line(d.String())
		},
		HeldOut: func(m train.Measured, fault string) {
			if fault != "" {
				bar.line(fmt.Sprintf("epoch %d: no %s: %s", m.Epoch, judgedBy, fault))
				return
			}
			bar.line(fmt.Sprintf("epoch %d: %s %.4g ± %.2g", m.Epoch, judgedBy, m.Distance, m.Noise))
		},
		Verdict: func(v train.Verdict) {
			epochs = v.Plan.Epochs
			bar.line(v.String())
			if v.From < v.After { // its epochs come again
				first = -1
			}
		},
		Epoch: func(t train.Epoch) {
			if first < 0 {
				first, rows, start = t.Epoch, t.Rows, time.Now()
			}
			last = t
			bar.show(t.Epoch == epochs, inNumbers(t, epochs), func() string {
				return epochLine(t, epochs, first, rows, time.Since(start))
			})
		},
		Mixing: func(steps, most int) {
			if time.Since(start) > time.Second {
				bar.update(false,
					func() string { return fmt.Sprintf("prior: chains at step %d of at most %d", steps, most) })
			}
		},
		Prior: func(p experiment.Prior) {
			m := p.Mixing
			bar.clear()
			a.say("prior: uniform, from %d chains of %d steps: split-R̂ %.3f, %.0f effective draws", m.Chains, m.Steps,
				float64(m.Rhat), float64(m.ESS))
			if m.Lost > 0 {
				a.say("note: %d of %d draws of the chains could not be projected and are left out", m.Lost, m.Draws)
			}
			for _, note := range []string{r.Warning, p.Warning} {
				if note != "" {
					a.say("note: %s", note)
				}
			}
		},
		Evaluation: func(p judge.Progress) {
			if p.Fault != "" {
				bar.line(fmt.Sprintf("epoch %d, after %s: no evaluation: %s", p.Epoch, clock(p.Seconds), p.Fault))
				return
			}
			bar.line(fmt.Sprintf("epoch %d, after %s: distance to the data %.4f, worst violation %.2g, %d failed",
				p.Epoch, clock(p.Seconds), float64(p.JSD), float64(p.Violation), p.Failed))
		},
	})
	if err != nil {
		return last, err
	}
	err = r.Train(ctx, checkpoint, o)
	done()
	bar.done()
	if train.Interrupted(err) {
		if last.Epoch == 0 { // of this call; an earlier one may have trained some
			if was, e := experiment.LastEpoch(r.Folder); e == nil {
				last = was
			}
		}
		why, goOn := "interrupted", suggest(verdict.GoOn, r.Folder.Dir)
		if up := new(timeUpError); errors.As(context.Cause(ctx), &up) {
			why = up.Error()
			err = &timeUpError{up.most, fmt.Sprintf(" after epoch %d; %s goes on", last.Epoch, goOn)}
		}
		a.say("%s after epoch %d; all is kept. Go on with:\n  %s", why, last.Epoch, goOn)
		return last, &said{err}
	}
	if err == nil && last.Epoch == 0 {
		a.say("all %d epochs were trained before", epochs)
		return experiment.LastEpoch(r.Folder)
	}
	return last, err
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
	worst := 0.0
	for _, v := range t.Worst {
		worst = max(worst, v)
	}
	var b strings.Builder
	of := fmt.Sprint(epochs)
	if epochs == 0 { // a clock will decide
		of = "…"
	}
	fmt.Fprintf(&b, "epoch %*d/%s  loss %-8.4g", len(of), t.Epoch, of, t.Loss)
	if len(t.Worst) > 0 { // of paths on a set
		fmt.Fprintf(&b, "  worst |h| %.1e", worst)
	}
	if t.Failed > 0 {
		fmt.Fprintf(&b, "  %d paths failed", t.Failed)
		if t.Broken > 0 {
			fmt.Fprintf(&b, ", %d broke down", t.Broken)
		}
	}
	if n := t.Epoch - first; n > 0 {
		s := since.Seconds()
		fmt.Fprintf(&b, "  %s rows/s", si(float64(t.Rows-rows)/s))
		if epochs > 0 {
			fmt.Fprintf(&b, "  %s left", clock(s/float64(n)*float64(epochs-t.Epoch)))
		}
	}
	return b.String()
}

func (a *app) demo() *cobra.Command {
	var src source
	var at place
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Train, generate, evaluate and report on a week of earthquakes",
		Long: `demo trains ULLA on earthquakes that ship in the binary, generates as many
samples, scores them, and leaves a run folder with a map and a report. It takes
half a minute on two cores.`,
		Args: args(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.begin("demo", &src, &at)
			if err != nil {
				return err
			}
			if _, err := a.fit(cmd.Context(), r, "", board{}); err != nil {
				return err
			}
			return a.judge(cmd.Context(), r, judgement{report: true})
		},
	}
	cmd.Flags().StringArrayVar(&src.settings, "set", nil, "replace one key, as in train.epochs=50 (repeatable)")
	at.flags(cmd)
	return cmd
}
