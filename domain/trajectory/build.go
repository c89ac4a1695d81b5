package trajectory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/constraint"
)

// same is how far numbers that say the same may differ, metres or radians: those of files are rounded.
const same = 1e-6

// A builder makes the stages of a set.
type builder struct {
	spec    *Spec
	set     *Set
	sum     bool // nothing is left out: what is asked twice counts twice
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
	b := &builder{spec: &s.spec, set: s, sum: spec.Form != Separate, only: only,
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
		if total += len(st.labels); total > MaxComponents {
			return nil, refuse("waypoints",
				"more than %d components by waypoint %d of %d; expected at most as many in "+
					"all", MaxComponents, l, s.l)
		}
		s.stages = append(s.stages, st)
	}
	if !only {
		if err := b.between(); err != nil {
			return nil, err
		}
		if err := b.bends(); err != nil {
			return nil, err
		}
	}
	return s, b.finish()
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

func (h *half) put(kind int, l label) { h.labels[kind] = append(h.labels[kind], l) }

// make makes the stage of a waypoint. Where its joints are told nothing else is asked: New
// refuses joints that do not keep the rest.
func (b *builder) make() (*stage, error) {
	b.stage = &stage{}
	b.circles()
	told := false
	for i := range b.places {
		if p := &b.places[i]; p.here {
			b.joints(p)
			told = told || !b.sum && (p.Joints != nil || p.Given.Joints)
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

// keeps refuses joints of a place that do not keep what is asked there.
func (b *builder) keeps(asked *stage, p *placed) error {
	x, v := make([]float64, b.set.d), newView(b.set, asked)
	b.spec.Arm.Coordinates(x, p.Joints)
	v.place(x)
	given := make([]float64, len(b.set.given))
	for h := range asked.half {
		labels := asked.labels[:asked.m]
		if h == 1 {
			labels = asked.labels[asked.m:]
		}
		out := make([]float64, len(labels))
		v.values(out, h, x, given)
		for i, c := range out {
			if n := len(labels[i].cols); n > 0 && labels[i].cols[n-1] < 0 {
				continue // a given number tells
			}
			if !(c <= same) || h == 0 && !(c >= -same) {
				l := 0
				if p.field == "goal" {
					l = b.set.l - 1
				}
				return refuse(p.field+".joints", "they violate %q by %.3g", labels[i].name(l), math.Abs(c))
			}
		}
	}
	return nil
}

// lay finishes the stage: directions stand behind points, components in their order.
func (b *builder) lay() *stage {
	st := b.stage
	for h := range st.half {
		half := &st.half[h]
		for i := range half.tasks {
			if half.tasks[i].direction {
				half.tasks[i].feature += len(st.points)
			}
		}
		for _, list := range half.labels {
			for _, l := range list {
				half.row += len(l.cols)
			}
			st.labels = append(st.labels, list...)
		}
		if h == 0 {
			st.m = len(st.labels)
		}
	}
	return st
}

func (b *builder) finish() error {
	s := b.set
	behind := s.l * s.d
	for h := range 2 {
		for l, st := range s.stages {
			labels := st.labels[:st.m]
			if h == 1 {
				labels = st.labels[st.m:]
			}
			for i := range labels {
				n := &labels[i]
				cols := make([]int, len(n.cols))
				for k, c := range n.cols {
					if cols[k] = l*s.d + c; c < 0 {
						cols[k] = behind + ^c
					}
				}
				s.row += len(cols)
				s.join(n.family, n.unit, len(s.support))
				s.support = append(s.support, cols)
				if h == 0 {
					s.equalities = append(s.equalities, n.name(l))
				} else {
					s.rest = append(s.rest, n.name(l))
				}
			}
		}
		if h == 0 {
			s.rowH = s.row
		}
	}
	for _, t := range s.steps {
		cols := []int{t.l*s.d + t.c, (t.l+1)*s.d + t.c}
		if t.s >= 0 {
			cols = []int{t.l*s.d + t.c, t.l*s.d + t.s, (t.l+1)*s.d + t.c, (t.l+1)*s.d + t.s}
		}
		s.row += len(cols)
		unit := "m"
		if t.s >= 0 {
			unit = "rad"
		}
		s.join("step", unit, len(s.support))
		s.support = append(s.support, cols)
		s.rest = append(s.rest, t.name)
	}
	for i := range s.bends {
		t := &s.bends[i]
		cols, unit := t.cols(s.d), "rad"
		if t.s < 0 {
			unit = "m"
		}
		s.row += len(cols)
		s.join("bend", unit, len(s.support))
		s.support = append(s.support, cols)
		s.rest = append(s.rest, t.name)
	}
	if n := len(s.support); n > MaxComponents {
		return refuse("waypoints", "%d components in all; expected at most %d", n, MaxComponents)
	}
	seen := map[string]bool{}
	for _, n := range append(slices.Clone(s.equalities), s.rest...) {
		if seen[n] {
			return refuse("path", "the name %q is there twice; name what has the same", n)
		}
		seen[n] = true
	}
	return nil
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
