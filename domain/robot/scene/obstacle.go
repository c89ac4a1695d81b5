package scene

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Shape of an obstacle. The zero value is Ball.
type Shape int

const (
	Ball    Shape = iota // all points within Radius of A
	Capsule              // all points within Radius of the segment from A to B
	Box                  // sides 2·Half about A, turned by R, and all points within Radius of it
	// Cylinder is all points within Half[0] of an axis through A along R's third column, Half[2] to both sides, and all
	// points within Radius of it; Half[1] is Half[0].
	Cylinder
	Cloud // all points within Radius of one of Points
)

func (s Shape) String() string {
	if s < 0 || s > Cloud {
		return fmt.Sprintf("Shape(%d)", int(s))
	}
	return [...]string{"sphere", "capsule", "box", "cylinder", "cloud"}[s]
}

// An Obstacle is a convex body in the base frame, or a Cloud of balls, in metres. φ is its signed distance: how far a
// point is outside, or minus how deep inside. φ changes by at most the distance that the point moves, and is convex but
// for a Cloud, whose φ is the least of its balls'.
//
// |∇φ| = 1. Where φ has a corner, ∇φ is one of the unit vectors that it jumps between
// (a subgradient), the same at every call: at a sphere's centre e_z, on the axis of a capsule one across it, inside a
// box the axis of least depth, the first of equal ones, and in its middle planes the positive direction. ∇² φ is that
// of a side at the seams of capsules and boxes, where it jumps, and 0 at the corners. Nothing is ever NaN.
//
// Outside, φ has no corners; ∇²φ grows as 1/φ towards the edges of a box without
// Radius, whose offset surfaces, as a margin has them, are round.
type Obstacle struct {
	Name   string // for messages
	Shape  Shape
	A, B   [3]float64
	Half   [3]float64
	R      [9]float64 // row-major; all zeros mean no turn
	Radius float64
	Points *Points // of a Cloud
}

// Bar returns a cylinder by the ends of its axis, where it is cut off flat.
func Bar(name string, a, b [3]float64, radius float64) Obstacle {
	l, z := unit(vec3.Minus(b, a), [3]float64{})
	o := Obstacle{Name: name, Shape: Cylinder, A: vec3.Scaled(0.5, vec3.Add(a, 1, b)),
		Half: [3]float64{radius, radius, l / 2}}
	x := (&Obstacle{A: a, B: b}).across()
	y := vec3.Cross(z, x)
	o.R = [9]float64{x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]}
	return o
}

// core is within which of a corner a point counts as on it, in metres.
const core = 1e-9

// Check returns what is wrong with the obstacle, or nil.
func (o *Obstacle) Check() error { return o.check(o.Name) }

func (o *Obstacle) check(name string) error {
	why := ""
	turned := o.R != [9]float64{}
	switch {
	case o.Shape < Ball || o.Shape > Cloud || o.Shape == Cloud && o.Points == nil:
		why = "is of no known shape; expected sphere, capsule, box, cylinder or points"
	case !vec3.Finite(o.A[:]...) || !vec3.Finite(o.B[:]...) || !vec3.Finite(o.Half[:]...) ||
		!vec3.Finite(o.R[:]...) || !vec3.Finite(o.Radius):
		why = "has a number that is not finite"
	case !o.sides() && !(o.Radius > 0):
		why = fmt.Sprintf("has radius %v; expected a number above 0", o.Radius)
	case o.Radius < 0:
		why = fmt.Sprintf("has radius %v; expected 0, or more to round its edges", o.Radius)
	case o.sides() && !(o.Half[0] > 0 && o.Half[1] > 0 && o.Half[2] > 0):
		why = fmt.Sprintf("has half sides %v; expected numbers above 0", o.Half)
	case o.sides() && turned && !robot.Rotation(o.R, 1e-9):
		why = fmt.Sprintf("is turned by %v, which is no rotation", o.R)
	case vec3.Norm(o.A)+vec3.Norm(o.B)+vec3.Norm(o.Half)+o.Radius > 1e6:
		why = "is beyond 1000 km; lengths are in metres"
	}
	if why == "" {
		return nil
	}
	if name != "" {
		name = " " + name
	}
	return fmt.Errorf("obstacle%s, a %s, %s", name, o.Shape, why)
}

