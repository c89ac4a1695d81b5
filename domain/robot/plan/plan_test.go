package plan_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

type vec = [3]float64

func ball(radius float64, at ...float64) scene.Obstacle {
	return scene.Obstacle{A: vec(at), Radius: radius}
}

// paper is the scene of the published paths, the tip itself watched too.
func paper(waypoints int) trajectory.Spec {
	arm := robot.Panda()
	return trajectory.Spec{
		Arm: arm, Waypoints: waypoints, Margin: 0.01, Volume: append(scene.LinkOrigins(arm), scene.Body{Link: 7}),
		Obstacles: []scene.Obstacle{ball(0.1, 0.4, 0.3, 0.205), ball(0.1, 0.4, -0.3, 0.205)},
		Start:     trajectory.Place{Tasks: trajectory.Position("start", 7, vec{}, vec{0.4, -0.5, 0.205})},
		Goal:      trajectory.Place{Tasks: trajectory.Position("goal", 7, vec{}, vec{0.4, 0.5, 0.205})},
		Path:      trajectory.Position("height", 7, vec{}, vec{math.NaN(), math.NaN(), 0.205}),
	}
}

// planar is an arm of three links in the plane, from joint values to others.
func planar(from, to []float64, obstacles ...scene.Obstacle) trajectory.Spec {
	arm, err := robot.FromDH("planar", []robot.DH{{}, {A: 0.5}, {A: 0.4}})
	if err != nil {
		panic(err)
	}
	spec := trajectory.Spec{Arm: arm, Waypoints: 12, Obstacles: obstacles,
		Start: trajectory.Place{Joints: from}, Goal: trajectory.Place{Joints: to}}
	for l := range 3 {
		spec.Volume = append(spec.Volume, robot.Sphere{Link: l, Centre: vec{[]float64{0.5, 0.4, 0.3}[l]}})
	}
	return spec
}

var planarTip = robot.Point{Link: 2, Local: vec{0.3}}

func planner(t *testing.T, spec trajectory.Spec, tip robot.Point, o plan.Options) *plan.Planner {
	t.Helper()
	p := testkit.Must(plan.Of(spec, tip))
	if o.Waypoints == 0 {
		o.Waypoints = spec.Waypoints
	}
	return testkit.Must(plan.New(p, o))
}

// keep compares paths with those kept, to digits that do not depend on the order of sums.
func keep(t *testing.T, paths ...plan.Path) {
	for _, p := range paths {
		half := append([]float64{0, 0}, p.Q...)[len(p.Q)/2:][:2]
		testkit.Keep(t, "%d nodes, length %.5g, room %.4g to %.4g after %d; half way %.4g", p.Nodes, p.Length,
			p.Room.Lower, p.Room.Upper, p.Segment, half)
	}
}

