package trajectory_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/proof"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const flange = 7 // of the Panda

var none = math.NaN()

// at asks the flange for a place.
func at(name string, x, y, z float64) []trajectory.Task {
	return trajectory.Position(name, flange, [3]float64{}, [3]float64{x, y, z})
}

// published is the scene of the published trajectories.
func published(waypoints int) trajectory.Spec {
	arm := robot.Panda()
	spec := trajectory.Spec{
		Arm: arm, Waypoints: waypoints, Margin: 0.01,
		Path:  at("tool", none, none, 0.205),
		Start: trajectory.Place{Tasks: at("start", 0.4, -0.5, 0.205)},
		Goal:  trajectory.Place{Tasks: at("goal", 0.4, 0.5, 0.205)},
		Obstacles: []scene.Obstacle{
			{A: [3]float64{0.4, 0.3, 0.205}, Radius: 0.1},
			{A: [3]float64{0.4, -0.3, 0.205}, Radius: 0.1},
		},
	}
	for link := range 7 {
		spec.Volume = append(spec.Volume, robot.Sphere{Link: link})
	}
	return spec
}

func set(t testing.TB, spec trajectory.Spec) constraint.Set {
	t.Helper()
	return testkit.Must(trajectory.New(spec))
}

// mixed is an arm with joints of all kinds, on axes of all directions.
func mixed(t testing.TB) *robot.Arm {
	t.Helper()
	turn := func(x, y, z float64) robot.Pose {
		sx, cx := math.Sincos(x)
		sz, cz := math.Sincos(y)
		return robot.Pose{R: [9]float64{cz, -sz * cx, sz * sx, sz, cz * cx, -cz * sx, 0, sx, cx},
			P: [3]float64{0.1 * z, 0.2, 0.3 - 0.1*z}}
	}
	arm := &robot.Arm{Name: "mixed", Base: "base", Joints: []robot.Joint{
		{Name: "a", Link: "la", Kind: robot.Continuous, Origin: turn(0.3, 0.4, 1), Axis: [3]float64{0, 0.6, 0.8}},
		{Name: "b", Link: "lb", Kind: robot.Prismatic, Origin: turn(1, -0.4, 0), Axis: [3]float64{1, 0, 0},
			Lower: -0.3, Upper: 0.5},
		{Name: "c", Link: "lc", Kind: robot.Fixed, Origin: turn(-1, 2, 2)},
		{Name: "d", Link: "ld", Origin: turn(0.1, 0.2, -1), Axis: [3]float64{0, -1, 0}, Lower: -2.5, Upper: 3},
		{Name: "e", Link: "le", Origin: turn(2, 0, 1), Axis: [3]float64{0, 0, 1}, Lower: -1, Upper: 0.5},
		{Name: "f", Link: "lf", Origin: turn(0.4, 1, 0.5), Axis: [3]float64{0.8, 0, -0.6}, Lower: -2, Upper: 2},
	}}
	testkit.OK(t, arm.Check())
	return arm
}

