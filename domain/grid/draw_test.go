package grid_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/grid"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Rows are states within all limits, with the spreads that were asked for, and the same at any number of workers.
func TestDraw(t *testing.T) {
	g := testkit.Must(grid.Read("testdata/small.m"))
	draw := grid.Draw{Grid: g, Count: 400, Seed: 3, Loads: 0.1, Generation: 0.05, Voltage: 0.003}
	one := testkit.Must(draw.Run(context.Background(), testkit.Pool(t, 1)))
	two := testkit.Must(draw.Run(context.Background(), testkit.Pool(t, 3)))
	testkit.EqualSlices(t, one.X, two.X)
	testkit.Equal(t, one.Flows, two.Flows)
	rejected := 0
	for _, n := range one.Violated {
		rejected += n
	}
	testkit.Equal(t, one.Flows, draw.Count+rejected)
	keep := func(d *grid.Drawn) {
		testkit.Keep(t, "%d load flows, loads %v, violated %v", d.Flows, d.Loads, d.Violated)
		for row := range slices.Chunk(d.X[:min(len(d.X), 6*d.Set.Dim())], d.Set.Dim()) {
			testkit.Keep(t, "%.9f", row)
		}
	}
	keep(one)
	m, c := len(one.Set.Equalities()), len(constraint.Components(one.Set))
	for v := range slices.Chunk(constraint.Values(one.Set, one.X), c) {
		if worst, at := constraint.Worst(v, m); worst > 1e-11 {
			t.Fatalf("%s is off by %v", constraint.Components(one.Set)[at], worst)
		}
	}
	for _, col := range []struct {
		name       string
		mean, sd   float64
		relativeSD float64
	}{{"Pd_30", 0.45, 0.045, 0.15}, {"Qd_30", 0.15, 0.015, 0.15}} {
		values := metric.Column(one.X, slices.Index(one.Set.Names, col.name), one.Set.Dim())
		sum, squares := 0.0, 0.0
		for _, v := range values {
			sum, squares = sum+v/400, squares+v*v/400
		}
		testkit.Near(t, sum, col.mean, 0.01, col.name)
		testkit.Near(t, math.Sqrt(squares-sum*sum), col.sd, col.relativeSD*col.sd, col.name) // 4 standard errors
	}
	g.Buses[0].VMin, g.Buses[0].VMax = 1.02, 1.02 // an equality
	draw.Count = 20
	held := testkit.Must(draw.Run(context.Background(), testkit.Pool(t, 1)))
	testkit.Near(t, held.X[0], 1.02, 1e-11)
	keep(held)
	draw.Count, draw.Loads = 3, 0
	fixed := testkit.Must(draw.Run(context.Background(), testkit.Pool(t, 1)))
	testkit.Equal(t, fixed.Set.Loads, 0)
	keep(fixed)
	draw.Loads, draw.Generation, draw.Voltage = 0.5, 0.3, 0.05
	keep(testkit.Must(draw.Run(context.Background(), testkit.Pool(t, 1))))
	draw.Loads, draw.Generation, draw.Voltage = 0.1, 0.05, 0.01
	for _, rate := range []float64{0.7, 0.6, 0.52, 0.45} { // the less room, the longer the search
		for i := range g.Branches {
			g.Branches[i].Rate = rate
		}
		if d, err := draw.Run(context.Background(), testkit.Pool(t, 1)); err != nil {
			testkit.Keep(t, "%v: %v", rate, err)
		} else {
			keep(d)
		}
	}
	draw.Loads = 1
	g.Buses[0].Max.P, g.Buses[1].Max.P = 0.2, 0.1 // less than the loads
	testkit.Refused(t, testkit.Err(draw.Run(context.Background(), testkit.Pool(t, 1))), "found none")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	testkit.Refused(t, testkit.Err(draw.Run(ctx, testkit.Pool(t, 1))), context.Canceled.Error())
}
