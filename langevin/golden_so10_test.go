package langevin

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// The reference's O(10): h = XXᵀ − I, and (V − XVᵀX)/2 for Π.
func referenceO10(t *testing.T) reference.Group {
	t.Helper()
	return testkit.Must(reference.NewGroup(10, zoo.OrthogonalOptions{Special: true}))
}

// A looseNewton projects as the reference does: Newton's method from λ = 0, left as soon as ‖h‖ < tolerance: 1e-6 in
// the steps of OLLA-P and ULLA-P, 1e-5 at the end of OLLA and ULLA. Its points are up to that far from ours, which are
// on Σ to round-off.
type looseNewton struct {
	reference.Group
	tolerance float64
}

func (s looseNewton) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Group.NewEvaluator(rows)
	e.Retract = func(dst, base, v []float64) bool { return s.retract(e, dst, base, v) }
	return e
}

func (s looseNewton) retract(e constraint.Evaluator, dst, base, v []float64) bool {
	const d, m = 100, 55
	h, jac, normal := make([]float64, m), make([]float64, m*d), make([]float64, m*d)
	e.Jacobians(h, normal, base, 1)
	y := make([]float64, d)
	for i := range y {
		y[i] = base[i] + v[i]
	}
	var sys mat.Dense
	var step, λ mat.VecDense
	for range 20 {
		e.Jacobians(h, jac, y, 1)
		if floats.Norm(h, 2) < s.tolerance {
			copy(dst, y)
			return true
		}
		n := mat.NewDense(m, d, normal)
		sys.Mul(mat.NewDense(m, d, jac), n.T())
		if λ.SolveVec(&sys, mat.NewVecDense(m, h)) != nil {
			return false
		}
		step.MulVec(n.T(), &λ)
		floats.Sub(y, step.RawVector().Data)
	}
	return false
}

// Three-step trajectories of all samplers in both directions, with the noise
// and network of the golden files, in the reference convention.
func TestGoldenSO10Trajectories(t *testing.T) {
	for _, c := range goldenCases("so10") {
		set := looseNewton{referenceO10(t), 1e-5}
		if c.method.Projected() {
			set.tolerance = 1e-6
		}
		t.Run(c.name, func(t *testing.T) {
			replay(t, c, &Process{
				Set: set, Method: c.method, Friction: 10,
				Schedule: Schedule{N: 3, T: 0.15, SigmaMin: 0.3, SigmaMax: 0.9, Geometric: true},
				Landing:  Landing{Explicit: !c.implicit, Rate: 15},
			})
		})
	}
}

// Off the group the reference's projector is not one: it keeps a normal part of the size of h, which ours does not.
func TestReferenceProjectorIsInexact(t *testing.T) {
	g := golden.Read(t, "so10_ops.npz")
	x, y := g["x_off"].AsFloat64(), g["y"].AsFloat64()
	exact := testkit.Must(zoo.NewOrthogonal(10, zoo.OrthogonalOptions{}))
	left := func(set constraint.Set) float64 {
		b := geometry.New(set, 4, 0)
		testkit.OK(t, b.At(x, 4))
		once, twice := make([]float64, 400), make([]float64, 400)
		b.Tangent(once, y)
		b.Tangent(twice, once)
		worst := 0.0
		for i := range once {
			worst = max(worst, math.Abs(once[i]-twice[i]))
		}
		return worst
	}
	if ours, theirs := left(exact), left(referenceO10(t)); ours > 1e-14 || theirs < 1e-3 {
		t.Errorf("Π² differs from Π by %.3g, in the reference by %.3g", ours, theirs)
	}
}
