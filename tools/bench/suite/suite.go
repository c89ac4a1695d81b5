// Package suite trains the problems of tools/bench/problems as a new user would, with data and set
// alone and a time for each, and says in words how good the samples are.
package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/bench/problems"
)

// Config says how to measure.
type Config struct {
	Out      string        // folder of the files and runs, by problem
	For      time.Duration // budget of each training, reading the data included
	Seed     uint64        // of data and training, above 0
	Settings []string      // other keys than data and set, of all problems
	Command  []string      // for the manifests
	Pool     *parallel.Pool
}

const (
	most       = 20_000 // samples that are judged
	testPoints = 1000   // of them in the energy distance, as in an evaluation
	relabelled = 199    // relabellings behind the floor of draws of the law
)

// Files of a problem, and its run folder.
const (
	problemFile  = "problem.yaml"
	observedFile = "observed.yaml"
	runDir       = "run"
)

// Result is one problem's row of the table.
type Result struct {
	Problem string `json:"problem"`
	Dim     int    `json:"dim"`
	Rows    int    `json:"rows"`
	Folder  string `json:"folder"`

	Epochs    int              `json:"epochs"`         // of the weights
	Trained   int              `json:"trained_epochs"` // in all
	Samples   int              `json:"samples"`
	Failed    int              `json:"failed"`     // lost to a projection or on a wrong component
	Violation metric.Float     `json:"violation"`  // the worst
	Energy    metric.TwoSample `json:"energy"`     // of samples to held-out rows; under a condition of pairs with it
	EnergyLaw metric.TwoSample `json:"energy_law"` // of as many new draws of the law itself
	Observed  Distance         `json:"observed"`   // the mean over observables
	Numbers   []Distance       `json:"observables"`
	Start     string           `json:"start"`         // the law that generation begins with
	StartP    metric.Float     `json:"start_p_value"` // of where forward paths end; null of an empirical law
	Nearest   metric.Copies    `json:"nearest"`
	Seconds   Seconds          `json:"seconds"`

	Error   string           `json:"error,omitempty"`  // why there are no samples, or that they are not feasible
	Judged  *verdict.Verdict `json:"judged,omitempty"` // of the run's samples, by the problem's observables
	Verdict string           `json:"verdict"`          // in words
	Passed  Passed           `json:"passed"`
}

// A Distance is the Jensen–Shannon distance of samples to all data in an observable.
type Distance struct {
	Name  string       `json:"name,omitempty"`
	Value metric.Float `json:"distance"`
	metric.Floor
	Law metric.Float `json:"law"` // what as many new draws of the law itself score
}

// Times returns the distance over its floor.
func (d Distance) Times() float64 { return float64(d.Value / d.Mean) }

// Seconds of wall time, but for CPU.
type Seconds struct {
	Data     float64 `json:"data"` // making it, and draws of the law beside
	Train    float64 `json:"train"`
	CPU      float64 `json:"train_cpu"` // processor time of it: less than the cores give on a busy machine
	Generate float64 `json:"generate"`
	All      float64 `json:"all"`
}

// Write makes a problem's folder, out/NAME, with its data, its problem file and the same with
// observables. Nothing is written over: the error is a *run.ExistsError where something is.
func (c *Config) Write(ctx context.Context, p *problems.Problem) (dir string, x []float64, err error) {
	f, err := run.Create(filepath.Join(c.Out, p.Name), false)
	if err != nil {
		return "", nil, err
	}
	if x, err = p.Draw(ctx, c.Pool, c.Seed, 0, p.Rows); err != nil {
		return f.Dir, nil, err
	}
	data, err := p.Data(x)
	if err != nil {
		return f.Dir, nil, err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{p.DataFile(), data}, {problemFile, p.Source()}, {observedFile, p.Observed()}} {
		if err := run.WriteFile(f.Path(file.name), file.data, false); err != nil {
			return f.Dir, nil, err
		}
	}
	return f.Dir, x, nil
}

// Measure makes a problem, trains it and judges samples. What goes wrong with the problem is
// a part of the result; the error is that of the context, or of files that cannot be written.
func (c *Config) Measure(ctx context.Context, p *problems.Problem, progress func(said string)) (*Result, error) {
	start := time.Now()
	none := metric.Floor{Mean: metric.NaN, SD: metric.NaN}
	r := &Result{Problem: p.Name, Dim: p.Dim, Rows: p.Rows, Violation: metric.NaN, Energy: metric.NoTest(),
		Observed: Distance{Value: metric.NaN, Floor: none, Law: metric.NaN}, StartP: metric.NaN,
		EnergyLaw: metric.NoTest(), Nearest: metric.NoCopies()}
	dir, x, err := c.Write(ctx, p)
	r.Folder, r.Seconds.Data = dir, time.Since(start).Seconds()
	switch {
	case errors.As(err, new(*problems.MixingError)):
	case err != nil:
		return nil, err
	default:
		err = c.measure(ctx, p, x, r, progress)
	}
	if err != nil {
		if ctx.Err() != nil || fault.KindOf(err) == fault.Run {
			return nil, err
		}
		r.Error = err.Error()
	}
	r.Seconds.All = time.Since(start).Seconds()
	r.judge()
	return r, nil
}

