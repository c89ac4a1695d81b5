package scene_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// planar returns an arm in the plane z = 0 with links of the given lengths, and a body at each end.
func planar(lengths ...float64) (*robot.Arm, []scene.Body) {
	rows := []robot.DH{{}}
	for _, l := range lengths[:len(lengths)-1] {
		rows = append(rows, robot.DH{A: l})
	}
	arm, err := robot.FromDH("planar", rows)
	if err != nil {
		panic(err)
	}
	var bodies []scene.Body
	for i, l := range lengths {
		bodies = append(bodies, scene.Body{Link: i, Centre: vec{l}})
	}
	return arm, bodies
}

func configuration(arm *robot.Arm, q ...float64) []float64 {
	x := make([]float64, arm.Dim())
	arm.Coordinates(x, q)
	return x
}

// panda is the scene of the published paths, with volume, a box and pairs of its own.
func panda() *scene.Scene {
	arm := robot.Panda()
	s := &scene.Scene{Arm: arm, Bodies: scene.LinkOrigins(arm)}
	s.Bodies = append(s.Bodies, scene.Body{Link: 7, Radius: 0.03}, scene.Body{Link: 2, Centre: vec{0, 0, 0.1},
		Radius: 0.06},
		scene.Body{Link: -1, Centre: vec{0, 0, 0.1}, Radius: 0.1})
	s.Obstacles = append(obstacles(), scene.Obstacle{A: vec{0.4, 0.3, 0.205}, Radius: 0.1},
		scene.Obstacle{A: vec{0.4, -0.3, 0.205}, Radius: 0.1})
	s.Self = scene.SelfPairs(s.Bodies, [][2]int{{7, 2}, {7, -1}, {5, 2}})
	return s
}

// mixed is an arm with every kind of joint about crooked axes.
func mixed() *scene.Scene {
	arm := &robot.Arm{Name: "mixed", Base: "base"}
	for i, kind := range []robot.Kind{robot.Continuous, robot.Prismatic, robot.Fixed, robot.Revolute, robot.Prismatic,
		robot.Revolute, robot.Fixed, robot.Continuous} {
		v := numbers(10, uint64(600+i))
		l := norm(vec(v[:3]))
		arm.Joints = append(arm.Joints, robot.Joint{
			Link: fmt.Sprint("l", i), Kind: kind, Axis: vec{v[0] / l, v[1] / l, v[2] / l}, Lower: -2, Upper: 2,
			Origin: robot.Pose{R: turn(v[3:7]), P: vec{0.3 * v[7], 0.3 * v[8], 0.3 * v[9]}},
		})
	}
	s := &scene.Scene{Arm: arm, Obstacles: obstacles()}
	for link := -1; link < 8; link++ {
		s.Bodies = append(s.Bodies, scene.Body{Link: link, Centre: point(uint64(700+link), 0.1), Radius: 0.02})
	}
	s.Self = scene.SelfPairs(s.Bodies, [][2]int{{7, -1}, {7, 3}})
	return s
}

func scenes() map[string]*scene.Scene {
	arm, bodies := planar(0.5, 0.4)
	self := mixed()
	self.Obstacles = nil
	return map[string]*scene.Scene{
		"panda": panda(), "mixed": mixed(), "self": self,
		"planar": {Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{A: vec{0.6, 0.3, 0}, Radius: 0.1}},
			Self: [][2]int{{0, 1}}},
	}
}

// segment returns two configurations, from near to half a turn apart in some joints.
func segment(s *scene.Scene, i uint64) (x0, x1 []float64) {
	m := s.Arm.Moving()
	v := numbers(2*m, 7000+i)
	q := make([]float64, m)
	for j := range q {
		q[j] = v[j] + v[m+j]*math.Pow(10, -float64(i%4))
	}
	return configuration(s.Arm, v[:m]...), configuration(s.Arm, q...)
}

