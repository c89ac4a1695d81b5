package verdict

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/verdict.md anew")

// Each picture of docs/verdict.md shows one planted fault, and the verdict finds it. The law has a ring with 70 % of
// the mass and a narrow mode beside it.
func TestPictures(t *testing.T) {
	ring := law{"ring and mode", 2, func(x, z, u []float64) {
		if u[0] < 0.3 {
			x[0], x[1] = 3.2+0.25*z[0], 0.25*z[1]
			return
		}
		r, φ := 1.5+0.12*z[0], 2*math.Pi*u[1]
		x[0], x[1] = r*math.Cos(φ), r*math.Sin(φ)
	}}
	grid := law{"narrow modes", 2, func(x, z, u []float64) {
		x[0], x[1] = math.Floor(4*u[0])/2+0.05*z[0], math.Floor(4*u[1])/2+0.05*z[1]
	}}
	wells := law{"nine modes in a plane, and more numbers", 6, func(x, z, u []float64) {
		x[0], x[1] = 3*math.Floor(3*u[0])+0.3*z[0], 3*math.Floor(3*u[1])+0.3*z[1]
		x[2], x[3], x[4], x[5] = 4*u[2], 4*u[3], z[2], z[3]
	}}
	wall := law{"half plane", 2, func(x, z, _ []float64) { x[0], x[1] = math.Abs(z[0]), z[1] }}
	const n = 1000
	at := func(x []float64, f func(i int, p []float64)) []float64 {
		for i := range len(x) / 2 {
			f(i, x[2*i:2*i+2])
		}
		return x
	}
	for _, c := range []struct {
		code  Code
		law   law
		plant func(x, train []float64) []float64
	}{
		{Stray, ring, func(x, _ []float64) []float64 {
			return at(x, func(i int, p []float64) {
				if i%10 == 0 { // between the ring and its centre
					r, φ := 0.9*math.Sqrt(math.Mod(float64(i)*0.0414, 1)), 2*math.Pi*math.Mod(float64(i)*0.0618, 1)
					p[0], p[1] = r*math.Cos(φ), r*math.Sin(φ)
				}
			})
		}},
		{MissedMode, ring, func(x, _ []float64) []float64 {
			return at(x, func(i int, p []float64) {
				if p[0] > 2.4 {
					φ := 2 * math.Pi * math.Mod(float64(i)*0.618, 1)
					r := 1.5 + 0.12*math.Sin(float64(3*i))
					p[0], p[1] = r*math.Cos(φ), r*math.Sin(φ)
				}
			})
		}},
		{Copies, ring, func(x, train []float64) []float64 { return slices.Clone(train[:2*n]) }},
		{Walls, wall, func(x, _ []float64) []float64 {
			return at(x, func(i int, p []float64) {
				if i%6 == 0 {
					p[0] = 0
				}
			})
		}},
		{Spread, ring, func(x, _ []float64) []float64 {
			return at(x, func(_ int, p []float64) { p[0], p[1] = 1.35*p[0], 1.35*p[1] })
		}},
		{Observables, ring, func(x, _ []float64) []float64 {
			return at(x, func(_ int, p []float64) { p[1] += 0.35 })
		}},
		{Planes, wells, func(x, _ []float64) []float64 {
			for i := 0; i < len(x); i += 36 { // a sixth of the samples between two modes
				k := i / 36 % 2
				x[i+k] = 6 * math.Mod(float64(i)*0.0618, 1)
			}
			return x
		}},
		{Blur, grid, func(x, _ []float64) []float64 {
			return at(x, func(i int, p []float64) {
				p[0] += 0.07 * math.Sin(float64(i)*1.3)
				p[1] += 0.07 * math.Cos(float64(i)*2.1)
			})
		}},
	} {
		x, held, train := c.law.draw(n, 5, 0), c.law.draw(n/4, 5, 1), c.law.draw(2*n, 5, 2)
		x = c.plant(x, train)
		e := evidence(x, held, train, c.law.d, n/2, 5, 1e-9)
		found := judged(t, e).Findings
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == c.code }) {
			t.Errorf("%s is not found: %v", c.code, found)
		}
		if c.code == Copies {
			drawn(t, c.code, points("data", train[:200], "samples", x[:200], 4.5))
			continue
		}
		first := func(x []float64) []float64 {
			return rowsOf([][]float64{metric.Column(x, 0, c.law.d)[:n], metric.Column(x, 1, c.law.d)[:n]})
		}
		drawn(t, c.code, points("data", first(train), "samples", first(x), 2.6))
	}
	for _, c := range planted(t, ring, n) {
		if v := judged(t, c.evidence); !v.Has(c.code) {
			t.Errorf("%s is not found: %v", c.code, v.Findings)
		}
		drawn(t, c.code, c.chart)
	}
}

