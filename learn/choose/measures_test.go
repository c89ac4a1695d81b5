package choose

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

func measure(t *testing.T, set constraint.Set, rows []float64) *Measures {
	t.Helper()
	pool := testkit.Pool(t, 1)
	m := testkit.Must(Measure(t.Context(), set, rows, 1, pool))
	if !testkit.Longest() { // it measures more
		testkit.KeepValue(t, m)
	}
	return m
}

// quiet fails if something could not be measured.
func (m *Measures) quiet(t *testing.T) {
	t.Helper()
	if len(m.Notes) > 0 {
		t.Errorf("notes: %q", m.Notes)
	}
}

// uniform returns n rows of the uniform law on a set.
func uniform(set constraint.Set, n int) []float64 {
	d := set.Dim()
	rows, sample := make([]float64, n*d), set.Capabilities().SampleUniform
	for i := range n {
		sample(rows[i*d:(i+1)*d], keyed.New(1, keyed.Probe, 90), uint64(i))
	}
	return rows
}

func normals(n int) []float64 {
	x := make([]float64, n)
	keyed.New(2, keyed.Probe, 90).Normals(x, 0, 0)
	return x
}

func box(t *testing.T, lower, upper []float64) constraint.Set {
	t.Helper()
	return testkit.Must(zoo.NewBox(lower, upper))
}

// near fails unless got is want to a relative error.
func within(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by*math.Abs(want)) && !(math.IsInf(want, 1) && got == want) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, by)
	}
}

// Sets of one radius of curvature. Of n uniform rows on a circle of length L the distance to the nearest is exponential
// with the rate 2n/L: its quantiles are −ln(1−p) L/2n, with a relative standard error of 1/√(pN) of N = 512 rows: 20 %
// at p = 0.05, 6 % at the median; bounds are 4.5 of them, a false alarm in 10⁵.
func TestRound(t *testing.T) {
	o3 := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	const n = 2000
	for _, c := range []struct {
		name   string
		set    constraint.Set
		dim    int
		radius float64
		spread float64
	}{
		{"circle", zoo.Sphere{D: 2, R: 3}, 1, 3, 3},
		{"S²", zoo.Sphere{D: 3, R: 0.7}, 2, 0.7, 0.7},
		{"S⁹", zoo.Sphere{D: 10, R: 1}, 9, 1, 1},
		{"large circle", zoo.Sphere{D: 2, R: 3e9}, 1, 3e9, 3e9},
		{"S² by differences", sets.Plain(zoo.Sphere{D: 3, R: 5}), 2, 5, 5},
		{"SO(3)", o3, 3, math.Sqrt2, math.Sqrt(3)},
	} {
		of := c.set
		if c.name == "S² by differences" {
			of = zoo.Sphere{D: 3, R: 5}
		}
		m := measure(t, c.set, uniform(of, n))
		m.quiet(t)
		if m.Rows != n || m.Coordinates != c.set.Dim() || m.Dim != c.dim {
			t.Errorf("%s: %d rows of %d coordinates, dimension %d", c.name, m.Rows, m.Coordinates, m.Dim)
		}
		within(t, c.name+": radius", m.Radius, c.radius, 1e-8)
		within(t, c.name+": median radius", m.RadiusMedian, c.radius, 1e-8)
		within(t, c.name+": spread", m.Spread, c.spread, 0.01)
		within(t, c.name+": diameter", m.Diameter, 2*c.spread, 0.1)
		within(t, c.name+": narrow", m.Narrow, m.Spread/math.Sqrt(float64(c.dim)), 0.1) // it is even
		within(t, c.name+": window", m.WindowMedian, inf, 0)
		if dense.Norm(m.Center) > 0.1*c.spread {
			t.Errorf("%s: center %v", c.name, m.Center)
		}
	}
}

// share fails unless the quantile that was measured of draws of a law is one: the share of the law below it
// is p within 4.5 standard errors of as many draws as rows are visited, though there are more.
func share(t *testing.T, what string, law []float64, quantile, p float64) {
	t.Helper()
	below := 0.0
	for _, v := range law {
		if v <= quantile {
			below += 1 / float64(len(law))
		}
	}
	testkit.Near(t, below, p, 4.5*math.Sqrt(p*(1-p)/visited), "%s %v", what, quantile)
}

