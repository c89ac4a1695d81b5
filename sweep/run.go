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
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/work"
)

// A Runner says how the cells of a plan are run.
type Runner struct {
	Dir     string // the sweep's folder, new or begun before
	Pool    *parallel.Pool
	Shard   work.Shard // the cells to run; zero: all
	Retry   bool       // those too that failed before
	Command []string   // for the manifests
	Observer

	// Known returns the entry of a unit that was done elsewhere; nil: none is known. May be nil.
	Known func(u *work.Unit) *compare.Entry
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
	Left   metric.Float // seconds, by cells like these that ended; null where none did
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

// Failed returns how many cells failed.
func (o *Outcome) Failed() (n int) {
	for _, c := range o.Cells {
		if c.State == work.Failed {
			n++
		}
	}
	return n
}

// Run runs the cells of the plan that are not done yet, one after the other on all workers, and returns what became
// of all. A cell that fails is recorded with its reason, and the rest goes on. Errors are those of the context, of
// *work.ConflictError and *run.FolderError, and of files that cannot be written; the outcome stands beside them.
func (p *Plan) Run(ctx context.Context, r Runner) (*Outcome, error) {
	if err := p.open(r.Dir); err != nil {
		return nil, err
	}
	s := &session{plan: p, Runner: r}
	s.store = s.units()
	if err := s.look(); err != nil {
		return nil, err
	}
	err := s.all(ctx)
	out, e := s.outcome()
	return out, errors.Join(err, e)
}

// Status returns what a folder holds of the plan's cells, and changes nothing.
func (p *Plan) Status(dir string) (*Outcome, error) {
	s := &session{plan: p, Runner: Runner{Dir: dir}}
	s.store = s.units()
	if err := s.look(); err != nil {
		return nil, err
	}
	return s.status(), nil
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
				return &run.FolderError{Dir: dir, Problem: "exists and is not the folder of a sweep; expected a new " +
					"one, or one in which this sweep was begun"}
			}
		}
	case list.Name != p.File.Name:
		return &run.FolderError{Dir: dir, Problem: fmt.Sprintf("holds the sweep %q; expected one for %q", list.Name,
			p.File.Name)}
	}
	now := compare.List{Name: p.File.Name, Title: p.File.Title}
	for _, c := range p.Cells {
		now.Cells = append(now.Cells, compare.Listed{Name: c.Name, Label: c.Label, Skipped: c.Skipped})
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
	state []CellStatus // by cell
	mine  []int        // cells of the part
	away  bool         // the folder is scratch: files name what is in it from the sweep's folder on
}

func (s *session) units() *work.Store {
	return &work.Store{Dir: filepath.Join(s.Dir, compare.UnitsDir)}
}

// look finds what the folder has of each cell.
func (s *session) look() error {
	number := 0
	for i, c := range s.plan.Cells {
		st := CellStatus{Name: c.Name, State: Skipped, Reason: c.Skipped}
		if c.Unit != nil {
			if s.Shard.Takes(number) {
				s.mine = append(s.mine, i)
			}
			number++
			known, err := s.store.Status(c.Unit)
			if err != nil {
				return err
			}
			if st, err = s.told(c, known); err != nil {
				return err
			}
			if st.State == work.Waiting && s.Known != nil {
				if e := s.Known(c.Unit); e != nil {
					st = CellStatus{Name: c.Name, State: work.Done, Entry: e}
				}
			}
		}
		s.state = append(s.state, st)
	}
	return nil
}

// told is the status of a cell by that of its unit.
func (s *session) told(c *Cell, of work.Status) (CellStatus, error) {
	st := CellStatus{Name: c.Name, State: of.State, Reason: of.Reason}
	version := c.Unit.Version
	if of.Version != "" {
		version = of.Version
	}
	switch of.State {
	case work.Done:
		st.Entry = &compare.Entry{}
		if err := json.Unmarshal(of.Result, st.Entry); err != nil {
			return st, &work.DamagedError{Path: filepath.Join(s.store.Dir, c.Name), Problem: err.Error()}
		}
		st.Entry.Folder = s.folder(c)
	case work.Failed:
		st.Entry = &compare.Entry{Row: compare.NoRow(c.Name, c.Label, c.Unit.Key(), version, of.Reason),
			Cost: compare.NoCost()}
	}
	return st, nil
}

