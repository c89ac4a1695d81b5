package langevin

import (
	"flag"
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
