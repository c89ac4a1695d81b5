// Package choose measures data and the set that it lies on, and says which constants suit a process
// there: the landing rate α and the repulsion ε, with the reason.
package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// A Choice is what a key of a problem file that was auto became: a number or a word.
type Choice struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Reason string `json:"reason"`
}

// The rule for ε. A step that lands an active inequality pushes it inwards by ρ(g + ε) ≈ ρε; a free step near the edge
// moves it by about s‖Π∇g‖, where s = √τ (OLLA) or τ (ULLA) and Π is the projector of the equalities. With
//
//	r = ρε / (s‖Π∇g‖)
//
// small, points fall back at once and stick to the edge; with r large they jump over a layer that then stays empty. On
// an interval r = 1 is best to within the noise for both methods, all ρ and γ tried (docs/benchmarks.md).
const (
	Sticky    = 0.3  // r below: the law near the edge is off by a layer's mass or more
	Overshoot = 3.0  // r above
	WideShare = 0.25 // of a window's width that a push may cross
)

// A Window is what ε must be compared with at one inequality.
type Window struct {
	Step  float64 // s‖Π∇g‖: how far a typical step moves g; 0 if no step along Σ does
	Best  float64 // the ε with r = 1
	Depth float64 // the largest −g seen: how far inside points can be
	Away  float64 // the least |g| seen
}

// Far reports whether no point came within five steps of the edge.
func (w Window) Far() bool { return w.Away > 5*w.Step }

// Windows looks at every inequality where it is nearest to its edge, by component; equalities have none.
func Windows(e *evidence.Evidence) []Window {
	points := slices.Concat(e.Boundary, e.Typical(), e.Sample, e.States(200))
	probe := e.Probe()
	values := make([]float64, len(points)*e.C)
	for i, p := range points {
		probe.Values(values[i*e.C:(i+1)*e.C], p.X, 1)
	}
	out := make([]Window, e.C)
	visits := make([][]int, len(points)) // the inequalities to look at from each point
	for j := e.M; j < e.C; j++ {
		at := func(i int) float64 { return math.Abs(values[i*e.C+j]) }
		var order []int
		for i := range points {
			if g := values[i*e.C+j]; finite(g) {
				order = append(order, i)
				out[j].Depth = max(out[j].Depth, -g)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
		for _, i := range order[:min(len(order), 8)] {
			visits[i] = append(visits[i], j)
		}
		if len(order) > 0 {
			out[j].Away = at(order[0])
		}
	}
	sizes := make([][]float64, e.C)
	smooth := geometry.New(constraint.EqualitiesOf(e.Set), 1, 0)
	t := make([]float64, e.D)
	for i, p := range points {
		if len(visits[i]) == 0 || !probe.At(p.X) || smooth.At(p.X, 1) != nil {
			continue
		}
		for _, j := range visits[i] {
			copy(t, probe.Grad(j))
			smooth.Tangent(t, t)
			sizes[j] = append(sizes[j], dense.Norm(t))
		}
	}
	p, τ, ρ := &e.Running, 0.0, 1.0 // at the mean of τ_k
	for k := range p.Schedule.N {
		τ += p.Schedule.Tau(k) / float64(p.Schedule.N)
	}
	if p.Landing.Explicit {
		ρ = min(p.Landing.Rate*τ, 1)
	}
	step := p.Method.StepSize(τ)
	for j := e.M; j < e.C; j++ {
		if size := metric.Median(sizes[j]); size > 0 {
			out[j].Step, out[j].Best = step*size, step*size/ρ
		}
	}
	return out
}

// Repulsion returns the ε that the rule of this package recommends for the process on its data (n×d; random starts
// where there is none), with the reason: the median over inequalities, at most a quarter of the shallowest window. It
// is 0 where there are no inequalities, and of no use once ctx is done.
func Repulsion(ctx context.Context, p *langevin.Process, data []float64, seed uint64,
	pool *parallel.Pool) (ε float64, reason string) {
	switch {
	case len(p.Set.Inequalities()) == 0:
		return 0, "there are no inequalities"
	case p.Elastic():
		return 0, "elastic walls have no use for it"
	}
	e := evidence.Gather(ctx, evidence.Case{Process: p, Data: data, Seed: seed}, pool)
	var best []float64
	shallow := math.Inf(1)
	for _, w := range Windows(e)[e.M:] {
		if w.Step > 0 && !w.Far() {
			best = append(best, w.Best)
			if w.Depth > 0 {
				shallow = min(shallow, w.Depth)
			}
		}
	}
	ε = metric.Median(best)
	switch {
	case !finite(ε):
		return 0, "no point comes near the edge of an inequality"
	case ε > WideShare*shallow:
		return WideShare * shallow, fmt.Sprintf("a quarter of the shallowest window, %.3g deep; a typical step would "+
			"want %.3g", shallow, ε)
	}
	why := "ρε is a typical step across the boundary"
	if len(best) > 1 {
		why += fmt.Sprintf(": median over %d inequalities", len(best))
	}
	return ε, why
}

func finite(v float64) bool { return v-v == 0 }