// Properties of a path, on the published scene in both modes: points of Σ, even steps, the requested side, the reported
// clearance, and the joint limits.
func TestPaths(t *testing.T) {
	for _, limits := range []bool{false, true} {
		spec := paper(40)
		spec.Limits, spec.Segments = limits, true
		set := testkit.Must(trajectory.New(func() trajectory.Spec { s := spec; s.Segments = false; return s }()))
		look := (&scene.Scene{Arm: spec.Arm, Bodies: spec.Volume, Obstacles: spec.Obstacles}).NewChecker()
		for k, text := range []string{"LR", "RL"} {
			sides, err := plan.Sides(text, 2)
			testkit.OK(t, err)
			pl := planner(t, spec, robot.Point{Link: 7}, plan.Options{Sides: sides, Segments: true})
			var path *plan.Path
			for q := uint64(0); path == nil; q++ { // a query may be refused: too coarse
				if path, err = pl.Plan(t.Context(), 3, 10*uint64(k)+q); err != nil && q > 5 {
					t.Fatal(err)
				}
			}
			keep(t, *path)
			values := constraint.Values(set, path.X)
			if worst, i := constraint.Worst(values, len(set.Equalities())); worst > 2e-12 {
				t.Errorf("%s: %s is violated by %v", text, constraint.Components(set)[i], worst)
			}
			if got := pl.Passed(path.X, 40); got[0] != sides[0] || got[1] != sides[1] {
				t.Errorf("asked for %s, passed %q", text, got)
			}
			least, most, length := math.Inf(1), 0.0, 0.0
			x := make([]float64, 14)
			room := math.Inf(1)
			for l := range 39 {
				q0, q1 := path.Q[7*l:7*l+7], path.Q[7*l+7:7*l+14]
				d := 0.0
				for j := range q0 {
					d = math.Hypot(d, q1[j]-q0[j])
				}
				least, most, length = min(least, d), max(most, d), length+d
				for i := range 21 {
					s := float64(i) / 20
					q := make([]float64, 7)
					for j := range q {
						q[j] = q0[j] + s*(q1[j]-q0[j])
						if jt := spec.Arm.Joints[j]; limits && (q[j] < jt.Lower || q[j] > jt.Upper) {
							t.Errorf("%s: joint %d at %v", text, j, q[j])
						}
					}
					spec.Arm.Coordinates(x, q)
					r, _ := look.Clearance(x)
					room = min(room, r)
				}
			}
			if most > 1.6*least { // even along the way, whose bends the chords cut
				t.Errorf("%s: steps from %v to %v", text, least, most)
			}
			testkit.Near(t, length, path.Length, 1e-9, "%s: length", text)
			if room < path.Room.Lower || path.Room.Lower < spec.Margin || room > path.Room.Upper+1e-2 {
				t.Errorf("%s: the room is %v, told %v to %v", text, room, path.Room.Lower, path.Room.Upper)
			}
		}
	}
}

// Without obstacles and tasks the shortest path is straight in joint space: across 180° if
// the joint may turn there, and all the way back if its limits forbid it.
func TestStraight(t *testing.T) {
	from, to := []float64{3, 0.5, -1}, []float64{-3, -0.5, 1}
	for _, limits := range []bool{false, true} {
		spec := planar(from, to)
		spec.Limits = limits
		turn := 2*math.Pi - 6
		if limits {
			turn = -6
			for i := range spec.Arm.Joints {
				spec.Arm.Joints[i].Lower, spec.Arm.Joints[i].Upper = -3.1, 3.1
			}
		}
		p := planner(t, spec, planarTip, plan.Options{Shortcuts: 200, Smooth: 100})
		path := testkit.Must(p.Plan(t.Context(), 1, 0))
		keep(t, *path)
		n := len(path.Q)
		got := path.Q[n-3] - path.Q[0]
		testkit.Near(t, got, turn, 1e-9, "limits %v: the first joint turns", limits)
		if want := math.Sqrt(turn*turn + 1 + 4); path.Length < want-1e-9 || path.Length > want*1.001 {
			t.Errorf("limits %v: length %v, expected %v", limits, path.Length, want)
		}
	}
}

// A path is a function of seed and query alone.
func TestReplay(t *testing.T) {
	spec := planar([]float64{0, 0.1, 0.1}, []float64{2, 0.2, 0.1}, ball(0.2, 0.6, 0.6, 0))
	pl := planner(t, spec, planarTip, plan.Options{})
	first := testkit.Must(pl.Plan(t.Context(), 7, 4))
	other := testkit.Must(pl.Plan(t.Context(), 7, 5))
	again := testkit.Must(pl.Plan(t.Context(), 7, 4))
	seed := testkit.Must(pl.Plan(t.Context(), 8, 4))
	keep(t, *first, *other, *seed)
	if !slices.Equal(first.X, again.X) || first.Nodes != again.Nodes {
		t.Error("a query's second answer differs from its first")
	}
	if slices.Equal(first.X, other.X) || slices.Equal(first.X, seed.X) {
		t.Error("another query or seed gives the same path")
	}
}

