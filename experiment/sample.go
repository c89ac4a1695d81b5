package experiment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// A SampleReport describes chains that sample exp(−f) on Σ.
type SampleReport struct {
	File        string       `json:"file"`
	Chains      int          `json:"chains"`
	Draws       int          `json:"draws"` // kept of each chain
	Step        float64      `json:"step"`  // τ
	Failed      int          `json:"failed"`
	FailedShare float64      `json:"failed_share"`      // of projections
	Turned      float64      `json:"turned,omitempty"`  // share of flights that turned back
	Refused     float64      `json:"refused,omitempty"` // share of moves that Metropolis refused
	Violation   judge.Worst  `json:"violation"`         // of the kept draws
	Coordinates []Coordinate `json:"coordinates"`
	Observables []Coordinate `json:"observables,omitempty"` // of the problem; of a circular one cosine and sine
	Walls       []judge.Wall `json:"walls,omitempty"`
	Seconds     float64      `json:"seconds"`

	set    constraint.Set
	draws  *langevin.Draws
	domain *domain.Domain // nil: none of the draws' kind
}

// A Coordinate is one coordinate, or one observable, over all chains.
type Coordinate struct {
	Name string `json:"name,omitempty"` // of an observable

	Mean  metric.Float `json:"mean"`
	Error metric.Float `json:"mc_error"` // Monte Carlo standard error of the mean
	SD    metric.Float `json:"sd"`
	ESS   metric.Float `json:"ess"` // bulk effective sample size
	Rhat  metric.Float `json:"rhat"`
}

const (
	defaultMaxFailed = 0.01
	defaultMaxRhat   = 1.1
)

// Sample runs the problem's chains from starts on Σ. It chooses sample.step if the problem leaves it open. It calls
// tick with the number of steps. Two errors come beside the report. A *ViolationError: draws are further from Σ than
// sample.max_violation. An error of kind fault.Check: more projections fail than sample.max_failed, or the split-R̂ of
// a coordinate or an observable is above sample.max_rhat. A chain whose projection fails stays where it is for that
// step; Failed counts these chains.
func Sample(ctx context.Context, p *problem.Problem, pool *parallel.Pool, tick func(step int)) (*SampleReport, error) {
	p, c, err := settle.Chains(ctx, p, pool)
	if err != nil {
		return nil, err
	}
	c.Progress = tick
	start := time.Now()
	x0, err := langevin.Start(ctx, c.Process, c.Count, p.Seed)
	if err != nil {
		return nil, err
	}
	draws, err := c.Run(ctx, pool, x0)
	if err != nil {
		return nil, err
	}
	r := &SampleReport{
		Chains: draws.Count, Draws: draws.Keep, Step: c.Process.Schedule.T, Failed: draws.Report.Failed,
		FailedShare: draws.FailedShare(), Turned: draws.Turned, Refused: draws.Refused,
		set: c.Process.Set, draws: draws,
	}
	for j := range draws.Dim {
		r.Coordinates = append(r.Coordinates, overChains("", draws.Series(j)))
	}
	if r.domain, err = domainOf(p, c.Process.Set, pool, draws); err != nil {
		return nil, err
	}
	if r.Observables, err = observe(p, r.domain, pool, draws); err != nil {
		return nil, err
	}
	var check error
	for _, v := range judge.Violations(c.Process.Set, draws.X) {
		r.Violation.Worst = max(r.Violation.Worst, v.Worst)
		if worst, limit := float64(v.Worst), p.Sample.MaxViolation; limit > 0 && worst > limit {
			check = &judge.ViolationError{Component: v.Component, Sample: uint64(v.WorstSample), Worst: worst,
				Limit: limit, Key: "sample.max_violation"}
		}
	}
	if r.Walls, err = judge.ChainWalls(ctx, p.Seed, c, pool, draws); err != nil {
		return nil, err
	}
	r.Violation.Mean = metric.Float(metric.MeanLargest(judge.Excess(c.Process.Set, draws.X)))
	r.Seconds = time.Since(start).Seconds()
	return r, errors.Join(check, r.settled(p, c))
}

func overChains(name string, series [][]float64) Coordinate {
	mean, sd := stat.MeanStdDev(slices.Concat(series...), nil)
	return Coordinate{name, metric.Float(mean), metric.Float(metric.MCSE(series)), metric.Float(sd),
		metric.Float(metric.ESS(series)), metric.Float(metric.SplitRhat(series))}
}

// domainOf returns the domain of the problem's kind of data with draws instead of data, for its writers and
// observables. It is nil for kinds that write no files of their own.
func domainOf(p *problem.Problem, set constraint.Set, pool *parallel.Pool, draws *langevin.Draws,
) (*domain.Domain, error) {
	const enough = 1000
	kind, ok := kinds.Of(p.Data.Kind, set)
	if !ok || kind.Bundled || kind.Writes == nil {
		return nil, nil
	}
	some := langevin.Starts(draws.X, draws.Dim, min(enough, draws.Count*draws.Keep))
	return kind.New(domain.Input{Set: set, Data: some, Train: some, Files: p.Files(), Pool: pool})
}

