// Stiefel makes the data of the example, three clusters on the Stiefel manifold
// V(5, 2), and draws the samples of a run beside it.
//
//	go run ./examples/stiefel                                    # makes data.npy
//	go run ./examples/stiefel -draw runs/stiefel-001/samples.npy # makes picture.png
package main

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/examples/internal/program"
	"github.com/landing-diffusion/landing/judge/figure"
)

const (
	rows, cols = 5, 2
	dim        = rows * cols
	κ          = 8.0 // concentration of each cluster
)

// weights are the shares of the clusters.
var weights = [3]float64{0.5, 0.3, 0.2}

// pairs returns n independent points of the mixture Σ_j w_j c exp(κ tr CⱼᵀX), whose parts are matrix Langevin laws (von
// Mises–Fisher on V(5, 2)), and the centres Cⱼ. Each point is found by rejection from the uniform law; tr CᵀX is at
// most 2. Point i is a function of the seed and i.
func pairs(n int, seed uint64) (x []float64, centres [3][]float64, err error) {
	set, err := zoo.NewStiefel(rows, cols)
	if err != nil {
		return nil, centres, err
	}
	for j := range centres {
		centres[j] = make([]float64, dim)
		set.SampleUniform(centres[j], keyed.OwnData.Stream(seed, 0), uint64(j))
	}
	x = make([]float64, n*dim)
	u := make([]float64, 1)
	for i := range n {
		xi := x[i*dim : (i+1)*dim]
		keyed.OwnData.Stream(seed, 1).Uniforms(u, uint64(i), 0)
		c := centres[cluster(u[0])]
		for try := uint64(1); ; try++ {
			set.SampleUniform(xi, keyed.OwnData.Stream(seed, 2*try), uint64(i))
			keyed.OwnData.Stream(seed, 2*try+1).Uniforms(u, uint64(i), 0)
			if u[0] < math.Exp(κ*(overlap(c, xi)-cols)) {
				break
			}
		}
	}
	return x, centres, nil
}

func cluster(u float64) int {
	for j, w := range weights {
		if u < w {
			return j
		}
		u -= w
	}
	return len(weights) - 1
}

// overlap is tr CᵀX: 2 where X = C.
func overlap(c, x []float64) (sum float64) {
	for i := range x {
		sum += c[i] * x[i]
	}
	return sum
}

// overlaps returns those with the three centres, n×3.
func overlaps(x []float64, centres [3][]float64) []float64 {
	var out []float64
	for i := 0; i < len(x); i += dim {
		for _, c := range centres {
			out = append(out, overlap(c, x[i:i+dim]))
		}
	}
	return out
}

// draw shows data and samples by their overlaps with the centres.
func draw(data, samples []float64, centres [3][]float64) *figure.Chart {
	return figure.Scatter(
		figure.ScatterOptions{Axes: []string{"tr C₁ᵀX", "tr C₂ᵀX", "tr C₃ᵀX"}}, 3,
		figure.PointLayer{Name: "data", Points: overlaps(data, centres)},
		figure.PointLayer{Name: "samples", Points: overlaps(samples, centres)},
	)
}

// example draws about the centres that its data were made with.
func example() program.Example {
	var centres [3][]float64
	return program.Example{
		Name: "stiefel", Points: 6000, Dim: dim,
		Make: func(n int, seed uint64) (x []float64, err error) {
			x, centres, err = pairs(n, seed)
			return x, err
		},
		Draw: func(data, samples []float64) (*figure.Chart, error) { return draw(data, samples, centres), nil },
	}
}

func main() { example().Main() }
