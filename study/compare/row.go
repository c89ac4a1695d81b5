// Package compare holds runs side by side: a row for each, lines of rows that differ in their seed alone, groups of
// lines that may be compared, and tables and a page of them.
//
// It reads run folders and what sweeps left. It trains nothing; a run that has no evaluation yet is given one.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
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

// score is that of a distance; where there is none, NaN.
func (d *Distance) score() metric.Score {
	if d == nil {
		return metric.Score{Full: metric.NaN, HeldOut: metric.NaN, HeldOutFloor: metric.NaN, Law: metric.NaN}
	}
	return d.Score
}

// law is what new draws of the data's law would score; rows of earlier versions do not say.
func (r *Row) law() metric.Float { return cmp.Or(r.Distance.score().Law, metric.NaN) }

// A Component is how far samples are from one constraint.
type Component struct {
	Name  string       `json:"name"`
	Worst metric.Float `json:"worst"`
	Mean  metric.Float `json:"mean"`
}

// A Cost is what a run took: seconds of wall time on a machine, on a day.
type Cost struct {
	Trained  *train.Cost  `json:"trained,omitempty"` // of the training in all; missing: not known
	Train    metric.Float `json:"train"`             // of the epochs to these weights, simulation included
	Simulate metric.Float `json:"simulate"`          // of it, forward paths
	Generate metric.Float `json:"generate"`          // the samples
	Cell     metric.Float `json:"cell"`              // from data to row, of the call that ended it; null: not known
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
	row := Row{Name: r.Folder.Dir, Version: run.Version(),
		Label: Label{Problem: r.Problem.Name, Method: r.Method.Name(), Seed: r.Problem.Seed},
		Data: Data{Name: filepath.Base(r.Data.Name), SHA256: r.Data.SHA256, Points: r.Data.N, Dim: r.Data.D,
			Set: constraint.Name(r.Process.Set), Split: r.Problem.Data.SplitSeed, HeldOut: v.HeldOut},
		Epochs: v.Epoch, Updates: state.Updates, TrainedRows: state.Rows, Network: v.Network,
		Samples: v.Samples, Failed: v.Failed, Broken: v.Broken, Programs: v.Programs,
		Distance: distanceOf(v.JSD), Observed: distanceOf(v.Observed), Energy: v.TwoSample, MMD: v.MMD,
		Worst: v.Violation.Worst, Mean: v.Violation.Mean, Component: []Component{}, Copies: v.Nearest,
		Good: v.Verdict.Grade == verdict.Good, Verdict: v.Verdict.Title(), Fault: fault}
	row.Data.HeldOut = cmp.Or(row.Data.HeldOut, heldOut)
	for _, c := range v.Component {
		row.Component = append(row.Component, Component{c.Component, c.Worst, c.Mean})
	}
	e := Entry{Row: row, Folder: r.Folder.Dir, Cost: Cost{Trained: v.Trained, Train: v.Seconds.Train,
		Simulate: v.Seconds.Simulate, Generate: v.Seconds.Generate, Cell: metric.NaN}}
	if m, err := r.Folder.Manifest(); err == nil {
		e.Row.Config = m.Config
		e.Cost.on(m.Machine)
	}
	return e
}