// On a torus κ(u) = cos²φ/r + sin²φ cosθ/(R + r cosθ); on an ellipsoid Σ u_j²/a_j² / ‖(x_j/a_j²)‖. Their laws are
// drawn 40 000 times.
func TestCurved(t *testing.T) {
	const n = 40_000
	torus := zoo.Torus{Major: 2, Minor: 0.5}
	x := uniform(torus, n)
	angles := make([]float64, n)
	keyed.New(3, keyed.Probe, 90).Uniforms(angles, 0, 0)
	law := make([]float64, n)
	for i := range n {
		ρ := math.Hypot(x[3*i], x[3*i+1])
		cos := (ρ - torus.Major) / torus.Minor
		c, s := math.Cos(2*math.Pi*angles[i]), math.Sin(2*math.Pi*angles[i])
		law[i] = 1 / math.Abs(c*c/torus.Minor+s*s*cos/ρ)
	}
	m := measure(t, torus, x[:3*4000])
	m.quiet(t)
	share(t, "torus: radius", law, m.Radius, 0.05)
	share(t, "torus: median radius", law, m.RadiusMedian, 0.5)
	if m.Radius < torus.Minor*(1-1e-9) || m.Dim != 2 {
		t.Errorf("torus: radius %v, dimension %d", m.Radius, m.Dim)
	}

	thin := zoo.Ellipsoid{Axes: []float64{1, 1, 0.1}}
	x = uniform(thin, n)
	u := normals(3 * n)
	for i := range n {
		normal, v := make([]float64, 3), u[3*i:3*i+3]
		for j, a := range thin.Axes {
			normal[j] = x[3*i+j] / (a * a)
		}
		size := dense.Norm(normal)
		dense.Axpy(v, -dense.Dot(v, normal)/(size*size), normal)
		κ := 0.0
		for j, a := range thin.Axes {
			κ += v[j] * v[j] / (a * a) / dense.Dot(v, v) / size
		}
		law[i] = 1 / κ
	}
	m = measure(t, thin, x[:3*4000])
	m.quiet(t)
	share(t, "ellipsoid: radius", law, m.Radius, 0.05)
	share(t, "ellipsoid: median radius", law, m.RadiusMedian, 0.5)
	share(t, "ellipsoid: thin radius", law, m.RadiusThin, 0.01)
}

// SO(10): II(XΩ, XΩ) = XΩ² with ‖Ω‖ = 1, of radii between √2 and √10.
func TestSO10(t *testing.T) {
	set := testkit.Must(zoo.NewOrthogonal(10, zoo.OrthogonalOptions{Special: true}))
	m := measure(t, set, uniform(set, 300))
	m.quiet(t)
	if m.Dim != 45 || !(m.Radius > math.Sqrt2 && m.Radius < m.RadiusMedian && m.RadiusMedian < math.Sqrt(10)) {
		t.Errorf("dimension %d, radii %v and %v", m.Dim, m.Radius, m.RadiusMedian)
	}
	within(t, "spread", m.Spread, math.Sqrt(10), 0.01)
}

// Flat sets have no curvature and no walls; a redundant equation takes no dimension.
func TestFlat(t *testing.T) {
	affine := zoo.Affine{A: [][]float64{{1, 2, 3, 0}, {2, 4, 6, 0}}, B: []float64{1, 2}}
	rows := normals(4 * 500)
	for i := range 500 {
		x := rows[4*i : 4*i+4]
		h := (x[0] + 2*x[1] + 3*x[2] - 1) / 14
		x[0], x[1], x[2] = x[0]-h, x[1]-2*h, x[2]-3*h
	}
	for i, set := range []constraint.Set{affine, sets.Plain(affine)} {
		name := []string{"affine", "by differences"}[i]
		m := measure(t, set, rows)
		m.quiet(t)
		if m.Dim != 3 || !math.IsInf(m.Radius, 1) || !math.IsInf(m.RadiusMedian, 1) || !math.IsInf(m.WindowMedian, 1) {
			t.Errorf("%s: dimension %d, radius %v, window %v", name, m.Dim, m.Radius, m.WindowMedian)
		}
		within(t, name+": spread", m.Spread, math.Sqrt(3), 0.15)
		within(t, name+": narrow", m.Narrow, 1, 0.5)
	}
	m := measure(t, zoo.Euclidean{D: 2}, normals(2*300))
	m.quiet(t)
	if m.Dim != 2 || !math.IsInf(m.Radius, 1) {
		t.Errorf("R²: %+v", m)
	}
}