// sides reports whether the shape is given by Half and R.
func (o *Obstacle) sides() bool { return o.Shape == Box || o.Shape == Cylinder }

// Distance returns φ(p).
func (o *Obstacle) Distance(p [3]float64) float64 {
	switch o.Shape {
	case Ball:
		return vec3.Norm(vec3.Minus(p, o.A)) - o.Radius
	case Capsule:
		t, _ := o.along(p)
		return vec3.Norm(vec3.Minus(p, vec3.Add(o.A, t, vec3.Minus(o.B, o.A)))) - o.Radius
	case Cloud:
		return vec3.Norm(vec3.Minus(p, o.Points.nearest(p, p))) - o.Radius
	}
	q := o.local(p)
	inside, outside := math.Inf(-1), 0.0
	for i, v := range q {
		w := math.Abs(v) - o.Half[i]
		inside = max(inside, w)
		if w > 0 {
			outside += w * w
		}
	}
	if inside > 0 {
		return math.Sqrt(outside) - o.Radius
	}
	return inside - o.Radius
}

// At returns φ(p) and ∇φ(p).
func (o *Obstacle) At(p [3]float64) (φ float64, n [3]float64) {
	switch o.Shape {
	case Ball:
		φ, n = unit(vec3.Minus(p, o.A), [3]float64{2: 1})
	case Capsule:
		t, _ := o.along(p)
		φ, n = unit(vec3.Minus(p, vec3.Add(o.A, t, vec3.Minus(o.B, o.A))), [3]float64{})
		if φ < core {
			n = o.across()
		}
	case Cloud:
		φ, n = unit(vec3.Minus(p, o.Points.nearest(p, p)), [3]float64{2: 1})
	default:
		φ, n = o.box(p)
	}
	return φ - o.Radius, n
}

// box returns the distance from the box without its Radius, and its gradient.
func (o *Obstacle) box(p [3]float64) (φ float64, n [3]float64) {
	q := o.local(p)
	axis, inside := 0, math.Inf(-1)
	for i, v := range q {
		w := math.Abs(v) - o.Half[i]
		if w > inside {
			axis, inside = i, w
		}
		n[i] = math.Copysign(max(w, 0), v)
	}
	var face [3]float64
	face[axis] = 1
	if q[axis] < 0 {
		face[axis] = -1
	}
	if inside > 0 {
		φ, n = unit(n, face)
		return φ, o.world(o.around(p, n))
	}
	return inside, o.world(o.around(p, face))
}

// outwards returns the direction from a cylinder's axis to p, in its frame.
func (o *Obstacle) outwards(p [3]float64) (ρ float64, u [3]float64) {
	v := o.turnedBack(vec3.Minus(p, o.A))
	return unit([3]float64{v[0], v[1], 0}, [3]float64{1})
}

// around turns a vector of a cylinder's meridian, (across, 0, along), to where p is.
func (o *Obstacle) around(p, n [3]float64) [3]float64 {
	if o.Shape != Cylinder {
		return n
	}
	_, u := o.outwards(p)
	return [3]float64{n[0] * u[0], n[0] * u[1], n[2]}
}

