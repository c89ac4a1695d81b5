package reference

import (
	"encoding/json"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

var update = flag.Bool("update", false, "write paper.json anew")

// starts are points near Σ: with no active inequality, one or both.
func starts() (out [][]float64) {
	q := paper{&PaperCases()[0]}
	q.G = nil
	for _, i := range []int{3, 5, 8, 16, 34, 12} {
		x := sum(make([]float64, PaperDim), 0.5, PaperNoise(i, 0))
		out = append(out, sum(q.project(x, x, 0), 0.02, PaperNoise(i, 1)))
	}
	return out
}

// The file is what this package computes.
func TestPaperGolden(t *testing.T) {
	const file = "../golden/testdata/paper.json"
	if *update {
		data := testkit.Must(json.MarshalIndent(newPaperGolden(starts()), "", " "))
		testkit.OK(t, os.WriteFile(file, append(data, '\n'), 0o666))
		return // the next build embeds it
	}
	var want PaperGolden
	golden.ReadJSON(t, "paper.json", &want)
	got := newPaperGolden(want.Start)
	for _, name := range slices.Sorted(maps.Keys(want.Forward)) {
		for i := range want.Forward[name] {
			golden.Near(t, name+" forward", got.Forward[name][i], want.Forward[name][i])
			golden.Near(t, name+" backward", got.Backward[name][i], want.Backward[name][i])
		}
		golden.Near(t, name+" loss", []float64{got.Loss[name]}, []float64{want.Loss[name]})
	}
	// The starts have all kinds of active sets, and projections that walls push.
	active, pushed := map[int]int{}, 0
	p := PaperCases()[3]
	for i, x := range want.Start {
		n := 0
		for _, g := range p.G {
			if g.value(x) >= 0 {
				n++
			}
		}
		active[n]++
		for k := 1; k <= PaperSteps; k++ {
			for _, g := range p.G {
				if math.Abs(g.value(want.Forward["OLLA-P"][(PaperSteps+1)*i+k])+p.Epsilon) < 1e-12 {
					pushed++
				}
			}
		}
	}
	if active[0] == 0 || active[1] == 0 || active[2] == 0 || pushed < 3 {
		t.Errorf("active inequalities of starts: %v; %d of the projected states at −ε", active, pushed)
	}
}

// Gradients and Hessians of the functions against differences.
func TestCubic(t *testing.T) {
	q, x := cubic(3, 0.1), PaperNoise(2, 2)
	const step = 1e-5
	for j := range x {
		up, down := slices.Clone(x), slices.Clone(x)
		up[j] += step
		down[j] -= step
		if d := (q.value(up) - q.value(down)) / (2 * step); math.Abs(d-q.gradient(x)[j]) > 1e-8 {
			t.Errorf("derivative %d is %v, differences say %v", j, q.gradient(x)[j], d)
		}
		var column mat.VecDense
		column.SubVec(mat.NewVecDense(PaperDim, q.gradient(up)), mat.NewVecDense(PaperDim, q.gradient(down)))
		for i := range x {
			if d := column.AtVec(i) / (2 * step); math.Abs(d-q.hessian(x).At(i, j)) > 1e-8 {
				t.Errorf("second derivative %d, %d is %v, differences say %v", i, j, q.hessian(x).At(i, j), d)
			}
		}
	}
}
