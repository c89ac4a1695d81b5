package experiment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Generate makes the samples first … first+n−1 of the given seed. tick, if not nil, gets how many are done. Samples
// that fail are kept and marked; a share above generate.max_failed is a *FailedError, returned beside the samples.
func (l *Loaded) Generate(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64,
	tick func(done int)) (*judge.Samples, error) {
	d := NewDrawer(l, t, n)
	d.Finish(true)
	s, err := d.Draw(ctx, prior, n, first, seed, tick)
	if err != nil {
		return nil, err
	}
	return s, s.CheckFailed(l.Problem.Generate.MaxFailed)
}

const (
	generateRows  = 128  // points in a block at most
	generateChunk = 4096 // samples between ticks
	finishedChunk = 256  // the same, of samples that are finished: motions take milliseconds each
)

// blockRows returns how many of n samples to draw at a time: for every worker as many
// blocks, of about one size, so that none waits for the others.
func blockRows(l *Loaded, n int) int {
	n, workers := min(n, generateChunk), l.Pool.Workers()
	blocks := workers * parallel.Blocks(parallel.Blocks(n, generateRows), workers)
	return max(1, parallel.Blocks(n, blocks))
}

// Fields returns the scores of a network, one for each goroutine, in blocks of `rows` rows. They are for drawing
// samples.
func Fields(l *Loaded, t *Trained, rows, goroutines int) []*score.Field[float32] {
	return score.NewGuided(t.Model, t.packed(), rows, goroutines, l.Problem.Generate.Guidance)
}

// A Drawer draws samples in blocks, and keeps the room for that between calls. One goroutine uses it at a time.
type Drawer struct {
	l       *Loaded
	sampler method.Sampler
	scores  func(worker int) method.Score
	fields  []*score.Field[float32] // behind scores; nil where they are the caller's
	trace   *method.Trace           // of Diagnose
	finish  []domain.Finisher       // of each worker, of Finish

	finishes bool // samples are made such that they can be used
}

// NewDrawer makes a Drawer by a trained network, for calls of about n samples.
func NewDrawer(l *Loaded, t *Trained, n int) *Drawer {
	rows := blockRows(l, n)
	fields := Fields(l, t, rows, l.Pool.Workers())
	d := NewDrawerBy(l, rows, func(worker int) method.Score { return fields[worker] })
	d.fields = fields
	return d
}

// NewDrawerBy makes a Drawer with the given scores, one for each worker of the pool, and `rows` rows a block.
func NewDrawerBy(l *Loaded, rows int, scores func(worker int) method.Score) *Drawer {
	return &Drawer{l: l, sampler: l.Method.Sampler(rows, l.Pool), scores: scores}
}

// Diagnose has samples that are drawn from now on come with Samples.Steps, of this and all earlier calls, of methods
// that tell of them.
func (dr *Drawer) Diagnose() {
	dr.trace = dr.sampler.NewTrace()
	dr.sampler.Watch(dr.trace)
}

// Finish says whether samples that are drawn from now on are made such that they can be used, where their kind knows
// how (domain.Finisher) and generate.repair does not say none.
func (dr *Drawer) Finish(on bool) {
	dr.finishes = on && dr.l.Domain.Finish != nil && dr.l.Problem.Generate.Repair != "none"
	if dr.finishes && dr.finish == nil {
		dr.finish = make([]domain.Finisher, dr.l.Pool.Workers())
	}
}

// Draw makes the samples first … first+n−1 of the given seed, those that fail among them. tick, if not nil,
// hears how many are done.
func (dr *Drawer) Draw(ctx context.Context, prior *Prior, n int, first, seed uint64, tick func(done int)) (
	*judge.Samples, error) {
	start, l := time.Now(), dr.l
	d := l.Process.Set.Dim()
	s := &judge.Samples{X: make([]float64, n*d), Dim: d, Lost: make([]bool, n)}
	for _, f := range dr.fields {
		s.Evaluated -= f.Rows()
	}
	chunk := generateChunk
	if dr.finishes {
		chunk = finishedChunk
	}
	for lo := 0; lo < n; lo += chunk {
		hi := min(n, lo+chunk)
		report, begun, err := dr.block(ctx, prior, s.X[lo*d:hi*d], s.Lost[lo:hi], first+uint64(lo), seed)
		if err != nil {
			return nil, err
		}
		s.Begun += begun
		if s.Broken += report.Broken; s.Break == nil {
			s.Break = report.Break
		}
		s.Newton += report.Iterations
		s.Bounces.Add(report.Bounces)
		s.Programs.Add(report.Programs)
		s.Reject(l.Process.Set, lo, hi)
		if err := dr.finished(ctx, prior, s, lo, hi, first, seed); err != nil {
			return nil, err
		}
		if tick != nil {
			tick(hi)
		}
	}
	s.Time = time.Since(start)
	for _, f := range dr.fields {
		s.Evaluated += f.Rows()
	}
	if dr.trace != nil {
		s.Steps = judge.StepsOf(l.Process, dr.trace)
	}
	return s, nil
}

