package paper

import (
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

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/sweep"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/work"
)

// Config says how cells are run. Budget 0 is the recipes' own epochs.
type Config struct {
	Data      string        // folder of data files
	Out       string        // folder of runs
	Budget    time.Duration // of each training
	Settings  []string      // of all trainings, over the cells'
	Processor bool          // the budget is of processor time over workers
	Note      string        // for the rows, such as: beside other work
}

// A Due is a cell to be run with a seed.
type Due struct {
	Cell *Cell
	Seed uint64
}

func (d Due) String() string { return fmt.Sprintf("%s, seed %d", d.Cell.Name, d.Seed) }

// Plan makes cells of a sweep of what is to be run. Errors are *sweep.RefusedError, which has all that cannot be, and
// *DataError of data that is not there. Only a plan that is made can be run: it has the data that the paper's
// authors did not publish, drawn into a folder beside the runs.
func (c *Config) Plan(left []Due, made bool) (*sweep.Plan, error) {
	var cells []*sweep.Cell
	var missing []error
	to := ""
	if made {
		to = filepath.Join(c.Out, "data")
	}
	needs := map[string]bool{}
	for _, d := range left {
		cell, err := c.cell(d, to)
		if err == nil {
			cells = append(cells, cell)
		} else if !needs[err.Error()] {
			needs[err.Error()] = true
			missing = append(missing, err)
		}
	}
	p, err := sweep.PlanOf(cells, "reproduce")
	return p, errors.Join(append([]error{err}, missing...)...)
}

// cell makes the cell of a sweep; what files the data needs that nobody published is written into the folder made.
func (c *Config) cell(d Due, made string) (*sweep.Cell, error) {
	text, variants, err := d.Cell.source()
	if err != nil {
		return nil, err
	}
	data, files, err := d.Cell.files(c.Data, made)
	if err != nil {
		return nil, err
	}
	settings := slices.Concat([]string{"generate.max_failed=1"}, d.Cell.Settings, c.Settings, files)
	if c.Processor && c.Budget > 0 {
		settings = append(settings, "train.clock=processor")
	}
	of, err := json.Marshal(beyond{d.Cell.Timed, d.Cell.Jacobian, c.note()})
	if err != nil {
		return nil, err
	}
	budget := sweep.Budget{Seconds: c.Budget.Seconds()}
	return sweep.Of(sweep.Cell{
		Name: c.slug(d), Title: d.String(), Training: filepath.Base(c.Folder(d)), Budget: budget,
		Label: compare.Label{Problem: d.Cell.Recipe, Variant: d.Cell.Variants, Method: d.Cell.Method,
			Settings: joined(d.Cell.Settings, c.Settings), Draw: joined(d.Cell.Draw, nil), Budget: budget.String(),
			Seed: d.Seed},
		Draw: d.Cell.Draw, Report: true, Diagnose: d.Cell.Diagnose, Measure: measureName, Of: of,
	}, sweep.Source{Text: text, Origin: d.Cell.Recipe, Variants: variants, Settings: settings, Data: data}), nil
}

// Run runs what is left and puts each row into the file of rows, beside what other processes put there; it returns all
// rows. r says how; its folder is that of c.
func (c *Config) Run(ctx context.Context, left []Due, file string, r sweep.Runner) ([]Row, error) {
	p, err := c.Plan(left, true)
	if err != nil {
		return nil, err
	}
	r.Dir, r.AnyVersion, r.Foreign, r.Record = c.Out, true, foreign, c.keeper(p, left, file)
	if _, err := p.Run(ctx, r); err != nil {
		return nil, err
	}
	return ReadRows(file)
}

// keeper returns what keeps the row and the pictures of each cell of a plan.
func (c *Config) keeper(p *sweep.Plan, left []Due, file string) func(*sweep.Cell, sweep.CellStatus) error {
	due := map[*sweep.Cell]Due{}
	for i, cell := range p.Cells {
		due[cell] = left[i]
	}
	return func(cell *sweep.Cell, s sweep.CellStatus) error {
		if err := c.keep(due[cell], s.Entry); err != nil {
			return err
		}
		return Keep(file, c.row(due[cell], s))
	}
}

// foreign reports whether an error is that of data or files, and no failure of a method that a row could tell of.
func foreign(err error) bool {
	return is[*fs.PathError](err) || is[*DataError](err) || is[*experiment.DataError](err) || is[*run.FolderError](err)
}

