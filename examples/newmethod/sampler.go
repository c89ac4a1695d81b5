package newmethod

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/learn/method"
)

type sampler struct {
	m    *Denoising
	rows int
	pool *parallel.Pool
}

// step returns the ancestral step from k to k − 1: from x with the score f at it,
//
//	x̂_0 = (x + s_k² f)/a_k,   x′ = A x + B x̂_0 + C ζ,
//
// the law of x_{k−1} given x_k = x and x_0 = x̂_0.
func (m *Denoising) step(k int) (toward func(x, f float64) float64, spread float64) {
	_, a, s := m.at(k)
	_, before, sb := m.at(k - 1)
	r := a / before
	β := 1 - r*r
	return func(x, f float64) float64 {
		start := (x + s*s*f) / a
		return (r*sb*sb*x + before*β*start) / (s * s)
	}, sb * math.Sqrt(β) / s
}

func (g *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64,
	prior method.Prior, scores func(worker int) method.Score) (method.Report, error) {
	d := g.m.Dim
	start, noise := keyed.GeneratedStart.Stream(seed, 0), keyed.GeneratedNoise.Stream(seed, 0)
	clear(failed)
	n := len(failed)
	g.pool.Do(parallel.Blocks(n, g.rows), func(worker, b int) {
		lo, hi := parallel.Block(b, n, g.rows)
		x, f, ζ := dst[lo*d:hi*d], make([]float64, (hi-lo)*d), make([]float64, d)
		for i := lo; i < hi; i++ {
			prior.Sample(dst[i*d:(i+1)*d], start, first+uint64(i))
		}
		for k := g.m.Steps; k > 0 && ctx.Err() == nil; k-- {
			t, _, _ := g.m.at(k)
			scores(worker).Eval(f, x, nil, hi-lo, t)
			toward, spread := g.m.step(k)
			for i := range hi - lo {
				noise.Normals(ζ, first+uint64(lo+i), k-1)
				for j, z := range ζ {
					x[i*d+j] = toward(x[i*d+j], f[i*d+j]) + spread*z
				}
			}
		}
	})
	return method.Report{}, ctx.Err()
}

// Ends are a x_0 + s z at time T.
func (g *sampler) Ends(_ context.Context, x0 []float64, seed, refresh uint64) ([]float64, error) {
	_, a, s := g.m.at(g.m.Steps)
	noise := keyed.PathNoise.Stream(seed, refresh)
	out := make([]float64, len(x0))
	for i := 0; i < len(x0); i += g.m.Dim {
		z := out[i : i+g.m.Dim]
		noise.Normals(z, uint64(i/g.m.Dim), g.m.Steps-1)
		for j, v := range x0[i : i+g.m.Dim] {
			z[j] = a*v + s*z[j]
		}
	}
	return out, nil
}

// NewTrace and Watch: states have no set that they could be far from.
func (g *sampler) NewTrace() *method.Trace { return nil }
func (g *sampler) Watch(*method.Trace)     {}
