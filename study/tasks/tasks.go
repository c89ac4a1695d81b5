// Package tasks draws samples of a run in parts that join to the bytes of one process.
//
//	list, err := tasks.Generation(ctx, r, tasks.GenerateOptions{Count: 1e7}) // samples, and what they are made of
//	part, before, err := list.Part(ctx, store, work.Shard{I: 2, N: 8}, nil) // in a folder of the store
//	parts, err := tasks.Parts([]string{store.Dir})
//	merged, err := tasks.Merge(ctx, parts, "samples.npy", tasks.MergeOptions{Pool: pool})
//	// or all of it in this process:
//	merged, err := tasks.Once(ctx, list, "samples.npy", tasks.MergeOptions{Pool: pool})
//
// A part is a unit of package work, which claims it, and keeps what is finished from being made again.
package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/work"
)

// Kind is that of the units of samples, and begins their names.
const Kind = "generate"

// RowsFile is the file of a part's samples, float64, n×d; those that failed are NaN.
const RowsFile = "rows.npy"

// A List is samples of a run by number: sample i is a function of the list and i alone.
type List struct {
	From  uint64 // number of the first sample
	Count uint64

	of     generation
	inputs Inputs
	hashes map[string]string
	run    *experiment.Run // as it draws

	// begin prepares a drawing of `count` samples. The function that it returns draws those of numbers first, first+1,
	// … to x, and records their figures in out.
	begin func(ctx context.Context, count uint64, out *Drawn) (fill, error)
}

type fill = func(x []float64, first uint64, tick func(k int)) error

// A Range is the samples of a part, and of the whole.
type Range struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
	From  uint64 `json:"from"` // the first of all
	Total uint64 `json:"total"`
}

// A task is that of a part's unit.
type task struct {
	Range
	Of generation `json:"of"`
}

// Inputs says where the files that parts are made of lie on this machine, by their names in work.Unit.Inputs. Those of
// the run's folder begin with run/.
type Inputs map[string]string

// A Part is a unit of a List that is done.
type Part struct {
	Dir    string // its folder
	Unit   *work.Unit
	Range  Range
	Result Result
}

// A Result is what a part has left, as result.json of its folder has it.
type Result struct {
	Files  []File `json:"files"`
	Kernel string `json:"kernel"` // kind of kernels: another may differ in the last bits
	Arch   string `json:"arch"`   // of the processor, likewise; empty: made by an earlier version
	// Products is the precision that the network's products had, likewise.
	Products string  `json:"products,omitempty"`
	Seconds  float64 `json:"seconds"`
	Inputs   Inputs  `json:"inputs,omitempty"` // where they lay
	Detail   Drawn   `json:"detail"`
}

// A File is one of a part, by its name in the part's folder.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func refuse(format string, v ...any) error { return fault.Errorf(fault.Config, "", format, v...) }

// unit returns the samples lo … hi−1, counted from the list's first, as a unit.
func (l *List) unit(lo, hi uint64) *work.Unit {
	text, err := json.Marshal(task{Range{l.From + lo, hi - lo, l.From, l.Count}, l.of})
	if err != nil {
		panic("tasks: " + err.Error()) // a plain struct
	}
	return &work.Unit{Name: fmt.Sprintf("%s-%d-%d", Kind, l.From+lo, l.From+hi), Kind: Kind, Task: text,
		Inputs: l.hashes, Version: run.Version()}
}

