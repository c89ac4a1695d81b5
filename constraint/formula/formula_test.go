package formula_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

func build(t testing.TB, text string) *formula.Set {
	t.Helper()
	var spec formula.Spec
	testkit.OK(t, yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.Strict()))
	return testkit.Must(formula.New(spec))
}

const sphere = `
dim: 3
equality:
  - {name: radius, expr: "norm(x) = 1"}
`

const torus = `
dim: 3
let: {R: "2", r: "0.6", rho: "norm(x[0:2])"}
equality:
  - {name: tube, expr: "sqrt((rho - R)^2 + x[2]^2) - r"}
`

const bonds = `
dim: 15
equality:
  - {name: "bond[j]", for: "j in 0..3", expr: "distance(x[3*j:3*j+3], x[3*j+3:3*j+6]) - 1.3"}
`

const box = `
dim: 3
inequality:
  - {name: low, expr: "-0.4*vector(i in 0..2, i+1) <= x"}
  - {name: "high[i]", for: "i in 0..2", expr: "x[i] <= 0.5 + 0.1*i"}
`

const arm = `
dim: 14
let: {c: "x[0:7]", s: "x[7:14]"}
equality:
  - {name: "unit[j]", for: "j in 0..6", expr: "c[j]^2 + s[j]^2 - 1"}
`

const floor = `
inequality:
  - {name: "floor[j]", for: "j in 0..6", expr: "s[j] >= -0.8"}
`

func TestSuite(t *testing.T) {
	for name, text := range map[string]string{"sphere": sphere, "torus": torus, "bonds": bonds, "arm": arm,
		"box": box, "arm with a floor": arm + floor} {
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, build(t, text), constrainttest.Options{}) })
	}
}

func TestNames(t *testing.T) {
	got := constraint.Components(build(t, box))
	want := []string{"low[0]", "low[1]", "low[2]", "high[0]", "high[1]", "high[2]"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("components %q, want %q", got, want)
		}
	}
}

// Values and gradients of the reference implementation, on and off Σ.
func TestGoldenOps(t *testing.T) {
	for _, c := range []struct {
		file, spec string
		d          int
	}{{"md_ops.npz", "alanine.yaml", 30}, {"robot10_ops.npz", "arm.yaml", 140}} {
		t.Run(c.spec, func(t *testing.T) {
			text := testkit.Must(os.ReadFile("testdata/" + c.spec))
			set, g := build(t, string(text)), golden.Read(t, c.file)
			for _, where := range []string{"on", "off"} {
				f := func(name string) []float64 { return g[name+"_"+where].AsFloat64() }
				x := f("x")
				n := len(x) / c.d
				v, j := make([]float64, 2*n), make([]float64, 2*n*c.d)
				set.NewEvaluator(n).Jacobians(v, j, x, n)
				h, gv, jh, jg := f("h"), f("g"), f("jac_h"), f("jac_g")
				for i := range n {
					within(t, "h", v[2*i:2*i+1], h[i:i+1])
					within(t, "g", v[2*i+1:2*i+2], gv[i:i+1])
					within(t, "∇h", j[2*i*c.d:(2*i+1)*c.d], jh[i*c.d:(i+1)*c.d])
					within(t, "∇g", j[(2*i+1)*c.d:(2*i+2)*c.d], jg[i*c.d:(i+1)*c.d])
				}
			}
		})
	}
}

