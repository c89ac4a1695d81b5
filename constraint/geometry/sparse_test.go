package geometry

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// A web is a set of components that are sums of quadrics, each of a few coordinates:
//
//	Σ_k coef_k (Σ_j w_kj (x_j − c_kj)² + b_kj x_j) − r.
type web struct {
	d, m    int
	on      []float64 // a point of h = 0, beside the edges of inequalities
	quadric []quad
	sums    []blend
}

type quad struct {
	at      []int
	w, c, b []float64
}

type blend struct {
	of   map[int]float64
	r    float64
	wall int // coordinate + 1 of ±x_j − r ≤ 0 instead
	sign float64
}

func (s web) Dim() int               { return s.d }
func (s web) Equalities() []string   { return make([]string, s.m) }
func (s web) Inequalities() []string { return make([]string, len(s.sums)-s.m) }
func (s web) support() (out [][]int) {
	for _, c := range s.sums {
		at := []int{}
		if c.wall > 0 {
			at = append(at, c.wall-1)
		}
		for k := range c.of {
			at = append(at, s.quadric[k].at...)
		}
		slices.Sort(at)
		out = append(out, slices.Compact(at))
	}
	return out
}

func (s web) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Support: s.support()}
}

// each calls f with the value of every component and its derivatives and second derivatives, all of them.
func (s web) each(x []float64, f func(comp int, v float64, grad, second []float64)) {
	for comp, c := range s.sums {
		v, grad, second := -c.r, make([]float64, s.d), make([]float64, s.d)
		if c.wall > 0 {
			v += c.sign * x[c.wall-1]
			grad[c.wall-1] = c.sign
		}
		for k := range s.quadric {
			q, coef := s.quadric[k], c.of[k]
			for e, j := range q.at {
				u := x[j] - q.c[e]
				v += coef * (q.w[e]*u*u + q.b[e]*x[j])
				grad[j] += coef * (2*q.w[e]*u + q.b[e])
				second[j] += coef * 2 * q.w[e]
			}
		}
		f(comp, v, grad, second)
	}
}

func (s web) NewEvaluator(int) constraint.Evaluator {
	c, support := len(s.sums), s.support()
	e := constraint.Evaluator{}
	e.Jacobians = func(values, jac, x []float64, n int) {
		for i := range n {
			s.each(x[i*s.d:(i+1)*s.d], func(comp int, v float64, grad, _ []float64) {
				values[i*c+comp] = v
				copy(jac[(i*c+comp)*s.d:], grad)
			})
		}
	}
	e.Values = func(values, x []float64, n int) { e.Jacobians(values, make([]float64, n*c*s.d), x, n) }
	e.SparseJacobians = func(values, jac, x []float64, n int) {
		for i := range n {
			s.each(x[i*s.d:(i+1)*s.d], func(comp int, v float64, grad, _ []float64) {
				values[i*c+comp] = v
				for _, j := range support[comp] {
					jac[0], jac = grad[j], jac[1:]
				}
			})
		}
	}
	e.HessianVectors = func(dst, x, v []float64, n int) {
		for i := range n {
			s.each(x[i*s.d:(i+1)*s.d], func(comp int, _ float64, _, second []float64) {
				for j, w := range second {
					dst[(i*c+comp)*s.d+j] = w * v[i*s.d+j]
				}
			})
		}
	}
	e.SparseHessianVectors = func(dst, x, v []float64, n int) {
		for i := range n {
			s.each(x[i*s.d:(i+1)*s.d], func(comp int, _ float64, _, second []float64) {
				for _, j := range support[comp] {
					dst[0], dst = second[j]*v[i*s.d+j], dst[1:]
				}
			})
		}
	}
	return e
}

