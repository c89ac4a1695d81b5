package urdf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A tree is the links of a document by name, each with the joint that moves it.
type tree struct {
	*document
	at    map[string]int // link by name
	moved []int          // joint that moves link i, −1: none
}

func (d *document) fail(line int, element, format string, v ...any) error {
	return wrong(d.file, line, element, format, v...)
}

// tree returns the document as a tree, or why it is none.
func (d *document) tree() (*tree, error) {
	t := &tree{d, map[string]int{}, make([]int, len(d.links))}
	for i, l := range d.links {
		t.at[l.name], t.moved[i] = i, -1
	}
	if len(d.links) == 0 {
		return nil, d.fail(0, "", "has no links")
	}
	for n := range d.joints {
		j := &d.joints[n]
		for _, end := range []struct{ which, name string }{{"parent", j.parent}, {"child", j.child}} {
			if _, there := t.at[end.name]; !there {
				return nil, d.fail(j.line, j.element(), "its %s link %q is missing; the links are %s",
					end.which, brief(end.name), list(d.names()))
			}
		}
		if j.parent == j.child {
			return nil, d.fail(j.line, j.element(), "joins link %q with itself: a cycle", j.child)
		}
		child := t.at[j.child]
		if first := t.moved[child]; first >= 0 {
			return nil, d.fail(j.line, j.element(), "moves link %q, which joint %q (line %d) moves already: "+
				"a closed loop; expected a tree", j.child, d.joints[first].name, d.joints[first].line)
		}
		t.moved[child] = n
	}
	for i := range d.links { // whatever has no root above it goes round in a cycle
		l := i
		for above := 0; t.moved[l] >= 0; above++ {
			if above >= len(d.links) {
				j := &d.joints[t.moved[l]]
				return nil, d.fail(j.line, j.element(), "is part of a cycle: going up from link %q never ends; "+
					"expected a tree", d.links[i].name)
			}
			l = t.parent(l)
		}
	}
	return t, nil
}

// parent returns the link above one that a joint moves.
func (t *tree) parent(link int) int { return t.at[t.joints[t.moved[link]].parent] }

func (d *document) names() (out []string) {
	for _, l := range d.links {
		out = append(out, l.name)
	}
	return out
}

func (t *tree) ends(o Options) (base, tip int, err error) {
	find := func(what, name string) (int, error) {
		i, there := t.at[name]
		if !there {
			return 0, t.fail(0, what, "no link %q; the links are %s", name, list(t.names()))
		}
		return i, nil
	}
	if o.Base != "" {
		if base, err = find("base", o.Base); err != nil {
			return 0, 0, err
		}
	} else {
		var roots []string
		for i, l := range t.links {
			if t.moved[i] < 0 && !o.Longest {
				base, roots = i, append(roots, l.name)
			}
		}
		if len(roots) > 1 {
			return 0, 0, t.fail(0, "base", "%d links have none above them: %s; expected one of them as the base",
				len(roots), list(roots))
		}
	}
	if o.Tip != "" {
		if tip, err = find("tip", o.Tip); err == nil && o.Longest && o.Base == "" {
			base = t.root(tip)
		}
		return base, tip, err
	}
	if o.Longest {
		tip = t.hand(base, o.Base != "")
		if o.Base == "" {
			base = t.root(tip)
		}
		return base, tip, nil
	}
	inner := make([]bool, len(t.links))
	for i := range t.joints {
		inner[t.at[t.joints[i].parent]] = true
	}
	var leaves []string
	for i, l := range t.links {
		if !inner[i] && t.below(i, base) {
			tip, leaves = i, append(leaves, l.name)
		}
	}
	if len(leaves) > 1 {
		return 0, 0, t.fail(0, "tip", "%d links end the tree: %s; expected one link as the tip", len(leaves),
			list(leaves))
	}
	return base, tip, nil
}

// root returns the link that a chain to a link can begin with.
func (t *tree) root(link int) int {
	for t.moved[link] >= 0 && kinds[t.joints[t.moved[link]].kind] >= 0 {
		link = t.parent(link)
	}
	return link
}

// free returns how many joints of the chain to a link have values of their own, and how long it is.
func (t *tree) free(link, base int) (n int, length float64) {
	for ; link != base; link = t.parent(link) {
		j := &t.joints[t.moved[link]]
		if length += vec3.Norm(j.origin.P); j.mimic == "" && j.kind != "fixed" {
			n++
		}
	}
	return n, length
}