// Every way of failing, by name.
func TestFaults(t *testing.T) {
	ask := func(spec trajectory.Spec, tip robot.Point, o plan.Options) *plan.Error {
		t.Helper()
		_, err := planner(t, spec, tip, o).Plan(t.Context(), 1, 0)
		e := new(plan.Error)
		if !errors.As(err, &e) {
			t.Fatalf("%v; expected a *plan.Error", err)
		}
		testkit.Keep(t, "%v", err)
		return e
	}
	tip := robot.Point{Link: 7}
	far := paper(10)
	far.Goal.Tasks = trajectory.Position("goal", 7, vec{}, vec{0.4, 1.5, 0.205})
	if e := ask(far, tip, plan.Options{Tries: 10}); e.Reason != plan.Unreachable || e.End != "goal" || e.What !=
		"goal.y" || !(e.Short > 0.3) {
		t.Errorf("a goal out of reach: %v", e)
	}
	away := paper(10)
	away.Start.Tasks = trajectory.Position("start", 7, vec{}, vec{0.4, -1.5, 0.205})
	if e := ask(away, tip, plan.Options{Tries: 10}); e.Reason != plan.Unreachable || e.End != "start" {
		t.Errorf("a start out of reach: %v", e)
	}
	blocked := paper(10)
	blocked.Obstacles = append(blocked.Obstacles, scene.Obstacle{Name: "pillar", A: vec{0.4, 0.5, 0.2}, Radius: 0.05})
	if e := ask(blocked, tip, plan.Options{Tries: 10}); e.Reason != plan.Blocked || e.End != "goal" || e.What !=
		"panda_link8 and pillar" || math.Abs(e.Short+0.045) > 1e-6 || !strings.Contains(e.Error(), "expected 0.01 m") {
		t.Errorf("an obstacle at the goal: %v", e)
	}
	tight := paper(10)
	tight.Limits = true
	for _, j := range []int{0} {
		tight.Arm.Joints[j].Lower, tight.Arm.Joints[j].Upper = 1.4, 1.6
	}
	tight.Start.Tasks = trajectory.Position("start", 7, vec{}, vec{0.8, 0, 0.205})
	if e := ask(tight, tip, plan.Options{Tries: 30}); e.Reason != plan.Outside && e.Reason != plan.Unreachable ||
		e.End != "start" {
		t.Errorf("limits that exclude the start: %v", e)
	}
	// the tip cannot leave a ring of balls about it: the trees do not meet
	shut := planar([]float64{0, 0, 0}, []float64{math.Pi / 2, 0, 0})
	for i := range 24 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 12)
		shut.Obstacles = append(shut.Obstacles, ball(0.03, 1.2+0.12*cos, 0.12*sin, 0))
	}
	if e := ask(shut, planarTip, plan.Options{Nodes: 3000}); e.Reason != plan.NotJoined {
		t.Errorf("a goal behind walls: %v", e)
	}
	// two waypoints about a ball: nothing between them is clear
	coarse := planar([]float64{-0.5, 0, 0}, []float64{0.5, 0, 0}, ball(0.1, 1.2, 0, 0))
	coarse.Waypoints = 2
	if e := ask(coarse, planarTip, plan.Options{Segments: true}); e.Reason != plan.Coarse {
		t.Errorf("two waypoints about a ball: %v", e)
	}
	above := planar([]float64{0, 0, 0}, []float64{0, 1, -2}, ball(0.05, 0, 2, 0))
	above.Goal.Joints = above.Start.Joints
	if e := ask(above, planarTip, plan.Options{Sides: "L"}); e.Reason != plan.NotJoined ||
		!strings.Contains(e.Error(), "left and right") {
		t.Errorf("start over goal: %v", e)
	}
}

