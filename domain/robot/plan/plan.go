// Package plan finds paths of a serial arm from one place to another that keep equality and inequality constraints at
// every configuration and stay clear of obstacles along every segment: RRT-Connect whose steps are projected onto the
// constraints, then shortcuts and smoothing on them, then waypoints at even distances.
//
// Σ is here the set of single configurations that keep the task: {q : h(q) = 0, g(q) ≤ 0} in joint values. A step goes
// towards a target in joint space and is brought back to Σ by Gauss–Newton steps of least length; the segment that it
// adds is proven clear by package scene.
//
//   - Kuffner and LaValle, RRT-Connect (ICRA 2000)
//   - Berenson, Srinivasa, Ferguson and Kuffner, Manipulation planning on constraint
//     manifolds (ICRA 2009)
//
// A path is a function of (seed, query) alone. The package knows no file and no key of a problem file.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Problem says where paths lead and what they keep. The sets are of one configuration,
// D numbers as package robot writes them.
type Problem struct {
	Scene  *scene.Scene
	Margin float64 // room along every segment, m
	Limits bool    // keep the joints' own limits

	Path        constraint.Set // kept everywhere; nil: nothing
	Start, Goal constraint.Set // kept at the ends, with what Path asks; nil: any configuration of Path

	// Tip is the point whose way Sides are about, and which Even may mean.
	Tip robot.Point
}

// A side says where the tip passes an obstacle, looking from start to goal with z above. Sides are a letter for each
// obstacle.
const (
	Any   = '*'
	Left  = 'L'
	Right = 'R'
)

// Sides refuses a text that is not one letter for each obstacle: L, R or *.
func Sides(text string, obstacles int) (string, error) {
	if len(text) != obstacles {
		return "", fmt.Errorf("%q has %d letters; expected one for each of %d obstacles", text, len(text), obstacles)
	}
	if strings.Trim(text, "LR*") != "" {
		return "", fmt.Errorf("%q: expected the letters L, R and *", text)
	}
	return text, nil
}

