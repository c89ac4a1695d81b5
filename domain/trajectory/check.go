package trajectory

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain/robot"
)

func (b *builder) check() error {
	spec := b.spec
	n := len(spec.Arm.Joints)
	switch {
	case spec.Waypoints < 1 || spec.Waypoints > MaxWaypoints:
		return refuse("waypoints", "%d of them; expected 1 to %d", spec.Waypoints, MaxWaypoints)
	case !(spec.Margin >= 0) || math.IsInf(spec.Margin, 1):
		return refuse("margin", "%v m; expected 0 or more", spec.Margin)
	case spec.Steps != nil && len(spec.Steps) != n:
		return refuse("steps", "%d numbers; expected one for each of the %d joints", len(spec.Steps), n)
	case spec.Form < Separate || spec.Form > Reference:
		return refuse("form", "there is no form %d", int(spec.Form))
	}
	for j, v := range spec.Steps {
		if !(v >= 0) {
			return refuse("steps", "joint %q may move by %v; expected a number above 0, or 0 for any distance",
				spec.Arm.Joints[j].Name, v)
		}
	}
	for i, o := range spec.Volume {
		if o.Link < -1 || o.Link >= n || !(o.Radius >= 0) || norm(o.Centre)-norm(o.Centre) != 0 {
			return refuse(fmt.Sprintf("volume[%d]", i), "a sphere of radius %v about %v on link %d; expected finite "+
				"numbers, a radius of 0 or more and one of the links −1 to %d", o.Radius, o.Centre, o.Link, n-1)
		}
	}
	if n := len(spec.Volume) * len(spec.Obstacles); n > MaxComponents {
		return refuse("obstacles", "%d of them and %d spheres make %d components a waypoint; expected at most %d",
			len(spec.Obstacles), len(spec.Volume), n, MaxComponents)
	}
	for i, p := range spec.Self {
		for _, k := range p {
			if k < 0 || k >= len(spec.Volume) {
				return refuse(fmt.Sprintf("self[%d]", i), "there is no sphere %d: there are %d", k, len(spec.Volume))
			}
		}
	}
	for _, list := range []struct {
		field string
		tasks []Task
	}{{"path", spec.Path}, {"start.tasks", spec.Start.Tasks}, {"goal.tasks", spec.Goal.Tasks}} {
		for i := range list.tasks {
			if fault := list.tasks[i].fault(spec.Arm); fault != "" {
				return refuse(fmt.Sprintf("%s[%d]", list.field, i), "%s", fault)
			}
		}
	}
	for i := range b.places {
		if err := b.place(&b.places[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) place(p *placed) error {
	arm := b.spec.Arm
	if g := p.Given.Position; g != nil && (g.Link < 0 || g.Link >= len(arm.Joints)) {
		return refuse(p.field, "there is no link %d that moves", g.Link)
	}
	if p.Given.Joints && (p.Joints != nil || p.Given.Position != nil) {
		return refuse(p.field, "its joints are given with the point; expected nothing else of it")
	}
	if p.Joints == nil {
		return nil
	}
	if n := arm.Moving(); len(p.Joints) != n {
		return refuse(p.field+".joints", "%d values; expected those of the %d joints that move", len(p.Joints), n)
	}
	n := 0
	for i := range arm.Joints {
		j := &arm.Joints[i]
		if j.Kind == robot.Fixed {
			continue
		}
		v := p.Joints[n]
		n++
		if v-v != 0 {
			return refuse(p.field+".joints", "joint %q is at %v", j.Name, v)
		}
		if b.spec.Limits && j.Kind != robot.Continuous && (v < j.Lower || v > j.Upper) {
			return refuse(p.field+".joints", "joint %q at %.6g is outside of its limits [%.6g, %.6g]", j.Name, v,
				j.Lower, j.Upper)
		}
	}
	return nil
}