// block draws samples of numbers from first on. Those that could not begin are lost, and counted.
func (dr *Drawer) block(ctx context.Context, prior *Prior, x []float64, lost []bool, first, seed uint64) (
	report method.Report, begun int, err error) {
	begin := prior.Prior
	unstarted := make([]bool, len(lost))
	if dr.l.Condition != nil {
		states, n := dr.l.starts(prior, unstarted, first, seed)
		begin, begun = numbered{states, first}, n
	}
	report, err = dr.sampler.Generate(ctx, x, lost, first, seed, begin, dr.scores)
	for i, not := range unstarted {
		lost[i] = lost[i] || not
	}
	return report, begun, err
}

// redraws is how often a sample that cannot be used is drawn again: the one of its number and another seed
// (keyed.Round).
const redraws = 8

// finished makes the samples lo … hi−1 such that they can be used, draws those again that cannot, and marks what is
// left as lost.
func (dr *Drawer) finished(ctx context.Context, prior *Prior, s *judge.Samples, lo, hi int, first, seed uint64) error {
	if !dr.finishes {
		return nil
	}
	d, out := s.Dim, make([]domain.Finished, hi-lo)
	try := func(worker, i int, seed uint64) {
		if dr.finish[worker] == nil {
			dr.finish[worker] = dr.l.Domain.Finish()
		}
		row, f := s.X[i*d:(i+1)*d], &out[i-lo]
		*f = dr.finish[worker](ctx, row, seed, first+uint64(i))
		if v := judge.Largest(judge.Violations(dr.l.Process.Set, row)); f.Fault == "" && v.Worst > maxFinished {
			f.Fault = fmt.Sprintf("it violates %q by %.3g after the repair", v.Component, v.Worst)
		}
	}
	dr.l.Pool.Do(hi-lo, func(worker, k int) {
		if !s.Lost[lo+k] && ctx.Err() == nil {
			try(worker, lo+k, seed)
		}
	})
	all := judge.Finished{Replaced: []uint64{}}
	for i := lo; i < hi && ctx.Err() == nil; i++ {
		f, again, lost := &out[i-lo], 0, []bool{false}
		for f.Fault != "" && again < redraws {
			again++
			other := keyed.Round(seed, again)
			if _, _, err := dr.block(ctx, prior, s.X[i*d:(i+1)*d], lost, first+uint64(i), other); err != nil {
				return err
			}
			if !lost[0] {
				try(0, i, other)
			}
		}
		switch {
		case f.Fault != "":
			s.Lost[i], all.Fault = true, cmp.Or(all.Fault, f.Fault)
			all.Unfit++
			continue
		case again > 0:
			all.Replaced = append(all.Replaced, first+uint64(i))
		case f.Changed:
			all.Repaired++
		}
		all.Off = max(all.Off, metric.Float(f.Off))
	}
	s.Finished = s.Finished.Add(&all)
	return ctx.Err()
}

// maxFinished is the largest violation of a sample that was made such that it can be used.
const maxFinished = 1e-9

// SaveSamples writes the samples 0, 1, … of a seed and of a network in a state, those
// that did not fail, to samples.npy in the run folder (Out), and their record beside it.
func (r *Run) SaveSamples(s *judge.Samples, state train.State, seed uint64) error {
	var b bytes.Buffer
	if err := r.Domain.Writer(".npy")(&b, arrayfile.RowsOf(s.Good(), s.Dim)); err != nil {
		return err
	}
	name := r.Out(run.SamplesFile)
	if err := r.Folder.Renew(name, b.Bytes()); err != nil {
		return err
	}
	return r.Folder.ReplaceJSON(RecordName(name), r.Record(s, state, 0, seed, b.Bytes()))
}