// Through any row of a box the nearest walls are a side apart; of the eight nearest the least counts.
func TestWindowOfBox(t *testing.T) {
	set := box(t, []float64{0, -1, 5}, []float64{1, 2, 5.25})
	rows := make([]float64, 3*400)
	keyed.New(4, keyed.Probe, 90).Uniforms(rows, 0, 0)
	for i := range 400 {
		rows[3*i+1] = 3*rows[3*i+1] - 1
		rows[3*i+2] = 5 + rows[3*i+2]/4
	}
	m := measure(t, set, rows)
	m.quiet(t)
	within(t, "median window", m.WindowMedian, 0.25, 1e-8)
	if m.Dim != 3 || !math.IsInf(m.Radius, 1) {
		t.Errorf("dimension %d, radius %v", m.Dim, m.Radius)
	}
	// Of many walls the nearest are looked at: the thin side is the last.
	many := make([]float64, 10*400)
	keyed.New(5, keyed.Probe, 90).Uniforms(many, 0, 0)
	lower, upper := make([]float64, 10), slices.Repeat([]float64{1}, 10)
	upper[9] = 0.01
	for i := range 400 {
		many[10*i+9] *= 0.01
	}
	m = measure(t, box(t, lower, upper), many)
	within(t, "window of a thin box", m.WindowMedian, 0.01, 1e-6)

	m = measure(t, box(t, []float64{-100, -100, -100}, []float64{100, 100, 100}), rows)
	if !math.IsInf(m.WindowMedian, 1) {
		t.Errorf("walls far beyond the rows: window %v", m.WindowMedian)
	}
	m = measure(t, box(t, []float64{0, -1, -100}, []float64{50, 50, 5.25}), rows) // one wall a coordinate
	if !math.IsInf(m.WindowMedian, 1) {
		t.Errorf("walls on one side: window %v", m.WindowMedian)
	}
}

// slab is the part |z| ≤ 1/2 of a unit sphere. From the height z a tangent line along the meridian
// rises by √(1−z²) a unit: from wall to wall it is 1/√(1−z²) long.
func TestWindowOfSlab(t *testing.T) {
	slab := testkit.Must(formula.New(formula.Spec{
		Dim: 3, Equality: []formula.Component{{Name: "r", Expr: "norm(x) - 1"}},
		Inequality: []formula.Component{{Name: "up", Expr: "x[2] <= 0.5"}, {Name: "down", Expr: "50*x[2] >= -25"}},
	}))
	var rows, want []float64
	for i, x := 0, uniform(zoo.Sphere{D: 3}, 1000); len(want) < visited; i++ {
		if z := x[3*i+2]; math.Abs(z) < 0.5 {
			rows, want = append(rows, x[3*i:3*i+3]...), append(want, 1/math.Sqrt(1-z*z))
		}
	}
	m := measure(t, slab, rows)
	m.quiet(t)
	within(t, "median window", m.WindowMedian, metric.Median(want), 1e-7)
	within(t, "radius", m.Radius, 1, 1e-9)

	// Walls through rows: the edge is one of the two.
	for i := range visited {
		z := []float64{-0.5, 0.5}[i%2]
		ρ := math.Hypot(rows[3*i], rows[3*i+1])
		rows[3*i], rows[3*i+1], rows[3*i+2] = rows[3*i]/ρ*math.Sqrt(1-z*z), rows[3*i+1]/ρ*math.Sqrt(1-z*z), z
	}
	m = measure(t, slab, rows)
	within(t, "window at the edge", m.WindowMedian, 1/math.Sqrt(0.75), 1e-6)

	// Half a sphere has one wall.
	half := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0))
	m = measure(t, half, uniform(half, 200))
	m.quiet(t)
	if !math.IsInf(m.WindowMedian, 1) {
		t.Errorf("half sphere: window %v", m.WindowMedian)
	}
}

