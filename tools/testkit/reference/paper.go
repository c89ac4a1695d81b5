// Package reference holds feasible sets as the paper's reference implementation
// writes them, for tests against its numbers.
package reference

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// A Cubic is the function c + b·x + ½ xᵀAx + (w·x)³/6, with A symmetric.
type Cubic struct {
	C    float64
	B, W []float64
	A    [][]float64
}

// Formula writes the function as a problem file does.
func (q Cubic) Formula() string {
	var b, w strings.Builder
	fmt.Fprintf(&b, "%v", q.C)
	for i := range q.B {
		fmt.Fprintf(&b, " + (%v) * x[%d]", q.B[i], i)
		fmt.Fprintf(&w, " + (%v) * x[%d]", q.W[i], i)
		for j := range q.B {
			fmt.Fprintf(&b, " + (%v) * x[%d] * x[%d] / 2", q.A[i][j], i, j)
		}
	}
	return b.String() + " + (0" + w.String() + ")^3 / 6"
}

// A PaperCase is a sampler of the golden file paper.json: the paper's Algorithms 1 and 2 on a set.
type PaperCase struct {
	Name                             string
	H, G                             []Cubic
	Underdamped, Projected, Implicit bool
	Curvature                        bool
	Alpha, Epsilon, Gamma, Dt        float64
	Sigma                            []float64 // σ_0 … σ_N
}

// PaperDim is the dimension of the set of the cases, and PaperSteps their steps.
const PaperDim, PaperSteps = 5, 3

// cubic returns a function with numbers of no meaning, k picks them.
func cubic(k int, c float64) Cubic {
	number := func(i int) float64 { return float64((i*i*13+i*37+k*29)%19-9) / 20 }
	q := Cubic{C: c, B: make([]float64, PaperDim), W: make([]float64, PaperDim), A: make([][]float64, PaperDim)}
	for i := range PaperDim {
		q.B[i], q.W[i], q.A[i] = number(i+3), number(2*i+11), make([]float64, PaperDim)
		for j := range PaperDim {
			q.A[i][j] = number(i+j+5*k) + number(i*j)
		}
		q.A[i][i] += 1.5
	}
	return q
}

// PaperCases are the methods and options on a set of two curved equalities and two
// curved inequalities, with a quadratic potential and the paper's walls.
func PaperCases() (all []PaperCase) {
	base := PaperCase{
		H: []Cubic{cubic(1, -0.6), cubic(2, -0.4)}, G: []Cubic{cubic(4, -0.35), cubic(7, -0.3)},
		Alpha: 6, Epsilon: 0.04, Gamma: 2.5, Dt: 0.02, Sigma: []float64{0.5, 0.7, 0.9, 1.1},
	}
	for _, underdamped := range []bool{false, true} {
		c := base
		c.Underdamped, c.Name = underdamped, "OLLA"
		if underdamped {
			c.Name = "ULLA"
		}
		explicit, curved, implicit, projected := c, c, c, c
		explicit.Name += " explicit"
		curved.Name, curved.Curvature = c.Name+" explicit curved", true
		implicit.Name, implicit.Implicit, implicit.Curvature = c.Name+" implicit curved", true, true
		projected.Name, projected.Projected = c.Name+"-P", true
		all = append(all, explicit, curved, implicit, projected)
	}
	return all
}

// PaperWeight and PaperCentre are those of f = ½ Σ w_j (x_j − c_j)².
func PaperWeight(j int) float64 { return 0.5 + 0.3*float64(j) }

// PaperCentre is c_j.
func PaperCentre(j int) float64 { return 0.2 - 0.1*float64(j) }

// PaperScore is a score with no meaning that depends on all that it is given.
func PaperScore(x, p []float64, t float64) []float64 {
	s := make([]float64, len(x))
	for j := range x {
		s[j] = math.Sin(float64(j)+2*x[(j+1)%len(x)]) + 3*t*x[j]
		if p != nil {
			s[j] += 0.4*p[(j+2)%len(p)] - 0.1*p[j]*p[j]
		}
	}
	return s
}

// PaperNoise is a noise of no meaning: that of step k of point i.
func PaperNoise(i, k int) []float64 {
	ζ := make([]float64, PaperDim)
	for j := range ζ {
		ζ[j] = 1.1 * math.Sin(float64(1+7*i+3*k+5*j*j)+0.5*float64(j))
	}
	return ζ
}

// PaperGolden is what paper.json holds.
type PaperGolden struct {
	Start             [][]float64            // x_0 forward and x_N backward, of each point
	Forward, Backward map[string][][]float64 // by case: x_0 … x_N of each point, one after another
	Terminal          [][]float64            // of the last states of "OLLA explicit", forward
	Loss              map[string]float64     // by case, of all forward paths
}

// Alanine is the set on ten atoms in R³ where the torsion φ of atoms 1, 3, 4, 6
// is fixed and ψ of 3, 4, 6, 8 stays in a window, written as one maximum.
var Alanine = testkit.Must(formula.New(formula.Spec{Dim: 30,
	Let: formula.Definitions{{Name: "ψ", Expr: "dihedral(x[9:12], x[12:15], x[18:21], x[24:27])"}},
	Equality: []formula.Component{{Name: "φ",
		Expr: "dihedral(x[3:6], x[9:12], x[12:15], x[18:21]) + 1.2217304763960306"}},
	Inequality: []formula.Component{{Name: "ψ", Expr: "max(ψ - 2.9670597283903604, 2.2689280275926285 - ψ)"}},
}))

// Landed holds Π of the case's y, and a step of 0.1 Πy that lands at the points x (n×d) or at its proposal, against the
// golden numbers named where: "on" or "off" Σ. b is at x.
func Landed(t *testing.T, f func(name string) []float64, where string, b geometry.Geometry, x []float64, ατ float64) {
	t.Helper()
	tangent, landing := make([]float64, len(x)), make([]float64, len(x))
	b.Tangent(tangent, f("y"))
	golden.Near(t, "Πy", tangent, f("tangent_"+where))
	b.Landing(landing)
	explicit, implicit := make([]float64, len(x)), make([]float64, len(x))
	for i, x := range x {
		explicit[i] = x + 0.1*tangent[i] - ατ*landing[i]
		implicit[i] = x - landing[i]
	}
	golden.Near(t, "explicit landing", explicit, f("explicit_"+where))
	golden.Near(t, "implicit landing", implicit, f("implicit_"+where))
}

// Moved is the block of points named base, moved by that named move; "" moves none.
func Moved(f func(name string) []float64, base, move string) []float64 {
	y := slices.Clone(f(base))
	if move != "" {
		for i, v := range f(move) {
			y[i] += v
		}
	}
	return y
}

// Projected holds projections of moved points, with gradients of those named base, against the golden numbers named
// want, and returns which of the n converged.
func Projected(t *testing.T, f func(name string) []float64, s constraint.Set, n int, base, move, want string) []bool {
	t.Helper()
	b := geometry.New(s, n, 0)
	if err := b.At(f(base), n); err != nil {
		t.Fatal(err)
	}
	y, ok := Moved(f, base, move), make([]bool, n)
	geometry.NewProjection(s, n).Project(b, y, y, ok, 0)
	golden.Near(t, want, y, f(want))
	return ok
}
