package scene

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// M bounds |p̈|, found by second differences; of a stretched arm in a plane whose joints
// turn the same way it is |p̈| itself.
func TestBow(t *testing.T) {
	const a, b = 0.5, 0.4
	arm := testkit.Must(robot.FromDH("planar", []robot.DH{{}, {A: a}}))
	s := &Scene{Arm: arm, Bodies: []Body{{Link: 1, Centre: [3]float64{b}}}}
	r, got := newReach(s.Arm, s.Bodies), make([]float64, 1)
	r.bow(got, []float64{0.3, 0}, []float64{0.7, 1.1})
	testkit.Near(t, got[0], a*0.7*0.7+b*1.8*1.8, 1e-15, "stretched")
	// a flange that is fixed to the last link, and the body on it
	arm.Joints = append(arm.Joints, robot.Joint{Kind: robot.Fixed, Origin: robot.Identity()})
	arm.Joints[2].Origin.P = [3]float64{0.1}
	s = &Scene{Arm: arm, Bodies: []Body{{Link: 2, Centre: [3]float64{b - 0.1}}}}
	r = newReach(s.Arm, s.Bodies)
	r.bow(got, []float64{0.3, 0}, []float64{0.7, 1.1})
	testkit.Near(t, got[0], a*0.7*0.7+b*1.8*1.8, 1e-15, "with a flange")
	// with a joint that slides: p̈ of a point at distance ρ + tδ from the axis is
	// (−(ρ + tδ)ω², 2ωδ), whose largest size is at t = 1
	arm = &robot.Arm{Joints: []robot.Joint{
		{Kind: robot.Continuous, Axis: [3]float64{2: 1}, Origin: robot.Identity()},
		{Kind: robot.Prismatic, Axis: [3]float64{1}, Origin: robot.Identity(), Lower: -1, Upper: 1},
	}}
	s = &Scene{Arm: arm, Bodies: []Body{{Link: 1, Centre: [3]float64{0.2}}}}
	r = newReach(s.Arm, s.Bodies)
	r.bow(got, []float64{0, 0.1}, []float64{0.7, 0.5})
	exact, sum := math.Hypot(0.8*0.49, 2*0.7*0.5), 0.8*0.49+2*0.7*0.5
	if math.Abs(got[0]-sum) > 1e-15 || got[0] < exact {
		t.Errorf("sliding: %v, expected %v", got[0], sum)
	}
}
