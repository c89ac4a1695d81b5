package trajectory

import (
	"fmt"

	"github.com/landing-diffusion/landing/domain/robot"
)

// A stage is what a waypoint keeps: equalities, then inequalities. They depend on the
// coordinates of a joint, or on features: points of links, and directions behind them.
type stage struct {
	points, directions []robot.Point // Local is a point, or a vector
	half               [2]half
	labels             []label // of all components
	m                  int     // equalities among them
}

// A half is the equalities, or the inequalities, of a stage, in the order of its fields.
type half struct {
	circles []circle
	turns   []turn
	twists  []twist
	tasks   []task
	clears  []clearance
	pairs   []pair
	labels  [6][]label // by field
	row     int        // derivatives of all of them
}

const (
	circles = iota
	turns
	twists
	tasks
	clears
	pairs
)

// A label says what a component is called and depends on.
type label struct {
	head, tail string // head[l,tail]
	alone      bool   // head
	unit       string
	family     string
	of         int // for sums: the place, or the obstacle, that it belongs to; −1: none
	// cols are the numbers of the waypoint that it depends on, in ascending order; ^k, in the
	// end, is the k-th given number.
	cols []int
}

func (n *label) name(l int) string {
	switch {
	case n.alone:
		return n.head
	case n.tail == "":
		return fmt.Sprintf("%s[%d]", n.head, l)
	}
	return fmt.Sprintf("%s[%d,%s]", n.head, l, n.tail)
}

// settle returns the same point, or vector, by the first link that it is fixed to: a point
// on a joint's axis is not moved by the joint. What never moves is on link −1.
func settle(arm *robot.Arm, p robot.Point, vector bool) robot.Point {
	for p.Link >= 0 {
		j := &arm.Joints[p.Link]
		switch {
		case j.Kind == robot.Fixed, j.Kind == robot.Prismatic && vector,
			j.Kind.Turning() && norm(cross(j.Axis, p.Local)) <= 1e-12*norm(p.Local):
		default:
			return p
		}
		if p.Link--; vector {
			p.Local = j.Origin.Rotate(p.Local)
		} else {
			p.Local = j.Origin.Apply(p.Local)
		}
	}
	return p
}

// find returns the number of p in a list of features, to which it is added if it is not there.
func find(list *[]robot.Point, p robot.Point) int {
	for i, q := range *list {
		away := [3]float64{q.Local[0] - p.Local[0], q.Local[1] - p.Local[1], q.Local[2] - p.Local[2]}
		if q.Link == p.Link && norm(away) <= 1e-12*(1+norm(p.Local)) {
			return i
		}
	}
	*list = append(*list, p)
	return len(*list) - 1
}

// A view evaluates a stage: it is scratch.
type view struct {
	*stage
	set       *Set
	arm       *robot.Arm
	kin       *robot.Kinematics
	dim       int
	smooth    bool      // of the point as it is; otherwise of the angles atan2(s, c)
	x         []float64 // D: the configuration on its circles
	q         []float64 // features×3
	jac, hess []float64 // features×3×D
}

func newView(s *Set, st *stage) *view {
	v := &view{stage: st, set: s, arm: s.spec.Arm, kin: s.spec.Arm.NewKinematics(), dim: s.d,
		smooth: s.spec.Form != Reference, x: make([]float64, s.d)}
	v.kin.Track(st.points)
	n := len(st.points) + len(st.directions)
	v.q, v.jac, v.hess = make([]float64, 3*n), make([]float64, 3*n*s.d), make([]float64, 3*n*s.d)
	return v
}

func (v *view) place(x []float64) {
	if !v.smooth {
		v.arm.Unit(v.x, x)
		x = v.x
	}
	v.kin.At(x)
	n := len(v.points)
	v.kin.Points(v.q)
	for i, u := range v.directions {
		w := v.kin.Direction(u.Link, u.Local)
		copy(v.q[3*(n+i):], w[:])
	}
}

// differentiate follows place: derivatives of all features at x.
func (v *view) differentiate(x []float64) {
	d, n := v.dim, len(v.points)
	v.kin.PointsJacobian(v.jac)
	for i, u := range v.directions {
		v.kin.DirectionJacobian(v.jac[3*d*(n+i):3*d*(n+i+1)], u.Link, u.Local)
	}
	for row := v.jac; !v.smooth && len(row) > 0; row = row[d:] {
		v.arm.UnitTangent(row[:d], x, row[:d])
	}
}

// bend follows differentiate: ∇²q·dx of all features.
func (v *view) bend(dx []float64) {
	d, n := v.dim, len(v.points)
	v.kin.Along(dx)
	for i, p := range v.points {
		v.kin.PointHessian(v.hess[3*d*i:3*d*(i+1)], p.Link, p.Local)
	}
	for i, u := range v.directions {
		v.kin.DirectionHessian(v.hess[3*d*(n+i):3*d*(n+i+1)], u.Link, u.Local)
	}
}

func (v *view) at(i int) [3]float64 { return [3]float64(v.q[3*i : 3*i+3]) }

// values writes the components of half h at the configuration of place, x; given are the given numbers.
func (v *view) values(out []float64, h int, x, given []float64) {
	half := &v.half[h]
	for i, k := range half.circles {
		out[i] = k.value(x)
	}
	out = out[len(half.circles):]
	for i := range half.turns {
		out[i] = half.turns[i].value(x)
	}
	out = out[len(half.turns):]
	for i := range half.twists {
		out[i] = half.twists[i].value(x, given)
	}
	out = out[len(half.twists):]
	for i := range half.tasks {
		k := &half.tasks[i]
		t := dot(k.w, v.at(k.feature)) - k.ref
		if k.given >= 0 {
			t -= k.scale * given[k.given]
		}
		out[i] = t
	}
	out = out[len(half.tasks):]
	for i := range half.clears {
		k := &half.clears[i]
		out[i] = k.pad - v.set.spec.Obstacles[k.obstacle].Distance(v.at(k.point))
	}
	out = out[len(half.clears):]
	for i := range half.pairs {
		k := &half.pairs[i]
		out[i] = k.pad - norm(v.away(k))
	}
}

