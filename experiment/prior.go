package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/uniform"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// A Prior is the law of x_N of generated paths.
type Prior struct {
	method.Prior
	Kind    string  // uniform, chains (uniform, made by chains), empirical, or the name of a method that has its own
	Mixing  *Mixing // of the chains, where this call ran them
	Warning string  // something about the prior that the user should know; may be empty

	given []float64 // conditions of samples, by rows: Under
	each  int       // samples a row
}

// states returns the draws that the prior is made of; nil in closed form.
func (p *Prior) states() []float64 {
	e, _ := p.Prior.(langevin.Empirical)
	return e.States
}

// Prior makes the prior, a function of the problem's seed. It calls progress, which may be nil, with the steps of
// chains and the largest number of steps.
func (l *Loaded) Prior(ctx context.Context, progress func(steps, most int)) (*Prior, error) {
	if own := l.Method.Prior(); own != nil {
		return &Prior{Prior: own, Kind: l.Method.Name()}, nil
	}
	if l.Problem.Prior != "uniform" {
		return empiricalPrior(ctx, l, priorPaths(l))
	}
	if p, err := langevin.UniformPrior(l.Process); err == nil {
		return &Prior{Prior: p, Kind: "uniform"}, nil
	}
	return chainPrior(ctx, l, progress)
}

// priorFile names the file of a run folder that keeps the states of the problem's prior; empty for a law in closed
// form.
func (l *Loaded) priorFile() string {
	if l.Method.Prior() != nil {
		return ""
	}
	if l.Problem.Prior != "uniform" {
		return run.EndsFile
	}
	if _, err := langevin.UniformPrior(l.Process); err == nil {
		return ""
	}
	return run.PriorFile
}

// Prior is that of the problem; states that the folder keeps are not made again. An *AbsentError says that it would
// take data that is not there.
func (r *Run) Prior(ctx context.Context, progress func(steps, most int)) (*Prior, error) {
	file := r.priorFile()
	if file == "" {
		return r.Loaded.Prior(ctx, progress)
	}
	kept, err := readStates(r.Folder, file, r.Process.Set.Dim())
	switch {
	case err != nil:
		return nil, err
	case kept != nil && file == run.EndsFile:
		return fromEnds(r.Loaded, kept), nil
	case kept != nil:
		return &Prior{Prior: langevin.Empirical{States: kept}, Kind: "chains"}, nil
	case r.Bare:
		return nil, r.absent("the states that generation begins with are made of it: the folder does not keep them")
	}
	return r.Loaded.Prior(ctx, progress)
}

// lost returns an error if the share of lost states is above the limit of a key, or all are.
func lost(states string, lost, of int, limit float64, key string) error {
	if lost < of && float64(lost) <= limit*float64(of) {
		return nil
	}
	return fault.Errorf(fault.Check, "", "the prior has too few states: %d of %d %s failed a projection, above the "+
		"allowed share %g (%s)", lost, of, states, limit, key)
}

// PriorEnds is how many ends an empirical prior has at least, where their paths are no more than priorNumbers numbers:
// where steps are cheap. It has no more of them where the set takes more than priorWork multiply-adds for the paths of
// all rows, a value and gradient counted a step. Only tests lower it.
var PriorEnds = 10_000

const (
	priorNumbers = 2e7
	priorWork    = 1 << 39
)

// fewestEnds is how many ends a share of them has at least.
const fewestEnds = 100

// priorPaths returns how many paths an empirical prior takes: as many from each
// training row, more than one where rows are few, for samples that begin at one state are
// not independent; and from some of the rows where paths from all would take minutes.
// Of these train.preparation takes a share.
func priorPaths(l *Loaded) int {
	rows := len(l.Learned) / l.Data.D
	path := l.Process.Set.Capabilities().Work * float64(l.Process.Schedule.N)
	if float64(rows)*path > priorWork && rows > PriorEnds {
		rows = max(PriorEnds, int(priorWork/path))
	} else {
		room := priorNumbers / (float64(rows) * float64(l.Process.Schedule.N+1) * float64(l.Data.D))
		rows *= min((PriorEnds+rows-1)/rows, max(1, int(room)))
	}
	return method.Shared(rows, l.Problem.Train.Preparation, fewestEnds)
}

