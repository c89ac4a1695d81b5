package zoo_test

import (
	"errors"
	"math"
	"sort"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestSuite(t *testing.T) {
	for name, s := range testkit.Ordered(map[string]constraint.Set{
		"circle":      zoo.Sphere{D: 2},
		"sphere":      zoo.Sphere{D: 3},
		"sphere-5":    zoo.Sphere{D: 5, R: 2.5},
		"affine":      zoo.Affine{A: [][]float64{{1, 2, 0, -1}, {0, 1, 1, 3}}, B: []float64{0.5, -1}},
		"ellipsoid":   zoo.Ellipsoid{Axes: []float64{1, 2, 0.5}},
		"ellipse":     zoo.Ellipsoid{Axes: []float64{2, 0.7}},
		"torus":       zoo.Torus{Major: 2, Minor: 0.6},
		"torus-thick": zoo.Torus{Major: 1, Minor: 0.8},
		"cassini": testkit.Must(zoo.NewCurve([]zoo.Term{{1, 4, 0}, {2, 2, 2}, {1, 0, 4}, {-2, 2, 0}, {2, 0, 2},
			{-0.7, 0, 0}})),
		"cubic":      testkit.Must(zoo.NewCurve([]zoo.Term{{1, 0, 2}, {-1, 3, 0}, {2, 1, 0}, {-2, 0, 0}})),
		"box":        testkit.Must(zoo.NewBox([]float64{-1, 0, -0.2}, []float64{1, 0.5, 0.1})),
		"half space": testkit.Must(zoo.NewBox([]float64{0, math.Inf(-1)}, nil)),
		"simplex":    testkit.Must(zoo.NewSimplex(4)),
		"cap":        testkit.Must(zoo.NewCap([]float64{1, 2, 2}, 0.3)),
		"cap-5":      testkit.Must(zoo.NewCap([]float64{1, 0, 0, 0, 1}, -0.5)),
		"O(2)":       testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})),
		"SO(3)":      testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true})),
		"SO(6)":      testkit.Must(zoo.NewOrthogonal(6, zoo.OrthogonalOptions{Special: true})),
		"V(4,2)":     testkit.Must(zoo.NewStiefel(4, 2)),
		"V(5,1)":     testkit.Must(zoo.NewStiefel(5, 1)),
		"chain":      testkit.Must(zoo.NewChain(3, []float64{1, 1.5, 0.8}, nil, false)),
		"peptide":    testkit.Must(zoo.NewChain(3, []float64{1, 1.5, 1.2, 1}, []float64{1.9, 2, 1.7}, true)),
		"linkage":    testkit.Must(zoo.NewChain(2, []float64{1, 2, 1}, nil, true)),
		"z-axis":     zoo.RedundantAxis{},
	}) {
		c := s.Capabilities()
		testkit.KeepValue(t, []any{name, c.Name, c.Work, c.Support, c.Names, c.Parts, c.Held})
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, s, constrainttest.Options{}) })
	}
}

func curvature(t *testing.T, s constraint.Set) *geometry.Curvature {
	t.Helper()
	return testkit.Must(geometry.NewCurvature(s, 1))
}

// The mean curvature of a sphere of radius r is −(d−1)x/r².
func TestSphereMeanCurvature(t *testing.T) {
	for _, d := range []int{2, 3, 7} {
		s := zoo.Sphere{D: d, R: 1.7}
		x, h := make([]float64, d), make([]float64, d)
		s.SampleUniform(x, keyed.New(1, keyed.Probe, 0), 4)
		b, k := geometry.New(s, 1, 0), curvature(t, s)
		testkit.OK(t, b.At(x, 1))
		k.Mean(h, b)
		for j := range x {
			testkit.Near(t, h[j], -float64(d-1)*x[j]/(1.7*1.7), 1e-13, "d = %d: 𝓗", d)
		}
	}
}

