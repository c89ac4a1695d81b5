package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
)

// A drawing is a cell with a trained network, whose samples are to be drawn and measured.
type drawing struct {
	cell    *Cell
	run     *experiment.Run // as it draws; the caller has its lock
	trained *experiment.Trained
	own     *experiment.Run // as it was trained
	tick    func(done, of int)
	line    experiment.CommandLine
}

// measures are the ways to make the entry of a cell, by Cell.Measure.
var measures = map[string]func(ctx context.Context, d *drawing) (*compare.Entry, error){
	"": func(ctx context.Context, d *drawing) (*compare.Entry, error) {
		e, _, _, err := d.judge(ctx)
		return e, err
	},
	"paper":          measured,
	"jacobian":       jacobian,
	"processor-time": timed,
}

// judge draws the cell's samples, judges them, leaves both in the run folder and makes an entry of them.
func (d *drawing) judge(ctx context.Context) (e *compare.Entry, x *judge.Samples, v *judge.Evaluation,
	err error) {
	r, c, state := d.run, d.cell, d.trained.State
	n := cmp.Or(c.Samples, r.SampleCount())
	x, v, fault, err := experiment.Judge(ctx, r, experiment.Judging{Trained: d.trained, Samples: n,
		Seed: r.Problem.Seed, Diagnose: c.Report, Line: d.line, Tick: func(done int) { d.tick(done, n) }})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := r.SaveSamples(x, state, c.Label.Seed); err != nil {
		return nil, nil, nil, err
	}
	if err := experiment.KeepEvaluation(r, v, state, c.Label.Seed, fault); err != nil {
		return nil, nil, nil, err
	}
	if c.Report {
		if _, err := r.Report(x, v, d.line); err != nil {
			return nil, nil, nil, err
		}
	}
	of := compare.Of(r, v, state, compare.Said(fault))
	data, err := r.Folder.Read(r.Out(run.SamplesFile))
	of.Row.SampleSHA = run.Hash(data)
	return &of, x, v, err
}

// measured draws and judges a trained cell, and takes the figures of the paper's tables beside the row of a sweep.
func measured(ctx context.Context, d *drawing) (*compare.Entry, error) {
	e, x, v, err := d.judge(ctx) // violations above a limit are figures here
	if err != nil {
		return nil, err
	}
	if x.Failed() == x.N() {
		return nil, fmt.Errorf("none of %d samples is left: %d broke down", x.N(), x.Broken)
	}
	f := map[string]float64{}
	set := func(name string, value metric.Float) {
		if value-value == 0 {
			f[name] = float64(value)
		}
	}
	if v.JSD != nil {
		for _, p := range v.JSD.Parts {
			if p.Name == "ψ" || p.Name == "RMSD" {
				set(p.Name, p.Full)
			}
		}
	}
	if v.Steps != nil {
		set("area |h|", v.Steps.Equalities)
		set("area g⁺", v.Steps.Inequalities)
	}
	violations(f, d.run.Process.Set, x.Good())
	e.Figures = f
	return e, measurePaths(f, d.own)
}

// violations sums over the constraints, and means over points x: Σ|h_i|, Σ h_i², Σ max(g_j, 0).
func violations(f map[string]float64, set constraint.Set, x []float64) {
	m, d := len(set.Equalities()), set.Dim()
	e, values := set.NewEvaluator(1), make([]float64, len(constraint.Components(set)))
	var abs, square, over float64
	for lo := 0; lo < len(x); lo += d {
		e.Values(values, x[lo:lo+d], 1)
		for i, v := range values {
			if i < m {
				abs += math.Abs(v)
				square += v * v
			} else {
				over += max(v, 0)
			}
		}
	}
	n := float64(len(x) / d)
	f["|h|"], f["Σh²"] = abs/n, square/n
	if len(values) > m {
		f["g⁺"] = over / n
	}
}

// measurePaths takes the share of forward paths that failed in training, over all that were drawn.
func measurePaths(f map[string]float64, of *experiment.Run) error {
	records, err := of.Folder.Metrics()
	if err != nil {
		return err
	}
	k := of.Problem.Train
	each := len(of.Split.Train)
	if k.Paths > 0 {
		each = min(each, k.Paths)
	}
	failed, refreshes := failedPaths(records, max(1, k.Refresh))
	if refreshes > 0 {
		f["failed paths"] = float64(failed) / float64(refreshes*each)
	}
	return nil
}

// failedPaths sums over refreshes: epochs between two of them repeat what the first says.
func failedPaths(records []run.Record, refresh int) (failed, refreshes int) {
	for _, e := range run.Decode[train.Epoch](records, "epoch") {
		if (e.Epoch-1)%refresh == 0 {
			failed, refreshes = failed+e.Failed, refreshes+1
		}
	}
	return failed, refreshes
}

// Rounds of timing, and samples in each.
const (
	timedRounds  = 5
	timedSamples = 4000
)

