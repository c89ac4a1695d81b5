package trajectory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/robot"
)

// same is how far numbers that say the same may differ, metres or radians: those of files
// are rounded.
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
	}
	return s, b.finish()
}

// check refuses numbers that cannot be.
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

// put adds a component's label to a half.
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

// circles adds those of all turning joints.
func (b *builder) circles() {
	h := &b.half[0]
	for j, at := range b.columns {
		if c, s := at[0], at[1]; s >= 0 {
			h.circles = append(h.circles, circle{c, s})
			h.put(circles,
				label{family: "circle", head: "circle", tail: b.spec.Arm.Joints[j].Name, of: -1, cols: []int{c, s}})
		}
	}
}

// joints adds those that a place tells: the sine of each joint's distance, and its side.
func (b *builder) joints(p *placed) {
	n := 0
	for j, at := range b.columns {
		c, s := at[0], at[1]
		if c < 0 {
			continue
		}
		name := label{head: p.field + "." + b.spec.Arm.Joints[j].Name, alone: true, of: -1, cols: []int{c},
			family: p.field + " joint", unit: "m"}
		if s >= 0 {
			name.cols, name.unit = []int{c, s}, "rad"
		}
		side := name
		side.head += ".side"
		switch {
		case p.Joints != nil:
			if v := p.Joints[n]; s < 0 {
				b.turn(0, name, turn{c, -1, 1, 0, v})
			} else {
				sin, cos := math.Sincos(v)
				b.turn(0, name, turn{c, s, -sin, cos, 0})
				b.turn(1, side, turn{c, s, -cos, -sin, 0})
			}
		case p.Given.Joints:
			g := p.given
			if name.cols = append(name.cols, ^(g + c)); s >= 0 {
				name.cols = append(name.cols, ^(g + s))
			}
			side.cols = name.cols
			b.twist(0, name, twist{c, s, g, false})
			if s >= 0 {
				b.twist(1, side, twist{c, s, g, true})
			}
		}
		n++
	}
}

func (b *builder) turn(half int, name label, t turn) {
	if half == 1 && b.only {
		return
	}
	h := &b.half[half]
	h.turns = append(h.turns, t)
	h.put(turns, name)
}

func (b *builder) twist(half int, name label, t twist) {
	if half == 1 && b.only {
		return
	}
	h := &b.half[half]
	h.twists = append(h.twists, t)
	h.put(twists, name)
}

// limits adds the joints' own: of a turning joint one half-plane, of a sliding one two sides.
func (b *builder) limits() error {
	if !b.spec.Limits {
		return nil
	}
	for i, at := range b.columns {
		j, c, s := &b.spec.Arm.Joints[i], at[0], at[1]
		if j.Kind == robot.Fixed || j.Kind == robot.Continuous {
			continue
		}
		if j.Lower == j.Upper {
			return refuse("limits", "joint %q may only be at %.6g; make it a fixed one", j.Name, j.Lower)
		}
		name := label{head: "limit", tail: j.Name, of: -1, cols: []int{c}, family: "limit", unit: "m"}
		if s < 0 {
			low, high := name, name
			low.head, high.head = "least", "most"
			if !math.IsInf(j.Lower, -1) {
				b.turn(1, low, turn{c, -1, -1, 0, -j.Lower})
			}
			if !math.IsInf(j.Upper, 1) {
				b.turn(1, high, turn{c, -1, 1, 0, j.Upper})
			}
			continue
		}
		name.cols, name.unit = []int{c, s}, "rad"
		if β := (j.Upper - j.Lower) / 2; β < math.Pi-whole/2 {
			sin, cos := math.Sincos(j.Lower + β)
			w := math.Sin(β)
			b.turn(1, name, turn{c, s, -cos / w, -sin / w, -math.Cos(β) / w})
		}
	}
	return nil
}

func (b *builder) path() error {
	for i := range b.spec.Path {
		name := label{head: b.spec.Path[i].Name, of: -1}
		if err := b.task(fmt.Sprintf("path[%d]", i), name, &b.spec.Path[i], -1); err != nil {
			return err
		}
	}
	return nil
}

// ends adds the tasks of places.
func (b *builder) ends() error {
	for of := range b.places {
		p := &b.places[of]
		if !p.here {
			continue
		}
		for i := range p.Tasks {
			name := label{head: p.Tasks[i].Name, alone: true, of: of}
			if err := b.task(p.field, name, &p.Tasks[i], -1); err != nil {
				return err
			}
		}
		g := p.Given.Position
		if g == nil {
			continue
		}
		for k, t := range Position(p.field, g.Link, g.Local, [3]float64{}) {
			if err := b.task(p.field, label{head: t.Name, alone: true, of: of}, &t, p.given+k); err != nil {
				return err
			}
		}
	}
	return nil
}

