package trajectories

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/judge/metric"
)

// mostJoints bounds the joints that are compared one by one.
const mostJoints = 12

// observables are the length of the tip's way, how rough the motion is, how near it comes to
// what it may hit, and where each joint is half-way.
func (g *guide) observables() *domain.Observables {
	m := g.motion
	bins := metric.Bins{N: domain.DefaultBins}
	acceleration := "rad/step²"
	if m.arm.Sliding() > 0 {
		acceleration = "rad/step² and m/step²"
	}
	o := &domain.Observables{List: []domain.Observable{
		{Name: "length of the tip's way", Unit: "m", File: "length", Bins: bins},
		{Name: "acceleration of the joints, root mean square", Unit: acceleration, File: "acceleration", Bins: bins,
			Close: still},
	}}
	hits := m.scene.Pairs() > 0
	if hits {
		v := domain.Observable{Name: "least clearance at way points", Unit: "m", File: "clearance", Bins: bins,
			Close: still}
		o.List = append(o.List, v)
	}
	half := m.waypoints / 2
	shown := 0
	for i := range m.arm.Joints {
		j := &m.arm.Joints[i]
		if !j.Free() || shown == mostJoints {
			continue
		}
		shown++
		v := domain.Observable{Name: fmt.Sprintf("%s at way point %d", jointName(m.arm, i), half), Unit: "m",
			File: fmt.Sprintf("joint-%d", shown), Bins: bins}
		if j.Kind.Turning() {
			v.Unit, v.Circular, v.Lo, v.Hi = "rad", true, -math.Pi, math.Pi
		}
		o.List = append(o.List, v)
	}
	n := len(o.List)
	o.Values = func(dst, x []float64, rows int) {
		f := m.follower()
		tips, q := make([]float64, 3*m.waypoints), make([]float64, m.arm.Moving())
		for i := range rows {
			path, out := m.path(m.row(x, i)), dst[i*n:(i+1)*n]
			f.tips(tips, path)
			f.joints(f.q, path)
			out[0], out[1] = length(tips), roughness(f.q, len(q))
			at := 2
			if hits {
				out[at] = f.clearance(path)
				at++
			}
			m.arm.Angles(q, path[half*m.size:(half+1)*m.size])
			copy(out[at:], q[:shown])
		}
	}
	o.Note = "The tip's way is measured from way point to way point; way points count from 0."
	return o
}

// jointName is what a joint is called in messages and files.
func jointName(arm *robot.Arm, i int) string {
	if name := arm.Joints[i].Name; name != "" {
		return name
	}
	return fmt.Sprintf("joint%d", i+1)
}

func jointNames(arm *robot.Arm) (out []string) {
	for i := range arm.Joints {
		if arm.Joints[i].Free() {
			out = append(out, jointName(arm, i))
		}
	}
	return out
}
