package check_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem/check"
)

// A unit circle written as a square: the doctor says why that cannot work.
func ExampleRun() {
	set, err := formula.New(formula.Spec{Dim: 2,
		Equality: []formula.Component{{Name: "circle", Expr: "(norm(x) - 1)^2"}}})
	if err != nil {
		panic(err)
	}
	process := &langevin.Process{
		Set: set, Method: langevin.ULLA, Friction: 5,
		Schedule: langevin.Schedule{N: 50, T: 2, SigmaMin: 0.1, SigmaMax: 1},
	}
	pool := parallel.New(0)
	defer pool.Close()
	report, err := check.Run(context.Background(), check.Input{Process: process, Seed: 1}, pool)
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		if f.Check == "gradient on Σ" {
			lines := strings.NewReplacer(": ", ":\n", ". ", ".\n").Replace(f.Message)
			fmt.Printf("%v %s %s\n", f.Status, f.Component, lines)
		}
	}
	// Output:
	// FAIL circle is a square or a sum of squares:
	// it is never negative near Σ, and its gradient vanishes there like |c|^0.50.
	// Write its terms as separate equalities, without the squares
}