// webOf returns m equalities in R^d of neighbours and a few far pairs, redundant ones that are sums of two or three of
// them with a part of another, and inequalities: walls and others, active and not.
func webOf(d, m, redundant int, part float64, walls, others int, sample uint64) web {
	st := keyed.New(5, keyed.Probe, 40)
	draws := make([]float64, 40*(m+redundant+walls+others+d)+2)
	st.Normals(draws, sample, 0)
	next := func() float64 { v := draws[0]; draws = draws[1:]; return v }
	pick := func(n int) int { return int(math.Abs(next())*1e6) % n }
	s := web{d: d, m: m + redundant}
	for k := range m + others {
		q := quad{}
		for _, j := range []int{k * d / (m + others), k*d/(m+others) + 1, k*d/(m+others) + 2, pick(d)} {
			if j < d && !slices.Contains(q.at, j) && (len(q.at) < 3 || k%5 == 0) {
				q.at = append(q.at, j)
				q.w, q.c, q.b = append(q.w, next()), append(q.c, next()), append(q.b, next())
			}
		}
		s.quadric = append(s.quadric, q)
	}
	for k := range m {
		s.sums = append(s.sums, blend{of: map[int]float64{k: 1}, r: 0.3 * next()})
	}
	for range redundant {
		a, b := pick(m), pick(m)
		c := blend{of: map[int]float64{a: 1 + next()*next()}}
		c.of[b] += 0.7
		c.r = c.of[a]*s.sums[a].r + 1e-3*next()
		c.of[pick(m)] += part
		s.sums = append(s.sums, c)
	}
	for k := range others {
		s.sums = append(s.sums, blend{of: map[int]float64{m + k: 1}, r: next()})
	}
	for k := range walls {
		j, sign := pick(d), 1.0
		if k%2 == 1 {
			sign = -1
		}
		s.sums = append(s.sums, blend{wall: j + 1, sign: sign, r: next()})
	}
	if walls > 4 { // two walls of one coordinate, both beyond
		s.sums = append(s.sums, blend{wall: 1, sign: 1, r: -3}, blend{wall: 1, sign: -1, r: -3})
	}
	s.on = normals(d, sample, 1)
	s.each(s.on, func(comp int, v float64, _, _ []float64) {
		if c := &s.sums[comp]; comp < s.m {
			c.r += v
		} else if c.r != -3 {
			c.r = c.r + v + 0.05*next()
		}
	})
	return s
}

// always has every group with equalities factored by its pattern.
func always(int, int) int { return 1 << 40 }

// patterned is the geometry and the projection by patterns, whatever New would choose.
func patterned(s constraint.Set, rows int, ε float64) *tested {
	s = measured{s}
	l := newLayoutWithin(s, always)
	return &tested{Geometry: newFactored(newPoints(s, rows), l, ε), projection: newProjection(s, rows, l)}
}