func (s *session) folder(c *Cell) string { return filepath.Join(s.Dir, compare.RunsDir, c.Name) }

// all runs the cells of the part that are neither done nor, but for a retry, failed.
func (s *session) all(ctx context.Context) error {
	for k, i := range s.mine {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := s.plan.Cells[i]
		if st := s.state[i].State; st == work.Done || st == work.Failed && !s.Retry {
			continue
		}
		if s.Begin != nil {
			s.Begin(c, s.progress(k))
		}
		st, err := s.cell(ctx, c)
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

// cell runs one cell, if nobody else does.
func (s *session) cell(ctx context.Context, c *Cell) (CellStatus, error) {
	claim, of, err := s.store.Claim(c.Unit, s.Retry, func() error { return s.clear(c) })
	var busy *work.BusyError
	if errors.As(err, &busy) {
		return CellStatus{Name: c.Name, State: work.Running, Reason: busy.Error()}, nil
	}
	if err != nil {
		return CellStatus{}, err
	}
	if claim == nil { // ended meanwhile
		return s.told(c, of)
	}
	start := time.Now()
	e, err := s.guarded(ctx, c)
	switch {
	case err == nil:
		e.Cost.Cell = metric.Float(time.Since(start).Seconds())
		e.Cost.Here()
		if err := claim.Finish(e); err != nil {
			return CellStatus{}, err
		}
		return CellStatus{Name: c.Name, State: work.Done, Entry: e}, nil
	case train.Interrupted(err) || ctx.Err() != nil || unwritten(err):
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
	return s.told(c, work.Status{State: work.Failed, Reason: reason})
}

// unwritten reports whether an error is that of a disk: no fault of a cell's.
func unwritten(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// heldError says that somebody works on a cell's run folder by other means.
type heldError struct{ error }

// guarded is do, with a panic as a fault of the cell: the others can still be run.
func (s *session) guarded(ctx context.Context, c *Cell) (e *compare.Entry, err error) {
	defer func() {
		if v := recover(); v != nil {
			e, err = nil, fmt.Errorf("internal error: %v\n%s", v, debug.Stack())
		}
	}()
	return s.do(ctx, c)
}

// clear moves the run folder of an earlier try aside.
func (s *session) clear(c *Cell) error {
	dir := s.folder(c)
	if _, err := run.Open(dir); err != nil {
		return left(dir)
	}
	f, err := run.Create(dir, true)
	if err != nil {
		return err
	}
	return os.Remove(f.Dir)
}

// left removes what a process left that was killed before its folder was a run's: there is nothing to go on with.
func left(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, run.ManifestFile)); err == nil {
		return nil
	}
	return os.RemoveAll(dir)
}

// do trains a cell, or goes on with it, draws, judges and makes its entry.
func (s *session) do(ctx context.Context, c *Cell) (*compare.Entry, error) {
	r, err := s.begun(c)
	if err != nil {
		return nil, err
	}
	defer r.Folder.Unlock()
	if err := r.Train(ctx, "", s.Train); err != nil {
		return nil, err
	}
	t, err := r.Trained("")
	if err != nil {
		return nil, err
	}
	n := s.plan.File.Samples
	if n == 0 {
		n = r.SampleCount()
	}
	x, v, fault, err := compare.Judge(ctx, r, t, n, s.plan.File.Report, func(done, of int) {
		if s.Drawn != nil {
			s.Drawn(c, done, of)
		}
	})
	if err != nil {
		return nil, err
	}
	// The result is recorded last: without it, what is there is what a process left that was killed.
	r.Folder.Force = true
	if err := r.SaveSamples(x, t.State, c.Label.Seed); err != nil {
		return nil, err
	}
	if err := r.KeepEvaluation(v, t.State, c.Label.Seed, fault); err != nil {
		return nil, err
	}
	if s.plan.File.Report {
		if _, err := r.Report(x, v); err != nil {
			return nil, err
		}
	}
	said := ""
	if fault != nil {
		said = fault.Error()
	}
	e := compare.Of(r, v, t.State, said)
	e.Row.Name, e.Row.Label, e.Row.Key = c.Name, c.Label, c.Unit.Key()
	e.Row.SampleSHA, err = sampleHash(r.Folder)
	return &e, err
}

func sampleHash(f *run.Folder) (string, error) {
	data, err := f.Read(run.SamplesFile)
	if err != nil {
		return "", err
	}
	return run.Hash(data), nil
}

// begun returns the cell's run, locked: the one that was begun, or a new one.
func (s *session) begun(c *Cell) (*experiment.Run, error) {
	dir := s.folder(c)
	p, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := left(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err == nil {
		r, err := experiment.Open(dir, p.Data.Path, s.Pool)
		if err != nil {
			return nil, err
		}
		if err := r.Folder.Lock(); err != nil {
			return nil, &heldError{err}
		}
		s.call(r.Folder, c)
		return r, r.Folder.Tidy()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := experiment.Load(p, s.Pool)
	if err != nil {
		return nil, err
	}
	if rows := c.Budget.Rows; rows > 0 {
		p, err := c.load(fmt.Sprintf("train.epochs=%d", epochsOf(rows, epochRows(l))))
		if err != nil {
			return nil, err
		}
		if l, err = experiment.Load(p, s.Pool); err != nil {
			return nil, err
		}
	}
	f, err := run.Create(dir, false)
	if err != nil {
		return nil, err
	}
	s.call(f, c)
	return l.Begin(f, c.source, s.Command)
}

// call says what files call a cell's folder.
func (s *session) call(f *run.Folder, c *Cell) {
	if s.away {
		f.Called = path.Join(compare.RunsDir, c.Name)
	}
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

// epochsOf returns how many epochs of so many rows come nearest to a budget of rows, at least one.
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
	p.Left = s.left()
	return p
}

// left estimates the seconds of the cells of the part that are still to be run.
func (s *session) left() metric.Float {
	total := metric.Float(0)
	for _, i := range s.mine {
		if st := s.state[i].State; st == work.Done || st == work.Failed {
			continue
		}
		total += s.seconds(s.plan.Cells[i])
	}
	return total
}

// seconds estimates what a cell takes from the cells that ended and are most like it: of the same line; of the same
// problem and budget; of the same budget; any.
func (s *session) seconds(c *Cell) metric.Float {
	alike := []func(l compare.Label) bool{
		func(l compare.Label) bool { return l.Problem == c.Label.Problem && l.Line() == c.Label.Line() },
		func(l compare.Label) bool { return l.Problem == c.Label.Problem && l.Budget == c.Label.Budget },
		func(l compare.Label) bool { return l.Budget == c.Label.Budget },
		func(compare.Label) bool { return true },
	}
	for _, like := range alike {
		sum, n := metric.Float(0), 0
		for _, st := range s.state {
			if st.Entry != nil && st.State == work.Done && like(st.Row.Label) && !st.Cost.Cell.IsNaN() {
				sum += st.Cost.Cell
				n++
			}
		}
		if n > 0 {
			return sum / metric.Float(n)
		}
	}
	if c.Budget.Seconds > 0 {
		return metric.Float(c.Budget.Seconds)
	}
	return metric.NaN
}

// status is what became of all cells so far.
func (s *session) status() *Outcome {
	out := &Outcome{Dir: s.Dir, Cells: s.state, Complete: true}
	for _, st := range s.state {
		if st.State != work.Done && st.State != work.Failed && st.State != Skipped {
			out.Complete = false
		}
	}
	return out
}

// outcome is status, with those of cells that other processes ended meanwhile, and writes the rows of a complete
// sweep.
func (s *session) outcome() (*Outcome, error) {
	for i, c := range s.plan.Cells {
		if st := s.state[i].State; c.Unit == nil || st == work.Done || st == work.Failed {
			continue
		}
		known, err := s.store.Status(c.Unit)
		if err != nil {
			return nil, err
		}
		if known.State == work.Done || known.State == work.Failed {
			if s.state[i], err = s.told(c, known); err != nil {
				return nil, err
			}
		}
	}
	out := s.status()
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