// row is what became of a cell.
func (c *Config) row(d Due, s sweep.CellStatus) Row {
	e := s.Entry
	row := Row{Cell: d.Cell.Name, Recipe: d.Cell.Recipe, Variants: d.Cell.Variants,
		Settings: joined(d.Cell.Settings, c.Settings), Draw: joined(d.Cell.Draw, nil), Budget: c.Budget.Seconds(),
		Seed: d.Seed, Commit: e.Row.Version, Config: e.Row.Config, Note: e.Note, Figures: e.Figures}
	cost := e.Cost
	if s.State == work.Failed {
		cost.Here()
		row.Commit, row.Note = build(e.Row.Version), c.note()
		row.Failure, _, _ = strings.Cut(e.Row.Failure, "\ngoroutine ") // of a panic all but its stack
		row.Figures = nil
	}
	row.Machine = fmt.Sprintf("%s, %d cores, %s", cost.CPU, cost.Cores, cost.Kernel)
	row.Day = cost.Ended.Format(time.DateOnly)
	return row
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

// figures are what a row has, by the names of columns.
type figures map[string]float64

// beyond is what is measured of a cell beyond what all have, and what is to be noted.
type beyond struct {
	Timed    []string `json:"timed,omitempty"`
	Jacobian bool     `json:"jacobian,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// measureName is the name of measure in the registry of measures.
const measureName = "paper"

func init() { sweep.Measures[measureName] = measure }

// measure draws and judges a trained cell.
func measure(ctx context.Context, d *sweep.Drawing) (*compare.Entry, error) {
	var of beyond
	if err := json.Unmarshal(d.Cell.Of, &of); err != nil {
		return nil, err
	}
	var manifest run.Manifest
	if err := d.Own.Folder.ReadJSON(run.ManifestFile, &manifest); err != nil {
		return nil, err
	}
	f := figures{}
	e, err := f.of(ctx, d, of)
	if err != nil {
		return nil, err
	}
	e.Row.Config, e.Row.Version, e.Figures = manifest.Config, build(manifest.Version), f
	e.Note = of.Note
	return e, nil
}

func (f figures) of(ctx context.Context, d *sweep.Drawing, of beyond) (*compare.Entry, error) {
	if of.Timed != nil {
		e := &compare.Entry{Row: compare.NoRow("", compare.Label{}, "", "", ""), Cost: compare.NoCost()}
		e.Row.Verdict = ""
		return e, f.time(ctx, d, of.Timed)
	}
	e, x, v, err := d.Judge(ctx) // violations above a limit are figures here
	if err != nil {
		return nil, err
	}
	if x.Failed() == x.N() {
		return nil, fmt.Errorf("none of %d samples is left: %d broke down", x.N(), x.Broken)
	}
	f.judged(v)
	f.violations(d.Run.Process.Set, x.Good())
	if err := f.paths(d.Own); err != nil {
		return nil, err
	}
	if of.Jacobian {
		err = f.jacobian(ctx, d)
	}
	return e, err
}

// plain is a cell's name as that of a folder.
func plain(name string) string {
	return strings.NewReplacer("/", "-", " ", "-", ",", "-", "'", "-").Replace(name)
}

// slug names a cell's unit, but for its content.
func (c *Config) slug(d Due) string { return fmt.Sprintf("%s-seed%d", plain(d.Cell.Name), d.Seed) }

// shown returns the folder of a cell's pictures.
func (c *Config) shown(d Due) string {
	id := fmt.Sprintf("%s %v", c.Folder(d), d.Cell.Draw)
	return filepath.Join(c.Out, "pictures", plain(d.Cell.Name)+"-"+run.Hash([]byte(id))[:8])
}

// keep copies what a report has drawn to where figures look for it: other cells may draw by the same keys.
func (c *Config) keep(d Due, e *compare.Entry) error {
	if e.Folder == "" || d.Cell.Timed != nil {
		return nil
	}
	from := filepath.Join(e.Folder, filepath.FromSlash(e.Drawn))
	files, err := filepath.Glob(filepath.Join(from, "figures", "*.svg"))
	if err != nil {
		return err
	}
	if d.Cell.Jacobian {
		files = append(files, filepath.Join(from, jacobianFile))
	}
	to := c.shown(d)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) { // of a run folder that is gone
			continue
		}
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
func (f figures) judged(v *judge.Evaluation) {
	set := func(name string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			f[name] = value
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
func (f figures) violations(set constraint.Set, x []float64) {
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
	f[AbsH], f[SquareH] = abs/n, square/n
	if len(values) > m {
		f[GPlus] = over / n
	}
}

// paths takes the share of forward paths that failed in training, over all that were drawn.
func (f figures) paths(of *experiment.Run) error {
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
		f[FailedPaths] = float64(failed) / float64(refreshes*each)
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
func (f figures) time(ctx context.Context, d *sweep.Drawing, by []string) error {
	against, err := d.Own.Redraw(problem.ParseSettings(by...))
	if err != nil {
		return err
	}
	n := min(timedSamples, d.Own.SampleCount())
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for round := range timedRounds {
		for i, r := range []*experiment.Run{against, d.Run} {
			prior, err := r.Prior(ctx, nil)
			if err != nil {
				return err
			}
			before := processor.Seconds()
			s, err := r.Generate(ctx, d.Trained, prior, n, 0, d.Own.Problem.Seed, nil)
			if err != nil {
				return err
			}
			least[i] = min(least[i], 1000*(processor.Seconds()-before)/float64(n))
			f[Failed] = float64(s.Failed()) / float64(n)
		}
		d.Tick((round+1)*n, timedRounds*n)
	}
	projection := max(0, least[1]-least[0])
	f[Milliseconds], f[Projection] = least[1], projection
	f[Share], f[Samples] = 100*projection/least[1], float64(n)
	return nil
}

// Folder returns the run folder of a cell's training: the same for cells that share it.
func (c *Config) Folder(d Due) string {
	cell := d.Cell
	id := fmt.Sprintf("%q %q %q %v %d", cell.Recipe, cell.Variants, joined(cell.Settings, c.Settings), c.Budget, d.Seed)
	if c.Processor {
		id += " processor"
	}
	name := cell.Recipe
	if cell.Variants != "" {
		name += "-" + strings.ReplaceAll(cell.Variants, ",", "-")
	}
	return filepath.Join(c.Out, compare.RunsDir, fmt.Sprintf("%s-seed%d-%s", name, d.Seed, run.Hash([]byte(id))[:8]))
}

// note is what rows keep: by which clock the budget was counted, if not by the wall's, and the caller's.
func (c *Config) note() string {
	if !c.Processor || c.Budget == 0 {
		return c.Note
	}
	return strings.TrimSuffix("budget of processor time; "+c.Note, "; ")
}
