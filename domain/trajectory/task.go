package trajectory

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Task asks for the part along Axis of where a point of a link is, or of where a vector fixed to it points: Low ≤ w·q
// ≤ High, an equality where they are equal. An infinite one asks for nothing.
type Task struct {
	Name      string
	Link      int        // −1: the base
	Local     [3]float64 // the point or the vector, in the link's frame
	Direction bool       // Local is a vector
	Axis      [3]float64 // w, in the base
	Low, High float64
	// Scale multiplies the component, such as to have it in radians; 0 means 1.
	Scale float64
}

// Position asks a point of a link for coordinates; those that are not a number are free.
func Position(name string, link int, local, at [3]float64) (out []Task) {
	for k, v := range at {
		if v == v {
			t := Task{Name: name + "." + "xyz"[k:k+1], Link: link, Local: local, Low: v, High: v}
			t.Axis[k] = 1
			out = append(out, t)
		}
	}
	return out
}

// Box keeps a point of a link between two corners; infinite numbers bound nothing.
func Box(name string, link int, local, low, high [3]float64) (out []Task) {
	for k := range low {
		if math.IsInf(low[k], -1) && math.IsInf(high[k], 1) {
			continue
		}
		t := Task{Name: name + "." + "xyz"[k:k+1], Link: link, Local: local, Low: low[k], High: high[k]}
		t.Axis[k] = 1
		out = append(out, t)
	}
	return out
}

// Upright has a vector of a link point along the unit vector to, with the turn about it free: two equalities, the sines
// of the tilts, and an inequality that keeps it from pointing the other way.
func Upright(name string, link int, local, to [3]float64) []Task {
	local = vec3.Unit(local)
	a, b := normalsOf(to)
	inf := math.Inf(1)
	return []Task{
		{Name: name + ".a", Link: link, Local: local, Direction: true, Axis: a},
		{Name: name + ".b", Link: link, Local: local, Direction: true, Axis: b},
		{Name: name + ".side", Link: link, Local: local, Direction: true, Axis: vec3.Unit(to), High: inf},
	}
}

// Level has a vector of a link stay in the plane with the normal: one equality, the sine of its angle to the plane.
func Level(name string, link int, local, normal [3]float64) Task {
	return Task{Name: name, Link: link, Local: vec3.Unit(local), Direction: true, Axis: vec3.Unit(normal)}
}

// Cone keeps the angle between a vector of a link and to at most angle, in (0, π).
func Cone(name string, link int, local, to [3]float64, angle float64) Task {
	return Task{Name: name, Link: link, Local: vec3.Unit(local), Direction: true, Axis: vec3.Unit(to),
		Low: math.Cos(angle), High: math.Inf(1), Scale: 1 / math.Sin(angle)}
}

// Orientation fixes the rotation of a link, R row-major: three equalities and what tells their solutions apart.
func Orientation(name string, link int, r [9]float64) []Task {
	column := func(k int) [3]float64 { return [3]float64{r[k], r[3+k], r[6+k]} }
	x, z := [3]float64{1, 0, 0}, [3]float64{0, 0, 1}
	inf := math.Inf(1)
	return []Task{
		{Name: name + ".a", Link: link, Local: z, Direction: true, Axis: column(0)},
		{Name: name + ".b", Link: link, Local: z, Direction: true, Axis: column(1)},
		{Name: name + ".turn", Link: link, Local: x, Direction: true, Axis: column(1)},
		{Name: name + ".side", Link: link, Local: z, Direction: true, Axis: column(2), High: inf},
		{Name: name + ".front", Link: link, Local: x, Direction: true, Axis: column(0), High: inf},
	}
}

// normalsOf returns two unit vectors normal to v and to each other. Of z they are x and y.
func normalsOf(v [3]float64) (a, b [3]float64) {
	v = vec3.Unit(v)
	a = [3]float64{1, 0, 0}
	if math.Abs(v[0]) > 0.9 {
		a = [3]float64{0, 1, 0}
	}
	s := vec3.Dot(a, v)
	for k := range a {
		a[k] -= s * v[k]
	}
	a = vec3.Unit(a)
	return a, vec3.Cross(v, a)
}

// fault says what is wrong with a task, or is empty.
func (t *Task) fault(arm *robot.Arm) string {
	finite := func(v [3]float64) bool { return vec3.Dot(v, v)-vec3.Dot(v, v) == 0 }
	switch {
	case t.Link < -1 || t.Link >= len(arm.Joints):
		return fmt.Sprintf("there is no link %d: there are %d", t.Link, len(arm.Joints))
	case !finite(t.Local) || !finite(t.Axis):
		return "a vector that is 0 or not finite has no direction"
	case t.Axis == [3]float64{}:
		return "the axis is 0; expected a vector with a direction"
	case t.Low != t.Low || t.High != t.High:
		return "a bound is not a number"
	case t.Low > t.High:
		return fmt.Sprintf("the range [%.6g, %.6g] is empty", t.Low, t.High)
	case math.IsInf(t.Low, -1) && math.IsInf(t.High, 1):
		return "it asks for nothing"
	case math.IsInf(t.Low, 1) || math.IsInf(t.High, -1):
		return "a bound is infinite"
	case t.Scale-t.Scale != 0 || t.Scale < 0:
		return "the scale is not a number above 0"
	case t.Direction && (t.Low > vec3.Norm(t.Axis)*vec3.Norm(t.Local) ||
		t.High < -vec3.Norm(t.Axis)*vec3.Norm(t.Local)):
		return fmt.Sprintf("no direction has a part in [%.6g, %.6g] along the axis", t.Low, t.High)
	}
	return ""
}