func TestOptionFaults(t *testing.T) {
	spec := planar([]float64{0, 0, 0}, []float64{1, 0, 0}, ball(0.1, 3, 0, 0))
	p := testkit.Must(plan.Of(spec, planarTip))
	for i, o := range []plan.Options{
		{Waypoints: 1}, {Step: -1}, {Step: math.NaN()}, {Nodes: 1}, {Tries: -1}, {Sides: "LLL"},
		{Near: [][]float64{{1}}},
	} {
		if _, err := plan.New(p, o); err == nil {
			t.Errorf("options %d pass", i)
		}
	}
	bad := p
	bad.Path = testkit.Must(trajectory.New(trajectory.Spec{Arm: robot.Panda(), Waypoints: 1}))
	if _, err := plan.New(bad, plan.Options{}); err == nil {
		t.Error("a set of another arm passes")
	}
	for _, text := range []string{"", "L", "LRL", "LX"} {
		if _, err := plan.Sides(text, 2); err == nil {
			t.Errorf("sides %q pass", text)
		}
	}
}

// Walls: whatever the seed, each side is kept, of a ball that the shortest way passes
// anyhow and of one that it would not.
func TestSides(t *testing.T) {
	// the tip goes from east to north; from there the ball's left is towards the base
	spec := planar([]float64{0, 0.1, 0.1}, []float64{1.5, 0.1, 0.1}, ball(0.1, 0.6, 0.6, 0))
	for _, side := range "LR" {
		pl := planner(t, spec, planarTip, plan.Options{Sides: string(side), Waypoints: 60})
		for q := range uint64(5) {
			path, err := pl.Plan(t.Context(), 2, q)
			if err != nil {
				t.Errorf("%c, query %d: %v", side, q, err)
				continue
			}
			keep(t, *path)
			if got := pl.Passed(path.X, 60); got != string(side) {
				t.Errorf("asked for %c, passed %c", side, got[0])
			}
		}
	}
	// Passed of a circle: once round counterclockwise is Right; a ball far off, neither
	spec = planar([]float64{0, 0, 0}, []float64{1, 0, 0}, ball(0.1, 0, 0, 0), ball(0.1, 9, 9, 0))
	pl := planner(t, spec, planarTip, plan.Options{})
	var x []float64
	for i := range 9 {
		c := make([]float64, 6)
		spec.Arm.Coordinates(c, []float64{float64(i) * math.Pi / 8, 0, 0})
		x = append(x, c...)
	}
	if got := pl.Passed(x, 9); got[0] != plan.Right || got[1] != plan.Any {
		t.Errorf("half a turn: %q", got)
	}
}

func batch(t *testing.T, spec trajectory.Spec, tip robot.Point) *plan.Batch {
	t.Helper()
	set := testkit.Must(trajectory.New(spec))
	return &plan.Batch{Set: set, Spec: spec, Tip: tip, Seed: 5, Count: 7}
}

