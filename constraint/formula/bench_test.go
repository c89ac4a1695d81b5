package formula_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// The rivals of the tape: Go written by hand for one set each.

// torsion is the dihedral of atoms 1, 3, 4, 6 of ten, in R³⁰, less a target.
type torsion struct{ target float64 }

func (torsion) Dim() int                                { return 30 }
func (torsion) Equalities() []string                    { return []string{"phi"} }
func (torsion) Inequalities() []string                  { return nil }
func (torsion) Capabilities() constraint.Capabilities   { return constraint.Capabilities{} }
func (s torsion) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (s torsion) Values(values, x []float64, n int) {
	for i := range n {
		f := frameOf(x[30*i:])
		values[i] = math.Atan2(f.lg*dot3(f.f, f.b), dot3(f.a, f.b)) - s.target
	}
}

type frame struct {
	f, g, h, a, b [3]float64
	lg            float64
}

func frameOf(x []float64) frame {
	var f frame
	p, q, r, s := x[3:6], x[9:12], x[12:15], x[18:21]
	for k := range 3 {
		f.f[k], f.g[k], f.h[k] = q[k]-p[k], r[k]-q[k], s[k]-r[k]
	}
	f.a, f.b = cross3(f.f, f.g), cross3(f.g, f.h)
	f.lg = math.Sqrt(dot3(f.g, f.g))
	return f
}

// Jacobians: ∂φ/∂p = |g| A/A², ∂φ/∂s = −|g| B/B², and the rest by translation
// and rotation, with A = f × g and B = g × h.
func (s torsion) Jacobians(values, jac, x []float64, n int) {
	clear(jac[:30*n])
	for i := range n {
		f := frameOf(x[30*i:])
		values[i] = math.Atan2(f.lg*dot3(f.f, f.b), dot3(f.a, f.b)) - s.target
		a, b := f.lg/dot3(f.a, f.a), f.lg/dot3(f.b, f.b)
		u, v := dot3(f.f, f.g)/(f.lg*f.lg), dot3(f.h, f.g)/(f.lg*f.lg)
		j := jac[30*i : 30*i+30]
		for k := range 3 {
			da, db := -a*f.a[k], b*f.b[k]
			j[3+k] = da
			j[9+k] = -da - u*da + v*db
			j[12+k] = -db + u*da - v*db
			j[18+k] = db
		}
	}
}

