package zoo_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestSuite(t *testing.T) {
	for name, s := range map[string]constraint.Set{
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
	} {
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