// between returns the configuration at t of the segment, by turning (c, s) itself.
func between(arm *robot.Arm, x0, x1 []float64, t float64) []float64 {
	x := make([]float64, len(x0))
	for j := range arm.Joints {
		switch c, s := arm.Columns(j); {
		case c >= 0 && s >= 0:
			dc, ds := x0[c]*x1[c]+x0[s]*x1[s], x0[c]*x1[s]-x0[s]*x1[c]
			b, a := math.Sincos(t * math.Atan2(ds, dc))
			x[c], x[s] = a*x0[c]-b*x0[s], b*x0[c]+a*x0[s]
		case c >= 0:
			x[c] = x0[c] + t*(x1[c]-x0[c])
		}
	}
	return x
}

// The bound is never above what dense sampling finds, Upper is a point, and both are
// within the tolerance; Clear agrees.
func TestSegmentAgainstSampling(t *testing.T) {
	const parts = 400
	for name, s := range scenes() {
		c, look := s.NewChecker(), s.NewChecker()
		looked, most := 0, 0
		for i := range uint64(42) {
			x0, x1 := segment(s, i)
			tol := math.Pow(10, 1-float64(i%7)) // 10: both ends alone
			swept := c.Segment(x0, x1, tol)
			sampled := math.Inf(1)
			for k := range parts + 1 {
				room, _ := look.Clearance(between(s.Arm, x0, x1, float64(k)/parts))
				sampled = min(sampled, room)
			}
			if swept.Lower > sampled {
				t.Errorf("%s %d: the bound %v is above %v, which sampling found", name, i, swept.Lower, sampled)
			}
			if room, pair := look.Clearance(between(s.Arm, x0, x1, swept.T)); math.Abs(room-swept.Upper) > 1e-12 ||
				pair != swept.Pair {
				t.Errorf("%s %d: %v of %s at %v; there is %v of %s", name, i, swept.Upper, s.Describe(swept.Pair),
					swept.T, room, s.Describe(pair))
			}
			if gap := swept.Upper - swept.Lower; !(gap >= 0 && gap <= tol+1e-11) {
				t.Errorf("%s %d: %v between the bounds, expected up to %v", name, i, gap, tol)
			}
			if !c.Clear(x0, x1, swept.Lower-1e-9) || c.Clear(x0, x1, swept.Upper+1e-9) {
				t.Errorf("%s %d: Clear contradicts %v to %v", name, i, swept.Lower, swept.Upper)
			}
			testkit.Equal(t, c.Segment(x0, x1, tol), swept, "%s %d", name, i)
			looked, most = looked+swept.Looked, max(most, swept.Looked)
		}
		t.Logf("%s: %d configurations a segment on average, %d at most", name, looked/42, most)
		// the error falls as the square of the interval: first-order bounds would take thousands
		if most > 2000 {
			t.Errorf("%s: %d configurations looked at for one segment", name, most)
		}
	}
}

// A joint that turns by a right angle past a small ball: both ends, and the middle of a
// coarse grid, are far from it. The least room is exact: minus the radius.
func TestBetweenWaypoints(t *testing.T) {
	arm, bodies := planar(1)
	for _, β := range []float64{0.1, 0.7, 1.234, 1.5} {
		for _, r := range []float64{0.2, 1e-3, 1e-5} {
			sin, cos := math.Sincos(β)
			s := &scene.Scene{Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{A: vec{cos, sin, 0}, Radius: r}}}
			c := s.NewChecker()
			x0, x1 := configuration(arm, 0), configuration(arm, math.Pi/2)
			swept := c.Segment(x0, x1, 1e-7)
			if math.Abs(swept.Upper+r) > 1e-7 || math.Abs(swept.Lower+r) > 1e-7 ||
				math.Abs(swept.T-β/(math.Pi/2)) > 1e-6 {
				t.Errorf("ball of %v at %v: %+v", r, β, swept)
			}
			if c.Clear(x0, x1, 0) {
				t.Errorf("ball of %v at %v: clear", r, β)
			}
		}
	}
	// the shorter arc from 170° to −170° goes across 180°, and 0° is far
	s := &scene.Scene{Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{A: vec{-1, 0, 0}, Radius: 0.01}}}
	x0, x1 := configuration(arm, 17*math.Pi/18), configuration(arm, -17*math.Pi/18)
	if got := s.NewChecker().Segment(x0, x1, scene.Sharp); math.Abs(got.Upper+0.01) > 1e-12 || got.T != 0.5 {
		t.Errorf("across 180°: %+v", got)
	}
}

