// Package constrainttest is the suite that every feasible set must pass: derivatives against finite differences by
// slope, the algebra of the projector, invariance under rescaled, mixed and repeated constraints, and the promises of
// constraint.Set about blocks of points.
package constrainttest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/proof"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// Options steer Run.
type Options struct {
	Points int     // points to check at; default 20
	Spread float64 // standard deviation of the Gaussian points projected to Σ; default 1
	Off    float64 // distance of the off-Σ points from Σ; default 0.05
}

// Run checks a set at points on and near Σ, made from Gaussian points by Newton's projection, or by landing where there
// are inequalities (many points are then on the boundary) or Newton's method fails.
func Run(t *testing.T, set constraint.Set, o Options) {
	t.Helper()
	o = Options{cmp.Or(o.Points, 20), cmp.Or(o.Spread, 1), cmp.Or(o.Off, 0.05)}
	s := evaluated{set, set.NewEvaluator(o.Points)}
	on := onSigma(t, s, o)
	off := append([]float64(nil), on...)
	noise := make([]float64, len(off))
	keyed.New(2, keyed.Probe, 1).Normals(noise, 0, 0)
	for i := range off {
		off[i] += o.Off * noise[i] / math.Sqrt(float64(s.Dim()))
	}
	for name, x := range map[string][]float64{"on": on, "off": off} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []check{{"blocks", blocks}, {"evaluators", evaluators}, {"sparse", sparse},
				{"joined", joined}, {"formulas", formulas}, {"jacobian", jacobian}, {"hessian", hessian},
				{"projector", projector},
				{"landing", landing}, {"curvature", curvature}, {"closed form", closedForm}} {
				t.Run(c.name, func(t *testing.T) { c.run(t, s, x) })
			}
		})
	}
	for _, c := range []check{{"squares", squares}, {"samplers", samplers}, {"retraction", retraction},
		{"geodesics", geodesics}} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s, on) })
	}
}

// A check looks at a set at points.
type check struct {
	name string
	run  func(t *testing.T, s evaluated, x []float64)
}

func onSigma(t *testing.T, s evaluated, o Options) []float64 {
	t.Helper()
	d := s.Dim()
	x := make([]float64, o.Points*d)
	keyed.New(1, keyed.Probe, 1).Normals(x, 0, 0)
	floats.Scale(o.Spread, x)
	if len(s.Inequalities()) > 0 {
		return landed(t, s, x)
	}
	plain := sets.Plain(s)
	b := geometry.New(plain, o.Points, 0)
	testkit.OK(t, b.At(x, o.Points))
	ok := make([]bool, o.Points)
	y := make([]float64, len(x))
	geometry.NewProjection(plain, o.Points).Project(b, y, x, ok, 0)
	kept := y[:0]
	for i, good := range ok {
		if good {
			kept = append(kept, y[i*d:(i+1)*d]...)
		}
	}
	if len(kept) < len(x)/2 { // Gaussian points may be too far for Newton
		return landed(t, s, x)
	}
	return kept
}

// landed brings the points x to Σ by landing; where that fails, others that the set says are beside it.
func landed(t *testing.T, s evaluated, x []float64) []float64 {
	t.Helper()
	const tries = 2000
	d, solver, start := s.Dim(), geometry.NewSolver(s, 0), s.Capabilities().Start
	for i := 0; i < len(x); i += d {
		arrived := solver.Descend(x[i:i+d], 1e-14)
		for try := 0; !arrived && start != nil && try < tries; try++ {
			start(x[i:i+d], keyed.New(5, keyed.Probe, 1), uint64(i/d), try)
			arrived = solver.Descend(x[i:i+d], 1e-14)
		}
		if !arrived {
			t.Fatalf("landing did not bring point %d to Σ", i/d)
		}
	}
	return x
}

// evaluated is a set with an evaluator for as many points as the suite looks at.
type evaluated struct {
	constraint.Set
	constraint.Evaluator
}

