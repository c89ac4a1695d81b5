package constrainttest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// geodesics holds Exp and Log, which a set has both or neither of, against what a geodesic is:
// it stays on h = 0, its speed does not change, it does not turn within Σ, and Log leads back.
func geodesics(t *testing.T, s evaluated, x []float64) {
	if (s.Exp == nil) != (s.Log == nil) {
		t.Fatal("one of Exp and Log")
	}
	if s.Exp == nil {
		t.Skip("no closed-form geodesics")
	}
	d := s.Dim()
	n, smooth := len(x)/d, constraint.EqualitiesOf(s)
	g, m := geometry.New(smooth, n, 0), len(s.Equalities())
	testkit.OK(t, g.At(x, n))
	dirs := make([]float64, n*d)
	for i := range n {
		copy(dirs[i*d:], unit(d, uint64(i)))
	}
	g.Tangent(dirs, dirs)
	y, w, v, back := nans(d), nans(d), make([]float64, d), nans(d)
	at := func(p, v []float64, time float64) []float64 {
		u, out := make([]float64, d), nans(d)
		floats.AddScaledTo(u, u, time, v)
		s.Exp(out, nil, p, u)
		return out
	}
	size := make([]float64, n)
	for i := range n {
		size[i] = 0.1 * (1 + dense.Norm(x[i*d:(i+1)*d]))
	}
	for i := range n {
		p := x[i*d : (i+1)*d]
		for _, length := range []float64{0, 1e-9, 1e-3, size[i]} {
			floats.AddScaledTo(v, make([]float64, d), length, dirs[i*d:(i+1)*d])
			s.Exp(y, w, p, v)
			for k, h := range constraint.Values(s, y)[:m] {
				if !(math.Abs(h) < 1e-12) {
					t.Errorf("point %d: component %d is %.3g at the end of a geodesic", i, k, h)
				}
			}
			if !s.Log(back, p, y) || floats.Distance(back, v, 2) > 1e-13+1e-12*length {
				t.Errorf("point %d: a velocity of size %g comes back off by %g", i, length, floats.Distance(back, v, 2))
			}
			if math.Abs(dense.Norm(w)-dense.Norm(v)) > 1e-13+1e-12*length {
				t.Errorf("point %d: a geodesic of speed %g ends with %g", i, dense.Norm(v), dense.Norm(w))
			}
			if length < 1e-3 {
				continue
			}
			// Differences in the time, of a curve that takes it to go as far as it may turn.
			const h = 1e-4
			before, after, acceleration := at(p, v, 1-h), at(p, v, 1+h), make([]float64, d)
			for j := range d {
				if slope := (after[j] - before[j]) / (2 * h); math.Abs(slope-w[j]) > 1e-6*length+1e-11 {
					t.Errorf("point %d: velocity %d at the end is %g, by differences %g", i, j, w[j], slope)
				}
				acceleration[j] = (after[j] - 2*y[j] + before[j]) / (h * h)
			}
			one := geometry.New(smooth, 1, 0)
			testkit.OK(t, one.At(y, 1))
			bend := dense.Norm(acceleration)
			one.Tangent(acceleration, acceleration)
			if turn := dense.Norm(acceleration); turn > 1e-5*bend+1e-6 {
				t.Errorf("point %d: a geodesic turns by %g within Σ, and by %g in all", i, turn, bend)
			}
		}
		for _, k := range []int{i, (i + 1) % n} {
			q := x[k*d : (k+1)*d]
			if !s.Log(v, p, q) {
				continue
			}
			s.Exp(y, nil, p, v)
			if far := floats.Distance(y, q, math.Inf(1)); far > 1e-12*(1+dense.Norm(q)) {
				t.Errorf("Exp of Log misses point %d from %d by %g", k, i, far)
			}
		}
	}
	p, q := x[:d], at(x[:d], dirs[:d], size[0])
	if a := testing.AllocsPerRun(5, func() { s.Log(v, p, q); s.Exp(y, w, p, v) }); a != 0 {
		t.Errorf("Log and Exp allocate %v times", a)
	}
}