func TestSuite(t *testing.T) {
	up, z, tip := [3]float64{0, 0, 1}, [3]float64{0, 0, 1}, [3]float64{0.05, -0.02, 0.1}
	home := []float64{0, -0.3, 0.1, -2, 0.2, 1.8, 0.7}
	inf := math.Inf(1)
	level := published(3)
	level.Path = append(
		trajectory.Upright("upright", flange, z, [3]float64{0.1, 0.2, -1}), at("tool", 0.4, none, 0.3)...)
	level.Start, level.Goal, level.Obstacles, level.Limits = trajectory.Place{}, trajectory.Place{}, nil, true
	told := trajectory.Spec{Arm: robot.Panda(), Waypoints: 4, Limits: true,
		Steps: []float64{1, 1, 1, 1, 0, 2, math.Pi, 0}, Start: trajectory.Place{Joints: home},
		Goal: trajectory.Place{Tasks: append(at("goal", 0.3, 0.3, 0.5),
			trajectory.Orientation("turn", flange, [9]float64{1, 0, 0, 0, -1, 0, 0, 0, -1})...)}}
	some := trajectory.Spec{Arm: mixed(t), Waypoints: 3, Limits: true, Margin: 0.02,
		Steps: []float64{2, 0.3, 0, 2, 2, 2}, Bends: []float64{1.5, 0.1, 0, 3, 2.5, 0},
		Path: append(trajectory.Box("box", 5, tip, [3]float64{-2, -inf, -1.5}, [3]float64{2, 1.5, inf}),
			trajectory.Level("level", 5, [3]float64{1, 1, 0}, up),
			trajectory.Cone("cone", 4, [3]float64{0, 1, 0.5}, [3]float64{1, 0, 0.2}, 2.2)),
		Volume: []robot.Sphere{{Link: -1, Radius: 0.1}, {Link: 0, Centre: tip, Radius: 0.05}, {Link: 1, Radius: 0.1},
			{Link: 5, Centre: tip, Radius: 0.05}, {Link: 4, Centre: tip}},
		Self: [][2]int{{0, 3}, {1, 3}, {4, 2}},
		Obstacles: []scene.Obstacle{
			{Shape: scene.Capsule, A: [3]float64{1, 1, 0}, B: [3]float64{1, 1, 1}, Radius: 0.2},
			{Shape: scene.Box, A: [3]float64{-1, 0.5, 0.8},
				Half: [3]float64{0.3, 0.2, 0.1}, Radius: 0.05},
		}}
	given := trajectory.Spec{Arm: mixed(t), Waypoints: 2,
		Start: trajectory.Place{Given: trajectory.Given{Joints: true}},
		Goal:  trajectory.Place{Given: trajectory.Given{Position: &robot.Point{Link: 5, Local: tip}}}}
	free := some
	free.Path, free.Volume, free.Self, free.Obstacles, free.Limits, free.Steps, free.Bends =
		some.Path[3:4], nil, nil, nil, false, nil, nil
	swept := some
	swept.Arm, swept.Segments, swept.Self, swept.Path = mixed(t), true, nil, nil
	swept.Arm.Joints[3].Follow = &robot.Follow{Of: 5, Multiplier: -1, Offset: 0.2}
	swept.Arm.Joints[4].Follow = &robot.Follow{Of: 0, Multiplier: 1}
	swept.Obstacles = append(some.Obstacles[:2:2], scene.Obstacle{A: [3]float64{0.4, 1, 1}, Radius: 0.3},
		scene.Obstacle{Shape: scene.Cylinder, A: [3]float64{-1, -1, 0.5}, Half: [3]float64{0.3, 0.3, 0.4},
			Radius: 0.05},
		scene.Obstacle{Shape: scene.Cloud, Points: scene.NewPoints([][3]float64{{1, 0, 1}, {1.2, 0, 1}}), Radius: 0.1})
	for name, c := range map[string]struct {
		trajectory.Spec
		constrainttest.Options
	}{
		"swept":     {swept, constrainttest.Options{Points: 2}},
		"published": {published(3), constrainttest.Options{Points: 3}},
		"one":       {trajectory.Spec{Arm: robot.Panda(), Waypoints: 1}, constrainttest.Options{Points: 6}},
		"upright":   {level, constrainttest.Options{Points: 3}},
		"told":      {told, constrainttest.Options{Points: 2}},
		"mixed":     {some, constrainttest.Options{Points: 2}},
		"equal":     {free, constrainttest.Options{Points: 6}},
		"given":     {given, constrainttest.Options{Points: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, c.Spec)
			constrainttest.Run(t, s, c.Options)
			if equal := constraint.EqualitiesOf(s); len(s.Inequalities()) > 0 {
				constrainttest.Run(t, equal, c.Options)
			}
		})
	}
}

