package main

import (
	"context"
	"fmt"
	"io"

	"github.com/landing-diffusion/landing/internal/testkit/law"
	"github.com/landing-diffusion/landing/langevin"
)

// walls prints, for elastic walls and the paper's (with ε = 0.5 of a step's length),
// the mean of a number that is uniform on [0, 1] and the share of states in the twentieth
// of the law next to a wall, as chains from exact draws keep them.
func walls(ctx context.Context, w io.Writer, o options) error {
	var runs []law.Run
	for _, m := range []langevin.Method{langevin.ULLA, langevin.ULLAP} {
		for _, γ := range []float64{0.2, 1, 10, 100} { // γτ from 0.01 to 10
			for _, τ := range []float64{0.1, 0.05, 0.025} {
				if m == langevin.ULLA || τ == 0.05 {
					runs = append(runs, law.Run{Method: m, Tau: τ, Friction: γ})
				}
			}
		}
	}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.OLLAP} {
		for _, τ := range []float64{0.01, 0.005, 0.0025} {
			if m == langevin.OLLA || τ == 0.005 {
				runs = append(runs, law.Run{Method: m, Tau: τ})
			}
		}
	}
	for _, b := range law.AllWalled() {
		for _, r := range runs {
			fmt.Fprintf(w, "%s, %v τ=%v γ=%v:", b.Name, r.Method, r.Tau, r.Friction)
			for _, walls := range []langevin.Walls{langevin.ElasticWalls, langevin.PaperWalls} {
				r.Walls, r.Repulsion = walls, r.Length()/2
				r.Count, r.Step, r.Seed = o.pick(400, 20), o.pick(4, 1), 7
				c := law.Chain{Run: r, Burn: o.pick(800, 4), Keep: o.pick(150, 2)}
				m, err := c.Stationary(ctx, b, o.pool)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "  %v mean %.4f ± %.4f edge %.4f ± %.4f",
					walls, m.Mean, m.MeanError, m.Edge, m.EdgeError)
				if n := m.Report.TurnedBack; n > 0 {
					fmt.Fprintf(w, " turned back %d of %d", n, n+m.Report.Reflected)
				}
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}