func (v *view) away(k *pair) [3]float64 {
	from := k.still
	if k.a >= 0 {
		from = v.at(k.a)
	}
	return minus(v.at(k.b), from)
}

func minus(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// gradients writes the derivatives of the components of half h along their columns, after differentiate.
func (v *view) gradients(out []float64, h int, x, given []float64) {
	half := &v.half[h]
	for _, k := range half.circles {
		out = k.gradient(out, x)
	}
	for i := range half.turns {
		out = half.turns[i].gradient(out)
	}
	for i := range half.twists {
		out = half.twists[i].gradient(out, x, given)
	}
	out = v.tasks(out, half, v.jac, 1)
	for i := range half.clears {
		k := &half.clears[i]
		_, n := v.set.spec.Obstacles[k.obstacle].At(v.at(k.point))
		out = v.pull(out, v.jac, k.point, [3]float64{-n[0], -n[1], -n[2]}, half.labels[clears][i].cols)
	}
	for i := range half.pairs {
		k := &half.pairs[i]
		u, cols := direction(v.away(k)), half.labels[pairs][i].cols
		rest := v.pull(out, v.jac, k.b, [3]float64{-u[0], -u[1], -u[2]}, cols)
		if k.a >= 0 {
			v.add(out, v.jac, k.a, u, cols)
		}
		out = rest
	}
}

// tasks writes wᵀ∂q of tasks, from rows of jac, or wᵀ∇²q dx, from rows of hess; slope is 1 or 0, the
// part of a given number.
func (v *view) tasks(out []float64, half *half, rows []float64, slope float64) []float64 {
	for i := range half.tasks {
		k, cols := &half.tasks[i], half.labels[tasks][i].cols
		if k.given < 0 {
			out = v.pull(out, rows, k.feature, k.w, cols)
			continue
		}
		out = v.pull(out, rows, k.feature, k.w, cols[:len(cols)-1])
		out[0] = 0 - slope*k.scale
		out = out[1:]
	}
	return out
}

// direction returns v/‖v‖, and 0 of 0.
func direction(v [3]float64) [3]float64 {
	if v == [3]float64{} {
		return v
	}
	return unit(v)
}

// pull writes wᵀ∂q of a feature along the columns, and returns the rest of out.
func (v *view) pull(out, jac []float64, feature int, w [3]float64, cols []int) []float64 {
	d := v.dim
	j := jac[3*d*feature : 3*d*(feature+1)]
	a, b, c := j[:d], j[d:2*d], j[2*d:3*d]
	for i, k := range cols {
		out[i] = w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
	return out[len(cols):]
}

func (v *view) add(out, jac []float64, feature int, w [3]float64, cols []int) []float64 {
	d := v.dim
	j := jac[3*d*feature : 3*d*(feature+1)]
	a, b, c := j[:d], j[d:2*d], j[2*d:3*d]
	for i, k := range cols {
		out[i] += w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
	return out[len(cols):]
}

// along returns the derivative of a feature along dx.
func (v *view) along(feature int, dx []float64) (out [3]float64) {
	d := v.dim
	for r := range out {
		row := v.jac[(3*feature+r)*d : (3*feature+r+1)*d]
		for k, t := range dx {
			out[r] += row[k] * t
		}
	}
	return out
}

// hessians writes ∇²c·(dx, dgiven) of the components of half h along their columns, after bend.
func (v *view) hessians(out []float64, h int, dx, dgiven []float64) {
	half := &v.half[h]
	for _, k := range half.circles {
		out = k.gradient(out, dx)
	}
	for i := range half.turns {
		out = half.turns[i].hessian(out)
	}
	for i := range half.twists {
		out = half.twists[i].hessian(out, dx, dgiven)
	}
	out = v.tasks(out, half, v.hess, 0)
	for i := range half.clears { // −(∇φᵀ∇²p dx + ∂pᵀ ∇²φ ∂p dx)
		k := &half.clears[i]
		o, cols := v.set.spec.Obstacles[k.obstacle], half.labels[clears][i].cols
		p := v.at(k.point)
		_, n := o.At(p)
		w := o.HessianVector(p, v.along(k.point, dx))
		v.pull(out, v.hess, k.point, [3]float64{-n[0], -n[1], -n[2]}, cols)
		out = v.add(out, v.jac, k.point, [3]float64{-w[0], -w[1], -w[2]}, cols)
	}
	for i := range half.pairs { // with u = (p_b − p_a)/r: ∇²r = (I − uuᵀ)/r
		k := &half.pairs[i]
		cols, away := half.labels[pairs][i].cols, v.away(k)
		r, u, w := norm(away), direction(away), v.along(k.b, dx)
		if k.a >= 0 {
			w = minus(w, v.along(k.a, dx))
		}
		if s := dot(u, w); r > 0 {
			w = [3]float64{(w[0] - s*u[0]) / r, (w[1] - s*u[1]) / r, (w[2] - s*u[2]) / r}
		}
		v.pull(out, v.hess, k.b, [3]float64{-u[0], -u[1], -u[2]}, cols)
		rest := v.add(out, v.jac, k.b, [3]float64{-w[0], -w[1], -w[2]}, cols)
		if k.a >= 0 {
			v.add(out, v.hess, k.a, u, cols)
			v.add(out, v.jac, k.a, w, cols)
		}
		out = rest
	}
}
