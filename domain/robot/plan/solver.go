package plan

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A solver brings joint values to a set of one configuration by Gauss–Newton steps
//
//	δq = −Jᵀ (J Jᵀ + λ tr(J Jᵀ))⁻¹ c,  J = ∂c/∂q = ∂c/∂x ∂x/∂q
//
// in the equalities and the inequalities that are violated, none longer than reach in a joint. Along joint values the
// circles are kept as they are. λ is at round-off: it lets rows that repeat each other be.
type solver struct {
	arm    *robot.Arm
	limits bool
	turns  bool // joint values keep their turn: no limit is sought a whole turn away
	names  []string
	m, n   int // equalities, and moving joints
	eval   constraint.Evaluator
	cols   [][2]int // of each moving joint
	low    []float64
	high   []float64

	x, val, jac  []float64
	rows, gram   []float64
	y, step, had []float64
	active       []int
}

const (
	arrived    = 1e-12 // metres or radians
	iterations = 100
	patience   = 15 // steps that may pass without coming nearer
	ridge      = 1e-13
	stride     = 0.2 // of a joint in one step, rad or m
)

func newSolver(arm *robot.Arm, set constraint.Set, limits bool) *solver {
	s := &solver{arm: arm, limits: limits, n: arm.Moving(), x: make([]float64, arm.Dim())}
	if set != nil {
		s.names, s.m, s.eval = constraint.Components(set), len(set.Equalities()), set.NewEvaluator(1)
	}
	for _, i := range arm.Places() {
		j := &arm.Joints[i]
		c, sin := arm.Columns(i)
		s.cols = append(s.cols, [2]int{c, sin})
		lo, hi := j.Lower, j.Upper
		if j.Kind == robot.Continuous {
			lo, hi = math.Inf(-1), math.Inf(1)
		}
		s.low, s.high = append(s.low, lo), append(s.high, hi)
	}
	c := len(s.names)
	s.val, s.jac = make([]float64, c), make([]float64, c*arm.Dim())
	s.rows, s.gram = make([]float64, c*s.n), make([]float64, c*c)
	s.y, s.step, s.had = make([]float64, c), make([]float64, s.n), make([]float64, s.n)
	s.active = make([]int, 0, c)
	return s
}

// solve moves q to the set and reports whether it arrived within the distance far; joints
// stop at their limits. If not, q is where it gave up.
func (s *solver) solve(q []float64, far float64) bool {
	copy(s.had, q)
	s.clamp(q)
	if s.eval.Values == nil {
		return true
	}
	last, best, idle := math.Inf(1), math.Inf(1), 0
	for range iterations {
		s.arm.Coordinates(s.x, q)
		s.eval.Jacobians(s.val, s.jac, s.x, 1)
		worst, _ := constraint.Worst(s.val, s.m)
		if worst <= arrived || worst <= 10*arrived && worst >= last {
			return distance(q, s.had) <= far
		}
		last = worst
		if idle++; worst < 0.99*best {
			best, idle = worst, 0
		}
		if idle > patience || !s.newton() {
			return false
		}
		size := 0.0
		for _, v := range s.step {
			size = max(size, math.Abs(v))
		}
		scale := min(1, stride/size)
		for j := range q {
			q[j] += scale * s.step[j]
		}
		s.clamp(q)
		if distance(q, s.had) > far {
			return false
		}
	}
	return false
}

func (s *solver) newton() bool {
	d := s.arm.Dim()
	s.active = s.active[:0]
	trace := 0.0
	for i, v := range s.val {
		if i >= s.m && !(v > 0) {
			continue
		}
		k := len(s.active)
		row := s.rows[k*s.n : (k+1)*s.n]
		for j, at := range s.cols {
			c, sin := at[0], at[1]
			if sin < 0 {
				row[j] = s.jac[i*d+c]
			} else {
				row[j] = -s.x[sin]*s.jac[i*d+c] + s.x[c]*s.jac[i*d+sin]
			}
		}
		size := dense.Dot(row, row)
		if size < 1e-24 && constraint.Excess(v, i < s.m) <= arrived {
			continue // a circle, or what no joint moves
		}
		trace += size
		s.y[k] = v
		s.active = append(s.active, i)
	}
	k := len(s.active)
	for a := range k {
		for b := range k {
			s.gram[a*k+b] = dense.Dot(s.rows[a*s.n:(a+1)*s.n], s.rows[b*s.n:(b+1)*s.n])
		}
		s.gram[a*k+a] += ridge * trace
	}
	if k == 0 || !dense.Gauss(s.gram[:k*k], s.y[:k], k) {
		return false
	}
	clear(s.step)
	for a := range k {
		dense.Axpy(s.step, -s.y[a], s.rows[a*s.n:(a+1)*s.n])
	}
	return dense.Finite(s.step)
}

// clamp puts joints back to their limits: turning ones to the nearer, by whole turns.
func (s *solver) clamp(q []float64) {
	if !s.limits {
		return
	}
	for j := range q {
		q[j] = min(max(s.nearest(j, q[j]), s.low[j]), s.high[j])
	}
}

// nearest returns v, of a turning joint with limits by whole turns next to their middle.
func (s *solver) nearest(j int, v float64) float64 {
	width := s.high[j] - s.low[j]
	if s.turns || math.IsInf(width, 0) || s.cols[j][1] < 0 {
		return v
	}
	return v - 2*math.Pi*math.Round((v-(s.low[j]+width/2))/(2*math.Pi))
}

// worst returns the component that is violated most at q.
func (s *solver) worst(q []float64) (name string, by float64) {
	if s.eval.Values == nil {
		return "", 0
	}
	s.arm.Coordinates(s.x, q)
	s.eval.Values(s.val, s.x, 1)
	by, i := constraint.Worst(s.val, s.m)
	if i < 0 {
		return "", 0
	}
	return s.names[i], by
}

// outside returns the joint that leaves its limits most; −1 if none does.
func (s *solver) outside(q []float64) (joint int, by float64) {
	joint = -1
	for j, v := range q {
		v = s.nearest(j, v)
		if e := max(s.low[j]-v, v-s.high[j]); e > by {
			joint, by = j, e
		}
	}
	return joint, by
}

func distance(a, b []float64) float64 { return math.Sqrt(dense.SquaredDistance(a, b)) }
