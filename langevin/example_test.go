package langevin_test

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
)

// Sampling the von Mises–Fisher law exp(κ z) on the sphere, whose mean height is coth κ − 1/κ.
func ExampleChains() {
	const κ = 3
	process := &langevin.Process{
		Set:       zoo.Sphere{D: 3},
		Friction:  1,
		Potential: langevin.Linear{B: []float64{0, 0, κ}},
		Schedule:  langevin.Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1},
	}
	start, err := langevin.Start(context.Background(), process, 50, 1)
	if err != nil {
		panic(err)
	}
	pool := parallel.New(0)
	defer pool.Close()
	chains := langevin.Chains{Process: process, Symmetric: true, Count: 50, Burn: 100, Keep: 3000, Seed: 1}
	draws, err := chains.Run(context.Background(), pool, start)
	if err != nil {
		panic(err)
	}
	mean := 0.0
	for _, chain := range draws.Series(2) {
		for _, z := range chain {
			mean += z / (50 * 3000)
		}
	}
	fmt.Printf("mean height %.2f, exactly %.2f\n", mean, 1/math.Tanh(κ)-1.0/κ)
	// Output: mean height 0.67, exactly 0.67
}
