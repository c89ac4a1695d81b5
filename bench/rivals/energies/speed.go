package main

import (
	"fmt"
	"math"
	"time"

	"github.com/landing-diffusion/landing/molecule/amber"
)

// measure returns the least time of a million, in seconds.
func measure(what string, field *amber.ForceField, x0 []float64, seconds float64) (float64, error) {
	if what != "energies" {
		return 0, fmt.Errorf("-speed is %q; want energies or steps", what)
	}
	e, grad, best := field.NewEvaluator(), make([]float64, field.Dim()), math.Inf(1)
	const count = 2000
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		begin := time.Now()
		for range count {
			e.Energy(grad, x0)
		}
		best = min(best, time.Since(begin).Seconds()/count*1e6)
	}
	return best, nil
}