// Each component is of one family, by its name; a view of some of them has none.
func TestFamilies(t *testing.T) {
	spec := published(4)
	spec.Limits, spec.Steps = true, []float64{1, 1, 1, 1, 1, 1, 1, 0}
	spec.Bends = []float64{1, 0, 1, 1, 1, 1, 1, 0}
	s := set(t, spec)
	names, seen := constraint.Components(s), map[int]bool{}
	units := map[string]string{"circle": "", "tool.z": "m", "start": "m", "goal": "m", "limit": "rad", "clear": "m",
		"step": "rad", "bend": "rad"}
	for _, f := range s.Capabilities().Families {
		if unit, ok := units[f.Name]; !ok || unit != f.Unit {
			t.Errorf("family %q in %q", f.Name, f.Unit)
		}
		for _, a := range f.Of {
			if seen[a] || names[a][:4] != f.Name[:4] {
				t.Errorf("%s is of %q", names[a], f.Name)
			}
			seen[a] = true
		}
	}
	if len(seen) != len(names) {
		t.Errorf("%d components of %d have a family", len(seen), len(names))
	}
	if f := constraint.Edge(s, 0).Capabilities().Families; f != nil {
		t.Errorf("a view has %v", f)
	}
}

// Equalities that say the same in other words lower the rank, and are followed all the same.
func TestDependentTasks(t *testing.T) {
	spec := published(2)
	spec.Path = append(spec.Path, at("corner", 0.4, none, none)...)
	spec.Path = append(spec.Path, trajectory.Task{Name: "slope", Link: flange, Axis: [3]float64{1, 0, 1},
		Low: 0.605, High: 0.605})
	spec.Start.Tasks, spec.Goal.Tasks = nil, nil
	s := set(t, spec)
	x, v := make([]float64, s.Dim()), make([]float64, s.Dim())
	s.Capabilities().Start(x, keyed.New(1, keyed.Probe, 5), 0, 0)
	if !geometry.NewSolver(s, 0).Descend(x, 1e-13) {
		t.Fatal("no point of the set")
	}
	equal := constraint.EqualitiesOf(s)
	g := geometry.New(equal, 1, 0)
	testkit.OK(t, g.At(x, 1))
	if g.Rank(0) != 18 || g.Active(0) != 20 {
		t.Errorf("rank %d of %d, want 18 of 20", g.Rank(0), g.Active(0))
	}
	keyed.New(1, keyed.Probe, 4).Normals(v, 0, 0)
	g.Tangent(v, v)
	jac := make([]float64, 20*len(x))
	equal.NewEvaluator(1).Jacobians(make([]float64, 20), jac, x, 1)
	for a, name := range equal.Equalities() {
		sum := 0.0
		for j, u := range v {
			sum += u * jac[a*len(x)+j]
		}
		if math.Abs(sum) > 1e-12 {
			t.Errorf("a tangent changes %s by %.3g", name, sum)
		}
	}
}

// The point that motions are about: open positions come first, then the constraints of the start, of the goal and on
// the way; a direction has no point.
func TestTip(t *testing.T) {
	point := func(link int) *robot.Point { return &robot.Point{Link: link, Local: [3]float64{0, 0, 0.1}} }
	ask := func(link int) []trajectory.Task {
		p := point(link)
		return append([]trajectory.Task{{Link: 9, Direction: true}}, trajectory.Position("there", p.Link, p.Local,
			[3]float64{1, 1, 1})...)
	}
	s := trajectory.Spec{Arm: robot.Panda()}
	last := robot.Point{Link: len(s.Arm.Joints) - 1}
	testkit.Equal(t, s.Tip(), last, "nothing asked")
	for link, change := range []func(p *robot.Point){
		func(*robot.Point) { s.Path = ask(0) },
		func(*robot.Point) { s.Goal.Tasks = ask(1) },
		func(*robot.Point) { s.Start.Tasks = ask(2) },
		func(p *robot.Point) { s.Goal.Given.Position = p },
		func(p *robot.Point) { s.Start.Given.Position = p },
	} {
		if change(point(link)); s.Tip() != *point(link) {
			t.Errorf("change %d: %v; want %v", link, s.Tip(), *point(link))
		}
	}
}

