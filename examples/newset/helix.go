// Package newset is an example of a set of one's own, a helix with a number of turns,
//
//	Σ = {x ∈ R³ : x_0 = cos φ, x_1 = sin φ, |x_2| ≤ πa·turns},   φ = x_2/a.
//
// It is what a constraint.Set takes: named components, what the set knows of itself, evaluators that own their scratch,
// and a row of the registry, which a problem file names as set: {kind: helix, slope: 0.2, turns: 3}.
package newset

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/problem/sets"
)

// Kind is the row that package sets would list, or a program adds to its list:
//
//	sets.All = append(sets.All, newset.Kind)
var Kind = sets.Row("helix", New)

// Keys are the helix's keys in a problem file.
type Keys struct {
	Slope float64 `yaml:"slope,omitempty" doc:"a, the rise of an angle of 1"`
	Turns float64 `yaml:"turns,omitempty" doc:"number of turns, half of them above x_2 = 0"`
}

// Helix is the set.
type Helix struct{ slope, end float64 }

// New returns the helix, or a *zoo.DomainError, which problem files turn into one that names file, line and key.
func New(k Keys) (constraint.Set, error) {
	if !(k.Slope > 0) {
		return nil, &zoo.DomainError{Set: "helix", Param: "slope", Value: k.Slope, Want: "a slope above 0"}
	}
	if !(k.Turns > 0) {
		return nil, &zoo.DomainError{Set: "helix", Param: "turns", Value: k.Turns, Want: "a number of turns above 0"}
	}
	return Helix{k.Slope, math.Pi * k.Slope * k.Turns}, nil
}

func (Helix) Dim() int               { return 3 }
func (Helix) Equalities() []string   { return []string{"cos", "sin"} }
func (Helix) Inequalities() []string { return []string{"top", "bottom"} }

// Capabilities: equal arcs have equal heights, so uniform points are easily drawn.
func (s Helix) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: "helix", SampleUniform: s.sample}
}

func (s Helix) sample(dst []float64, st keyed.Stream, sample uint64) {
	st.Uniforms(dst[2:], sample, 0)
	dst[2] = s.end * (2*dst[2] - 1)
	dst[1], dst[0] = math.Sincos(dst[2] / s.slope)
}

// NewEvaluator makes an evaluator, whose scratch holds cos φ and sin φ of a block.
func (s Helix) NewEvaluator(rows int) constraint.Evaluator {
	e := &evaluator{s, make([]float64, 2*rows)}
	return constraint.Evaluator{Values: e.values, Jacobians: e.jacobians, HessianVectors: e.hessianVectors}
}

type evaluator struct {
	Helix
	angle []float64
}

// angles writes cos φ and sin φ of n points.
func (e *evaluator) angles(x []float64, n int) {
	for i := range n {
		e.angle[2*i+1], e.angle[2*i] = math.Sincos(x[3*i+2] / e.slope)
	}
}

func (e *evaluator) values(values, x []float64, n int) {
	e.angles(x, n)
	for i := range n {
		z := x[3*i+2]
		values[4*i], values[4*i+1] = x[3*i]-e.angle[2*i], x[3*i+1]-e.angle[2*i+1]
		values[4*i+2], values[4*i+3] = z-e.end, -z-e.end
	}
}

func (e *evaluator) jacobians(values, jac, x []float64, n int) {
	e.values(values, x, n)
	for i := range n {
		cos, sin := e.angle[2*i], e.angle[2*i+1]
		copy(jac[12*i:], []float64{1, 0, sin / e.slope, 0, 1, -cos / e.slope, 0, 0, 1, 0, 0, -1})
	}
}

// hessianVectors: only the angles bend, with ∂²/∂x_2².
func (e *evaluator) hessianVectors(dst, x, v []float64, n int) {
	e.angles(x, n)
	clear(dst[:12*n])
	for i := range n {
		w := v[3*i+2] / (e.slope * e.slope)
		dst[12*i+2], dst[12*i+5] = e.angle[2*i]*w, e.angle[2*i+1]*w
	}
}