// observe summarises the numbers that the problem observes, or on a set without bounds
// those of its kind of data: of one on the circle, its cosine and its sine.
func observe(p *problem.Problem, of *domain.Domain, pool *parallel.Pool, draws *langevin.Draws,
) (out []Coordinate, err error) {
	o, err := p.Observables(draws.Dim)
	if o == nil && of != nil && p.Set.Unbounded() {
		o = of.Observables
	}
	if err != nil || o == nil {
		return nil, err
	}
	n, count := draws.Count*draws.Keep, len(o.List)
	values := make([]float64, n*count)
	domain.EachBlock(pool, n, func(lo, hi int) {
		o.Values(values[lo*count:hi*count], draws.X[lo*draws.Dim:hi*draws.Dim], hi-lo)
	})
	for k, v := range o.List {
		series := func(f func(v float64) float64) [][]float64 {
			all := make([][]float64, draws.Count)
			for c := range all {
				for i := range draws.Keep {
					all[c] = append(all[c], f(values[(c*draws.Keep+i)*count+k]))
				}
			}
			return all
		}
		if !v.Circular {
			out = append(out, overChains(v.Name, series(func(v float64) float64 { return v })))
			continue
		}
		turn := 2 * math.Pi / (v.Hi - v.Lo)
		out = append(out, overChains("cos "+v.Name, series(func(x float64) float64 { return math.Cos(turn * x) })),
			overChains("sin "+v.Name, series(func(x float64) float64 { return math.Sin(turn * x) })))
	}
	return out, nil
}

// settled returns an error if the chains failed too often, or have not mixed.
func (r *SampleReport) settled(p *problem.Problem, c *langevin.Chains) error {
	if limit := cmp.Or(p.Sample.MaxFailed, defaultMaxFailed); c.Leaps == 0 && r.FailedShare > limit {
		return fault.Errorf(fault.Check, "", "%.3g %% of projections failed, above sample.max_failed = %g: take a "+
			"smaller sample.step than %.3g (auto finds one), or sample.method=chmc, which is exact for any step",
			100*r.FailedShare, limit, r.Step)
	}
	limit := cmp.Or(p.Sample.MaxRhat, defaultMaxRhat)
	worst, at, moved, size := 0.0, "", false, 0.0
	for _, k := range r.Coordinates {
		size = max(size, math.Abs(float64(k.Mean))+float64(k.SD))
	}
	for j, k := range r.Coordinates {
		// Along directions without bounds coordinates never mix: there the observables tell, if there are any.
		if rhat := float64(k.Rhat); rhat > worst && !(p.Set.Unbounded() && r.Observables != nil) {
			worst, at = rhat, fmt.Sprintf("x[%d]", j)
		}
		moved = moved || float64(k.SD) > 1e-9*min(1, size)
	}
	for _, k := range r.Observables {
		if rhat := float64(k.Rhat); rhat > worst {
			worst, at = rhat, strconv.Quote(k.Name)
		}
	}
	longer := "take more steps (sample.thin or sample.draws)"
	if bad := max(r.Turned, r.Refused); bad > 0.5 {
		longer = fmt.Sprintf("%.0f %% of moves were refused or turned back: take a smaller sample.step than %.3g "+
			"(auto finds one)", 100*bad, r.Step)
	}
	switch {
	case !moved && r.Draws > 1:
		return fault.Errorf(fault.Check, "", "no chain moved: split-R̂ is +Inf, above sample.max_rhat = %g: %s", limit,
			longer)
	case worst > limit:
		return fault.Errorf(fault.Check, "", "the chains have not mixed: split-R̂ is %.3g at %s, above "+
			"sample.max_rhat = %g: %s, or fewer chains on a disconnected Σ (landing check looks)", worst, at, limit,
			longer)
	}
	return nil
}

// DrawFiles returns the extensions of the files that a problem's draws can be written to.
func DrawFiles(p *problem.Problem) []string {
	out := []string{".npy"}
	for _, k := range kinds.All {
		if k.Data == p.Data.Kind && len(out) == 1 { // kinds of one name write the same
			out = append(out, k.Writes...)
		}
	}
	return out
}

// Rounded returns the worst violation of the draws as a file of the extension holds them, and
// whether it rounds their coordinates at all.
func (r *SampleReport) Rounded(ext string) (worst metric.Violation, rounds bool) {
	if r.domain == nil {
		return worst, false
	}
	return judge.Rounded(r.domain, r.set, ext, r.draws.X)
}

// Write saves the draws: in an NPY file chains × draws × dimension, in one of the kind of
// data draw by draw, chain after chain.
func (r *SampleReport) Write(path string, force bool) error {
	var b bytes.Buffer
	d := r.draws
	var err error
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".npy" && r.domain != nil && r.domain.Writer(ext) != nil {
		err = r.domain.Writer(ext)(&b, arrayfile.RowsOf(d.X, d.Dim))
	} else {
		err = arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{d.Count, d.Keep, d.Dim}, Float64: d.X})
	}
	if err != nil {
		return err
	}
	return run.WriteFile(path, b.Bytes(), force)
}
