// Package inventory finds run folders below some folders and says how each is: its state, its problem, how near its
// samples are to the data, its age and its size.
//
// It only reads, and neither data nor weights: what it says of a run is what the run's files say.
package inventory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
)

// How far run folders may lie below those that are named.
const (
	DefaultDepth = 3
	MostDepth    = 32
)

// A List is what was found.
type List struct {
	Runs  []Entry  `json:"runs"`
	Notes []string `json:"notes"` // what was left out, and why
}

// Find lists the runs at folders and down to a depth below, in the order of their paths. Symbolic links, hidden folders
// and the insides of runs are not entered. A folder of dirs that cannot be read is an *fs.PathError; what lies below
// and cannot be is a note.
func Find(dirs []string, depth int) (*List, error) {
	w := &walk{depth: depth, seen: map[string]bool{}, List: List{Runs: []Entry{}, Notes: []string{}}}
	for _, dir := range dirs {
		if err := w.enter(filepath.Clean(dir), 0); err != nil {
			return nil, err
		}
	}
	if w.deep != "" {
		w.note("%s and what is as deep was not looked at; --depth goes further than %d", w.deep, depth)
	}
	return &w.List, nil
}

// walk is one call of Find.
type walk struct {
	List
	depth int
	deep  string          // the first folder that is too deep
	seen  map[string]bool // runs, by absolute path: folders that are named may overlap
}

func (w *walk) note(format string, v ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, v...)) }

// enter lists a folder at a depth.
func (w *walk) enter(dir string, depth int) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	names, folders := map[string]bool{}, []string(nil)
	for _, e := range entries {
		names[e.Name()] = true
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	if isRun(names) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if !w.seen[abs] {
			w.seen[abs] = true
			e := Of(dir)
			e.Bytes = w.size(dir)
			w.Runs = append(w.Runs, e)
		}
		return nil
	}
	if len(folders) > 0 && depth == w.depth {
		w.deep = cmp.Or(w.deep, filepath.Join(dir, folders[0]))
		return nil
	}
	if names[compare.ListFile] && slices.Contains(folders, compare.RunsDir) { // units of a sweep are no runs
		folders = []string{compare.RunsDir}
	}
	for _, name := range folders {
		if err := w.enter(filepath.Join(dir, name), depth+1); err != nil {
			w.note("%v", err)
		}
	}
	return nil
}