// blocks: outputs are written whole, rows are independent, Values and Jacobians agree.
func blocks(t *testing.T, s evaluated, x []float64) {
	d, c := s.Dim(), len(constraint.Components(s))
	n := len(x) / d
	v, j, v2 := nans(n*c), nans(n*c*d), nans(n*c)
	s.Jacobians(v, j, x, n)
	s.Values(v2, x, n)
	for i := range v {
		if v[i] != v2[i] && math.Abs(v[i]-v2[i]) > 1e-15*(1+math.Abs(v[i])) {
			t.Fatalf("Values and Jacobians disagree: %v and %v", v2[i], v[i])
		}
	}
	for i := range j {
		if math.IsNaN(j[i]) {
			t.Fatalf("Jacobians left element %d unwritten", i)
		}
	}
	for i := range n {
		v1, j1 := nans(c), nans(c*d)
		s.Jacobians(v1, j1, x[i*d:(i+1)*d], 1)
		if !slices.Equal(v1, v[i*c:(i+1)*c]) || !slices.Equal(j1, j[i*c*d:(i+1)*c*d]) {
			t.Fatalf("point %d alone differs from point %d in a block", i, i)
		}
	}
	s.Jacobians(nil, nil, nil, 0)
}

// evaluators: each owns its scratch, so that several at once give what one gives, and
// none allocates after its first call.
func evaluators(t *testing.T, s evaluated, x []float64) {
	d, c := s.Dim(), len(constraint.Components(s))
	n := len(x) / d
	want := nans(n*c + n*c*d)
	s.Jacobians(want[:n*c], want[n*c:], x, n)
	const users = 4
	done := make(chan bool, users)
	for range users {
		e := s.NewEvaluator(n)
		go func() {
			same := true
			for range 3 {
				got := nans(len(want))
				e.Jacobians(got[:n*c], got[n*c:], x, n)
				same = same && slices.Equal(got, want)
			}
			done <- same
		}()
	}
	for range users {
		if !<-done {
			t.Error("evaluators used at once give other numbers than one")
		}
	}
	e, v, m := s.NewEvaluator(n), make([]float64, n*c), make([]float64, n*c*d)
	calls := map[string]func(){"Values": func() { e.Values(v, x, n) }, "Jacobians": func() { e.Jacobians(v, m, x, n) }}
	if e.HessianVectors != nil {
		calls["HessianVectors"] = func() { e.HessianVectors(m, x, x, n) }
	}
	if e.SparseHessianVectors != nil {
		calls["SparseHessianVectors"] = func() { e.SparseHessianVectors(m, x, x, n) }
	}
	if e.SparseJacobians != nil {
		calls["SparseJacobians"] = func() { e.SparseJacobians(v, m, x, n) }
	}
	for name, call := range calls {
		if a := testing.AllocsPerRun(5, call); a >= 1 {
			t.Errorf("%s allocates %v times a call", name, a)
		}
	}
}