// What is too large is refused before it is made.
func TestBounds(t *testing.T) {
	for field, change := range map[string]func(*trajectory.Spec){
		"waypoints": func(s *trajectory.Spec) {
			s.Waypoints = trajectory.MaxWaypoints
			for range 100 {
				s.Obstacles = append(s.Obstacles, scene.Obstacle{A: [3]float64{9, 9, 9}, Radius: 1})
			}
		},
		"obstacles": func(s *trajectory.Spec) { s.Obstacles = make([]scene.Obstacle, 1<<20) },
	} {
		spec := published(10)
		change(&spec)
		var e *trajectory.Error
		if _, err := trajectory.New(spec); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A limit is 0 at both of its angles, negative between them and positive outside, to first
// order in radians, for ranges of any width below a whole turn; a wider one is none.
func TestLimits(t *testing.T) {
	for _, r := range [][2]float64{{-0.5, 0.5}, {1, 4}, {-2.8973, 2.8973}, {-0.0175, 3.7525}, {-3.1, 3.1}, {5, 5.1}} {
		arm := testkit.Must(robot.FromDH("one", []robot.DH{{A: 1, Lower: r[0], Upper: r[1]}}))
		s := set(t, trajectory.Spec{Arm: arm, Waypoints: 1, Limits: true})
		g := func(θ float64) float64 {
			x := make([]float64, 2)
			arm.Coordinates(x, []float64{θ})
			return constraint.Values(s, x)[1]
		}
		for _, edge := range r {
			out := math.Copysign(1e-4, edge-(r[0]+r[1])/2)
			if v := g(edge); math.Abs(v) > 1e-12 {
				t.Errorf("%v: %v at %v", r, v, edge)
			}
			if v := g(edge + out); math.Abs(v-1e-4) > 1e-6 {
				t.Errorf("%v: %v is %v beyond %v", r, v, out, edge)
			}
		}
		for k := range 200 {
			θ := r[0] + 2*math.Pi*(float64(k)+0.5)/200
			if inside := θ < r[1]; inside != (g(θ) < 0) {
				t.Errorf("%v at %v: %v", r, θ, g(θ))
			}
		}
	}
	arm, _ := robot.FromDH("one", []robot.DH{{A: 1, Lower: -4, Upper: 4}})
	testkit.Equal(t, len(set(t, trajectory.Spec{Arm: arm, Waypoints: 1, Limits: true}).Inequalities()), 0,
		"a range of more than a turn makes")
}

// A bend is 0 where a step differs from the one before by its bound, of either sign, wherever the
// joint is; below it is negative and above positive, to first order in radians or metres.
func TestBends(t *testing.T) {
	arm := testkit.Must(robot.FromDH("two", []robot.DH{{A: 1, Lower: -3, Upper: 3},
		{Kind: robot.Prismatic, Lower: -9, Upper: 9}}))
	const few = 1e-5
	for _, δ := range []float64{0.1, 1.5, 3} {
		s := set(t, trajectory.Spec{Arm: arm, Waypoints: 4, Bends: []float64{δ, δ}})
		if n := len(s.Inequalities()); n != 2*3 {
			t.Fatalf("%d inequalities", n)
		}
		for _, q := range [][3]float64{{0, 0, 0.1}, {2, 3, 0.4}, {-1, 2, -0.3}} { // where, and the steps before
			for _, c := range []struct{ bend, want float64 }{{δ, 0}, {-δ, 0}, {δ + few, few}, {-δ - few, few},
				{δ - few, -few}} {
				x := make([]float64, s.Dim())
				a := q[0]
				step := q[2]
				for l := range 4 {
					arm.Coordinates(x[3*l:3*l+3], []float64{a, a})
					if l == 2 { // of waypoint 2 alone
						step += c.bend
					}
					a += step
				}
				v, names := constraint.Values(s, x), constraint.Components(s)
				worst := map[bool]float64{true: -9, false: -9}
				for i := len(s.Equalities()); i < len(v); i++ {
					if names[i][:7] == "bend[1," && !(v[i] < 0) {
						t.Errorf("δ = %v: an even motion has %s = %v", δ, names[i], v[i])
					} else if names[i][:7] == "bend[2," {
						turns := names[i] == "bend[2,joint1]"
						worst[turns] = max(worst[turns], v[i])
					}
				}
				for turns, got := range worst {
					testkit.Near(t, got, c.want, 1e-9, "δ = %v, bend %v (turning %v)", δ, c.bend, turns)
				}
			}
		}
	}
	for _, bends := range [][]float64{{0, -1}, {1}, {1, none}} {
		var e *trajectory.Error
		if _, err := trajectory.New(trajectory.Spec{Arm: arm, Waypoints: 3, Bends: bends}); !errors.As(err, &e) ||
			e.Field != "bends" {
			t.Errorf("%v: %v", bends, err)
		}
	}
}

// Of a point that slides anywhere, motions past solids of each shape have a proof exactly if no component is above 0:
// formulas have the values of components, beside solids and inside of them.
func TestSolids(t *testing.T) {
	arm := &robot.Arm{Name: "gantry", Base: "base"}
	for k, name := range []string{"x", "y", "z"} {
		j := robot.Joint{Name: name, Link: name, Kind: robot.Prismatic, Origin: robot.Identity(), Lower: -2, Upper: 2}
		j.Axis[k] = 1
		arm.Joints = append(arm.Joints, j)
	}
	sx, cx := math.Sincos(0.7)
	turned := [9]float64{1, 0, 0, 0, cx, -sx, 0, sx, cx}
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range []scene.Obstacle{
		{Shape: scene.Box, A: [3]float64{0.1, 0, 0}, Half: [3]float64{0.5, 0.3, 0.2}, Radius: 0.05, R: turned},
		{Shape: scene.Box, Half: [3]float64{0.2, 0.3, 0.2}}, {Radius: 0.5},
		{Shape: scene.Capsule, A: [3]float64{0.1, 0.2, -0.4}, B: [3]float64{0, -0.3, 0.5}, Radius: 0.2},
		{Shape: scene.Cylinder, Half: [3]float64{0.3, 0.3, 0.4}, R: turned},
	} {
		spec := trajectory.Spec{Arm: arm, Waypoints: 2, Segments: o.Shape != scene.Cylinder,
			Obstacles: []scene.Obstacle{o}, Volume: []robot.Sphere{{Link: 2, Radius: 0.1}}}
		s, x, proved := set(t, spec), make([]float64, 6), 0
		w := proof.New(s).NewWorker()
		for range 800 {
			for k := range x {
				x[k] = 0.5 * r.NormFloat64()
			}
			most, _ := constraint.Worst(constraint.Values(s, x), 0)
			got := w.Prove(x)
			kept := got.Proved && got.Delta == 0
			if kept != (most == 0) || strings.Contains(got.Reason, "formula") {
				t.Fatalf("%v past a %s: %+v, where components are at most %g", x, o.Shape, got, most)
			}
			if kept {
				proved++
			}
		}
		if proved < 80 || proved > 720 {
			t.Errorf("%d of 800 motions past a %s are proved", proved, o.Shape)
		}
	}
}

// What a sweep says of the room between two waypoints is kept on the way, by obstacles of each shape, on arms that
// turn, slide and follow; and of a single joint that turns it is the chord's, less its sagitta.
func TestSegments(t *testing.T) {
	slides := mixed(t)
	for i := range slides.Joints { // no limits but of what slides
		if slides.Joints[i].Kind == robot.Revolute {
			slides.Joints[i].Kind = robot.Continuous
		}
	}
	slides.Joints[5].Follow = &robot.Follow{Of: 4, Multiplier: -1, Offset: 0.3}
	for _, arm := range []*robot.Arm{robot.Panda(), slides} {
		last := len(arm.Joints) - 1
		steps := make([]float64, last+1)
		for j := range steps {
			steps[j] = 0.5
		}
		spec := trajectory.Spec{Arm: arm, Waypoints: 2, Limits: true, Margin: 0.02, Steps: steps, Segments: true,
			Volume: []robot.Sphere{{Link: last, Centre: [3]float64{0.1, 0, 0.05}, Radius: 0.05}, {Link: last - 2}}}
		k := arm.NewKinematics()
		n, d := arm.Moving(), arm.Dim()
		x, a, b, q, z := make([]float64, 2*d), make([]float64, n), make([]float64, n), make([]float64, n),
			make([]float64, 3*n)
		tight := 0
		for sample := range uint64(400) {
			keyed.New(1, keyed.Probe, 3).Normals(z, sample, 0)
			trajectory.Random(a, arm, z)
			for j := range b {
				b[j] = a[j] + math.Copysign(0.3*math.Abs(math.Sin(z[n+j])), z[n+j])
			}
			arm.Coordinates(x[:d], a)
			arm.Coordinates(x[d:], b)
			k.At(x[:d])
			p := k.Point(last, [3]float64{})
			for e := range p {
				p[e] += 0.35 * z[2*n+e%n]
			}
			spec.Obstacles = []scene.Obstacle{[]scene.Obstacle{
				{A: p, Radius: 0.1},
				{Shape: scene.Box, A: p, Half: [3]float64{0.1, 0.2, 0.05}},
				{Shape: scene.Cylinder, A: p, Half: [3]float64{0.1, 0.1, 0.2}},
				{Shape: scene.Cloud, Points: scene.NewPoints([][3]float64{p, {p[0] + 0.2, p[1], p[2]}}), Radius: 0.1},
			}[sample%4]}
			s := set(t, spec)
			v, names := constraint.Values(s, x), constraint.Components(s)
			for _, o := range spec.Volume {
				least := math.Inf(1)
				for step := range 41 {
					for j := range q {
						q[j] = a[j] + (b[j]-a[j])*float64(step)/40
					}
					arm.Coordinates(x[:d], q)
					k.At(x[:d])
					least = min(least, spec.Obstacles[0].Distance(k.Point(o.Link, o.Centre))-o.Radius-spec.Margin)
				}
				arm.Coordinates(x[:d], a)
				link := arm.Joints[o.Link].Link
				i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "sweep[0,"+link) })
				if room := -v[i]; room > least+1e-9 {
					t.Fatalf("%s: sample %d: %.4g m of room on the way to %s, said to be %.4g", arm.Name, sample, least,
						link, room)
				} else if room > least-0.1 {
					tight++
				}
			}
		}
		if tight < 400 {
			t.Errorf("%s: only %d of 800 bounds are within 0.1 m", arm.Name, tight)
		}
	}
	arm := testkit.Must(robot.FromDH("one", []robot.DH{{}}))
	const δ = 0.4
	spec := trajectory.Spec{Arm: arm, Waypoints: 2, Steps: []float64{δ}, Segments: true,
		Volume:    []robot.Sphere{{Link: 0, Centre: [3]float64{1, 0, 0}, Radius: 0.1}},
		Obstacles: []scene.Obstacle{{A: [3]float64{2, 0, 0}, Radius: 0.5}}}
	x := make([]float64, 4)
	arm.Coordinates(x[:2], []float64{-δ / 2})
	arm.Coordinates(x[2:], []float64{δ / 2})
	testkit.Near(t, constraint.Values(set(t, spec), x)[3], 0.6+δ*δ/8-(2-math.Cos(δ/2)), 1e-12, "of a joint")
}

