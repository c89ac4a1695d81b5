package timing

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A straight way of one joint takes the time of two ramps, or of ramps and a stretch at the largest velocity.
func TestStraightWayTakesTheKnownTime(t *testing.T) {
	const length, knots = 2.0, 401
	for _, c := range []struct{ v, a, want float64 }{
		{math.Inf(1), 1, 2 * math.Sqrt(length)}, {0.5, 1, length/0.5 + 0.5}, {100, 3, 2 * math.Sqrt(length/3)},
	} {
		q, steps := make([]float64, knots), make([]float64, knots-1)
		for i := range steps {
			q[i+1], steps[i] = length*float64(i+1)/(knots-1), 1
		}
		m := NewSpline(q, 1, steps).Times(Bounds{[]float64{c.v}, []float64{c.a}}, 1e-9)
		if got := m.Time[knots-1]; math.Abs(got-c.want) > 1e-2*c.want || got < c.want {
			t.Errorf("v %g, a %g: %.5g s; expected %.5g", c.v, c.a, got, c.want)
		}
	}
}

// Cubics between knots, looked at on a fine grid, keep the bounds; the motion begins and ends at rest, and takes at
// least the times asked for. Its times are whole nanoseconds.
func TestMotionsKeepTheirBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		n, k := 1+r.IntN(7), 3+r.IntN(60)
		q, steps, least := make([]float64, n*k), make([]float64, k-1), 1e-3
		b := Bounds{make([]float64, n), make([]float64, n)}
		for j := range n {
			b.Velocity[j], b.Acceleration[j] = 0.1+3*r.Float64(), 0.1+9*r.Float64()
			for i := 1; i < k; i++ {
				q[i*n+j] = q[(i-1)*n+j] + 0.1*r.NormFloat64()
			}
		}
		for i := range steps {
			steps[i] = 0.05 + r.Float64()
		}
		if trial%3 == 0 {
			least = r.Float64()
		}
		if trial%5 == 0 { // a part in which no joint moves
			for i := 1; i <= k/2; i++ {
				copy(q[i*n:(i+1)*n], q[:n])
			}
		}
		m := NewSpline(q, n, steps).Times(b, least)
		for j := range n {
			if m.V[j] != 0 || m.V[(k-1)*n+j] != 0 {
				t.Fatalf("trial %d: it does not begin and end at rest", trial)
			}
		}
		for i := range k - 1 {
			h := m.Time[i+1] - m.Time[i]
			if ns := math.Round(m.Time[i+1] * 1e9); !(h >= least) || math.IsInf(h, 0) || m.Time[i+1] != ns/1e9 {
				t.Fatalf("trial %d: %g s from knot %d; expected %g at least", trial, h, i, least)
			}
			for j := range n {
				q0, q1, v0, v1 := m.Q[i*n+j], m.Q[(i+1)*n+j], m.V[i*n+j], m.V[(i+1)*n+j]
				c, d := 3*(q1-q0)/(h*h)-(2*v0+v1)/h, 2*(q0-q1)/(h*h*h)+(v0+v1)/(h*h)
				for e := range 21 {
					s := h * float64(e) / 20
					v, a := v0+2*c*s+3*d*s*s, 2*c+6*d*s
					if math.Abs(v) > b.Velocity[j] || math.Abs(a) > b.Acceleration[j] {
						t.Fatalf("trial %d: joint %d has velocity %g and acceleration %g; expected at most %g and %g",
							trial, j, v, a, b.Velocity[j], b.Acceleration[j])
					}
				}
			}
		}
	}
}