// hand returns the link at the end of the chain with the most free joints, or the link where fingers branch off that
// chain. Fingers come after at least as many joints as an arm has, and are at most a fifth of the chain's length.
func (t *tree) hand(base int, given bool) (tip int) {
	const arm, finger = 4, 0.2
	from := func(i int) int {
		if given {
			return base
		}
		return t.root(i)
	}
	most, whole, moving := -1, 0.0, make([]int, len(t.links)) // joints of each link that lead to any that moves
	for i := range t.links {
		if given && !t.below(i, base) {
			continue
		}
		if n, length := t.free(i, from(i)); n > most {
			tip, most, whole = i, n, length
		}
	}
	leads := make([]bool, len(t.links))
	for i := range t.links {
		for l := i; t.moved[l] >= 0 && t.joints[t.moved[i]].kind != "fixed" && !leads[l]; l = t.parent(l) {
			leads[l] = true
			moving[t.parent(l)]++
		}
	}
	for l := tip; l != from(tip); {
		l = t.parent(l)
		if n, length := t.free(l, from(l)); moving[l] > 1 && n >= arm && whole-length <= finger*whole {
			tip = l
		}
	}
	for _, word := range []string{"tool0", "tcp", "tool", "ee", "flange", "tip", "grasp"} {
		for i, l := range t.links {
			at := i
			for at != tip && t.moved[at] >= 0 && t.joints[t.moved[at]].kind == "fixed" {
				at = t.parent(at)
			}
			if at == tip && strings.Contains(l.name, word) {
				return i
			}
		}
	}
	return tip
}

func (t *tree) below(link, base int) bool {
	for ; link != base; link = t.parent(link) {
		if t.moved[link] < 0 {
			return false
		}
	}
	return true
}

func (d *document) arm(o Options) (*robot.Arm, error) {
	t, err := d.tree()
	if err != nil {
		return nil, err
	}
	base, tip, err := t.ends(o)
	if err != nil {
		return nil, err
	}
	if !t.below(tip, base) {
		return nil, d.fail(d.links[tip].line, "tip", "link %q does not hang on the base %q", d.links[tip].name,
			d.links[base].name)
	}
	var chain []*joint
	for l := tip; l != base; l = t.parent(l) {
		chain = append(chain, &d.joints[t.moved[l]])
	}
	slices.Reverse(chain)
	a := &robot.Arm{Name: d.name, Base: d.links[base].name}
	for _, c := range chain {
		j, err := d.joint(c)
		if err != nil {
			return nil, err
		}
		a.Joints = append(a.Joints, j)
	}
	if err := d.follow(a, chain); err != nil {
		return nil, err
	}
	if err := a.Check(); err != nil {
		return nil, d.fail(0, fmt.Sprintf("the chain from %q to %q", a.Base, d.links[tip].name), "%v", err)
	}
	if o.Volume {
		if err := t.volume(a, base, o); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (d *document) note(format string, v ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, v...))
}

// alike notes something that joints have in common: one note lists them.
func (d *document) alike(note, format string, v ...any) {
	begins, ends, _ := strings.Cut(note, "%s")
	item := fmt.Sprintf(format, v...)
	for i, had := range d.notes {
		if strings.HasPrefix(had, begins) && strings.HasSuffix(had, ends) {
			d.notes[i] = strings.TrimSuffix(had, ends) + ", " + item + ends
			return
		}
	}
	d.note("%s", begins+item+ends)
}

