package trajectories

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// An arm of two links of a metre in a plane, whose tip is to pass a post.
func passing(t *testing.T, waypoints int, obstacles ...scene.Obstacle) *motion {
	arm := &robot.Arm{Name: "two", Base: "base"}
	for i, name := range []string{"a", "b", "tip"} {
		j := robot.Joint{Name: name, Link: name + "_link", Origin: robot.Identity(), Axis: [3]float64{0, 0, 1},
			Lower: -3, Upper: 3, Velocity: 1}
		if i > 0 {
			j.Origin.P[0] = 1
		}
		if i == 2 {
			j.Kind = robot.Fixed
		}
		arm.Joints = append(arm.Joints, j)
	}
	return motionOf(made(t, trajectory.Spec{Arm: arm, Waypoints: waypoints, Limits: true, Margin: 0.02,
		Volume: []robot.Sphere{{Link: 2, Radius: 0.05}}, Obstacles: obstacles}))
}

// straight is a motion of both joints from one pair of values to another.
func (m *motion) straight(from, to [2]float64) (x []float64) {
	q := make([]float64, 2)
	for l := range m.waypoints {
		s := float64(l) / float64(m.waypoints-1)
		q[0], q[1] = from[0]+s*(to[0]-from[0]), from[1]+s*(to[1]-from[1])
		at := make([]float64, m.size)
		m.arm.Coordinates(at, q)
		x = append(x, at...)
	}
	return x
}

