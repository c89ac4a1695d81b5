package verdict

import (
	"flag"
	"image/color"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/verdict.md anew")

// Each picture of docs/verdict.md shows samples with one planted fault, and the verdict finds it. The law has a ring
// with 70 % of the mass and a narrow mode beside it.
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
		{Blur, grid, func(x, _ []float64) []float64 {
			return at(x, func(i int, p []float64) {
				p[0] += 0.07 * math.Sin(float64(i)*1.3)
				p[1] += 0.07 * math.Cos(float64(i)*2.1)
			})
		}},
	} {
		x, held, train := c.law.draw(n, 5, 0), c.law.draw(n/4, 5, 1), c.law.draw(2*n, 5, 2)
		x = c.plant(x, train)
		e := evidence(x, held, train, 2, n/2, 5, 1e-9)
		found := Of(e).Findings
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == c.code }) {
			t.Errorf("%s is not found: %v", c.code, found)
		}
		if !*pictures {
			continue
		}
		file := testkit.Must(os.Create("../../docs/images/verdict-" + string(c.code) + ".png"))
		shown, radius := n, 2.6
		if c.code == Copies {
			shown, radius = 100, 4.5
		}
		chart := figure.Scatter(figure.ScatterOptions{}, 2,
			figure.PointLayer{Name: "data", Points: train[:2*shown], Color: color.Gray{Y: 170}, Radius: radius},
			figure.PointLayer{Name: "samples", Points: x[:2*shown], Radius: 1.3})
		testkit.OK(t, chart.WritePNG(file, 480))
		testkit.OK(t, file.Close())
	}
}
