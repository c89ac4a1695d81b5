package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/check"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
)

// priorRefresh numbers the forward paths that make an empirical prior, far from
// those of training.
const priorRefresh = 1 << 40

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
	prior, err := langevin.NewSimulator(e.Process, e.Pool, generateRows).EmpiricalPrior(ctx, e.train, e.Problem.Seed, priorRefresh)
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
	Chains int     `json:"chains"`
	Draws  int     `json:"draws"` // kept, of all chains
	Steps  int     `json:"steps"` // of each chain, in all
	Step   float64 `json:"step"`  // τ
	Rhat   Float   `json:"rhat"`  // of the worst coordinate
	ESS    Float   `json:"ess"`   // of the worst coordinate
	Worst  int     `json:"worst_coordinate"`
	Lost   int     `json:"lost"` // draws that could not be projected onto Σ, left out
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

const (
	priorChains = 32
	priorKeep   = 128 // draws of each chain
	mixedRhat   = 1.01
	mixedESS    = 400
)

// chainPrior draws from the uniform law on Σ by long unlearned chains from
// training rows: the symmetric splitting where there are equalities alone, ULLA
// with landing and the recommended ε where there are inequalities, its draws then
// projected. Rounds of doubled length, each from where the last one ended, go on
// until every coordinate has split-R̂ below 1.01 and 400 effective draws, or the
// steps allowed are done. Data often lie close together on a wide Σ, far from its
// edges: the draws of a round choose step and ε of the next. Those of the last
// round are the prior. It is made once, a function of the problem's seed, and
// kept in the run folder.
func (e *Experiment) chainPrior(ctx context.Context) (langevin.Prior, error) {
	if err := e.readPrior(); e.uniform.States != nil || err != nil {
		return e.uniform, err
	}
	d := e.Process.Set.Dim()
	wide, x0 := spread(e.train, d), e.priorStarts()
	chains := e.priorChains(e.train, wide)
	m, limit := Mixing{Chains: priorChains, Draws: priorChains * priorKeep}, e.Problem.Uniform.MaxRhat
	var draws *langevin.Draws
	for round := 0; ; round++ {
		chains.Seed, chains.Thin = e.Problem.Seed+uint64(round)<<32, 2<<round
		if e.mixing != nil {
			chains.Progress = func(step int) { e.mixing(m.Steps+step, e.Problem.Uniform.MaxSteps) }
		}
		var err error
		if draws, err = chains.Run(ctx, e.Pool, x0); err != nil {
			return nil, err
		}
		m.Steps, m.Step = m.Steps+chains.Keep*chains.Thin, chains.Process.Schedule.T
		m.judge(draws)
		if float64(m.Rhat) < min(mixedRhat, limit) && m.ESS > mixedESS || m.Steps+2*chains.Keep*chains.Thin > e.Problem.Uniform.MaxSteps {
			break
		}
		for c := range priorChains {
			last := ((c+1)*priorKeep - 1) * d
			copy(x0[c*d:(c+1)*d], draws.X[last:last+d])
		}
		wide = max(wide, spread(draws.X, d))
		chains = e.priorChains(draws.X, wide)
	}
	if !(float64(m.Rhat) <= limit) {
		return nil, &MixingError{m, limit}
	}
	states, n := e.projected(draws)
	if err := lost("draws of chains", n, m.Draws, e.Problem.Generate.MaxFailed, "generate.max_failed"); err != nil {
		return nil, err
	}
	e.uniform.States, m.Lost = states, n
	if float64(m.Rhat) >= mixedRhat || m.ESS < mixedESS {
		e.Warning = fmt.Sprintf("the chains behind the uniform prior have split-R̂ %.3f at x[%d] and %.0f effective draws after %d steps: the prior may be off", float64(m.Rhat), m.Worst, float64(m.ESS), m.Steps)
	}
	e.Mixing = &m
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

// priorStarts returns rows of the training data at equal distances, one a chain.
func (e *Experiment) priorStarts() []float64 {
	d := e.Process.Set.Dim()
	n := len(e.train) / d
	x0 := make([]float64, 0, priorChains*d)
	for c := range priorChains {
		row := c * n / priorChains
		x0 = append(x0, e.train[row*d:(row+1)*d]...)
	}
	return x0
}

// priorChains returns chains for a Σ that is at least so wide and, where it has
// edges, has these states. The splitting has no error of first order and takes steps of a tenth of the spread
// of a coordinate. ULLA is off by a boundary layer of 0.4 steps at this friction
// (package check, BenchmarkRepulsion), and more at less: steps of a twentieth.
func (e *Experiment) priorChains(states []float64, wide float64) *langevin.Chains {
	set := e.Process.Set
	d := set.Dim()
	scale := wide / math.Sqrt(float64(max(d-len(set.Equalities()), 1)))
	τ := 0.1 * scale
	p := &langevin.Process{
		Set: set, Method: langevin.ULLAP, Friction: 1 / scale, Landing: langevin.Landing{Implicit: true},
		Schedule: langevin.Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1},
	}
	c := &langevin.Chains{Process: p, Symmetric: true, Count: priorChains, Keep: priorKeep}
	if len(set.Inequalities()) > 0 {
		p.Method, c.Symmetric, p.Schedule.T = langevin.ULLA, false, τ/2
		p.Friction = 0.5 / p.Schedule.T
		p.Repulsion, _ = check.ChooseRepulsion(p, states, e.Problem.Seed, e.Pool)
	}
	return c
}

// judge finds the coordinate that has mixed worst.
func (m *Mixing) judge(d *langevin.Draws) {
	m.Rhat, m.ESS = 0, Float(math.Inf(1))
	for j := range d.Dim {
		series := d.Series(j)
		r, ess := metric.SplitRhat(series), metric.ESS(series)
		if math.IsNaN(r) || constant(series) {
			continue
		}
		if r > float64(m.Rhat) {
			m.Rhat, m.Worst = Float(r), j
		}
		m.ESS = min(m.ESS, Float(ess))
	}
}

// constant reports whether a coordinate is the same in all draws, to round-off: Σ
// may hold it.
func constant(series [][]float64) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		lo, hi = min(lo, slices.Min(s)), max(hi, slices.Max(s))
	}
	return hi-lo <= 1e-9*(1+max(math.Abs(lo), math.Abs(hi)))
}

// projected returns the draws on Σ, and how many could not be brought there.
func (e *Experiment) projected(d *langevin.Draws) (states []float64, lost int) {
	b := geometry.NewBlock(e.Process.Set, 1, 0)
	ok := make([]bool, 1)
	for i := 0; i < len(d.X); i += d.Dim {
		x := d.X[i : i+d.Dim]
		if b.At(x, 1) == nil {
			if b.Project(x, x, ok); ok[0] {
				states = append(states, x...)
				continue
			}
		}
		lost++
	}
	return states, lost
}

// spread returns the root mean square distance of rows from their mean.
func spread(x []float64, d int) float64 {
	mean, sum, n := make([]float64, d), 0.0, float64(len(x)/d)
	for i, v := range x {
		mean[i%d] += v / n
	}
	for i, v := range x {
		sum += (v - mean[i%d]) * (v - mean[i%d]) / n
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum)
}
