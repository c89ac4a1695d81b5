package main

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
)

// demonstrations returns up to n chains that a clumsy hand has laid around the ball, n×24, made feasible by Newton's
// method, and how many that failed for. Chain i is a function of the seed and i.
func demonstrations(set constraint.Set, n int, seed uint64) (x []float64, failed int, err error) {
	x = make([]float64, n*dim)
	for i := range n {
		lay(x[i*dim:(i+1)*dim], seed, uint64(i))
	}
	b := geometry.New(set, n, 0)
	if err := b.At(x, n); err != nil {
		return nil, 0, err
	}
	ok := make([]bool, n)
	geometry.NewProjection(set, n).Project(b, x, x, ok, 0)
	kept := x[:0]
	for i := range n {
		if ok[i] {
			kept = append(kept, x[i*dim:(i+1)*dim]...)
		}
	}
	return kept, n - len(kept)/dim, nil
}

// lay writes a rough chain: nine tenths of half an ellipse from the anchor, past the
// ball on one of three sides, with shaky beads.
func lay(x []float64, seed, sample uint64) {
	u, z := make([]float64, 1), make([]float64, 2+dim)
	keyed.OwnData.Stream(seed, 0).Uniforms(u, sample, 0)
	keyed.OwnData.Stream(seed, 1).Normals(z, sample, 0)
	side := 90.0 // degrees around the x axis: over the ball for half of the chains
	switch {
	case u[0] < 0.2:
		side = 210
	case u[0] < 0.5:
		side = 330
	}
	sin, cos := math.Sincos((side - 90 + 12*z[0]) * math.Pi / 180)
	width := 1.2 + 0.1*z[1]
	for i := range beads {
		s, c := math.Sincos(0.9 * math.Pi * float64(i+1) / beads)
		shake := z[2+3*i:]
		x[3*i] = anchor[0]*c + 0.04*shake[0]
		x[3*i+1] = -width*s*sin + 0.04*shake[1]
		x[3*i+2] = width*s*cos + 0.04*shake[2]
	}
}