// All returns the seconds of the training in all; where these are not known, those to the weights.
func (c *Cost) All() metric.Float {
	if c.Trained == nil {
		return c.Train
	}
	return metric.Float(c.Trained.Seconds)
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

// A Comparison is entries in groups. Figures of two groups are not to be compared.
type Comparison struct {
	Groups []Group  `json:"groups"`
	Notes  []string `json:"notes"`
}

// A Group is lines whose samples are held against the same rows by the same distance.
type Group struct {
	Title  string   `json:"title"`
	Data   Data     `json:"data"`
	Metric string   `json:"metric"` // of Line.Distance
	Lines  []Line   `json:"lines"`
	Best   int      `json:"best"`    // of Lines, the smallest mean distance; −1: none has one
	To     int      `json:"against"` // of Lines, what the others are tested against; −1: nothing
	Notes  []string `json:"notes"`
}

// A Line is entries that differ in their seed alone.
type Line struct {
	Name     string            `json:"name"`
	Entries  []Entry           `json:"entries"`
	Failed   int               `json:"failed"` // of them, without a row
	Distance Stat              `json:"distance"`
	Test     *metric.MeansTest `json:"test,omitempty"` // of the distances against those of Group.To
}

// A Stat is a mean over seeds. SE is its standard error, null of a single value.
type Stat struct {
	Mean metric.Float `json:"mean"`
	SE   metric.Float `json:"se"`
	N    int          `json:"n"` // values that are known
}

// Over returns the mean of a number of each entry's row over the entries that have one: what is NaN counts as
// missing.
func (l *Line) Over(of func(e *Entry) metric.Float) Stat {
	var values []float64
	for i := range l.Entries {
		if v := of(&l.Entries[i]); v-v == 0 && l.Entries[i].Row.Failure == "" {
			values = append(values, float64(v))
		}
	}
	return statOf(values)
}

func statOf(values []float64) Stat {
	s := Stat{metric.NaN, metric.NaN, len(values)}
	if s.N == 0 {
		return s
	}
	f := metric.NewFloor(values) // mean and standard deviation
	s.Mean = f.Mean
	if s.N > 1 {
		s.SE = f.SD / metric.Float(math.Sqrt(float64(s.N)))
	}
	return s
}

// EnergyName is the distance of rows that have no other.
const EnergyName = "energy distance to held-out rows"

// Main returns the distance of a row that lines are compared by, with what is known of its floor: the row's own, or
// where none is defined the energy distance to held-out rows.
func (r *Row) Main() (name string, d metric.Float, floor metric.Floor) {
	switch {
	case r.Distance != nil:
		return r.Distance.Metric, r.Distance.Full, r.Distance.Floor
	case r.Energy.N > 0:
		return EnergyName, r.Energy.Statistic, r.Energy.Floor
	}
	return "", metric.NaN, metric.Floor{Mean: metric.NaN, SD: metric.NaN}
}

// New compares entries. against names the line that the others are tested against; "" is the best of each group.
// The error says that there is no such line.
func New(entries []Entry, against string) (*Comparison, error) {
	c := &Comparison{Notes: []string{}}
	entries, twice := distinct(entries)
	if twice > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d cells are in several folders, and counted once", twice))
	}
	name(entries)
	at := map[string]int{}
	var lost []Entry      // that failed; their data is not known
	var members [][]Entry // by group
	for _, e := range entries {
		metricName, _, _ := e.Row.Main()
		if e.Row.Failure != "" || metricName == "" {
			lost = append(lost, e)
			continue
		}
		d := e.Row.Data
		key := fmt.Sprint(d.SHA256, d.Split, d.HeldOut, d.Set, metricName)
		g, ok := at[key]
		if !ok {
			g = len(c.Groups)
			at[key] = g
			c.Groups = append(c.Groups, Group{Title: e.Row.Problem, Data: d, Metric: metricName})
			members = append(members, nil)
		}
		members[g] = append(members[g], e)
	}
	for _, e := range lost { // to a group of the problem, or one of its own
		ofProblem := func(some []Entry) bool {
			return slices.ContainsFunc(some, func(o Entry) bool { return o.Row.Problem == e.Row.Problem })
		}
		g := slices.IndexFunc(members, ofProblem)
		if g < 0 {
			g = len(c.Groups)
			c.Groups = append(c.Groups, Group{Title: e.Row.Problem, Data: e.Row.Data})
			members = append(members, nil)
		}
		members[g] = append(members[g], e)
	}
	for i := range c.Groups {
		g, problems := &c.Groups[i], map[string]bool{}
		for _, e := range members[i] {
			problems[e.Row.Problem] = true
		}
		for _, e := range members[i] {
			if len(problems) > 1 && e.line != e.Row.Problem {
				e.line = e.Row.Problem + ": " + e.line
			}
			g.add(e)
		}
		if len(problems) > 1 {
			g.Title = strings.Join(slices.Sorted(maps.Keys(problems)), ", ")
		}
	}
	found := against == ""
	for i := range c.Groups {
		found = c.Groups[i].judge(against) || found
	}
	if !found {
		var names []string
		for _, g := range c.Groups {
			for _, l := range g.Lines {
				if !slices.Contains(names, l.Name) {
					names = append(names, l.Name)
				}
			}
		}
		return nil, fault.Errorf(fault.Usage, "", "--against: there is no line %q to compare with; there are %s",
			against, strings.Join(names, "; "))
	}
	if n := len(c.Groups); n > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d groups, of other data, sets or distances: figures are compared "+
			"within a group alone", n))
	}
	return c, nil
}

// distinct returns the entries without those of a unit of work that came before: of parts of a sweep that overlap.
func distinct(entries []Entry) (out []Entry, twice int) {
	seen := map[string]int{}
	for _, e := range entries {
		key := e.Row.Key
		i, ok := seen[key]
		switch {
		case key == "" || !ok:
			seen[key] = len(out)
			out = append(out, e)
			continue
		case out[i].Row.Failure != "": // the other may have been more lucky
			out[i] = e
		}
		twice++
	}
	return out, twice
}