// A motion that touches between waypoints, or leaves limits on the way, comes back clear, within limits and with its
// ends; the same bytes come for the same seed and number. One without a way has a fault that names it.
func TestFinisher(t *testing.T) {
	post := scene.Obstacle{Name: "post", Shape: scene.Ball, A: [3]float64{1.9, 0, 0}, Radius: 0.1}
	m := passing(t, 16, post)
	through := m.straight([2]float64{-0.6, 0}, [2]float64{0.6, 0.02})
	beyond := m.straight([2]float64{2.5, 1}, [2]float64{2.6, 1})
	copy(beyond[2*m.size:], m.straight([2]float64{3.2, 1}, [2]float64{3.2, 1})[:2*m.size])
	for name, x := range map[string][]float64{"it touches": through, "leaves its limits": beyond} {
		r := m.newRunner()
		r.joints(r.q, x)
		if why, _ := r.faulty(r.q); !strings.Contains(why, name) {
			t.Fatalf("%s: %q", name, why)
		}
		y, again := slices.Clone(x), slices.Clone(x)
		got := m.finisher()()(t.Context(), y, 7, 3)
		if got.Fault != "" || !got.Changed && name == "it touches" || got.Off > 1e-12 {
			t.Errorf("%s: %+v", name, got)
		}
		if s, _ := m.scene.NewChecker().Path(y, 16); s.Lower < 0 {
			t.Errorf("%s: room of %g between waypoints", name, s.Lower)
		}
		if e, _ := m.joints(r.q, y); e > 0 {
			t.Errorf("%s: %g beyond limits", name, e)
		}
		for _, l := range []int{0, 15} {
			if !slices.Equal(y[l*m.size:(l+1)*m.size], x[l*m.size:(l+1)*m.size]) {
				t.Errorf("%s: waypoint %d has moved", name, l)
			}
		}
		if r.finish(t.Context(), again, 7, 3); !slices.Equal(again, y) {
			t.Errorf("%s: another motion of the same seed and number", name)
		}
		room := func() float64 {
			least := math.Inf(1)
			for l := range 16 {
				here, _ := m.scene.NewChecker().Clearance(y[l*m.size : (l+1)*m.size])
				least = min(least, here)
			}
			return least
		}
		before := room()
		for range 10 { // smoothing does not pull it towards the post
			r.finish(t.Context(), y, 7, 3)
		}
		if after := room(); name == "it touches" && after < before-1e-12 {
			t.Errorf("room of %g after %g", after, before)
		}
	}
	m.spec.Segments = true // the bound of the set between waypoints is kept too
	m = motionOf(made(t, m.spec))
	r, got := m.newRunner(), m.finisher()()(t.Context(), through, 7, 3)
	r.joints(r.q, through)
	copy(r.point, through)
	if by, i := r.broken(r.q); got.Fault != "" || by > mostBroken {
		t.Errorf("past the post, kept between waypoints: %+v, component %d by %g", got, i, by)
	}
	wall := scene.Obstacle{Shape: scene.Box, A: [3]float64{1, 0, 0}, R: robot.Identity().R, Half: [3]float64{2, 0.1, 1}}
	m = passing(t, 6, wall)
	x := m.straight([2]float64{-0.6, 0}, [2]float64{0.6, 0})
	if got := m.finisher()()(t.Context(), x, 7, 3); !strings.Contains(got.Fault, "it touches") {
		t.Errorf("through a wall: %+v", got)
	}
	open := passing(t, 6).spec // an inequality of an open goal is that of the motion's own, not of the slice's
	open.Goal.Given.Joints = true
	rule := formula.Spec{Dim: 28, Inequality: []formula.Component{{Name: "low", Expr: "x[27] <= 0"}}}
	m = motionOf(constraint.Slice(constraint.Hold(constraint.All(made(t, open), testkit.Must(formula.New(rule))),
		trajectory.Held(open)), []float64{1, 1, 1, 1}))
	for _, goal := range []float64{-0.5, 0.5} {
		x = m.straight([2]float64{-0.6, 0}, [2]float64{1, goal})
		if got := m.finisher()()(t.Context(), append(x, x[20:]...), 7, 3); (got.Fault == "") != (goal < 0) {
			t.Errorf("to an open goal at %g: %+v", goal, got)
		}
	}
	fixed := passing(t, 6).spec // likewise of a number that the set does not know
	rule.Dim, rule.Inequality[0].Expr = 25, "x[24] <= 0"
	m = motionOf(constraint.Slice(constraint.All(constraint.Given(made(t, fixed), 1),
		constraint.Hold(testkit.Must(formula.New(rule)), []int{24})), []float64{1}))
	for _, number := range []float64{-1, 1} {
		x = append(m.straight([2]float64{-0.6, 0}, [2]float64{0.6, 0}), number)
		if got := m.finisher()()(t.Context(), x, 7, 3); (got.Fault == "") != (number < 0) {
			t.Errorf("given %g: %+v", number, got)
		}
	}
	ragged := passing(t, 12)
	x = ragged.straight([2]float64{0, 1}, [2]float64{1, 1})
	for l := 1; l < 11; l++ {
		copy(x[l*4:], ragged.straight([2]float64{float64(l)/11 + 0.1*float64(l%2) - 0.05, 1}, [2]float64{})[:4])
	}
	q := make([]float64, 24)
	ragged.joints(q, x)
	before := roughness(q, 2)
	if ragged.finisher()()(t.Context(), x, 1, 1); true {
		ragged.joints(q, x)
		if after := roughness(q, 2); after > before/3 {
			t.Errorf("roughness %g after %g", after, before)
		}
	}
	bent, off := passing(t, 16), 0.0 // a slow bend stays: no motion is pulled towards what it goes around
	bend := func(l int) float64 { return 0.8 * math.Sin(math.Pi*float64(l)/15) }
	x = nil
	for l := range 16 {
		x = append(x, bent.straight([2]float64{float64(l) / 15, bend(l)}, [2]float64{})[:4]...)
	}
	bent.finisher()()(t.Context(), x, 1, 1)
	for l := range 16 {
		off = max(off, math.Abs(math.Atan2(x[l*4+3], x[l*4+1])-bend(l)))
	}
	if off > 0.003 {
		t.Errorf("a slow bend is %g off", off)
	}
}

// Of values that differ by whole turns those within limits are written, and those that a start says.
func TestUnwind(t *testing.T) {
	m := passing(t, 3)
	m.arm.Joints[0].Lower, m.arm.Joints[0].Upper = -1, 7
	x := m.straight([2]float64{3, 0}, [2]float64{6, 0})
	q := make([]float64, 6)
	if e, _ := m.joints(q, x); e != 0 || math.Abs(q[4]-6) > 1e-12 {
		t.Errorf("%v, %g beyond limits", q, e)
	}
	m.arm.Joints[0].Lower = -7
	m.spec.Start.Joints = []float64{3 - 2*math.Pi, 0}
	if e, _ := m.joints(q, x); e != 0 || math.Abs(q[0]-3+2*math.Pi) > 1e-12 {
		t.Errorf("%v, %g beyond limits", q, e)
	}
}
