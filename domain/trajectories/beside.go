package trajectories

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// The planner makes as many motions as there are samples, up to mostPlanned, with trees of plannedNodes each.
const mostPlanned, plannedNodes = 50, 2000

// findPlanner holds samples against motions that the planner finds between the same ends.
func (g *guide) findPlanner(x []float64) []domain.Finding {
	set, err := trajectory.New(g.spec)
	if err != nil || g.waypoints < 2 {
		return nil
	}
	n := min(g.rows(x), mostPlanned)
	x = x[:n*g.dim]
	tips, found := g.allTips(x), make([]*plan.Paths, n)
	g.pool.Do(n, func(_, i int) {
		at := tips[3*i*g.waypoints:]
		start, goal := plan.Point3(at), plan.Point3(at[3*g.waypoints-3:])
		b := plan.Batch{Set: set, Spec: g.spec, Tip: g.tip, Options: plan.Options{Nodes: plannedNodes}, Count: 1,
			Seed: uint64(i), Failing: plan.None, Start: [2]plan.Point3{start, start}, Goal: [2]plan.Point3{goal, goal}}
		b.Options.Segments = true
		found[i], _ = b.Run(context.Background(), parallel.New(1))
	})
	var planned, took []float64
	for _, p := range found {
		if p != nil {
			planned = append(planned, slices.Concat(p.X, make([]float64, g.dim))[:g.dim]...)
			took = append(took, float64(p.Paths[0].Took)/float64(time.Millisecond))
		}
	}
	f := domain.Finding{Name: "beside the planner", Beside: "planner", Note: fmt.Sprintf("The planner gets a "+
		"query of at most %d nodes between the ends of each of the first %d samples. Medians over motions.",
		plannedNodes, n)}
	share := float64(len(took)) / float64(n)
	f.Measures = []domain.Measure{compared("motions found", "", metric.NaN, metric.Float(share))}
	f.Verdict = fmt.Sprintf("the planner finds %s of the motions", text.Percent(share))
	if len(took) == 0 {
		return []domain.Finding{f}
	}
	mine, its := g.paces(x), g.paces(planned)
	for k, name := range []string{"way of the joints, rad or m", "change of step over step"} {
		f.Measures = append(f.Measures, compared(name, "", metric.Float(metric.Median(mine[k])),
			metric.Float(metric.Median(its[k]))))
	}
	f.Measures = append(f.Measures, compared("time to plan one", "ms", metric.NaN, metric.Float(metric.Median(took))))
	if g.modes != nil {
		most := func(x []float64) metric.Float {
			return metric.Float(slices.Max(counts(g.of(x), len(g.modes)))) / metric.Float(g.rows(x))
		}
		f.Measures = append(f.Measures, compared("share of the commonest mode", "", most(x), most(planned)))
	}
	if share == 1 && f.Measures[1].Data <= f.Measures[1].Samples {
		f.Verdict += ", by ways that are no longer: where any motion will do, it serves as well alone"
	}
	return []domain.Finding{f}
}
