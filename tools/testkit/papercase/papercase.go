// Package papercase makes the processes of this module that golden/testdata/paper.json
// has the numbers of.
package papercase

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// Process returns that of a case: its set is one of formulas.
func Process(c reference.PaperCase) (*langevin.Process, error) {
	spec := formula.Spec{Dim: reference.PaperDim}
	for i, h := range c.H {
		spec.Equality = append(spec.Equality, formula.Component{Name: fmt.Sprintf("h%d", i), Expr: h.Formula()})
	}
	for j, g := range c.G {
		spec.Inequality = append(spec.Inequality, formula.Component{Name: fmt.Sprintf("g%d", j), Expr: g.Formula()})
	}
	set, err := formula.New(spec)
	if err != nil {
		return nil, err
	}
	N := len(c.Sigma) - 1
	f := langevin.Quadratic{}
	for j := range reference.PaperDim {
		f.Weight, f.Center = append(f.Weight, reference.PaperWeight(j)), append(f.Center, reference.PaperCentre(j))
	}
	method := langevin.OLLA
	if c.Underdamped {
		method = langevin.ULLA
	}
	if c.Projected {
		method += langevin.ULLAP - langevin.ULLA
	}
	p := &langevin.Process{
		Set: set, Method: method, Friction: c.Gamma, Potential: f, Curvature: c.Curvature,
		Landing: langevin.Landing{Explicit: !c.Implicit, Rate: c.Alpha},
		Walls:   langevin.PaperWalls, Repulsion: c.Epsilon, Convention: langevin.Paper,
		Schedule: langevin.Schedule{N: N, T: c.Dt * float64(N), SigmaMin: c.Sigma[0], SigmaMax: c.Sigma[N]},
	}
	return p, p.Validate()
}

// Score is the score of the cases.
type Score struct{}

// Eval implements langevin.Score.
func (Score) Eval(dst, x, p []float64, n int, t float64) {
	const d = reference.PaperDim
	for i := range n {
		var v []float64
		if p != nil {
			v = p[i*d : (i+1)*d]
		}
		copy(dst[i*d:(i+1)*d], reference.PaperScore(x[i*d:(i+1)*d], v, t))
	}
}
