package trajectories

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/timing"
)

const (
	passes     = 3    // of smoothing
	repairs    = 3    // that are tried
	mostPieces = 8    // knots of a motion from waypoint to waypoint, at most
	mostKnots  = 240  // and in all, where there are fewer waypoints
	mostBroken = 1e-9 // of an inequality of the set, in its unit
	leastPause = 1e-3 // s from knot to knot
	ramp       = 0.5  // s from rest to a joint's largest velocity, where nothing bounds its acceleration
	slowRamp   = 1    // rad/s² or m/s² where nothing bounds its velocity either
	mostOff    = 1e-4 // rad or m that a task may be off between waypoints
	evenStep   = 0.1  // of the mean step: shorter ones count as so long in the spline
	leastStep  = 1e-9 // of joints that do not move
	nearLimit  = 1e-9 // beyond a joint's limit, rad or m
	wholeTurn  = 2 * math.Pi
)

// pieces returns how many knots of a motion in time there are from a waypoint to the next.
func (m *motion) pieces() int { return max(1, min(mostPieces, mostKnots/max(m.waypoints-1, 1))) }

// unwind shifts turning joints by whole turns into their limits. Where the first waypoint is given by its joints, those
// say which turn, if that one fits. It returns by how much a joint leaves its limits then, and the joint.
func (m *motion) unwind(q []float64) (excess float64, joint int) {
	n := m.arm.Moving()
	joint = -1
	for j, place := range m.places {
		l, low, high, turn := m.limitsOf(place), math.Inf(1), math.Inf(-1), 0.0
		for at := j; at < len(q); at += n {
			low, high = min(low, q[at]), max(high, q[at])
		}
		beyond := func(turn float64) float64 { return max(l[0]-low-turn, high+turn-l[1]) }
		if m.arm.Joints[place].Kind.Turning() {
			if given := m.spec.Start.Joints; given != nil {
				turn = wholeTurn * math.Round((given[j]-q[j])/wholeTurn)
			}
			middle := wholeTurn * math.Round((l[0]+l[1]-low-high)/2/wholeTurn)
			if beyond(turn) > 0 && beyond(middle) < beyond(turn)-nearLimit {
				turn = middle
			}
		}
		for at := j; at < len(q); at += n {
			q[at] += turn
		}
		if e := beyond(turn); e > excess {
			excess, joint = e, place
		}
	}
	return excess, joint
}

// limitsOf are the limits of a joint, infinite where it turns freely.
func (m *motion) limitsOf(place int) [2]float64 {
	if l := &m.arm.Joints[place]; l.Kind != robot.Continuous {
		return [2]float64{l.Lower, l.Upper}
	}
	return [2]float64{math.Inf(-1), math.Inf(1)}
}

// bounds are those of velocities and accelerations: the joints' own, and set.acceleration where set.period says of
// what time.
func (m *motion) bounds() (b timing.Bounds) {
	for _, place := range m.places {
		v, a := m.arm.Joints[place].Velocity, float64(slowRamp)
		switch h := m.spec.Period; {
		case h > 0 && m.spec.Bends != nil && m.spec.Bends[place] > 0:
			a = m.spec.Bends[place] / (h * h)
		case v > 0 && !math.IsInf(v, 1):
			a = v / ramp
		}
		if v == 0 {
			v = math.Inf(1)
		}
		b.Velocity, b.Acceleration = append(b.Velocity, v), append(b.Acceleration, a)
	}
	return b
}

// A runner makes motions in time: scratch of one goroutine.
type runner struct {
	*follower
	repairer *plan.Planner
	reach    float64 // m that a point of the arm moves at most as a joint turns by a radian
	eval     constraint.Evaluator
	point    []float64 // of the whole set: waypoints, and what stands behind them, with the motion's own condition
	val      []float64
}

func (m *motion) newRunner() *runner {
	problem, err := plan.Of(m.spec, m.tip)
	whole := constraint.Whole(m.set)
	r := &runner{follower: m.follower(), reach: m.scene.Reach(), eval: whole.NewEvaluator(1),
		point: make([]float64, whole.Dim()), val: make([]float64, len(constraint.Components(m.set)))}
	if problem.Scene = m.scene; err == nil {
		r.repairer, err = plan.NewRepairer(problem, max(m.waypoints, 2))
	}
	if err != nil {
		panic("trajectories: " + err.Error()) // the set is made of the same
	}
	return r
}

// time makes the motion in time through waypoints: the spline through them, knots of it brought onto the task, and the
// spline through these. onto is false if a knot is where the waypoints' spline has it.
func (r *runner) time(q []float64) (out *timing.Motion, onto bool) {
	n, pieces := r.arm.Moving(), r.pieces()
	at, steps, mean := make([]float64, n), make([]float64, r.waypoints-1), way(q, n)/float64(r.waypoints)
	for i := range steps {
		steps[i] = max(way(q[i*n:(i+2)*n], n), evenStep*mean, leastStep)
	}
	coarse, onto := timing.NewSpline(q, n, steps), true
	var knots, fine []float64
	for i, h := range steps {
		for k := range pieces {
			t := float64(k) / float64(pieces)
			if coarse.At(at, i, t); k > 0 && !r.repairer.Onto(at) {
				coarse.At(at, i, t)
				onto = false
			}
			knots, fine = append(knots, at...), append(fine, h/float64(pieces))
		}
	}
	knots = append(knots, q[len(q)-n:]...)
	return timing.NewSpline(knots, n, fine).Times(r.bounds(), max(leastPause, r.spec.Period/float64(pieces))), onto
}

