package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/uniform"
)

// prior returns the law of x_N of generated paths.
func (e *Experiment) prior(ctx context.Context) (langevin.Prior, error) {
	if e.Problem.Prior == "uniform" {
		if prior, err := langevin.UniformPrior(e.Process); err == nil {
			return prior, nil
		}
		return e.chainPrior(ctx)
	}
	return e.empiricalPrior(ctx)
}

// A PriorError says that too many of the states that a prior is made of could not
// be projected onto Σ.
type PriorError struct {
	States string // what they are
	Lost   int
	Of     int
	Limit  float64 // largest share
	Key    string  // of the limit
}

func (e *PriorError) Error() string {
	return fmt.Sprintf("the prior has too few states: %d of %d %s failed a projection, above the allowed share %g (%s)", e.Lost, e.Of, e.States, e.Limit, e.Key)
}

// lost returns a *PriorError if the share of lost states is above the limit, or all
// are.
func lost(states string, lost, of int, limit float64, key string) error {
	if lost == of || float64(lost) > limit*float64(of) {
		return &PriorError{states, lost, of, limit, key}
	}
	return nil
}

// empiricalPrior returns the ends of forward paths from the training rows. They are
// simulated once: a function of the problem's seed.
func (e *Experiment) empiricalPrior(ctx context.Context) (langevin.Prior, error) {
	if e.empirical.States != nil {
		return e.empirical, nil
	}
	prior, err := langevin.NewSimulator(e.Process, e.Pool, generateRows).EmpiricalPrior(ctx, e.train, e.Problem.Seed, keyed.PriorPaths.At(0))
	if err != nil && !errors.As(err, new(*langevin.PriorError)) { // all failed: said below
		return nil, err
	}
	d := e.Process.Set.Dim()
	paths, ends := len(e.train)/d, len(prior.States)/d
	if err := lost("forward paths from the training rows", paths-ends, paths, e.Problem.Train.MaxFailed, "train.max_failed"); err != nil {
		return nil, err
	}
	e.empirical = prior
	return prior, nil
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

// A MixingError says that chains did not arrive at the uniform law.
type MixingError struct {
	Mixing
	Limit float64
}

func (e *MixingError) Error() string {
	return fmt.Sprintf("the uniform prior has no closed form here, and %d chains have not mixed after %d steps: split-R̂ is %.3f at x[%d], above uniform.max_rhat = %g (effective draws %.0f). "+
		"Σ may be disconnected or unbounded (landing check looks); use prior: empirical, or raise uniform.max_steps", e.Chains, e.Steps, float64(e.Rhat), e.Worst, e.Limit, float64(e.ESS))
}

// chainPrior draws from the uniform law on Σ by chains from training rows. The
// draws are made once, a function of the problem's seed, and kept in the run
// folder.
func (e *Experiment) chainPrior(ctx context.Context) (langevin.Prior, error) {
	if err := e.readPrior(); e.uniform.States != nil || err != nil {
		return e.uniform, err
	}
	limits := e.Problem.Uniform
	c := uniform.Config{Set: e.Process.Set, Starts: e.train, Seed: e.Problem.Seed, MaxRhat: limits.MaxRhat, MaxSteps: limits.MaxSteps, Pool: e.Pool}
	if e.mixing != nil {
		c.Progress = func(steps int) { e.mixing(steps, limits.MaxSteps) }
	}
	d, err := uniform.Draw(ctx, c)
	if err != nil {
		return nil, err
	}
	m := Mixing{d.Chains, d.Kept, d.Steps, d.Step, metric.Float(d.Rhat), metric.Float(d.ESS), d.Worst, d.Lost}
	if !(d.Rhat <= limits.MaxRhat) {
		return nil, &MixingError{m, limits.MaxRhat}
	}
	if err := lost("draws of chains", d.Lost, d.Kept, e.Problem.Generate.MaxFailed, "generate.max_failed"); err != nil {
		return nil, err
	}
	if !d.Mixed() {
		e.Warning = fmt.Sprintf("the chains behind the uniform prior have split-R̂ %.3f at x[%d] and %.0f effective draws after %d steps: the prior may be off", d.Rhat, d.Worst, d.ESS, d.Steps)
	}
	e.uniform.States, e.Mixing = d.States, &m
	return e.uniform, nil
}

// arrive makes a uniform prior that has no closed form before any training, so
// that chains that do not mix are known at once. A fresh run records how far they
// came in its metrics.
func (e *Experiment) arrive(ctx context.Context, o Observer, fresh bool) error {
	if e.Problem.Prior != "uniform" {
		return nil
	}
	e.mixing = o.Mixing
	_, err := e.prior(ctx)
	if e.mixing = nil; err != nil {
		return err
	}
	if e.Mixing == nil {
		return nil
	}
	if o.Prior != nil {
		o.Prior(*e.Mixing)
	}
	if !fresh {
		return nil
	}
	if err := e.Folder.AppendMetric("prior", 0, *e.Mixing); err != nil {
		return err
	}
	return e.savePrior()
}

// savePrior keeps the draws in the run folder: they may have taken minutes.
func (e *Experiment) savePrior() error {
	var b bytes.Buffer
	d := e.Process.Set.Dim()
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{len(e.uniform.States) / d, d}, Float64: e.uniform.States}); err != nil {
		return err
	}
	return e.Folder.Write(run.PriorFile, b.Bytes())
}

// readPrior fetches the draws that the run folder keeps, if it does.
func (e *Experiment) readPrior() error {
	if e.uniform.States != nil || e.Folder == nil {
		return nil
	}
	path := e.Folder.Path(run.PriorFile)
	a, err := arrayfile.ReadNPY(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d := e.Process.Set.Dim()
	if err == nil && (len(a.Shape) != 2 || a.Shape[0] < 1 || a.Shape[1] != d || len(a.Float64) != a.Shape[0]*d) {
		err = fmt.Errorf("it has shape %v; expected float64 points of %d coordinates", a.Shape, d)
	}
	if err != nil {
		fault := strings.TrimPrefix(err.Error(), path+": ")
		return &run.FolderError{Dir: path, Problem: "is damaged: " + fault + "; without the file the prior is made again"}
	}
	e.uniform.States = a.Float64
	return nil
}