func cross3(u, v [3]float64) [3]float64 {
	return [3]float64{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
}

func dot3(u, v [3]float64) float64 { return u[0]*v[0] + u[1]*v[1] + u[2]*v[2] }

// arms holds 14 planar arms of ten joints at height 0.2, in R¹⁴⁰: arm b has
// Σ_j sin(q_0 + … + q_j) = 0.2 over its own ten angles.
type arms struct{}

func (arms) Dim() int                                { return 140 }
func (arms) Equalities() []string                    { return make([]string, 14) }
func (arms) Inequalities() []string                  { return nil }
func (arms) Capabilities() constraint.Capabilities   { return constraint.Capabilities{} }
func (s arms) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (arms) Values(values, x []float64, n int) {
	for i := range 14 * n {
		angle, z := 0.0, 0.0
		for _, q := range x[10*i : 10*i+10] {
			angle += q
			z += math.Sin(angle)
		}
		values[i] = z - 0.2
	}
}

func (arms) Jacobians(values, jac, x []float64, n int) {
	clear(jac[:14*140*n])
	for i := range 14 * n {
		angle, z := 0.0, 0.0
		j := jac[140*i+10*(i%14):][:10]
		for k, q := range x[10*i : 10*i+10] {
			angle += q
			s, c := math.Sincos(angle)
			z += s
			j[k] = c
		}
		for k := 8; k >= 0; k-- {
			j[k] += j[k+1]
		}
		values[i] = z - 0.2
	}
}

const torsionText = `
dim: 30
let: {a: "reshape(x, 10, 3)"}
equality:
  - {name: phi, expr: "dihedral(a[1], a[3], a[4], a[6]) = -1.2"}
`

// Each joint's direction is the sum of the angles before it; equal sums are one
// node of the graph, so the double sum costs what the loop does.
const armsText = `
dim: 140
equality:
  - {name: "height[b]", for: "b in 0..13", expr: "sum(j in 0..9, sin(sum(x[10*b : 10*b+j+1]))) = 0.2"}
`

type rival struct {
	name string
	hand constraint.Set
	text string
}

var rivals = []rival{
	{"sphere", zoo.Sphere{D: 3}, sphere},
	{"torsion", torsion{-1.2}, torsionText},
	{"arms", arms{}, armsText},
}

func points(n, d int) []float64 {
	x := make([]float64, n*d)
	keyed.New(1, keyed.Probe, 1).Normals(x, 0, 0)
	return x
}

// The hand-written sets and the formulas agree to round-off, Hessian products included where both have them.
func TestHandWritten(t *testing.T) {
	for _, r := range append(rivals, rival{"torus", zoo.Torus{Major: 2, Minor: 0.6}, torus}) {
		const n = 300
		set := build(t, r.text)
		d, c := set.Dim(), len(constraint.Components(set))
		x := points(n, d)
		v, w, j, k := make([]float64, n*c), make([]float64, n*c), make([]float64, n*c*d), make([]float64, n*c*d)
		set.NewEvaluator(n).Jacobians(v, j, x, n)
		hand := r.hand.NewEvaluator(n)
		hand.Jacobians(w, k, x, n)
		near(t, r.name, v, w, 1e-13)
		near(t, r.name+" ∇", j, k, 1e-11)
		set.Values(w, x, n)
		near(t, r.name+" values", w, v, 0)
		if hand.HessianVectors != nil {
			u := points(n+1, d)[d:]
			set.NewEvaluator(n).HessianVectors(j, x, u, n)
			hand.HessianVectors(k, x, u, n)
			near(t, r.name+" ∇²v", j, k, 1e-11)
		}
	}
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}

// go test -run ^$ -bench Jacobians ./constraint/formula: values with Jacobians by hand and by formulas, run in turn, in
// ns/point (the least of many rounds), and the ratio.
func BenchmarkJacobians(b *testing.B) {
	for _, r := range rivals {
		f := build(b, r.text)
		d, c := f.Dim(), len(constraint.Components(f))
		for _, n := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%s/n=%d", r.name, n), func(b *testing.B) {
				x, v, j := points(n, d), make([]float64, n*c), make([]float64, n*c*d)
				calls := max(1, 100_000/(n*d))
				least := func(s constraint.Evaluator, so float64) float64 {
					start := time.Now()
					for range calls {
						s.Jacobians(v, j, x, n)
					}
					return min(so, float64(time.Since(start).Nanoseconds())/float64(calls*n))
				}
				byHand, compiled := r.hand.NewEvaluator(n), f.NewEvaluator(n)
				hand, tape := math.Inf(1), math.Inf(1)
				for b.Loop() {
					hand, tape = least(byHand, hand), least(compiled, tape)
				}
				b.ReportMetric(hand, "ns/hand")
				b.ReportMetric(tape, "ns/tape")
				b.ReportMetric(tape/hand, "ratio")
			})
		}
	}
}

// A call allocates nothing.
func TestNoAllocation(t *testing.T) {
	const n = 100
	s := build(t, torsionText).NewEvaluator(n)
	x, v, j := points(n, 30), make([]float64, n), make([]float64, n*30)
	for name, call := range map[string]func(){
		"Values":         func() { s.Values(v, x, n) },
		"Jacobians":      func() { s.Jacobians(v, j, x, n) },
		"HessianVectors": func() { s.HessianVectors(j, x, x, n) },
	} {
		if a := testing.AllocsPerRun(50, call); a >= 1 {
			t.Errorf("%s allocates %v times a call", name, a)
		}
	}
}