// broken returns the inequality of the set that waypoints violate most, and by how much.
func (r *runner) broken(q []float64) (by float64, component int) {
	n, m := r.arm.Moving(), len(r.set.Equalities())
	for l := 1; l < r.waypoints-1; l++ {
		r.arm.Coordinates(r.point[l*r.size:(l+1)*r.size], q[l*n:(l+1)*n])
	}
	r.eval.Values(r.val, r.point, 1)
	by, component = constraint.Worst(r.val[m:], 0)
	return by, m + component
}

// faulty says why the motion through waypoints cannot be run, empty if it can, and how far tasks are off between knots.
func (r *runner) faulty(q []float64) (why string, off float64) {
	left := func(e float64, place int) string {
		return fmt.Sprintf("joint %s leaves its limits by %.3g %s", jointName(r.arm, place), e,
			unitOf(r.arm.Joints[place].Kind))
	}
	if e, place := r.unwind(q); r.limits && e > nearLimit {
		return left(e, place), 0
	}
	n, x := r.arm.Moving(), make([]float64, r.size)
	at := make([]float64, n)
	touches := func(from, to []float64, room float64) bool {
		r.arm.Coordinates(r.x, from)
		r.arm.Coordinates(x, to)
		return r.checker != nil && !r.checker.Clear(r.x, x, room)
	}
	const touching = "it touches something, or is not proven not to, behind waypoint %d"
	for l := range r.waypoints - 1 {
		if touches(q[l*n:(l+1)*n], q[(l+1)*n:(l+2)*n], 0) {
			return fmt.Sprintf(touching, l), 0
		}
	}
	if by, i := r.broken(q); by > mostBroken {
		return fmt.Sprintf("it violates %q by %.3g", constraint.Components(r.set)[i], by), 0
	}
	m, onto := r.time(q)
	if !onto {
		return "the task cannot be kept between waypoints", 0
	}
	for i := range len(m.Time) - 1 {
		far, turned, slid, t := r.reach, 0.0, 0.0, m.Time[i+1]-m.Time[i]
		for j, place := range r.places {
			v, _, a := m.Hull(i, j)
			low, high := slices.Min(v[:]), slices.Max(v[:])
			l := r.limitsOf(place)
			if e := max(l[0]-low, high-l[1]); r.limits && e > nearLimit {
				return left(e, place), 0
			}
			at[j] = (v[0] + 3*v[1] + 3*v[2] + v[3]) / 8
			if bow := max(a[0], a[1], -a[0], -a[1]) * t * t / 8; r.arm.Joints[place].Kind.Turning() {
				turned += bow
			} else {
				slid, far = slid+bow, far+max(-low, high)
			}
		}
		bow := turned*far + slid // how far bodies are from where they would be if joints went straight
		if len(r.scene.Self) > 0 {
			bow *= 2 // two bodies move
		}
		if touches(m.Q[i*n:(i+1)*n], m.Q[(i+1)*n:(i+2)*n], bow) {
			return fmt.Sprintf(touching, i/r.pieces()), 0
		}
		if off = max(off, r.repairer.Off(at)); off > mostOff {
			return fmt.Sprintf("a task is off by %.3g behind waypoint %d", off, i/r.pieces()), 0
		}
	}
	return "", off
}

// finish smooths a motion, and where it touches something or leaves limits makes another one of its waypoints.
func (r *runner) finish(ctx context.Context, x []float64, seed, number uint64) (out domain.Finished) {
	q, n := r.q, r.arm.Moving()
	r.joints(q, x)
	copy(r.point, x)
	r.repairer.Relax(q, passes, func(q []float64) bool { by, _ := r.broken(q); return by <= mostBroken })
	out.Fault, out.Off = r.faulty(q)
	for try := 0; out.Fault != "" && try < repairs; try++ {
		out.Changed = true
		if found, err := r.repairer.Repair(ctx, q, seed, number, try); err == nil {
			if out.Fault, out.Off = r.faulty(found.Q); out.Fault == "" {
				copy(q, found.Q)
			}
		}
	}
	for l := 1; l < r.waypoints-1; l++ {
		r.arm.Coordinates(x[l*r.size:(l+1)*r.size], q[l*n:(l+1)*n])
	}
	return out
}

// finisher returns what makes of motions those that can be run; nil where there is nothing to leave or to hit.
func (m *motion) finisher() func() domain.Finisher {
	if m.waypoints < 3 || !m.limits && m.scene.Pairs() == 0 {
		return nil
	}
	return func() domain.Finisher { return m.newRunner().finish }
}