// A product has the dimensions of its factors and the narrowest of their windows.
func TestProductOfMeasures(t *testing.T) {
	square := box(t, []float64{0, 0}, []float64{3, 0.5})
	set := constraint.Product(zoo.Sphere{D: 3, R: 2}, zoo.Sphere{D: 2, R: 1}, square)
	sphere, circle := uniform(zoo.Sphere{D: 3, R: 2}, 300), uniform(zoo.Sphere{D: 2, R: 1}, 300)
	side := make([]float64, 2*300)
	keyed.New(4, keyed.Probe, 90).Uniforms(side, 0, 0)
	var rows []float64
	for i := range 300 {
		rows = append(append(append(rows, sphere[3*i:3*i+3]...), circle[2*i:2*i+2]...), 3*side[2*i], side[2*i+1]/2)
	}
	m := measure(t, set, rows)
	m.quiet(t)
	if m.Dim != 5 || !(m.Radius > 1 && m.RadiusMedian > m.Radius) {
		t.Errorf("dimension %d, radii %v and %v", m.Dim, m.Radius, m.RadiusMedian)
	}
	within(t, "window", m.WindowMedian, 0.5, 1e-8)
}

// Modes on S² of widths of 0.6, 3 and 35 degrees: the narrowest is found within a factor 2, for any share of
// at least a tenth of the rows; and where it is left out, the next.
func TestNarrow(t *testing.T) {
	st := keyed.New(7, keyed.Probe, 90)
	draw := func(n int, weight [3]float64) []float64 {
		var rows []float64
		for i := range n {
			var u [1]float64
			st.Uniforms(u[:], uint64(i), 0)
			k := 0
			for v := u[0]; k < 2 && v >= weight[k]; k++ {
				v -= weight[k]
			}
			x := make([]float64, 3)
			st.Normals(x, uint64(i), 1)
			σ := []float64{0.01, 0.055, 0.6}[k]
			dense.Scaled(x, σ, x)
			x[k]++ // about one axis each
			dense.Scaled(x, 1/dense.Norm(x), x)
			rows = append(rows, x...)
		}
		return rows
	}
	for _, c := range []struct {
		n      int
		weight [3]float64
		want   float64
	}{
		{4000, [3]float64{0.3, 0.35, 0.35}, 0.01}, {4000, [3]float64{0.1, 0.2, 0.7}, 0.01},
		{40_000, [3]float64{0.1, 0.2, 0.7}, 0.01}, {400, [3]float64{0.3, 0.35, 0.35}, 0.01},
		{4000, [3]float64{0, 0.3, 0.7}, 0.055}, {4000, [3]float64{0, 0, 1}, 0.5},
	} {
		m := measure(t, zoo.Sphere{D: 3}, draw(c.n, c.weight))
		if m.Narrow < c.want/2 || m.Mode > c.want*2 || m.Mode < m.Narrow {
			t.Errorf("%d rows, weights %v: narrow %v, mode %v, want %v within a factor 2", c.n, c.weight, m.Narrow,
				m.Mode, c.want)
		}
	}
}

// Gaussians of any dimension.
func TestNarrowOfGaussians(t *testing.T) {
	for _, d := range []int{1, 2, 5, 20, 100} {
		for _, n := range []int{200, 3000} {
			if n*d > 100_000 && !testkit.Longest() {
				continue
			}
			rows := normals(n * d)
			m := measure(t, zoo.Euclidean{D: d}, rows)
			if m.Narrow < 0.5 || m.Narrow > 1.2 {
				t.Errorf("%d rows in R^%d: narrow %v of a standard normal law", n, d, m.Narrow)
			}
			for i := range rows { // every tenth is of a mode ten times narrower, to the side
				if i/d%10 == 0 {
					rows[i] = 0.1*rows[i] + 3
				}
			}
			if n < 1000 {
				continue
			}
			m = measure(t, zoo.Euclidean{D: d}, rows)
			if m.Narrow < 0.05 || m.Narrow > 0.2 {
				t.Errorf("%d rows in R^%d: narrow %v, want 0.1", n, d, m.Narrow)
			}
		}
	}
}