// Before a wall across the middle of the arc of a stretched arm, the bound from both ends
// alone is exact to fourth order: nothing may be left out of it, and little added.
func TestSharp(t *testing.T) {
	arm, bodies := planar(0.5, 0.4)
	s := &scene.Scene{Arm: arm, Bodies: bodies[1:], Obstacles: []scene.Obstacle{
		{Shape: scene.Box, A: vec{2, 0, 0}, Half: vec{1, 5, 5}}}}
	for _, δ := range []float64{0.4, 0.2, 0.1} {
		got := s.NewChecker().Segment(configuration(arm, -δ, -0.7*δ), configuration(arm, δ, 0.7*δ), 10)
		if over := 0.1 - got.Lower; got.Looked != 2 || over < 0 || over > δ*δ*δ*δ {
			t.Errorf("±%v: %+v, %v below the room, 0.1", δ, got, over)
		}
	}
}

// A body on a circle about the middle of a ball keeps its room everywhere: no interval
// decides early, and the number of configurations must stay bounded.
func TestConstantRoom(t *testing.T) {
	arm, bodies := planar(1)
	s := &scene.Scene{Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{Radius: 0.5}}}
	c := s.NewChecker()
	x0, x1 := configuration(arm, 0), configuration(arm, 3)
	got := c.Segment(x0, x1, 1e-15)
	if math.Abs(got.Lower-0.5) > 1e-8 || math.Abs(got.Upper-0.5) > 1e-12 || got.Looked > 1<<17 {
		t.Errorf("%+v", got)
	}
	if c.Clear(x0, x1, 0.5+1e-9) || !c.Clear(x0, x1, 0.5-1e-8) {
		t.Error("Clear at the room itself")
	}
	if c.Clear(x0, x1, 0.5) { // not decided is not clear
		t.Error("clear by exactly the room")
	}
}

// Two bodies of the arm: of a planar arm of links a and b, their ends are √(b²) apart,
// and the end of the second from the base as the law of cosines says.
func TestSelf(t *testing.T) {
	arm, bodies := planar(0.5, 0.4)
	bodies = append(bodies, scene.Body{Link: -1, Radius: 0.1})
	s := &scene.Scene{Arm: arm, Bodies: bodies, Self: [][2]int{{2, 1}}}
	got := s.NewChecker().Segment(configuration(arm, 0.3, -2), configuration(arm, -1, 3), 1e-8)
	// the elbow goes from −2 to −π by the shorter arc, past 180°: folded, |a − b|
	if math.Abs(got.Upper) > 1e-8 { // 0.1 away, and a radius of 0.1
		t.Errorf("%+v, expected 0", got)
	}
	if got.Pair != 0 || s.Describe(0) != "sphere 2 on base and link2" {
		t.Errorf("pair %d, %q", got.Pair, s.Describe(0))
	}
}

func TestPath(t *testing.T) {
	s := panda()
	c := s.NewChecker()
	const n = 5
	d := s.Arm.Dim()
	x := make([]float64, n*d)
	for i := range n {
		s.Arm.Coordinates(x[i*d:(i+1)*d], numbers(7, uint64(i+90)))
	}
	got, segment := c.Path(x, n)
	lower, upper, at := math.Inf(1), math.Inf(1), 0
	for i := range n - 1 {
		one := c.Segment(x[i*d:(i+1)*d], x[(i+1)*d:(i+2)*d], scene.Sharp)
		lower = min(lower, one.Lower)
		if one.Upper < upper {
			upper, at = one.Upper, i
		}
	}
	if got.Lower != lower || got.Upper != upper || segment != at {
		t.Errorf("%+v in segment %d; expected %v to %v in %d", got, segment, lower, upper, at)
	}
	room, pair := c.Clearance(x[:d])
	if one, _ := c.Path(x[:d], 1); math.Abs(one.Upper-room) > 1e-14 || one.Pair != pair {
		t.Errorf("one configuration: %+v, expected %v", one, room)
	}
}