// sparse: the packed Jacobian is the full one, which is zero elsewhere.
func sparse(t *testing.T, s evaluated, x []float64) {
	support := s.Capabilities().Support
	if (support == nil) != (s.SparseJacobians == nil) {
		t.Fatalf("the set says a support: %v; its evaluator has sparse Jacobians: %v", support != nil,
			s.SparseJacobians != nil)
	}
	if support == nil {
		return
	}
	d, c, size := s.Dim(), len(constraint.Components(s)), 0
	if len(support) != c {
		t.Fatalf("the support is of %d components; there are %d", len(support), c)
	}
	for a, at := range support {
		size += len(at)
		if !slices.IsSorted(at) || len(slices.Compact(slices.Clone(at))) != len(at) {
			t.Fatalf("support %v of component %d is not in ascending order", at, a)
		}
	}
	n := len(x) / d
	if s.SparseHessianVectors != nil {
		rows, along, dir := nans(n*c*d), nans(n*size), make([]float64, n*d)
		keyed.New(4, keyed.Probe, 4).Normals(dir, 0, 0)
		s.HessianVectors(rows, x, dir, n)
		s.SparseHessianVectors(along, x, dir, n)
		for i := range n * c {
			for _, j := range support[i%c] {
				if along[0] != rows[i*d+j] {
					t.Fatalf("∇²v[%d] of component %d is %v packed, %v in full", j, i%c, along[0], rows[i*d+j])
				}
				along = along[1:]
			}
		}
	}
	v, jac, v2, packed := nans(n*c), nans(n*c*d), nans(n*c), nans(n*size)
	s.Jacobians(v, jac, x, n)
	s.SparseJacobians(v2, packed, x, n)
	if !slices.Equal(v, v2) {
		t.Fatal("Jacobians and SparseJacobians give different values")
	}
	for i := range n {
		for a, at := range support {
			row := jac[(i*c+a)*d : (i*c+a+1)*d]
			for _, j := range at {
				if packed[0] != row[j] {
					t.Fatalf("∂/∂x[%d] of component %d is %v packed, %v in the full Jacobian", j, a, packed[0], row[j])
				}
				packed, row[j] = packed[1:], 0
			}
			if dense.Norm(row) != 0 {
				t.Fatalf("component %d varies outside its support", a)
			}
		}
	}
}

// formulas: they have the values of the components, wherever these have any.
func formulas(t *testing.T, s evaluated, x []float64) {
	w, d, v := proof.New(s.Set).NewWorker(), s.Dim(), make([]float64, len(constraint.Components(s)))
	for i := range len(x) / d {
		xi := x[i*d : (i+1)*d]
		s.Values(v, xi, 1)
		if r := w.Prove(xi); strings.Contains(r.Reason, "another than its formula") && dense.Finite(v) {
			t.Errorf("point %d: %s", i, r.Reason)
		}
	}
}

// joined: products of the set, intersections and views with it meet the requirements of values and derivatives.
func joined(t *testing.T, s evaluated, x []float64) {
	d := s.Dim()
	pairs := make([]float64, 0, 2*len(x))
	for i := range len(x) / d {
		before := (i + len(x)/d - 1) % (len(x) / d)
		pairs = append(append(pairs, x[i*d:(i+1)*d]...), x[before*d:(before+1)*d]...)
	}
	for _, c := range []struct {
		set constraint.Set
		x   []float64
	}{
		{constraint.Product(s.Set, s.Set), pairs}, {constraint.All(s.Set, s.Set), x},
		{constraint.EqualitiesOf(s.Set), x},
	} {
		w := evaluated{c.set, c.set.NewEvaluator(len(c.x) / c.set.Dim())}
		blocks(t, w, c.x)
		evaluators(t, w, c.x)
		sparse(t, w, c.x)
	}
}

// slope demands that the error of a central difference falls like step² until
// round-off, whose size unit·2⁻⁵²/step ends the check.
func slope(t *testing.T, what string, unit float64, err func(step float64) float64) {
	t.Helper()
	prev, good := math.NaN(), false
	for step := 1e-1; step > 1e-6; step /= 10 {
		e := err(step)
		roundoff := 100 * unit * 0x1p-52 / step
		if e <= roundoff {
			good = true
		} else if !math.IsNaN(prev) && step < 1e-3 && !good && e > prev/50 {
			t.Fatalf("%s: error %.3g at step %.0e after %.3g ten times coarser; want a hundredth", what, e, step, prev)
		}
		prev = e
	}
	if !good {
		t.Fatalf("%s: finite differences never came within round-off (last error %.3g)", what, prev)
	}
}

