// Torus-hole makes the data of the example, a stripe that winds around a torus with
// a hole, and draws the samples of a run beside it.
//
//	go run ./examples/torus-hole                                       # makes data.npy
//	go run ./examples/torus-hole -draw runs/torus-hole-001/samples.npy # makes picture.png
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/examples/internal/program"
	"github.com/landing-diffusion/landing/judge/figure"
)

var torus = zoo.Torus{Major: 2, Minor: 0.8}

// The hole is what a ball takes out.
var (
	center = [3]float64{1.8, -1.8, 0.6}
	radius = 0.8
)

func inHole(x []float64) bool {
	return math.Hypot(math.Hypot(x[0]-center[0], x[1]-center[1]), x[2]-center[2]) < radius
}

// density is at most 1: a stripe along the torus knot 3θ = 2φ, over a faint ground.
func density(x []float64) float64 {
	const sharpness, ground = 4, 0.15
	θ, φ := torus.Angles(x)
	return ground + (1-ground)*math.Exp(sharpness*(math.Cos(3*θ-2*φ)-1))
}

// points returns n independent points of the density by rejection from the uniform
// law. Point i is a function of the seed and i.
func points(n int, seed uint64) []float64 {
	x := make([]float64, 3*n)
	accept := make([]float64, 1)
	for i := range n {
		xi := x[3*i : 3*i+3]
		for try := uint64(0); ; try++ {
			s := keyed.OwnData.Stream(seed, 2*try)
			torus.SampleUniform(xi, s, uint64(i))
			keyed.OwnData.Stream(seed, 2*try+1).Uniforms(accept, uint64(i), 0)
			if !inHole(xi) && accept[0] < density(xi) {
				break
			}
		}
	}
	return x
}

var view = [3]float64{0.8, -1.4, 1.6} // direction to the viewer

// draw shows data and samples side by side, on the side of the hole.
func draw(data, samples []float64) *figure.Chart {
	return figure.Space(
		figure.SpaceOptions{From: view},
		figure.SpaceLayer{Name: "data in sight", Points: inSight(data)},
		figure.SpaceLayer{Name: "samples in sight", Points: inSight(samples)},
	)
}

// inSight returns the points where the outer normal ∇h turns to the viewer.
func inSight(x []float64) (out []float64) {
	n := len(x) / 3
	h, normal := make([]float64, n), make([]float64, 3*n)
	torus.Jacobians(h, normal, x, n)
	for i := 0; i < 3*n; i += 3 {
		if view[0]*normal[i]+view[1]*normal[i+1]+view[2]*normal[i+2] > 0 {
			out = append(out, x[i:i+3]...)
		}
	}
	return out
}

// stripe returns the mean of cos(3θ − 2φ), which is 1 on the stripe's axis and has
// mean 0 for points spread evenly in θ, and its standard error.
func stripe(x []float64) (mean, standardError float64) {
	wave := make([]float64, len(x)/3)
	for i := range wave {
		θ, φ := torus.Angles(x[3*i : 3*i+3])
		wave[i] = math.Cos(3*θ - 2*φ)
	}
	mean, sd := stat.MeanStdDev(wave, nil)
	return mean, sd / math.Sqrt(float64(len(wave)))
}

// compare prints how far data and samples follow the stripe, and draws them.
func compare(data, samples []float64) (*figure.Chart, error) {
	for i, x := range [][]float64{data, samples} {
		mean, standardError := stripe(x)
		fmt.Printf("%-8s mean of cos(3θ − 2φ) %.3f ± %.3f\n", []string{"data", "samples"}[i], mean, standardError)
	}
	return draw(data, samples), nil
}

var example = program.Example{
	Name: "torus-hole", Points: 8000, Dim: 3, Draw: compare,
	Make: func(n int, seed uint64) ([]float64, error) { return points(n, seed), nil },
}

func main() { example.Main() }