// Laws that are wide along some directions and thin along one.
func TestNarrowOfThinLaws(t *testing.T) {
	for _, d := range []int{2, 5, 20, 60} {
		const n = 3000
		rows := normals(n * d)
		for i := range n {
			rows[i*d+1] = 0.03*rows[i*d+1] + 0.5*rows[i*d] // along a slope
		}
		want := 0.03 / math.Hypot(1, 0.5)
		m := measure(t, zoo.Euclidean{D: d}, rows)
		if m.Narrow < want/2 || m.Narrow > 2*want {
			t.Errorf("R^%d: narrow %v, want %v", d, m.Narrow, want)
		}
		if d >= 5 && (m.Mode < 0.3 || m.Mode > 1.2) {
			t.Errorf("R^%d: mode %v, though only one direction is thin", d, m.Mode)
		}
	}
	// A belt of latitude on a sphere: 0.02 wide, though the sphere bends by more.
	belt := normals(3 * 4000)
	for i := range 4000 {
		x := belt[3*i : 3*i+3]
		x[2] *= 0.02 * math.Hypot(x[0], x[1])
		dense.Scaled(x, 1/dense.Norm(x), x)
	}
	m := measure(t, zoo.Sphere{D: 3}, belt)
	if m.Narrow < 0.01 || m.Narrow > 0.04 {
		t.Errorf("belt: narrow %v, want 0.02", m.Narrow)
	}
	// A belt about an S² in S³, thinner than S³ bends away from a row's tangents among its neighbours.
	wide := normals(4 * 4000)
	for i := range 4000 {
		x := wide[4*i : 4*i+4]
		x[3] *= 0.0005 * dense.Norm(x[:3])
		dense.Scaled(x, 1/dense.Norm(x), x)
	}
	m = measure(t, zoo.Sphere{D: 4}, wide)
	if m.Narrow < 0.00025 || m.Narrow > 0.001 || m.Mode < 10*m.Narrow {
		t.Errorf("belt in S³: narrow %v, mode %v, want 0.0005 and far more", m.Narrow, m.Mode)
	}
	// Rows on a curve: it has no width, and the measure is what rows resolve.
	for i := range 4000 {
		belt[3*i+2] = 0
		dense.Scaled(belt[3*i:3*i+3], 1/dense.Norm(belt[3*i:3*i+3]), belt[3*i:3*i+3])
	}
	if m := measure(t, zoo.Sphere{D: 3}, belt); m.Narrow > 0.02 {
		t.Errorf("equator: narrow %v", m.Narrow)
	}
}

// P(1, y) = 1 − e^−y, and P(1, qy) = 2 P(1, y) where e^−qy = 2e^−y − 1.
func TestDoubling(t *testing.T) {
	for _, y := range []float64{1e-6, 0.1, 1, 5, 40, 100} {
		if got, want := logGamma(1, y), math.Log(-math.Expm1(-y)); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("ln P(1, %v) = %v, want %v", y, got, want)
		}
	}
	for _, y := range []float64{0.01, 0.3, 0.6} {
		q := -math.Log(2*math.Exp(-y)-1) / y
		within(t, "y", doubling(1, q), y, 1e-9)
	}
	within(t, "the median", doubling(1, 1e12), math.Ln2, 1e-9)
	for _, a := range []float64{0.5, 10, 500} { // of a far neighbour the median of a gamma law, a − 1/3 to 1/(50a)
		if got := doubling(a, 1e9); math.Abs(got-a+1./3) > 0.07 {
			t.Errorf("median of the gamma law of %v: %v", a, got)
		}
	}
}