// By patterns everything is what the dense factorisation gives, to 1e-12: with redundant rows and nearly redundant
// ones, active walls, dependent walls and held coordinates. A row is the same alone.
func TestSparseAgreesWithDense(t *testing.T) {
	const n = 8
	worst, borders, projections := map[string]float64{}, 0, 0
	step := uint64(1)
	if testing.Short() {
		step = 3
	}
	for sample := uint64(0); sample < 60; sample += step {
		m := 3 + int(sample)%23
		d := m + 2 + int(sample*7)%20
		redundant, walls, others := int(sample)%4, int(sample/2)%6, int(sample/3)%5
		part := []float64{0, 0, 1e-3, 1e-5}[sample%4] // of another row in a redundant one
		w := webOf(d, m, redundant, part, walls, others, sample)
		var s constraint.Set = w
		if sample%5 == 4 {
			s = constraint.Hold(s, []int{0, 3, d - 1})
		}
		c := len(constraint.Components(s))
		x, v, u := normals(n*d, 3*sample+1, 1), normals(n*d, 3*sample+2, 1), normals(n*c, 3*sample+3, 1)
		results := func(b *tested, x, v, u []float64, n int) map[string][]float64 {
			t.Helper()
			testkit.OK(t, b.At(x, n))
			out := map[string][]float64{"values": slices.Clone(b.Values())}
			write := func(name string, f func(dst []float64)) {
				out[name] = make([]float64, n*d)
				f(out[name])
			}
			write("tangent", func(dst []float64) { b.Tangent(dst, v) })
			write("twice", func(dst []float64) { b.Tangent(dst, out["tangent"]) })
			write("normal", func(dst []float64) { b.Normal(dst, u) })
			write("landing", b.Landing)
			k := testkit.Must(NewCurvature(s, n))
			write("mean curvature", func(dst []float64) { k.Mean(dst, b) })
			write("momentum curvature", func(dst []float64) { k.Momentum(dst, b, v, 2) })
			write("tangent landing", func(dst []float64) { b.Tangent(dst, out["landing"]) })
			for i := range n {
				out["ranks"] = append(out["ranks"], float64(b.Rank(i)), float64(b.Active(i)))
			}
			return out
		}
		sparse, whole := patterned(s, n, 0.05), newTested(sets.Dense(s), n, 0.05)
		got := results(sparse, x, v, u, n)
		for name, want := range results(whole, x, v, u, n) {
			for i := range n {
				k := len(want) / n
				// Of contradictory rows that are nearly dependent least squares are known to this.
				σ, pivot := leastSine(s, whole.Geometry, i), leastPivot(sparse.Geometry, i)
				size, limit := 1+dense.Largest(want[i*k:(i+1)*k]), max(1e-12, 1e-14/(σ*σ), 1e-13/pivot)
				for j, w := range want[i*k : (i+1)*k] {
					e := math.Abs(got[name][i*k+j]-w) / size
					worst[name] = max(worst[name], e*1e-12/limit)
					if !(e <= limit) {
						t.Fatalf("sample %d: %s of point %d is %v, dense %v, of %v; least sine %v, pivot %v", sample,
							name, i, got[name][i*k+j], w, size, σ, pivot)
					}
				}
			}
		}
		for i, w := range got["tangent"] {
			limit := max(1e-13, 1e-15/leastPivot(sparse.Geometry, i/d))
			if math.Abs(got["twice"][i]-w) > limit*(1+math.Abs(w)) {
				t.Fatalf("sample %d: Π is no projector: %v, %v", sample, w, got["twice"][i])
			}
		}
		f := sparse.Geometry.(*factored)
		if f.sparse != nil {
			for _, b := range f.sparse.border {
				borders += b.k
			}
		}
		for i := range n {
			alone := results(patterned(s, 1, 0.05), x[i*d:(i+1)*d], v[i*d:(i+1)*d], u[i*c:(i+1)*c], 1)
			for name, a := range alone {
				if !slices.Equal(a, got[name][i*len(a):(i+1)*len(a)]) {
					t.Fatalf("sample %d: %s of row %d differs alone", sample, name, i)
				}
			}
		}
		// From points beside Σ proposals have one projection.
		if part > 0 && redundant > 0 || walls > 4 {
			continue
		}
		y, z, okY, okZ := make([]float64, n*d), make([]float64, n*d), make([]bool, n), make([]bool, n)
		for i := range n {
			copy(y[i*d:], w.on)
		}
		dense.Axpy(y, 1e-3, x)
		testkit.OK(t, sparse.At(y, n))
		testkit.OK(t, whole.At(y, n))
		dense.Axpy(y, 0.01, v)
		a := slices.Clone(y)
		margin := 0.01 * float64(sample%2)
		sparse.project(a, y, okY, margin)
		whole.project(z, y, okZ, margin)
		for i := range n {
			if !okY[i] || !okZ[i] {
				if okY[i] != okZ[i] && redundant == 0 {
					t.Errorf("sample %d: point %d is projected %v, dense %v", sample, i, okY[i], okZ[i])
				}
				continue
			}
			projections++
			for j := range d {
				e := math.Abs(a[i*d+j]-z[i*d+j]) / (1 + math.Abs(z[i*d+j]))
				worst["projection"] = max(worst["projection"], e)
				if !(e < 1e-11) {
					t.Fatalf("sample %d: coordinate %d of point %d projects to %v, dense %v", sample, j, i, a[i*d+j],
						z[i*d+j])
				}
			}
		}
	}
	if borders < 200/int(step) || projections < 100/int(step) {
		t.Errorf("%d rows of borders and %d projections", borders, projections)
	}
	t.Log(worst, borders, projections)
}

// leastSine is the least singular value above 0 of the unit gradients of active components.
func leastSine(s constraint.Set, g Geometry, i int) float64 {
	d, c := s.Dim(), len(constraint.Components(s))
	v, jac := make([]float64, c), make([]float64, c*d)
	s.NewEvaluator(1).Jacobians(v, jac, g.Points()[i*d:(i+1)*d], 1)
	rows := mat.NewDense(c, d, nil)
	for l := range c {
		row := jac[l*d : (l+1)*d]
		if size := dense.Norm(row); l < len(s.Equalities()) || v[l] >= 0 && size > GradientTolerance {
			dense.Scaled(row, 1/size, row)
			rows.SetRow(l, row)
		}
	}
	var svd mat.SVD
	svd.Factorize(rows, mat.SVDNone)
	least := 1.0
	for _, σ := range svd.Values(nil) {
		if σ > 1e-9 {
			least = σ
		}
	}
	return least
}

// leastPivot is the least pivot of the cores at point i.
func leastPivot(geometry Geometry, i int) float64 {
	g, least := geometry.(*factored), 1.0
	for a := range g.groups {
		if g.groups[a].pattern != nil {
			least = min(least, math.Pow(g.sparse.border[i*len(g.groups)+a].precision/projected, 2))
		}
	}
	return least
}

