package urdf

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/domain/robot"
)

// Write writes an arm that Read gives back: the same chain to rounding, a revolute joint
// without limits as a continuous one. Numbers are exact, but for angles of origins.
func Write(w io.Writer, a *robot.Arm) error {
	if err := a.Check(); err != nil {
		return fmt.Errorf("urdf: %w", err)
	}
	b := bufio.NewWriter(w)
	name := a.Name
	if name == "" {
		name = "arm"
	}
	fmt.Fprintf(b, "<?xml version=\"1.0\"?>\n<robot name=%s>\n", quote(name))
	for i := -1; i < len(a.Joints); i++ {
		if err := writeLink(b, a, i); err != nil {
			return err
		}
	}
	for i := range a.Joints {
		j := &a.Joints[i]
		kind, bounded := j.Kind, !math.IsInf(j.Lower, 0) && !math.IsInf(j.Upper, 0)
		switch {
		case j.Kind == robot.Revolute && math.IsInf(j.Lower, -1) && math.IsInf(j.Upper, 1):
			kind = robot.Continuous
		case (j.Kind == robot.Revolute || j.Kind == robot.Prismatic) && !bounded:
			return fmt.Errorf("urdf: joint %d (%s) has limits from %v to %v; expected finite ones", i, j.Name, j.Lower,
				j.Upper)
		}
		parent := a.Base
		if i > 0 {
			parent = a.Joints[i-1].Link
		}
		name := j.Name
		if name == "" {
			name = fmt.Sprint("joint", i+1)
		}
		fmt.Fprintf(b, "  <joint name=%s type=\"%v\">\n    <parent link=%s/>\n    <child link=%s/>\n",
			quote(name), kind, quote(parent), quote(j.Link))
		fmt.Fprintf(b, "    <origin xyz=%s rpy=%s/>\n", three(j.Origin.P), three(angles(j.Origin.R)))
		if kind != robot.Fixed {
			fmt.Fprintf(b, "    <axis xyz=%s/>\n", three(j.Axis))
			writeLimit(b, j, kind)
		}
		fmt.Fprint(b, "  </joint>\n")
	}
	fmt.Fprint(b, "</robot>\n")
	return b.Flush()
}

func writeLink(b io.Writer, a *robot.Arm, i int) error {
	name := a.Base
	if i >= 0 {
		name = a.Joints[i].Link
	}
	if name == "" {
		return fmt.Errorf("urdf: link %d has no name", i)
	}
	fmt.Fprintf(b, "  <link name=%s>", quote(name))
	for _, s := range a.Spheres {
		if s.Link == i {
			fmt.Fprintf(b, "\n    <collision><origin xyz=%s/><geometry><sphere radius=\"%v\"/></geometry></collision>",
				three(s.Centre), s.Radius)
		}
	}
	_, err := fmt.Fprint(b, "</link>\n")
	return err
}

// writeLimit writes limits. Other readers refuse a limit without a velocity or an effort,
// so none is the largest number that Read takes, which it takes for none.
func writeLimit(b io.Writer, j *robot.Joint, kind robot.Kind) {
	velocity := min(j.Velocity, most)
	switch {
	case kind != robot.Continuous:
		fmt.Fprintf(b, "    <limit lower=\"%v\" upper=\"%v\" velocity=\"%v\" effort=\"0\"/>\n", j.Lower, j.Upper,
			velocity)
	case velocity < most:
		fmt.Fprintf(b, "    <limit velocity=\"%v\" effort=\"0\"/>\n", velocity)
	}
}

// angles returns roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll); where pitch is a quarter turn, yaw is 0.
func angles(r [9]float64) [3]float64 {
	across := math.Hypot(r[0], r[3])
	pitch := math.Atan2(-r[6], across)
	if across < 1e-9 {
		return [3]float64{math.Atan2(-r[5], r[4]), pitch, 0}
	}
	return [3]float64{math.Atan2(r[7], r[8]), pitch, math.Atan2(r[3], r[0])}
}

func three(v [3]float64) string { return fmt.Sprintf("\"%v %v %v\"", v[0], v[1], v[2]) }

// quote returns a text as an attribute's value, in its marks.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	xml.EscapeText(&b, []byte(s))
	b.WriteByte('"')
	return b.String()
}