// add puts an entry into the line that differs in its seed alone, or into one of its own.
func (g *Group) add(e Entry) {
	for i := range g.Lines {
		l := &g.Lines[i]
		same := func(x Entry) bool { return x.Row.Seed == e.Row.Seed }
		if l.Name == e.line && l.Entries[0].identity == e.identity && !slices.ContainsFunc(l.Entries, same) {
			l.Entries = append(l.Entries, e)
			return
		}
	}
	name := e.line
	for _, l := range g.Lines {
		if l.Name == name { // another run of the seed, or one that differs in what no key says
			name += " (" + e.Row.Name + ")"
			break
		}
	}
	e.line = name
	g.Lines = append(g.Lines, Line{Name: name, Entries: []Entry{e}})
}

// name gives entries the names of their lines, and what a line has in common: of cells their labels, of other runs
// the problem, the method and the keys in which runs differ.
func name(entries []Entry) {
	var alone []*Entry
	for i := range entries {
		if e := &entries[i]; e.Row.Key == "" {
			alone = append(alone, e)
		}
	}
	var keys []string // in which runs differ
	for _, e := range alone {
		for key, v := range e.given {
			differs := func(o *Entry) bool { return o.given != nil && o.given[key] != v }
			if slices.ContainsFunc(alone, differs) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	for i := range entries {
		e := &entries[i]
		if e.Row.Key == "" {
			if e.identity = "config " + e.Row.Config; e.given != nil {
				e.identity = fmt.Sprint("given ", e.given)
			}
			var parts []string
			for _, key := range keys {
				if v, ok := e.given[key]; ok {
					parts = append(parts, key+"="+v)
				}
			}
			e.Row.Settings = strings.Join(parts, ", ")
		}
		e.line = e.Row.Line()
	}
}

// judge makes the numbers of a group's lines and tests them, and reports whether there is a line to test against.
func (g *Group) judge(against string) (found bool) {
	g.Best, g.To, g.Notes = -1, -1, []string{}
	versions, samples := map[string]bool{}, map[int]bool{}
	for i := range g.Lines {
		l := &g.Lines[i]
		slices.SortStableFunc(l.Entries, func(a, b Entry) int { return cmp.Compare(a.Row.Seed, b.Row.Seed) })
		for _, e := range l.Entries {
			if e.Row.Failure != "" {
				l.Failed++
				continue
			}
			versions[e.Row.Version], samples[e.Row.Samples] = true, true
			if e.Note != "" {
				g.Notes = append(g.Notes, fmt.Sprintf("%s, seed %d: %s", l.Name, e.Row.Seed, e.Note))
			}
		}
		l.Distance = l.Over(distance)
		if d := l.Distance.Mean; !d.IsNaN() && (g.Best < 0 || d < g.Lines[g.Best].Distance.Mean) {
			g.Best = i
		}
		if l.Name == against && !l.Distance.Mean.IsNaN() {
			g.To, found = i, true
		}
	}
	if against == "" {
		g.To = g.Best
	}
	if len(versions) > 1 {
		g.Notes = append(g.Notes, "made by several versions of the program: "+
			strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
	}
	if len(samples) > 1 {
		g.Notes = append(g.Notes, "lines have other numbers of samples: a distance by histograms falls with their "+
			"number, as its floor does")
	}
	if g.To >= 0 {
		to := values(&g.Lines[g.To])
		for i := range g.Lines {
			if l := &g.Lines[i]; i != g.To && l.Distance.N > 0 {
				t := metric.CompareMeans(values(l), to)
				l.Test = &t
			}
		}
	}
	return found
}

func distance(e *Entry) metric.Float {
	_, d, _ := e.Row.Main()
	return d
}

// values are the distances of a line's seeds.
func values(l *Line) (out []float64) {
	for i := range l.Entries {
		if d := distance(&l.Entries[i]); d-d == 0 {
			out = append(out, float64(d))
		}
	}
	return out
}

// Alpha is the p-value up to which two lines are said to differ.
const Alpha = 0.05

// Verdict says in words what the test of a line says.
func (l *Line) Verdict() string {
	t := l.Test
	switch {
	case t == nil:
		return ""
	case t.PValue <= Alpha && t.Difference > 0:
		return "worse"
	case t.PValue <= Alpha:
		return "better"
	case t.Least >= 1:
		return "open: a seed each, no test"
	case t.Least > Alpha:
		return fmt.Sprintf("open: with so few seeds p is at least %.2g", float64(t.Least))
	}
	return "no difference seen"
}
