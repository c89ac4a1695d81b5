package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// With the paper's walls a window begins with its own step if any wall is within three standard deviations of the
// window's displacement, and ε, of x_{k+1}: of several walls, whose gradients are of several lengths, on a set with an
// equality, for every row of a block. Distances are in the first order, as a wall's gradient says them.
func TestWhereWindowsBegin(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{
		Dim:      3,
		Equality: []formula.Component{{Name: "plane", Expr: "5*x[2] = 0"}},
		Inequality: []formula.Component{
			{Name: "left", Expr: "x[0] >= 0"}, {Name: "top", Expr: "7*x[1] <= 7"},
			{Name: "rim", Expr: "dot(x, x) <= 4"},
		},
	}))
	p := &langevin.Process{
		Set: set, Method: langevin.OLLAP, Walls: langevin.PaperWalls, Repulsion: 0.02,
		Schedule: langevin.Schedule{N: 5, T: 0.02, SigmaMin: 0.5, SigmaMax: 1},
	}
	const side = 40
	paths := &langevin.Paths{Count: side * side, Steps: 5, Dim: 3, X: make([]float64, side*side*6*3),
		Failed: make([]bool, side*side)}
	for i := range paths.Count {
		for k := range 6 {
			x := paths.At(i, k)
			x[0], x[1] = 0.003+1.4*float64(i%side)/side, -1+2.05*float64(i/side)/side
		}
	}
	l := NewLoss(p, reads[float64](p), 7, Options{Window: 0.12})
	near := 0
	for k := range p.Schedule.N {
		variance := 0.0
		for i := l.start[k]; i <= k; i++ {
			variance += p.Schedule.Tau(i)
		}
		if k > 2 && l.start[k] == k {
			t.Fatalf("the window of term %d is one step", k)
		}
		reach := 3 * math.Sqrt(variance)
		for lo := 0; lo < paths.Count; lo += l.Rows() {
			var terms []Term
			for i := lo; i < min(lo+l.Rows(), paths.Count); i++ {
				terms = append(terms, Term{Item: i, K: k})
			}
			testkit.OK(t, l.load(paths, terms, nil))
			l.begin(terms)
			for i, term := range terms {
				x := paths.At(term.Item, k+1)
				r := math.Hypot(x[0], x[1])
				want := l.start[k]
				if min(x[0]-0.02, 1-x[1]-0.02/7, (4-r*r-0.02)/(2*r)) <= reach {
					want = k
					near++
				}
				if l.from[i] != want {
					t.Fatalf("at %v the window of term %d begins at %d, want %d", x, k, l.from[i], want)
				}
			}
		}
	}
	if all := paths.Count * p.Schedule.N; near < all/10 || near > 9*all/10 {
		t.Errorf("%d of %d are near a wall", near, all)
	}
}