// differences returns central differences of the n numbers that f writes, at x along dir, by number and step.
func differences(n int, x, dir []float64, f func(dst, x []float64)) func(a int, step float64) float64 {
	known := map[float64][]float64{}
	return func(a int, step float64) float64 {
		if known[step] == nil {
			plus, minus := make([]float64, n), make([]float64, n)
			f(plus, shifted(x, step, dir))
			f(minus, shifted(x, -step, dir))
			known[step] = floats.SubTo(plus, plus, minus)
		}
		return known[step][a] / (2 * step)
	}
}

func jacobian(t *testing.T, s evaluated, x []float64) {
	d, c := s.Dim(), len(constraint.Components(s))
	for i := range min(4, len(x)/d) {
		xi, dir := x[i*d:(i+1)*d], unit(d, uint64(i))
		v, jac := make([]float64, c), make([]float64, c*d)
		s.Jacobians(v, jac, xi, 1)
		near := differences(c, xi, dir, func(dst, x []float64) { s.Values(dst, x, 1) })
		for a := range c {
			exact := dense.Dot(jac[a*d:(a+1)*d], dir)
			slope(t, fmt.Sprintf("∇ of component %d at point %d", a, i), 10+math.Abs(v[a])+math.Abs(exact),
				func(h float64) float64 { return math.Abs(near(a, h) - exact) })
		}
	}
}

func hessian(t *testing.T, s evaluated, x []float64) {
	if s.HessianVectors == nil {
		t.Skip("no Hessian-vector products")
	}
	d, c := s.Dim(), len(constraint.Components(s))
	hv, v := nans(c*d), make([]float64, c)
	for i := range min(4, len(x)/d) {
		xi, dir := x[i*d:(i+1)*d], unit(d, uint64(i)+100)
		s.HessianVectors(hv, xi, dir, 1)
		near := differences(c*d, xi, dir, func(dst, x []float64) { s.Jacobians(v, dst, x, 1) })
		for a := range c * d {
			slope(t, fmt.Sprintf("∇²v element %d at point %d", a, i), 10+math.Abs(hv[a]),
				func(h float64) float64 { return math.Abs(near(a, h) - hv[a]) })
		}
	}
}

// projector: Π² = Π = Πᵀ, ∇J Π = 0, trace Π = d − rank; unchanged under J → AJ and under a repeated constraint.
func projector(t *testing.T, s evaluated, x []float64) {
	d, c := s.Dim(), len(constraint.Components(s))
	n := len(x) / d
	b := geometry.New(s, n, 0)
	testkit.OK(t, b.At(x, n))
	π := matrix(b, n, d)
	v, jac := make([]float64, n*c), make([]float64, n*c*d)
	s.Jacobians(v, jac, x, n)
	for i := range n {
		p := mat.NewDense(d, d, π[i*d*d:(i+1)*d*d])
		var square, product mat.Dense
		if square.Mul(p, p); !mat.EqualApprox(p, p.T(), 1e-13) || !mat.EqualApprox(&square, p, 1e-13) {
			t.Fatalf("Π of point %d is no symmetric projector:\n%v", i, mat.Formatted(p))
		}
		if trace := mat.Trace(p); !(math.Abs(trace-float64(d-b.Rank(i))) <= 1e-12) {
			t.Fatalf("trace Π = %v with d = %d and rank %d", trace, d, b.Rank(i))
		}
		product.Mul(mat.NewDense(c, d, jac[i*c*d:(i+1)*c*d]), p)
		for a := range c {
			if a >= len(s.Equalities()) && v[i*c+a] < 0 {
				continue
			}
			e := floats.Norm(product.RawRowView(a), math.Inf(1))
			if !(e <= 1e-12*(1+dense.Norm(jac[(i*c+a)*d:(i*c+a+1)*d]))) {
				t.Fatalf("∇J Π = %.3g for component %d", e, a)
			}
		}
	}
	for name, other := range map[string]constraint.Set{"A·J": mixed(s, false),
		"a repeated constraint": mixed(s, true)} {
		o := geometry.New(other, n, 0)
		testkit.OK(t, o.At(x, n))
		for i := range n {
			if o.Rank(i) != b.Rank(i) {
				t.Fatalf("%s: rank %d, was %d", name, o.Rank(i), b.Rank(i))
			}
		}
		for a, w := range matrix(o, n, d) {
			if math.Abs(w-π[a]) > 1e-10 {
				t.Fatalf("%s changes Π by %.3g", name, math.Abs(w-π[a]))
			}
		}
	}
}

