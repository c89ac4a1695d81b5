// Package robot is a serial arm as data, and where its links are: joints in a chain, limits, the arm's own volume as
// spheres, forward kinematics with exact first and second derivatives.
//
// A configuration of an arm with R turning joints (revolute, continuous) and P sliding ones (prismatic) is D = 2R + P
// numbers: the cosines of the turning joints in the order of the chain, then their sines, then the displacements. Off
// the unit circles a pair (c, s) is put as it is into Rodrigues' form I + sK + (1−c)K²; poses are then polynomials of
// degree one in each joint's pair, smooth everywhere.
//
// Metres and radians throughout. Joints are counted from 0; link i is the one that
// joint i moves, and link −1 is the base.
//
// It is not for files (package domain/robot/urdf), for obstacles (domain/robot/scene), for planning
// (domain/robot/plan), nor for constraints (domain/trajectory).
package robot

import (
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Kind of joint. The zero value is Revolute.
type Kind int

const (
	Revolute   Kind = iota // turns about its axis, within limits
	Continuous             // turns without limits
	Prismatic              // slides along its axis
	Fixed                  // does not move
)

func (k Kind) String() string {
	if k < 0 || k > Fixed {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return [...]string{"revolute", "continuous", "prismatic", "fixed"}[k]
}

// Turning reports whether joints of the kind turn: a pair of coordinates each.
func (k Kind) Turning() bool { return k == Revolute || k == Continuous }

// A Pose carries points of a frame to its parent: x ↦ R x + P.
type Pose struct {
	R [9]float64 // row-major
	P [3]float64
}

// Identity returns the pose that moves nothing.
func Identity() Pose { return Pose{R: [9]float64{0: 1, 4: 1, 8: 1}} }

// Apply returns R v + P.
func (p Pose) Apply(v [3]float64) [3]float64 {
	w := p.Rotate(v)
	return [3]float64{w[0] + p.P[0], w[1] + p.P[1], w[2] + p.P[2]}
}

// Rotate returns R v.
func (p Pose) Rotate(v [3]float64) (w [3]float64) {
	for i := range 3 {
		w[i] = p.R[3*i]*v[0] + p.R[3*i+1]*v[1] + p.R[3*i+2]*v[2]
	}
	return w
}

// Then returns the pose p∘o: first o, then p.
func (p Pose) Then(o Pose) (out Pose) {
	for i := range 3 {
		for j := range 3 {
			out.R[3*i+j] = p.R[3*i]*o.R[j] + p.R[3*i+1]*o.R[3+j] + p.R[3*i+2]*o.R[6+j]
		}
	}
	out.P = p.Apply(o.P)
	return out
}

// A Joint and the link that it moves. The link's frame is Origin in the frame of the
// link before, then turned about Axis by the joint's angle, or shifted along it.
type Joint struct {
	Name   string
	Link   string // the link that the joint moves
	Kind   Kind
	Origin Pose
	Axis   [3]float64 // unit vector in the joint's frame; not used if Kind is Fixed

	// Limits: radians or metres, and a second's worth of them; ±Inf: none.
	Lower, Upper, Velocity float64

	Follow *Follow // nil: the joint has coordinates of its own
}

// A Follow says that a joint's value is Multiplier·q + Offset, with q that of joint Of, which follows none.
type Follow struct {
	Of                 int
	Multiplier, Offset float64
}

// Free reports whether the joint has a value of its own: it moves, and follows no other.
func (j *Joint) Free() bool { return j.Kind != Fixed && j.Follow == nil }

// A Sphere is a part of the arm's own volume, in the frame of its link.
type Sphere struct {
	Link   int
	Centre [3]float64
	Radius float64
}

// An Arm is a serial chain of joints. NewKinematics says where its links are.
type Arm struct {
	Name, Base string
	Joints     []Joint
	Spheres    []Sphere

	// Notes are what a file says of the arm that is not in it, in words: a line each.
	Notes []string
}

// Reach bounds how far the last link is from the first joint that moves: by the lengths from joint to joint behind it,
// and how far joints slide.
func (a *Arm) Reach() (reach float64) {
	moves := false
	for _, j := range a.Joints {
		if moves {
			reach += vec3.Norm(j.Origin.P)
		}
		moves = moves || j.Kind != Fixed
		if j.Kind == Prismatic {
			reach += max(math.Abs(j.Lower), math.Abs(j.Upper))
		}
	}
	return reach
}

// Described returns the joints and the reach in words, and what of them looks like a mistake.
func (a *Arm) Described() (said, doubt string) {
	reach := a.Reach()
	const least, most = 0.01, 100
	said = fmt.Sprintf("arm %s: %d joints turn, %d slide; it reaches at most %.3g m from its first joint", a.Name,
		a.Turning(), a.Sliding(), reach)
	if reach < least || reach > most && !math.IsInf(reach, 1) {
		doubt = fmt.Sprintf("arm %s reaches %.3g m: expected lengths in metres", a.Name, reach)
	}
	return said, doubt
}

// MostJoints is how many joints an arm may have.
const MostJoints = 256

// Turning returns R, the number of joints that turn.
func (a *Arm) Turning() int {
	return a.count(func(j *Joint) bool { return j.Free() && j.Kind.Turning() })
}

// Sliding returns P, the number of prismatic joints.
func (a *Arm) Sliding() int { return a.Moving() - a.Turning() }

// Moving returns R + P: how many joints have a value.
func (a *Arm) Moving() int { return a.count((*Joint).Free) }

// Places returns where in the chain the joints are that have a value.
func (a *Arm) Places() (out []int) {
	for i := range a.Joints {
		if a.Joints[i].Free() {
			out = append(out, i)
		}
	}
	return out
}

// Dim returns D = 2R + P, the number of coordinates of a configuration.
func (a *Arm) Dim() int { return 2*a.Turning() + a.Sliding() }

func (a *Arm) count(is func(*Joint) bool) (n int) {
	for i := range a.Joints {
		if is(&a.Joints[i]) {
			n++
		}
	}
	return n
}

// Columns returns where the coordinates of joint j are in a configuration: those of its cosine and sine; of a prismatic
// joint that of its displacement and −1; of a fixed one −1 and −1.
func (a *Arm) Columns(j int) (c, s int) {
	turn, slide := 0, 2*a.Turning()
	for i := range a.Joints[:j] {
		switch k := a.Joints[i].Kind; {
		case !a.Joints[i].Free():
		case k.Turning():
			turn++
		case k == Prismatic:
			slide++
		}
	}
	switch k := a.Joints[j].Kind; {
	case !a.Joints[j].Free():
	case k.Turning():
		return turn, a.Turning() + turn
	case k == Prismatic:
		return slide, -1
	}
	return -1, -1
}

// Support returns the coordinates that the pose of a link depends on, in ascending
// order: those of the joints up to the link's own.
func (a *Arm) Support(link int) []int {
	if link < -1 || link >= len(a.Joints) {
		panic(fmt.Sprintf("robot: link %d of %d", link, len(a.Joints)))
	}
	on := make([]bool, a.Dim())
	for j := range link + 1 {
		if f := a.Joints[j].Follow; f != nil {
			j = f.Of
		}
		c, s := a.Columns(j)
		if c >= 0 {
			on[c] = true
		}
		if s >= 0 {
			on[s] = true
		}
	}
	var out []int
	for i, yes := range on {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

// Link returns the index of the link of a name, −1 for the base.
func (a *Arm) Link(name string) (int, error) {
	if name == a.Base && name != "" {
		return -1, nil
	}
	for i := range a.Joints {
		if a.Joints[i].Link == name && name != "" {
			return i, nil
		}
	}
	names := a.Base
	for i := range a.Joints {
		names += ", " + a.Joints[i].Link
	}
	return 0, fmt.Errorf("no link %q; the links of %s are %s", name, a.Name, names)
}

// Angles writes the R + P joint values of the configuration x into q, in the order of the chain: the angle of (c, s),
// whatever its length, and displacements. Of the angles that differ by whole turns it takes the one nearest to the
// middle of the joint's limits; without limits the one in (−π, π].
func (a *Arm) Angles(q, x []float64) {
	a.fits(q, x)
	turning := a.Turning()
	n, turn, slide := 0, 0, 2*turning
	for i := range a.Joints {
		j := &a.Joints[i]
		switch {
		case !j.Free():
			continue
		case j.Kind == Prismatic:
			q[n] = x[slide]
			slide++
		default:
			q[n] = j.nearest(math.Atan2(x[turning+turn], x[turn]))
			turn++
		}
		n++
	}
}

// nearest returns θ plus the whole turns that bring it next to the middle of the limits.
func (j *Joint) nearest(θ float64) float64 {
	if j.Kind == Continuous || math.IsInf(j.Lower, 0) || math.IsInf(j.Upper, 0) {
		return θ
	}
	middle := j.Lower + (j.Upper-j.Lower)/2
	return θ + 2*math.Pi*math.Round((middle-θ)/(2*math.Pi))
}

// Coordinates writes the configuration of the R + P joint values q into x.
func (a *Arm) Coordinates(x, q []float64) {
	a.fits(q, x)
	turning := a.Turning()
	n, turn, slide := 0, 0, 2*turning
	for i := range a.Joints {
		switch k := a.Joints[i].Kind; {
		case !a.Joints[i].Free():
			continue
		case k == Prismatic:
			x[slide] = q[n]
			slide++
		default:
			x[turning+turn], x[turn] = math.Sincos(q[n])
			turn++
		}
		n++
	}
}

func (a *Arm) fits(q, x []float64) {
	if len(q) != a.Moving() || len(x) != a.Dim() {
		panic(fmt.Sprintf("robot: %d joint values and %d coordinates, expected %d and %d",
			len(q), len(x), a.Moving(), a.Dim()))
	}
}

// Check returns what is wrong with the arm: the first joint or sphere that cannot be, or a name that two links share.
func (a *Arm) Check() error {
	if n := len(a.Joints); n > MostJoints {
		return fmt.Errorf("%d joints; expected at most %d", n, MostJoints)
	}
	if a.Moving() == 0 {
		return errors.New("no joint that moves; expected one at least")
	}
	links, joints := map[string]bool{}, map[string]bool{"": true}
	if a.Base != "" {
		links[a.Base] = true
	}
	for i := range a.Joints {
		j := &a.Joints[i]
		why := j.check()
		if f := j.Follow; f != nil && (f.Of < 0 || f.Of >= len(a.Joints) || !a.Joints[f.Of].Free()) {
			why = fmt.Sprintf("follows joint %d; expected one that moves and follows no other", f.Of)
		}
		if links[j.Link] && why == "" {
			why = fmt.Sprintf("moves a second link %q", j.Link)
		}
		if j.Name != "" && joints[j.Name] && why == "" {
			why = "has the name of another"
		}
		if why != "" {
			name := ""
			if j.Name != "" {
				name = " (" + j.Name + ")"
			}
			return fmt.Errorf("joint %d%s %s", i, name, why)
		}
		if links[j.Link] = true; j.Link == "" {
			delete(links, "")
		}
		joints[j.Name] = true
	}
	for i, s := range a.Spheres {
		if s.Link < -1 || s.Link >= len(a.Joints) {
			return fmt.Errorf("sphere %d is on link %d; expected −1 to %d", i, s.Link, len(a.Joints)-1)
		}
		if !(s.Radius > 0) || !vec3.Finite(s.Radius, s.Centre[0], s.Centre[1], s.Centre[2]) {
			return fmt.Errorf("sphere %d has centre %v and radius %v; expected finite numbers and a radius above 0",
				i, s.Centre, s.Radius)
		}
	}
	return nil
}

// straight is how far the columns of a rotation, and the length of an axis, may be
// from what they should be: numbers in files have digits enough for that.
const straight = 1e-6

// check returns what is wrong with the joint, or nothing.
func (j *Joint) check() string {
	r, p := j.Origin.R, j.Origin.P
	switch {
	case j.Kind < Revolute || j.Kind > Fixed:
		return fmt.Sprintf("is of kind %d; expected revolute, continuous, prismatic or fixed", int(j.Kind))
	case !vec3.Finite(r[:]...) || !vec3.Finite(p[:]...):
		return "has an origin that is not finite"
	case !Rotation(r, straight):
		return fmt.Sprintf("has an origin with %v, which is no rotation", r)
	case j.Kind == Fixed:
		return ""
	case !vec3.Finite(j.Axis[:]...):
		return "has an axis that is not finite"
	case math.Abs(math.Hypot(math.Hypot(j.Axis[0], j.Axis[1]), j.Axis[2])-1) > straight:
		return fmt.Sprintf("has the axis %v; expected a vector of length 1", j.Axis)
	case math.IsNaN(j.Lower) || math.IsNaN(j.Upper) || j.Lower > j.Upper:
		return fmt.Sprintf("has limits from %v to %v; expected the lower one first", j.Lower, j.Upper)
	case math.IsNaN(j.Velocity) || j.Velocity < 0:
		return fmt.Sprintf("has the velocity limit %v; expected none below 0", j.Velocity)
	}
	return ""
}

// Rotation reports whether RᵀR = I, to so much, and det R = 1.
func Rotation(r [9]float64, within float64) bool {
	for i := range 3 {
		for j := range 3 {
			sum := 0.0
			for k := range 3 {
				sum += r[3*k+i] * r[3*k+j]
			}
			if i == j {
				sum--
			}
			if math.Abs(sum) > within {
				return false
			}
		}
	}
	return vec3.Dot([3]float64(r[:3]), vec3.Cross([3]float64(r[3:6]), [3]float64(r[6:]))) > 0
}
