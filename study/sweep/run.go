package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
)

// A Runner says how the cells of a plan are run.
type Runner struct {
	Dir     string // the sweep's folder, new or begun before
	Pool    *parallel.Pool
	Shard   work.Shard // the cells to run; zero: all
	Retry   bool       // those too that failed before
	Command []string   // for the manifests
	Line    experiment.CommandLine
	Observer
}

// Observer hears how a sweep goes; any field may be nil.
type Observer struct {
	Begin func(c *Cell, p Progress)
	Train experiment.Observer // of each cell's training
	Drawn func(c *Cell, done, of int)
	End   func(c *Cell, s CellStatus, p Progress)
}

// Progress is how far a sweep is.
type Progress struct {
	Cell   int          // number of the present one, from 1, among those of the part
	Of     int          // cells of the part
	Failed int          // of those that ended
	Left   metric.Float // seconds, by cells that ended; NaN: not known
}

// A CellStatus is what became of a cell.
type CellStatus struct {
	Name   string     `json:"name"`
	State  work.State `json:"state"`
	Reason string     `json:"reason,omitempty"` // why it failed, or is left out, or who is at it
	*compare.Entry
}

// Skipped is the state of a cell that the file leaves out.
const Skipped work.State = "skipped"

// An Outcome is what a sweep's folder holds.
type Outcome struct {
	Dir      string       `json:"folder"`
	Cells    []CellStatus `json:"cells"`
	Complete bool         `json:"complete"`              // each cell is done, failed or left out
	SHA256   string       `json:"rows_sha256,omitempty"` // of rows.json, which a complete sweep has
}

// Entries returns the entries of the cells that are done or failed, in order.
func (o *Outcome) Entries() []compare.Entry {
	var out []compare.Entry
	for _, c := range o.Cells {
		if c.Entry != nil {
			out = append(out, *c.Entry)
		}
	}
	return out
}

// Run runs the cells of the plan that are not done yet, one after the other on all workers, and returns what became
// of all. A cell that fails is recorded with its reason, and the rest goes on. Errors are those of the context, of
// those of cells with other content, of a folder, and of files that cannot be written; the outcome stands beside them.
func (p *Plan) Run(ctx context.Context, r Runner) (*Outcome, error) {
	if err := p.open(r.Dir); err != nil {
		return nil, err
	}
	s := p.session(r)
	if err := s.look(); err != nil {
		return nil, err
	}
	err := s.all(ctx)
	out, e := s.outcome()
	return out, errors.Join(err, e)
}

// A Preview is what a sweep would do.
type Preview struct {
	Folder  string       `json:"folder"`
	Shard   string       `json:"shard"`
	Cells   []Previewed  `json:"cells"`   // of the part
	Seconds metric.Float `json:"seconds"` // to run; null: not known
	Refused []Refusal    `json:"refused,omitempty"`
}

// Previewed is a cell of a Preview.
type Previewed struct {
	Name   string     `json:"name"`
	State  work.State `json:"state"`
	Reason string     `json:"reason,omitempty"`
}

// Refused is the state of a cell that cannot be run.
const Refused work.State = "refused"

// Preview says what a part of a plan would do in a folder, and changes nothing. refused is the error of the plan; nil:
// there is none.
func (p *Plan) Preview(dir string, part work.Shard, refused *RefusedError) (*Preview, error) {
	out := &Preview{Folder: dir, Shard: part.String(), Cells: []Previewed{}, Seconds: metric.NaN}
	why := map[string]string{}
	s := p.session(Runner{Dir: dir, Shard: part})
	if refused == nil {
		if err := s.look(); err != nil {
			return nil, err
		}
		out.Seconds = s.secondsLeft()
	} else {
		out.Refused = refused.Refused
		for _, r := range refused.Refused {
			for _, name := range r.Cells {
				why[name] = r.Why
			}
		}
	}
	takes := part.ByName()
	for i, c := range p.Cells {
		e := Previewed{Name: c.Name, State: work.Waiting}
		said, cannot := why[c.Name]
		switch {
		case c.Left:
			continue
		case cannot:
			e.State, e.Reason = Refused, said
		case c.Skipped != "":
			e.State, e.Reason = Skipped, c.Skipped
		case refused == nil:
			e.State, e.Reason = s.state[i].State, s.state[i].Reason
		}
		if c.Skipped != "" || takes(c.Training) {
			out.Cells = append(out.Cells, e)
		}
	}
	return out, nil
}

// Names in a sweep's folder.
const (
	givenFile = "sweep.yaml" // the file as it was given
	rowsFile  = "rows.json"
)

