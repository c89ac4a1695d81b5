package urdf

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain/robot"
)

// A tree is the links of a document by name, each with the joint that moves it.
type tree struct {
	*document
	at    map[string]int // link by name
	moved []int          // joint that moves link i, −1: none
}

func (d *document) fail(line int, element, format string, v ...any) error {
	return &Error{File: d.file, Line: line, Element: element, Why: fmt.Sprintf(format, v...)}
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
			if t.moved[i] < 0 {
				base, roots = i, append(roots, l.name)
			}
		}
		if len(roots) > 1 {
			return 0, 0, t.fail(0, "base", "%d links have none above them: %s; expected one of them as the base",
				len(roots), list(roots))
		}
	}
	if o.Tip != "" {
		tip, err = find("tip", o.Tip)
		return base, tip, err
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
	a := &robot.Arm{Name: d.name, Base: d.links[base].name}
	for i := len(chain) - 1; i >= 0; i-- {
		j, err := d.joint(chain[i])
		if err != nil {
			return nil, err
		}
		a.Joints = append(a.Joints, j)
	}
	if err := a.Check(); err != nil {
		return nil, d.fail(0, fmt.Sprintf("the chain from %q to %q", a.Base, d.links[tip].name), "%v", err)
	}
	if o.Volume {
		if err := t.volume(a, base, o.Excess); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (d *document) joint(j *joint) (out robot.Joint, err error) {
	kind := kinds[j.kind]
	if kind < 0 {
		return out, d.fail(j.line, j.element(),
			"is %s; expected revolute, continuous, prismatic or fixed on the chain", j.kind)
	}
	if j.mimic != "" {
		return out, d.fail(j.line, j.element()+" <mimic>", "follows joint %q, and so has no coordinates of its own; "+
			"expected a chain without such joints: choose base and tip", brief(j.mimic))
	}
	out = robot.Joint{
		Name: j.name, Link: j.child, Kind: kind, Origin: j.origin, Axis: j.axis,
		Lower: math.Inf(-1), Upper: math.Inf(1), Velocity: j.velocity,
	}
	switch kind {
	case robot.Revolute, robot.Prismatic:
		if !j.limited {
			return out, d.fail(j.line, j.element(),
				"is %s and has no limits; expected <limit lower=… upper=… velocity=…/>%s",
				j.kind, map[robot.Kind]string{robot.Revolute: ", or the type continuous"}[kind])
		}
		if j.lower >= j.upper {
			return out, d.fail(j.limitLine, j.element()+" <limit>", "from %v to %v; expected lower below upper, "+
				"or the type fixed", j.lower, j.upper)
		}
		out.Lower, out.Upper = j.lower, j.upper
		if kind == robot.Revolute && j.upper-j.lower > 2*math.Pi {
			d.notes = append(d.notes, fmt.Sprintf("joint %q may turn by %.4g rad, more than a whole turn: "+
				"its cosine and sine do not say which", j.name, j.upper-j.lower))
		}
	}
	if j.velocity >= most { // as Write says it
		out.Velocity = math.Inf(1)
	}
	if j.velocity == 0 {
		out.Velocity = math.Inf(1)
		if kind != robot.Fixed {
			d.notes = append(d.notes, fmt.Sprintf("joint %q: velocity=0 is taken as no limit", j.name))
		}
	}
	return out, nil
}
