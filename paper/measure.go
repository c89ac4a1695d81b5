package paper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// Config says how cells are run. Budget 0 is the recipes' own epochs.
type Config struct {
	Data      string        // folder of data files
	Out       string        // folder of runs
	Budget    time.Duration // of each training
	Settings  []string      // of all trainings, over the cells'
	Processor bool          // the budget is of processor time over workers
	Note      string        // for the rows, such as: beside other work
	Command   []string      // for the manifests
	Pool      *parallel.Pool
	Say       func(format string, v ...any) // how it goes; nil: nobody hears
}

func (c *Config) say(format string, v ...any) {
	if c.Say != nil {
		c.Say(format, v...)
	}
}

// Measure runs a cell with a seed: it trains the cell's network, or goes on with a training that was
// interrupted, or takes the network of another cell with the same training; draws, judges, and leaves pictures in
// the run folder. What keeps the cell from having samples is the row's Failure; the error is that of the context, of
// data that is not there or of files.
func (c *Config) Measure(ctx context.Context, cell *Cell, seed uint64) (Row, error) {
	m := run.ThisMachine()
	row := Row{Cell: cell.Name, Recipe: cell.Recipe, Variants: cell.Variants,
		Settings: joined(cell.Settings, c.Settings), Draw: joined(cell.Draw, nil), Budget: c.Budget.Seconds(),
		Seed: seed, Commit: build(run.Version()), Machine: fmt.Sprintf("%s, %d cores, %s", m.CPU, m.Cores, m.Kernel),
		Day: time.Now().UTC().Format(time.DateOnly), Note: c.note(), Figures: map[string]float64{}}
	err := c.measure(ctx, cell, seed, &row)
	if err == nil {
		return row, nil
	}
	if ctx.Err() != nil {
		return row, ctx.Err()
	}
	if is[*fs.PathError](err) || is[*DataError](err) || is[*experiment.DataError](err) || is[*run.FolderError](err) {
		return row, err
	}
	row.Failure, row.Figures = err.Error(), nil
	return row, nil
}

// build is how a row names the version of a program: of one that knows no commit by the program that measures, too.
func build(version string) string {
	if version != run.Development {
		return version
	}
	return fmt.Sprintf("%s, program %s", version, run.Program())
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func (c *Config) measure(ctx context.Context, cell *Cell, seed uint64, row *Row) error {
	r, err := c.trained(ctx, cell, seed)
	if err != nil {
		return err
	}
	defer r.Folder.Unlock()
	var manifest run.Manifest
	if err := r.Folder.ReadJSON(run.ManifestFile, &manifest); err != nil {
		return err
	}
	row.Config, row.Commit = manifest.Config, build(manifest.Version)
	t, err := r.Trained("")
	if err != nil {
		return err
	}
	drawn, err := r.Redraw(cell.Draw)
	if err != nil {
		return err
	}
	if cell.Timed != nil {
		return c.time(ctx, r, drawn, cell, t, row)
	}
	prior, err := drawn.Prior(ctx, nil)
	if err != nil {
		return err
	}
	draw := drawn.Generate
	if cell.Diagnose {
		draw = drawn.Diagnose
	}
	n := drawn.SampleCount()
	s, err := draw(ctx, t, prior, n, 0, seed, func(done int) { c.say("%s: %d of %d samples", cell.Name, done, n) })
	if err != nil {
		return err
	}
	if s.Failed() == s.N() {
		return fmt.Errorf("none of %d samples is left: %d broke down", s.N(), s.Broken)
	}
	v, _ := drawn.Evaluate(s, t.State, nil) // violations above a limit are figures here
	row.judged(v)
	row.violations(drawn.Process.Set, s.Good())
	if err := row.paths(r); err != nil {
		return err
	}
	if cell.Jacobian {
		if err := c.jacobian(ctx, drawn, t, prior, seed, row); err != nil {
			return err
		}
	}
	drawn.Folder.Force = true // pictures of an earlier try
	if err := drawn.SaveSamples(s, t.State, seed); err != nil {
		return err
	}
	if _, err = drawn.Report(s, v); err != nil {
		return err
	}
	return c.keep(cell, seed, drawn)
}

// shown returns the folder of a cell's pictures.
func (c *Config) shown(cell *Cell, seed uint64) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == ',' || r == '\'' {
			return '-'
		}
		return r
	}, cell.Name)
	id := fmt.Sprintf("%s %v", c.Folder(cell, seed), cell.Draw)
	return filepath.Join(c.Out, "pictures", name+"-"+run.Hash([]byte(id))[:8])
}