// open makes the sweep's folder, or takes up one that is this sweep's.
func (p *Plan) open(dir string) error {
	list, err := compare.ReadList(dir)
	switch {
	case err != nil:
		return err
	case list == nil:
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !begins(e.Name()) {
				return fault.Errorf(fault.Run, dir, "exists and is not the folder of a sweep; expected a new "+
					"one, or one in which this sweep was begun")
			}
		}
	case list.Name != p.File.Name:
		return fault.Errorf(fault.Run, dir, "holds the sweep %q; expected one for %q", list.Name,
			p.File.Name)
	}
	now := compare.List{Name: p.File.Name, Title: p.File.Title}
	for _, c := range p.Cells {
		l := compare.Listed{Name: c.Name, Label: c.Label, Skipped: c.Skipped}
		if c.shares() {
			l.Run = c.Training
		}
		now.Cells = append(now.Cells, l)
	}
	data, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{compare.ListFile, append(data, '\n')}, {givenFile, p.File.source}} {
		path := filepath.Join(dir, file.name)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, file.data) {
			continue
		}
		if err := run.WriteFile(path, file.data, true); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether a name is one of those that are in the folder of a sweep before its list is: another process
// may have made it a moment ago.
func begins(name string) bool {
	return slices.Contains([]string{compare.UnitsDir, compare.RunsDir, compare.ListFile, givenFile}, name) ||
		strings.HasPrefix(name, "."+compare.ListFile+".tmp-") || strings.HasPrefix(name, "."+givenFile+".tmp-")
}

// session is a call of Run.
type session struct {
	Runner
	plan  *Plan
	store *work.Store
	state []CellStatus     // by cell
	mine  []int            // cells of the part
	lost  map[string]error // trainings that failed in this call
}

func (p *Plan) session(r Runner) *session {
	return &session{Runner: r, plan: p, store: &work.Store{Dir: filepath.Join(r.Dir, compare.UnitsDir)},
		lost: map[string]error{}}
}

// look finds what the folder has of each cell.
func (s *session) look() error {
	takes := s.Shard.ByName()
	for i, c := range s.plan.Cells {
		if c.Unit != nil && takes(c.Training) {
			s.mine = append(s.mine, i)
		}
		st, err := s.known(c)
		if err != nil {
			return err
		}
		s.state = append(s.state, st)
	}
	return nil
}

// known is what the folder has of a cell.
func (s *session) known(c *Cell) (CellStatus, error) {
	if c.Unit == nil {
		if c.Left {
			return CellStatus{Name: c.Name, State: work.Waiting}, nil
		}
		return CellStatus{Name: c.Name, State: Skipped, Reason: c.Skipped}, nil
	}
	known, err := s.store.Status(c.Unit)
	if err != nil {
		return CellStatus{}, err
	}
	return s.cellStatus(c, known)
}

// cellStatus is the status of a cell by that of its unit.
func (s *session) cellStatus(c *Cell, of work.Status) (CellStatus, error) {
	e, err := compare.Ended(s.store, c.Unit, c.Label, of)
	if of.State == work.Done && err == nil {
		e.Folder = s.folder(c)
	}
	return CellStatus{c.Name, of.State, of.Reason, e}, err
}

func (s *session) folder(c *Cell) string { return filepath.Join(s.Dir, compare.RunsDir, c.Training) }

// all runs the cells of the part that are neither done nor, but for a retry, failed.
func (s *session) all(ctx context.Context) error {
	for k, i := range s.mine {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := s.plan.Cells[i]
		if st := s.state[i]; st.State == work.Done || st.State == work.Failed && !s.Retry {
			continue
		}
		if s.Begin != nil {
			s.Begin(c, s.progress(k))
		}
		st, err := s.cell(ctx, c, s.state[i].State == work.Failed)
		if err != nil {
			return err
		}
		s.state[i] = st
		if s.End != nil {
			s.End(c, st, s.progress(k))
		}
	}
	return nil
}