// Modes reads what each mode of a batch asks, as in LR,RL; "any" asks nothing and is nil.
func Modes(text string, obstacles int) (out []string, err error) {
	if text == "any" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		m, err := Sides(strings.TrimSpace(part), obstacles)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Even says between which points of the path the distances are equal.
type Even int

// Distances between waypoints.
const (
	Joints Even = iota // in joint space
	Tip                // of the tip
	Room               // in joint space, and the shorter the nearer to obstacles: a chord leaves its arc by its square
)

// None is what 0 would say of an option whose zero stands for a default.
const None = -1

// Options of a Planner.
type Options struct {
	Waypoints int     // L; 0 means 10
	Even      Even    //
	Step      float64 // of the trees, in joint space; 0 means 0.2
	Nodes     int     // of all trees of a query, at most; 0 means 20,000
	Tries     int     // of finding a start, and a goal; 0 means 100
	Shortcuts int     // that are tried; 0 means 50
	Smooth    int     // passes of smoothing; 0 means 10
	Segments  bool    // the segments between waypoints are clear too, else the path is refused
	Reserve   float64 // room beyond the margin that the search keeps; 0 means 0.005 m with Segments

	Sides string      // by obstacle; "": any
	Near  [][]float64 // joint values that starts are drawn about, in turn by query; nil: anywhere
	Sd    float64     // how far about them, in each joint; 0 means 0.1
}

func (o *Options) defaults() {
	o.Waypoints, o.Nodes, o.Tries = cmp.Or(o.Waypoints, 10), cmp.Or(o.Nodes, 20_000), cmp.Or(o.Tries, 100)
	o.Shortcuts, o.Smooth = cmp.Or(o.Shortcuts, 50), cmp.Or(o.Smooth, 10)
	o.Step, o.Sd = cmp.Or(o.Step, 0.2), cmp.Or(o.Sd, 0.1)
	if o.Segments {
		o.Reserve = cmp.Or(o.Reserve, 0.005)
	}
}

// A Path is what a query found.
type Path struct {
	X        []float64     // L×D
	Q        []float64     // the same as joint values: L×(R+P)
	Room     scene.Swept   // along the segments between waypoints
	Segment  int           // where Room.Upper is
	Length   float64       // in joint space
	Nodes    int           // of all trees
	Searched time.Duration // until the trees met, starts and goals included
	Took     time.Duration // with shortcuts, smoothing and waypoints
}

// A Reason why there is no path.
type Reason int

// Reasons.
const (
	Unreachable Reason = iota // no configuration found that keeps what an end asks
	Outside                   // those found leave the joint limits
	Blocked                   // those found have too little room
	NotJoined                 // the trees did not meet within Options.Nodes
	Stopped                   // the context ended the query
	Coarse                    // a segment between waypoints has too little room (Options.Segments)
	Lost                      // a waypoint could not be brought onto Σ
)

func (r Reason) String() string {
	return [...]string{"unreachable", "outside of limits", "blocked", "not joined", "stopped", "too coarse", "lost"}[r]
}

// An Error says why there is no path, and where to look.
type Error struct {
	Reason Reason
	End    string  // "start" or "goal", of the first three
	What   string  // the component, joint or pair that is in the way
	Short  float64 // by how much: a violation, an excess of limits, or the room that there is
	Detail string
}

func (e *Error) Error() string {
	switch e.Reason {
	case Unreachable:
		return fmt.Sprintf("the %s is out of reach: no configuration found where %q holds, the nearest violates it "+
			"by %.3g", e.End, e.What, e.Short)
	case Outside:
		return fmt.Sprintf("the %s is outside of the joint limits: the best configuration found has %s %.3g beyond "+
			"them", e.End, e.What, e.Short)
	case Blocked:
		return fmt.Sprintf("the %s is blocked: between %s there is %.3g m at best; %s", e.End, e.What, e.Short,
			e.Detail)
	}
	return e.Detail
}

func (*Error) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// A Planner answers queries of one Problem, one at a time: the scratch of one goroutine.
type Planner struct {
	p     Problem
	o     Options
	keep  float64 // the room that the search keeps
	arm   *robot.Arm
	m, d  int
	joint []int // of each moving joint, its place in the chain
	path  *solver
	start *solver
	goal  *solver
	room  *scene.Checker
	gate  *scene.Checker // walls that the tip may not cross; nil without sides
	gates *scene.Scene
	kin   *robot.Kinematics
	turns turns // of each moving joint

	local  []float64 // trees grow about these joint values; nil: everywhere
	spread float64   // how far about them, in each joint

	x0, x1, q, dir, next []float64
	trees                [2]tree
	meet                 [2]int // the node of each where they met
	draw                 drawer
	out                  Path
	began                time.Time
	ctx                  context.Context // of Plan
}

// New makes a Planner. The error says what of the problem cannot be.
func New(p Problem, o Options) (*Planner, error) {
	if err := p.Scene.Check(); err != nil {
		return nil, err
	}
	o.defaults()
	arm := p.Scene.Arm
	pl := &Planner{p: p, o: o, arm: arm, keep: p.Margin + max(o.Reserve, 0), m: arm.Moving(), d: arm.Dim(),
		joint: arm.Places(), room: p.Scene.NewChecker(), kin: arm.NewKinematics()}
	for _, i := range pl.joint {
		pl.turns = append(pl.turns, arm.Joints[i].Kind.Turning() && !pl.limited(i))
	}
	for _, c := range []struct {
		name string
		bad  bool
	}{
		{"Waypoints", o.Waypoints < 2}, {"Step", !(o.Step > 0) || math.IsInf(o.Step, 1)}, {"Nodes", o.Nodes < 2},
		{"Tries", o.Tries < 1}, {"Margin", math.IsNaN(p.Margin)}, {"Tip", p.Tip.Link >= len(arm.Joints)},
		{"Sides", o.Sides != "" && len(o.Sides) != len(p.Scene.Obstacles)}, {"Sd", math.IsNaN(o.Sd)},
	} {
		if c.bad {
			return nil, fmt.Errorf("plan: %s is out of range", c.name)
		}
	}
	for i, q := range o.Near {
		if len(q) != pl.m {
			return nil, fmt.Errorf("plan: Near[%d] has %d joint values; expected %d", i, len(q), pl.m)
		}
	}
	for _, s := range []struct {
		set constraint.Set
		to  **solver
	}{{p.Path, &pl.path}, {p.Start, &pl.start}, {p.Goal, &pl.goal}} {
		if s.set == nil {
			s.set = p.Path
		}
		if s.set != nil && s.set.Dim() != pl.d {
			return nil, fmt.Errorf("plan: a set of %d numbers; expected those of one configuration, %d", s.set.Dim(),
				pl.d)
		}
		*s.to = newSolver(arm, s.set, p.Limits)
	}
	pl.x0, pl.x1 = make([]float64, pl.d), make([]float64, pl.d)
	pl.q, pl.dir, pl.next = make([]float64, pl.m), make([]float64, pl.m), make([]float64, pl.m)
	pl.gateway()
	pl.trees = [2]tree{{m: pl.m}, {m: pl.m}}
	return pl, nil
}

// retarget has the planner answer queries with other ends.
func (pl *Planner) retarget(p Problem) {
	pl.p.Start, pl.p.Goal = p.Start, p.Goal
	pl.start = newSolver(pl.arm, p.Start, p.Limits)
	pl.goal = newSolver(pl.arm, p.Goal, p.Limits)
}

// Plan answers a query: a function of (seed, query) alone. The error is an *Error, or that of ctx.
func (pl *Planner) Plan(ctx context.Context, seed, query uint64) (*Path, error) {
	pl.ctx = ctx
	pl.draw = drawer{stream: keyed.ArmPaths.Stream(seed, 0), query: query}
	pl.out, pl.began = Path{}, time.Now()
	if err := pl.search(query); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	pl.out.Searched = time.Since(pl.began)
	way := pl.shortcut(pl.joined())
	pl.smooth(way)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := pl.waypoints(way); err != nil {
		return nil, err
	}
	pl.out.Took = time.Since(pl.began)
	found := pl.out
	return &found, nil
}

// joined returns the way from the start to the goal by the trees that have met.
func (pl *Planner) joined() [][]float64 {
	out := pl.trees[0].branch(pl.meet[0])
	slices.Reverse(out)
	return append(out, pl.trees[1].branch(pl.meet[1])...)
}

// search grows trees between ends, anew from others whenever they have as many nodes as an attempt is given, twice as
// many each time: most pairs of ends are joined soon, or hardly at all.
func (pl *Planner) search(query uint64) *Error {
	const first = 1000
	used := 0
	for budget := first; ; budget *= 2 {
		start, goal, err := pl.ends(query)
		if err != nil {
			return err
		}
		err = pl.connect(start, goal, min(budget, pl.o.Nodes-used))
		used += pl.trees[0].n() + pl.trees[1].n()
		pl.out.Nodes = used
		if err == nil || pl.ctx.Err() != nil {
			return err
		}
		if used+first/2 > pl.o.Nodes {
			err.Detail = fmt.Sprintf("%s, after %d nodes of trees; more nodes may join them, where there is a way",
				err.Detail, used)
			return err
		}
	}
}

// ends finds a start and a goal. The goal is sought from the start, by steps that are
// short, so that the arm arrives there much as it begins.
func (pl *Planner) ends(query uint64) (start, goal []float64, err *Error) {
	start, goal = make([]float64, pl.m), make([]float64, pl.m)
	var near []float64
	if k := uint64(len(pl.o.Near)); k > 0 {
		near = pl.o.Near[query%k]
	}
	var seen [2]misses
	for try := 0; try < pl.o.Tries && seen[1].n < 2*pl.o.Tries && pl.ctx.Err() == nil; try++ {
		pl.around(start, near, pl.o.Sd)
		if try > pl.o.Tries/2 && seen[0].best.Reason == Unreachable {
			pl.anywhere(start)
		}
		if !pl.standing(pl.start, start, &seen[0]) {
			continue
		}
		for again := range 1 + min(pl.o.Tries, 20) {
			// again and again from further away
			pl.around(goal, start, 0.1*float64(again))
			if pl.standing(pl.goal, goal, &seen[1]) {
				return start, goal, pl.walls(start, goal)
			}
		}
	}
	name, m := "goal", &seen[1]
	if m.n == 0 {
		name, m = "start", &seen[0]
	}
	if pl.ctx.Err() != nil {
		return nil, nil, &Error{Reason: Stopped, Detail: pl.ctx.Err().Error()}
	}
	e := m.best
	if e.End = name; e.Reason == Blocked {
		e.Detail = fmt.Sprintf("expected %.3g m", pl.keep)
	}
	return nil, nil, &e
}

// around draws joint values about others, or anywhere if near is nil.
func (pl *Planner) around(q, near []float64, sd float64) {
	if near == nil {
		pl.anywhere(q)
		return
	}
	pl.draw.normals(pl.q)
	dense.AddScaled(q, near, max(sd, 0), pl.q)
}

// anywhere draws joint values within limits, or within a turn or 2 m.
func (pl *Planner) anywhere(q []float64) {
	z := pl.q
	pl.draw.uniforms(z)
	for m, j := range pl.joint {
		joint := &pl.arm.Joints[j]
		lo, hi := joint.Lower, joint.Upper
		if joint.Kind.Turning() && !pl.limited(j) {
			lo, hi = -math.Pi, math.Pi
		}
		if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			lo, hi = -1, 1 // metres
		}
		q[m] = lo + z[m]*(hi-lo)
	}
}

