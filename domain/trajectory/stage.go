package trajectory

import (
	"fmt"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A stage is what a waypoint keeps: its equalities, then its inequalities. They depend on the coordinates of a joint,
// or on features: points of links, and directions behind them.
type stage struct {
	points, directions []robot.Point  // Local is a point, or a vector
	half               [2][]component // equalities, inequalities
	row                [2]int         // derivatives of a half
}

// A component is one number that a waypoint keeps.
type component struct {
	label
	part
}

// A part computes a component. out has a place for each column of its label.
type part interface {
	value(v *view) float64
	// gradient follows view.differentiate.
	gradient(v *view, out []float64, cols []int)
	// hessian writes ∇²c·(dx, dgiven). It follows view.bend.
	hessian(v *view, out []float64, cols []int)
}

// An order is that of the components in each half of a stage.
type order int

const (
	circles order = iota
	turns
	twists
	tasks
	clears
	pairs
)

// A label says what a component is called and depends on.
type label struct {
	order
	head, tail string // head[l,tail]
	alone      bool   // head
	unit       string
	family     string
	// cols are the numbers that it depends on, counted from those of its (first) waypoint, in ascending order; ^k, in
	// the end, is the k-th given number.
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
			j.Kind.Turning() && vec3.Norm(vec3.Cross(j.Axis, p.Local)) <= 1e-12*vec3.Norm(p.Local):
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
		if q.Link == p.Link && vec3.Norm(vec3.Minus(q.Local, p.Local)) <= 1e-12*(1+vec3.Norm(p.Local)) {
			return i
		}
	}
	*list = append(*list, p)
	return len(*list) - 1
}

// A view evaluates components at a waypoint: it is scratch.
type view struct {
	*stage
	after        *view // of the next waypoint, for components of both
	set          *Set
	kin          *robot.Kinematics
	dim          int
	x, given     []float64 // the point from the waypoint on, and its given numbers
	dx, dgiven   []float64 // a tangent there
	q, jac, hess []float64 // features×3, ×D
}

func newView(s *Set, st *stage) *view {
	v := &view{stage: st, set: s, kin: s.spec.Arm.NewKinematics(), dim: s.d}
	v.kin.Track(st.points)
	n := len(st.points) + len(st.directions)
	v.q, v.jac, v.hess = make([]float64, 3*n), make([]float64, 3*n*s.d), make([]float64, 3*n*s.d)
	return v
}

// place looks at the waypoint with which x begins.
func (v *view) place(x, given []float64) {
	v.x, v.given = x, given
	v.kin.At(x[:v.dim])
	n := len(v.points)
	v.kin.Points(v.q)
	for i, u := range v.directions {
		w := v.kin.Direction(u.Link, u.Local)
		copy(v.q[3*(n+i):], w[:])
	}
}

// differentiate follows place: derivatives of all features.
func (v *view) differentiate() {
	d, n := v.dim, len(v.points)
	v.kin.PointsJacobian(v.jac)
	for i, u := range v.directions {
		v.kin.DirectionJacobian(v.jac[3*d*(n+i):3*d*(n+i+1)], u.Link, u.Local)
	}
}

// bend follows differentiate: ∇²q·dx of all features.
func (v *view) bend(dx, dgiven []float64) {
	v.dx, v.dgiven = dx, dgiven
	d, n := v.dim, len(v.points)
	v.kin.Along(dx[:d])
	for i, p := range v.points {
		v.kin.PointHessian(v.hess[3*d*i:3*d*(i+1)], p.Link, p.Local)
	}
	for i, u := range v.directions {
		v.kin.DirectionHessian(v.hess[3*d*(n+i):3*d*(n+i+1)], u.Link, u.Local)
	}
}

func (v *view) at(i int) [3]float64 { return [3]float64(v.q[3*i : 3*i+3]) }

// values writes the values of components and returns the rest of out.
func (v *view) values(out []float64, list []component) []float64 {
	for i := range list {
		out[i] = list[i].value(v)
	}
	return out[len(list):]
}

// gradients writes the derivatives of components along their columns and returns the rest of out.
func (v *view) gradients(out []float64, list []component) []float64 {
	for i := range list {
		c := &list[i]
		c.gradient(v, out, c.cols)
		out = out[len(c.cols):]
	}
	return out
}

// hessians writes ∇²c·(dx, dgiven) of components along their columns and returns the rest of out.
func (v *view) hessians(out []float64, list []component) []float64 {
	for i := range list {
		c := &list[i]
		c.hessian(v, out, c.cols)
		out = out[len(c.cols):]
	}
	return out
}

// pull writes wᵀ∂q of a feature along the columns, from its rows of jac or hess.
func (v *view) pull(out, rows []float64, feature int, w [3]float64, cols []int) {
	a, b, c := v.rows(rows, feature)
	for i, k := range cols {
		out[i] = w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
}

// add adds wᵀ∂q likewise.
func (v *view) add(out, rows []float64, feature int, w [3]float64, cols []int) {
	a, b, c := v.rows(rows, feature)
	for i, k := range cols {
		out[i] += w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
}

func (v *view) rows(all []float64, feature int) (a, b, c []float64) {
	d := v.dim
	j := all[3*d*feature : 3*d*(feature+1)]
	return j[:d], j[d : 2*d], j[2*d : 3*d]
}

// along returns the derivative of a feature along dx.
func (v *view) along(feature int) (out [3]float64) {
	d := v.dim
	for r := range out {
		row := v.jac[(3*feature+r)*d : (3*feature+r+1)*d]
		for k, t := range v.dx[:d] {
			out[r] += row[k] * t
		}
	}
	return out
}