// keep copies what a report has drawn to where figures look for it.
func (c *Config) keep(cell *Cell, seed uint64, r *experiment.Run) error {
	dir := r.Folder.Path(r.Out("figures"))
	names, err := fs.Glob(os.DirFS(dir), "*.svg")
	if err != nil {
		return err
	}
	var from []string
	for _, name := range names {
		from = append(from, filepath.Join(dir, name))
	}
	if cell.Jacobian {
		from = append(from, r.Folder.Path(r.Out(jacobianFile)))
	}
	to := c.shown(cell, seed)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, file := range from {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := run.WriteFile(filepath.Join(to, filepath.Base(file)), data, true); err != nil {
			return err
		}
	}
	return nil
}

// judged takes the figures of an evaluation.
func (r *Row) judged(v *experiment.Evaluation) {
	set := func(name string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			r.Figures[name] = value
		}
	}
	if j := v.JSD; j != nil {
		set(Distance, float64(j.Full))
		set(Floor, float64(j.Mean))
		set(FloorSD, float64(j.SD))
		set(HeldOut, float64(j.HeldOut))
		set(HeldOutFloor, float64(j.HeldOutFloor))
		for _, p := range j.Parts {
			if slices.Contains(columns, p.Name) {
				set(p.Name, float64(p.Full))
			}
		}
	}
	set(Copies, float64(v.Nearest.Ratio))
	set(MMD, float64(v.MMD.Statistic))
	set(Evaluations, float64(v.Network))
	set(Failed, float64(v.Failed)/float64(v.Samples))
	set(Samples, float64(v.Samples))
	set(Epochs, float64(v.Epoch))
	set(Train, float64(v.Seconds.Train))
	set(Simulate, float64(v.Seconds.Simulate))
	set(Generate, float64(v.Seconds.Generate))
	if v.Steps != nil {
		set(AreaH, float64(v.Steps.Equalities))
		set(AreaG, float64(v.Steps.Inequalities))
	}
}

// violations sums over the constraints, and means over points x: Σ|h_i|, Σ h_i², Σ max(g_j, 0).
func (r *Row) violations(set constraint.Set, x []float64) {
	m, d := len(set.Equalities()), set.Dim()
	e, values := set.NewEvaluator(1), make([]float64, len(constraint.Components(set)))
	var abs, square, over float64
	for lo := 0; lo < len(x); lo += d {
		e.Values(values, x[lo:lo+d], 1)
		for i, v := range values {
			if i < m {
				abs += math.Abs(v)
				square += v * v
			} else {
				over += max(v, 0)
			}
		}
	}
	n := float64(len(x) / d)
	r.Figures[AbsH], r.Figures[SquareH] = abs/n, square/n
	if len(values) > m {
		r.Figures[GPlus] = over / n
	}
}

// paths takes the share of forward paths that failed in training, over all that were drawn.
func (r *Row) paths(of *experiment.Run) error {
	records, err := of.Folder.Metrics()
	if err != nil {
		return err
	}
	k := of.Problem.Train
	each := len(of.Split.Train)
	if k.Paths > 0 {
		each = min(each, k.Paths)
	}
	failed, refreshes := failedPaths(records, max(1, k.Refresh))
	if refreshes > 0 {
		r.Figures[FailedPaths] = float64(failed) / float64(refreshes*each)
	}
	return nil
}

// failedPaths sums over refreshes: epochs between two of them repeat what the first says.
func failedPaths(records []run.Record, refresh int) (failed, refreshes int) {
	for _, rec := range records {
		var e train.Epoch
		if rec.Kind == "epoch" && json.Unmarshal(rec.Data, &e) == nil && (e.Epoch-1)%refresh == 0 {
			failed, refreshes = failed+e.Failed, refreshes+1
		}
	}
	return failed, refreshes
}

// Rounds of timing, and samples in each.
const (
	timedRounds  = 5
	timedSamples = 4000
)

// time measures the processor time of samples, and of the same by the keys that they are timed against: the
// least of several rounds that draw both in turn. The difference is what projection costs.
func (c *Config) time(ctx context.Context, r, drawn *experiment.Run, cell *Cell, t *experiment.Trained,
	row *Row) error {
	against, err := r.Redraw(cell.Timed)
	if err != nil {
		return err
	}
	n := min(timedSamples, r.SampleCount())
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for round := range timedRounds {
		for i, of := range []*experiment.Run{against, drawn} {
			prior, err := of.Prior(ctx, nil)
			if err != nil {
				return err
			}
			before := processor.Seconds()
			s, err := of.Generate(ctx, t, prior, n, 0, row.Seed, nil)
			if err != nil {
				return err
			}
			least[i] = min(least[i], 1000*(processor.Seconds()-before)/float64(n))
			row.Figures[Failed] = float64(s.Failed()) / float64(n)
		}
		c.say("%s: round %d of %d", cell.Name, round+1, timedRounds)
	}
	projection := max(0, least[1]-least[0])
	row.Figures[Milliseconds], row.Figures[Projection] = least[1], projection
	row.Figures[Share], row.Figures[Samples] = 100*projection/least[1], float64(n)
	return nil
}

