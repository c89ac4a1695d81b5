package cwpm_test

import (
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/cwpm"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/papercase"
)

// The loss of the paths of paper.json in the paper's convention, with ε, active walls and a potential.
func TestGoldenPaperLoss(t *testing.T) {
	var want papercase.Golden
	golden.ReadJSON(t, "paper.json", &want)
	for name, p := range papercase.Processes() {
		const d, N = papercase.Dim, papercase.Steps
		n := len(want.Start)
		paths := &langevin.Paths{Count: n, Steps: N, Dim: d, Failed: make([]bool, n)}
		for _, x := range want.Forward[name] {
			paths.X = append(paths.X, x...)
		}
		var terms []cwpm.Term
		for i := range n {
			for k := range N {
				terms = append(terms, cwpm.Term{Item: i, K: k, Weight: 1})
			}
		}
		l := cwpm.NewLoss(p, score.NewReader[float64](score.Reading{}, d, p.Method.Underdamped()), len(terms),
			cwpm.Options{})
		in, err := l.Prepare(paths, terms, func(dst []float64, path int) { copy(dst, papercase.Noise(path, N)) })
		testkit.OK(t, err)
		s, width := make([]float64, 0, len(terms)*d), len(in)/len(terms)
		for i := range terms { // a row is x, p̃, t
			row, momentum := in[i*width:(i+1)*width], []float64(nil)
			if p.Method.Underdamped() {
				momentum = row[d : 2*d]
			}
			s = append(s, papercase.Score{}.At(row[:d], momentum, row[width-1])...)
		}
		testkit.Near(t, l.Evaluate(make([]float64, len(s)), s), want.Loss[name], 1e-9*want.Loss[name],
			"%s: loss", name)
	}
}
