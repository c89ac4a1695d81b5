package langevin_test

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/papercase"
)

// Three steps of every method in the paper's convention, both ways, with the options
// that the reference's golden files have not: curvature, ε, the paper's walls with 0, 1 and
// 2 active, and a potential. The numbers are those of the paper's lines (package papercase).
func TestGoldenPaper(t *testing.T) {
	var want papercase.Golden
	golden.ReadJSON(t, "paper.json", &want)
	for name, p := range papercase.Processes() {
		t.Run(name, func(t *testing.T) {
			const d, N = papercase.Dim, papercase.Steps
			n := len(want.Start)
			s, at := p.NewStepper(n), geometry.New(p.Set, n, p.Repulsion)
			start := slices.Concat(want.Start...)
			noise := func(k int) (ζ []float64) {
				for i := range n {
					ζ = append(ζ, papercase.Noise(i, k)...)
				}
				return ζ
			}
			pseudo := func(c float64) []float64 {
				testkit.OK(t, at.At(start, n))
				v := noise(N)
				at.Tangent(v, v)
				for i := range v {
					v[i] = start[i] + c*v[i]
				}
				return v
			}
			check := func(direction string, k int, x []float64, states [][]float64) {
				for i := range n {
					golden.Near(t, direction, x[i*d:(i+1)*d], states[(N+1)*i+k])
				}
			}
			failed := make([]bool, n)
			x, prev := start, pseudo(-p.Schedule.Tau(0))
			for k := range N {
				next := make([]float64, n*d)
				testkit.Must(s.Forward(next, x, prev, noise(k), failed, n, k))
				check("forward", k+1, next, want.Forward[name])
				x, prev = next, x
			}
			if name == "OLLA explicit" {
				testkit.Must(s.Terminal(x, failed, n))
				golden.Near(t, "terminal projection", x, slices.Concat(want.Terminal...))
			}
			x, after := start, pseudo(p.MomentumTau(N-1))
			for k := N - 1; k >= 0; k-- {
				next := make([]float64, n*d)
				testkit.Must(s.Backward(next, x, after, noise(k), failed, n, k, papercase.Score{}))
				check("backward", k, next, want.Backward[name])
				x, after = next, x
			}
			if slices.Contains(failed, true) {
				t.Errorf("failed: %v", failed)
			}
		})
	}
}
