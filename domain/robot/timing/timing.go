// Package timing turns a path of joint values into a motion in time: as fast as bounds on velocities and accelerations
// allow, from rest to rest.
//
// A path q(s) is the natural cubic spline through its knots. With x = ṡ² and u = s̈,
//
//	q̇ = q′√x,  q̈ = q″x + q′u,
//
// so that bounds on both are linear in x and u. Between two knots h apart u is constant, x grows by 2hu, and the bounds
// are kept at both. A pass from the end finds the largest x of each knot from which the arm can still stop at the end;
// a pass from the start goes as fast as these allow.
//
//   - Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis (2018)
//
// Between knots a Motion is the cubic of their positions and velocities, as controllers put it there. The control
// values of Bézier's form bound it (Hull), and time is stretched where one is beyond a bound.
//
// The package knows no arm, no task and no file.
package timing

import "math"

// Bounds of the joints, radians or metres a second, and a second². Velocities may be +Inf; others are above 0.
type Bounds struct{ Velocity, Acceleration []float64 }

// A Motion is K knots of n joints.
type Motion struct {
	Time []float64 // s from the start
	Q, V []float64 // K×n: positions and velocities
}

// A Spline is the natural cubic spline through K knots of n joint values.
type Spline struct {
	n       int
	h, q, m []float64 // steps of s, K−1; knots, K×n; their second derivatives
}

// NewSpline puts a spline through K×n joint values, n of each knot, whose s differ by steps (K−1) above 0.
func NewSpline(q []float64, n int, steps []float64) *Spline {
	m, k := make([]float64, len(q)), len(steps)
	upper := make([]float64, k+1)
	// Elimination of h₋M₋ + 2(h₋+h)M + hM₊ = 6(Δ/h − Δ₋/h₋), with M = 0 at both ends.
	for at := n; at < k*n; at++ {
		i := at / n
		before, h := steps[i-1], steps[i]
		pivot := 2*(before+h) - before*upper[i-1]
		upper[i] = h / pivot
		m[at] = (6*((q[at+n]-q[at])/h-(q[at]-q[at-n])/before) - before*m[at-n]) / pivot
	}
	for at := k*n - 1; at >= n; at-- {
		m[at] -= upper[at/n] * m[at+n]
	}
	return &Spline{n, steps, q, m}
}

// At writes the joint values a share t of the way from knot i to the next.
func (p *Spline) At(dst []float64, i int, t float64) {
	for j := range dst {
		a, b := i*p.n+j, (i+1)*p.n+j
		dst[j] = (1-t)*p.q[a] + t*p.q[b] - p.h[i]*p.h[i]/6*t*(1-t)*((2-t)*p.m[a]+(1+t)*p.m[b])
	}
}

// slopes returns q′ at the knots, K×n.
func (p *Spline) slopes() []float64 {
	out, last := make([]float64, len(p.q)), len(p.h)
	for at := range out {
		i := min(at/p.n, last-1)
		a, b := i*p.n+at%p.n, (i+1)*p.n+at%p.n
		bend := -2*p.m[a] - p.m[b]
		if at/p.n == last {
			bend = p.m[a] + 2*p.m[b]
		}
		out[at] = (p.q[b]-p.q[a])/p.h[i] + p.h[i]/6*bend
	}
	return out
}

// A bound is a u + b x ≤ c.
type bound struct{ a, b, c float64 }

const (
	// flat is below what a coefficient counts as 0, as a share of the one beside it.
	flat = 1e-12
	// slowest is what of x is left at the next knot at least, but for the last one: where knots are coarse, a pass
	// would stop between.
	slowest = 0.1
	// room is what is kept free of bounds, so that rounded times rarely need another pass.
	room = 1e-5
)

