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
	"time"

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/work"
)

// AwayKind is the kind of units of cells that are done on another machine: such a unit has all that the cells of a
// training are made of but the bytes of files.
const AwayKind = "sweep-cell-away"

// Tasks is the row of the registry of kinds (tasks.All) for cells that are done on another machine.
func Tasks() tasks.Kind { return tasks.Kind{Name: AwayKind, Do: doAway, Dated: true} }

// away is the task of a unit of AwayKind: a training, and the cells that are drawn from it.
type away struct {
	Cells    []awayCell        `json:"cells"`
	Budget   Budget            `json:"budget"`
	Variant  string            `json:"variant,omitempty"`
	Source   []byte            `json:"source"` // of the problem
	Origin   string            `json:"origin"`
	Settings []string          `json:"settings"`
	Files    map[string]string `json:"files,omitempty"` // paths by key, as the run's files call them
}

type awayCell struct {
	Unit     *work.Unit    `json:"unit"` // as the sweep's folder keeps it
	Label    compare.Label `json:"label"`
	Draw     []string      `json:"draw,omitempty"`
	Samples  int           `json:"samples,omitempty"`
	Report   bool          `json:"report,omitempty"`
	Diagnose bool          `json:"diagnose,omitempty"`
	Measure  string        `json:"measure,omitempty"`
	Of       []byte        `json:"of,omitempty"`
}

// AwayUnit is the cells of a training as a unit for another machine.
type AwayUnit struct {
	Cells  []*Cell
	Unit   *work.Unit
	Inputs tasks.Inputs // where its inputs lie here, by their names
}

// Away returns the cells that are not left out as units that another machine can do, in order.
func (p *Plan) Away() ([]AwayUnit, error) {
	by := map[string][]*Cell{}
	var trainings []string
	for _, c := range p.Cells {
		if c.Unit == nil {
			continue
		}
		if by[c.Training] == nil {
			trainings = append(trainings, c.Training)
		}
		by[c.Training] = append(by[c.Training], c)
	}
	var out []AwayUnit
	for _, name := range trainings {
		u, err := awayUnit(by[name])
		if err != nil {
			return nil, err
		}
		out = append(out, *u)
	}
	return out, nil
}

func awayUnit(cells []*Cell) (*AwayUnit, error) {
	c := cells[0]
	read, err := c.load()
	if err != nil {
		return nil, err
	}
	t := away{Budget: c.Budget, Variant: c.variant, Source: c.source, Origin: c.origin, Settings: c.set,
		Files: map[string]string{}}
	for _, c := range cells {
		t.Cells = append(t.Cells, awayCell{Unit: c.Unit, Label: c.Label, Draw: c.Draw, Samples: c.Samples,
			Report: c.Report, Diagnose: c.Diagnose, Measure: c.Measure, Of: c.Of})
	}
	u := &AwayUnit{Cells: cells, Inputs: tasks.Inputs{}}
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
	u.Unit = &work.Unit{Name: c.Training, Kind: AwayKind, Task: raw, Inputs: hashes, Version: c.Unit.Version}
	return u, err
}

// awayName is the name of a file as an input: readers look at a file's own name.
func awayName(key, file string) string { return path.Join(key, filepath.Base(file)) }

// A done is what a unit of AwayKind tells of a cell.
type done struct {
	Entry  *compare.Entry `json:"entry,omitempty"`
	Failed string         `json:"failed,omitempty"` // why the cell did: a result like any other
}

// doAway does the cells of a training in the unit's folder. The run folder becomes the unit's files.
func doAway(ctx context.Context, j *tasks.Job) (any, error) {
	var t away
	err := json.Unmarshal(j.Unit.Task, &t)
	if err != nil || len(t.Cells) == 0 || slices.ContainsFunc(t.Cells, func(c awayCell) bool { return c.Unit == nil }) {
		return nil, &tasks.TaskError{Unit: j.Unit.Name, Problem: "it is no cell of a sweep"}
	}
	s := (&Plan{}).session(Runner{Dir: j.Folder(), Pool: j.Pool, Command: []string{"landing", "work"}})
	s.away = true
	s.Train = experiment.Observer{Mixing: func(int, int) { j.Step() },
		Epoch:      func(e train.Epoch) { j.Tick(uint64(e.Epoch), 0) },
		Evaluation: func(experiment.Progress) { j.Step() }, HeldOut: func(train.Measured, string) { j.Step() }}
	s.Drawn = func(_ *Cell, done, of int) { j.Tick(uint64(done), uint64(of)) }
	var all []done
	some := false
	for i := range t.Cells {
		d, err := s.awayCell(ctx, j, &t, &t.Cells[i])
		if err != nil {
			return nil, err
		}
		all = append(all, d)
		some = some || d.Entry != nil
	}
	if some {
		err = keepAll(j)
	}
	return all, err
}

