package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/work"
)

// AwayKind is the kind of units of cells that are done on another machine: such a unit has all that a cell is made of
// but the bytes of files.
const AwayKind = "sweep-cell-away"

// Tasks is the row of the registry of kinds (tasks.All) for cells that are done on another machine.
func Tasks() tasks.Kind { return tasks.Kind{Name: AwayKind, Do: doAway, Dated: true} }

// away is the task of a unit of AwayKind.
type away struct {
	Unit     *work.Unit        `json:"unit"` // as the sweep's folder keeps it
	Label    compare.Label     `json:"label"`
	Budget   Budget            `json:"budget"`
	Variant  string            `json:"variant,omitempty"`
	Source   []byte            `json:"source"` // of the problem
	Origin   string            `json:"origin"`
	Settings []string          `json:"settings"`
	Files    map[string]string `json:"files,omitempty"` // paths by key, as the run's files call them
	Samples  int               `json:"samples,omitempty"`
	Report   bool              `json:"report,omitempty"`
}

// AwayUnit is a cell as a unit for another machine.
type AwayUnit struct {
	Cell   *Cell
	Unit   *work.Unit
	Inputs tasks.Inputs // where its inputs lie here, by their names
}

// Away returns the cells that are not left out as units that another machine can do, in order.
func (p *Plan) Away() ([]AwayUnit, error) {
	var out []AwayUnit
	for _, c := range p.Cells {
		if c.Unit == nil {
			continue
		}
		u, err := p.away(c)
		if err != nil {
			return nil, err
		}
		out = append(out, *u)
	}
	return out, nil
}

func (p *Plan) away(c *Cell) (*AwayUnit, error) {
	read, err := c.load()
	if err != nil {
		return nil, err
	}
	t := away{Unit: c.Unit, Label: c.Label, Budget: c.Budget, Variant: c.variant, Source: c.source, Origin: c.origin,
		Settings: c.set, Files: map[string]string{}, Samples: p.File.Samples, Report: p.File.Report}
	u := &AwayUnit{Cell: c, Inputs: tasks.Inputs{}}
	hashes := map[string]string{}
	for key, file := range read.Files() {
		if file == "" {
			continue
		}
		t.Files[key] = file
		name := awayName(key, file)
		u.Inputs[name], hashes[name] = file, c.Unit.Inputs[key]
	}
	raw, err := json.Marshal(t)
	u.Unit = &work.Unit{Name: c.Name, Kind: AwayKind, Task: raw, Inputs: hashes, Version: c.Unit.Version}
	return u, err
}

// awayName is the name of a file as an input: readers look at a file's own name.
func awayName(key, file string) string { return path.Join(key, filepath.Base(file)) }

// A done is what a unit of AwayKind tells.
type done struct {
	Entry  *compare.Entry `json:"entry,omitempty"`
	Failed string         `json:"failed,omitempty"` // why the cell did: a result like any other
}