// empiricalPrior returns the ends of that many forward paths from the training rows.
func empiricalPrior(ctx context.Context, l *Loaded, paths int) (*Prior, error) {
	d := l.Data.D
	starts := langevin.Starts(l.Learned, d, paths)
	states, err := l.Method.Sampler(generateRows, l.Pool).Ends(ctx, starts, l.Problem.Seed, keyed.PriorPaths.At(0))
	if err != nil {
		return nil, err
	}
	ends := len(states) / d
	if err := lost("forward paths from the training rows", paths-ends, paths, l.Problem.Train.MaxFailed,
		problem.KeyTrainMaxFailed); err != nil {
		return nil, err
	}
	return fromEnds(l, states), nil
}

// fromEnds returns the empirical prior of ends of forward paths: with a condition, under those
// that samples are judged by.
func fromEnds(l *Loaded, states []float64) *Prior {
	p := &Prior{Prior: langevin.Empirical{States: states}, Kind: "empirical"}
	if l.Condition != nil && !l.Bare {
		p = p.Under(l.Condition.Of(held(l)), 1)
	}
	return p
}

// held are the rows whose conditions samples are judged under: those held out, or of data
// too little to hold any out, all.
func held(l *Loaded) []float64 {
	if len(l.HeldOutRows) > 0 {
		return l.HeldOutRows
	}
	return l.Data.X
}

// Mixing says how far the chains behind a uniform prior arrived at their law.
type Mixing struct {
	Chains int          `json:"chains"`
	Draws  int          `json:"draws"` // kept, of all chains
	Steps  int          `json:"steps"` // of each chain, in all
	Step   float64      `json:"step"`  // τ
	Rhat   metric.Float `json:"rhat"`  // of the worst coordinate
	ESS    metric.Float `json:"ess"`   // of the worst coordinate
	Worst  int          `json:"worst_coordinate"`
	Lost   int          `json:"lost"` // draws that could not be projected onto Σ, left out
}

// chainPrior draws from the uniform law on Σ by chains from training rows.
func chainPrior(ctx context.Context, l *Loaded, progress func(steps, most int)) (*Prior, error) {
	limits := l.Problem.Uniform
	c := uniform.Config{Set: l.Process.Set, Starts: l.TrainRows, Seed: l.Problem.Seed, MaxRhat: limits.MaxRhat,
		MaxSteps: limits.MaxSteps, Pool: l.Pool}
	if progress != nil {
		c.Progress = func(steps int) { progress(steps, limits.MaxSteps) }
	}
	d, err := uniform.Draw(ctx, c)
	if err != nil {
		return nil, err
	}
	m := Mixing{d.Chains, d.Kept, d.Steps, d.Step, metric.Float(d.Rhat), metric.Float(d.ESS), d.Worst, d.Lost}
	if !(d.Rhat <= limits.MaxRhat) {
		return nil, fault.Errorf(fault.Check, "", "the uniform prior has no closed form here, and %d chains have not "+
			"mixed after %d steps: split-R̂ is %.3f at x[%d], above uniform.max_rhat = %g (effective draws %.0f). Σ "+
			"may be disconnected or unbounded (landing check looks); use prior: empirical, or raise uniform.max_steps",
			m.Chains, m.Steps, m.Rhat, m.Worst, limits.MaxRhat, m.ESS)
	}
	if err := lost("draws of chains", d.Lost, d.Kept, l.Problem.Generate.MaxFailed,
		problem.KeyGenerateMaxFailed); err != nil {
		return nil, err
	}
	p := &Prior{Prior: langevin.Empirical{States: d.States}, Kind: "chains", Mixing: &m}
	if !d.Mixed() {
		p.Warning = fmt.Sprintf("the chains behind the uniform prior have split-R̂ %.3f at x[%d] and %.0f effective "+
			"draws after %d steps: the prior may be off", d.Rhat, d.Worst, d.ESS, d.Steps)
	}
	return p, nil
}

