package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

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
	names, err := f.Checkpoints()
	if err != nil {
		return err
	}
	if err := e.state(f, len(names)); err != nil {
		return err
	}
	if n := len(names); n > 0 && e.State != Training { // which replaces them
		if err := f.Whole(names[n-1]); err != nil {
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
	case err == nil && k.Evaluation == nil:
		return fmt.Errorf("%s is damaged: it holds no evaluation", run.EvaluationFile)
	case err == nil:
		e.Distance = evaluated(&k)
		if drawn := drawnWith(m, checkpoints); k.Config != m.Config || k.Updates != drawn {
			e.Distance.From = Stale
		}
		return nil
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