func within(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9) {
			t.Fatalf("%s: element %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}

// ring has d equations in R^d, each of three coordinates, and an inequality for every third coordinate.
func ring(d int) formula.Spec {
	return formula.Spec{Dim: d,
		Equality: []formula.Component{{Name: "link[i]", For: fmt.Sprintf("i in 0..%d", d-1),
			Expr: "sin(x[i])*x[(i+1) % dim]^2 + x[(i+7) % dim] = 1"}},
		Inequality: []formula.Component{{Name: "cap[i]", For: fmt.Sprintf("i in 0..%d", (d-1)/3),
			Expr: "x[3*i]^4 <= 9"}}}
}

func normals(seed uint64, n int) []float64 {
	v := make([]float64, n)
	keyed.New(seed, keyed.Probe, 1).Normals(v, 0, 0)
	return v
}

// Packed Hessian products are the numbers of whole rows along the support, through every set that wraps formulas.
func TestPackedHessianProducts(t *testing.T) {
	const d, n = 260, 3
	s := testkit.Must(formula.New(ring(d)))
	held := constraint.Hold(s, []int{4, 5, d - 1})
	for name, s := range map[string]constraint.Set{
		"formulas": s, "view": constraint.Edge(s, 2), "hold": held, "slice": constraint.Slice(held, []float64{1, 2, 3}),
		"all": constraint.All(s, constraint.EqualitiesOf(s)), "product": constraint.Product(s, s),
		"given": constraint.Given(s, 2),
	} {
		d, c, size := s.Dim(), len(constraint.Components(s)), 0
		support := s.Capabilities().Support
		for _, at := range support {
			size += len(at)
		}
		x, v := normals(1, n*d), normals(2, n*d)
		rows, packed := make([]float64, n*c*d), make([]float64, n*size)
		e := s.NewEvaluator(n)
		e.HessianVectors(rows, x, v, n)
		e.SparseHessianVectors(packed, x, v, n)
		some := false
		for i := range n * c {
			for _, j := range support[i%c] {
				if packed[0] != rows[i*d+j] {
					t.Fatalf("%s: ∇²v[%d] of component %d is %v packed, %v in full", name, j, i%c, packed[0],
						rows[i*d+j])
				}
				some = some || packed[0] != 0
				packed = packed[1:]
			}
		}
		testkit.Equal(t, some, true, "%s: a product is not 0", name)
	}
	if e := testkit.Must(formula.New(ring(150))).NewEvaluator(1); e.SparseHessianVectors != nil {
		t.Error("a small set has packed products; its curvature would be rounded otherwise than before")
	}
}

// Ten thousand equations take memory in proportion to their size: a Jacobian in full would have 1.3e8 numbers.
func TestLargeSetsArePacked(t *testing.T) {
	const d = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := testkit.Must(formula.New(ring(d)))
	e, size := s.NewEvaluator(1), 0
	for _, at := range s.Capabilities().Support {
		size += len(at)
	}
	x := normals(1, d)
	e.SparseJacobians(make([]float64, len(constraint.Components(s))), make([]float64, size), x, 1)
	e.SparseHessianVectors(make([]float64, size), x, x, 1)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 800 {
		t.Errorf("compiling and evaluating takes %d MB", mb)
	}
}

// A BenchmarkScale reports seconds of processor time, of compiling and of packed derivatives at a point.
func BenchmarkScale(b *testing.B) {
	terms := func(n int) formula.Spec {
		return formula.Spec{Dim: 1000, Equality: []formula.Component{{Name: "a", Expr: fmt.Sprintf(
			"sum(i in 0..%d, x[i %% 1000]*sin(x[(3*i) %% 1000] + i)) - 1", n-1)}}}
	}
	covariance := func(n int) formula.Spec {
		c := normals(3, n*n)
		return formula.Spec{Dim: n, Equality: []formula.Component{{Name: "risk", Expr: "dot(x, C*x) = 1"}},
			Let: formula.Definitions{{Name: "C", Make: func(s *expr.Scope) error {
				return s.Define("C", s.Graph().Array(c, n, n))
			}}}}
	}
	for _, c := range []struct {
		name string
		spec formula.Spec
	}{
		{"ring of 100", ring(100)}, {"ring of 1000", ring(1000)}, {"ring of 10000", ring(10_000)},
		{"terms 1000", terms(1000)}, {"terms 10000", terms(10_000)}, {"terms 100000", terms(100_000)},
		{"terms 262144", terms(1 << 18)}, {"terms 1000000", terms(1_000_000)}, {"covariance of 100", covariance(100)},
		{"covariance of 300", covariance(300)}, {"covariance of 500", covariance(500)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				began := processor.Seconds()
				s, err := formula.New(c.spec)
				b.ReportMetric(processor.Seconds()-began, "s-compile")
				if err != nil {
					b.Log(err)
					continue
				}
				e, size, components := s.Program.NewEvaluator(), 0, len(s.Capabilities().Support)
				for _, at := range s.Capabilities().Support {
					size += len(at)
				}
				x, v, m := normals(1, c.spec.Dim), make([]float64, components), make([]float64, size)
				const times = 20
				for k, call := range []func(){func() { e.SparseJacobians(v, m, x, 1) },
					func() { e.SparseHessianVectors(m, x, x, 1) }} {
					call()
					began := processor.Seconds()
					for range times {
						call()
					}
					b.ReportMetric((processor.Seconds()-began)/times, []string{"s-jacobian", "s-hessian"}[k])
				}
			}
		})
	}
}
