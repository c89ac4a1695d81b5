// Package timing turns a path of joint values into a motion in time: as fast as bounds on velocities and accelerations
// allow, from rest to rest.
//
// A path q(s) is the natural cubic spline through its knots (Spline). With x = ṡ² and u = s̈,
//
//	q̇ = q′√x,  q̈ = q″x + q′u,
//
// so that bounds on both are linear in x and u. Between two knots h apart u is constant, x grows by 2hu, and the bounds
// are kept at both. A pass from the end finds the largest x of each knot from which the arm can still stop at the end;
// a pass from the start goes as fast as these allow.
//
//   - Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis (2018)
//
// Between knots a Motion is the cubic of their positions and velocities, as controllers put it there. Its largest
// velocities and accelerations have closed forms, and time is stretched where one is beyond its bound.
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
	N     int
	S     []float64 // K, growing
	Q     []float64 // K×n
	M     []float64 // second derivatives, K×n
	upper []float64
}

// NewSpline puts a spline through K×n joint values, n of each knot, whose s differ by steps (K−1).
func NewSpline(q []float64, n int, steps []float64) *Spline {
	k := len(q) / n
	p := &Spline{N: n, S: make([]float64, k), Q: q, M: make([]float64, len(q)), upper: make([]float64, k)}
	for i, h := range steps {
		p.S[i+1] = p.S[i] + h
	}
	// Elimination of h₋M₋ + 2(h₋+h)M + hM₊ = 6(Δ/h − Δ₋/h₋), with M = 0 at both ends.
	for i := 1; i < k-1; i++ {
		before, h := steps[i-1], steps[i]
		pivot := 2*(before+h) - before*p.upper[i-1]
		p.upper[i] = h / pivot
		for j := range n {
			at := i*n + j
			right := 6 * ((q[at+n]-q[at])/h - (q[at]-q[at-n])/before)
			p.M[at] = (right - before*p.M[at-n]) / pivot
		}
	}
	for i := k - 2; i > 0; i-- {
		for j := range n {
			p.M[i*n+j] -= p.upper[i] * p.M[(i+1)*n+j]
		}
	}
	return p
}

// At writes the joint values a share t of the way from knot i to the next.
func (p *Spline) At(dst []float64, i int, t float64) {
	h := p.S[i+1] - p.S[i]
	for j := range dst {
		at := i*p.N + j
		dst[j] = (1-t)*p.Q[at] + t*p.Q[at+p.N] -
			h*h/6*t*(1-t)*((2-t)*p.M[at]+(1+t)*p.M[at+p.N])
	}
}

// slope writes q′ at knot i.
func (p *Spline) slope(dst []float64, i int) {
	last := len(p.S) - 1
	from, sign := i, -1.0
	if i == last {
		from, sign = i-1, 1
	}
	h := p.S[from+1] - p.S[from]
	for j := range dst {
		at := from*p.N + j
		near, other := p.M[i*p.N+j], p.M[at]
		if from == i {
			other = p.M[at+p.N]
		}
		dst[j] = (p.Q[at+p.N]-p.Q[at])/h + sign*h/6*(2*near+other)
	}
}

// A bound is a u + b x ≤ c.
type bound struct{ a, b, c float64 }

// slowest is what of x is left at the next knot at least, but for the last one: where knots are coarse, a pass would
// stop between.
const slowest = 0.1

// flat is below what a coefficient counts as 0, as a share of those beside it.
const flat = 1e-12

