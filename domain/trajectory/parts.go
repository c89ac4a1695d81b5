package trajectory

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/robot"
)

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

// task adds what is asked of a feature. An equality that is there already is left out, since it would only repeat it.
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