// On any hypersurface 𝓗 = −n (div n) with n = ∇h/‖∇h‖, here by central
// differences of n; and 𝓗₁, 𝓗₂ by differences of ∇h along p.
func TestCurvatureByDifferences(t *testing.T) {
	for name, s := range map[string]constraint.Set{
		"torus":     zoo.Torus{Major: 2, Minor: 0.6},
		"ellipsoid": zoo.Ellipsoid{Axes: []float64{1, 2, 0.5}},
		"sphere":    zoo.Sphere{D: 3, R: 0.8},
	} {
		d, e := s.Dim(), s.NewEvaluator(1)
		st := keyed.New(1, keyed.Probe, 9)
		x, n, p, got, v := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d),
			make([]float64, 1)
		for i := range uint64(10) {
			s.Capabilities().SampleUniform(x, st, i)
			x[0] *= 1.01 // off Σ, so that 𝓗₂ is not zero
			b, k := geometry.New(s, 1, 0), curvature(t, s)
			testkit.OK(t, b.At(x, 1))
			normal := func(y []float64) []float64 {
				j := make([]float64, d)
				e.Jacobians(v, j, y, 1)
				q := math.Sqrt(j[0]*j[0] + j[1]*j[1] + j[2]*j[2])
				for a := range j {
					j[a] /= q
				}
				return j
			}
			div := 0.0
			const h = 1e-5
			for a := range d {
				y := append([]float64(nil), x...)
				y[a] += h
				plus := normal(y)[a]
				y[a] -= 2 * h
				div += (plus - normal(y)[a]) / (2 * h)
			}
			copy(n, normal(x))
			k.Mean(got, b)
			for a := range d {
				if math.Abs(got[a]+n[a]*div) > 1e-8*(1+math.Abs(div)) {
					t.Fatalf("%s: 𝓗 = %v, want %v", name, got[a], -n[a]*div)
				}
			}
			st.Normals(p, 1000+i, 0)
			b.Tangent(p, p)
			grad := func(step float64) []float64 {
				y := append([]float64(nil), x...)
				for a := range y {
					y[a] += step * p[a]
				}
				j := make([]float64, d)
				e.Jacobians(v, j, y, 1)
				return j
			}
			plus, minus, at := grad(h), grad(-h), grad(0)
			e.Values(v, x, 1)
			var h1, h2, g2 float64
			for a := range d {
				g2 += at[a] * at[a]
			}
			for a := range d {
				hp := (plus[a] - minus[a]) / (2 * h)
				h1 += p[a] * hp
				h2 += hp * at[a] * v[0] / g2
			}
			const s2 = 7.0
			k.Momentum(got, b, p, s2)
			for a := range d {
				want := at[a] / g2 * (h1 + s2*h2)
				if math.Abs(got[a]-want) > 1e-7*(1+math.Abs(want)) {
					t.Fatalf("%s: curvature of momentum %v, want %v", name, got[a], want)
				}
			}
		}
	}
}

// Kolmogorov–Smirnov at level 1e-6 (critical value 2.69/√n): the height on S²
// and the tube angle of the torus have known laws under the uniform measure.
func TestUniformLaws(t *testing.T) {
	const n = 20_000
	st := keyed.New(1, keyed.Probe, 5)
	x := make([]float64, 3)
	ks := func(name string, cdf func() float64) {
		counts := make([]int, 1001)
		for range n {
			counts[int(cdf()*1000)]++
		}
		sum, worst := 0, 0.0
		for i, c := range counts[:1000] {
			sum += c
			worst = max(worst, math.Abs(float64(sum)/n-float64(i+1)/1000))
		}
		if worst > 2.69/math.Sqrt(n) {
			t.Errorf("%s: KS distance %v", name, worst)
		}
	}
	i := uint64(0)
	ks("height on the sphere", func() float64 {
		i++
		zoo.Sphere{D: 3}.SampleUniform(x, st, i)
		return (1 + x[2]) / 2
	})
	torus := zoo.Torus{Major: 2, Minor: 1.5}
	ks("tube angle", func() float64 {
		i++
		torus.SampleUniform(x, st, i)
		_, φ := torus.Angles(x)
		return (φ + math.Pi + torus.Minor/torus.Major*math.Sin(φ)) / (2 * math.Pi)
	})
	// On the spheroid with axes (1, 1, c) the area between heights is ∝ ∫ √(1 + z²(1−c²)/c⁴) dz.
	const c = 2.0
	spheroid := zoo.Ellipsoid{Axes: []float64{1, 1, c}}
	k := math.Sqrt((c*c - 1) / (c * c * c * c))
	area := func(z float64) float64 { // ∫₀^z √(1 − k²z²)
		return (z*math.Sqrt(1-k*k*z*z) + math.Asin(k*z)/k) / 2
	}
	ks("height on a spheroid", func() float64 {
		i++
		spheroid.SampleUniform(x, st, i)
		return 0.5 + area(x[2])/(2*area(c))
	})
}

