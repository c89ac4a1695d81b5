package geometry

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// hop is a Lander on the line whose steps and values are given.
type hop struct {
	at     float64
	value  func(x float64) float64
	step   func(x float64) float64
	landed int
}

func (h *hop) At(x []float64, _ int) error {
	h.at = x[0]
	if math.IsNaN(x[0]) {
		return &NonFiniteError{}
	}
	return nil
}
func (h *hop) Values() []float64     { return []float64{h.value(h.at)} }
func (h *hop) Landing(dst []float64) { dst[0] = h.step(h.at); h.landed++ }

// An approach ends at 1e-13, or at 1e-12 where it no longer falls; it gives up after
// its steps, beyond its reach and where there is no geometry, and x stays then.
func TestApproach(t *testing.T) {
	half := func(x float64) float64 { return x / 2 }
	same := func(x float64) float64 { return x }
	for name, c := range map[string]struct {
		hop      hop
		o        ApproachOptions
		x, want  float64
		steps    int
		arrives  bool
		landings int
	}{
		"there already": {hop{value: func(x float64) float64 { return x - 1 }, step: half}, ApproachOptions{},
			1 - 9e-14, 1 - 9e-14, 0, true, 0},
		"small": {hop{value: same, step: half}, ApproachOptions{}, -1e-13, -1e-13 * 0x1p-33, 33, true, 34},
		"small, out of steps": {hop{value: same, step: half}, ApproachOptions{Steps: 5}, 1e-13, 1e-13 * 0x1p-4, 5,
			true, 5},
		"small, no better": {hop{value: func(float64) float64 { return 1e-14 }, step: half}, ApproachOptions{}, 1e-6,
			1e-6, 1, true, 1},
		"terms of 10⁹": {hop{value: func(float64) float64 { return 1e-7 },
			step: func(float64) float64 { return 0x1p-22 }}, ApproachOptions{}, 0x1p30, 0x1p30 - 0x1p-22, 1, true, 2},
		"halves":       {hop{value: same, step: half}, ApproachOptions{}, 1, 0x1p-44, 44, true, 44},
		"out of steps": {hop{value: same, step: half}, ApproachOptions{Steps: 30}, 1, 1, 30, false, 30},
		"within reach": {hop{value: same, step: same}, ApproachOptions{Reach: 2}, 2, 0, 1, true, 1},
		"out of reach": {hop{value: same, step: same}, ApproachOptions{Reach: 1.9}, 2, 2, 1, false, 1},
		"round-off": {hop{value: func(float64) float64 { return 5e-13 }, step: half}, ApproachOptions{}, 1,
			0.5, 1, true, 1},
		"more than round-off": {hop{value: func(float64) float64 { return 5e-12 }, step: half}, ApproachOptions{}, 1,
			1, 50, false, 50},
		"not finite on the way": {hop{value: same, step: func(float64) float64 { return math.NaN() }},
			ApproachOptions{}, 1, 1, 1, false, 1},
	} {
		x := []float64{c.x}
		steps, ok := NewApproach(&c.hop, 1, c.o).Run(x)
		if steps != c.steps || ok != c.arrives || x[0] != c.want || c.hop.landed != c.landings {
			t.Errorf("%s: at %v after %d steps, arrived %v", name, x[0], steps, ok)
		}
	}
}

// Landing again and again gets to an ellipse from beside its tip, where the normal misses it.
func TestApproachBesideATip(t *testing.T) {
	set := zoo.Ellipsoid{Axes: []float64{1, 0.1}}
	x := []float64{1.05, 0.2}
	if NewSolver(set, 0).Project(x, 0) || x[0] != 1.05 || x[1] != 0.2 {
		t.Fatalf("projected to %v", x)
	}
	if steps, ok := NewApproach(New(set, 1, 0), 2, ApproachOptions{}).Run(x); !ok || steps == 0 {
		t.Errorf("%d steps, arrived %v", steps, ok)
	}
	if h := constraint.Values(set, x)[0]; math.Abs(h) > 1e-13 {
		t.Errorf("h = %v", h)
	}
}