// limited reports whether a joint that moves keeps limits.
func (pl *Planner) limited(j int) bool {
	joint := &pl.arm.Joints[j]
	return pl.p.Limits && joint.Kind != robot.Continuous && !math.IsInf(joint.Upper-joint.Lower, 0)
}

// standing brings q to an end and reports whether the arm can stand there.
func (pl *Planner) standing(s *solver, q []float64, seen *misses) bool {
	if !s.solve(q, math.Inf(1)) {
		name, by := s.worst(q)
		limits := s.limits
		if s.limits = false; limits && s.solve(q, math.Inf(1)) {
			if j, beyond := s.outside(q); j >= 0 {
				s.limits = limits
				seen.add(Error{Reason: Outside, What: pl.arm.Joints[pl.joint[j]].Name, Short: beyond}, -beyond)
				return false
			}
		}
		s.limits = limits
		seen.add(Error{Reason: Unreachable, What: name, Short: by}, -by)
		return false
	}
	pl.arm.Coordinates(pl.x0, q)
	if room, pair := pl.room.Clearance(pl.x0); room < pl.keep {
		seen.add(Error{Reason: Blocked, What: pl.p.Scene.Describe(pair), Short: room}, room)
		return false
	}
	return true
}

// misses are how many ends were refused, and the one that came furthest: a blocked one was within reach.
type misses struct {
	n     int
	best  Error
	value float64
}

func (m *misses) add(e Error, value float64) {
	if m.n == 0 || e.Reason > m.best.Reason || e.Reason == m.best.Reason && value > m.value {
		m.best, m.value = e, value
	}
	m.n++
}

// A drawer hands out random numbers of a query, one draw after the other.
type drawer struct {
	stream keyed.Stream
	query  uint64
	next   int
}

func (d *drawer) uniforms(dst []float64) { d.stream.Uniforms(dst, d.query, d.next); d.next++ }
func (d *drawer) normals(dst []float64)  { d.stream.Normals(dst, d.query, d.next); d.next++ }
func (d *drawer) index(n int) int        { d.next++; return d.stream.Index(n, d.query, d.next-1) }