// cell runs one cell, if nobody else does; again says that it failed before.
func (s *session) cell(ctx context.Context, c *Cell, again bool) (CellStatus, error) {
	claim, of, err := s.store.Claim(c.Unit, s.Retry, func() error {
		if c.shares() { // stale says when
			return nil
		}
		return aside(s.folder(c))
	})
	var busy *work.BusyError
	if errors.As(err, &busy) {
		return CellStatus{Name: c.Name, State: work.Running, Reason: busy.Error()}, nil
	}
	if err != nil {
		return CellStatus{}, err
	}
	if claim == nil { // ended meanwhile
		return s.cellStatus(c, of)
	}
	start := time.Now()
	e, err := s.guarded(ctx, c, again)
	switch {
	case err == nil:
		e.Cost.Cell = metric.Float(time.Since(start).Seconds())
		e.Cost.Here()
		if err := claim.Finish(e); err != nil {
			return CellStatus{}, err
		}
		return CellStatus{Name: c.Name, State: work.Done, Entry: e}, nil
	case train.Interrupted(err) || ctx.Err() != nil, // and a disk's fault is none of the cell
		fault.Unwritten(err) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO):
		claim.Release()
		return CellStatus{}, err
	}
	var held *heldError
	if errors.As(err, &held) {
		claim.Release()
		return CellStatus{Name: c.Name, State: work.Running, Reason: err.Error()}, nil
	}
	reason := strings.ReplaceAll(err.Error(), s.folder(c), c.Name)
	if err := claim.Fail(reason); err != nil {
		return CellStatus{}, err
	}
	return s.cellStatus(c, work.Status{State: work.Failed, Reason: reason})
}

// heldError says that somebody works on a cell's run folder by other means.
type heldError struct{ error }

// guarded is do, with a panic as a fault of the cell: the others can still be run.
func (s *session) guarded(ctx context.Context, c *Cell, again bool) (e *compare.Entry, err error) {
	defer func() {
		if v := recover(); v != nil {
			e, err = nil, fmt.Errorf("internal error: %v\n%s", v, debug.Stack())
		}
	}()
	return s.do(ctx, c, again)
}

// aside moves a run folder aside.
func aside(dir string) error {
	if _, err := run.Open(dir); err != nil {
		return removeRemains(dir)
	}
	f, err := run.Create(dir, true)
	if err != nil {
		return err
	}
	return os.Remove(f.Dir)
}

// removeRemains removes the remains of a process that was killed before its folder was a run's: they cannot be resumed.
func removeRemains(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, run.ManifestFile)); err == nil {
		return nil
	}
	return os.RemoveAll(dir)
}

// do trains a cell or resumes its training, draws, judges and makes its entry.
func (s *session) do(ctx context.Context, c *Cell, again bool) (*compare.Entry, error) {
	r, err := s.trained(ctx, c, again)
	if err != nil {
		return nil, err
	}
	defer r.Folder.Unlock()
	d := &drawing{cell: c, own: r, line: s.Line, tick: func(done, of int) {
		if s.Drawn != nil {
			s.Drawn(c, done, of)
		}
	}}
	if d.trained, err = r.Trained(""); err != nil {
		return nil, err
	}
	if d.run, err = r.Redraw(ctx, problem.ParseSettings(c.Draw...)); err != nil {
		return nil, err
	}
	// The result is recorded last: without it, what is there is what a process left that was killed.
	d.run.Folder.Force = true
	e, err := measures[c.Measure](ctx, d)
	if err != nil {
		return nil, err
	}
	e.Row.Name, e.Row.Label, e.Row.Key = c.Name, c.Label, c.Unit.Key()
	e.Drawn = d.run.Out("")
	return e, nil
}

// trained returns the run of a cell's training, locked, trained to its end.
func (s *session) trained(ctx context.Context, c *Cell, again bool) (*experiment.Run, error) {
	if err := s.lost[c.Training]; err != nil {
		return nil, err
	}
	r, err := s.begun(ctx, c, again)
	if err != nil {
		return nil, err
	}
	if status, _ := r.Folder.Status(); c.shares() && status.State == "trained" {
		return r, nil
	}
	s.lost[c.Training] = errBroken
	defer func() {
		if s.lost[c.Training] != nil {
			r.Folder.Unlock()
		}
	}()
	if err := r.Train(ctx, "", s.Train); err != nil {
		s.lost[c.Training] = err
		return nil, err
	}
	delete(s.lost, c.Training)
	return r, nil
}

// errBroken is why cells have no network whose training ended in a panic.
var errBroken = errors.New("the training that it shares ended by an internal error")

// stale reports whether the run of a training that cells share is to be made anew: it failed and is tried again, or
// another version of the program began it and did not end it.
func (s *session) stale(f *run.Folder, again bool) (bool, error) {
	switch status, _ := f.Status(); status.State {
	case "trained":
		return false, nil
	case "failed":
		if again {
			return true, nil
		}
	}
	m, err := f.Manifest()
	return m.Version != run.Version(), err
}

