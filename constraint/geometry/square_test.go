package geometry

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// II² is how fast the tangent space turns: ‖DΠ[v]‖² = 2 II²(v, v) for tangent v, by
// central differences; of a symmetric form its diagonal is enough. On surfaces, on
// curves in space, off Σ, where it is that of the level set there, and on a block of points.
func TestSquare(t *testing.T) {
	curve, err := zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}) // a circle in R⁴
	testkit.OK(t, err)
	for name, set := range map[string]constraint.Set{
		"ellipsoid": zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.3}}, "torus": zoo.Torus{Major: 2, Minor: 0.6},
		"five": zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.3, 0.8, 2}}, "circle": curve,
	} {
		d := set.Dim()
		const n = 7
		st := keyed.New(3, keyed.Probe, 4)
		x, v := make([]float64, n*d), make([]float64, n*d)
		for i := range n {
			st.Normals(x[i*d:(i+1)*d], uint64(i), 0)
			st.Normals(v[i*d:(i+1)*d], uint64(i), 1)
			if name == "circle" {
				sin, cos := math.Sincos(float64(i))
				copy(x[i*d:], []float64{cos, -sin, sin, cos})
			} else {
				NewSolver(set, 0).Project(x[i*d:(i+1)*d], 0)
			}
			if i == n-1 {
				x[i*d] += 0.05
			}
		}
		k := testkit.Must(NewCurvature(set, n))
		g, other := New(set, n, 0), New(set, 1, 0)
		square := make([]float64, n*d*d)
		for range 2 { // scratch is used again
			testkit.OK(t, g.At(x, n))
			k.Square(square, g)
		}
		g.Tangent(v, v)
		turned := func(i int, s float64) (π []float64) {
			y := append([]float64(nil), x[i*d:(i+1)*d]...)
			dense.Axpy(y, s, v[i*d:(i+1)*d])
			testkit.OK(t, other.At(y, 1))
			for e := range d {
				unit := make([]float64, d)
				unit[e] = 1
				other.Tangent(unit, unit)
				π = append(π, unit...)
			}
			return π
		}
		for i := range n {
			const h = 1e-4
			a, b, want, got := turned(i, h), turned(i, -h), 0., 0.
			for e := range a {
				want += (a[e] - b[e]) * (a[e] - b[e]) / (8 * h * h)
			}
			for e := range d {
				got += v[i*d+e] * dense.Dot(square[(i*d+e)*d:(i*d+e+1)*d], v[i*d:(i+1)*d])
			}
			if math.Abs(got-want) > 1e-5*want || want == 0 {
				t.Errorf("%s, point %d: II²(v, v) is %v, the tangent space turns by %v", name, i, got, want)
			}
		}
	}
}
