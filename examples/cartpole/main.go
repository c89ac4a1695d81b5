// Cartpole makes the data of the example, swing-ups of a pole on a cart, by direct collocation: it brings rough motions
// to the set of problem.yaml by Gauss–Newton steps.
//
//	go run ./examples/cartpole    # makes data.npy
package main

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/examples/internal/program"
	"github.com/landing-diffusion/landing/problem"
)

//go:embed problem.yaml
var file []byte

// A motion is steps of the time T (s), each of (x, θ, v, ω, u).
const (
	steps, size = 50, 5
	T           = 2.0
)

// swings returns n motions of Σ, n×(steps·size). Motion i is a function of the seed and i.
func swings(n int, seed uint64) ([]float64, error) {
	p, err := problem.Load(file, "", "", nil)
	if err != nil {
		return nil, err
	}
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	d := steps * size
	x := make([]float64, n*d)
	pool := parallel.New(0)
	defer pool.Close()
	solvers := make([]*geometry.Solver, pool.Workers())
	lost := make([]bool, n)
	pool.Do(n, func(worker, i int) {
		if solvers[worker] == nil {
			solvers[worker] = geometry.NewSolver(proc.Set, 0)
		}
		const tries = 20
		lost[i] = true
		for try := uint64(0); try < tries && lost[i]; try++ {
			rough(x[i*d:(i+1)*d], keyed.OwnData.Stream(seed, try), uint64(i))
			lost[i] = !solvers[worker].Descend(x[i*d:(i+1)*d], 1e-13)
		}
	})
	for i := range n {
		if lost[i] {
			return nil, fmt.Errorf("no motion near %d", i)
		}
	}
	return x, nil
}

// rough writes a motion that no force makes: the pole swings back, then up on one of both sides, while the cart goes
// to and fro.
func rough(x []float64, s keyed.Stream, sample uint64) {
	z := make([]float64, 6)
	s.Normals(z, sample, 0)
	side := math.Copysign(1, z[0])
	back, late := 1+0.2*z[1], 2+0.25*z[2]
	along, shift := 0.5+0.15*z[3], 0.15*z[4]
	for l := range steps {
		t, h := float64(l)/(steps-1), 1e-6
		place := func(t float64) float64 {
			return side * (along*math.Sin(2*math.Pi*t)*t + shift*math.Sin(math.Pi*t))
		}
		angle := func(t float64) float64 {
			return side * (math.Pi*math.Pow(t, late) - back*math.Pow(math.Sin(math.Pi*t), 2)*(1-t))
		}
		x[size*l], x[size*l+1] = place(t), angle(t)
		x[size*l+2], x[size*l+3] = (place(t+h)-place(t-h))/(2*h*T), (angle(t+h)-angle(max(t-h, 0)))/((h+min(h, t))*T)
		x[size*l+4] = 0.5 * side * z[5] * math.Sin(2*math.Pi*t)
	}
}

func main() { program.Example{Name: "cartpole", Points: 2000, Dim: steps * size, Make: swings}.Main() }