// measure fills in a result; x is the problem's data.
func (c *Config) measure(ctx context.Context, p *problems.Problem, x []float64, r *Result,
	progress func(string)) error {
	t, err := c.train(ctx, p, r, progress)
	if err != nil {
		return err
	}
	defer t.run.Folder.Unlock()
	prior, err := t.run.Prior(ctx, nil)
	if err != nil {
		return err
	}
	n := min(t.run.SampleCount(), most)
	s, failed := t.run.Generate(ctx, t.net, prior, n, 0, c.Seed, func(done int) {
		progress(fmt.Sprintf("generated %d of %d", done, n))
	})
	if s == nil {
		return failed
	}
	begun, err := t.run.CompareStart(ctx, prior, n)
	if err != nil {
		return err
	}
	v, violated := t.run.Evaluate(ctx, s, t.net.State, begun)
	r.Samples, r.Failed, r.Violation = v.Samples, v.Failed, v.Violation.Worst
	r.Energy, r.Nearest, r.Start, r.StartP = v.TwoSample, v.Nearest, begun.Prior, begun.PValue
	if v.Given != nil {
		r.Energy = v.Given.Pairs
	}
	r.Seconds.Generate, r.Judged = s.Time.Seconds(), &v.Verdict
	if s.Failed() < s.N() {
		before := time.Now()
		law, err := p.Draw(ctx, c.Pool, c.Seed, 1, n)
		if err != nil {
			return err
		}
		r.Seconds.Data += time.Since(before).Seconds()
		r.EnergyLaw = metric.EnergyTest(law, t.run.HeldOutRows, p.Dim, testPoints, relabelled, c.Seed)
		numbers, err := r.observe(p, x, t.run.TrainRows, s.Good(), law, c.Seed, c.Pool)
		if err != nil {
			return err
		}
		judged := v.Verdict.WithNumbers(numbers)
		r.Judged = &judged
	}
	return errors.Join(failed, violated)
}

// trained is a problem's run and its network.
type trained struct {
	run *experiment.Run
	net *experiment.Trained
}

// train trains a problem for the time it has, by the files of its folder.
func (c *Config) train(ctx context.Context, p *problems.Problem, r *Result, progress func(string)) (*trained, error) {
	file := filepath.Join(r.Folder, problemFile)
	source, _, err := problem.Source(file)
	if err != nil {
		return nil, err
	}
	settings := []string{fmt.Sprintf("seed=%d", c.Seed), "train.epochs=0",
		fmt.Sprintf("train.max_seconds=%v", c.For.Seconds())}
	loaded, err := problem.Load(source, file, "", problem.ParseSettings(append(settings, c.Settings...)...))
	if err != nil {
		return nil, err
	}
	loaded.Data.Path = filepath.Join(r.Folder, p.DataFile())
	l, err := experiment.Load(ctx, loaded, c.Pool, nil)
	if err != nil {
		return nil, err
	}
	f, err := run.Create(filepath.Join(r.Folder, runDir), false)
	if err != nil {
		return nil, err
	}
	t := &trained{}
	if t.run, err = l.Begin(f, source, c.Command); err != nil {
		return nil, err
	}
	begun, cpu := time.Now(), processor.Seconds()
	err = t.run.Train(ctx, "", experiment.Observer{Epoch: func(e train.Epoch) {
		progress(fmt.Sprintf("epoch %d, %.0f s", e.Epoch, e.Seconds))
	}})
	r.Seconds.Train, r.Seconds.CPU = time.Since(begun).Seconds(), processor.Seconds()-cpu
	if err == nil {
		t.net, err = t.run.Trained("")
	}
	if err != nil {
		t.run.Folder.Unlock()
		return nil, err
	}
	r.Epochs = t.net.State.Epoch
	if c := t.run.Folder.Cost(); c != nil {
		r.Trained = c.Epochs
	}
	return t, nil
}

// observe compares samples with the data in the problem's observables, and new draws of the
// law beside them. It returns the observables of samples and rows.
func (r *Result) observe(p *problems.Problem, data, train, samples, law []float64, seed uint64,
	pool *parallel.Pool) (numbers []verdict.Number, err error) {
	o, err := p.Observables()
	if err != nil {
		return nil, err
	}
	if o, err = o.Over(data, p.Dim, pool); err != nil {
		return nil, err
	}
	ref := o.Distance(p.Dim, pool).Against(data, train, nil)
	marks, dim := ref.Marks(samples), len(o.List)
	whole, parts := ref.Score(marks, seed)
	own := ref.Compare(ref.Marks(law), ref.Full)
	r.Observed = distance("", whole, own[0])
	r.Numbers = nil
	for k, s := range parts {
		d := distance(o.List[k].Name, s, own[1+k])
		r.Numbers = append(r.Numbers, d)
		numbers = append(numbers, verdict.Number{Name: d.Name, Samples: metric.Column(marks, k, dim),
			Rows: metric.Column(ref.Full, k, dim), Times: d.Times()})
	}
	return numbers, nil
}

func distance(name string, s metric.Score, law float64) Distance {
	return Distance{Name: name, Value: s.Full, Floor: s.Floor, Law: metric.Float(law)}
}
