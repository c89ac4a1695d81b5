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
	turns  []bool // of moving joint m
	bodies []chain
}

// A chain is what moves one body: joints 0 to len(whole)−1.
type chain struct {
	whole  []float64 // |v_m|
	across []float64 // |a_m × v_m|
}

// Reach bounds how far a body is from the axis of a joint that moves it, but for what joints slide.
func (s *Scene) Reach() (most float64) {
	for _, c := range newReach(s).bodies {
		far := 0.0
		for _, v := range c.whole {
			far += v
		}
		most = max(most, far)
	}
	return most
}

func newReach(s *Scene) reach {
	var r reach
	for _, i := range s.Arm.Places() {
		r.turns = append(r.turns, s.Arm.Joints[i].Kind.Turning())
	}
	r.bodies = make([]chain, len(s.Bodies))
	for i, b := range s.Bodies {
		v := b.Centre // from the next link's origin backwards, in the frame of link j
		c := &r.bodies[i]
		for j := b.Link; j >= 0; j-- {
			joint := &s.Arm.Joints[j]
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
			if r.turns[m] {
				turned += math.Abs(dq[m])
			}
		}
		sum, beyond := 0.0, 0.0 // beyond ≥ |δ_{m+1}| + |p − o_{m+1}|
		for m := len(c.whole) - 1; m >= 0; m-- {
			d := math.Abs(dq[m])
			if r.turns[m] {
				turned -= d
				sum += d * (c.across[m] + beyond) * (d + 2*turned)
				beyond += c.whole[m]
			} else {
				sum += 2 * d * turned
				beyond += c.whole[m] + max(math.Abs(q0[m]), math.Abs(q0[m]+dq[m]))
			}
		}
		dst[i] = sum
	}
}
