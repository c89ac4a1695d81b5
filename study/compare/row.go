// Package compare holds runs side by side: a row for each, lines of rows that differ in their seed alone, groups of
// lines that may be compared, and tables and a page of them.
//
// It reads run folders and what sweeps left. It trains nothing; a run that has no evaluation yet is given one.
package compare

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
)

// A Label says what a run is among others. Empty parts are not told.
type Label struct {
	Problem  string `json:"problem"`
	Variant  string `json:"variant,omitempty"`
	Method   string `json:"method,omitempty"`
	Settings string `json:"settings,omitempty"`
	Draw     string `json:"draw,omitempty"` // how samples are drawn, where one training is drawn from in several ways
	Budget   string `json:"budget,omitempty"`
	Seed     uint64 `json:"seed"`
}

// Line names what a row's line has in common: all but problem and seed.
func (l Label) Line() string {
	var parts []string
	for _, p := range []string{l.Method, l.Variant, l.Settings, l.Draw, l.Budget} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return l.Problem
	}
	return strings.Join(parts, ", ")
}

// A Row is what a run has reached: numbers that are the same bytes whenever and wherever the same is run again, to
// what kernels of another kind change. A Cost is what is not.
type Row struct {
	Name string `json:"name"` // of the cell, or the run's folder
	Label
	Key     string `json:"key,omitempty"` // of the unit of work; empty: the run is no cell of a sweep
	Version string `json:"version"`       // of the program
	Config  string `json:"config_sha256"` // of the run's config.yaml
	Data    Data   `json:"data"`

	Epochs      int          `json:"epochs"`
	Updates     int          `json:"updates"`
	TrainedRows int64        `json:"trained_rows"`        // that the network has seen in training
	Network     metric.Float `json:"network_evaluations"` // a sample
	Samples     int          `json:"samples"`             // asked for
	Failed      int          `json:"failed"`              // of them, lost on the way or on a wrong component
	Broken      int          `json:"broken,omitempty"`    // of the failed, whose simulation broke down
	SampleSHA   string       `json:"samples_sha256,omitempty"`

	Programs *method.Programs `json:"programs,omitempty"` // of optimisation within steps, where there are any

	Distance  *Distance        `json:"distance"`  // null where none is defined, or no sample is left
	Observed  *Distance        `json:"observed"`  // of what the problem observes beside a published distance
	Energy    metric.TwoSample `json:"energy"`    // to held-out rows
	MMD       metric.TwoSample `json:"mmd"`       // to held-out rows
	Worst     metric.Float     `json:"violation"` // the largest of any component
	Mean      metric.Float     `json:"violation_mean"`
	Component []Component      `json:"components"`
	Copies    metric.Copies    `json:"copies"`
	Good      bool             `json:"good"`
	Verdict   string           `json:"verdict"`           // in words
	Fault     string           `json:"fault,omitempty"`   // why samples are not what they should be
	Failure   string           `json:"failure,omitempty"` // why there is nothing to compare: the run failed
}

// Data says which data samples are held against, and how.
type Data struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
	Points  int    `json:"points"`
	Dim     int    `json:"dim"`
	Set     string `json:"set"`      // name of Σ
	Split   uint64 `json:"split"`    // data.split_seed
	HeldOut string `json:"held_out"` // which rows these are
}

// A Distance is one by histograms.
type Distance struct {
	Metric string `json:"metric"`
	metric.Score
}

// law is what new draws of the data's law would score; rows of earlier versions do not say.
func (r *Row) law() metric.Float {
	if r.Distance == nil || r.Distance.Law == 0 {
		return metric.NaN
	}
	return r.Distance.Law
}

// A Component is how far samples are from one constraint.
type Component struct {
	Name  string       `json:"name"`
	Worst metric.Float `json:"worst"`
	Mean  metric.Float `json:"mean"`
}

// A Cost is what a run took: seconds of wall time on a machine, on a day.
type Cost struct {
	Train    metric.Float `json:"train"`    // in all, simulation included
	Simulate metric.Float `json:"simulate"` // of it, forward paths
	Generate metric.Float `json:"generate"` // the samples
	Cell     metric.Float `json:"cell"`     // everything from data to row, of the call that ended it; null: not known
	CPU      string       `json:"cpu"`
	Cores    int          `json:"cores"`
	Kernel   string       `json:"kernel"`
	Ended    time.Time    `json:"ended"`
}