// Gradients at a small angle keep Π a projector to round-off.
func TestNearlyParallelTasks(t *testing.T) {
	spec := published(1)
	spec.Start.Tasks, spec.Goal.Tasks, spec.Volume = nil, nil, nil
	spec.Path = []trajectory.Task{{Name: "a", Link: flange, Axis: [3]float64{1, 0, 0}, Low: 0.4, High: 0.4},
		{Name: "b", Link: flange, Axis: [3]float64{1, 1e-5, 0}, Low: 0.4, High: 0.4}}
	s := set(t, spec)
	x, v, w := make([]float64, 14), make([]float64, 14), make([]float64, 14)
	s.Capabilities().Start(x, keyed.New(1, keyed.Probe, 5), 0, 0)
	g := geometry.New(s, 1, 0)
	testkit.OK(t, g.At(x, 1))
	keyed.New(1, keyed.Probe, 4).Normals(v, 0, 0)
	g.Tangent(v, v)
	g.Tangent(w, v)
	for j := range w {
		if math.Abs(w[j]-v[j]) > 1e-14 {
			t.Errorf("Π changes a tangent by %.3g", w[j]-v[j])
		}
	}
}

// The coordinates of sliding joints have names too, the first one also where no joint turns.
func TestNamesOfSlidingJoints(t *testing.T) {
	arm := &robot.Arm{Name: "gantry", Base: "base", Joints: []robot.Joint{
		{Name: "x", Link: "lx", Kind: robot.Prismatic, Origin: robot.Identity(), Axis: [3]float64{1, 0, 0}, Upper: 1},
		{Name: "y", Link: "ly", Kind: robot.Prismatic, Origin: robot.Identity(), Axis: [3]float64{0, 1, 0}, Upper: 1}}}
	spec := trajectory.Spec{Arm: arm, Waypoints: 2, Goal: trajectory.Place{Given: trajectory.Given{Joints: true}}}
	held := constraint.Hold(testkit.Must(trajectory.New(spec)), trajectory.Held(spec))
	testkit.EqualSlices(t, held.Capabilities().HeldNames, []string{"goal_x", "goal_y"})
}