// HessianVector returns ∇²φ(p) v. With ρ the distance from the centre, the axis or the
// edge, and u the direction along an axis or edge,
//
//	∇²φ = (I − nnᵀ)/ρ about a point, (I − nnᵀ − uuᵀ)/ρ about a line, 0 before a plane.
func (o *Obstacle) HessianVector(p, v [3]float64) [3]float64 {
	switch o.Shape {
	case Ball:
		ρ, n := unit(vec3.Minus(p, o.A), [3]float64{})
		return bend(ρ, n, v)
	case Capsule:
		t, u := o.along(p)
		ρ, n := unit(vec3.Minus(p, vec3.Add(o.A, t, vec3.Minus(o.B, o.A))), [3]float64{})
		if t > 0 && t < 1 {
			v = vec3.Minus(v, vec3.Scaled(vec3.Dot(u, v), u))
		}
		return bend(ρ, n, v)
	case Cloud:
		ρ, n := unit(vec3.Minus(p, o.Points.nearest(p, p)), [3]float64{})
		return bend(ρ, n, v)
	}
	q, w := o.local(p), o.turnedBack(v)
	var about [3]float64 // of a cylinder: n_ρ/ρ times v around the axis
	if o.Shape == Cylinder {
		ρ, u := o.outwards(p)
		θ := [3]float64{-u[1], u[0]}
		if _, n := o.box(p); ρ >= core {
			about = vec3.Scaled(vec3.Dot(o.turnedBack(n), u)*vec3.Dot(w, θ)/ρ, θ)
		}
		w = [3]float64{vec3.Dot(w, u), 0, w[2]}
	}
	var n [3]float64
	outer := 0
	for i, x := range q {
		if far := math.Abs(x) - o.Half[i]; far > 0 {
			n[i] = math.Copysign(far, x)
			outer++
		} else {
			w[i] = 0
		}
	}
	if outer < 2 {
		return o.world(about)
	}
	ρ, n := unit(n, [3]float64{})
	return o.world(vec3.Add(about, 1, o.around(p, bend(ρ, n, w))))
}

// Chord returns the least φ on the chord from a to b, where: at a + s(b − a), and ∇φ there. The slope of a convex φ
// along a chord grows, so that bisection finds where it is 0.
func (o *Obstacle) Chord(a, b [3]float64) (φ, s float64, n [3]float64) {
	c := vec3.Minus(b, a)
	if o.Shape == Ball || o.Shape == Cloud {
		centre := o.A
		if o.Shape == Cloud {
			centre = o.Points.nearest(a, b)
		}
		if l := vec3.Dot(c, c); l > 0 {
			s = min(max(vec3.Dot(vec3.Minus(centre, a), c)/l, 0), 1)
		}
		φ, n = unit(vec3.Minus(vec3.Add(a, s, c), centre), [3]float64{2: 1})
		return φ - o.Radius, s, n
	}
	slope := func(t float64) float64 {
		_, n := o.At(vec3.Add(a, t, c))
		return vec3.Dot(n, c)
	}
	lo, hi := 0.0, 1.0
	if slope(0) >= 0 {
		hi = 0
	} else if slope(1) <= 0 {
		lo = 1
	}
	for range 54 {
		if s = (lo + hi) / 2; lo == hi {
			break
		}
		if slope(s) < 0 {
			lo = s
		} else {
			hi = s
		}
	}
	if lo == hi {
		φ, n = o.At(vec3.Add(a, s, c))
		return φ, s, n
	}
	// where ∇φ jumps, the mean of both sides' without a slope
	_, below := o.At(vec3.Add(a, lo, c))
	φ, n = o.At(vec3.Add(a, hi, c))
	if f0, f1 := vec3.Dot(below, c), vec3.Dot(n, c); f0 < f1 {
		n = vec3.Add(n, f1/(f1-f0), vec3.Minus(below, n))
	}
	return φ, s, n
}

// ChordDistance returns φ of Chord.
func (o *Obstacle) ChordDistance(a, b [3]float64) float64 {
	if o.Shape != Ball {
		φ, _, _ := o.Chord(a, b)
		return φ
	}
	x, y, z := b[0]-a[0], b[1]-a[1], b[2]-a[2]
	s := 0.0
	if along := (o.A[0]-a[0])*x + (o.A[1]-a[1])*y + (o.A[2]-a[2])*z; along > 0 {
		s = min(along/(x*x+y*y+z*z), 1)
	}
	x, y, z = a[0]+s*x-o.A[0], a[1]+s*y-o.A[1], a[2]+s*z-o.A[2]
	return math.Sqrt(x*x+y*y+z*z) - o.Radius
}

