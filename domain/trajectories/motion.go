package trajectories

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
)

// A motion is what is known of points: L configurations of an arm one after the other,
// and behind them numbers that the points are given for.
type motion struct {
	set       constraint.Set
	arm       *robot.Arm
	spec      trajectory.Spec
	places    []int       // in the chain, of the joints that move
	waypoints int         // L
	dim       int         // of a point
	size      int         // of a configuration, D
	tip       robot.Point // whose way is looked at
	scene     *scene.Scene
	margin    float64
	limits    bool    // joints are to keep theirs
	ends      []place // where the tip begins and ends, if that is fixed
	given     []given // of what stands behind the way points
	remarks   []string
}

// A place is where the tip is at an end.
type place struct {
	name string
	at   [3]float64
}

// given is what a point says of an end: the whole configuration, or where a point of the arm is.
type given struct {
	name     string // start or goal
	waypoint int
	point    *robot.Point // nil: the configuration
}

// motionOf returns what a set of trajectories is about, or nil if it is another kind of set.
func motionOf(set constraint.Set) *motion {
	inner := set
	if free, ok := constraint.Free(set); ok { // what the set does not know of stands behind
		inner = free
	}
	s, ok := constraint.AsFree[interface {
		constraint.Set
		Spec() trajectory.Spec
	}](set)
	if !ok {
		return nil
	}
	spec := s.Spec()
	if d := inner.Dim(); d != s.Dim() && d != spec.Waypoints*spec.Arm.Dim() { // points of another set
		return nil
	}
	alone := inner.Dim() != s.Dim() // way points of a slice, where the set leaves ends open
	m := &motion{set: set, arm: spec.Arm, spec: spec, places: spec.Arm.Places(), waypoints: spec.Waypoints,
		dim: set.Dim(), size: spec.Arm.Dim(), margin: spec.Margin,
		limits: spec.Limits, tip: spec.Tip(), scene: &scene.Scene{Arm: spec.Arm, Bodies: spec.Volume, Self: spec.Self,
			Obstacles: spec.Obstacles}}
	if err := m.scene.Check(); err != nil {
		m.remarks = append(m.remarks, fmt.Sprintf("clearance is not looked at: %v", err))
		m.scene = &scene.Scene{Arm: spec.Arm}
	}
	for i, p := range []trajectory.Place{spec.Start, spec.Goal} {
		waypoint, name := 0, "start"
		if i == 1 {
			waypoint, name = m.waypoints-1, "goal"
		}
		if at, ok := m.fixed(p); ok {
			m.ends = append(m.ends, place{name, at})
		}
		if alone {
			continue
		}
		if p.Given.Joints {
			m.given = append(m.given, given{name, waypoint, nil})
		}
		if p.Given.Position != nil {
			m.given = append(m.given, given{name, waypoint, p.Given.Position})
		}
	}
	return m
}

// fixed returns where a place wants the tip, if it says so.
func (m *motion) fixed(p trajectory.Place) (at [3]float64, ok bool) {
	if p.Joints != nil {
		x := make([]float64, m.size)
		m.arm.Coordinates(x, p.Joints)
		k := m.arm.NewKinematics()
		k.At(x)
		return k.Point(m.tip.Link, m.tip.Local), true
	}
	known := [3]bool{}
	for _, t := range p.Tasks {
		if t.Direction || t.Low != t.High || t.Link != m.tip.Link || t.Local != m.tip.Local {
			continue
		}
		for k := range 3 {
			var unit [3]float64
			if unit[k] = 1; t.Axis == unit {
				at[k], known[k] = t.Low, true
			}
		}
	}
	return at, known == [3]bool{true, true, true}
}

func (m *motion) path(x []float64) []float64       { return x[:m.waypoints*m.size] }
func (m *motion) rows(x []float64) int             { return len(x) / m.dim }
func (m *motion) row(x []float64, i int) []float64 { return x[i*m.dim : (i+1)*m.dim] }

// joints writes the joint values of a point, L×joints that move: of turning ones those that go
// the shorter way around from way point to way point, by whole turns within their limits. It returns by how much a
// joint leaves its limits, and the joint's place in the chain.
func (m *motion) joints(q, x []float64) (excess float64, joint int) {
	n := m.arm.Moving()
	dq := make([]float64, n)
	for l := range m.waypoints {
		now := q[l*n : (l+1)*n]
		m.arm.Angles(now, x[l*m.size:(l+1)*m.size])
		if l == 0 {
			continue
		}
		last := q[(l-1)*n : l*n]
		scene.Shorter(dq, last, now, m.arm)
		for j := range now {
			now[j] = last[j] + dq[j]
		}
	}
	return m.unwind(q)
}

// A follower measures trajectories: scratch of one goroutine.
type follower struct {
	*motion
	kin     *robot.Kinematics
	checker *scene.Checker // nil: nothing to hit
	q, x    []float64
}

func (m *motion) follower() *follower {
	f := &follower{motion: m, kin: m.arm.NewKinematics(), q: make([]float64, m.waypoints*m.arm.Moving()),
		x: make([]float64, m.size)}
	if m.scene.Pairs() > 0 {
		f.checker = m.scene.NewChecker()
	}
	return f
}

// tips writes where the tip is at the way points into dst, L×3.
func (f *follower) tips(dst, x []float64) {
	for l := range f.waypoints {
		f.kin.At(x[l*f.size : (l+1)*f.size])
		p := f.kin.Point(f.tip.Link, f.tip.Local)
		copy(dst[3*l:], p[:])
	}
}

// way returns the tip's way, with `pieces` points from a waypoint to the next.
func (f *follower) way(x []float64, pieces int) []float64 {
	f.joints(f.q, x)
	n := f.arm.Moving()
	at := make([]float64, n)
	var out []float64
	for l := range f.waypoints {
		for k := range pieces {
			next := min(l+1, f.waypoints-1)
			for j := range at {
				at[j] = f.q[l*n+j] + float64(k)/float64(pieces)*(f.q[next*n+j]-f.q[l*n+j])
			}
			f.arm.Coordinates(f.x, at)
			f.kin.At(f.x)
			p := f.kin.Point(f.tip.Link, f.tip.Local)
			out = append(out, p[:]...)
			if l == f.waypoints-1 {
				break
			}
		}
	}
	return out
}

// length returns how long the tip's way is from way point to way point, straight, in metres.
func length(tips []float64) (sum float64) {
	for i := 3; i < len(tips); i += 3 {
		sum += math.Hypot(math.Hypot(tips[i]-tips[i-3], tips[i+1]-tips[i-2]), tips[i+2]-tips[i-1])
	}
	return sum
}

// roughness returns the root mean square of the second differences of the joint values, over way points and joints:
// radians a step², of an arm with sliding joints mixed with metres. It is 0 for fewer than three way points.
func roughness(q []float64, joints int) float64 {
	sum, count := 0.0, 0
	for i := 2 * joints; i < len(q); i++ {
		a := q[i] - 2*q[i-joints] + q[i-2*joints]
		sum += a * a
		count++
	}
	return math.Sqrt(sum / float64(max(count, 1)))
}

// clearance returns the least room at the way points, in metres; +Inf with nothing to hit.
func (f *follower) clearance(x []float64) float64 {
	least := math.Inf(1)
	for l := range f.waypoints {
		room, _ := f.checker.Clearance(x[l*f.size : (l+1)*f.size])
		least = min(least, room)
	}
	return least
}