// The factors of a pattern are those of G at each point of a block, and of a general matrix; the columns of L are what
// elimination joins. Loops in AVX2 have the bits of those in Go.
func TestPatternFactors(t *testing.T) {
	for sample := range uint64(20) {
		m := 2 + int(sample)
		s := webOf(m+9, m, 0, 0, 0, 0, sample)
		p := newLayoutWithin(s, always)
		for a := range p.groups {
			g := &p.groups[a]
			if g.pattern == nil {
				continue
			}
			q, n := g.pattern, g.m
			points := [lanes][]float64{}
			u := make([]vec, len(q.col))
			for i := range points {
				points[i] = normals(len(q.col), sample+100+50*uint64(i), 1)
				for e, v := range points[i] {
					u[e][i] = v
				}
			}
			full := func(v []float64) *mat.Dense {
				out := mat.NewDense(n, g.d, nil)
				for k, l := range q.order {
					for e := q.start[l]; e < q.start[l+1]; e++ {
						out.Set(k, int(q.col[e]), v[e])
					}
				}
				return out
			}
			low, up, inverse, y := make([]vec, len(q.li)), make([]vec, len(q.li)), make([]vec, n), make([]vec, n)
			check := func(what string, i int, a *mat.Dense, r []vec) {
				t.Helper()
				var m, res mat.Dense
				m.Mul(a, full(points[i]).T())
				b, z := normals(n, sample+300, 1), make([]vec, n)
				for k, v := range b {
					z[k][i] = v
				}
				q.solve(low, r, inverse, z)
				for k := range z {
					b[k], y[k][0] = z[k][i], b[k]
				}
				res.Mul(&m, mat.NewDense(n, 1, b))
				for k := range n {
					if e := math.Abs(res.At(k, 0) - y[k][0]); !(e < 1e-9*(1+mat.Norm(mat.NewVecDense(n, b), 2))) {
						t.Fatalf("sample %d: %s: row %d is missed by %v", sample, what, k, e)
					}
				}
			}
			if least := q.factor(low, inverse, u, y, 1e-9); !(slices.Min(least[:]) > 1e-9) {
				t.Fatal("no full rank", least)
			}
			for i := range points {
				check("LDLᵀ", i, full(points[i]), low)
			}
			all := func(tolerance float64) string {
				x, z := make([]vec, g.d), make([]vec, n)
				copy(x, u)
				least := q.factor(low, inverse, u, y, tolerance)
				largest := q.times(z, u, x, inverse)
				before := slices.Clone(z)
				q.solve(low, up, inverse, z)
				q.subtractTransposed(x, u, z)
				return fmt.Sprint(low, inverse, least, largest, before, z, x)
			}
			for _, tolerance := range []float64{1e-9, 3} {
				fast := all(tolerance)
				was := vectors
				vectors = false
				testkit.Equal(t, all(tolerance), fast, "loops in Go against those in assembly, if any: %v", was)
				vectors = was
			}
			z := normals(len(q.col), sample+200, 1)
			q.factorGeneral(low, up, inverse, z, points[0], make([]float64, n), make([]float64, n), 1e-9)
			check("LDR", 0, full(z), up)
			sorted := slices.Compact(slices.Sorted(slices.Values(q.order)))
			testkit.Equal(t, [3]int{len(sorted), int(sorted[0]), int(sorted[n-1])}, [3]int{n, 0, n - 1}, "an order has")
		}
	}
}

