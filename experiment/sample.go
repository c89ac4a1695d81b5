package experiment

import (
	"bytes"
	"context"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

// A SampleReport describes chains that sample exp(−f) on Σ.
type SampleReport struct {
	File        string       `json:"file"`
	Chains      int          `json:"chains"`
	Draws       int          `json:"draws"` // kept of each chain
	Failed      int          `json:"failed"`
	Violation   Worst        `json:"violation"` // of the kept draws
	Coordinates []Coordinate `json:"coordinates"`
	Walls       []Wall       `json:"walls,omitempty"`
	Seconds     float64      `json:"seconds"`

	draws *langevin.Draws
}

// A Coordinate is one coordinate over all chains.
type Coordinate struct {
	Mean  metric.Float `json:"mean"`
	Error metric.Float `json:"mc_error"` // Monte Carlo standard error of the mean
	SD    metric.Float `json:"sd"`
	ESS   metric.Float `json:"ess"` // bulk effective sample size
	Rhat  metric.Float `json:"rhat"`
}

// Sample runs the problem's chains from starts on Σ. tick hears of steps. A
// *ViolationError, returned beside the report, says that draws are further from
// Σ than sample.max_violation. A chain whose projection fails stays where it is
// for that step; Failed counts the chains to which that happened.
func Sample(ctx context.Context, p *problem.Problem, pool *parallel.Pool, tick func(step int)) (*SampleReport, error) {
	c, err := p.BuildChains()
	if err != nil {
		return nil, err
	}
	c.Progress = tick
	p, c.Process, _ = resolve(p, c.Process, nil, pool)
	start := time.Now()
	x0, err := langevin.Start(c.Process, c.Count, p.Seed)
	if err != nil {
		return nil, err
	}
	draws, err := c.Run(ctx, pool, x0)
	if err != nil {
		return nil, err
	}
	r := &SampleReport{Chains: draws.Count, Draws: draws.Keep, Failed: draws.Report.Failed, draws: draws}
	for j := range draws.Dim {
		series := draws.Series(j)
		var all []float64
		for _, s := range series {
			all = append(all, s...)
		}
		mean, sd := stat.MeanStdDev(all, nil)
		r.Coordinates = append(r.Coordinates, Coordinate{metric.Float(mean), metric.Float(metric.MCSE(series)),
			metric.Float(sd), metric.Float(metric.ESS(series)), metric.Float(metric.SplitRhat(series))})
	}
	var check error
	for _, v := range violations(c.Process.Set, draws.X) {
		r.Violation.Worst = max(r.Violation.Worst, v.Worst)
		if worst, limit := float64(v.Worst), p.Sample.MaxViolation; limit > 0 && worst > limit {
			check = &ViolationError{Component: v.Component, Sample: v.WorstSample, Worst: worst, Limit: limit,
				Key: "sample.max_violation"}
		}
	}
	if r.Walls, err = chainWalls(ctx, p, c, pool, draws); err != nil {
		return nil, err
	}
	r.Violation.Mean = metric.Float(metric.MeanLargest(excess(c.Process.Set, draws.X)))
	r.Seconds = time.Since(start).Seconds()
	return r, check
}

// Write saves the draws as an NPY file, chains × draws × dimension.
func (r *SampleReport) Write(path string, force bool) error {
	var b bytes.Buffer
	d := r.draws
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{d.Count, d.Keep, d.Dim}, Float64: d.X}); err != nil {
		return err
	}
	return run.WriteFile(path, b.Bytes(), force)
}