// begun returns the cell's run, locked: the one that was begun, or a new one.
func (s *session) begun(ctx context.Context, c *Cell, again bool) (*experiment.Run, error) {
	dir := s.folder(c)
	p, err := c.load()
	if err != nil {
		return nil, err
	}
	if c.shares() { // the claim is on the cell alone
		lock := &run.Folder{Dir: filepath.Join(s.store.Dir, c.Training)}
		if err := os.MkdirAll(lock.Dir, 0o777); err != nil {
			return nil, err
		}
		if err := lock.Lock(); err != nil {
			return nil, &heldError{err}
		}
		defer lock.Unlock()
	}
	if err := removeRemains(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err == nil {
		r, err := experiment.Open(ctx, dir, p.Data.Path, s.Pool, nil)
		if err != nil {
			return nil, err
		}
		if err := r.Folder.Lock(); err != nil {
			return nil, &heldError{err}
		}
		anew := false
		if c.shares() {
			if anew, err = s.stale(r.Folder, again); err != nil {
				r.Folder.Unlock()
				return nil, err
			}
		}
		if !anew {
			return r, r.Folder.Tidy()
		}
		r.Folder.Unlock()
		if err := aside(dir); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := experiment.Load(ctx, p, s.Pool, nil)
	if err != nil {
		return nil, err
	}
	if rows := c.Budget.Rows; rows > 0 {
		p, err := c.load(fmt.Sprintf("train.epochs=%d", epochsOf(rows, epochRows(l))))
		if err != nil {
			return nil, err
		}
		if l, err = experiment.Load(ctx, p, s.Pool, nil); err != nil {
			return nil, err
		}
	}
	f, err := run.Create(dir, false)
	if err != nil {
		return nil, err
	}
	return l.Begin(f, c.source, s.Command)
}

// epochRows returns how many rows the network sees in an epoch, if no path fails: the times of each path, in whole
// batches.
func epochRows(l *experiment.Loaded) int64 {
	src := l.Method.Source(l.TrainRows, l.Pool)
	times, items := l.Problem.Train.TimesPerPath, src.Items()
	if times == 0 || times > src.Times() {
		times = src.Times()
	}
	if batch := l.Problem.Train.Batch; items > batch {
		items -= items % batch
	}
	return int64(times) * int64(items)
}

// epochsOf returns how many epochs of `each` rows come nearest to a budget of rows, at least one.
func epochsOf(rows, each int64) int64 {
	return int64(max(1, min(math.Round(float64(rows)/float64(each)), mostEpochs)))
}

// progress is how far the part is at its k-th cell.
func (s *session) progress(k int) Progress {
	p := Progress{Cell: k + 1, Of: len(s.mine)}
	for _, i := range s.mine {
		if s.state[i].State == work.Failed {
			p.Failed++
		}
	}
	p.Left = s.secondsLeft()
	return p
}

// secondsLeft estimates the seconds of the cells of the part that are still to be run: what those that ended took, or
// where none has, their budgets; NaN: not known.
func (s *session) secondsLeft() metric.Float {
	took, ended, open, budget := metric.Float(0), metric.Float(0), metric.Float(0), metric.Float(0)
	for _, i := range s.mine {
		switch st := s.state[i]; {
		case st.State == work.Done && !st.Cost.Cell.IsNaN():
			took, ended = took+st.Cost.Cell, ended+1
		case st.State == work.Done || st.State == work.Failed:
		case i > 0 && s.plan.Cells[i-1].Training == s.plan.Cells[i].Training: // the training counts once
			open++
		case s.plan.Cells[i].Budget.Seconds == 0:
			open, budget = open+1, metric.NaN
		default:
			open, budget = open+1, budget+metric.Float(s.plan.Cells[i].Budget.Seconds)
		}
	}
	if ended > 0 {
		return open * took / ended
	}
	return budget
}

// outcome is what became of all cells, also of those that other processes ended meanwhile; it writes the rows of a
// complete sweep.
func (s *session) outcome() (*Outcome, error) {
	for i, c := range s.plan.Cells {
		if s.state[i].Entry != nil {
			continue
		}
		st, err := s.known(c)
		if err != nil {
			return nil, err
		}
		if st.Entry != nil {
			s.state[i] = st
		}
	}
	out := &Outcome{Dir: s.Dir, Cells: s.state}
	out.Complete = !slices.ContainsFunc(s.state, func(st CellStatus) bool {
		return st.State != work.Done && st.State != work.Failed && st.State != Skipped
	})
	if !out.Complete {
		return out, nil
	}
	rows := []compare.Row{}
	for _, e := range out.Entries() {
		rows = append(rows, e.Row)
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return out, err
	}
	data = append(data, '\n')
	out.SHA256 = run.Hash(data)
	return out, run.WriteFile(filepath.Join(s.Dir, rowsFile), data, true)
}