// Components at points where they can be told without the code.
func TestValues(t *testing.T) {
	const θ = 1.9 // a chain that starts along x and turns by π − θ at its inner atom
	sin, cos := math.Sincos(math.Pi - θ)
	bent := []float64{0, 0, 0, 1, 0, 0, 1 + 1.5*cos, 0, 1.5 * sin}
	for _, c := range []struct {
		set  constraint.Set
		x    []float64
		want map[string]float64
	}{
		{testkit.Must(zoo.NewChain(3, []float64{1, 1.5}, []float64{θ}, true)), bent,
			map[string]float64{"bond[0]": 0, "bond[1]": 0, "angle[0]": 0, "anchor[0]": 0, "anchor[1]": 0,
				"anchor[2]": 0}},
		{testkit.Must(zoo.NewChain(3, []float64{0.5, 2}, nil, false)), bent,
			map[string]float64{"bond[0]": 0.5, "bond[1]": -0.5}},
		{testkit.Must(zoo.NewCurve([]zoo.Term{{2, 3, 1}, {-1, 0, 2}, {0.5, 0, 0}})), []float64{2, 3},
			map[string]float64{"curve": 2*8*3 - 9 + 0.5}},
		{testkit.Must(zoo.NewBox([]float64{-1, math.Inf(-1)}, []float64{2, 5})), []float64{0.5, 7},
			map[string]float64{"lower[0]": -1.5, "upper[0]": -1.5, "upper[1]": 2}},
		{testkit.Must(zoo.NewSimplex(2)), []float64{0.7, 0.5},
			map[string]float64{"sum": 0.2, "lower[0]": -0.7, "lower[1]": -0.5}},
		{testkit.Must(zoo.NewCap([]float64{0, 3}, 0.25)), []float64{0, 2},
			map[string]float64{"radius": 1, "height": -1.75}},
		{testkit.Must(zoo.NewStiefel(3, 2)), []float64{1, 2, 0, 1, 2, 0},
			map[string]float64{"gram[0,0]": 4, "gram[0,1]": 2, "gram[1,1]": 4}},
		{testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), []float64{1, 2, 0, 1},
			map[string]float64{"gram[0,0]": 0, "gram[0,1]": 2, "gram[1,1]": 4}},
		{zoo.RedundantAxis{}, []float64{2, -1, 9}, map[string]float64{"x[0]": 2, "x[1]": -1, "redundant": 5}},
	} {
		names := constraint.Components(c.set)
		v := constraint.Values(c.set, c.x)
		if len(names) != len(c.want) {
			t.Errorf("%s: components %v", constraint.Name(c.set), names)
		}
		for i, name := range names {
			if want, ok := c.want[name]; !ok || math.Abs(v[i]-want) > 1e-14 {
				t.Errorf("%s: %s = %v, want %v", constraint.Name(c.set), name, v[i], want)
			}
		}
	}
}

// On and off the z-axis the rank is 2, whether g is active or not, and Π is the
// projector on the axis: constant, so continuous, where G + ridge would let go.
func TestRedundantAxis(t *testing.T) {
	const n = 500
	x := make([]float64, 3*n)
	keyed.New(1, keyed.Probe, 31).Normals(x, 0, 0)
	for i := range n { // scales 1 to 1e-15, and Σ itself
		scale := math.Pow(10, -float64(i%16))
		if i%17 == 0 {
			scale = 0
		}
		x[3*i] *= scale
		x[3*i+1] *= scale
	}
	b := geometry.New(zoo.RedundantAxis{}, n, 0)
	testkit.OK(t, b.At(x, n))
	v, active := make([]float64, 3*n), 0
	keyed.New(1, keyed.Probe, 32).Normals(v, 0, 0)
	w := append([]float64(nil), v...)
	b.Tangent(w, w)
	for i := range n {
		if b.Rank(i) != 2 {
			t.Fatalf("rank %d at %v", b.Rank(i), x[3*i:3*i+3])
		}
		active += b.Active(i) - 2
		if math.Abs(w[3*i]) > 1e-14 || math.Abs(w[3*i+1]) > 1e-14 || math.Abs(w[3*i+2]-v[3*i+2]) > 1e-14 {
			t.Fatalf("Π%v = %v at %v", v[3*i:3*i+3], w[3*i:3*i+3], x[3*i:3*i+3])
		}
	}
	if active < n/4 || active > 3*n/4+n/17 {
		t.Errorf("g is active at %d of %d points", active, n)
	}
}

