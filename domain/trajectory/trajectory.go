// Package trajectory describes feasible sets of motions of a serial arm: L configurations
// x = (x_1, …, x_L), each as package robot writes one, D numbers, on which there are
//
//	(c² + s² − 1)/2 = 0              for each turning joint: (c, s) is on its circle,
//	w·p(x_l) = v,  lo ≤ w·p ≤ hi     tasks: of a link's point p or direction, kept throughout
//	                                 or by the first or last configuration,
//	(cos β − c cos m − s sin m)/sin β ≤ 0
//	                                 limits: the joint is within β of m. The half-plane cuts the
//	                                 circle at the limits, so it is right for any β < π,
//	(cos δ − c c′ − s s′)/sin δ ≤ 0  steps: the joint moves by at most δ to the next waypoint,
//	(cos δ − Re(z₊ z₋ z̄²))/sin δ ≤ 0 bends: a step differs from the one before by at most δ; z = c + is,
//	r + margin − φ(p) ≤ 0            clearance: the sphere of radius r about p is outside of an
//	                                 obstacle whose signed distance is φ,
//	r + margin + Σ b|z′ − z|²/8 − min φ ≤ 0  the same on the way to the next waypoint: within the
//	                                 sum of the chord, on which φ is least (scene.Bow),
//	r_a + r_b + margin − ‖p_a − p_b‖ ≤ 0  of two parts of the arm,
//
// with exact first and second derivatives. All of them are in metres or, to first order at
// the edge, in radians; those of circles are to first order distances in (c, s).
//
// Components of different waypoints share no coordinates but for steps and bends, so package
// geometry factors each waypoint alone, and of the equalities the normal space is known in
// closed form (normal.go).
//
// A start or goal can be left open (Given): its coordinates then stand behind those of
// the waypoints in a point, and the set is that of all pairs of a place and a motion there.
package trajectory

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
)

// A Spec says what a Set is made of. Arm and Waypoints are needed; without the rest there are circles alone.
type Spec struct {
	Arm         *robot.Arm
	Waypoints   int    // L
	Start, Goal Place  // of the first and of the last waypoint
	Path        []Task // kept at every waypoint
	Limits      bool   // keep the joints' own

	// Steps holds how far each joint of the arm may move from a waypoint to the next,
	// radians or metres, by its number in the arm; 0: any distance. nil: none is bounded.
	Steps []float64
	// Bends holds how much a step of each joint may differ from the one before, likewise.
	Bends  []float64
	Period float64 // seconds from a waypoint to the next, which Steps and Bends follow from; 0: they do not

	Obstacles []scene.Obstacle
	Volume    []robot.Sphere // what stays clear of them; radii may be 0
	Self      [][2]int       // pairs of Volume that stay clear of each other
	Margin    float64        // added to each distance that is kept, m
	// Segments keeps the distances to obstacles on the straight motions in joint space between waypoints too.
	Segments bool
}

// Tip returns the point of the arm that the motions are about: the one whose place is left open, else the first that a
// task of Start, Goal or Path asks where it is, else the origin of the last link.
func (s *Spec) Tip() robot.Point {
	for _, p := range []Place{s.Start, s.Goal} {
		if p.Given.Position != nil {
			return *p.Given.Position
		}
	}
	for _, tasks := range [][]Task{s.Start.Tasks, s.Goal.Tasks, s.Path} {
		for _, t := range tasks {
			if !t.Direction {
				return robot.Point{Link: t.Link, Local: t.Local}
			}
		}
	}
	return robot.Point{Link: len(s.Arm.Joints) - 1}
}

// A Place is what the first or the last waypoint keeps.
type Place struct {
	Joints []float64 // values of the moving joints, in the order of the chain; nil: any
	Tasks  []Task
	Given  Given // of what the point itself says
}

// Given says what of a place is part of the point.
type Given struct {
	Joints   bool         // the configuration: D numbers
	Position *robot.Point // or where this point of a link is: 3 numbers
}

// An Error says what in a Spec cannot be.
type Error struct {
	Field string // "goal", "path[2]", "obstacles[0]"
	Fault string
}

func (e *Error) Error() string { return "trajectory: " + e.Field + ": " + e.Fault }

const (
	// MaxWaypoints and MaxComponents bound a set.
	MaxWaypoints  = 1000
	MaxComponents = 65_536
	// whole: limits that leave out less than this of the circle, radians, leave out nothing.
	whole = 1e-6
)

// A Set is the set of a Spec.
type Set struct {
	spec       Spec
	l, d       int      // waypoints, numbers of each
	given      []string // names of the coordinates behind them
	stages     []*stage // of each waypoint; those that keep the same are one
	across     []across
	swept      []robot.Point // that components of two waypoints are about
	equalities []string
	rest       []string
	support    [][]int
	families   []constraint.Family
	row, rowH  int  // derivatives along the support at one point; of equalities alone
	equal      *Set // of the equalities alone; the set itself if there are no others
}