// Descend follows a squared constraint down to round-off, joins inequalities that a step breaks, halves steps that
// overshoot, puts what is violated at −ε, and says where it does not arrive, at the least violation found.
func TestDescend(t *testing.T) {
	s := makeSet(2, 1, squared(half(1, 2, 0)))
	x := []float64{3, 7}
	if !NewSolver(s, 0).Descend(x, 1e-12) || math.Abs(x[0]-0.5) > 1e-6 || x[1] != 7 {
		t.Errorf("a squared constraint: %v", x)
	}
	x = []float64{-1, -2, 4}
	if s := simplex(3); !NewSolver(s, 0).Descend(x, 1e-14) {
		t.Errorf("the simplex: %v", x)
	} else if e, _ := constraint.Worst(constraint.Values(s, x), 1); e > 1e-14 {
		t.Errorf("the simplex: %v, off by %v", x, e)
	}
	x = []float64{0.4, -0.3, 2}
	if !NewSolver(box(3), 0.05).Descend(x, 1e-14) || x[0] != 0.4 || math.Abs(x[1]-0.05) > 1e-15 ||
		math.Abs(x[2]-0.95) > 1e-15 {
		t.Errorf("the box with ε: %v", x)
	}
	// Newton's steps on atan overshoot and diverge from |x| > 1.39.
	atan := makeSet(1, 1, func(x []float64) (float64, []float64) {
		return math.Atan(x[0]), []float64{1 / (1 + x[0]*x[0])}
	})
	x = []float64{3}
	if !NewSolver(atan, 0).Descend(x, 1e-12) || math.Abs(x[0]) > 1e-11 {
		t.Errorf("arctan: %v", x)
	}
	// x² + 1 has no root: the least violation is at 0.
	rootless := makeSet(1, 1, func(x []float64) (float64, []float64) { return x[0]*x[0] + 1, []float64{2 * x[0]} })
	x = []float64{2}
	if NewSolver(rootless, 0).Descend(x, 1e-9) {
		t.Errorf("x² + 1 = 0 has the root %v", x)
	} else if math.Abs(x[0]) > 0.9 {
		t.Errorf("x² + 1 is least at %v", x)
	}
}

// Project is the projection of single points, inside by the margin.
func TestSolverProject(t *testing.T) {
	x := []float64{0.5, 1.4}
	if s := NewSolver(box(2), 0); !s.Project(x, 0.1) || math.Abs(x[0]-0.5) > 1e-15 || math.Abs(x[1]-0.9) > 1e-15 {
		t.Errorf("projected to %v", x)
	}
	x = []float64{math.NaN(), 0}
	if NewSolver(zoo.Sphere{D: 2}, 0).Project(x, 0) {
		t.Error("NaN is projected")
	}
}

// measured is a set that panics if it is called with less room than an Evaluator's
// methods are promised.
type measured struct{ constraint.Set }

func (s measured) Unwrap() []constraint.Set { return []constraint.Set{s.Set} }

// room panics unless a slice has n numbers.
func room(of string, v []float64, n int) {
	if len(v) < n {
		panic(fmt.Sprintf("%s has %d numbers of %d", of, len(v), n))
	}
}

func (s measured) NewEvaluator(rows int) constraint.Evaluator {
	e, d, c := s.Set.NewEvaluator(rows), s.Dim(), len(constraint.Components(s.Set))
	out := e
	out.Values = func(values, x []float64, n int) {
		room("values", values, n*c)
		room("x", x, n*d)
		e.Values(values, x, n)
	}
	out.Jacobians = func(values, jac, x []float64, n int) {
		room("values", values, n*c)
		room("jac", jac, n*c*d)
		room("x", x, n*d)
		e.Jacobians(values, jac, x, n)
	}
	if e.HessianVectors != nil {
		out.HessianVectors = func(dst, x, v []float64, n int) {
			room("dst", dst, n*c*d)
			room("x", x, n*d)
			room("v", v, n*d)
			e.HessianVectors(dst, x, v, n)
		}
	}
	if e.SparseJacobians != nil {
		all := 0
		for _, along := range s.Capabilities().Support {
			all += len(along)
		}
		out.SparseJacobians = func(values, jac, x []float64, n int) {
			room("values", values, n*c)
			room("jac", jac, n*all)
			room("x", x, n*d)
			e.SparseJacobians(values, jac, x, n)
		}
	}
	if e.Retract != nil {
		out.Retract = func(dst, base, v []float64) bool {
			room("dst", dst, d)
			room("base", base, d)
			room("v", v, d)
			return e.Retract(dst, base, v)
		}
	}
	if e.Projector != nil {
		out.Projector = measuredProjector{e.Projector, d, c}
	}
	return out
}

type measuredProjector struct {
	constraint.Projector
	d, c int
}

func (p measuredProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	room("values", values, n*p.c)
	room("work", work, n*p.WorkSize())
	room("x", x, n*p.d)
	p.Projector.Factor(values, work, regular, x, n)
}

func (p measuredProjector) Tangent(dst, v, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("v", v, n*p.d)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Tangent(dst, v, x, work, n)
}

func (p measuredProjector) Normal(dst, u, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("u", u, n*p.c)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Normal(dst, u, x, work, n)
}

func (p measuredProjector) Landing(dst, x, work []float64, n int) {
	room("dst", dst, n*p.d)
	room("x", x, n*p.d)
	room("work", work, n*p.WorkSize())
	p.Projector.Landing(dst, x, work, n)
}