// size adds up the files below a folder.
func (w *walk) size(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // a file of a training that is gone already
				w.note("%v", err)
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// Orders are the names of the orders of Sort.
func Orders() []string { return []string{"name", "state", "problem", "distance", "age", "size"} }

// Sort puts runs in an order, of equal ones by name: distance from the smallest, runs without one last; age from the
// youngest; size from the largest. An order that is not one of Orders panics.
func Sort(runs []Entry, order string) {
	slices.SortStableFunc(runs, func(a, b Entry) int {
		return cmp.Or(before(&a, &b, order), strings.Compare(a.Run, b.Run))
	})
}

func before(a, b *Entry, order string) int {
	switch order {
	case "name":
		return 0
	case "state":
		return slices.Index(States(), a.State) - slices.Index(States(), b.State)
	case "problem":
		return strings.Compare(a.Problem, b.Problem)
	case "distance":
		return cmp.Compare(a.far(), b.far())
	case "age":
		return b.Updated.Compare(a.Updated)
	case "size":
		return cmp.Compare(b.Bytes, a.Bytes)
	}
	panic("inventory: no order " + order)
}

// far is the distance, +Inf where there is none.
func (e *Entry) far() float64 {
	if e.Distance == nil || e.Distance.Value.IsNaN() {
		return math.Inf(1)
	}
	return float64(e.Distance.Value)
}

// A State says how far a run is.
type State string

// States.
const (
	Training State = "training" // a process is at it
	Finished State = "finished"
	Stopped  State = "stopped" // before its end: landing train goes on
	Failed   State = "failed"
	Damaged  State = "damaged" // files are missing, or are not what they were
)

// States are all of them.
func States() []State { return []State{Training, Finished, Stopped, Failed, Damaged} }

// An Entry is a run.
type Entry struct {
	Run     string `json:"run"` // its folder
	State   State  `json:"state"`
	Why     string `json:"why,omitempty"`     // of the state, where there is more to say
	Note    string `json:"note,omitempty"`    // why its evaluation is not read
	Problem string `json:"problem,omitempty"` // its name; empty where it cannot be read
	Title   string `json:"title,omitempty"`
	Method  string `json:"method,omitempty"`
	Seed    uint64 `json:"seed"`
	Epoch   int    `json:"epoch"`  // completed
	Epochs  int    `json:"epochs"` // planned; 0: a clock or held-out distances will decide

	Trained *train.Cost `json:"trained,omitempty"` // what it took until now; missing: not known

	Distance *Distance `json:"distance"` // null: nothing was measured yet

	Created time.Time `json:"created"` // zero where it is not known
	Updated time.Time `json:"updated"` // when the state was written last
	Bytes   int64     `json:"bytes"`
}

// A Distance is how far samples are from the data.
type Distance struct {
	Value   metric.Float  `json:"value"`            // to all data; null where no distance is defined
	Floor   metric.Float  `json:"floor"`            // of as many draws from the training rows; null: not known
	Metric  string        `json:"metric,omitempty"` // what is measured
	Epoch   int           `json:"epoch"`            // of the weights
	From    Source        `json:"from"`             // what measured it
	Grade   verdict.Grade `json:"grade"`            // empty: none was given
	Verdict string        `json:"verdict"`          // in words; empty: none was given
	Wrong   []string      `json:"wrong,omitempty"`  // what it found, the largest effect first
}

// A Source says what a distance was measured by.
type Source string

// Sources of distances.
const (
	Evaluated Source = "evaluation" // of the run as it is
	Stale     Source = "stale"      // an evaluation of other weights than samples are drawn with now
	InCourse  Source = "training"   // an evaluation during training
)

// Sources are all of them.
func Sources() []Source { return []Source{Evaluated, Stale, InCourse} }

// mostText bounds a file that is read of a run, in bytes.
const mostText = 64 << 20

// isRun reports whether a folder with such entries is a run's: it has what every run has, or enough
// of that to say that the rest is missing.
func isRun(names map[string]bool) bool {
	marks := 0
	for _, name := range []string{run.ConfigFile, run.ManifestFile, run.StatusFile, run.MetricsFile,
		"checkpoints"} {
		if names[name] {
			marks++
		}
	}
	return marks >= 2
}

// Cautions says what speaks against samples of the weights of an epoch, beside the verdict.
func (e Entry) Cautions(epoch int) (out []string) {
	if epoch == 0 {
		out = append(out, "its network is untrained")
	} else if e.State != Finished {
		of := ""
		if e.Epochs > 0 {
			of = fmt.Sprintf(" of %d", e.Epochs)
		}
		out = append(out, fmt.Sprintf("its training has not finished: %s, weights after epoch %d%s", e.State, epoch,
			of))
	}
	if e.Why != "" && e.State != Finished {
		out = append(out, e.Why)
	}
	if d := e.Distance; d != nil && d.Grade != "" && d.From == Stale {
		out = append(out, "the verdict is on other weights than those that draw: landing report judges these")
	}
	return out
}

// Of says how the run in a folder is, but for its size.
func Of(dir string) Entry {
	e := Entry{Run: dir}
	if err := e.read(); err != nil {
		e.State, e.Why = Damaged, err.Error()
	}
	return e
}

// read fills in what the files say; the error is what is wrong with them. What was read before stays.
func (e *Entry) read() error {
	f, err := run.Open(e.Run)
	if err != nil {
		return err
	}
	var m run.Manifest
	if err := decode(f, run.ManifestFile, &m); err != nil {
		return err
	}
	e.Created, e.Updated, e.Seed = m.Created, m.Created, m.Seed
	config, err := input.Read(f.Path(run.ConfigFile), mostText)
	if err != nil {
		return err
	}
	if run.Hash(config) != m.Config {
		return fmt.Errorf("%s is not that of %s", run.ConfigFile, run.ManifestFile)
	}
	p, err := problem.Load(config, f.Path(run.ConfigFile), "", nil)
	if err != nil {
		return err
	}
	e.Problem, e.Title, e.Method = p.Name, p.Title, p.Process.Method
	names, err := f.Checkpoints().Names()
	if err != nil {
		return err
	}
	if err := e.state(f, len(names)); err != nil {
		return err
	}
	if n := len(names); n > 0 && e.State != Training { // which replaces them
		if err := f.Checkpoints().Whole(names[n-1]); err != nil {
			return err
		}
	}
	return e.distance(f, &m, names)
}

// decode reads a small JSON file of a folder.
func decode(f *run.Folder, name string, v any) error {
	data, err := input.Read(f.Path(name), mostText)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	return nil
}

// state says how far a run with this number of checkpoints is.
func (e *Entry) state(f *run.Folder, checkpoints int) error {
	busy := f.Busy()
	var s run.Status
	switch err := decode(f, run.StatusFile, &s); {
	case errors.Is(err, fs.ErrNotExist):
		if e.State = Stopped; busy == run.Held {
			e.State = Training
		} else {
			e.Why = "it has no " + run.StatusFile + ": its training did not begin"
		}
		return nil
	case err != nil:
		return err
	}
	e.Epoch, e.Epochs, e.Updated, e.Trained = s.Epoch, s.Epochs, s.Updated, s.Trained
	switch s.State {
	case "training":
		if e.State = Training; busy == run.NotHeld {
			e.State, e.Why = Stopped, "its process was killed, or its machine stopped"
		}
	case "interrupted":
		e.State = Stopped
	case "trained":
		if e.State, e.Why = Finished, s.Stopped; checkpoints == 0 {
			return errors.New("it is trained and has no checkpoint")
		}
	case "failed":
		e.State, e.Why = Failed, s.Message
	default:
		return fmt.Errorf("%s says %q; expected training, interrupted, trained or failed", run.StatusFile, s.State)
	}
	return nil
}

// distance takes that of the kept evaluation, or of the last one during training.
func (e *Entry) distance(f *run.Folder, m *run.Manifest, checkpoints []string) error {
	var k experiment.Kept
	switch err := decode(f, run.EvaluationFile, &k); {
	case err == nil:
		e.Distance = evaluated(&k)
		if drawn := drawnWith(m, checkpoints); k.Config != m.Config || k.Updates != drawn {
			e.Distance.From = Stale
		}
		return nil
	case errors.Is(err, experiment.ErrEarlier):
		e.Note = experiment.ErrEarlier.Error()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	records, err := f.Metrics()
	if all := run.Decode[judge.Progress](records, "evaluation"); len(all) > 0 {
		p := all[len(all)-1]
		e.Distance = &Distance{Value: p.JSD, Floor: metric.NaN, Epoch: p.Epoch, From: InCourse}
	}
	return err
}

func evaluated(k *experiment.Kept) *Distance {
	d := &Distance{Value: metric.NaN, Floor: metric.NaN, Epoch: k.Epoch, From: Evaluated}
	for _, j := range []*judge.JSD{k.JSD, k.Observed} {
		if j != nil {
			d.Value, d.Floor, d.Metric = j.Full, j.Mean, j.Metric
			break
		}
	}
	d.Grade, d.Verdict, d.Wrong = k.Verdict.Grade, k.Verdict.Title(), k.Verdict.Says()
	return d
}

// drawnWith returns the updates of the weights that samples are drawn with: those that held-out distances chose, or the
// newest. The name of a checkpoint is its number of updates.
func drawnWith(m *run.Manifest, checkpoints []string) int {
	name := ""
	if n := len(checkpoints); n > 0 {
		name = checkpoints[n-1]
	}
	if m.Weights != nil && slices.Contains(checkpoints, m.Weights.Checkpoint) {
		name = m.Weights.Checkpoint
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return -1
	}
	return n
}