func (d *document) joint(j *joint) (out robot.Joint, err error) {
	if j.fault != nil {
		return out, j.fault
	}
	kind := kinds[j.kind]
	if kind < 0 {
		return out, d.fail(j.line, j.element(),
			"is %s; expected revolute, continuous, prismatic or fixed on the chain (begin it below: choose the base)",
			j.kind)
	}
	out = robot.Joint{
		Name: j.name, Link: j.child, Kind: kind, Origin: j.origin, Axis: j.axis,
		Lower: math.Inf(-1), Upper: math.Inf(1), Velocity: j.velocity,
	}
	if j.angle > 2*math.Pi {
		d.note("the origin of joint %q has rpy with %.4g: it looks like degrees where radians are expected", j.name,
			j.angle)
	}
	if kind == robot.Fixed {
		return out, nil
	}
	bounded := j.limited && j.lower < j.upper
	if kind == robot.Continuous && bounded && j.upper-j.lower < 2*math.Pi-1e-6 {
		d.note("joint %q is continuous: its limits %.6g to %.6g are not kept; the type revolute keeps them", j.name,
			j.lower, j.upper)
	}
	if kind != robot.Continuous && (j.mimic == "" || bounded) {
		if !j.limited {
			return out, d.fail(j.line, j.element(),
				"is %s and has no limits; expected <limit lower=… upper=… velocity=…/>%s",
				j.kind, map[robot.Kind]string{robot.Revolute: ", or the type continuous"}[kind])
		}
		if !bounded {
			return out, d.fail(j.limitLine, j.element()+" <limit>", "from %v to %v; expected lower below upper, "+
				"or the type fixed", j.lower, j.upper)
		}
		out.Lower, out.Upper = j.lower, j.upper
		far, wide := max(-j.lower, j.upper), j.upper-j.lower
		switch turns := kind == robot.Revolute && !math.IsInf(wide, 0); {
		case turns && far > 4*math.Pi:
			d.note("joint %q has limits %.6g to %.6g: they look like degrees where radians are expected", j.name,
				j.lower, j.upper)
		case turns && wide > 2*math.Pi+1e-3:
			d.alike("more than a whole turn: %s. The set has cosines and sines of joints, so the whole turns are "+
				"chosen when a motion is written", "%s (%.4g rad)", brief(j.name), wide)
		}
	}
	if j.soft && (j.softLower > j.lower+1e-6 || j.softUpper < j.upper-1e-6) {
		d.alike("soft limits (safety_controller) are not kept, the wider limits are: %s", "%s %.6g to %.6g",
			brief(j.name), j.softLower, j.softUpper)
	}
	if j.velocity >= most { // as Write says it
		out.Velocity = math.Inf(1)
	}
	if j.velocity == 0 {
		out.Velocity = math.Inf(1)
		d.alike("velocity=0 is taken as no limit: %s", "%s", brief(j.name))
	}
	return out, nil
}

// follow has joints that mimic others follow them, q = multiplier·q′ + offset, whose limits then are those of both. Of
// joints that follow one which is not on the chain, the first is free, and the others follow it.
func (d *document) follow(a *robot.Arm, chain []*joint) error {
	named, place := map[string]*joint{}, map[string]int{}
	for i := range d.joints {
		named[d.joints[i].name] = &d.joints[i]
	}
	for i, j := range chain {
		place[j.name] = i
	}
	type line struct{ m, o float64 }
	free := map[string]line{} // what stands for a joint that is not on the chain: its value is m·q + o of that at place
	for i, j := range chain {
		m, o, root := 1.0, 0.0, j
		for n := 0; root.mimic != "" && a.Joints[i].Kind != robot.Fixed; n++ {
			m, o = m*root.multiplier, o+m*root.offset
			next := named[root.mimic]
			switch {
			case next == nil:
				return d.fail(j.line, root.element()+" <mimic>", "there is no joint %q", brief(root.mimic))
			case n == len(d.joints):
				return d.fail(j.line, j.element()+" <mimic>", "follows itself by way of joint %q: a loop", root.mimic)
			}
			root = next
		}
		at, on := place[root.name]
		switch {
		case root == j:
			continue
		case !on && m == 0:
			return d.fail(j.line, j.element()+" <mimic>", "has the multiplier 0; expected the type fixed")
		case !on:
			place[root.name], free[root.name] = i, line{1 / m, -o / m}
			d.note("joint %q follows joint %q, which is not on the chain: it is taken as free", j.name, root.name)
			continue
		}
		if f, is := free[root.name]; is {
			m, o = m*f.m, o+m*f.o
		}
		s, f := &a.Joints[at], &a.Joints[i]
		f.Follow = &robot.Follow{Of: at, Multiplier: m, Offset: o}
		if lo, hi := (f.Lower-o)/m, (f.Upper-o)/m; m != 0 && s.Kind != robot.Continuous {
			s.Lower, s.Upper = max(s.Lower, min(lo, hi)), min(s.Upper, max(lo, hi))
			s.Velocity = min(s.Velocity, f.Velocity/math.Abs(m))
		}
		if turns := f.Kind.Turning(); turns != s.Kind.Turning() || turns && math.Abs(m) != 1 {
			return d.fail(j.line, j.element()+" <mimic>", "follows joint %q by the multiplier %v; expected a joint "+
				"that slides if that slides, or one that turns by the multiplier 1 or −1", s.Name, m)
		}
		d.note("joint %q follows joint %q: %.6g times its value%+.6g", f.Name, s.Name, m, o)
	}
	return nil
}