// across are components of a waypoint and the next `span` ones, at every waypoint that has them.
type across struct {
	components []component
	span       int
}

// sweeps reports whether the components are about places of links at both waypoints.
func (a *across) sweeps() bool {
	if len(a.components) == 0 {
		return false
	}
	_, is := a.components[0].part.(*sweep)
	return is
}

// New makes a Set. The error is an *Error, or that of robot.Arm.Check.
func New(spec Spec) (constraint.Set, error) {
	if err := spec.Arm.Check(); err != nil {
		return nil, err
	}
	s, err := build(spec, false)
	if err != nil {
		return nil, err
	}
	s.equal = s
	if len(s.rest) > 0 {
		if s.equal, err = build(spec, true); err != nil {
			return nil, err
		}
		s.equal.equal = s.equal
	}
	return s, nil
}

func (s *Set) Dim() int               { return s.l*s.d + len(s.given) }
func (s *Set) Equalities() []string   { return s.equalities }
func (s *Set) Inequalities() []string { return s.rest }

// Spec returns what the set was made of, to be read.
func (s *Set) Spec() Spec { return s.spec }

// Held returns the numbers of those coordinates in a point of a Spec's set, for constraint.Hold: nil if it has none.
func Held(spec Spec) (at []int) {
	n := 0
	for _, p := range []Place{spec.Start, spec.Goal} {
		if p.Given.Joints {
			n += spec.Arm.Dim()
		}
		if p.Given.Position != nil {
			n += 3
		}
	}
	for k := range n {
		at = append(at, spec.Waypoints*spec.Arm.Dim()+k)
	}
	return at
}

func (s *Set) String() string { return fmt.Sprintf("%d waypoints of %s", s.l, s.spec.Arm.Name) }

func (s *Set) Capabilities() constraint.Capabilities {
	c := constraint.Capabilities{Name: s.String(), Support: s.support, Start: s.start, Steps: s.l, StepDim: s.d,
		Families: s.families, HeldNames: s.given}
	if !slices.ContainsFunc(s.spec.Arm.Joints, func(j robot.Joint) bool { return j.Follow != nil }) {
		c.Formulas = s.formulas
	}
	if s.equal != s {
		c.Equalities = func() constraint.Set { return s.equal }
	}
	return c
}

// start writes a straight motion between two random configurations.
func (s *Set) start(dst []float64, stream keyed.Stream, sample uint64, try int) {
	stream.Normals(dst, sample, try)
	arm := s.spec.Arm
	n := arm.Moving()
	a, b, q := make([]float64, n), make([]float64, n), make([]float64, n)
	Random(a, arm, dst)
	Random(b, arm, dst[n:])
	if s.l == 1 || 2*n > len(dst) {
		copy(b, a)
	}
	given := slices.Clone(dst[s.l*s.d:])
	for l := range s.l {
		for j := range q {
			q[j] = a[j] + (b[j]-a[j])*float64(l)/float64(max(s.l-1, 1))
		}
		arm.Coordinates(dst[l*s.d:(l+1)*s.d], q)
	}
	copy(dst[s.l*s.d:], given)
}

// Random writes joint values within the limits of an arm, uniform where the numbers z are
// Gaussian: of joints without limits turns within (−π, π), and displacements z.
func Random(q []float64, arm *robot.Arm, z []float64) {
	n := 0
	for i := range arm.Joints {
		j := &arm.Joints[i]
		if !j.Free() {
			continue
		}
		u, v := 0.5*math.Erfc(-z[n%len(z)]/math.Sqrt2), z[n%len(z)]
		lo, hi := j.Lower, j.Upper
		if j.Kind.Turning() && (j.Kind == robot.Continuous || math.IsInf(lo, 0) || math.IsInf(hi, 0)) {
			lo, hi = -math.Pi, math.Pi
		}
		if q[n] = lo + u*(hi-lo); q[n]-q[n] != 0 {
			q[n] = v
		}
		n++
	}
}

func (s *Set) NewEvaluator(int) constraint.Evaluator {
	e := newEvaluator(s)
	out := constraint.Dense(constraint.Evaluator{Values: e.Values, SparseJacobians: e.SparseJacobians,
		SparseHessianVectors: e.SparseHessianVectors}, s.support, s.Dim())
	switch {
	case len(s.rest) > 0:
	case len(s.given) == 0:
		out.Projector = newNormals(s)
	default:
		out.HeldProjector = func(held []int) constraint.Projector {
			if !slices.Equal(held, Held(s.spec)) {
				return nil
			}
			return newNormals(s)
		}
	}
	return out
}
