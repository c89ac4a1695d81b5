package newmethod

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/tools/methodtest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var small = &Denoising{Dim: 2, Steps: 160, T: 3}

func TestDenoising(t *testing.T) {
	data := make([]float64, 2*30)
	keyed.OwnData.Stream(1, 0).Normals(data, 0, 0)
	methodtest.Run(t, small, data, 2, nil)
}

// Once listed it is made by its name, and refuses sets that it cannot do with.
func TestListed(t *testing.T) {
	methods.All = append(methods.All, Kind)
	p := &langevin.Process{Set: zoo.Euclidean{D: 3}, Schedule: langevin.Schedule{N: 7, T: 2}}
	m, err := methods.New(method.Config{Name: "Denoising", Process: p})
	if got, ok := m.(*Denoising); err != nil || !ok || *got != (Denoising{3, 7, 2}) {
		t.Errorf("%v, %v", m, err)
	}
	p.Set = zoo.Sphere{D: 3}
	var e *method.ConfigError
	if _, err := methods.New(method.Config{Name: "denoising", Process: p}); !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}

// exact is the score of data N(μ, v I): −(x − aμ)/(a²v + s²).
type exact struct {
	m *Denoising
	μ []float64
	v float64
}

func (e exact) Eval(dst, x, _ []float64, n int, t float64) {
	a2 := math.Exp(-2 * t)
	for i := range dst[:n*e.m.Dim] {
		dst[i] = -(x[i] - math.Sqrt(a2)*e.μ[i%e.m.Dim]) / (a2*e.v + 1 - a2)
	}
}

// law returns mean and variance of coordinate j of the samples under the exact score,
// from N(0, 1) a step at a time: each is affine in x and ζ.
func (m *Denoising) law(score exact, j int) (mean, variance float64) {
	variance = 1
	for k := m.Steps; k > 0; k-- {
		toward, spread := m.step(k)
		at := func(x float64) float64 {
			in, f := []float64{x, x}, make([]float64, 2)
			t, _, _ := m.at(k)
			score.Eval(f, in, nil, 1, t)
			return toward(x, f[j])
		}
		slope := at(1) - at(0)
		mean, variance = at(mean), slope*slope*variance+spread*spread
	}
	return mean, variance
}

// With the exact score the samples' law is known, and with many steps it is the data's (μ to 0.001, the variance to
// 0.02). In few steps 20 000 samples are compared with it: a bound of 5 standard errors on each of 4 numbers fails by
// chance for one seed in 400 000. A score evaluated one step too late moves both by 20 of them and more.
func TestExactScore(t *testing.T) {
	const n = 20_000
	few := &Denoising{Dim: 2, Steps: 10, T: 3}
	score := exact{m: small, μ: []float64{1, -0.5}, v: 0.25}
	pool := parallel.New(2)
	defer pool.Close()
	x := make([]float64, 2*n)
	testkit.Must(few.Sampler(128, pool).Generate(context.Background(), x, make([]bool, n), 0, 1, few.Prior(),
		func(int) method.Score { return score }))
	for j, μ := range score.μ {
		if mean, variance := small.law(score, j); math.Abs(mean-μ) > 0.001 || math.Abs(variance-score.v) > 0.02 {
			t.Errorf("coordinate %d: the samples' law has mean %v and variance %v, the data's %v and %v",
				j, mean, variance, μ, score.v)
		}
		mean, variance := few.law(score, j)
		m, sq := 0.0, 0.0
		for i := range n {
			m += x[2*i+j] / n
		}
		for i := range n {
			sq += (x[2*i+j] - m) * (x[2*i+j] - m) / (n - 1)
		}
		if z := (m - mean) / math.Sqrt(variance/n); math.Abs(z) > 5 {
			t.Errorf("coordinate %d: mean %v, want %v: %.1f standard errors", j, m, mean, z)
		}
		if z := (sq/variance - 1) / math.Sqrt(2./n); math.Abs(z) > 5 {
			t.Errorf("coordinate %d: variance %v, want %v: %.1f standard errors", j, sq, variance, z)
		}
	}
}