// A chain has no fill-in, and a star eliminates its middle last.
func TestOrderKeepsThin(t *testing.T) {
	chain, star := [][]int32{}, [][]int32{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for k := range int32(40) {
		chain = append(chain, []int32{k, k + 1})
	}
	slices.Reverse(chain[5:20])
	for k := range int32(10) {
		star = append(star, []int32{k, 10 + k})
	}
	for name, c := range map[string]struct {
		rows [][]int32
		d    int
	}{"chain": {chain, 41}, "star": {star, 20}} {
		m := len(c.rows)
		p := newPattern(c.rows, m, c.d, always(m, c.d))
		testkit.Equal(t, len(p.li), m-1, "%s: numbers of L", name)
		if p := newPattern(c.rows, m, c.d, 4*m); p != nil {
			t.Errorf("%s: no budget is kept", name)
		}
	}
}

// Nothing allocates after the first call, with redundant rows or without.
func TestSparseAllocatesNothing(t *testing.T) {
	for _, redundant := range []int{0, 3} {
		s := fixed{webOf(40, 25, redundant, 0, 5, 3, 2)}
		b := patterned(s, 4, 0.1)
		x, out, ok := normals(4*40, 5, 1), make([]float64, 4*40), make([]bool, 4)
		y := slices.Clone(x)
		dense.Axpy(y, 0.01, normals(4*40, 6, 1))
		call := func() {
			testkit.OK(t, b.At(x, 4))
			b.Tangent(out, y)
			b.Landing(out)
			b.Normal(out, b.Values())
			b.project(out, y, ok, 0)
		}
		if a := testing.AllocsPerRun(10, call); a != 0 {
			t.Errorf("%d redundant: %v allocations", redundant, a)
		}
	}
}

// fixed is a web by a linear expansion about 0, without allocations.
type fixed struct{ web }

func (s fixed) NewEvaluator(int) constraint.Evaluator {
	c, k := len(s.sums), 0
	for _, at := range s.support() {
		k += len(at)
	}
	v, j, full := make([]float64, c), make([]float64, k), make([]float64, c*s.d)
	e := s.web.NewEvaluator(1)
	e.SparseJacobians(v, j, make([]float64, s.d), 1)
	e.Jacobians(v, full, make([]float64, s.d), 1)
	values := func(values, x []float64, n int) {
		for i := range n {
			for a, b := range v {
				values[i*c+a] = b + dense.Dot(full[a*s.d:(a+1)*s.d], x[i*s.d:(i+1)*s.d])
			}
		}
	}
	return constraint.Evaluator{Values: values, SparseJacobians: func(out, jac, x []float64, n int) {
		values(out, x, n)
		for i := range n {
			copy(jac[i*k:], j)
		}
	}, Jacobians: e.Jacobians}
}

// Long chains are factored by their pattern and short ones are not; their curvature, whose second derivatives mix the
// coordinates of a bond, is what dense products give.
func TestSparseChain(t *testing.T) {
	for bonds, want := range map[int]bool{2: false, 20: true} {
		s := testkit.Must(zoo.NewChain(3, slices.Repeat([]float64{1}, bonds), nil, true))
		testkit.Equal(t, newLayout(s).sparse, want, "a chain of %d bonds is sparse", bonds)
		x, d := normals(s.Dim(), 1, 1), s.Dim()
		a, b := make([]float64, d), make([]float64, d)
		mean := func(dst []float64, s constraint.Set) {
			g, k := New(s, 1, 0), testkit.Must(NewCurvature(s, 1))
			testkit.OK(t, g.At(x, 1))
			k.Mean(dst, g)
		}
		mean(a, s)
		mean(b, sets.Dense(s))
		for j := range a {
			testkit.Near(t, a[j], b[j], 1e-11*(1+math.Abs(b[j])), "coordinate %d of %d bonds", j, bonds)
		}
	}
}

// The product of the parts that gradients have outside the span of others is √det(∇h ∇hᵀ) in any order, and a mirrored
// gradient turns their orientation around.
func TestNormals(t *testing.T) {
	for sample := range uint64(20) {
		m := 1 + int(sample)
		s := webOf(m+9, m, 0, 0, 0, 0, sample)
		x, all, jac := normals(s.d, sample+1, 1), make([]int, m), make([]float64, m*s.d)
		for i := range all {
			all[i] = i
		}
		s.NewEvaluator(1).Jacobians(make([]float64, m), jac, x, 1)
		var g mat.Dense
		g.Mul(mat.NewDense(m, s.d, jac), mat.NewDense(m, s.d, jac).T())
		want, _ := mat.LogDet(&g)
		for _, sparse := range []bool{false, true} {
			n := NewNormals(s, sparse)
			parts, unit := n.At(x, all)
			got := 0.0
			for _, p := range parts {
				got += 2 * math.Log(p)
			}
			testkit.Near(t, got, want, 1e-7*(1+math.Abs(want)), "sparse %v, %d rows", sparse, m)
			turned := slices.Clone(unit)
			row := turned[n.p.start[m/2]:n.p.start[m/2+1]]
			dense.Scaled(row, -1, row)
			if n.Turned(unit, unit) || !n.Turned(unit, turned) {
				t.Errorf("sparse %v, %d rows: a mirrored gradient is missed", sparse, m)
			}
		}
	}
}

// A border takes a bounded number of inequalities, and ends with its context.
func TestBorderIsBounded(t *testing.T) {
	s := webOf(300, 20, 0, 0, 0, 600, 3)
	g, x := patterned(s, 1, 0).Geometry.(*factored), normals(s.d, 2, 3)
	testkit.OK(t, g.At(x, 1))
	testkit.Equal(t, g.Active(0), s.m+g.sparse.border[0].walls+mostBorder)
	g.until.Until(&ending{Context: context.Background(), looks: 3})
	if err := g.At(x, 1); err != context.Canceled {
		t.Error("an ended context is not seen:", err)
	}
}

// ending is a context that is done after some looks at it.
type ending struct {
	context.Context
	looks int
}

func (c *ending) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