// read reads a unit's task strictly.
func read(u *work.Unit) (t task, err error) {
	dec := json.NewDecoder(strings.NewReader(string(u.Task)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, refuse("%s: its task cannot be read: %w", u.Name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return t, refuse("%s: its task has something behind it", u.Name)
	}
	if r := t.Range; r.Count < 1 || r.Total > 1<<62 || r.From+r.Total < r.From || r.First < r.From ||
		r.Count > r.Total || r.First-r.From > r.Total-r.Count {
		return t, refuse("%s: its rows are %d from %d on, of %d from %d on; expected some of them", u.Name, r.Count,
			r.First, r.Total, r.From)
	}
	return t, nil
}

// Part makes a part of the samples in a store, in the part's own folder, unless it is there: what is whole is not made
// again. The status is that before; tick gets how many samples are done, and may be nil. The part is nil if it has no
// samples, as where there are more parts than samples. Errors are the context's, those of the run and of
// work.Store.Claim, and a configuration fault where another version made it.
func (l *List) Part(ctx context.Context, s *work.Store, shard work.Shard, tick func(done, of uint64)) (*Part,
	work.Status, error) {
	lo, hi := shard.Range(l.Count)
	if lo == hi {
		return nil, work.Status{}, nil
	}
	return l.part(ctx, s, l.unit(lo, hi), tick)
}

func (l *List) part(ctx context.Context, s *work.Store, u *work.Unit, tick func(done, of uint64)) (*Part,
	work.Status, error) {
	t, err := read(u)
	if err != nil {
		return nil, work.Status{}, err
	}
	p := &Part{Dir: filepath.Join(s.Dir, u.Name), Unit: u, Range: t.Range}
	claim, before, err := s.Claim(u, true, func() error { return nil })
	if err != nil {
		return nil, before, err
	}
	if claim == nil {
		if before.Version != "" {
			return nil, before, refuse("%s is of version %s of the program, this is %s, which may give other bytes; "+
				"expected the same", p.Dir, before.Version, u.Version)
		}
		if err = p.done(before); err == nil { // and whole
			err = p.each(func([]float64, uint64) bool { return true })
		}
		return p, before, err
	}
	if err := l.make(ctx, p, tick); err != nil {
		claim.Release()
		return nil, before, err
	}
	return p, before, claim.Finish(p.Result)
}

// done takes what a part has left from its status.
func (p *Part) done(of work.Status) error {
	err := json.Unmarshal(of.Result, &p.Result)
	if d := p.Result.Detail; err == nil && (d.Dim < 1 || d.Dim > mostDim || d.Failed > p.Range.Count ||
		len(p.Result.Files) != 1 || p.Result.Files[0].Name != RowsFile) {
		err = errors.New("it is not one of samples")
	}
	if err != nil {
		return work.Damaged(p.Dir, "%v", err)
	}
	return nil
}

// blockNumbers is how many numbers of samples are drawn at a time: 16 MB of them.
const blockNumbers = 1 << 21

// make draws the samples of a part to its file, whole or not at all.
func (l *List) make(ctx context.Context, p *Part, tick func(done, of uint64)) error {
	start, told, count := time.Now(), uint64(0), p.Range.Count
	tell := func(done uint64) { // each number once
		if done > told && tick != nil {
			tick(done, count)
		}
		told = max(told, done)
	}
	d := l.run.Process.Set.Dim()
	detail := &Drawn{Dim: d}
	draw, err := l.begin(ctx, count, detail)
	if err != nil {
		return err
	}
	var failed error
	rows := arrayfile.Rows{N: int(count), D: d, Blocks: func(yield func([]float64) bool) {
		block := make([]float64, int(min(count, uint64(max(blockNumbers/d, 1))))*d)
		for done := uint64(0); done < count; {
			x := block[:min(uint64(len(block)), (count-done)*uint64(d))]
			failed = draw(x, p.Range.First+done, func(k int) { tell(done + uint64(k)) })
			if failed != nil || !yield(x) {
				return
			}
			done += uint64(len(x) / d)
			tell(done)
		}
	}}
	h := newHash()
	err = run.WriteStream(filepath.Join(p.Dir, RowsFile), true, func(w io.Writer) error {
		if err := arrayfile.EncodeNPYRows(io.MultiWriter(w, h), []int{rows.N, d}, rows); failed == nil {
			return err
		}
		return failed // and so what the writer misses is no news
	})
	p.Result = Result{Files: []File{{RowsFile, h.n, h.sum()}}, Kernel: kernel.Name(), Arch: kernel.Arch(),
		Products: run.ThisMachine().Products[l.run.Problem.Train.Precision], Seconds: time.Since(start).Seconds(),
		Inputs: l.inputs, Detail: *detail}
	if failed != nil { // which no file is to blame for
		return failed
	}
	return err
}

// sha is a SHA-256 that counts.
type sha struct {
	hash.Hash
	n int64
}

func newHash() *sha { return &sha{Hash: sha256.New()} }

func (s *sha) Write(b []byte) (int, error) {
	s.n += int64(len(b))
	return s.Hash.Write(b)
}

func (s *sha) sum() string { return hex.EncodeToString(s.Sum(nil)) }

// GenerateOptions say which samples of a run are made, as the flags of landing generate do.
type GenerateOptions struct {
	Checkpoint string   // empty: the one that held-out distances chose, or the newest
	Settings   []string // key=value, of keys that take no training
	Seed       *uint64  // nil: the run's
	First      uint64   // number of the first sample
	Count      uint64   // samples, or under conditions, samples of each

	Condition   string // name=value,… or a file
	Start, Goal string // of an arm
	Given       string // a file of constraints and observations (docs/given.md); of Once alone

	Diagnose bool                          // tell how far states are from the set at every step; of Once alone
	Say      func(format string, v ...any) // called with remarks on the run and on the request; nil: nobody
}

// A generation is what parts of a generation share.
type generation struct {
	Checkpoint string   `json:"checkpoint"`
	Seed       uint64   `json:"seed"`
	Settings   []string `json:"settings,omitempty"`
	Data       bool     `json:"data,omitempty"` // the data is among the inputs, since generation looks at it

	Condition string `json:"condition,omitempty"` // name=value,…; in a file it is an input
	Start     string `json:"start,omitempty"`
	Goal      string `json:"goal,omitempty"`
	Each      uint64 `json:"each,omitempty"`  // samples under each condition
	Given     bool   `json:"given,omitempty"` // constraints and observations are among the inputs
}

// maxNumbers bounds the numbers of all rows of a list: 800 GB.
const maxNumbers = 100_000_000_000

// Generation returns the samples of a run as a list, after all that can be refused has been. Errors are those of
// experiment.OpenToDraw and what follows it, and one of usage.
func Generation(ctx context.Context, r *experiment.Run, o GenerateOptions) (*List, error) {
	g := generation{Seed: r.Problem.Seed, Settings: o.Settings, Condition: o.Condition, Start: o.Start, Goal: o.Goal}
	if o.Seed != nil {
		g.Seed = *o.Seed
	}
	drawn, err := r.Redraw(ctx, problem.ParseSettings(o.Settings...))
	if err != nil {
		return nil, err
	}
	rows := uint64(1)
	conditions := ""
	if o.Condition != "" && !strings.Contains(o.Condition, "=") {
		conditions, g.Condition = o.Condition, ""
	}
	say := o.Say
	if say == nil {
		say = func(string, ...any) {}
	}
	asked, err := g.asked(drawn, conditions)
	if err != nil {
		return nil, err
	}
	if asked != nil && asked.Warning != "" {
		say("warning: %s", asked.Warning)
	}
	if asked != nil {
		rows, g.Each = uint64(len(asked.Rows)/len(drawn.Condition.Names)), o.Count
	}
	most := uint64(maxNumbers / r.Process.Set.Dim())
	if o.Count < 1 || o.Count > most/max(rows, 1) || o.First > math.MaxUint64-o.Count*rows {
		return nil, fault.Errorf(fault.Usage, "", "%d samples from number %d on; expected 1 to %d of %d numbers in "+
			"all (%.0e bytes), whose numbers fit in 64 bits; --first continues another call", o.Count, o.First, most,
			r.Process.Set.Dim(), 8.0*maxNumbers)
	}
	trained, err := r.Trained(o.Checkpoint)
	if err != nil {
		return nil, err
	}
	if m, _ := r.Folder.Manifest(); o.Checkpoint == "" && m.Weights != nil {
		say("weights: of epoch %d, checkpoint %s: %s", m.Weights.Epoch, m.Weights.Checkpoint, m.Weights.Reason)
	}
	for _, says := range experiment.Standing(r, trained) {
		say("%s", says)
	}
	g.Checkpoint = run.CheckpointName(trained.State.Updates)
	g.Data = drawn.NeedsData()
	d := &drawer{run: drawn, trained: trained, asked: asked, each: int(g.Each), seed: g.Seed,
		diagnose: o.Diagnose}
	l := &List{From: o.First, Count: o.Count * rows, run: drawn, begin: d.begin, inputs: Inputs{},
		hashes: map[string]string{}}
	names := run.CheckpointFiles(g.Checkpoint)
	if o.Given != "" {
		if d.given, err = given(l, o.Given, rows, drawn); err != nil {
			return nil, err
		}
		g.Given = true
	}
	for _, name := range []string{run.ConditionFile, run.PriorFile, run.EndsFile} {
		if _, err := os.Stat(drawn.Folder.Path(name)); err == nil {
			names = append(names, name)
		}
	}
	if err := l.reads(names, g.Data); err != nil {
		return nil, err
	}
	if conditions != "" {
		hash, err := run.HashFile(conditions)
		if err != nil {
			return nil, err
		}
		l.input("condition"+strings.ToLower(filepath.Ext(conditions)), conditions, hash)
	}
	l.of = g
	return l, nil
}

// given reads constraints and observations from a file, which becomes an input of the list.
func given(l *List, path string, rows uint64, r *experiment.Run) (*experiment.Given, error) {
	if rows > 1 {
		return nil, fault.Errorf(fault.Usage, "", "%d rows of a condition, and a file of constraints: expected one "+
			"row a call", rows)
	}
	text, err := input.Read(path, mostGiven)
	if err != nil {
		return nil, err
	}
	l.input("given.yaml", path, run.Hash(text))
	return r.Given(text, path)
}

// mostGiven bounds a file of constraints, as a problem file is bounded.
const mostGiven = 1 << 20

// input adds a file to the list's inputs.
func (l *List) input(name, path, hash string) { l.inputs[name], l.hashes[name] = path, hash }

// reads adds what every part reads of the run's folder to the inputs, and files of other names, and the data file where
// it is needed.
func (l *List) reads(names []string, data bool) error {
	r := l.run
	m, err := r.Folder.Manifest()
	if err != nil {
		return err
	}
	names = slices.AppendSeq(append(names, run.ConfigFile, run.ManifestFile), maps.Values(m.Kept))
	slices.Sort(names)
	for _, name := range names {
		hash, err := run.HashFile(r.Folder.Path(name))
		if err != nil {
			return err
		}
		l.input(inRun+name, r.Folder.Path(name), hash)
	}
	if path := r.Problem.Data.Path; data {
		l.input("data"+strings.ToLower(filepath.Ext(path)), path, m.Data.SHA256)
	}
	return nil
}

// inRun begins the names of inputs in the run's folder.
const inRun = "run/"

// asked returns the conditions for samples; nil without any. given is a file of them.
func (g *generation) asked(r *experiment.Run, given string) (*experiment.Conditions, error) {
	switch {
	case given != "":
		return r.Conditions(given)
	case g.Start != "" || g.Goal != "":
		return r.Between(g.Start, g.Goal)
	case g.Condition != "":
		return r.Conditions(g.Condition)
	case r.Condition != nil:
		return nil, fault.Errorf(fault.Config, "", "the run has a condition: expected --condition with values of %s, "+
			"or a file with a row for each (of an arm also --start and --goal)", strings.Join(r.Condition.Names, ", "))
	}
	return nil, nil
}

// A drawer is a run that is ready to draw.
type drawer struct {
	run     *experiment.Run
	trained *experiment.Trained
	asked   *experiment.Conditions // nil without any
	each    int                    // samples under each
	seed    uint64
	prior   *experiment.Prior // nil until it is needed

	given *experiment.Given // nil without one

	diagnose bool
}

// Drawn is what a part tells besides its samples.
type Drawn struct {
	Dim        int     `json:"dim"`
	Failed     uint64  `json:"failed"` // samples that are NaN in the part, and in no file
	Wrong      int     `json:"wrong_component"`
	Begun      int     `json:"unreachable"`
	Broken     int     `json:"broken"`
	Break      string  `json:"break,omitempty"` // the first of them
	Components []Worst `json:"violation"`       // how far samples are from Σ, by component
	Infeasible *Worst  `json:"infeasible,omitempty"`
	Epoch      int     `json:"epoch"`   // of the network
	Seconds    float64 `json:"seconds"` // that drawing took

	Steps    *judge.Steps    `json:"steps,omitempty"`    // of GenerateOptions.Diagnose
	Finished *judge.Finished `json:"finished,omitempty"` // of motions

	Given *experiment.GivenReport `json:"given,omitempty"`
}

// Worst is the violation of a component by the sample that violates it most.
type Worst struct {
	Component string       `json:"name"`
	Worst     metric.Float `json:"worst"`
	Sample    uint64       `json:"worst_sample"` // its number
	Limit     float64      `json:"limit,omitempty"`
	Key       string       `json:"key,omitempty"` // of the limit
}

// begin is List.begin.
func (d *drawer) begin(ctx context.Context, count uint64, out *Drawn) (fill, error) {
	if d.prior == nil { // it may take chains
		prior, err := d.run.Prior(ctx, nil)
		if err != nil {
			return nil, err
		}
		if d.prior = prior; d.asked != nil {
			d.prior = prior.Under(d.asked.Rows, d.each)
		}
	}
	out.Epoch = d.trained.State.Epoch
	if d.given != nil {
		return d.under(ctx, count, out)
	}
	drawer := experiment.NewDrawer(d.run.Loaded, d.trained, int(min(count, math.MaxInt32)))
	drawer.Finish(true)
	if d.diagnose {
		drawer.Diagnose()
	}
	return func(x []float64, first uint64, tick func(k int)) error {
		s, err := drawer.Draw(ctx, d.prior, len(x)/out.Dim, first, d.seed, tick)
		if err != nil {
			return err
		}
		out.add(d.run, s, first)
		copy(x, s.X)
		return nil
	}, nil
}

// under is begin of samples under constraints that training did not know.
func (d *drawer) under(ctx context.Context, count uint64, out *Drawn) (fill, error) {
	var drawer *experiment.GivenDrawer
	judged := d.given.Judged()
	return func(x []float64, first uint64, tick func(k int)) (err error) {
		start := time.Now()
		if drawer == nil {
			drawer, err = d.given.NewDrawer(ctx, d.trained, d.prior, int(min(count, math.MaxInt32)), first, d.seed)
			if err != nil {
				return err
			}
			out.Given = &drawer.Report
		}
		s, err := drawer.Draw(ctx, x, tick)
		if err != nil {
			return err
		}
		s.Time = time.Since(start)
		out.add(judged, s, first)
		return nil
	}, nil
}

// add takes account of the samples from number first on, and makes those that failed NaN.
func (o *Drawn) add(r *experiment.Run, s *judge.Samples, first uint64) {
	d := Drawn{Dim: o.Dim, Epoch: o.Epoch, Failed: uint64(s.Failed()), Wrong: s.Wrong, Begun: s.Begun, Broken: s.Broken,
		Seconds: s.Time.Seconds(), Steps: s.Steps, Finished: s.Finished}
	if s.Break != nil {
		d.Break = s.Break.Error()
	}
	components, violated := judge.CheckViolation(r.Process.Set, s, r.Reference().Limit())
	for _, c := range components {
		d.Components = append(d.Components, Worst{Component: c.Component, Worst: c.Worst,
			Sample: first + uint64(c.WorstSample)})
	}
	var v *judge.ViolationError
	if errors.As(violated, &v) {
		d.Infeasible = &Worst{v.Component, metric.Float(v.Worst), first + v.Sample, v.Limit, v.Key}
	}
	o.join(&d)
	for i, lost := range s.Lost {
		if lost {
			for k := range s.Dim {
				s.X[i*s.Dim+k] = math.NaN()
			}
		}
	}
}

// Worst is the largest violation of any component; NaN where there is no sample.
func (o *Drawn) Worst() (worst metric.Float) {
	if len(o.Components) == 0 {
		return metric.NaN
	}
	for _, c := range o.Components {
		worst = max(worst, c.Worst)
	}
	return worst
}

// join takes account of another part's samples, behind those of o.
func (o *Drawn) join(d *Drawn) {
	o.Dim, o.Epoch = d.Dim, d.Epoch
	o.Failed += d.Failed
	o.Wrong, o.Begun, o.Broken = o.Wrong+d.Wrong, o.Begun+d.Begun, o.Broken+d.Broken
	o.Seconds, o.Steps, o.Finished = o.Seconds+d.Seconds, d.Steps, o.Finished.Add(d.Finished)
	o.Break, o.Given = cmp.Or(o.Break, d.Break), cmp.Or(o.Given, d.Given)
	for k, c := range d.Components {
		if k >= len(o.Components) {
			o.Components = append(o.Components, c)
		} else if c.Worst > o.Components[k].Worst {
			o.Components[k] = c
		}
	}
	if d.Infeasible != nil && (o.Infeasible == nil || o.Infeasible.Worst < d.Infeasible.Worst) {
		o.Infeasible = d.Infeasible
	}
}

// verdict is what generation says of samples as a whole: that too many failed, or that one is not on the set.
func (o *Drawn) verdict(r *experiment.Run, all Range) error {
	errs := []error{o.Given.Err()}
	if limit := r.Problem.Generate.MaxFailed; float64(o.Failed) > limit*float64(all.Total) {
		failed := &judge.FailedError{Failed: int(o.Failed), Samples: int(all.Total), Limit: limit, Wrong: o.Wrong,
			Begun: o.Begun, Broken: o.Broken, Finished: o.Finished}
		if o.Break != "" {
			failed.Break = errors.New(o.Break)
		}
		errs = append(errs, failed)
	}
	if v := o.Infeasible; v != nil {
		errs = append(errs, &judge.ViolationError{Component: v.Component, Sample: v.Sample - all.From,
			Worst: float64(v.Worst), Limit: v.Limit, Key: v.Key})
	}
	return errors.Join(errs...)
}