// Rows do not depend on the number of workers; modes come in equal parts, in order.
func TestBatch(t *testing.T) {
	spec := planar([]float64{0, 0.1, 0.1}, []float64{1.5, 0.1, 0.1}, ball(0.1, 0.6, 0.6, 0))
	var first *plan.Paths
	for _, workers := range []int{1, 3} {
		pool := parallel.New(workers)
		b := batch(t, spec, planarTip)
		b.Modes = []string{"L", "R"}
		got, err := b.Run(context.Background(), pool)
		pool.Close()
		testkit.OK(t, err)
		if got.Count != 7 || got.Dim != 72 || len(got.X) != 7*72 || !slices.Equal(got.Label, []int{0, 0, 0, 0, 1, 1,
			1}) ||
			!slices.Equal(got.Sides, []string{"L", "R"}) || got.Worst > 1e-9 {
			t.Errorf("%d workers: %d rows of %d, labels %v of %v, worst %v", workers, got.Count, got.Dim, got.Label,
				got.Sides, got.Worst)
		}
		if first == nil {
			first = got
		} else if !slices.Equal(first.X, got.X) {
			t.Errorf("rows depend on the number of workers")
		}
	}
	// without modes labels are what came
	b := batch(t, spec, planarTip)
	pool := testkit.Pool(t, 1)
	got := testkit.Must(b.Run(context.Background(), pool))
	pl := planner(t, spec, planarTip, plan.Options{})
	for i, l := range got.Label {
		if want := pl.Passed(got.X[i*72:(i+1)*72], 12); got.Sides[l] != want[:1] {
			t.Errorf("row %d: label %q, passed %q", i, got.Sides[l], want)
		}
	}
	// a spread leaves the reserve that segments have by default
	keep(t, got.Paths...)
	testkit.Keep(t, "%d queries, %v", got.Queries, got.Failed)
	b.Options.Segments = true
	kept := testkit.Must(b.Run(context.Background(), pool))
	b.Spread = 1e-15
	if spread := testkit.Must(b.Run(context.Background(), pool)); !slices.Equal(spread.X, kept.X) {
		t.Error("a spread of nothing gives other rows")
	}
	// an unreachable place gives an error at once, and a cancelled run ends
	spec.Obstacles = append(spec.Obstacles, ball(0.3, 0, 1.2, 0))
	b = batch(t, planar([]float64{0, 0.1, 0.1}, []float64{1.5, 0.1, 0.1}), planarTip)
	b.Spec = spec
	e := new(plan.Error)
	if _, err := b.Run(context.Background(), pool); !errors.As(err, &e) || e.End != "goal" || e.Reason != plan.Blocked {
		t.Errorf("an obstacle at the goal: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := b.Run(ctx, pool); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Open places: the numbers behind the waypoints are where the tip begins and ends, in their
// boxes, and unseen rows share none.
func TestOpenPlaces(t *testing.T) {
	spec := paper(10)
	spec.Start = trajectory.Place{Given: trajectory.Given{Position: &robot.Point{Link: 7}}}
	spec.Goal = spec.Start
	b := batch(t, spec, robot.Point{Link: 7})
	b.Count = 3
	b.Start = [2]vec{{0.35, -0.55, 0.205}, {0.45, -0.5, 0.205}}
	b.Goal = [2]vec{{0.35, 0.5, 0.205}, {0.45, 0.55, 0.205}}
	pool := testkit.Pool(t, 1)
	got := testkit.Must(b.Run(context.Background(), pool))
	unseen := testkit.Must(b.Unseen(3).Run(context.Background(), pool))
	keep(t, append(got.Paths, unseen.Paths...)...)
	kin := spec.Arm.NewKinematics()
	seen := map[float64]bool{}
	for k, p := range []*plan.Paths{got, unseen} {
		if p.Dim != 146 {
			t.Fatalf("rows of %d numbers", p.Dim)
		}
		for i := range p.Count {
			row := p.X[i*146 : (i+1)*146]
			for e, box := range [][2]vec{b.Start, b.Goal} {
				kin.At(row[e*126 : e*126+14])
				at := kin.Point(7, vec{})
				for c := range 3 {
					given := row[140+3*e+c]
					if math.Abs(at[c]-given) > 1e-11 || given < box[0][c] || given > box[1][c] {
						t.Errorf("place %d: given %v, the tip is at %v", e, given, at[c])
					}
				}
			}
			if seen[row[140]] {
				t.Errorf("batch %d repeats the start %v", k, row[140])
			}
			seen[row[140]] = true
		}
	}
	// no way: told with the reasons
	b = batch(t, spec, robot.Point{Link: 7})
	b.Options.Tries, b.Failing = 3, 1
	b.Start, b.Goal = [2]vec{{2, 0, 0.205}, {3, 0, 0.205}}, [2]vec{{0.4, 0.5, 0.205}, {0.4, 0.5, 0.205}}
	_, err := b.Run(context.Background(), pool)
	testkit.Keep(t, "%v", err)
	testkit.Refused(t, err, "only 0 of")
	testkit.Refused(t, err, "start unreachable")
}

// Starts that are drawn about given configurations stay near them.
func TestNear(t *testing.T) {
	spec := planar(nil, []float64{1, 0, 0})
	near := [][]float64{{-1, 0.3, 0.3}, {2, -0.3, -0.3}}
	pl := planner(t, spec, planarTip, plan.Options{Near: near, Sd: 0.01})
	for q := range uint64(4) {
		path := testkit.Must(pl.Plan(t.Context(), 1, q))
		keep(t, *path)
		for j, v := range near[q%2] {
			if math.Abs(path.Q[j]-v) > 0.06 || path.Q[j] == v {
				t.Errorf("query %d starts at %v, near %v", q, path.Q[:3], near[q%2])
			}
		}
	}
}

// one is an arm of one joint within [0.5, 2] and a length of 1, from an angle to another.
func one(from, to float64) trajectory.Spec {
	arm, err := robot.FromDH("one", []robot.DH{{Lower: 0.5, Upper: 2}})
	if err != nil {
		panic(err)
	}
	at := func(name string, angle float64) trajectory.Place {
		sin, cos := math.Sincos(angle)
		return trajectory.Place{Tasks: trajectory.Position(name, 0, vec{1}, vec{cos, sin, 0})}
	}
	return trajectory.Spec{Arm: arm, Waypoints: 5, Margin: 0.01, Limits: true, Start: at("start", from),
		Goal: at("goal", to), Volume: []robot.Sphere{{Link: 0, Centre: vec{1}}}}
}

// The error of an end beyond either limit names the joint and the excess. An end with less clearance than the search
// keeps is an error too, unless the options ask for no clearance.
func TestEnds(t *testing.T) {
	tip := robot.Point{Link: 0, Local: vec{1}}
	for _, c := range []struct {
		from, to float64
		end      string
	}{{0.2, 1, "start"}, {1, 2.3, "goal"}, {1, 0.2, "goal"}} {
		_, err := planner(t, one(c.from, c.to), tip, plan.Options{Tries: 5}).Plan(t.Context(), 1, 0)
		e := new(plan.Error)
		if !errors.As(err, &e) || e.Reason != plan.Outside || e.End != c.end || e.What != "joint1" ||
			math.Abs(e.Short-0.3) > 1e-9 {
			t.Errorf("from %v to %v: %v", c.from, c.to, err)
		}
	}
	near := one(1, 1.5)
	sin, cos := math.Sincos(1)
	near.Obstacles = append(near.Obstacles, ball(0.1, 1.12*cos, 1.12*sin, 0)) // room 0.02 at the start
	_, err := planner(t, near, tip, plan.Options{Tries: 5, Reserve: 0.05}).Plan(t.Context(), 1, 0)
	e := new(plan.Error)
	if !errors.As(err, &e) || e.Reason != plan.Blocked || e.End != "start" || math.Abs(e.Short-0.02) > 1e-9 ||
		!strings.Contains(err.Error(), "expected 0.06 m") {
		t.Errorf("a start without the reserve: %v", err)
	}
	if _, err := planner(t, near, tip, plan.Options{Tries: 5, Reserve: plan.None}).Plan(t.Context(), 1, 0); err != nil {
		t.Errorf("a start with the margin: %v", err)
	}
}

// The tip stays clear if the batch says so, though it is no part of the arm's volume; queries of modes
// that ask for the same are not the same.
func TestTipToo(t *testing.T) {
	spec := planar([]float64{0, 0.1, 0.1}, []float64{1.5, 0.1, 0.1})
	last := spec.Volume[2]
	spec.Volume = spec.Volume[:2]
	k := spec.Arm.NewKinematics()
	x := make([]float64, spec.Arm.Dim())
	spec.Arm.Coordinates(x, spec.Goal.Joints)
	k.At(x)
	at := k.Point(last.Link, last.Centre)
	spec.Obstacles = []scene.Obstacle{ball(0.05, at[:]...)}
	pool := testkit.Pool(t, 1)
	b := batch(t, spec, planarTip)
	b.Count, b.TipToo = 4, true
	e := new(plan.Error)
	_, err := b.Run(context.Background(), pool)
	if !errors.As(err, &e) || e.End != "goal" || e.Reason != plan.Blocked || math.Abs(e.Short+0.05) > 1e-9 {
		t.Errorf("an obstacle at the tip's goal: %v", err)
	}
	b.TipToo, b.Modes = false, []string{"*", "*"}
	b.Options.Shortcuts, b.Options.Smooth = plan.None, plan.None
	got := testkit.Must(b.Run(context.Background(), pool))
	for i := range got.Count {
		for j := range i {
			if slices.Equal(got.X[i*got.Dim:(i+1)*got.Dim], got.X[j*got.Dim:(j+1)*got.Dim]) {
				t.Errorf("rows %d and %d are one path", j, i)
			}
		}
	}
}

// What a batch's record says, of paths written by hand: shares by mode, room that is kept or not,
// medians and 99th percentiles. Without anything to hit there is no least room.
func TestSummary(t *testing.T) {
	p := plan.Paths{Count: 200, Dim: 3, Sides: []string{"L", "R"}, Queries: 230, Worst: 1e-13}
	for i := range 200 {
		p.X = append(p.X, 0, float64(i), float64(-i))
		p.Label = append(p.Label, min(i/150, 1))
		p.Paths = append(p.Paths, plan.Path{Room: scene.Swept{Lower: 0.001 * float64(i)}, Length: float64(200 - i),
			Nodes: 2 * i, Searched: time.Duration(200-i) * time.Second, Took: time.Duration(400+i) * time.Second})
	}
	s := p.Summary(0.05)
	room := *s.Room
	s.Room = nil
	want := plan.Summary{Paths: 200, Columns: 3, Modes: p.Sides, Shares: map[string]int{"L": 150, "R": 50},
		Queries: 230, Worst: 1e-13,
		Length: 101, Nodes: 199, Clear: 150, SearchMedian: 100e3, Search99: 198e3, TotalMedian: 499e3,
		Total99: 597e3}
	if room != 0 || !reflect.DeepEqual(s, want) {
		t.Errorf("room %v, %+v\nwant %+v", room, s, want)
	}
	if open := p.Open(2); len(open) != 400 || open[3] != -1 || open[398] != 199 {
		t.Errorf("open places: %v", open)
	}
	for i := range p.Paths {
		p.Paths[i].Room.Lower = math.Inf(1)
	}
	if s := p.Summary(0.05); s.Room != nil || s.Clear != 200 {
		t.Errorf("nothing to hit: %+v", s)
	}
	if s := (&plan.Paths{}).Summary(0); s.TotalMedian != 0 || s.Paths != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

// Pairs of bodies that no joint moves apart are not watched.
func TestPairs(t *testing.T) {
	spec := planar([]float64{0, 0, 0}, []float64{1, 0, 0})
	spec.Volume = append(spec.Volume, robot.Sphere{Link: 2, Radius: 0.01})
	spec.Self = [][2]int{{0, 2}, {2, 3}, {0, 3}}
	got := testkit.Must(plan.Of(spec, planarTip)).Scene.Self
	testkit.EqualSlices(t, got, [][2]int{{0, 2}, {0, 3}})
}

// Places open by their joints: the first and the last waypoint stand behind the others.
func TestOpenJoints(t *testing.T) {
	spec := planar(nil, nil)
	spec.Start, spec.Goal = trajectory.Place{Given: trajectory.Given{Joints: true}},
		trajectory.Place{Given: trajectory.Given{Joints: true}}
	b := batch(t, spec, planarTip)
	b.Count = 2
	b.Start, b.Goal = [2]vec{{0.7, 0, 0}, {0.8, 0.1, 0}}, [2]vec{{0, 0.7, 0}, {0.1, 0.8, 0}}
	pool := testkit.Pool(t, 1)
	got := testkit.Must(b.Run(context.Background(), pool))
	keep(t, got.Paths...)
	for i := range 2 {
		row := got.X[i*84 : (i+1)*84]
		if !slices.Equal(row[72:78], row[:6]) ||
			!slices.Equal(row[78:], row[66:72]) || slices.Equal(row[:6], row[66:72]) {
			t.Errorf("row %d: %v", i, row)
		}
	}
}