// load returns the problem with the inputs of a unit for its files.
func (t *away) load(j *tasks.Job, more []string) (*problem.Problem, error) {
	p, err := problem.Load(t.Source, t.Origin, t.Variant, problem.ParseSettings(slices.Concat(t.Settings, more)...))
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

func (s *session) awayCell(ctx context.Context, j *tasks.Job, t *away, of *awayCell) (done, error) {
	c := &Cell{Name: of.Unit.Name, Training: j.Unit.Name, Label: of.Label, Budget: t.Budget, Unit: of.Unit,
		Draw: of.Draw, Samples: of.Samples, Report: of.Report, Diagnose: of.Diagnose, Measure: of.Measure, Of: of.Of,
		variant: t.Variant, source: t.Source}
	c.load = func(more ...string) (*problem.Problem, error) { return t.load(j, more) }
	start := time.Now()
	e, err := s.guarded(ctx, c, false)
	switch {
	case err == nil:
	case train.Interrupted(err) || ctx.Err() != nil || unwritten(err) || errors.As(err, new(*tasks.TaskError)):
		return done{}, err
	default:
		reason := strings.ReplaceAll(err.Error(), s.folder(c), c.Name)
		for key, file := range t.Files {
			reason = strings.ReplaceAll(reason, j.Inputs[awayName(key, file)], file)
		}
		return done{Failed: reason}, nil
	}
	e.Cost.Cell = metric.Float(time.Since(start).Seconds())
	e.Cost.Here()
	return done{Entry: e}, nil
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
// and brings its files, which are the run folder of its cells, into dir; nil where it was given up, for the reason why.
// Cells that the folder has are left as they are, and so are, to be run here, others of their trainings. Of r, the
// folder and what hears of records count. Errors are those of Run, and of get.
func (p *Plan) Take(r Runner, get func(u AwayUnit, dir string) (result *tasks.Result, why string, err error),
) (*Outcome, error) {
	units, err := p.Away()
	if err != nil {
		return nil, err
	}
	if err := p.open(r.Dir); err != nil {
		return nil, err
	}
	s := p.session(r)
	if err := s.look(); err != nil {
		return nil, err
	}
	for _, u := range units {
		if err := s.take(u, get); err != nil {
			return nil, err
		}
	}
	out, err := s.outcome()
	if err != nil {
		return nil, err
	}
	for i, c := range p.Cells {
		if err := s.record(c, s.state[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// take records the cells of one training.
func (s *session) take(u AwayUnit, get func(u AwayUnit, dir string) (*tasks.Result, string, error)) error {
	tmp, dir := filepath.Join(s.Dir, ".taken-"+u.Unit.Name), s.folder(u.Cells[0])
	for _, c := range u.Cells {
		if of, err := s.store.Status(c.Unit); err != nil || of.State == work.Done {
			return errors.Join(err, os.RemoveAll(tmp)) // left by a process that was killed
		}
	}
	var claims []*work.Claim
	for _, c := range u.Cells {
		claim, _, err := s.store.Claim(c.Unit, true, func() error { return s.clear(c) })
		if claim == nil { // ended meanwhile
			return err
		}
		claims = append(claims, claim)
		defer claim.Release()
	}
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := left(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil { // a run that somebody began here, or that was fetched and not recorded
		if err := aside(dir); err != nil {
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
	all := make([]done, len(u.Cells))
	if r != nil {
		if err := json.Unmarshal(r.Detail, &all); err != nil || len(all) != len(u.Cells) {
			return &work.DamagedError{Path: u.Unit.Name, Problem: "its result is not that of its cells"}
		}
	}
	some := false
	for i, d := range all {
		switch c := u.Cells[i]; {
		case r == nil:
			all[i].Failed = why
		case d.Entry == nil && d.Failed == "":
			return &work.DamagedError{Path: u.Unit.Name, Problem: "its result is not that of a cell"}
		case d.Entry == nil:
		case d.Entry.Row.Name != c.Name || d.Entry.Row.Key != c.Unit.Key():
			return &work.DamagedError{Path: u.Unit.Name, Problem: "its result is another cell's"}
		default:
			some = true
		}
	}
	if some {
		if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(tmp, compare.RunsDir, u.Unit.Name), dir); err != nil {
			return fmt.Errorf("%s: the run folder that came with it: %w", u.Unit.Name, err)
		}
	}
	for i, d := range all {
		if d.Entry == nil {
			err = errors.Join(err, claims[i].Fail(d.Failed))
		} else {
			err = errors.Join(err, claims[i].Finish(d.Entry))
		}
	}
	return err
}