// Impossible sets are refused with the field's name.
func TestDomains(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	box := func(lo, up []float64) error { _, err := zoo.NewBox(lo, up); return err }
	capped := func(a []float64, h float64) error { _, err := zoo.NewCap(a, h); return err }
	curve := func(terms ...zoo.Term) error { _, err := zoo.NewCurve(terms); return err }
	chain := func(k int, bonds, angles []float64) error {
		_, err := zoo.NewChain(k, bonds, angles, false)
		return err
	}
	simplex := func(d int) error { _, err := zoo.NewSimplex(d); return err }
	orthogonal := func(n int) error { _, err := zoo.NewOrthogonal(n, zoo.OrthogonalOptions{}); return err }
	stiefel := func(n, p int) error { _, err := zoo.NewStiefel(n, p); return err }
	for field, errs := range map[string][]error{
		"lower": {box(nil, nil), box([]float64{0}, []float64{1, 2})},
		"upper": {box([]float64{0, 0}, []float64{1}), box([]float64{1}, []float64{1}), box([]float64{nan}, nil),
			box([]float64{inf}, nil), box(nil, []float64{-inf})},
		"axis": {capped([]float64{1}, 0), capped([]float64{0, 0, 0}, 0), capped([]float64{nan, 1}, 0),
			capped([]float64{1e308, 1e308}, 0)},
		"height": {capped([]float64{0, 1}, 1), capped([]float64{0, 1}, -1), capped([]float64{0, 1}, nan)},
		"terms": {curve(), curve(zoo.Term{1, 0, 0}), curve(zoo.Term{0, 2, 0}), curve(zoo.Term{nan, 1, 0}),
			curve(zoo.Term{1, -1, 0}), curve(zoo.Term{1, 65, 0})},
		"bonds": {chain(3, nil, nil), chain(3, []float64{1, 0}, nil), chain(3, []float64{inf}, nil),
			chain(3, []float64{nan}, nil)},
		"angles": {chain(3, []float64{1, 1}, []float64{}), chain(3, []float64{1, 1}, []float64{math.Pi}),
			chain(3, []float64{1, 1}, []float64{0}), chain(3, []float64{1, 1}, []float64{nan})},
		"dim": {chain(1, []float64{1}, nil), simplex(1), simplex(-3)},
		"n":   {orthogonal(0), orthogonal(101), stiefel(0, 1), stiefel(101, 1)},
		"p":   {stiefel(3, 0), stiefel(3, 4)},
	} {
		for i, err := range errs {
			var e *zoo.DomainError
			if !errors.As(err, &e) || e.Param != field {
				t.Errorf("%s, case %d: %v", field, i, err)
			}
		}
	}
	for _, err := range []error{box([]float64{0}, nil), box([]float64{-inf, 0}, []float64{1, inf}),
		capped([]float64{0, 3}, -0.99), stiefel(1, 1), orthogonal(1), orthogonal(100), stiefel(100, 1), stiefel(3, 3)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Where a gradient vanishes geometry names the component, closed form or not.
func TestSingularPoints(t *testing.T) {
	for _, c := range []struct {
		set       constraint.Set
		x         []float64
		component string
	}{
		// a lemniscate's node
		{testkit.Must(zoo.NewCurve([]zoo.Term{{1, 4, 0}, {2, 2, 2}, {1, 0, 4}, {-1, 2, 0}, {1, 0, 2}})),
			[]float64{0, 0},
			"curve"},
		// a cusp
		{testkit.Must(zoo.NewCurve([]zoo.Term{{1, 0, 2}, {-1, 3, 0}})), []float64{0, 0}, "curve"},
		{testkit.Must(zoo.NewChain(2, []float64{1, 1}, nil, false)), []float64{0, 0, 1, 0, 1, 0}, "bond[1]"},
		{testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), []float64{1, 0, 0, 0}, "gram[1,1]"},
		{testkit.Must(zoo.NewStiefel(3, 2)), []float64{0, 1, 0, 0, 0, 0}, "gram[0,0]"},
		{testkit.Must(zoo.NewCap([]float64{0, 1}, 0.2)), []float64{0, 0}, "radius"},
	} {
		var e *geometry.RankError
		if err := geometry.New(c.set, 1, 0).At(c.x, 1); !errors.As(err, &e) || e.Component != c.component {
			t.Errorf("%s at %v: %v, want a rank error of %q", constraint.Name(c.set), c.x, err, c.component)
		}
	}
	// Dependent gradients, rank 2 of 3, none of them zero: no error, and Π is a projector.
	b := geometry.New(testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), 1, 0)
	if err := b.At([]float64{1, 1, 1, 1}, 1); err != nil || b.Rank(0) != 2 {
		t.Errorf("two equal columns: rank %d, %v", b.Rank(0), err)
	}
}

