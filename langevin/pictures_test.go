package langevin

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/diffusion.md and docs/landing.md anew")

// The pictures of the pages that explain the method show what the pages say: paths spread over Σ, landing keeps their
// violation small, and elastic walls keep a uniform law where the paper's walls gather points.
func TestPictures(t *testing.T) {
	pool := testkit.Pool(t, 0)
	draw := func(name string, chart *figure.Chart) {
		if *pictures {
			file := testkit.Must(os.Create("../docs/images/" + name + ".png"))
			testkit.OK(t, chart.WritePNG(file, 640))
			testkit.OK(t, file.Close())
		}
	}
	run := func(p *Process, x0 []float64) *Paths {
		var paths Paths
		testkit.Must(NewSimulator(p, pool, 64).Tolerate().Forward(t.Context(), &paths, x0, 1, 0))
		return &paths
	}
	at := func(p *Paths, k int) (x []float64) {
		for i := range p.Count {
			x = append(x, p.At(i, k)...)
		}
		return x
	}

	// (x² + y²)² − 2(x² − y²) = 0.05: a closed curve with a narrow waist.
	curve := testkit.Must(zoo.NewCurve([]zoo.Term{{Coefficient: 1, X: 4}, {Coefficient: 2, X: 2, Y: 2},
		{Coefficient: 1, Y: 4}, {Coefficient: -2, X: 2}, {Coefficient: 2, Y: 2}, {Coefficient: -0.05}}))
	point := func(φ float64) (float64, float64) { // the curve in polar coordinates
		c := math.Cos(2 * φ)
		r := math.Sqrt(c + math.Sqrt(c*c+0.05))
		return r * math.Cos(φ), r * math.Sin(φ)
	}
	var all, x0 []float64
	for i := range 2000 {
		a, b := point(2 * math.Pi * float64(i) / 2000)
		all = append(all, a, b)
	}
	for i := range 300 {
		a, b := point(0.25 + 0.1*math.Sin(float64(i)))
		x0 = append(x0, a, b)
	}
	p := &Process{Set: curve, Method: ULLA, Friction: 5, Schedule: Schedule{N: 100, T: 2, SigmaMin: 0.3, SigmaMax: 2}}
	paths := run(p, x0)
	draw("forward", figure.Scatter(figure.ScatterOptions{Axes: []string{"x", "y"}}, 2,
		figure.PointLayer{Name: "the set Σ", Points: all, Color: color.Gray{Y: 215}, Radius: 1},
		figure.PointLayer{Name: "data, step 0", Points: at(paths, 0), Radius: 2.6},
		figure.PointLayer{Name: "step 50", Points: at(paths, 50), Radius: 1.8},
		figure.PointLayer{Name: "step 100", Points: at(paths, 100), Radius: 1.8}))
	if left := slices.Collect(func(yield func(float64) bool) {
		for i := range paths.Count {
			if v := paths.At(i, 100)[0]; v < 0 && !yield(v) {
				return
			}
		}
	}); len(left) < 30 {
		t.Errorf("%d of 300 paths reached the other half of the curve", len(left))
	}

	// One step from the same point with the same noise: along the tangent alone, and landed.
	long := Schedule{N: 1, T: 1, SigmaMin: 0.25, SigmaMax: 0.25}
	a, b := point(0.12)
	from := slices.Repeat([]float64{a, b}, 12)
	step := func(landing Landing) []float64 {
		return at(run(&Process{Set: curve, Method: OLLA, Schedule: long, Landing: landing, NoTerminal: true}, from), 1)
	}
	moved, landed := step(Landing{Explicit: true, Rate: 1e-9}), step(Landing{})
	var piece []float64
	for i := 0; i < len(all); i += 2 {
		if math.Hypot(all[i]-a, all[i+1]-b) < 0.6 {
			piece = append(piece, all[i], all[i+1])
		}
	}
	draw("step", figure.Scatter(figure.ScatterOptions{Axes: []string{"x", "y"}}, 2,
		figure.PointLayer{Name: "the set Σ", Points: piece, Color: color.Gray{Y: 200}, Radius: 1.4},
		figure.PointLayer{Name: "after the tangential move", Points: moved, Radius: 2.6},
		figure.PointLayer{Name: "after landing", Points: landed, Radius: 2.6},
		figure.PointLayer{Name: "before the step", Points: from[:2], Radius: 4.5}))
	farthest := func(x []float64) (most float64) {
		for i := 0; i < len(x); i += 2 {
			most = max(most, math.Abs(constraint.Values(curve, x[i:i+2])[0]))
		}
		return most
	}
	if off, on := farthest(moved), farthest(landed); !(on < off/4) {
		t.Errorf("after a step |h| is at most %.2g, after landing %.2g", off, on)
	}

	// Two modes on the circle, with the exact score: of a wrapped normal law each.
	circle := &Process{Set: zoo.Sphere{D: 2}, Method: OLLA,
		Schedule: Schedule{N: 200, T: 4, SigmaMin: 0.1, SigmaMax: 1.5}}
	modes, start := [2]float64{-1, 1.2}, [2]float64{0.04, 0.01} // angles, variances
	passed := make([]float64, circle.Schedule.N+1)
	for k := range circle.Schedule.N {
		passed[k+1] = passed[k] + circle.Schedule.Tau(k)
	}
	score := scoreFunc(func(dst, x, _ []float64, t float64) {
		q, dq := 0.0, 0.0
		for m := -12; m <= 12; m++ {
			for i, mode := range modes {
				v := start[i] + passed[int(math.Round(t/circle.Schedule.Dt()))]
				u := math.Atan2(x[1], x[0]) - mode + 2*math.Pi*float64(m)
				w := math.Exp(-u*u/(2*v)) / math.Sqrt(v)
				q, dq = q+w, dq-u/v*w
			}
		}
		dst[0], dst[1] = -2*dq/q*x[1], 2*dq/q*x[0]
	})
	const count = 4000
	samples, failed := make([]float64, 2*count), make([]bool, count)
	prior, _ := UniformPrior(circle)
	testkit.Must(NewSimulator(circle, pool, 64).Backward(t.Context(), samples, failed, 0, 1, prior,
		func(int) Score { return score }))
	var data []float64
	for i := range count {
		φ := modes[i%2] + math.Sqrt(start[i%2])*math.Sqrt2*math.Erfinv((2*float64(i)+1)/count-1)
		data = append(data, math.Cos(φ), math.Sin(φ))
	}
	angles := func(x []float64) (degrees []float64) {
		for i := 0; i < len(x); i += 2 {
			degrees = append(degrees, math.Atan2(x[i+1], x[i])*180/math.Pi)
		}
		return degrees
	}
	noise := angles(at(run(circle, data), circle.Schedule.N))
	draw("backward", figure.Histogram(figure.HistogramOptions{XLabel: "angle on the circle, degrees", Lo: -180, Hi: 180,
		Bins: 60}, figure.Column{Name: "end of the forward walk", Values: noise},
		figure.Column{Name: "samples", Values: angles(samples)},
		figure.Column{Name: "data", Values: angles(data), Thin: true}))
	between := 0
	for _, φ := range angles(samples) {
		if φ < -110 || φ > 110 {
			between++
		}
	}
	if between > count/100 {
		t.Errorf("%d of %d samples are between the modes", between, count)
	}

	// Walks in a square meet its walls.
	room := &Process{Set: testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 1})), Method: ULLA, Friction: 1,
		Schedule: Schedule{N: 60, T: 3, SigmaMin: 1, SigmaMax: 1}}
	walks := run(room, slices.Repeat([]float64{0.5, 0.5}, 3))
	var tracks []figure.Series
	for i := range walks.Count {
		s := figure.Series{Name: fmt.Sprint("walk ", i+1)}
		for k := range room.Schedule.N + 1 {
			p := walks.At(i, k)
			s.X, s.Y = append(s.X, p[0]), append(s.Y, p[1])
			if min(p[0], p[1]) < 0 || max(p[0], p[1]) > 1 {
				t.Errorf("walk %d leaves the square at step %d: %v", i, k, p)
			}
		}
		tracks = append(tracks, s)
	}
	tracks = append(tracks, figure.Series{Name: "the walls", X: []float64{0, 1, 1, 0, 0}, Y: []float64{0, 0, 1, 1, 0}})
	draw("mirror", figure.Lines(figure.LineOptions{XLabel: "x", YLabel: "y"}, tracks...))

	series := func(name string, p *Process) figure.Series {
		p.NoTerminal = true
		paths, out := run(p, x0), figure.Series{Name: name}
		for k := 1; k <= p.Schedule.N; k++ {
			mean := 0.0
			for i := range paths.Count {
				mean += math.Abs(constraint.Values(curve, paths.At(i, k))[0]) / float64(paths.Count)
			}
			out.X, out.Y = append(out.X, float64(k)), append(out.Y, mean)
		}
		return out
	}
	slow := Schedule{N: 100, T: 1, SigmaMin: 0.5, SigmaMax: 0.5}
	overdamped := &Process{Set: curve, Method: OLLA, Schedule: slow}
	tangent := &Process{Set: curve, Method: OLLA, Schedule: slow, Landing: Landing{Explicit: true, Rate: 1e-9}}
	underdamped := &Process{Set: curve, Method: ULLA, Friction: 5, Schedule: slow}
	lines := []figure.Series{series("tangential steps alone", tangent), series("OLLA with landing", overdamped),
		series("ULLA with landing", underdamped)}
	draw("landing", figure.Lines(figure.LineOptions{XLabel: "step", YLabel: "mean |h(x)|", LogY: true}, lines...))
	if off, landed := lines[0].Y[99], lines[1].Y[99]; !(landed < off/10) {
		t.Errorf("mean |h| is %.2g with landing and %.2g without", landed, off)
	}

	var columns []figure.Column
	var edges []float64
	for _, walls := range []Walls{ElasticWalls, PaperWalls} {
		box := testkit.Must(zoo.NewBox([]float64{0}, []float64{1}))
		p := &Process{Set: box, Method: ULLA, Friction: 5, Walls: walls,
			Schedule: Schedule{N: 200, T: 10, SigmaMin: 1, SigmaMax: 1}, Repulsion: 0.01}
		var x0 []float64
		for i := range 4000 {
			x0 = append(x0, (float64(i)+0.5)/4000)
		}
		x := at(run(p, x0), 200)
		edge := 0.0
		for _, v := range x {
			if v < 0.05 || v > 0.95 {
				edge += 1 / float64(len(x))
			}
		}
		edges = append(edges, edge)
		columns = append(columns, figure.Column{Name: map[Walls]string{ElasticWalls: "elastic walls",
			PaperWalls: "the paper's walls"}[walls], Values: x})
	}
	draw("walls", figure.Histogram(figure.HistogramOptions{XLabel: "x", Lo: 0, Hi: 1, Bins: 20}, columns...))
	// Of 4000 uniform points a tenth is within 0.05 of a wall: 0.1 ± 0.0047 (5 standard errors: rate 6·10⁻⁷).
	if math.Abs(edges[0]-0.1) > 0.024 || edges[1] < 0.14 {
		t.Errorf("next to the walls: %.3f with elastic walls, %.3f with the paper's; expected 0.1", edges[0], edges[1])
	}
}