// doAway does a cell in the unit's folder. Its run folder becomes the unit's files.
func doAway(ctx context.Context, j *tasks.Job) (any, error) {
	var t away
	if err := json.Unmarshal(j.Unit.Task, &t); err != nil || t.Unit == nil {
		return nil, &tasks.TaskError{Unit: j.Unit.Name, Problem: "it is no cell of a sweep"}
	}
	c := &Cell{Name: t.Unit.Name, Label: t.Label, Budget: t.Budget, Unit: t.Unit, variant: t.Variant, source: t.Source}
	c.load = func(more ...string) (*problem.Problem, error) {
		p, err := problem.Load(t.Source, t.Origin, t.Variant, slices.Concat(t.Settings, more))
		if err != nil {
			return nil, err
		}
		for key, file := range p.Files() {
			sent, ok := j.Inputs[awayName(key, t.Files[key])]
			if !ok && file != "" { // of this machine's own, which is not for units to read
				return nil, &tasks.TaskError{Unit: j.Unit.Name, Problem: fmt.Sprintf("its problem names the file %s "+
					"for %s, which is not among its inputs", file, key)}
			}
			if ok {
				p.SetFile(key, sent)
				p.Call(key, t.Files[key])
			}
		}
		return p, nil
	}
	s := &session{plan: &Plan{File: &File{Samples: t.Samples, Report: t.Report}},
		away: true, Runner: Runner{Dir: j.Folder(), Pool: j.Pool, Command: []string{"landing", "work"}}}
	s.Train = experiment.Observer{Mixing: func(int, int) { j.Step() },
		Epoch:      func(e train.Epoch) { j.Tick(uint64(e.Epoch), 0) },
		Evaluation: func(experiment.Progress) { j.Step() }, HeldOut: func(train.Measured, string) { j.Step() }}
	s.Drawn = func(_ *Cell, done, of int) { j.Tick(uint64(done), uint64(of)) }
	e, err := s.guarded(ctx, c)
	switch {
	case err == nil:
	case train.Interrupted(err) || ctx.Err() != nil || unwritten(err) || errors.As(err, new(*tasks.TaskError)):
		return nil, err
	default:
		reason := strings.ReplaceAll(err.Error(), s.folder(c), c.Name)
		for key, file := range t.Files {
			reason = strings.ReplaceAll(reason, j.Inputs[awayName(key, file)], file)
		}
		return done{Failed: reason}, nil
	}
	e.Cost.Here()
	return done{Entry: e}, keepAll(j)
}

// keepAll makes the files of the run folder those of the unit.
func keepAll(j *tasks.Job) error {
	return filepath.WalkDir(j.Folder(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name()[0] == '.' {
			return err
		}
		name, err := filepath.Rel(j.Folder(), path)
		if err != nil {
			return err
		}
		return j.Keep(filepath.ToSlash(name))
	})
}

// Take records cells in the sweep's folder that were done on other machines. get returns what became of a unit of Away,
// and brings its files, which are the cell's run folder, into dir; nil where it was given up, for the reason why. Cells
// that the folder has are left as they are. Errors are those of Run, and of get.
func (p *Plan) Take(dir string, get func(u AwayUnit, dir string) (result *tasks.Result, why string, err error),
) (*Outcome, error) {
	units, err := p.Away()
	if err != nil {
		return nil, err
	}
	if err := p.open(dir); err != nil {
		return nil, err
	}
	s := &session{plan: p, Runner: Runner{Dir: dir}}
	s.store = s.units()
	if err := s.look(); err != nil {
		return nil, err
	}
	for _, u := range units {
		if err := s.take(u, get); err != nil {
			return nil, err
		}
	}
	return s.outcome()
}

// take records one cell.
func (s *session) take(u AwayUnit, get func(u AwayUnit, dir string) (*tasks.Result, string, error)) error {
	claim, _, err := s.store.Claim(u.Cell.Unit, true, func() error { return s.clear(u.Cell) })
	if err != nil {
		return err
	}
	tmp := filepath.Join(s.Dir, ".taken-"+u.Cell.Name)
	if err := os.RemoveAll(tmp); err != nil || claim == nil { // left by a process that was killed
		return err
	}
	defer claim.Release()
	dir := s.folder(u.Cell)
	if err := left(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil { // a run that somebody began here, or that was fetched and not recorded
		if err := s.clear(u.Cell); err != nil {
			return err
		}
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	r, why, err := get(u, tmp)
	if err != nil {
		return err
	}
	var d done
	if r != nil {
		if err := json.Unmarshal(r.Detail, &d); err != nil || d.Entry == nil && d.Failed == "" {
			return &work.DamagedError{Path: u.Unit.Name, Problem: "its result is not that of a cell"}
		}
		why = d.Failed
	}
	if why != "" {
		return claim.Fail(why)
	}
	if d.Entry.Row.Name != u.Cell.Name || d.Entry.Row.Key != u.Cell.Unit.Key() {
		return &work.DamagedError{Path: u.Unit.Name, Problem: "its result is another cell's"}
	}
	d.Entry.Cost.Cell = metric.Float(r.Seconds)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(tmp, compare.RunsDir, u.Cell.Name), dir); err != nil {
		return fmt.Errorf("%s: the run folder that came with it: %w", u.Cell.Name, err)
	}
	return claim.Finish(d.Entry)
}
