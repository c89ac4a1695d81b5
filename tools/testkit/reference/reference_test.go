package reference

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// Rows passes the suite of all sets; its components at X are those of zoo's at Xᵀ.
func TestRows(t *testing.T) {
	s := testkit.Must(NewRows(3, zoo.OrthogonalOptions{}))
	constrainttest.Run(t, s, constrainttest.Options{})
	two := testkit.Must(NewRows(2, zoo.OrthogonalOptions{}))
	// X = (1 2; 0 1): XXᵀ − I = (4 2; 2 0).
	for i, v := range constraint.Values(two, []float64{1, 2, 0, 1}) {
		if want := []float64{4, 2, 0}[i]; v != want {
			t.Errorf("%s = %v, want %v", two.Equalities()[i], v, want)
		}
	}
}

// The reference's projector is (V − XVᵀX)/2, off Σ too; here XVᵀX = (3 17; 4 20).
func TestGroupProjector(t *testing.T) {
	s := testkit.Must(NewGroup(2, zoo.OrthogonalOptions{}))
	g, got := geometry.New(s, 1, 0), make([]float64, 4)
	testkit.OK(t, g.At([]float64{1, 1, 0, 2}, 1))
	g.Tangent(got, []float64{1, 2, 3, 4})
	for e, want := range []float64{-1, -7.5, -0.5, -8} {
		if got[e] != want {
			t.Fatalf("got %v", got)
		}
	}
}

// lines is h = 2x − 1, g = 3y and x + y ≤ 9.
type lines struct{}

func (lines) Dim() int                              { return 2 }
func (lines) Equalities() []string                  { return []string{"h"} }
func (lines) Inequalities() []string                { return []string{"g", "far"} }
func (lines) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s lines) NewEvaluator(int) constraint.Evaluator {
	jacobians := func(values, jac, x []float64, n int) {
		for i := range n {
			copy(values[3*i:], []float64{2*x[2*i] - 1, 3 * x[2*i+1], x[2*i] + x[2*i+1] - 9})
			copy(jac[6*i:], []float64{2, 0, 0, 3, 1, 1})
		}
	}
	return constraint.Evaluator{
		Values:    func(values, x []float64, n int) { jacobians(values, make([]float64, 6*n), x, n) },
		Jacobians: jacobians,
	}
}

// With a ridge, Π = I − ∇Jᵀ(G + λI)⁻¹∇J and the landing direction are the
// formulas, inactive rows left out; a vanishing gradient is no error.
func TestRidge(t *testing.T) {
	const λ = 0.3
	g := NewRidge(lines{}, λ, 0.5)(1)
	if err := g.At([]float64{2, 1}, 1); err != nil || g.Active(0) != 2 {
		t.Fatal(err, g.Active(0))
	}
	v := []float64{1, 1}
	g.Tangent(v, v)
	if math.Abs(v[0]-(1-4/(4+λ))) > 1e-15 || math.Abs(v[1]-(1-9/(9+λ))) > 1e-15 {
		t.Errorf("Π(1, 1) = %v", v)
	}
	g.Landing(v)
	if math.Abs(v[0]-2*3/(4+λ)) > 1e-15 || math.Abs(v[1]-3*3.5/(9+λ)) > 1e-15 {
		t.Errorf("landing %v", v)
	}
	g.Normal(v, []float64{1, 2, 3})
	if math.Abs(v[0]-2/(4+λ)) > 1e-15 || math.Abs(v[1]-3*2/(9+λ)) > 1e-15 {
		t.Errorf("∇Jᵀ(G + λI)⁻¹(1, 2) = %v", v)
	}
	var bad *geometry.NonFiniteError
	if err := g.At([]float64{math.NaN(), 1}, 1); !errors.As(err, &bad) {
		t.Errorf("NaN is accepted: %v", err)
	}
	var rank *geometry.RankError
	if square := (zeroed{lines{}}); !errors.As(geometry.New(square, 1, 0).At([]float64{0.5, 7}, 1), &rank) {
		t.Fatal("the test's gradient does not vanish")
	} else if g = NewRidge(square, λ, 0)(1); g.At([]float64{0.5, 7}, 1) != nil {
		t.Fatal("a vanishing gradient is an error")
	}
	if g.Tangent(v, []float64{3, 4}); v[0] != 3 || v[1] != 4 {
		t.Errorf("Π of nothing moves to %v", v)
	}
}

// zeroed has no gradients at all.
type zeroed struct{ constraint.Set }

func (s zeroed) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	jacobians := e.Jacobians
	e.Jacobians = func(values, jac, x []float64, n int) {
		jacobians(values, jac, x, n)
		clear(jac[:6*n])
	}
	return e
}

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
