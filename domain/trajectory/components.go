package trajectory

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
)

func (b *builder) circles() {
	for j, at := range b.columns {
		if c, s := at[0], at[1]; s >= 0 {
			b.put(0, label{order: circles, family: "circle", head: "circle", tail: b.spec.Arm.Joints[j].Name,
				cols: []int{c, s}}, &circle{c, s})
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
		name := label{order: turns, head: p.field + "." + b.spec.Arm.Joints[j].Name, alone: true,
			cols: []int{c}, family: p.field + " joint", unit: "m"}
		if s >= 0 {
			name.cols, name.unit = []int{c, s}, "rad"
		}
		if p.Given.Joints {
			name.order = twists
			if name.cols = append(name.cols, ^(p.given + c)); s >= 0 {
				name.cols = append(name.cols, ^(p.given + s))
			}
		}
		side := name
		side.head += ".side"
		switch {
		case p.Joints != nil:
			if v := p.Joints[n]; s < 0 {
				b.put(0, name, &turn{c, -1, 1, 0, v})
			} else {
				sin, cos := math.Sincos(v)
				b.put(0, name, &turn{c, s, -sin, cos, 0})
				b.put(1, side, &turn{c, s, -cos, -sin, 0})
			}
		case p.Given.Joints:
			b.put(0, name, &twist{c, s, p.given, false})
			if s >= 0 {
				b.put(1, side, &twist{c, s, p.given, true})
			}
		}
		n++
	}
}

// limits adds the joints' own: of a turning joint one half-plane, of a sliding one two sides.
func (b *builder) limits() error {
	if !b.spec.Limits {
		return nil
	}
	for i, at := range b.columns {
		j, c, s := &b.spec.Arm.Joints[i], at[0], at[1]
		if !j.Free() || j.Kind == robot.Continuous {
			continue
		}
		if j.Lower == j.Upper {
			return refuse("limits", "joint %q may only be at %.6g; make it a fixed one", j.Name, j.Lower)
		}
		name := label{order: turns, head: "limit", tail: j.Name, cols: []int{c}, family: "limit", unit: "m"}
		if s < 0 {
			low, high := name, name
			low.head, high.head = "least", "most"
			if !math.IsInf(j.Lower, -1) {
				b.put(1, low, &turn{c, -1, -1, 0, -j.Lower})
			}
			if !math.IsInf(j.Upper, 1) {
				b.put(1, high, &turn{c, -1, 1, 0, j.Upper})
			}
			continue
		}
		name.cols, name.unit = []int{c, s}, "rad"
		if β := (j.Upper - j.Lower) / 2; β < math.Pi-whole/2 {
			sin, cos := math.Sincos(j.Lower + β)
			w := math.Sin(β)
			b.put(1, name, &turn{c, s, -cos / w, -sin / w, -math.Cos(β) / w})
		}
	}
	return nil
}

func (b *builder) path() error {
	for i := range b.spec.Path {
		name := label{head: b.spec.Path[i].Name}
		if err := b.task(fmt.Sprintf("path[%d]", i), name, &b.spec.Path[i], -1); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) ends() error {
	for at := range b.places {
		p := &b.places[at]
		if !p.here {
			continue
		}
		for i := range p.Tasks {
			name := label{head: p.Tasks[i].Name, alone: true}
			if err := b.task(p.field, name, &p.Tasks[i], -1); err != nil {
				return err
			}
		}
		g := p.Given.Position
		if g == nil {
			continue
		}
		for k, t := range Position(p.field, g.Link, g.Local, [3]float64{}) {
			if err := b.task(p.field, label{head: t.Name, alone: true}, &t, p.given+k); err != nil {
				return err
			}
		}
	}
	return nil
}

// task adds the constraint on a feature. An equality that is there already is left out, since it would only repeat it.
func (b *builder) task(field string, name label, t *Task, given int) error {
	scale := t.Scale
	if scale == 0 {
		scale = 1
	}
	long := vec3.Norm(t.Axis)
	low, high, w := t.Low/long, t.High/long, vec3.Unit(t.Axis)
	p := settle(b.spec.Arm, robot.Point{Link: t.Link, Local: t.Local}, t.Direction)
	if p.Link < 0 && given < 0 {
		if v := vec3.Dot(w, p.Local); v < low-same || v > high+same {
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
		for _, other := range b.half[h] {
			o, ok := other.part.(*task)
			if !ok || given >= 0 || o.given >= 0 || o.feature != at || o.direction != t.Direction {
				continue
			}
			sign := vec3.Dot(o.w, w) / vec3.Norm(o.w)
			if math.Abs(sign) < 1-1e-12 {
				continue
			}
			v := math.Copysign(o.ref/vec3.Norm(o.w), o.ref*sign)
			switch {
			case h == 0 && (v < low-same || v > high+same), h == 1 && low == high && sign*(low-v) > same:
				return refuse(field, "%s must be %s, which %s excludes", name.head, between(low, high),
					other.head)
			case h == 0 && low == high:
				return nil
			}
		}
	}
	name.order, name.cols, name.family, name.unit = tasks, b.spec.Arm.Support(p.Link), name.head, "m"
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
		s := sign * scale
		b.put(h, name, &task{feature: at, direction: t.Direction, scale: scale, given: given,
			w: [3]float64{s * w[0], s * w[1], s * w[2]}, ref: s * ref})
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
	seen := map[[2]int]*clearance{}
	for k, o := range b.spec.Volume {
		p := settle(b.spec.Arm, robot.Point{Link: o.Link, Local: o.Centre}, false)
		pad := o.Radius + b.spec.Margin
		for i := range b.spec.Obstacles {
			if p.Link < 0 {
				if φ := b.spec.Obstacles[i].Distance(p.Local); !(φ >= pad) {
					return refuse(fmt.Sprintf("obstacles[%d]", i), "it is %.4g m from %s, which no joint moves; "+
						"expected %.4g m at least", φ-o.Radius, b.sphere(k), b.spec.Margin)
				}
				continue
			}
			if b.spec.Segments && b.set.l > 1 {
				continue // sweeps ask for it, and more
			}
			at := find(&b.points, p)
			if c := seen[[2]int{at, i}]; c != nil {
				c.pad = max(c.pad, pad)
				continue
			}
			c := &clearance{at, i, pad}
			seen[[2]int{at, i}] = c
			b.put(1, label{order: clears, family: "clear", unit: "m", head: "clear",
				tail: fmt.Sprintf("%s,%d", b.sphere(k), i), cols: b.spec.Arm.Support(p.Link)}, c)
		}
	}
	return nil
}

// sweeps adds the distances of the volume to obstacles between waypoints, if Segments asks for them.
func (b *builder) sweeps() error {
	if !b.spec.Segments || b.only || b.set.l < 2 {
		return nil
	}
	row := across{span: 1}
	arm, places := b.spec.Arm, b.spec.Arm.Places()
	for k, o := range b.spec.Volume {
		p := settle(arm, robot.Point{Link: o.Link, Local: o.Centre}, false)
		if p.Link < 0 {
			continue // the waypoints' own tell
		}
		bounds, joint := scene.Bow(arm, scene.Body{Link: p.Link, Centre: p.Local})
		bow := make([]float64, b.set.d)
		for m, w := range bounds {
			j := places[m]
			c, s := b.columns[j][0], b.columns[j][1]
			δ := math.Pi // Δ² ≤ |z′ − z|² δ²/(2 sin δ/2)², if |Δ| ≤ δ
			if b.spec.Steps != nil && b.spec.Steps[j] > 0 {
				δ = min(δ, b.spec.Steps[j])
			}
			if s >= 0 {
				half := 2 * math.Sin(δ/2) / δ
				bow[c], bow[s] = w/(8*half*half), w/(8*half*half)
			} else {
				bow[c] = w / 8
			}
			if slides := s < 0; !(w <= math.MaxFloat64) || joint >= 0 && !b.spec.Limits && (w > 0 || slides) {
				return refuse("segments", "joint %q slides without limits, so that there is no bound of what the "+
					"joints before it move", arm.Joints[max(joint, 0)].Name)
			}
		}
		cols := arm.Support(p.Link)
		for _, c := range cols[:len(cols):len(cols)] {
			cols = append(cols, b.set.d+c)
		}
		for i := range b.spec.Obstacles {
			row.components = append(row.components, component{label{family: "sweep", unit: "m", head: "sweep",
				tail: fmt.Sprintf("%s,%d", b.sphere(k), i), cols: cols},
				&sweep{find(&b.set.swept, p), i, o.Radius + b.spec.Margin, bow}})
		}
	}
	b.set.across = append(b.set.across, row)
	return nil
}

// selves adds the distances between pairs of the volume.
func (b *builder) selves() error {
	if b.only {
		return nil
	}
	for i, k := range b.spec.Self {
		var p [2]robot.Point
		for e := range p {
			o := b.spec.Volume[k[e]]
			p[e] = settle(b.spec.Arm, robot.Point{Link: o.Link, Local: o.Centre}, false)
		}
		pad := b.spec.Volume[k[0]].Radius + b.spec.Volume[k[1]].Radius + b.spec.Margin
		name := fmt.Sprintf("%s,%s", b.sphere(k[0]), b.sphere(k[1]))
		if p[0].Link == p[1].Link {
			if r := vec3.Norm(vec3.Minus(p[0].Local, p[1].Local)); r < pad {
				return refuse(fmt.Sprintf("self[%d]", i), "%s are fixed to each other at %.4g m; expected %.4g m at "+
					"least", name, r, pad)
			}
			continue
		}
		if p[0].Link > p[1].Link {
			p[0], p[1] = p[1], p[0]
		}
		c := &pair{-1, find(&b.points, p[1]), pad, p[0].Local}
		if p[0].Link >= 0 { // else the point of the base is one more that stays
			c = &pair{find(&b.points, p[0]), c.b, pad, [3]float64{}}
		}
		b.put(1, label{order: pairs, family: "self", unit: "m", head: "self", tail: name,
			cols: b.spec.Arm.Support(p[1].Link)}, c)
	}
	return nil
}

// across adds the bounds of what joints do over a row of waypoints: one and the next `span`.
func (b *builder) across(span int, head string, bounds []float64, bound func(c, s int, a, w float64) part) {
	if bounds == nil {
		return
	}
	row := across{span: span}
	for i, at := range b.columns {
		c, s, δ := at[0], at[1], bounds[i]
		if c < 0 || δ == 0 || math.IsInf(δ, 1) || s >= 0 && δ >= math.Pi {
			continue
		}
		name := label{head: head, tail: b.spec.Arm.Joints[i].Name, family: head, unit: "m"}
		for l := range span + 1 {
			if name.cols = append(name.cols, l*b.set.d+c); s >= 0 {
				name.cols = append(name.cols, l*b.set.d+s)
			}
		}
		if s >= 0 {
			name.unit = "rad"
			row.components = append(row.components, component{name, bound(c, s, math.Cos(δ), 1/math.Sin(δ))})
			continue
		}
		more, less := name, name
		more.tail, less.tail = name.tail+",+", name.tail+",−"
		row.components = append(row.components, component{more, bound(c, -1, δ, 1)},
			component{less, bound(c, -1, δ, -1)})
	}
	b.set.across = append(b.set.across, row)
}
