package scene

import (
	"math"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// Clearance along a segment.
//
// Joints go from q₀ to q₀ + Δ, turning ones on the shorter arc, all at constant rate: q(t) = q₀ + tΔ, 0 ≤ t ≤ 1. A
// point p of the arm moves on a curve. With a_j the axis of joint j and o_j a point of it,
//
//	ṗ = Σ_j Δ_j a_j × (p − o_j)    p̈ = Σ_{i,j} Δ_i Δ_j a_min × (a_max × (p − o_max))
//
// where min and max are the smaller and larger of i and j, Δ_j a_j alone if j slides, and nothing behind two sliding
// joints or one that slides before one that turns. The last factor is at most the distance ρ_j of p from axis j, which
// the lengths of the links between bound for every configuration (package's reach). So, R for turning joints,
//
//	|p̈| ≤ M = Σ_j |Δ_j| w_j (|Δ_j| [j ∈ R] + 2 Σ_{i<j, i∈R} |Δ_i|),  w_j = ρ_j or, if j slides, 1
//
// and between t₀ and t₁ the point is within M(t₁ − t₀)²/8 of the chord from p(t₀) to
// p(t₁). Every φ is convex, so on the chord, at p₀ + s(p₁ − p₀), it is at least
//
//	max(φ(p₀) + s ∇φ(p₀)·(p₁ − p₀), φ(p₁) − (1 − s) ∇φ(p₁)·(p₁ − p₀)),
//
// and changes by at most the distance moved. The minimum of the two lines, less M(t₁ − t₀)²/8, is a lower bound of the
// clearance between t₀ and t₁. Bisection sharpens the bound; its error falls as the square of the interval. For two
// bodies of the arm take φ = |p − p'| and the difference of their curves.

const (
	deepest = 26    // how often an interval is halved at most
	finest  = 1e-9  // a bound so near to the room at both ends, in metres, is not sharpened
	slack   = 1e-13 // what round-off may take from a bound, relative to the lengths in it and a metre
	far     = 1e6   // joint values beyond which a configuration counts as not finite
)

// A Swept is the room along a segment: at least Lower everywhere, proven, and Upper at T, a point that was looked at.
// Both are +Inf if the scene has no pair, and −Inf if an end is not finite.
type Swept struct {
	Lower, Upper float64
	T            float64 // 0 to 1
	Pair         int     // of Upper; −1 if there is none
	Looked       int     // configurations that were looked at
}

// Sharp is how near the bounds of Path are, in metres.
const Sharp = 1e-4

// Segment returns the room along the segment between the configurations x0 and x1; Upper
// − Lower is at most the tolerance in metres, or 1e-9.
func (c *Checker) Segment(x0, x1 []float64, tolerance float64) Swept {
	c.goal, c.within = math.Inf(-1), max(tolerance, finest)
	if !c.begin(x0, x1) {
		return c.swept
	}
	c.sweep()
	c.swept.Lower = min(c.swept.Lower, c.swept.Upper)
	return c.swept
}

// Clear reports whether the room along the segment is at least margin: true is proven, false is a point with less, or
// less than a nanometre above margin. It stops as soon as it knows.
func (c *Checker) Clear(x0, x1 []float64, margin float64) bool {
	c.goal, c.within = margin, -1
	return c.begin(x0, x1) && c.sweep() && c.swept.Lower >= margin
}

// Path returns the room along a path of n ≥ 1 configurations, and the segment of Upper.
func (c *Checker) Path(x []float64, n int) (least Swept, segment int) {
	d := c.s.Arm.Dim()
	for i := range max(n-1, 1) {
		next := min(i+1, n-1)
		s := c.Segment(x[i*d:(i+1)*d], x[next*d:(next+1)*d], Sharp)
		if i == 0 {
			least = s
			continue
		}
		lower, looked := min(s.Lower, least.Lower), s.Looked+least.Looked
		if s.Upper < least.Upper {
			least, segment = s, i
		}
		least.Lower, least.Looked = lower, looked
	}
	return least, segment
}

// Shorter writes the changes of the joints from q0 to q1 into dq, angles on the shorter arc: in (−π, π].
func Shorter(dq, q0, q1 []float64, arm *robot.Arm) {
	m := 0
	for i := range arm.Joints {
		k := arm.Joints[i].Kind
		if !arm.Joints[i].Free() {
			continue
		}
		dq[m] = q1[m] - q0[m]
		if k.Turning() {
			dq[m] -= 2 * math.Pi * math.Ceil(dq[m]/(2*math.Pi)-0.5)
		}
		m++
	}
}

// begin places the bodies at both ends and bounds their curves, unless an end is not finite.
func (c *Checker) begin(x0, x1 []float64) (ok bool) {
	arm := c.s.Arm
	arm.Angles(c.q0, x0)
	arm.Angles(c.q1, x1)
	Shorter(c.dq, c.q0, c.q1, arm)
	ok = vec3.Finite(x0...) && vec3.Finite(x1...)
	for m := range c.dq {
		ok = ok && math.Abs(c.q0[m]) <= far && math.Abs(c.dq[m]) <= far
	}
	if !ok {
		c.swept = Swept{Lower: math.Inf(-1), Upper: math.Inf(-1), Pair: -1}
		return false
	}
	c.reach.bow(c.bow, c.q0, c.dq)
	c.swept = Swept{Lower: math.Inf(1), Upper: math.Inf(1), Pair: -1}
	c.place(c.at[0], 0)
	c.place(c.at[1], 1)
	return true
}

func (c *Checker) place(at []float64, t float64) {
	for m := range c.q1 {
		c.q1[m] = c.q0[m] + t*c.dq[m]
	}
	c.s.Arm.Coordinates(c.x, c.q1)
	c.kin.At(c.x)
	c.kin.Points(at)
	c.swept.Looked++
	if room, pair := c.least(at); room < c.swept.Upper {
		c.swept.Upper, c.swept.Pair, c.swept.T = room, pair, t
	}
}

// sweep bounds all pairs along the segment; false as soon as the goal is missed at a point.
func (c *Checker) sweep() bool {
	c.todo[0] = c.todo[0][:0]
	for i := range c.s.Pairs() {
		c.todo[0] = append(c.todo[0], int32(i))
	}
	return c.interval(0, 1, c.at[0], c.at[1], 0)
}

// interval bounds the pairs of todo[level] between t0 and t1, with the bodies at p0 and p1 there.
func (c *Checker) interval(t0, t1 float64, p0, p1 []float64, level int) bool {
	if c.within < 0 && min(c.swept.Upper, c.swept.Lower) < c.goal {
		return false
	}
	left := c.todo[level][:0]
	dt := t1 - t0
	for _, pair := range c.todo[level] {
		goal := c.goal
		if c.within >= 0 {
			goal = c.swept.Upper - c.within
		}
		lower, gap := c.lower(int(pair), p0, p1, dt)
		if lower >= goal || gap < finest || level == deepest {
			c.swept.Lower = min(c.swept.Lower, lower)
			continue
		}
		left = append(left, pair)
	}
	if len(left) == 0 {
		return true
	}
	c.level(level + 1)
	t, at := t0+dt/2, c.at[level+2]
	c.place(at, t)
	// both halves begin with the pairs that are left; the first overwrites its copy only
	c.todo[level] = left
	c.todo[level+1] = append(c.todo[level+1][:0], left...)
	if !c.interval(t0, t, p0, at, level+1) {
		return false
	}
	c.todo[level+1] = append(c.todo[level+1][:0], c.todo[level]...)
	return c.interval(t, t1, at, p1, level+1)
}

// lower bounds the room of a pair from below, between two configurations dt apart, and
// says how far that is below the room at both.
func (c *Checker) lower(pair int, p0, p1 []float64, dt float64) (lower, gap float64) {
	body, obstacle, other := c.s.Pair(pair)
	a, b := [3]float64(p0[3*body:]), [3]float64(p1[3*body:])
	bow, radius := c.bow[body], c.s.Bodies[body].Radius
	var φ0, φ1 float64
	var n0, n1 [3]float64
	if obstacle >= 0 {
		φ0, n0 = c.s.Obstacles[obstacle].At(a)
		φ1, n1 = c.s.Obstacles[obstacle].At(b)
	} else {
		a, b = vec3.Minus(a, [3]float64(p0[3*other:])), vec3.Minus(b, [3]float64(p1[3*other:]))
		bow, radius = bow+c.bow[other], radius+c.s.Bodies[other].Radius
		φ0, n0 = unit(a, [3]float64{2: 1})
		φ1, n1 = unit(b, [3]float64{2: 1})
	}
	chord := vec3.Minus(b, a)
	if obstacle >= 0 && c.s.Obstacles[obstacle].Shape == Cloud { // whose φ is not convex
		least := c.s.Obstacles[obstacle].ChordDistance(a, b)
		return least - bow*dt*dt/8 - radius - slack*(1+vec3.Norm(a)+math.Abs(least)), min(φ0, φ1) - least + bow*dt*dt/8
	}
	bound := lines(φ0, vec3.Dot(n0, chord), φ1, vec3.Dot(n1, chord)) - bow*dt*dt/8
	lengths := 1 + math.Abs(a[0]) + math.Abs(a[1]) + math.Abs(a[2]) + math.Abs(φ0) + math.Abs(φ1) + radius
	return bound - radius - slack*lengths, min(φ0, φ1) - bound
}

// lines returns the least value on 0 ≤ s ≤ 1 of max(φ0 + s d0, φ1 − (1−s) d1), two
// tangents of a convex function: d0 ≤ d1 but for round-off.
func lines(φ0, d0, φ1, d1 float64) float64 {
	switch {
	case d0 >= 0:
		return φ0
	case d1 <= 0:
		return φ1
	}
	s := (φ1 - d1 - φ0) / (d0 - d1)
	return φ0 + d0*min(max(s, 0), 1)
}