// maxKept bounds the numbers of the ends that a run folder keeps: 64 MiB.
const maxKept = 1 << 23

// saveStates keeps the states of a prior in a file of the run folder: they may have taken minutes.
func saveStates(f *run.Folder, name string, states []float64, d int) error {
	var b bytes.Buffer
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{len(states) / d, d}, Float64: states}); err != nil {
		return err
	}
	return f.Write(name, b.Bytes())
}

// readStates returns the states of a prior, points of dimension d, that a folder keeps in a file; nil if it keeps none.
func readStates(f *run.Folder, name string, d int) ([]float64, error) {
	path := f.Path(name)
	a, err := arrayfile.ReadNPY(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (len(a.Shape) != 2 || a.Shape[0] < 1 || a.Shape[1] != d || len(a.Float64) != a.Shape[0]*d) {
		err = fmt.Errorf("it has shape %v; expected float64 points of %d coordinates", a.Shape, d)
	}
	if i := slices.IndexFunc(a.Float64, func(v float64) bool { return v-v != 0 }); err == nil && i >= 0 {
		err = fmt.Errorf("row %d (from 0) has %v; expected finite numbers", i/d, a.Float64[i])
	}
	if err != nil {
		return nil, fault.Errorf(fault.Run, path, "is damaged: %s; without the file the prior is made again",
			strings.TrimPrefix(err.Error(), path+": "))
	}
	return a.Float64, nil
}

const startFloors = 5 // pairs of sets of prior draws

// CompareStart compares 2000 forward paths, or where these are dear as many as there are samples and no more than that,
// with the prior: by the data's histogram distance where there is one, its floor being that of two sets of prior draws;
// else by the energy distance, its floor being that of relabelled points. The p-value is that of metric.EnergyTest in
// either case. Errors are those of forward paths.
func (l *Loaded) CompareStart(ctx context.Context, prior *Prior, samples int) (*judge.Start, error) {
	s := &judge.Start{Prior: prior.Kind, Distance: metric.NaN, Floor: metric.NaN, FloorSD: metric.NaN,
		PValue: metric.NaN, Apart: metric.NaN}
	if s.Prior == "empirical" || samples < 1 {
		return s, nil
	}
	d, seed := l.Process.Set.Dim(), l.Problem.Seed
	paths := settle.PathCount(l.Process, samples)
	ends, t, err := settle.CompareStart(ctx, l.Method, prior, l.Learned, d, paths, seed, l.Pool)
	if err != nil || len(ends) == 0 { // all failed
		return s, err
	}
	s.Paths = len(ends) / d
	drawn := func(set uint64) []float64 {
		return langevin.SamplePrior(l.Pool, prior, d, keyed.StartDraws.Stream(seed, set), s.Paths)
	}
	u := drawn(0)
	s.Apart = metric.Float(verdict.Apart(ends, u, d))
	s.Metric, s.Distance, s.Floor, s.FloorSD, s.PValue = "energy distance", t.Statistic, t.Mean, t.SD, t.PValue
	if h := l.Domain.Distance; h != nil {
		floors := make([]float64, startFloors)
		for k := range floors {
			floors[k] = h.Between(h.Marks(drawn(uint64(2*k))), h.Marks(drawn(uint64(2*k+1))))
		}
		floor := metric.NewFloor(floors)
		s.Metric, s.Distance, s.Floor, s.FloorSD = h.Name, metric.Float(h.Between(h.Marks(ends), h.Marks(u))),
			floor.Mean, floor.SD
	}
	s.Judge()
	return s, nil
}