// landing: ∇Jᵀ G† J is normal and unchanged by rescaled rows; where the active gradients are independent it solves ∇J·v
// = J, and A·h or a repeated constraint change nothing. (Where they are dependent and J is inconsistent off Σ, the
// least-squares solution depends on the weights, which rows of unit length fix.)
func landing(t *testing.T, s evaluated, x []float64) {
	d, m := s.Dim(), len(s.Equalities())
	c := len(constraint.Components(s))
	n := len(x) / d
	b := geometry.New(s, n, 0)
	testkit.OK(t, b.At(x, n))
	l, tangent := nans(n*d), nans(n*d)
	b.Landing(l)
	b.Tangent(tangent, l)
	for i, v := range tangent {
		if math.Abs(v) > 1e-12 {
			t.Fatalf("landing direction has a tangential part %.3g at point %d", v, i/d)
		}
	}
	v, jac := make([]float64, n*c), make([]float64, n*c*d)
	s.Jacobians(v, jac, x, n)
	for i := range n {
		for a := range c {
			if b.Rank(i) < b.Active(i) || a >= m && v[i*c+a] < 0 {
				continue
			}
			row := jac[(i*c+a)*d : (i*c+a+1)*d]
			if e := dense.Dot(row, l[i*d:(i+1)*d]) - v[i*c+a]; math.Abs(e) > 1e-12*(1+math.Sqrt(dense.Dot(row, row))) {
				t.Fatalf("∇J·landing misses J by %.3g in component %d at point %d", e, a, i)
			}
		}
	}
	for name, other := range map[string]constraint.Set{
		"rescaled rows": rescaled(s), "A·h": mixed(s, false), "a repeated constraint": mixed(s, true),
	} {
		o := geometry.New(other, n, 0)
		testkit.OK(t, o.At(x, n))
		l2 := nans(n * d)
		o.Landing(l2)
		for i := range l {
			if name != "rescaled rows" && b.Rank(i/d) < b.Active(i/d) {
				continue
			}
			if math.Abs(l[i]-l2[i]) > 1e-10 {
				t.Fatalf("%s changes the landing direction by %.3g", name, math.Abs(l[i]-l2[i]))
			}
		}
	}
}

func samplers(t *testing.T, s evaluated, _ []float64) {
	sample := s.Capabilities().SampleUniform
	if sample == nil {
		t.Skip("no uniform sampler")
	}
	x, y, v := make([]float64, s.Dim()), make([]float64, s.Dim()), make([]float64, len(constraint.Components(s)))
	st := keyed.New(3, keyed.Probe, 2)
	for i := range uint64(200) {
		sample(x, st, i)
		sample(y, st, i)
		if !slices.Equal(x, y) {
			t.Fatal("a sample is not a function of its address")
		}
		s.Values(v, x, 1)
		for a, h := range v {
			if a < len(s.Equalities()) && math.Abs(h) > 1e-12 || a >= len(s.Equalities()) && h > 0 {
				t.Fatalf("uniform sample %d has component %d = %.3g", i, a, h)
			}
		}
	}
}