// Times passes along the spline, of one knot or of three and more. least are the shortest times from knot to knot, in
// seconds, above 0.
func (p *Spline) Times(b Bounds, least []float64) *Motion {
	n, k := p.N, len(p.S)
	m := &Motion{Time: make([]float64, k), Q: p.Q, V: make([]float64, len(p.Q))}
	if k < 2 {
		return m
	}
	slopes, most := make([]float64, len(p.Q)), make([]float64, k) // q′, and the largest x
	for i := range k {
		p.slope(slopes[i*n:(i+1)*n], i)
		most[i] = math.Inf(1)
		for _, e := range []int{i - 1, i} {
			if e >= 0 && e < k-1 {
				v := (p.S[e+1] - p.S[e]) / least[e]
				most[i] = min(most[i], v*v)
			}
		}
		for j, d := range slopes[i*n : (i+1)*n] {
			if v := b.Velocity[j] / math.Abs(d); v*v < most[i] {
				most[i] = v * v
			}
		}
	}
	most[k-1] = 0
	bounds := make([]bound, 0, 4*n+2)
	stage := func(i int) {
		h, rest := p.S[i+1]-p.S[i], slowest
		if i == k-2 {
			rest = 0
		}
		bounds = append(bounds[:0], bound{2 * h, 1, most[i+1]}, bound{-2 * h, rest - 1, 0})
		for j, a := range b.Acceleration {
			for e := i; e <= i+1; e++ {
				d, c := slopes[e*n+j], p.M[e*n+j]
				if e > i {
					d += 2 * h * c
				}
				bounds = append(bounds, bound{d, c, a}, bound{-d, -c, a})
			}
		}
	}
	for i := k - 2; i >= 0; i-- {
		stage(i)
		most[i] = min(most[i], furthest(bounds))
	}
	x := 0.0
	for i := range k - 1 {
		stage(i)
		h, u := p.S[i+1]-p.S[i], math.Inf(1)
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
	m.stretch(b)
	return m
}

// furthest returns the largest x for which there is a u that keeps all bounds, which x = u = 0 keeps: each bound from
// above on u must not be below one from beneath.
func furthest(bounds []bound) float64 {
	most := math.Inf(1)
	for _, p := range bounds {
		if math.Abs(p.a) <= flat*math.Abs(p.b) {
			if p.b > 0 {
				most = min(most, p.c/p.b)
			}
			continue
		}
		for _, m := range bounds {
			if p.a <= 0 || m.a >= 0 || math.Abs(m.a) <= flat*math.Abs(m.b) {
				continue
			}
			if k := p.b/p.a - m.b/m.a; k > 0 {
				most = min(most, (p.c/p.a-m.c/m.a)/k)
			}
		}
	}
	return max(most, 0)
}

// room is what is kept free of bounds: times in files are whole nanoseconds.
const room = 1e-5

// stretch slows the motion down until no cubic between knots is beyond a bound.
func (m *Motion) stretch(b Bounds) {
	v, a := m.Peaks()
	by := 1.0
	for j := range v {
		by = max(by, v[j]/b.Velocity[j], math.Sqrt(a[j]/b.Acceleration[j]))
	}
	by *= 1 + room
	for i := range m.Time {
		m.Time[i] *= by
	}
	for i := range m.V {
		m.V[i] /= by
	}
}

// Between bounds joint j between knot i and the next: its values, and how far it is from going straight at most.
func (m *Motion) Between(i, j int) (low, high, bow float64) {
	n, t := len(m.Q)/len(m.Time), m.Time[i+1]-m.Time[i]
	at := i*n + j
	q0, q1, v0 := m.Q[at], m.Q[at+n], m.V[at]
	a0, a1 := m.ends(i, j)
	low, high = min(q0, q1), max(q0, q1)
	for _, sign := range []float64{-1, 1} { // where v₀ + a₀τ + (a₁ − a₀)τ²/2t = 0
		τ := 2 * v0 / (-a0 + sign*math.Sqrt(max(a0*a0-2*v0*(a1-a0)/t, 0)))
		if τ > 0 && τ < t {
			q := q0 + τ*(v0+τ*(a0/2+τ*(a1-a0)/(6*t)))
			low, high = min(low, q), max(high, q)
		}
	}
	return low, high, max(math.Abs(a0), math.Abs(a1)) * t * t / 8
}

// ends returns the accelerations of joint j behind knot i and before the next, between which they change evenly.
func (m *Motion) ends(i, j int) (a0, a1 float64) {
	n, t := len(m.Q)/len(m.Time), m.Time[i+1]-m.Time[i]
	at := i*n + j
	mean, v0, v1 := (m.Q[at+n]-m.Q[at])/t, m.V[at], m.V[at+n]
	return (6*mean - 4*v0 - 2*v1) / t, (2*v0 + 4*v1 - 6*mean) / t
}

// At writes the joint values a time τ behind knot i.
func (m *Motion) At(dst []float64, i int, τ float64) {
	for j := range dst {
		at, t := i*len(dst)+j, m.Time[i+1]-m.Time[i]
		a0, a1 := m.ends(i, j)
		dst[j] = m.Q[at] + τ*(m.V[at]+τ*(a0/2+τ*(a1-a0)/(6*t)))
	}
}

// Peaks returns the largest absolute velocity and acceleration of each joint, between knots too.
func (m *Motion) Peaks() (v, a []float64) {
	n := len(m.Q) / len(m.Time)
	v, a = make([]float64, n), make([]float64, n)
	for i := range len(m.Time) - 1 {
		t := m.Time[i+1] - m.Time[i]
		for j := range n {
			at := i*n + j
			v0, v1 := m.V[at], m.V[at+n]
			a0, a1 := m.ends(i, j)
			a[j] = max(a[j], math.Abs(a0), math.Abs(a1))
			v[j] = max(v[j], math.Abs(v0), math.Abs(v1))
			if a0*a1 < 0 { // the velocity has its extreme between
				v[j] = max(v[j], math.Abs(v0+a0*a0/(a0-a1)*t/2))
			}
		}
	}
	return v, a
}
