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

// missed returns by how much Exp of Log misses y from x; NaN if there is no Log.
func missed(exp func(y, w, x, v []float64), log func(v, x, y []float64) bool, x, y []float64) float64 {
	v, z := make([]float64, len(x)), make([]float64, len(x))
	if !log(v, x, y) {
		return math.NaN()
	}
	exp(z, nil, x, v)
	return floats.Distance(z, y, math.Inf(1))
}

// Exp of Log is the identity to 1e-12 from the same point to 2·10⁻⁶ before the cut locus, where
// Log is as long as it should be; beyond there is none.
func TestLogOfSphere(t *testing.T) {
	for _, s := range []Sphere{{D: 2}, {D: 3}, {D: 3, R: 40}, {D: 7, R: 0.01}} {
		stream, r := keyed.New(1, keyed.Probe, 70), s.radius()
		x, e, y, v := make([]float64, s.D), make([]float64, s.D), make([]float64, s.D), make([]float64, s.D)
		s.SampleUniform(x, stream, 1)
		stream.Normals(e, 2, 0)
		floats.AddScaled(e, -dense.Dot(e, x)/(r*r), x)
		floats.Scale(1/dense.Norm(e), e)
		for _, θ := range []float64{0, 1e-12, 1e-7, 0.01, 1, 2, 2.2, 3, math.Pi - 1e-3, math.Pi - 2e-6} {
			floats.AddScaledTo(y, make([]float64, s.D), math.Cos(θ), x)
			floats.AddScaled(y, r*math.Sin(θ), e)
			if m := missed(s.Exp, s.Log, x, y); !(m <= 1e-12*r) {
				t.Errorf("%v of radius %g, angle %v: missed by %g", s, r, θ, m)
			}
			if s.Log(v, x, y); math.Abs(dense.Norm(v)-θ*r) > 1e-14*r*4 {
				t.Errorf("%v, angle %v: the length is %v", s, θ, dense.Norm(v)/r)
			}
		}
		floats.ScaleTo(y, -1, x)
		if s.Log(v, x, y) {
			t.Errorf("%v: a shortest curve to the opposite point", s)
		}
		y[0] = math.NaN()
		if s.Log(v, x, y) {
			t.Errorf("%v: a curve to NaN", s)
		}
	}
}

// The same on SO(n), for planes that turn by any angles, several of them equal, or near π at
// once; the way is never longer than the one that was gone.
func TestLogOfRotations(t *testing.T) {
	const near = math.Pi - 2e-6
	for _, angles := range [][]float64{
		{0}, {1e-9}, {1}, {near}, {0, 0}, {1, 1}, {near, near}, {near, 1e-8}, {math.Pi - 2e-6, math.Pi - 4e-6},
		{2, 2, 2}, {near, 2.09, 1}, {near, math.Pi - 1e-3, 2.5, 1, 0}, {math.Pi / 2, math.Pi / 2, near, near},
		{near, near, near, math.Pi - 1e-5, 1.7},
	} {
		for _, odd := range []int{0, 1} {
			n := 2*len(angles) + odd
			s := testkit.Must(NewOrthogonal(n, OrthogonalOptions{Special: true}))
			e := s.NewEvaluator(1)
			stream := keyed.New(1, keyed.Probe, 71)
			x, u := make([]float64, n*n), make([]float64, n*n)
			s.SampleUniform(x, stream, 1)
			s.SampleUniform(u, stream, 2)
			turn, length := mat.NewDense(n, n, nil), 0.0
			for i := range n {
				turn.Set(i, i, 1)
			}
			for k, θ := range angles {
				sin, cos := math.Sincos(θ)
				turn.Set(2*k, 2*k, cos)
				turn.Set(2*k+1, 2*k+1, cos)
				turn.Set(2*k, 2*k+1, -sin)
				turn.Set(2*k+1, 2*k, sin)
				length += 2 * θ * θ
			}
			var a, b, y mat.Dense
			a.Mul(mat.NewDense(n, n, u), turn)
			b.Mul(&a, mat.NewDense(n, n, u).T())
			y.Mul(mat.NewDense(n, n, x), &b)
			to, v := y.RawMatrix().Data, make([]float64, n*n)
			if m := missed(e.Exp, e.Log, x, to); !(m <= 1e-12) {
				t.Errorf("SO(%d), angles %v: missed by %g", n, angles, m)
			}
			if e.Log(v, x, to); math.Abs(dense.Norm(v)-math.Sqrt(length)) > 1e-9 {
				t.Errorf("SO(%d), angles %v: length %v, want %v", n, angles, dense.Norm(v), math.Sqrt(length))
			}
		}
	}
}

// Between random rotations Exp of Log is the identity, in the dimensions that recipes have too; a
// rotation by π has no Log, nor has a reflection; O(n), in two parts, has neither function.
func TestLogOfRandomRotations(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10} {
		s := testkit.Must(NewOrthogonal(n, OrthogonalOptions{Special: true}))
		e, stream := s.NewEvaluator(1), keyed.New(1, keyed.Probe, 72)
		x, y := make([]float64, n*n), make([]float64, n*n)
		for i := range uint64(200) {
			s.SampleUniform(x, stream, 2*i)
			s.SampleUniform(y, stream, 2*i+1)
			if m := missed(e.Exp, e.Log, x, y); !(m <= 1e-12) {
				t.Fatalf("SO(%d), pair %d: missed by %g", n, i, m)
			}
		}
		copy(y, x)
		for i := range n {
			y[i*n] = -y[i*n]
		}
		if e.Log(make([]float64, n*n), x, y) {
			t.Errorf("SO(%d): a way to a reflection", n)
		}
		if n > 1 {
			for i := range n {
				y[i*n+1] = -y[i*n+1]
			}
			if e.Log(make([]float64, n*n), x, y) {
				t.Errorf("SO(%d): a way to a turn by π", n)
			}
		}
		if whole, _ := NewOrthogonal(n, OrthogonalOptions{}); whole.NewEvaluator(1).Exp != nil {
			t.Error("O(n) has geodesics between its parts")
		}
	}
}

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
