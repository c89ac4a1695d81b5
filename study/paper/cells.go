package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/study/work"
)

// sweeps are the sweep files of the binary that have the cells of the exhibits.
var sweeps = []string{"paper-earth", "paper-mesh", "paper-arm", "paper-alanine", "paper-flood", "paper-so10",
	"paper-demo"}

// A Config says which cells are run, and how.
type Config struct {
	Data      string        // folder of data files
	Out       string        // folder of runs: of each sweep one
	File      string        // of rows
	Budget    time.Duration // of each training; 0: the recipes' own epochs
	Processor bool          // the budget is of processor time over workers
	Seeds     int           // trainings of each cell, with seeds 1, 2, …; 0: those of the sweep file
	Set       []string      // key=value of all trainings
	Only      []string      // beginnings of cells' names, or whole names with a $ at the end; nil: all
	Retry     bool          // cells that failed are not finished
	Shard     work.Shard    // the trainings to run, whatever is finished; zero: all
	Note      string        // for the rows, such as: beside other work
}

// Name is the name of a cell of the paper's sweeps, as exhibits have it: volcano/ULLA.
func Name(l compare.Label) string {
	name := l.Problem + "/" + l.Method
	if l.Draw != "" {
		name = l.Problem + "/" + l.Draw
	}
	if l.Settings != "" {
		name += "/" + l.Settings
	}
	return name
}

// options are those of all plans.
func (c *Config) options() sweep.Options {
	o := sweep.Options{Dir: c.Data, Set: c.Set, Budgets: []sweep.Budget{{Seconds: c.Budget.Seconds()}}}
	for s := range c.Seeds {
		o.Seeds = append(o.Seeds, uint64(1+s))
	}
	return o
}

// files returns the sweep files that have some of the cells, and which cells of theirs these are. The error says that
// Only names nothing.
func (c *Config) files(exhibits []*Exhibit) (files []*sweep.File, cells []*sweep.Cell, err error) {
	names := CellsOf(exhibits)
	named := func(only string) bool {
		return slices.ContainsFunc(names, func(cell string) bool { return begins(cell, only) })
	}
	for _, only := range c.Only {
		if !named(only) {
			return nil, nil, fault.Errorf(fault.Usage, "", "--only: no cell of these tables and figures is called %q; "+
				"--dry-run lists them", only)
		}
	}
	for _, name := range sweeps {
		f, err := sweep.Read(name)
		if err != nil {
			return nil, nil, err
		}
		all, err := f.Cells(c.options())
		if err != nil {
			return nil, nil, err
		}
		some := slices.DeleteFunc(all, func(cell *sweep.Cell) bool {
			name := Name(cell.Label)
			return !slices.Contains(names, name) || c.Only != nil && !slices.ContainsFunc(c.Only,
				func(only string) bool { return begins(name, only) })
		})
		if len(some) > 0 {
			files, cells = append(files, f), append(cells, some...)
		}
	}
	return files, cells, nil
}

// begins reports whether a cell's name is the given one or goes on below it; name$ is the one alone.
func begins(cell, name string) bool {
	if whole, ok := strings.CutSuffix(name, "$"); ok {
		return cell == whole
	}
	rest, ok := strings.CutPrefix(cell, name)
	return ok && (rest == "" || rest[0] == '/')
}

// Cells returns the cells of exhibits, and which of them the part has that are not finished.
func (c *Config) Cells(exhibits []*Exhibit, rows []Row) (all, left []*sweep.Cell, err error) {
	if _, all, err = c.files(exhibits); err != nil {
		return nil, nil, err
	}
	return all, c.left(all, rows), nil
}

// left returns the cells of the part that are not finished. Cells of one training are in one part.
func (c *Config) left(all []*sweep.Cell, rows []Row) (left []*sweep.Cell) {
	takes := c.Shard.ByName()
	for _, cell := range all {
		if takes(cell.Training) && !c.done(cell, rows) {
			left = append(left, cell)
		}
	}
	return left
}

// done reports whether a cell has a row with at least its budget.
func (c *Config) done(cell *sweep.Cell, rows []Row) bool {
	name, definition, budget := Name(cell.Label), cell.Definition(), c.Budget.Seconds()
	return slices.ContainsFunc(rows, func(r Row) bool {
		return r.Cell == name && r.Definition == definition && r.Row.Seed == cell.Label.Seed &&
			!(c.Retry && r.Row.Failure != "") && r.budget() >= budget && (budget > 0 || r.budget() == 0)
	})
}

// A Plan is what is left of a sweep of the paper's.
type Plan struct {
	*sweep.Plan
	definitions map[string]string // by names of cells: without the clock and the places of files
}

