package zoo

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// curves returns, for sets that know their geodesics, the point at time t of the one that
// leaves x with velocity v, by other means, and the projection on the tangent space at x.
func curves(t *testing.T) map[string]struct {
	set     constraint.Set
	dim     int
	exp     func(x, v []float64, t float64) []float64
	tangent func(x, v []float64) []float64
} {
	type curve = struct {
		set     constraint.Set
		dim     int
		exp     func(x, v []float64, t float64) []float64
		tangent func(x, v []float64) []float64
	}
	out := map[string]curve{}
	sphere := Sphere{D: 4, R: 2}
	out["sphere"] = curve{sphere, 4, func(x, v []float64, t float64) []float64 {
		y, θ := make([]float64, 4), dense.Norm(v)/2
		for j := range y {
			y[j] = math.Cos(t*θ)*x[j] + math.Sin(t*θ)/θ*v[j]
		}
		return y
	},
		func(x, v []float64) []float64 {
			y := append([]float64(nil), v...)
			floats.AddScaled(y, -dense.Dot(x, v)/4, x)
			return y
		}}
	for _, n := range []int{2, 3, 6} {
		set := testkit.Must(NewOrthogonal(n, OrthogonalOptions{Special: true}))
		out[fmt.Sprintf("SO(%d)", n)] = curve{set, n * n, func(x, v []float64, t float64) []float64 {
			var a, e, y mat.Dense
			X := mat.NewDense(n, n, x)
			a.Mul(X.T(), mat.NewDense(n, n, append([]float64(nil), v...)))
			a.Scale(t, &a)
			e.Exp(&a)
			y.Mul(X, &e)
			return y.RawMatrix().Data
		},
			func(x, v []float64) []float64 { // x skew(xᵀv)
				var w, s, y mat.Dense
				X := mat.NewDense(n, n, x)
				w.Mul(X.T(), mat.NewDense(n, n, append([]float64(nil), v...)))
				s.Sub(&w, w.T())
				s.Scale(0.5, &s)
				y.Mul(X, &s)
				return y.RawMatrix().Data
			}}
	}
	return out
}

// Along a geodesic from x the velocity found is the one it left with, from the least to nearly the largest angle, and a
// vector carried back along it is what projecting it from point to point gives, in the limit of many points: halving
// their distance halves the difference.
func TestGeodesic(t *testing.T) {
	for name, c := range curves(t) {
		stream := keyed.New(1, keyed.Probe, 7)
		geodesic := c.set.NewEvaluator(1).Geodesic
		x, v, p := make([]float64, c.dim), make([]float64, c.dim), make([]float64, c.dim)
		for trial := range uint64(6) {
			c.set.Capabilities().SampleUniform(x, stream, trial)
			stream.Normals(v, 100+trial, 0)
			stream.Normals(p, 100+trial, 1)
			v = c.tangent(x, v)
			// The largest angle of the curve is 3, 1, 0.3, … radians.
			angle := dense.Norm(v) / 2
			if name != "sphere" {
				angle = spectral(x, v)
			}
			floats.Scale(3*math.Pow(0.3, float64(trial))/angle, v)
			y := c.exp(x, v, 1)
			back := func(m int) []float64 {
				q := c.tangent(y, p)
				for i := m - 1; i >= 0; i-- {
					size := dense.Norm(q)
					q = c.tangent(c.exp(x, v, float64(i)/float64(m)), q)
					floats.Scale(size/dense.Norm(q), q)
				}
				return q
			}
			carried, found := c.tangent(y, p), make([]float64, c.dim)
			if !geodesic(found, carried, x, y) {
				t.Fatalf("%s: no geodesic", name)
			}
			if d := floats.Distance(found, v, 2); d > 1e-12*(1+dense.Norm(v)) {
				t.Errorf("%s, trial %d: velocity off by %g of %g", name, trial, d, dense.Norm(v))
			}
			if d := dense.Norm(carried) - dense.Norm(c.tangent(y, p)); math.Abs(d) > 1e-13*dense.Norm(p) {
				t.Errorf("%s, trial %d: length changes by %g", name, trial, d)
			}
			one, two := floats.Distance(back(200), carried, 2), floats.Distance(back(400), carried, 2)
			if two > 0.02*dense.Norm(p) || two > 0.6*one && two > 1e-9 {
				t.Errorf("%s, trial %d: carried by projections it is off by %g and %g", name, trial, one, two)
			}
			if !geodesic(found, nil, x, y) || floats.Distance(found, v, 2) > 1e-12*(1+dense.Norm(v)) {
				t.Errorf("%s, trial %d: without a vector the velocity is another", name, trial)
			}
		}
		opposite := append([]float64(nil), x...)
		if name == "sphere" {
			floats.Scale(-1, opposite)
		} else { // the first two columns turn by π
			n := int(math.Sqrt(float64(c.dim)))
			for i := range n {
				opposite[i*n], opposite[i*n+1] = -opposite[i*n], -opposite[i*n+1]
			}
		}
		if geodesic(v, nil, x, opposite) {
			t.Errorf("%s: a shortest curve to the opposite point", name)
		}
	}
}

// spectral returns the largest angle of xᵀv.
func spectral(x, v []float64) float64 {
	n := int(math.Sqrt(float64(len(x))))
	var a mat.Dense
	a.Mul(mat.NewDense(n, n, x).T(), mat.NewDense(n, n, v))
	var s mat.SVD
	s.Factorize(&a, mat.SVDNone)
	return s.Values(nil)[0]
}