// task adds what is asked of a feature. An equality that is there already is left out, since
// it would only repeat it.
func (b *builder) task(field string, name label, t *Task, given int) error {
	scale := t.Scale
	if scale == 0 {
		scale = 1
	}
	long := norm(t.Axis)
	low, high, w := t.Low/long, t.High/long, unit(t.Axis)
	p := settle(b.spec.Arm, robot.Point{Link: t.Link, Local: t.Local}, t.Direction)
	if p.Link < 0 && given < 0 {
		if v := dot(w, p.Local); v < low-same || v > high+same {
			return refuse(field, "no joint moves what it asks for: it is at %.6g; expected %s", v, between(low, high))
		}
		return nil
	}
	if p.Link < 0 {
		return refuse(field, "no joint moves the point that is given a place")
	}
	list, at := &b.points, 0
	if t.Direction {
		list = &b.directions
	}
	at = find(list, p)
	for h := range b.half {
		for i := range b.half[h].tasks {
			o := &b.half[h].tasks[i]
			if b.sum || given >= 0 || o.given >= 0 || o.feature != at || o.direction != t.Direction {
				continue
			}
			sign := dot(o.w, w) / norm(o.w)
			if math.Abs(sign) < 1-1e-12 {
				continue
			}
			v := math.Copysign(o.ref/norm(o.w), o.ref*sign)
			other := b.half[h].labels[tasks][i]
			switch {
			case h == 0 && (v < low-same || v > high+same), h == 1 && low == high && sign*(low-v) > same:
				return refuse(field, "%s is asked to be %s, which %s excludes", name.head, between(low, high),
					other.head)
			case h == 0 && low == high:
				return nil
			}
		}
	}
	name.cols, name.family, name.unit = b.spec.Arm.Support(p.Link), name.head, "m"
	if name.alone {
		name.family = field
	}
	if t.Direction {
		name.unit = "rad"
	}
	if given >= 0 {
		name.cols = append(slices.Clone(name.cols), ^given)
	}
	add := func(h int, name label, sign, ref float64) {
		if h == 1 && b.only {
			return
		}
		s := sign * scale
		b.half[h].tasks = append(b.half[h].tasks, task{feature: at, direction: t.Direction, scale: scale, given: given,
			w: [3]float64{s * w[0], s * w[1], s * w[2]}, ref: s * ref})
		b.half[h].put(tasks, name)
	}
	if low == high {
		add(0, name, 1, low)
		return nil
	}
	below, above := name, name
	if !math.IsInf(low, -1) && !math.IsInf(high, 1) {
		below.head, above.head = name.head+".min", name.head+".max"
	}
	if !math.IsInf(low, -1) {
		add(1, below, -1, low)
	}
	if !math.IsInf(high, 1) {
		add(1, above, 1, high)
	}
	return nil
}

func between(low, high float64) string {
	if low == high {
		return fmt.Sprintf("%.6g", low)
	}
	return fmt.Sprintf("in [%.6g, %.6g]", low, high)
}

// sphere names the k-th sphere of the volume: by its link, and its number if there are several.
func (b *builder) sphere(k int) string {
	link, before, all := b.spec.Volume[k].Link, 0, 0
	for i, o := range b.spec.Volume {
		if o.Link == link {
			if all++; i < k {
				before++
			}
		}
	}
	name := b.spec.Arm.Base
	if link >= 0 {
		name = b.spec.Arm.Joints[link].Link
	}
	if all > 1 {
		name += fmt.Sprintf(".%d", before)
	}
	return name
}

// clears adds the distances of the volume to obstacles. Spheres about the same point count
// as the largest of them, and what no joint moves is looked at now.
func (b *builder) clears() error {
	if b.only {
		return nil
	}
	h := &b.half[1]
	for k, o := range b.spec.Volume {
		p := settle(b.spec.Arm, robot.Point{Link: o.Link, Local: o.Centre}, false)
		reach, err := b.reach(p)
		if err != nil {
			return err
		}
		pad := o.Radius + b.spec.Margin + reach
		for i, obstacle := range b.spec.Obstacles {
			if p.Link < 0 {
				if φ := obstacle.Distance(p.Local); !(φ >= pad) {
					return refuse(fmt.Sprintf("obstacles[%d]", i), "it is %.4g m from %s, which no joint moves; "+
						"expected %.4g m at least", φ-o.Radius, b.sphere(k), b.spec.Margin)
				}
				continue
			}
			at := find(&b.points, p)
			there := slices.IndexFunc(h.clears, func(c clearance) bool { return c.point == at && c.obstacle == i })
			if there >= 0 && !b.sum {
				h.clears[there].pad = max(h.clears[there].pad, pad)
				continue
			}
			h.clears = append(h.clears, clearance{at, i, pad})
			h.put(clears,
				label{family: "clear", unit: "m", head: "clear", tail: fmt.Sprintf("%s,%d", b.sphere(k), i), of: i,
					cols: b.spec.Arm.Support(p.Link)})
		}
	}
	return nil
}