// The order of rows and the number of workers change nothing; 2^k times larger rows on a set as much larger
// have lengths that are 2^k times larger, to the last bit.
func TestMeasuresAreOfRowsAsASet(t *testing.T) {
	x := uniform(zoo.Torus{Major: 2, Minor: 0.5}, 9000)
	x = append(x, x[:300]...)
	first := measure(t, zoo.Torus{Major: 2, Minor: 0.5}, x)
	shuffled := make([]float64, 0, len(x))
	order := make([]int, len(x)/3)
	keyed.New(1, keyed.Probe, 90).Permutation(order, 0, 0)
	for _, i := range order {
		shuffled = append(shuffled, x[3*i:3*i+3]...)
	}
	pool := testkit.Pool(t, 3)
	second, err := Measure(t.Context(), zoo.Torus{Major: 2, Minor: 0.5}, shuffled, 1, pool)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("%+v is not %+v (%v)", second, first, err)
	}
	other, err := Measure(t.Context(), zoo.Torus{Major: 2, Minor: 0.5}, shuffled, 2, pool)
	if err != nil || other.Narrow == first.Narrow {
		t.Errorf("another seed looks at the same rows")
	}
	for name, set := range testkit.Ordered(map[string]func(unit float64) constraint.Set{
		"torus":          func(u float64) constraint.Set { return zoo.Torus{Major: 2 * u, Minor: 0.5 * u} },
		"by differences": func(u float64) constraint.Set { return sets.Plain(zoo.Torus{Major: 2 * u, Minor: 0.5 * u}) },
		"between planes": func(u float64) constraint.Set {
			walls := box(t, []float64{-3 * u, -3 * u, -0.25 * u}, []float64{3 * u, 3 * u, 0.3 * u})
			return constraint.All(zoo.Torus{Major: 2 * u, Minor: 0.5 * u}, walls)
		},
	}) {
		want := measure(t, set(1), x)
		scales := []int{-40}
		if name == "torus" {
			scales = []int{-40, 10}
		}
		for _, k := range scales {
			big := slices.Clone(x)
			for i := range big {
				big[i] = math.Ldexp(big[i], k)
			}
			m := measure(t, set(math.Ldexp(1, k)), big)
			for _, p := range m.lengths() {
				*p = math.Ldexp(*p, -k)
			}
			if !reflect.DeepEqual(want, m) {
				t.Errorf("%s, 2^%d times larger: %+v, want %+v", name, k, m, want)
			}
		}
	}
}

func (m *Measures) lengths() []*float64 {
	p := []*float64{&m.Spread, &m.Diameter, &m.Narrow, &m.Mode, &m.Radius,
		&m.RadiusMedian, &m.RadiusThin, &m.WindowMedian}
	for j := range m.Center {
		p = append(p, &m.Center[j], &m.Scales[j])
	}
	return p
}

// Rows that are a thousand times larger, moved or turned are measured alike: other rows are looked at, so to
// within the noise of quantiles of some hundred rows.
func TestMeasuresInOtherUnits(t *testing.T) {
	const n = 4000
	x := normals(2 * n)
	for i := range n / 2 {
		x[2*i], x[2*i+1] = 0.03*x[2*i]+2, 0.03*x[2*i+1]
	}
	set := box(t, []float64{-6, -6}, []float64{6, 6})
	was := measure(t, set, x)
	for name, c := range testkit.Ordered(map[string]struct{ scale, shift, cos, sin float64 }{
		"larger": {1000, 0, 1, 0}, "smaller": {0.001, 0, 1, 0}, "moved": {1, 1e4, 1, 0}, "turned": {1, 0, 0.6, 0.8},
	}) {
		y := make([]float64, 2*n)
		for i := range n {
			y[2*i] = c.scale*(c.cos*x[2*i]-c.sin*x[2*i+1]) + c.shift
			y[2*i+1] = c.scale*(c.sin*x[2*i]+c.cos*x[2*i+1]) + c.shift
		}
		b := 6 * c.scale
		is := measure(t, box(t, []float64{c.shift - b, c.shift - b}, []float64{c.shift + b, c.shift + b}), y)
		within(t, name+": spread", is.Spread/c.scale, was.Spread, 1e-6)
		within(t, name+": diameter", is.Diameter/c.scale, was.Diameter, 1e-6)
		within(t, name+": narrow", is.Narrow/c.scale, was.Narrow, 0.3)
		within(t, name+": window", is.WindowMedian/c.scale, was.WindowMedian, 1e-6)
	}
}