func drawn(t *testing.T, c Code, chart *figure.Chart) {
	if !*pictures {
		return
	}
	file := testkit.Must(os.Create("../../docs/images/verdict-" + string(c) + ".png"))
	testkit.OK(t, chart.WritePNG(file, 480))
	testkit.OK(t, file.Close())
}

func points(grey string, x []float64, red string, y []float64, radius float64, axes ...string) *figure.Chart {
	return figure.Scatter(figure.ScatterOptions{Axes: axes}, 2,
		figure.PointLayer{Name: grey, Points: x, Color: color.Gray{Y: 170}, Radius: radius},
		figure.PointLayer{Name: red, Points: y, Radius: radius / 2})
}

type example struct {
	code     Code
	evidence Evidence
	chart    *figure.Chart
}

// planted are faults that are not of samples alone, each with what a report would hand to the verdict.
func planted(t *testing.T, ring law, n int) (out []example) {
	add := func(c Code, e Evidence, chart *figure.Chart) { out = append(out, example{c, e, chart}) }
	held, train := ring.draw(n/4, 5, 1), ring.draw(2*n, 5, 2)
	good := ring.draw(n, 5, 0)

	circle := law{"circle", 2, func(x, z, u []float64) { x[0], x[1] = math.Cos(7*u[0]), math.Sin(7*u[0]) }}
	off := law{"off it", 2, func(x, z, u []float64) {
		x[0], x[1] = (1+0.07*z[0])*math.Cos(7*u[0]), (1+0.07*z[0])*math.Sin(7*u[0])
	}}
	x, rows := off.draw(n/2, 5, 0), circle.draw(2*n, 5, 2)
	e := evidence(x, circle.draw(n/4, 5, 1), rows, 2, n/4, 5, 1e-9)
	e.Violation = "radius is violated by 0.2"
	add(Violation, e, points("data", rows[:n], "samples", x, 2.6))

	var kept []float64
	for i := range n {
		if p := good[2*i : 2*i+2]; !(p[0] > -1 && p[0] < 0.6 && p[1] > 0.5) {
			kept = append(kept, p...)
		}
	}
	e = evidence(kept, held, train, 2, n/4, 5, 1e-9)
	e.Asked, e.Failed, e.MaxFailed = n, n-len(kept)/2, 0.01
	add(Failed, e, points("data", train[:2*n], "samples that were not lost", kept, 2.6))

	prior := circle.draw(n, 5, 3)
	ends := law{"ends", 2, func(x, z, _ []float64) { x[0], x[1] = math.Cos(z[0]), math.Sin(z[0]) }}.draw(n, 5, 4)
	e = evidence(good, held, train, 2, n/4, 5, 1e-9)
	e.Start = &Start{Prior: "uniform", Paths: n, Apart: Apart(prior, ends, 2),
		PValue: float64(metric.EnergyTest(prior, ends, 2, n/2, 999, 5).PValue)}
	for i := range ends {
		ends[i] *= 1.12 // beside the others, to be seen
	}
	add(StartLaw, e, points("ends of forward paths (drawn outside)", ends, "starts of generation", prior, 1.8))

	var traces []figure.Series
	var chains [][]float64
	for c := range 4 {
		z, s, line := circle.draw(300, uint64(c), 5), 2*float64(c%2)-1, figure.Series{Name: fmt.Sprint("chain ", c+1)}
		for k := range 300 {
			line.X, line.Y = append(line.X, float64(k)), append(line.Y, s+0.3*z[2*k])
		}
		traces, chains = append(traces, line), append(chains, line.Y)
	}
	e = evidence(good, held, train, 2, n/4, 5, 1e-9)
	if rhat := metric.SplitRhat(chains); rhat > 1.01 {
		e.Chains = fmt.Sprintf("split-R̂ is %.2f", rhat)
	}
	add(Chains, e, figure.Lines(figure.LineOptions{XLabel: "draw", YLabel: "x[0]"}, traces...))

	cross := func(sign float64) law {
		return law{"cross", 2, func(x, z, _ []float64) { x[0], x[1] = z[0], sign*0.7*z[0]+0.71*z[1] }}
	}
	x, rows = cross(-1).draw(n, 5, 0), cross(1).draw(2*n, 5, 2)
	e = evidence(x, cross(1).draw(n/4, 5, 1), rows, 2, n/4, 5, -9)
	add(AnotherLaw, e, points("data", rows[:2*n], "samples", x, 2.6))

	// Pairs (condition, number): the number is sin of twice the condition, and noise.
	angle := law{"angle", 1, func(x, _, u []float64) { x[0] = 4 * u[0] }}
	pairs := func(n int, amplitude, width float64, conditions, noise uint64) (x []float64) {
		c, z := angle.draw(n, 5, conditions), circle.draw(n, 5, noise)
		for i, v := range c {
			x = append(x, v, amplitude*math.Sin(2*v)+width*math.Cos(z[2*i])*z[2*i+1])
		}
		return x
	}
	rows = pairs(n/2, 1, 0.3, 6, 7)
	for i, x := range [][]float64{pairs(n/2, 0.4, 0.3, 6, 8), pairs(n/2, 1, 1.4, 6, 9)} {
		c := []Code{Condition, Nearby}[i]
		near := pairs(n/2, 1, 0.35, 6, 10)
		e = evidence(good, held, train, 2, n/4, 5, 1e-9)
		test := metric.PairedTest(x, rows, 2, n, 999, 5)
		_, p := metric.FartherTest(x, near, rows, 2, n, 9999, 5)
		e.Given = &Given{Test: test, Samples: x, Held: rows, Dim: 2, Nearby: &Retrieved{Rows: 150, PValue: p,
			Distance: float64(metric.PairedTest(near, rows, 2, n, 1, 5).Statistic)}}
		grey, y := "held-out rows", rows
		if c == Nearby {
			grey, y = "rows with near conditions", near
		}
		add(c, e, points(grey, y, "samples", x, 2.6, "condition", "x"))
	}

	ball := figure.Solid{A: [3]float64{0, 0.1}, B: [3]float64{0, 0.1}, Radius: 0.3}
	const strand, ways = 24, 40
	motions, touch := []float64{}, 0
	heights := law{"heights", 1, func(x, z, _ []float64) { x[0] = 0.62 + 0.15*z[0] }}.draw(ways, 5, 11)
	for _, h := range heights {
		hit := false
		for k := range strand {
			s := 2*float64(k)/(strand-1) - 1
			motions = append(motions, s, h*(1-s*s), 0)
			hit = hit || math.Hypot(s, h*(1-s*s)-0.1) < 0.3
		}
		if hit {
			touch++
		}
	}
	e = evidence(good, held, train, 2, n/4, 5, 1e-9)
	e.Kind = []KindFault{{fmt.Sprint(touch, " motions touch"), float64(touch) / ways}}
	add(KindOfData, e, figure.Tracks(figure.TracksOptions{Axes: [2]string{"x, m", "y, m"}, Across: [3]float64{1},
		Up: [3]float64{0, 1}, Solids: []figure.Solid{ball}}, figure.TrackLayer{Name: "samples, from above",
		Points: motions, Strand: strand}))

	few := ring.draw(200, 5, 13)
	near := metric.Median(metric.NearestDistances(held, few, 2))
	x = slices.Clone(few)
	for i, step := range circle.draw(200, 5, 12) {
		x[i] += 0.62 * near * step
	}
	add(Overfit, evidence(x, held, few, 2, n/4, 5, 1e-9), points("data", few, "samples", x, 3))

	fall := figure.Series{Name: "distance to held-out rows"}
	for k := range 12 {
		fall.X = append(fall.X, float64(10*k+10))
		fall.Y = append(fall.Y, 0.1+0.6*math.Exp(-float64(k)/8))
	}
	x = slices.Clone(good)
	for i := range x {
		x[i] = 1.4 * x[i]
	}
	e = evidence(x, held, train, 2, n/4, 5, 1e-9)
	e.Course = &Course{Epochs: 120, Highest: 1, Distances: fall.Y}
	add(TooShort, e, figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "distance"}, fall))
	return out
}
