// Package papercase holds the samplers whose steps and losses the golden file paper.json has: the paper's Algorithms
// 1 and 2 on a set of two curved equalities and two curved inequalities, with a quadratic potential and the paper's
// walls.
package papercase

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Dim is the dimension of the set, and Steps those of a path.
const Dim, Steps = 5, 3

// Golden is what paper.json holds.
type Golden struct {
	Start             [][]float64            // x_0 forward and x_N backward, of each point
	Forward, Backward map[string][][]float64 // by case: x_0 … x_N of each point, one after another
	Terminal          [][]float64            // of the last states of "OLLA explicit", forward
	Loss              map[string]float64     // by case, of all forward paths
}

// cubic returns the formula c + b·x + ½ xᵀAx + (w·x)³/6 with numbers of no meaning, which k picks.
func cubic(name string, k int, c float64) formula.Component {
	number := func(i int) float64 { return float64((i*i*13+i*37+k*29)%19-9) / 20 }
	var b, w strings.Builder
	for i := range Dim {
		fmt.Fprintf(&b, " + (%v) * x[%d]", number(i+3), i)
		fmt.Fprintf(&w, " + (%v) * x[%d]", number(2*i+11), i)
		for j := range Dim {
			a := number(i+j+5*k) + number(i*j)
			if i == j {
				a += 1.5
			}
			fmt.Fprintf(&b, " + (%v) * x[%d] * x[%d] / 2", a, i, j)
		}
	}
	return formula.Component{Name: name, Expr: fmt.Sprintf("%v%s + (0%s)^3 / 6", c, &b, &w)}
}

// Processes returns the cases by name.
func Processes() map[string]*langevin.Process {
	f := langevin.Quadratic{}
	for j := range Dim {
		f.Weight, f.Center = append(f.Weight, 0.5+0.3*float64(j)), append(f.Center, 0.2-0.1*float64(j))
	}
	base := langevin.Process{
		Set: testkit.Must(formula.New(formula.Spec{Dim: Dim,
			Equality:   []formula.Component{cubic("h0", 1, -0.6), cubic("h1", 2, -0.4)},
			Inequality: []formula.Component{cubic("g0", 4, -0.35), cubic("g1", 7, -0.3)}})),
		Friction: 2.5, Potential: f, Landing: langevin.Landing{Explicit: true, Rate: 6},
		Walls: langevin.PaperWalls, Repulsion: 0.04, Convention: langevin.Paper,
		Schedule: langevin.Schedule{N: Steps, T: 0.02 * Steps, SigmaMin: 0.5, SigmaMax: 1.1},
	}
	all := map[string]*langevin.Process{}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		explicit := base
		explicit.Method = m
		curved, projected := explicit, explicit
		curved.Curvature = true
		implicit := curved
		implicit.Landing.Explicit = false
		projected.Method += langevin.ULLAP - langevin.ULLA
		name := m.String()
		all[name+" explicit"], all[name+" explicit curved"] = &explicit, &curved
		all[name+" implicit curved"], all[name+"-P"] = &implicit, &projected
	}
	for _, p := range all {
		testkit.Must(p, p.Validate())
	}
	return all
}

// Noise is that of step k of point i, of no meaning.
func Noise(i, k int) []float64 {
	ζ := make([]float64, Dim)
	for j := range ζ {
		ζ[j] = 1.1 * math.Sin(float64(1+7*i+3*k+5*j*j)+0.5*float64(j))
	}
	return ζ
}

// Score is a score of no meaning that depends on all that it is given.
type Score struct{}

// At returns it at a point with a momentum, if there is one.
func (Score) At(x, p []float64, t float64) []float64 {
	s := make([]float64, len(x))
	for j := range x {
		s[j] = math.Sin(float64(j)+2*x[(j+1)%len(x)]) + 3*t*x[j]
		if p != nil {
			s[j] += 0.4*p[(j+2)%len(p)] - 0.1*p[j]*p[j]
		}
	}
	return s
}

// Eval implements langevin.Score.
func (s Score) Eval(dst, x, p []float64, n int, t float64) {
	for i := range n {
		var v []float64
		if p != nil {
			v = p[i*Dim : (i+1)*Dim]
		}
		copy(dst[i*Dim:(i+1)*Dim], s.At(x[i*Dim:(i+1)*Dim], v, t))
	}
}