// Measures reports a coordinate that is the same in all rows, with its equation, if the set lets it move. It does not
// if an equation holds it, alone or with others.
func TestConstantCoordinates(t *testing.T) {
	const n = 60
	x := make([]float64, 0, 4*n)
	for i := range n {
		s, c := math.Sincos(0.1 * float64(i))
		x = append(x, c, s, 3, -2)
	}
	circle := func(more ...formula.Component) constraint.Set {
		set := testkit.Must(formula.New(formula.Spec{Dim: 4,
			Equality: append([]formula.Component{{Name: "r", Expr: "norm(x[0:2]) = 1"}}, more...)}))
		return set
	}
	for want, set := range testkit.Ordered(map[string]constraint.Set{
		"x[2] = 3, x[3] = -2,":     circle(),
		"all rows have x[3] = -2,": circle(formula.Component{Name: "c", Expr: "x[2] = 3"}),
		"": circle(formula.Component{Name: "both", Expr: "x[2] - 3 = 0"},
			formula.Component{Name: "more", Expr: "x[3] + x[2] = 1"}),
	}) {
		notes := strings.Join(measure(t, set, x).Notes, "; ")
		if told := strings.Contains(notes, "all rows have"); told != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("want %q: %q", want, notes)
		}
	}
}

// Copies change no distance between rows; an outlier hardly anything; rows off Σ are brought there.
func TestDirtyRows(t *testing.T) {
	sphere := zoo.Sphere{D: 3, R: 2}
	x := uniform(sphere, 3000)
	clean := measure(t, sphere, x)
	copied := measure(t, sphere, append(slices.Clone(x), x[:900]...))
	within(t, "narrow with copies", copied.Narrow, clean.Narrow, 0.1)
	jitter := slices.Clone(x[:900])
	for i := range jitter {
		jitter[i] *= 1 + 1e-12
	}
	near := measure(t, sphere, append(slices.Clone(x), jitter...))
	within(t, "narrow with copies to round-off", near.Narrow, clean.Narrow, 0.9)

	far := slices.Clone(x)
	far[1500] = 1e7
	out := measure(t, sphere, append(far, math.NaN(), 0, 0))
	within(t, "spread with an outlier", out.Spread, clean.Spread, 0.01)
	within(t, "diameter with an outlier", out.Diameter, clean.Diameter, 0.05)
	within(t, "radius with an outlier", out.Radius, 2, 1e-9)
	notes := strings.Join(out.Notes, "; ")
	if !strings.Contains(notes, "1 of 3001 rows have numbers that are not finite") ||
		!strings.Contains(notes, "1 of 3000 rows are more than 20 times farther") {
		t.Errorf("notes %q", notes)
	}

	noise := normals(len(x))
	for i := range noise {
		noise[i] = x[i] + 1e-3*noise[i]
	}
	off := measure(t, sphere, noise)
	off.quiet(t)
	within(t, "radius off Σ", off.Radius, 2, 1e-9)

	quadric := testkit.Must(formula.New(formula.Spec{
		Dim: 3, Equality: []formula.Component{{Name: "r", Expr: "dot(x, x) = 4"}},
	}))
	for i := range noise {
		noise[i] = 1.05 * x[i]
	}
	off = measure(t, quadric, noise) // where a step to Σ is not exact
	within(t, "radius 5 % off", off.Radius, 2, 1e-9)
}