// retraction: the closed form lands where Newton's method does.
func retraction(t *testing.T, s evaluated, x []float64) {
	if s.Retract == nil {
		t.Skip("no closed-form retraction")
	}
	d := s.Dim()
	n := len(x) / d
	plain := sets.Plain(s)
	closed, newton := geometry.New(s, n, 0), geometry.New(plain, n, 0)
	testkit.OK(t, closed.At(x, n))
	testkit.OK(t, newton.At(x, n))
	y := slices.Clone(x)
	for i := range n {
		floats.AddScaled(y[i*d:(i+1)*d], 0.1, unit(d, uint64(i)))
	}
	a, b, okA, okB := nans(n*d), nans(n*d), make([]bool, n), make([]bool, n)
	geometry.NewProjection(s, n).Project(closed, a, y, okA, 0)
	geometry.NewProjection(plain, n).Project(newton, b, y, okB, 0)
	for i := range n {
		if !okA[i] || !okB[i] {
			t.Fatalf("point %d: closed form %v, Newton %v", i, okA[i], okB[i])
		}
		if e := floats.Distance(a[i*d:(i+1)*d], b[i*d:(i+1)*d], math.Inf(1)); !(e <= 1e-12) {
			t.Fatalf("point %d: closed form and Newton differ by %.3g", i, e)
		}
	}
}

// matrix returns Π at every point: n×d×d.
func matrix(b geometry.Geometry, n, d int) []float64 {
	π, e := make([]float64, n*d*d), make([]float64, n*d)
	for j := range d {
		clear(e)
		for i := range n {
			e[i*d+j] = 1
		}
		b.Tangent(e, e)
		for i := range n {
			for k := range d {
				π[(i*d+k)*d+j] = e[i*d+k]
			}
		}
	}
	return π
}

func unit(d int, sample uint64) []float64 {
	v := make([]float64, d)
	keyed.New(4, keyed.Probe, 3).Normals(v, sample, 0)
	floats.Scale(1/dense.Norm(v), v)
	return v
}

func shifted(x []float64, h float64, dir []float64) []float64 {
	return floats.AddScaledTo(make([]float64, len(x)), x, h, dir)
}

func nans(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN()
	}
	return x
}

// Working returns the set with points that count as `work` multiply-adds (constraint.Capabilities.Work).
func Working(s constraint.Set, work float64) constraint.Set {
	return sets.Changed(s, func(c *constraint.Capabilities) { c.Work = work }, nil)
}

// squares: with h_a replaced by h_a², whose gradient vanishes on Σ, geometry must name the component instead of letting
// go of it, and must not return NaN. The point is put on Σ to the last bit by shifting h_a to zero there.
func squares(t *testing.T, s evaluated, x []float64) {
	d, m := s.Dim(), len(s.Equalities())
	if m == 0 {
		t.Skip("no equalities")
	}
	for _, a := range []int{0, m - 1} {
		v := make([]float64, len(constraint.Components(s)))
		s.Values(v, x[:d], 1)
		var e *geometry.RankError
		err := geometry.New(square(s.Set, a, v[a]), 1, 0).At(x[:d], 1)
		if !errors.As(err, &e) || e.Component != s.Equalities()[a] {
			t.Errorf("with component %q squared: %v", s.Equalities()[a], err)
		}
	}
}

// square returns a set with h_a replaced by (h_a − at)².
func square(s constraint.Set, a int, at float64) constraint.Set {
	c, d := len(constraint.Components(s)), s.Dim()
	return sets.Changed(s, func(c *constraint.Capabilities) { *c = constraint.Capabilities{} },
		func(e *constraint.Evaluator) {
			inner := *e
			*e = constraint.Evaluator{Values: func(values, x []float64, n int) {
				inner.Values(values, x, n)
				for i := range n {
					v := values[i*c+a] - at
					values[i*c+a] = v * v
				}
			}, Jacobians: func(values, jac, x []float64, n int) {
				inner.Jacobians(values, jac, x, n)
				for i := range n {
					v := values[i*c+a] - at
					values[i*c+a] = v * v
					row := jac[(i*c+a)*d : (i*c+a+1)*d]
					for j := range row {
						row[j] *= 2 * v
					}
				}
			}}
		})
}