// A Record says of a file of samples how they were drawn. It lies beside the file, under RecordName.
type Record struct {
	SHA256  string          `json:"sha256"`        // of the file
	Version string          `json:"version"`       // of the program
	Run     string          `json:"run"`           // folder
	Config  string          `json:"config_sha256"` // of its config.yaml
	Epoch   int             `json:"epoch"`         // of the network
	Drawn   []problem.Drawn `json:"drawn_by"`      // keys of generation that were set
	Under   *Asked          `json:"condition,omitempty"`
	Seed    uint64          `json:"seed"`
	First   uint64          `json:"first"`            // number of the first sample
	Samples int             `json:"samples"`          // asked for
	Failed  []uint64        `json:"failed_samples"`   // numbers of those that are not in the file
	Wrong   int             `json:"wrong_component"`  // of them
	Broken  int             `json:"broken,omitempty"` // of them, whose simulation broke down
	Seconds float64         `json:"seconds"`          // of generation
	Steps   *judge.Steps    `json:"steps,omitempty"`  // of Diagnose

	Finished *judge.Finished `json:"finished,omitempty"` // of motions, repaired and replaced
	Given    *GivenReport    `json:"given,omitempty"`    // constraints and observations that training did not know
}

// Asked is the conditions that samples were drawn under: Rows of them, by names or from a
// file as they were given, Each samples a row.
type Asked struct {
	Names []string `json:"names"`
	Given string   `json:"given"`
	Rows  int      `json:"rows"`
	Each  int      `json:"each"`
}

// Settings returns what Run.Redraw takes to draw as the samples were.
func (rec *Record) Settings() []string {
	var out []string
	for _, s := range rec.Drawn {
		if s.Value != nil {
			out = append(out, s.String())
		}
	}
	return out
}

// RecordName returns the name of the record of a file of samples.
func RecordName(file string) string { return file + ".json" }

// Record returns the record of samples that are written as file.
func (r *Run) Record(s *judge.Samples, state train.State, first, seed uint64, file []byte) *Record {
	rec := &Record{SHA256: run.Hash(file), Version: run.Version(), Run: r.Folder.Dir, Config: r.Config,
		Epoch: state.Epoch, Drawn: append([]problem.Drawn{}, r.Drawn...), Seed: seed, First: first, Samples: s.N(),
		Failed: []uint64{}, Wrong: s.Wrong, Broken: s.Broken, Seconds: s.Time.Seconds(), Steps: s.Steps,
		Finished: s.Finished}
	for i, lost := range s.Lost {
		if lost {
			rec.Failed = append(rec.Failed, first+uint64(i))
		}
	}
	return rec
}

// maxRecord bounds a record in bytes. The numbers of failed samples are its largest part.
const maxRecord = 1 << 28