// Few rows, and rows that are all one.
func TestFewRows(t *testing.T) {
	plane := zoo.Euclidean{D: 2}
	m := measure(t, plane, []float64{1, 1, 4, 5})
	within(t, "narrow of two rows", m.Narrow, 2.5/math.Sqrt2, 1e-12)
	if m.Spread != 2.5 || m.Diameter != 5 ||
		!slices.Equal(m.Center, []float64{2.5, 3}) || len(m.Notes) != 1 {
		t.Errorf("two rows: %+v", m)
	}
	sphere := zoo.Sphere{D: 3, R: 2}
	for _, n := range []int{1, 50} {
		var rows []float64
		for range n {
			rows = append(rows, 0, 0, 2)
		}
		m := measure(t, sphere, rows)
		if m.Spread != 0 || m.Diameter != 0 || m.Narrow != 0 || m.Dim != 2 || m.Center[2] != 2 ||
			!strings.Contains(strings.Join(m.Notes, ";"), "one point") {
			t.Errorf("%d equal rows: %+v", n, m)
		}
		within(t, "radius at one point", m.Radius, 2, 1e-9)
	}
	pool := testkit.Pool(t, 1)
	for _, rows := range [][]float64{nil, {math.Inf(1), 0, 0}} {
		testkit.Refused(t, testkit.Err(Measure(t.Context(), sphere, rows, 1, pool)),
			fmt.Sprintf("%d rows of 3 coordinates cannot", len(rows)/3), "rows ", rows)
	}
}

// Held coordinates are no distance and no dimension: circles whose radius is given.
func TestHeldCoordinates(t *testing.T) {
	b := testkit.Must(formula.New(formula.Spec{
		Dim: 3, Equality: []formula.Component{{Name: "r", Expr: "norm(x[0:2]) - x[2]"}},
	}))
	set := constraint.Hold(b, []int{2})
	circle := uniform(zoo.Sphere{D: 2, R: 1}, 1000)
	var rows []float64
	for i := range 1000 {
		r := float64(1 + i%2)
		rows = append(rows, r*circle[2*i], r*circle[2*i+1], r)
	}
	m := measure(t, set, rows)
	m.quiet(t)
	if m.Dim != 1 || m.Coordinates != 3 {
		t.Errorf("dimension %d of %d", m.Dim, m.Coordinates)
	}
	within(t, "radius", m.Radius, 1, 1e-8)
	within(t, "spread", m.Spread, math.Sqrt(2.5), 0.02)
}

// A set that has no points, or whose gradient vanishes on it, is noted.
func TestUnmeasurable(t *testing.T) {
	empty := zoo.Affine{A: [][]float64{{0, 0}}, B: []float64{1}}
	m := measure(t, empty, normals(100))
	if notes := strings.Join(m.Notes, ";"); !strings.Contains(notes, "could not be brought to the set") ||
		!strings.Contains(notes, "by count") {
		t.Errorf("empty set: notes %q", notes)
	}
	if m.Dim != 1 || m.Spread == 0 {
		t.Errorf("empty set: %+v", m)
	}
	squared := testkit.Must(formula.New(formula.Spec{
		Dim: 2, Equality: []formula.Component{{Name: "r", Expr: "(norm(x) - 1)^2"}},
	}))
	m = measure(t, squared, uniform(zoo.Sphere{D: 2}, 100))
	testkit.Contains(t, strings.Join(m.Notes, ";"), "gradient of the equalities vanishes", "squared constraint: %+v", m)
}

// Second derivatives that are no numbers are no curvature, and noted.
func TestUnknownCurvature(t *testing.T) {
	sphere := zoo.Sphere{D: 3, R: 2}
	m := measure(t, halfKnown{sphere}, uniform(sphere, 200))
	within(t, "radius", m.Radius, 2, 1e-9)
	if m.Dim != 2 || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "second derivatives") {
		t.Errorf("dimension %d, notes %q", m.Dim, m.Notes)
	}
}

// A halfKnown set has no second derivatives where x_0 < 0.
type halfKnown struct{ constraint.Set }

func (s halfKnown) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	inner := e.HessianVectors
	e.HessianVectors = func(dst, x, v []float64, n int) {
		inner(dst, x, v, n)
		for i := range n {
			if x[3*i] < 0 {
				dst[3*i] = math.NaN()
			}
		}
	}
	return e
}
