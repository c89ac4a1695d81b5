// Ellipse makes the data of the example, points on arcs of ellipses whose semi-axis and floor are given with each, and
// draws samples under a few conditions beside new draws of the data's own law.
//
//	go run ./examples/ellipse                    # makes data.npy
//	go run ./examples/ellipse -draw samples.npy  # makes picture.png
package main

import (
	"fmt"
	"image/color"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/examples/internal/program"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// density of the angle θ of (a cos θ, sin θ), at most about 1: two bumps that turn with a.
func density(θ, a float64) float64 {
	turn := math.Pi * (a - 0.5)
	return 0.7*math.Exp(4*(math.Cos(θ-turn)-1)) + 0.6*math.Exp(12*(-math.Cos(θ-turn)-1))
}

// point writes (x_0, x_1, a, floor) with an angle of that density above the floor, a function of the seed and i.
func point(dst []float64, a, floor float64, seed uint64, i int) {
	u := make([]float64, 2)
	for try := uint64(1); ; try++ {
		keyed.OwnData.Stream(seed, try).Uniforms(u, uint64(i), 0)
		θ := 2 * math.Pi * u[0]
		if math.Sin(θ) >= floor && u[1] < density(θ, a)/1.1 {
			dst[0], dst[1], dst[2], dst[3] = a*math.Cos(θ), math.Sin(θ), a, floor
			return
		}
	}
}

// points are n of them, a uniform from 0.5 to 2 and the floor from −0.9 to −0.2.
func points(n int, seed uint64) []float64 {
	x, u := make([]float64, 4*n), make([]float64, 2)
	for i := range n {
		keyed.OwnData.Stream(seed, 0).Uniforms(u, uint64(i), 0)
		point(x[4*i:4*i+4], 0.5+1.5*u[0], -0.9+0.7*u[1], seed, i)
	}
	return x
}

// angles of points.
func angles(x []float64) (θ []float64) {
	for i := 0; i < len(x); i += 4 {
		θ = append(θ, math.Atan2(x[i+1], x[i]/x[i+2]))
	}
	return θ
}

// compare prints, condition by condition, how far samples are from Σ and whether their
// angles have the law of new draws, and draws both.
func compare(_, samples []float64) (*figure.Chart, error) {
	var layers []figure.PointLayer
	for at := 0; at < len(samples); {
		end := at
		for end < len(samples) && samples[end+2] == samples[at+2] && samples[end+3] == samples[at+3] {
			end += 4
		}
		own := samples[at:end]
		a, floor, worst := own[2], own[3], 0.0
		fresh := make([]float64, len(own))
		for i := 0; i < len(own); i += 4 {
			point(fresh[i:i+4], a, floor, 2, i/4)
			x, y := own[i], own[i+1]
			worst = max(worst, math.Abs(x*x/(a*a)+y*y-1), floor-y)
		}
		d, p := metric.KolmogorovTest(angles(own), angles(fresh))
		fmt.Printf("a = %.2f, floor = %.2f: worst violation %.1g, angles against %d new draws: D = %.3f, p = %.2f\n", a,
			floor, worst, len(fresh)/4, d, p)
		name, hue := fmt.Sprintf("a = %.2f, floor %.2f", a, floor), colors[len(layers)/2%len(colors)]
		layers = append(layers, figure.PointLayer{Name: name, Points: rows(own, 0), Radius: 1.2, Color: hue})
		layers = append(layers, figure.PointLayer{Points: rows(fresh, 2.4), Radius: 1.2,
			Name: name + ", new draws of the law", Color: hue})
		at = end
	}
	return figure.Scatter(figure.ScatterOptions{}, 2, layers...), nil
}

// colors of conditions.
var colors = []color.Color{color.RGBA{0, 98, 115, 255}, color.RGBA{199, 84, 35, 255}, color.RGBA{98, 75, 160, 255},
	color.RGBA{60, 130, 70, 255}}

// rows returns the points in the plane, moved down.
func rows(x []float64, down float64) (out []float64) {
	for i := 0; i < len(x); i += 4 {
		out = append(out, x[i], x[i+1]-down)
	}
	return out
}

var example = program.Example{
	Name: "ellipse", Points: 6000, Dim: 4, Draw: compare,
	Make: func(n int, seed uint64) ([]float64, error) { return points(n, seed), nil },
}

func main() { example.Main() }