// ReadRecord reads the record of a file of samples; nil if there is none. It need not be of this file: Samples says.
func ReadRecord(file string) (*Record, error) {
	name := RecordName(file)
	data, err := input.Read(name, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec := &Record{}
	if err := json.Unmarshal(data, rec); err != nil || rec.SHA256 == "" {
		return nil, badData(name, "is no record of samples, which landing generate writes beside them")
	}
	return rec, nil
}

// ReadSamples reads samples that Generate made and a file holds, and their record; nil if
// there is none. The samples that failed are marked, and nothing else is known of them.
func (r *Run) ReadSamples(file string) (*judge.Samples, *Record, error) {
	d, kind, names := r.Process.Set.Dim(), domain.Kind{Read: dataset.ReadPoints}, r.Problem.Condition.Columns
	_, internal := constraint.As[*conformation.Internal](r.Process.Set) // its arrays hold positions
	ext, molecule := strings.ToLower(filepath.Ext(file)), r.Problem.Data.Kind == molecules.Kind.Data
	if ext != ".parquet" && (ext != ".npy" || internal) && (ext != ".csv" || !molecule) { // the domain's own files
		of, _ := kinds.Of(r.Problem.Data.Kind, withoutCondition(r.Process.Set, names))
		at := slices.IndexFunc(kinds.All, func(k domain.Kind) bool { return k.Name == of.Name && !k.Bundled })
		kind = kinds.All[at] // the data itself may be in the binary
	} else {
		names = nil // a column each, as the set has them
	}
	points, err := readPoints(kind, r.Process.Set, file, names, "")
	if err != nil {
		return nil, nil, err
	}
	if points.D != d || points.N < 1 {
		return nil, nil, badData(file, "has %d points of %d coordinates; expected points of %d", points.N, points.D, d)
	}
	rec, err := ReadRecord(file)
	if err != nil {
		return nil, nil, err
	}
	s := &judge.Samples{X: points.X, Dim: d, Lost: make([]bool, points.N)}
	if rec == nil {
		s.Reject(r.Process.Set, 0, points.N)
		return s, nil, nil
	}
	switch {
	case rec.SHA256 != points.SHA256:
		return nil, nil, badData(file, "is not the file that %s describes: its SHA-256 is %.12s…, "+
			"expected %.12s…", RecordName(file), points.SHA256, rec.SHA256)
	case rec.Config != r.Config:
		return nil, nil, badData(file, "holds samples of another run, %s", rec.Run)
	case rec.Samples < 0 || rec.Samples != points.N+len(rec.Failed):
		return nil, nil, badData(RecordName(file), "says that %d of %d samples failed; the file has %d",
			len(rec.Failed), rec.Samples, points.N)
	}
	all := &judge.Samples{X: make([]float64, rec.Samples*d), Dim: d, Lost: make([]bool, rec.Samples), Wrong: rec.Wrong,
		Broken: rec.Broken, Steps: rec.Steps}
	for _, number := range rec.Failed {
		if number < rec.First || number-rec.First >= uint64(rec.Samples) || all.Lost[number-rec.First] {
			return nil, nil, badData(RecordName(file), "says that sample %d failed; expected each "+
				"once, from %d on", number, rec.First)
		}
		i := int(number - rec.First)
		all.Lost[i] = true
		for j := range d {
			all.X[i*d+j] = math.NaN()
		}
	}
	next := 0
	for i, lost := range all.Lost {
		if !lost {
			copy(all.X[i*d:(i+1)*d], s.X[next*d:(next+1)*d])
			next++
		}
	}
	return all, rec, nil
}

// pathsAtOnce is how many forward paths are simulated between two reports of progress.
const pathsAtOnce = 1 << 14

// Forward simulates n forward paths of the process that a run was trained on, from its training rows (langevin.Starts).
// It returns the states x_k (rows of d numbers, 0 ≤ k ≤ N) of the paths that did not fail a projection or break down,
// and the numbers of those that did. Path i is a function of the seed, n and i; with the run's seed its end is that of
// an empirical prior of n states. The error is a *problem.KeyError where the method noises points by no process of
// package langevin.
func (r *Run) Forward(ctx context.Context, n, k int, seed uint64, tick func(done, of int)) (
	states []float64, failed []uint64, err error) {
	proc := r.Method.Capabilities().Noising
	if proc == nil {
		return nil, nil, &problem.KeyError{Key: problem.KeyProcessMethod, Value: r.Problem.Process.Method,
			Want: "a method that noises points step by step, such as ULLA"}
	}
	d, refresh := proc.Set.Dim(), keyed.PriorPaths.At(0)
	states = langevin.Starts(r.Learned, d, n)
	if k == 0 {
		return states, nil, nil
	}
	sim := langevin.NewSimulator(proc, r.Pool, generateRows).Tolerate()
	x, lost, kept := make([]float64, pathsAtOnce*d), make([]bool, pathsAtOnce), states[:0]
	for first := 0; first < n; first += pathsAtOnce {
		m := min(pathsAtOnce, n-first)
		if _, err := sim.Partway(ctx, x[:m*d], lost[:m], states[first*d:(first+m)*d], []int{k}, uint64(first),
			keyed.PathNoise.Stream(seed, refresh), keyed.PathMomentum.Stream(seed, refresh)); err != nil {
			return nil, nil, err
		}
		for i := range m {
			if lost[i] {
				failed = append(failed, uint64(first+i))
			} else {
				kept = append(kept, x[i*d:(i+1)*d]...)
			}
		}
		tick(first+m, n)
	}
	return kept, failed, nil
}