// ChordChange returns how the derivatives (1 − s)∇φ and s∇φ of Chord by its ends change as these move by da and db.
// With f(t) = φ(a + t(b − a)), s moves by −∂f′/f″ where the least value is inside.
func (o *Obstacle) ChordChange(a, b, da, db [3]float64, s float64, n [3]float64) (ga, gb [3]float64) {
	c := vec3.Minus(b, a)
	p := vec3.Add(a, s, c)
	bent := o.HessianVector(p, vec3.Add(da, s, vec3.Minus(db, da)))
	along := o.HessianVector(p, c)
	ds := 0.0
	if f := vec3.Dot(along, c); s > 0 && s < 1 && f > 0 {
		ds = -(vec3.Dot(n, vec3.Minus(db, da)) + vec3.Dot(c, bent)) / f
	}
	turn := vec3.Add(bent, ds, along)
	return vec3.Add(vec3.Scaled(1-s, turn), -ds, n), vec3.Add(vec3.Scaled(s, turn), ds, n)
}

// bend returns (v − n nᵀv)/ρ, and 0 on the corner.
func bend(ρ float64, n, v [3]float64) [3]float64 {
	if ρ < core {
		return [3]float64{}
	}
	return vec3.Scaled(1/ρ, vec3.Minus(v, vec3.Scaled(vec3.Dot(n, v), n)))
}

// along returns where on the segment from A to B the point nearest to p is, 0 to 1, and
// the direction of the segment; 0 and no direction if A = B.
func (o *Obstacle) along(p [3]float64) (t float64, u [3]float64) {
	l, u := unit(vec3.Minus(o.B, o.A), [3]float64{})
	if u == ([3]float64{}) {
		return 0, u
	}
	return min(max(vec3.Dot(vec3.Minus(p, o.A), u)/l, 0), 1), u
}

// across returns a unit vector across a capsule's axis.
func (o *Obstacle) across() [3]float64 {
	_, u := unit(vec3.Minus(o.B, o.A), [3]float64{})
	if u == ([3]float64{}) {
		return [3]float64{2: 1}
	}
	least := 0
	for i := range u {
		if math.Abs(u[i]) < math.Abs(u[least]) {
			least = i
		}
	}
	var e [3]float64
	e[least] = 1
	_, n := unit(vec3.Minus(e, vec3.Scaled(u[least], u)), e)
	return n
}

// local returns p in the frame of a box; of a cylinder on its meridian: how far from the axis, 0, and along it.
func (o *Obstacle) local(p [3]float64) [3]float64 {
	q := o.turnedBack(vec3.Minus(p, o.A))
	if o.Shape == Cylinder {
		q = [3]float64{math.Hypot(q[0], q[1]), 0, q[2]}
	}
	return q
}

func (o *Obstacle) turnedBack(v [3]float64) [3]float64 {
	if o.R == ([9]float64{}) {
		return v
	}
	r := &o.R
	return [3]float64{
		r[0]*v[0] + r[3]*v[1] + r[6]*v[2],
		r[1]*v[0] + r[4]*v[1] + r[7]*v[2],
		r[2]*v[0] + r[5]*v[1] + r[8]*v[2],
	}
}

func (o *Obstacle) world(v [3]float64) [3]float64 {
	if o.R == ([9]float64{}) {
		return v
	}
	r := &o.R
	return [3]float64{
		r[0]*v[0] + r[1]*v[1] + r[2]*v[2],
		r[3]*v[0] + r[4]*v[1] + r[5]*v[2],
		r[6]*v[0] + r[7]*v[1] + r[8]*v[2],
	}
}

// unit returns |v| and v/|v|, or |v| and instead where |v| is below core.
func unit(v, instead [3]float64) (float64, [3]float64) {
	l := vec3.Norm(v)
	if l < core {
		return l, instead
	}
	return l, vec3.Scaled(1/l, v)
}