// Plans plans what is left of the cells of exhibits, a sweep for each file. made is a folder for the data that the
// paper's authors did not publish. Errors are *sweep.RefusedError, of all that cannot be, *DataError of data that is
// not there, and one of usage.
func (c *Config) Plans(ctx context.Context, exhibits []*Exhibit, rows []Row, made string) (plans []*Plan, err error) {
	files, all, err := c.files(exhibits)
	if err != nil {
		return nil, err
	}
	left, problems := map[string]string{}, map[string]bool{}
	for _, cell := range c.left(all, rows) {
		left[cell.Name], problems[cell.Label.Problem] = cell.Definition(), true
	}
	var errs []error
	for _, f := range files {
		for i := range f.Problems {
			if problems[f.Problems[i].Name] {
				errs = append(errs, c.find(ctx, &f.Problems[i], made))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	o := c.options()
	o.Keep = func(cell *sweep.Cell) bool { return left[cell.Name] != "" }
	if c.Processor && c.Budget > 0 {
		o.Set = append(slices.Clone(o.Set), "train.clock=processor")
	}
	for _, f := range files {
		p, e := f.Plan(o)
		err = errors.Join(err, e)
		if p != nil && slices.ContainsFunc(p.Cells, func(cell *sweep.Cell) bool { return !cell.Left }) {
			plans = append(plans, &Plan{p, left})
		}
	}
	return plans, err
}

// Run runs plans, each in its own folder, and puts the rows of cells that have ended into the file of rows, beside what
// other processes put there.
func (c *Config) Run(ctx context.Context, plans []*Plan, r sweep.Runner) error {
	for _, p := range plans {
		r.Dir, r.Foreign = filepath.Join(c.Out, p.File.Name), foreign
		out, err := p.Run(ctx, r)
		var rows []Row
		for i, cell := range p.Cells {
			if out != nil && out.Cells[i].Entry != nil {
				rows = append(rows, c.row(p, cell, out.Cells[i]))
			}
		}
		if err := errors.Join(err, Keep(c.File, rows...)); err != nil {
			return err
		}
	}
	return nil
}

// row is what became of a cell.
func (c *Config) row(p *Plan, cell *sweep.Cell, s sweep.CellStatus) Row {
	e := *s.Entry
	r := Row{Cell: Name(cell.Label), Definition: p.definitions[cell.Name],
		Folder: filepath.ToSlash(filepath.Join(p.File.Name, compare.RunsDir, cell.Training)), Entry: e}
	if r.Note = c.Note; c.Processor && c.Budget > 0 {
		r.Note = strings.TrimSuffix("budget of processor time; "+c.Note, "; ")
	}
	r.Row.Version = build(r.Row.Version)
	if s.State == work.Failed {
		r.Cost.Here()
		r.Row.Failure, _, _ = strings.Cut(r.Row.Failure, "\ngoroutine ") // of a panic all but its stack
		r.Row.Verdict, r.Figures = "failed", nil
	}
	return r
}

// build is how a row names the version of a program: of one that knows no commit by the program that measures, too.
func build(version string) string {
	if version != run.Development {
		return version
	}
	return fmt.Sprintf("%s, program %s", version, run.Program())
}

// foreign reports whether an error is that of data or files, and no failure of a method that a row could tell of.
func foreign(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*DataError)) ||
		slices.Contains([]fault.Kind{fault.Data, fault.Run}, fault.KindOf(err))
}

// A DataError says that a file behind a cell is not there, and where to get it.
type DataError struct {
	Recipe string
	File   string
	Folder string // that was looked in; empty: none was named
}

func (e *DataError) Error() string {
	where := "is not in " + e.Folder + " nor in its folders earth, mesh, alanine, robot"
	if e.Folder == "" {
		where = "is needed: --data-dir names the folder that has it"
	}
	return fmt.Sprintf("recipe %s: %s %s. It is in the data folder of github.com/KraitGit/"+
		"efficient-constrained-diffusion (docs/data.md)", e.Recipe, e.File, where)
}

func (*DataError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// find names the files of a problem of the paper's sweeps in it. Mixtures of rotations, which the paper's authors drew
// and did not publish, are drawn into the folder made. Errors are *DataError and those of files.
func (c *Config) find(ctx context.Context, p *sweep.Problem, made string) (err error) {
	file := func(name string) string {
		path, e := lookup(c.Data, name)
		if errors.Is(e, fs.ErrNotExist) {
			e = &DataError{p.Name, name, c.Data}
		}
		if err == nil {
			err = e
		}
		return path
	}
	set := func(key, name string) {
		p.Set = append(p.Set, sweep.Setting{Text: key + "=" + strconv.Quote(file(name))})
	}
	body := strings.TrimRight(p.Name, "0123456789")
	switch {
	case p.Name == "demo":
	case strings.HasPrefix(p.Name, "so10-"):
		p.Data, err = rotations(ctx, made, p.Name)
	case p.Name == "alanine":
		p.Data = file("dipeptide_refined_phi_psiwin.npy")
		set("data.reference", "dipeptide_center.npy")
	case body == "arm":
		p.Data = file("L" + p.Name[len(body):] + "_paths.npy")
	case body == "bunny" || body == "spot":
		p.Data = file(body + "_eigfn" + p.Name[len(body):] + ".npy")
		set("set.weights", body+"_sdf.npz")
		set("set.mesh", body+".ply")
	default:
		p.Data = file(p.Name + ".csv")
	}
	return err
}

// lookup finds a file in a folder, or in the folders that the paper's repository has.
func lookup(folder, name string) (string, error) {
	if folder == "" {
		return "", fs.ErrNotExist
	}
	for _, in := range []string{"", "earth", "mesh", "alanine", "robot"} {
		path := filepath.Join(folder, in, name)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fs.ErrNotExist
}

// rotations returns the file of a mixture on SO(10), as landing make so draws it by default.
func rotations(ctx context.Context, made, recipe string) (string, error) {
	file, err := filepath.Abs(filepath.Join(made, recipe+".npy"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	modes := map[string]int{"so10-3": 3, "so10-5": 5}[recipe]
	p, _, err := dataset.RotationMixture{Modes: modes, Seed: 1}.Generate(ctx)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{p.N, 10, 10}, Float64: p.X}); err != nil {
		return "", err
	}
	if err := os.MkdirAll(made, 0o777); err != nil {
		return "", err
	}
	return file, run.WriteFile(file, b.Bytes(), true)
}