// Names of joints become words that formulas can use, and only numbers that are held have them.
func TestNamesOfOpenJoints(t *testing.T) {
	arm := *robot.Panda()
	arm.Joints = slices.Clone(arm.Joints)
	arm.Joints[0].Name = "arm/elbow-2 b"
	spec := trajectory.Spec{Arm: &arm, Waypoints: 2, Goal: trajectory.Place{Given: trajectory.Given{Joints: true}}}
	s := testkit.Must(trajectory.New(spec))
	held := constraint.Hold(s, trajectory.Held(spec))
	if names := held.Capabilities().HeldNames; len(names) != 14 || names[0] != "goal_cos_arm_elbow_2_b" {
		t.Errorf("%v", names)
	}
	d := held.Dim()
	for _, joint := range []constraint.Set{constraint.Product(zoo.Euclidean{D: 2}, held), constraint.All(held, held)} {
		if names := joint.Capabilities().HeldNames; len(names) != 14 || names[0] != "goal_cos_arm_elbow_2_b" {
			t.Errorf("%s: %v", constraint.Name(joint), names)
		}
	}
	for _, other := range []constraint.Set{constraint.Product(held, held),
		constraint.All(held, zoo.Euclidean{D: d}), constraint.Hold(s, []int{0}), constraint.Hold(held, []int{0}),
		constraint.Slice(held, make([]float64, 14)), constraint.Given(s, 2)} {
		if names := other.Capabilities().HeldNames; names != nil {
			t.Errorf("%s: %v", constraint.Name(other), names)
		}
	}
}