// Times passes along a spline of one knot or of at least three knots. Each segment takes at least `least` seconds, and
// least is above 0.
func (p *Spline) Times(b Bounds, least float64) *Motion {
	n, k := p.n, len(p.h)+1
	m := &Motion{Time: make([]float64, k), Q: p.q, V: make([]float64, len(p.q))}
	if k < 2 {
		return m
	}
	slopes, most := p.slopes(), make([]float64, k) // most is the largest x
	for i := range most {
		most[i] = math.Inf(1)
	}
	for at, d := range slopes {
		v := b.Velocity[at%n] / math.Abs(d)
		most[at/n] = min(most[at/n], v*v)
	}
	for i, h := range p.h {
		v := h / least
		most[i], most[i+1] = min(most[i], v*v), min(most[i+1], v*v)
	}
	most[k-1] = 0
	var bounds []bound
	stage := func(i int) {
		h, rest := p.h[i], slowest
		if i == k-2 {
			rest = 0
		}
		bounds = append(bounds[:0], bound{2 * h, 1, most[i+1]}, bound{-2 * h, rest - 1, 0})
		for j, a := range b.Acceleration {
			d, c := slopes[i*n+j], p.m[i*n+j]
			e, f := slopes[(i+1)*n+j], p.m[(i+1)*n+j]
			e += 2 * h * f
			bounds = append(bounds, bound{d, c, a}, bound{-d, -c, a}, bound{e, f, a}, bound{-e, -f, a})
		}
	}
	for i := k - 2; i >= 0; i-- {
		stage(i)
		most[i] = min(most[i], furthest(bounds))
	}
	x := 0.0
	for i, h := range p.h {
		stage(i)
		u := math.Inf(1)
		for _, g := range bounds {
			if g.a > 0 {
				u = min(u, (g.c-g.b*x)/g.a)
			}
		}
		next := min(max(x+2*h*u, 0), most[i+1])
		m.Time[i+1] = m.Time[i] + 2*h/(math.Sqrt(x)+math.Sqrt(next))
		x = next
		for j := range n {
			m.V[(i+1)*n+j] = slopes[(i+1)*n+j] * math.Sqrt(x)
		}
	}
	m.stretch(b, least)
	return m
}

// furthest returns the largest x for which there is a u that keeps all bounds, which x = u = 0 keeps: no bound from
// above on u is below one from beneath.
func furthest(bounds []bound) float64 {
	most := math.Inf(1)
	for _, p := range bounds {
		switch {
		case math.Abs(p.a) <= flat*math.Abs(p.b) && p.b > 0:
			most = min(most, p.c/p.b)
		case p.a > flat*math.Abs(p.b):
			for _, m := range bounds {
				if k := p.b/p.a - m.b/m.a; m.a < -flat*math.Abs(m.b) && k > 0 {
					most = min(most, (p.c/p.a-m.c/m.a)/k)
				}
			}
		}
	}
	return max(most, 0)
}

// stretch slows the motion down until no cubic between knots is beyond a bound and no segment is too short, at times of
// whole nanoseconds, as files have them. least is a thousandth of a second or more, so that each pass gains more than
// rounding takes.
func (m *Motion) stretch(b Bounds, least float64) {
	for {
		for i, t := range m.Time {
			m.Time[i] = math.Round(t*1e9) / 1e9
		}
		by := m.excess(b, least)
		if !(by > 1) {
			return
		}
		by *= 1 + room
		for i := range m.Time {
			m.Time[i] *= by
		}
		for i := range m.V {
			m.V[i] /= by
		}
	}
}

// excess returns by how much the motion must be slower to keep its bounds; 1 or less if it keeps them.
func (m *Motion) excess(b Bounds, least float64) (by float64) {
	for i := range len(m.Time) - 1 {
		by = max(by, least/(m.Time[i+1]-m.Time[i]))
		for j := range b.Velocity {
			_, v, a := m.Hull(i, j)
			by = max(by, max(v[0], v[1], v[2], -v[0], -v[1], -v[2])/b.Velocity[j],
				math.Sqrt(max(a[0], a[1], -a[0], -a[1])/b.Acceleration[j]))
		}
	}
	return by
}

// Hull returns values between whose least and largest a joint stays from knot i to the next: its positions, velocities
// and accelerations, which are their control values in Bézier's form.
func (m *Motion) Hull(i, j int) (q [4]float64, v [3]float64, a [2]float64) {
	n, t := len(m.Q)/len(m.Time), m.Time[i+1]-m.Time[i]
	at := i*n + j
	q0, q1, v0, v1 := m.Q[at], m.Q[at+n], m.V[at], m.V[at+n]
	v = [3]float64{v0, 3*(q1-q0)/t - v0 - v1, v1}
	return [4]float64{q0, q0 + t*v0/3, q1 - t*v1/3, q1}, v, [2]float64{2 * (v[1] - v0) / t, 2 * (v1 - v[1]) / t}
}
