// Package newmethod is an example of a method of one's own: denoising score matching in
// R^d, without constraints. Points are noised by the Ornstein–Uhlenbeck process,
//
//	x_t = a x_0 + s z,    a = e^(−t), s² = 1 − a², z ~ N(0, I),
//
// a network F_θ(x, t) learns the score ∇ log q_t(x) by the loss ½‖s F_θ(x_t, t) + z‖²
// (Vincent 2011), and samples go back from N(0, I) by ancestral steps (Ho et al. 2020).
//
// It is what a method.Method takes: a Source with its Loss, a Sampler, and a row of the
// registry, which a problem file names as process: {method: denoising}.
package newmethod

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/learn/method"
)

// Kind is the row that package methods would list, or a program adds to its list:
//
//	methods.All = append(methods.All, newmethod.Kind)
var Kind = method.Kind{Name: "denoising", New: fromConfig}

// fromConfig takes dimension, steps and horizon from the problem.
func fromConfig(c method.Config) (method.Method, error) {
	if set := c.Process.Set; len(set.Equalities())+len(set.Inequalities()) > 0 {
		return nil, &method.ConfigError{Field: "Process", Value: c.Name, Want: "a method for sets with constraints"}
	}
	return &Denoising{Dim: c.Process.Set.Dim(), Steps: c.Process.Schedule.N, T: c.Process.Schedule.T}, nil
}

// Denoising is the method on R^Dim, at the times T(k/Steps)², k = 1, …, Steps.
type Denoising struct {
	Dim, Steps int
	T          float64
}

// at returns t, a and s after k steps.
func (m *Denoising) at(k int) (t, a, s float64) {
	t = m.T * float64(k*k) / float64(m.Steps*m.Steps)
	return t, math.Exp(-t), math.Sqrt(-math.Expm1(-2 * t))
}

func (m *Denoising) Name() string                  { return Kind.Name }
func (m *Denoising) Momentum() bool                { return false }
func (m *Denoising) Gain() func(t float64) float64 { return nil }
func (m *Denoising) Feasible() bool                { return true } // all of R^d is
func (m *Denoising) Prior() method.Prior           { return normal{} }

// Capabilities: it can do no more than it must.
func (m *Denoising) Capabilities() method.Capabilities { return method.Capabilities{} }

func (m *Denoising) Sampler(rows int, pool *parallel.Pool) method.Sampler {
	return &sampler{m, rows, pool}
}

func (m *Denoising) Source(data []float64, _ *parallel.Pool) method.Source[float32] {
	return NewSource[float32](m, data)
}

// normal is the prior N(0, I).
type normal struct{}

func (normal) Sample(dst []float64, s keyed.Stream, sample uint64) { s.Normals(dst, sample, 0) }
