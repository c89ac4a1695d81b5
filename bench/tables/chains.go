package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/testkit/law"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
)

// boundary prints the share of samples in the 5 % of the exact law next to an edge
// and the distance of the whole law, against ε in lengths of a step.
func boundary(ctx context.Context, w io.Writer, o options) error {
	for _, r := range []law.Run{
		{Method: langevin.OLLA, Tau: 0.005, Step: 1000},
		{Method: langevin.OLLA, Explicit: true, Tau: 0.005, Step: 1000},
		{Method: langevin.OLLAP, Tau: 0.005, Step: 1000},
		{Method: langevin.ULLA, Tau: 0.07, Friction: 143, Step: 600},
		{Method: langevin.ULLAP, Tau: 0.07, Friction: 143, Step: 600},
		{Method: langevin.ULLA, Tau: 0.07, Friction: 1, Step: 150},
	} {
		r.Walls, r.Count, r.Step, r.Seed = langevin.PaperWalls, o.pick(4000, 20), o.pick(r.Step, 5), 12
		for _, share := range []float64{0, 0.1, 0.25, 0.5, 1, 2} {
			r.Repulsion = share * r.Length()
			fmt.Fprintf(w, "%v explicit=%v τ=%v γ=%v ε=%.2f steps:", r.Method, r.Explicit, r.Tau, r.Friction, share)
			for _, b := range law.AllBounded(r.Temperature())[:3] {
				last, err := r.Last(ctx, b, o.pool)
				if err != nil {
					return err
				}
				u := last[b.N-1]
				fmt.Fprintf(w, "  %s %.3f (KS %.3f)", b.Name, law.Edge(u), law.Kolmogorov(u))
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// repulsion prints the distance to the uniform law on an interval against
// r = ρε/s, s being a step's length.
func repulsion(ctx context.Context, w io.Writer, o options) error {
	for _, c := range []law.Interval{
		{Method: langevin.OLLA, Tau: 0.0025, Rho: 1, Friction: 1},
		{Method: langevin.OLLA, Tau: 0.0025, Rho: 0.3, Friction: 1},
		{Method: langevin.ULLA, Tau: 0.05, Rho: 1, Friction: 1},
		{Method: langevin.ULLA, Tau: 0.05, Rho: 0.3, Friction: 1},
		{Method: langevin.ULLA, Tau: 0.05, Rho: 1, Friction: 10},
	} {
		for _, r := range []float64{0.01, 0.1, 0.3, 1, 3, 6} {
			distance, outside, err := c.Distance(ctx, r*c.Best(), o.pick(400, 4), o.pool)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%v ρ=%v γ=%v r=%v: distance %.4f, outside %.4f\n", c.Method, c.Rho, c.Friction, r,
				distance, outside)
		}
	}
	return nil
}

// offsets prints how far from SO(10) the paper's and the recipes' landing rates
// leave paths. (Where they start does not matter: left multiplication moves any
// point to any other and changes no |h|.)
func offsets(ctx context.Context, w io.Writer, o options) error {
	const n = 10
	count := o.pick(400, 4)
	group, err := zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true})
	if err != nil {
		return err
	}
	x0, h := make([]float64, count*n*n), make([]float64, n*(n+1)/2)
	for i := range count {
		group.SampleUniform(x0[i*n*n:(i+1)*n*n], keyed.OwnData.Stream(1, 0), uint64(i))
	}
	long := langevin.Schedule{N: 50, T: 2.5, SigmaMin: 0.2, SigmaMax: 2, Geometric: true}
	for _, c := range []struct {
		method   langevin.Method
		rate     float64 // 0: implicit
		schedule langevin.Schedule
	}{
		{langevin.ULLA, 15, long}, {langevin.ULLA, 10, long}, {langevin.ULLA, 7.5, long}, {langevin.ULLA, 5, long},
		{langevin.ULLA, 0, long}, {langevin.OLLA, 50, langevin.Schedule{N: 100, T: 1, SigmaMin: 0.2, SigmaMax: 2}},
	} {
		p := &langevin.Process{
			Set: group, Method: c.method, Friction: 10, Schedule: c.schedule,
			Landing: langevin.Landing{Explicit: c.rate != 0, Rate: c.rate},
		}
		var paths langevin.Paths
		if _, err := langevin.NewSimulator(p, o.pool, 64).
			Forward(ctx, &paths, x0, 1, keyed.TrainingPaths.At(0)); err != nil {
			return err
		}
		mean, crossed := 0.0, 0
		for i := range count {
			group.Values(h, paths.At(i, p.Schedule.N-1), 1)
			worst := 0.0
			for _, v := range h {
				worst = max(worst, math.Abs(v))
			}
			mean += worst / float64(count)
			if !group.Selects(paths.At(i, p.Schedule.N)) {
				crossed++
			}
		}
		fmt.Fprintf(w, "%v, α = %v (0: implicit), ρ = %.2f: mean of max |h| before the last step %.3f, %d paths with "+
			"det < 0\n",
			c.method, c.rate, c.rate*p.Schedule.Tau(p.Schedule.N-1), mean, crossed)
	}
	return nil
}