// The room of each pair, in a scene of nothing else, is the distance of its members; the least is what the whole scene
// has.
func TestClearances(t *testing.T) {
	s := mixed()
	x, _ := segment(s, 3)
	least, at := math.Inf(1), 0
	kin := s.Arm.NewKinematics()
	kin.At(x)
	for i := range s.Pairs() {
		b, o, other := s.Pair(i)
		body := s.Bodies[b]
		p := kin.Point(body.Link, body.Centre)
		alone := &scene.Scene{Arm: s.Arm, Bodies: []scene.Body{body}}
		var want float64
		if o >= 0 {
			alone.Obstacles = s.Obstacles[o : o+1]
			want = s.Obstacles[o].Distance(p) - body.Radius
		} else {
			second := s.Bodies[other]
			alone.Bodies, alone.Self = append(alone.Bodies, second), [][2]int{{0, 1}}
			want = norm(sub(p, kin.Point(second.Link, second.Centre))) - body.Radius - second.Radius
		}
		if want < least {
			least, at = want, i
		}
		room, _ := alone.NewChecker().Clearance(x)
		testkit.Near(t, room, want, 1e-14, "%s", s.Describe(i))
	}
	room, pair := s.NewChecker().Clearance(x)
	testkit.Near(t, room, least, 1e-14, "the least clearance")
	testkit.Equal(t, pair, at)
}

// Where there is nothing, or no configuration.
func TestNoRoom(t *testing.T) {
	arm, bodies := planar(1)
	s := &scene.Scene{Arm: arm, Bodies: bodies}
	x := configuration(arm, 1)
	if got := s.NewChecker().Segment(x, x, scene.Sharp); !math.IsInf(got.Lower, 1) || got.Pair != -1 {
		t.Errorf("nothing to hit: %+v", got)
	}
	m := mixed()
	c := m.NewChecker()
	x0, x1 := segment(m, 1)
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e200} {
		at, _ := m.Arm.Columns(1) // slides
		x1[at] = bad
		if got := c.Segment(x0, x1, scene.Sharp); !math.IsInf(got.Lower, -1) || c.Clear(x0, x1, -1) {
			t.Errorf("%v: %+v", bad, got)
		}
	}
}

func TestSceneFaults(t *testing.T) {
	arm, bodies := planar(1, 1)
	for i, s := range []*scene.Scene{
		{},
		{Arm: &robot.Arm{}},
		{Arm: arm, Bodies: []scene.Body{{Link: 2}}},
		{Arm: arm, Bodies: []scene.Body{{Link: -2}}},
		{Arm: arm, Bodies: []scene.Body{{Radius: -1}}},
		{Arm: arm, Bodies: []scene.Body{{Radius: math.Inf(1)}}},
		{Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{Radius: 1}, {}}},
		{Arm: arm, Bodies: bodies, Self: [][2]int{{0, 2}}},
		{Arm: arm, Bodies: bodies, Self: [][2]int{{0, 0}}},
		{Arm: arm, Bodies: append(bodies, bodies[0]), Self: [][2]int{{0, 2}}},
		{Arm: arm, Bodies: make([]scene.Body, scene.MostBodies+1)},
	} {
		if s.Check() == nil {
			t.Errorf("scene %d passes", i)
		}
	}
	err := (&scene.Scene{Arm: arm, Bodies: bodies, Obstacles: []scene.Obstacle{{Radius: 1}, {}}}).Check()
	if want := "obstacle 1, a sphere, has radius 0; expected a number above 0"; err == nil || err.Error() != want {
		t.Errorf("%v; expected %q", err, want)
	}
}

func TestNoAllocations(t *testing.T) {
	s := panda()
	c := s.NewChecker()
	x0, x1 := segment(s, 0)
	c.Segment(x0, x1, 1e-7)
	if a := testing.AllocsPerRun(10, func() {
		c.Segment(x0, x1, 1e-7)
		c.Clear(x0, x1, 0.01)
		c.Clearance(x0)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