// Folder returns the run folder of a cell's training with a seed: the same for cells that share it.
func (c *Config) Folder(cell *Cell, seed uint64) string {
	id := fmt.Sprintf("%q %q %q %v %d", cell.Recipe, cell.Variants, joined(cell.Settings, c.Settings), c.Budget, seed)
	if c.Processor {
		id += " processor"
	}
	name := cell.Recipe
	if cell.Variants != "" {
		name += "-" + strings.ReplaceAll(cell.Variants, ",", "-")
	}
	return filepath.Join(c.Out, "runs", fmt.Sprintf("%s-seed%d-%s", name, seed, run.Hash([]byte(id))[:8]))
}

// trained returns the run of a cell's training, locked, trained to its end.
func (c *Config) trained(ctx context.Context, cell *Cell, seed uint64) (*experiment.Run, error) {
	data, files, err := cell.files(c.Data, filepath.Join(c.Out, "data"))
	if err != nil {
		return nil, err
	}
	dir := c.Folder(cell, seed)
	var r *experiment.Run
	if _, err := os.Stat(filepath.Join(dir, run.ManifestFile)); err == nil {
		if r, err = experiment.Open(dir, data, c.Pool); err != nil {
			return nil, err
		}
		if err := r.Folder.Lock(); err != nil {
			return nil, err
		}
	} else if r, err = c.begin(cell, seed, dir, data, files); err != nil {
		return nil, err
	}
	var status run.Status
	if err := r.Folder.ReadJSON(run.StatusFile, &status); err == nil && status.State == "trained" {
		return r, nil
	}
	err = r.Train(ctx, "", experiment.Observer{Epoch: func(e train.Epoch) {
		c.say("%s, seed %d: epoch %d, %.0f s", cell.Name, seed, e.Epoch, e.Seconds)
	}})
	if err != nil {
		r.Folder.Unlock()
		return nil, err
	}
	return r, nil
}

// problem returns the problem of a cell, with its data and the bytes of its recipe.
func (c *Config) problem(cell *Cell, seed uint64, data string, files []string) (*problem.Problem, []byte, error) {
	source, variants, err := cell.source()
	if err != nil {
		return nil, nil, err
	}
	settings := slices.Concat([]string{fmt.Sprintf("seed=%d", seed), "generate.max_failed=1"}, cell.Settings,
		c.Settings, files)
	if c.Budget > 0 {
		settings = append(settings, fmt.Sprintf("train.max_seconds=%v", c.Budget.Seconds()), "train.epochs=0")
		if c.Processor {
			settings = append(settings, "train.clock=processor")
		}
	}
	p, err := problem.Load(source, cell.Recipe, variants, settings)
	if err != nil {
		return nil, nil, err
	}
	p.Data.Path = cmp.Or(data, p.Data.Path)
	return p, source, nil
}

// Try says what keeps a cell from being run whose data is there: values that cannot be, or a set that its method
// does not serve. It is a *CellError, or nil; cells without their data are left to Needs.
func (c *Config) Try(cell *Cell) error {
	data, files, err := cell.files(c.Data, "") // nothing is made
	if err != nil {
		return nil
	}
	p, _, err := c.problem(cell, 1, data, files)
	if err == nil {
		_, err = p.Build()
	}
	if err != nil {
		return &CellError{cell.Name, err.Error()}
	}
	return nil
}

func (c *Config) begin(cell *Cell, seed uint64, dir, data string, files []string) (*experiment.Run, error) {
	p, source, err := c.problem(cell, seed, data, files)
	if err != nil {
		return nil, err
	}
	l, err := experiment.Load(p, c.Pool)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	f, err := run.Create(dir, true) // what a process left that was killed before it wrote a manifest moves aside
	if err != nil {
		return nil, err
	}
	return l.Begin(f, source, c.Command)
}

// note is what rows keep: by which clock the budget was counted, if not by the wall's, and the caller's.
func (c *Config) note() string {
	if !c.Processor || c.Budget == 0 {
		return c.Note
	}
	return strings.TrimSuffix("budget of processor time; "+c.Note, "; ")
}