// timed measures the processor time of samples, and of those that are drawn by landing alone: the least of several
// rounds that draw both in turn. The difference is what projection costs.
func timed(ctx context.Context, d *drawing) (*compare.Entry, error) {
	against, err := d.own.Redraw(ctx, problem.ParseSettings("process.terminal_projection=false"))
	if err != nil {
		return nil, err
	}
	f := map[string]float64{}
	n := min(timedSamples, d.own.SampleCount())
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for round := range timedRounds {
		for i, r := range []*experiment.Run{against, d.run} {
			prior, err := r.Prior(ctx, nil)
			if err != nil {
				return nil, err
			}
			before := processor.Seconds()
			s, err := r.Generate(ctx, d.trained, prior, n, 0, d.own.Problem.Seed, nil)
			if err != nil {
				return nil, err
			}
			least[i] = min(least[i], 1000*(processor.Seconds()-before)/float64(n))
			f["failed"] = float64(s.Failed()) / float64(n)
		}
		d.tick((round+1)*n, timedRounds*n)
	}
	projection := max(0, least[1]-least[0])
	f["ms"], f["of it projection"] = least[1], projection
	f["share %"], f["samples"] = 100*projection/least[1], float64(n)
	e := &compare.Entry{Row: compare.NoRow("", compare.Label{}, "", run.Version(), ""), Cost: compare.NoCost(),
		Figures: f}
	e.Row.Verdict = "timed"
	return e, nil
}

// Figure 5: ‖∇s_θ‖_F over time, in x where a method has no momentum, in p where it has.

const (
	jacobianSamples = 200
	jacobianRows    = 32   // in a block
	jacobianStep    = 1e-3 // of central differences: networks pass in float32, outputs of the same size as x
)

// A probe is a score that takes the norm of its Jacobian wherever generation asks for it.
type probe struct {
	method.Score
	d        int
	momentum bool
	at       map[float64]*moment // by t
	a, b, y  []float64           // outputs at both ends; the point that is moved
}

type moment struct {
	sum float64 // of squared norms
	n   int
}

func (p *probe) Eval(dst, x, v []float64, n int, t float64) {
	m := p.at[t]
	if m == nil {
		m = &moment{}
		p.at[t] = m
	}
	moved := x
	if p.momentum {
		moved = v
	}
	p.y = append(p.y[:0], moved[:n*p.d]...)
	eval := func(dst []float64) {
		if p.momentum {
			p.Score.Eval(dst, x, p.y, n, t)
		} else {
			p.Score.Eval(dst, p.y, v, n, t)
		}
	}
	for j := range p.d {
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j] + jacobianStep
		}
		eval(p.a[:n*p.d])
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j] - jacobianStep
		}
		eval(p.b[:n*p.d])
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j]
		}
		for i := range n * p.d {
			slope := (p.a[i] - p.b[i]) / (2 * jacobianStep)
			m.sum += slope * slope
		}
	}
	m.n += n
	p.Score.Eval(dst, x, v, n, t)
}

// A Norm is the root mean square of ‖∇s‖_F at a time.
type Norm struct {
	T    float64 `json:"t"`
	Norm float64 `json:"norm"`
}

// norms returns the norms of the scores of a trained network on backward paths, by time. One worker does it, so
// that sums have one order.
func norms(ctx context.Context, r *experiment.Run, t *experiment.Trained, prior *experiment.Prior, n int,
	seed uint64) ([]Norm, error) {
	pool := parallel.New(1)
	defer pool.Close()
	d := r.Process.Set.Dim()
	p := &probe{Score: score.NewGuided(t.Model, t.Model.Pack(false), jacobianRows, 1, 0)[0], d: d,
		momentum: r.Method.Momentum(), at: map[float64]*moment{}, a: make([]float64, jacobianRows*d),
		b: make([]float64, jacobianRows*d)}
	_, err := r.Method.Sampler(jacobianRows, pool).Generate(ctx, make([]float64, n*d), make([]bool, n), 0, seed,
		prior.Prior, func(int) method.Score { return p })
	if err != nil {
		return nil, err
	}
	var out []Norm
	for _, t := range slices.Sorted(maps.Keys(p.at)) {
		out = append(out, Norm{t, math.Sqrt(p.at[t].sum / float64(p.at[t].n))})
	}
	return out, nil
}

// jacobianFile is the norms of a run, in its folder.
const jacobianFile = "jacobian.json"

// jacobian measures a cell as measured does, and the norms.
func jacobian(ctx context.Context, d *drawing) (*compare.Entry, error) {
	e, err := measured(ctx, d)
	if err != nil {
		return nil, err
	}
	prior, err := d.run.Prior(ctx, nil)
	if err != nil {
		return nil, err
	}
	all, err := norms(ctx, d.run, d.trained, prior, jacobianSamples, d.own.Problem.Seed)
	if err != nil {
		return nil, err
	}
	var sizes []float64
	for _, n := range all {
		sizes = append(sizes, n.Norm)
	}
	e.Figures["‖∇s‖ at Δt"] = sizes[0]
	slices.Sort(sizes)
	e.Figures["‖∇s‖, median"] = sizes[len(sizes)/2]
	return e, d.run.Folder.WriteJSON(d.run.Out(jacobianFile), all)
}