// An Entry is a row and its cost.
type Entry struct {
	Row  Row  `json:"row"`
	Cost Cost `json:"cost"`

	Folder string `json:"-"`               // of the run; empty: there is none here
	Drawn  string `json:"drawn,omitempty"` // of samples and figures, in Folder, by other keys than the run's
	Note   string `json:"note,omitempty"`  // what somebody should know of the run

	Figures map[string]float64 `json:"figures,omitempty"` // what was measured beyond the row, by name

	given    map[string]string // what was written of a run's problem; nil: not known
	line     string            // name of the line
	identity string            // what the entries of a line have in common beside its name
}

// heldOut says which rows are held out, where the evaluation does not.
const heldOut = "validation and test rows"

// Of makes the entry of a run from the evaluation of its samples by a network in a state; fault is the error that
// came with samples or evaluation.
func Of(r *experiment.Run, v *judge.Evaluation, state train.State, fault string) Entry {
	row := Row{Name: r.Folder.Dir, Version: run.Version(), Label: labelOf(r),
		Data: Data{Name: filepath.Base(r.Data.Name), SHA256: r.Data.SHA256, Points: r.Data.N, Dim: r.Data.D,
			Set: constraint.Name(r.Process.Set), Split: r.Problem.Data.SplitSeed, HeldOut: v.HeldOut},
		Epochs: v.Epoch, Updates: state.Updates, TrainedRows: state.Rows, Network: v.Network,
		Samples: v.Samples, Failed: v.Failed, Broken: v.Broken, Programs: v.Programs,
		Distance: distanceOf(v.JSD), Observed: distanceOf(v.Observed), Energy: v.TwoSample, MMD: v.MMD,
		Worst: v.Violation.Worst, Mean: v.Violation.Mean, Component: []Component{}, Copies: v.Nearest,
		Good: v.Verdict.Good, Verdict: v.Verdict.Title(), Fault: fault}
	if row.Data.HeldOut == "" {
		row.Data.HeldOut = heldOut
	}
	for _, c := range v.Component {
		row.Component = append(row.Component, Component{c.Component, c.Worst, c.Mean})
	}
	e := Entry{Row: row, Folder: r.Folder.Dir, Cost: Cost{Train: v.Seconds.Train, Simulate: v.Seconds.Simulate,
		Generate: v.Seconds.Generate, Cell: metric.NaN}}
	var m run.Manifest
	if r.Folder.ReadJSON(run.ManifestFile, &m) == nil {
		e.Row.Config = m.Config
		e.Cost.on(m.Machine)
	}
	return e
}

// on notes the machine of a cost.
func (c *Cost) on(m run.Machine) { c.CPU, c.Cores, c.Kernel = m.CPU, m.Cores, m.Kernel }

// Here notes this machine and the time.
func (c *Cost) Here() {
	c.on(run.ThisMachine())
	c.Ended = time.Now().UTC().Round(time.Second)
}

func distanceOf(j *judge.JSD) *Distance {
	if j == nil {
		return nil
	}
	return &Distance{Metric: j.Metric, Score: j.Score}
}

// labelOf is the label of a run that no sweep named.
func labelOf(r *experiment.Run) Label {
	return Label{Problem: r.Problem.Name, Method: r.Method.Name(), Seed: r.Problem.Seed}
}

// NoRow is the row of a run that failed.
func NoRow(name string, l Label, key, version, why string) Row {
	return Row{Name: name, Label: l, Key: key, Version: version, Network: metric.NaN, Energy: metric.NoTest(),
		MMD: metric.NoTest(), Worst: metric.NaN, Mean: metric.NaN, Component: []Component{}, Copies: metric.NoCopies(),
		Verdict: fmt.Sprintf("failed: %s", why), Failure: why}
}

// NoCost is that of a run that failed.
func NoCost() Cost {
	return Cost{Train: metric.NaN, Simulate: metric.NaN, Generate: metric.NaN, Cell: metric.NaN}
}