// reach returns by how much distances to obstacles are enlarged: half of how far a step can
// move the point, so that on every point of it one of its ends is that near. A joint that
// turns by δ moves the point by at most δ times its distance to the axis.
func (b *builder) reach(p robot.Point) (float64, error) {
	if !b.spec.Segments {
		return 0, nil
	}
	total, arm := 0.0, norm(p.Local)
	for i := p.Link; i >= 0; i-- {
		j := &b.spec.Arm.Joints[i]
		if j.Kind != robot.Fixed {
			δ := 0.0
			if b.spec.Steps != nil {
				δ = b.spec.Steps[i]
			}
			switch slides := j.Kind == robot.Prismatic; {
			case !(δ > 0) || math.IsInf(δ, 1):
				return 0, refuse("segments", "joint %q may move any distance in a step; bound it", j.Name)
			case slides && (math.IsInf(j.Lower, 0) || math.IsInf(j.Upper, 0) || !b.spec.Limits):
				return 0, refuse("segments", "joint %q slides without limits, so that there is no bound of what the "+
					"joints before it move", j.Name)
			case slides:
				total += δ
				arm += max(math.Abs(j.Lower), math.Abs(j.Upper))
			default:
				total += δ * arm
			}
		}
		arm += norm(j.Origin.P)
	}
	return total / 2, nil
}

// selves adds the distances between pairs of the volume.
func (b *builder) selves() error {
	if b.only {
		return nil
	}
	h := &b.half[1]
	for i, k := range b.spec.Self {
		var p [2]robot.Point
		for e := range p {
			o := b.spec.Volume[k[e]]
			p[e] = settle(b.spec.Arm, robot.Point{Link: o.Link, Local: o.Centre}, false)
		}
		pad := b.spec.Volume[k[0]].Radius + b.spec.Volume[k[1]].Radius + b.spec.Margin
		name := fmt.Sprintf("%s,%s", b.sphere(k[0]), b.sphere(k[1]))
		if p[0].Link == p[1].Link {
			if r := norm(minus(p[0].Local, p[1].Local)); r < pad {
				return refuse(fmt.Sprintf("self[%d]", i), "%s are fixed to each other at %.4g m; expected %.4g m at "+
					"least", name, r, pad)
			}
			continue
		}
		if p[0].Link > p[1].Link {
			p[0], p[1] = p[1], p[0]
		}
		if p[0].Link < 0 { // the point of the base is one more that stays
			h.pairs = append(h.pairs, pair{-1, find(&b.points, p[1]), pad, p[0].Local})
		} else {
			h.pairs = append(h.pairs, pair{find(&b.points, p[0]), find(&b.points, p[1]), pad, [3]float64{}})
		}
		h.put(pairs, label{family: "self", unit: "m", head: "self", tail: name, of: -1,
			cols: b.spec.Arm.Support(p[1].Link)})
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

// between adds the bounds of steps.
func (b *builder) between() error {
	for l := range b.set.l - 1 {
		for i, at := range b.columns {
			c, s := at[0], at[1]
			if b.spec.Steps == nil || c < 0 {
				continue
			}
			δ, name := b.spec.Steps[i], fmt.Sprintf("step[%d,%s", l, b.spec.Arm.Joints[i].Name)
			switch {
			case δ == 0 || math.IsInf(δ, 1) || s >= 0 && δ >= math.Pi:
			case s < 0:
				b.set.steps = append(b.set.steps, step{l, c, -1, δ, 1, name + ",+]"},
					step{l, c, -1, δ, -1, name + ",−]"})
			default:
				b.set.steps = append(b.set.steps, step{l, c, s, math.Cos(δ), 1 / math.Sin(δ), name + "]"})
			}
		}
	}
	return nil
}

// finish lays out the set.
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

// A step is (cos δ − c c′ − s s′)/sin δ of a turning joint, a = cos δ and w = 1/sin δ, from
// waypoint l to the next; of a sliding one, s = −1, w (x′ − x) − δ, a = δ and w = ±1.
type step struct {
	l, c, s int
	a, w    float64
	name    string
}

// value, gradient and hessian of a step; x is where the waypoint begins, y the next.
func (t *step) value(x, y []float64) float64 {
	if t.s < 0 {
		return t.w*(y[t.c]-x[t.c]) - t.a
	}
	return t.w * (t.a - x[t.c]*y[t.c] - x[t.s]*y[t.s])
}

func (t *step) gradient(out, x, y []float64) []float64 {
	if t.s < 0 {
		out[0], out[1] = -t.w, t.w
		return out[2:]
	}
	out[0], out[1], out[2], out[3] = -t.w*y[t.c], -t.w*y[t.s], -t.w*x[t.c], -t.w*x[t.s]
	return out[4:]
}

// hessian of a step along (dx, dy): it is bilinear.
func (t *step) hessian(out, dx, dy []float64) []float64 {
	if t.s < 0 {
		out[0], out[1] = 0, 0
		return out[2:]
	}
	return t.gradient(out, dx, dy)
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