// factored hides the normal space that a set knows in closed form.
type factored struct{ constraint.Set }

func (s factored) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Set.NewEvaluator(rows)
	e.Projector = nil
	return e
}

// With places that the point gives, the normal space of what may move is still known in closed
// form: it is that of the factorisation, and nothing moves along what is given.
func TestNormalsOfOpenPlaces(t *testing.T) {
	position := published(4)
	flange := robot.Point{Link: flange}
	position.Start, position.Goal = trajectory.Place{Given: trajectory.Given{Position: &flange}},
		trajectory.Place{Given: trajectory.Given{Position: &flange}}
	repeats := position // the constraints on the heights of its ends are there twice: points are not regular
	position.Path = []trajectory.Task{{Name: "yaw", Link: 7, Direction: true, Local: [3]float64{1, 0, 0},
		Axis: [3]float64{0, 1, 0}, Low: 0.1, High: 0.1}}
	joints := trajectory.Spec{Arm: mixed(t), Waypoints: 3,
		Path:  []trajectory.Task{{Name: "plane", Link: 5, Axis: [3]float64{1, 2, 0}, Low: 0.1, High: 0.1}},
		Start: trajectory.Place{Given: trajectory.Given{Joints: true}},
		Goal:  trajectory.Place{Given: trajectory.Given{Position: &robot.Point{Link: 5, Local: [3]float64{0, 0, 0.1}}}}}
	for name, spec := range map[string]trajectory.Spec{"position": position, "joints": joints, "repeats": repeats} {
		const n = 5
		whole := set(t, spec)
		s := constraint.EqualitiesOf(constraint.Hold(whole, trajectory.Held(spec)))
		if s.NewEvaluator(1).Projector == nil {
			t.Fatalf("%s: no closed form", name)
		}
		equal := constraint.EqualitiesOf(whole).NewEvaluator(1)
		if equal.Projector != nil || equal.HeldProjector([]int{0}) != nil {
			t.Errorf("%s: a closed form of another set", name)
		}
		d, m := s.Dim(), len(s.Equalities())
		x, v, u := make([]float64, n*d), make([]float64, n*d), make([]float64, n*m)
		st := keyed.New(1, keyed.Probe, 6)
		for i := range uint64(n) {
			st.Normals(v[int(i)*d:(int(i)+1)*d], i, 0)
			st.Normals(u[int(i)*m:(int(i)+1)*m], i, 1)
			xi := x[int(i)*d : (int(i)+1)*d]
			whole.Capabilities().Start(xi, st, i, 2)
			for j := range xi { // off the circles too
				xi[j] += 0.05 * v[int(i)*d+j]
			}
		}
		closed, other := geometry.New(s, n, 0), geometry.New(factored{s}, n, 0)
		for _, g := range []geometry.Geometry{closed, other} {
			if err := g.At(x, n); err != nil {
				t.Fatal(name, err)
			}
		}
		want := len(s.Equalities())
		if name == "repeats" {
			want -= 2
		}
		p := s.NewEvaluator(n).Projector
		regular := make([]bool, n)
		p.Factor(make([]float64, n*m), make([]float64, n*p.WorkSize()), regular, x, n)
		for i, r := range regular {
			if r != (name != "repeats") || closed.Rank(i) != want || other.Rank(i) != want {
				t.Errorf("%s: point %d is regular: %v, rank %d, factored %d, want %d", name, i, r, closed.Rank(i),
					other.Rank(i), want)
			}
		}
		for what, f := range map[string]func(g geometry.Geometry, dst []float64){
			"Π":       func(g geometry.Geometry, dst []float64) { g.Tangent(dst, v) },
			"normal":  func(g geometry.Geometry, dst []float64) { g.Normal(dst, u) },
			"landing": func(g geometry.Geometry, dst []float64) { g.Landing(dst) },
		} {
			a, b := make([]float64, n*d), make([]float64, n*d)
			for i := range a {
				a[i] = none
			}
			f(closed, a)
			f(other, b)
			for i := range a {
				held := i%d >= d-len(trajectory.Held(spec))
				if !(math.Abs(a[i]-b[i]) <= 1e-10*(1+math.Abs(b[i]))) || held && a[i] != 0 {
					t.Fatalf("%s: %s: number %d of point %d is %v, factored %v", name, what, i%d, i/d, a[i], b[i])
				}
			}
		}
	}
}
