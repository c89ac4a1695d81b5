package scene

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A reach bounds how far bodies can be from the axes of joints, whatever the
// configuration, by the lengths of the links in between.
//
// With o_j the origin of moving joint j's link, v_j the constant vector in that link's frame from o_j to where the next
// moving joint begins, and δ the displacement of a sliding joint,
//
//	|p − o_j| ≤ |v_j| + |δ_{j+1}| + |p − o_{j+1}|
//	ρ_j = distance from axis j ≤ |a_j × v_j| + |δ_{j+1}| + |p − o_{j+1}|
type reach struct {
	moves  []moving
	bodies []chain
}

// A moving joint, whose value is by·q + offset of free joint of.
type moving struct {
	turns      bool
	of         int
	by, offset float64
}

// A chain is what moves one body: joints 0 to len(whole)−1.
type chain struct {
	whole  []float64 // |v_m|
	across []float64 // |a_m × v_m|
}

// Reach bounds how far a body is from the axis of a joint that moves it, but for what joints slide.
func (s *Scene) Reach() (most float64) {
	for _, c := range newReach(s.Arm, s.Bodies).bodies {
		far := 0.0
		for _, v := range c.whole {
			far += v
		}
		most = max(most, far)
	}
	return most
}

func newReach(arm *robot.Arm, bodies []Body) reach {
	var r reach
	places := arm.Places()
	for i := range arm.Joints {
		j, of := &arm.Joints[i], i
		if j.Kind == robot.Fixed {
			continue
		}
		m := moving{turns: j.Kind.Turning(), by: 1}
		if f := j.Follow; f != nil {
			of, m.by, m.offset = f.Of, f.Multiplier, f.Offset
		}
		m.of = slices.Index(places, of)
		r.moves = append(r.moves, m)
	}
	r.bodies = make([]chain, len(bodies))
	for i, b := range bodies {
		v := b.Centre // from the next link's origin backwards, in the frame of link j
		c := &r.bodies[i]
		for j := b.Link; j >= 0; j-- {
			joint := &arm.Joints[j]
			if joint.Kind == robot.Fixed {
				v = joint.Origin.Apply(v)
				continue
			}
			c.whole = append(c.whole, vec3.Norm(v))
			c.across = append(c.across, vec3.Norm(vec3.Cross(joint.Axis, v))/vec3.Norm(joint.Axis))
			v = joint.Origin.P // begins a new stretch: where joint j is in the link before
		}
		slices.Reverse(c.whole)
		slices.Reverse(c.across)
	}
	return r
}

// bow writes M of each body, the bound on |p̈| for q = q0 + t dq, 0 ≤ t ≤ 1.
func (r *reach) bow(dst, q0, dq []float64) {
	for i := range r.bodies {
		c := &r.bodies[i]
		turned := 0.0 // Σ|Δ| of the joints that turn, up to the one at hand
		for m := range c.whole {
			if j := &r.moves[m]; j.turns {
				turned += math.Abs(j.by * dq[j.of])
			}
		}
		sum, beyond := 0.0, 0.0 // beyond ≥ |δ_{m+1}| + |p − o_{m+1}|
		for m := len(c.whole) - 1; m >= 0; m-- {
			j := &r.moves[m]
			d := math.Abs(j.by * dq[j.of])
			if j.turns {
				turned -= d
				sum += d * (c.across[m] + beyond) * (d + 2*turned)
				beyond += c.whole[m]
			} else {
				sum += 2 * d * turned
				q := j.by*q0[j.of] + j.offset
				beyond += c.whole[m] + max(math.Abs(q), math.Abs(q+j.by*dq[j.of]))
			}
		}
		dst[i] = sum
	}
}

// Bow returns what bounds how far a body leaves the chord of a segment, by the changes Δ of the joints that are free: M
// ≤ Σ_j b_j Δ_j², since 2|Δ_i Δ_j| ≤ Δ_i² + Δ_j². Sliding joints keep their limits; joint is the place in the chain of
// one that has none though others turn before it, else −1.
func Bow(arm *robot.Arm, body Body) (b []float64, joint int) {
	r := newReach(arm, []Body{body})
	c, places := &r.bodies[0], arm.Places()
	b, joint = make([]float64, len(places)), -1
	beyond := 0.0
	for m := len(c.whole) - 1; m >= 0; m-- {
		j := &r.moves[m]
		w := 1.0
		if j.turns {
			w = c.across[m] + beyond
			b[j.of] += w * j.by * j.by
		}
		for i := range m {
			if o := &r.moves[i]; o.turns {
				b[j.of], b[o.of] = b[j.of]+w*j.by*j.by, b[o.of]+w*o.by*o.by
			}
		}
		if beyond += c.whole[m]; !j.turns {
			l := &arm.Joints[places[j.of]]
			beyond += math.Abs(j.by)*max(math.Abs(l.Lower), math.Abs(l.Upper)) + math.Abs(j.offset)
			if math.IsInf(beyond, 1) {
				joint = places[j.of]
			}
		}
	}
	return b, joint
}
