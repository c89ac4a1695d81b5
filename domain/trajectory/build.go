package trajectory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// same is how far numbers that say the same may differ, metres or radians: those of files are rounded.
const same = 1e-6

// A builder makes the stages of a set.
type builder struct {
	spec    *Spec
	set     *Set
	only    bool // equalities alone
	columns [][2]int
	places  []placed
	*stage  // in progress
}

// placed is a place with what it is called and where its given numbers begin.
type placed struct {
	Place
	field string
	here  bool // at the waypoint in progress
	given int
}

func refuse(field, format string, args ...any) error {
	return &Error{field, fmt.Sprintf(format, args...)}
}

// build makes the set, or that of its equalities.
func build(spec Spec, only bool) (*Set, error) {
	s := &Set{spec: spec, l: spec.Waypoints, d: spec.Arm.Dim()}
	b := &builder{spec: &s.spec, set: s, only: only,
		places: []placed{{Place: spec.Start, field: "start"}, {Place: spec.Goal, field: "goal"}}}
	for j := range spec.Arm.Joints {
		c, sin := spec.Arm.Columns(j)
		b.columns = append(b.columns, [2]int{c, sin})
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	for i := range b.places {
		b.places[i].given = len(s.given)
		b.give(b.places[i])
	}
	var middle *stage
	total := 0
	for l := range s.l {
		b.places[0].here, b.places[1].here = l == 0, l == s.l-1
		end := l == 0 || l == s.l-1
		st := middle
		if end || middle == nil {
			var err error
			if st, err = b.make(); err != nil {
				return nil, err
			}
		}
		if !end {
			middle = st
		}
		if total += len(st.half[0]) + len(st.half[1]); total > MaxComponents {
			return nil, refuse("waypoints",
				"more than %d components by waypoint %d of %d; expected at most as many in "+
					"all", MaxComponents, l, s.l)
		}
		s.stages = append(s.stages, st)
	}
	if !only {
		b.across(1, "step", spec.Steps, func(c, s int, a, w float64) part { return &step{c, s, a, w} })
		b.across(2, "bend", spec.Bends, func(c, s int, a, w float64) part { return &bend{c, s, a, w} })
		if err := b.sweeps(); err != nil {
			return nil, err
		}
	}
	return s, b.finish()
}

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
	case spec.Bends != nil && len(spec.Bends) != n:
		return refuse("bends", "%d numbers; expected one for each of the %d joints", len(spec.Bends), n)
	}
	for j, v := range spec.Steps {
		if !(v >= 0) {
			return refuse("steps", "joint %q may move by %v; expected a number above 0, or 0 for any distance",
				spec.Arm.Joints[j].Name, v)
		}
	}
	for j, v := range spec.Bends {
		if !(v >= 0) {
			return refuse("bends", "steps of joint %q may differ by %v; expected a number above 0, or 0 for any",
				spec.Arm.Joints[j].Name, v)
		}
	}
	for i, o := range spec.Volume {
		if o.Link < -1 || o.Link >= n || !(o.Radius >= 0) || vec3.Norm(o.Centre)-vec3.Norm(o.Centre) != 0 {
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
		if !j.Free() {
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

// give names the numbers of a place that stand in the point.
func (b *builder) give(p placed) {
	s := b.set
	if p.Given.Position != nil {
		s.given = append(s.given, p.field+"_x", p.field+"_y", p.field+"_z")
	}
	if !p.Given.Joints {
		return
	}
	names := make([]string, s.d)
	for j, at := range b.columns {
		joint := word(b.spec.Arm.Joints[j].Name)
		switch c, sin := at[0], at[1]; {
		case sin >= 0:
			names[c], names[sin] = p.field+"_cos_"+joint, p.field+"_sin_"+joint
		case c >= 0:
			names[c] = p.field + "_" + joint
		}
	}
	s.given = append(s.given, names...)
}

// word is a joint's name in names that formulas can use: letters, digits and '_'.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
}

// put adds a component to the equalities (half 0) or the inequalities of the stage in progress.
func (b *builder) put(half int, l label, p part) {
	if half == 0 || !b.only {
		b.half[half] = append(b.half[half], component{l, p})
	}
}

// make makes the stage of a waypoint. If the joints are given it has no other constraints: New refuses joints that do
// not keep the rest.
func (b *builder) make() (*stage, error) {
	b.stage = &stage{}
	b.circles()
	told := false
	for i := range b.places {
		if p := &b.places[i]; p.here {
			b.joints(p)
			told = told || p.Joints != nil || p.Given.Joints
		}
	}
	own := b.stage
	if told {
		b.stage = &stage{}
	}
	for _, step := range []func() error{b.limits, b.path, b.ends, b.clears, b.selves} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if !told {
		return b.lay(), nil
	}
	asked := b.lay()
	for i := range b.places {
		if p := &b.places[i]; p.here && p.Joints != nil {
			if err := b.keeps(asked, p); err != nil {
				return nil, err
			}
		}
	}
	b.stage = own
	return b.lay(), nil
}

// keeps refuses joints of a place that do not keep the constraints there.
func (b *builder) keeps(asked *stage, p *placed) error {
	x, v := make([]float64, b.set.d), newView(b.set, asked)
	b.spec.Arm.Coordinates(x, p.Joints)
	v.place(x, make([]float64, len(b.set.given)))
	for h := range asked.half {
		for _, c := range asked.half[h] {
			if n := len(c.cols); n > 0 && c.cols[n-1] < 0 {
				continue // a given number tells
			}
			if by := c.value(v); !(by <= same) || h == 0 && !(by >= -same) {
				l := 0
				if p.field == "goal" {
					l = b.set.l - 1
				}
				return refuse(p.field+".joints", "they violate %q by %.3g", c.name(l), math.Abs(by))
			}
		}
	}
	return nil
}

// lay finishes the stage: directions stand behind points, components in their order.
func (b *builder) lay() *stage {
	st := b.stage
	for h, list := range st.half {
		slices.SortStableFunc(list, func(a, b component) int { return int(a.order) - int(b.order) })
		for _, c := range list {
			st.row[h] += len(c.cols)
			if t, ok := c.part.(*task); ok && t.direction {
				t.feature += len(st.points)
			}
		}
	}
	return st
}

func (b *builder) finish() error {
	s := b.set
	for l, st := range s.stages {
		s.equalities = s.list(s.equalities, st.half[0], l, 0)
	}
	s.rowH = s.row
	for l, st := range s.stages {
		s.rest = s.list(s.rest, st.half[1], l, 0)
	}
	for _, a := range s.across {
		for l := range s.l - a.span {
			s.rest = s.list(s.rest, a.components, l, a.span-1)
		}
	}
	if n := len(s.support); n > MaxComponents {
		return refuse("waypoints", "%d components in all; expected at most %d", n, MaxComponents)
	}
	seen := map[string]bool{}
	for _, n := range slices.Concat(s.equalities, s.rest) {
		if seen[n] {
			return refuse("path", "the name %q is there twice; name what has the same", n)
		}
		seen[n] = true
	}
	return nil
}

// list appends the names of the components at a waypoint, as if it were `later` waypoints later, and records their
// families and supports.
func (s *Set) list(names []string, components []component, l, later int) []string {
	for _, c := range components {
		cols := make([]int, len(c.cols))
		for k, at := range c.cols {
			if cols[k] = l*s.d + at; at < 0 {
				cols[k] = s.l*s.d + ^at
			}
		}
		s.row += len(cols)
		s.join(c.family, c.unit, len(s.support))
		s.support = append(s.support, cols)
		names = append(names, c.name(l+later))
	}
	return names
}

// join adds a component to the family of a name and unit.
func (s *Set) join(name, unit string, component int) {
	for i := range s.families {
		if f := &s.families[i]; f.Name == name && f.Unit == unit {
			f.Of = append(f.Of, component)
			return
		}
	}
	s.families = append(s.families, constraint.Family{Name: name, Unit: unit, Of: []int{component}})
}