// uniformly fails unless the numbers that law gives for n uniform samples of the
// set are uniform on [0, 1]: Kolmogorov–Smirnov at level 1e-6.
func uniformly(t *testing.T, name string, s constraint.Set, law func(x []float64) float64) {
	t.Helper()
	const n = 20_000
	u, x, st := make([]float64, n), make([]float64, s.Dim()), keyed.New(1, keyed.Probe, 21)
	for i := range u {
		s.Capabilities().SampleUniform(x, st, uint64(i))
		u[i] = law(x)
	}
	sort.Float64s(u)
	worst := 0.0
	for i, v := range u {
		worst = max(worst, v-float64(i)/n, float64(i+1)/n-v)
	}
	if worst > 2.69/math.Sqrt(n) {
		t.Errorf("%s: KS distance %.4f, critical %.4f", name, worst, 2.69/math.Sqrt(n))
	}
}

// Uniform samples against distribution functions in closed form.
func TestUniformSamplers(t *testing.T) {
	uniformly(t, "cap: height", testkit.Must(zoo.NewCap([]float64{0, 0, 2}, 0.3)),
		func(x []float64) float64 { return (x[2] - 0.3) / 0.7 })
	uniformly(t, "arc: angle", testkit.Must(zoo.NewCap([]float64{1, 0}, -0.5)), func(x []float64) float64 {
		return (math.Atan2(x[1], x[0])/math.Acos(-0.5) + 1) / 2
	})
	// On the sphere of R⁵ the height has density ∝ 1 − z².
	area := func(z float64) float64 { return z - z*z*z/3 }
	for _, h := range []float64{-0.5, 0.6} {
		uniformly(t, "cap of R⁵: height", testkit.Must(zoo.NewCap([]float64{0, 0, 0, 0, 1}, h)),
			func(x []float64) float64 { return (area(x[4]) - area(h)) / (area(1) - area(h)) })
	}
	uniformly(t, "simplex: x[2]", testkit.Must(zoo.NewSimplex(4)),
		func(x []float64) float64 { return 1 - math.Pow(1-x[2], 3) })
	uniformly(t, "box: x[1]", testkit.Must(zoo.NewBox([]float64{0, -3}, []float64{1, 2})),
		func(x []float64) float64 { return (x[1] + 3) / 5 })
	// A column of V(n, p) is uniform on the sphere; here of R³, and of R⁵.
	uniformly(t, "V(3,2): last column", testkit.Must(zoo.NewStiefel(3, 2)),
		func(x []float64) float64 { return (1 + x[3]) / 2 })
	uniformly(t, "SO(5): last column", testkit.Must(zoo.NewOrthogonal(5, zoo.OrthogonalOptions{Special: true})),
		func(x []float64) float64 { return (area(x[14]) + 2.0/3) / (4.0 / 3) })
	// A rotation of R³ by Haar measure has an angle with density (1 − cos θ)/π.
	uniformly(t, "SO(3): angle", testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true})),
		func(x []float64) float64 {
			θ := math.Acos(min(1, max(-1, (x[0]+x[4]+x[8]-1)/2)))
			return (θ - math.Sin(θ)) / math.Pi
		})
}

// E(tr X)^k over SO(n) by Haar measure is that of a standard normal number for
// k < n: 0, 1, 0, 3. Bounds of 5 standard errors: level 6e-7 each.
func TestHaarTraces(t *testing.T) {
	const n, count = 10, 20_000
	set := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	x, st := make([]float64, n*n), keyed.New(2, keyed.Probe, 22)
	var sum, square [4]float64
	for i := range uint64(count) {
		set.SampleUniform(x, st, i)
		if !set.Selects(x) {
			t.Fatal("a uniform sample of SO(n) has det < 0")
		}
		trace, p := 0.0, 1.0
		for j := range n {
			trace += x[j*n+j]
		}
		for k := range sum {
			p *= trace
			sum[k] += p
			square[k] += p * p
		}
	}
	for k, want := range []float64{0, 1, 0, 3} {
		mean := sum[k] / count
		se := math.Sqrt((square[k]/count - mean*mean) / count)
		if math.Abs(mean-want) > 5*se {
			t.Errorf("E(tr X)^%d = %.4f ± %.4f, want %v", k+1, mean, se, want)
		}
	}
}
