package trajectory

import (
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A circle is (c² + s² − 1)/2 of a turning joint: a quadratic form, so that its gradient at dx is its Hessian product.
type circle struct{ c, s int }

func (k *circle) value(v *view) float64 {
	c, s := v.x[k.c], v.x[k.s]
	return (c*c + s*s - 1) / 2
}

func (k *circle) gradient(v *view, out []float64, _ []int) { out[0], out[1] = v.x[k.c], v.x[k.s] }
func (k *circle) hessian(v *view, out []float64, _ []int)  { out[0], out[1] = v.dx[k.c], v.dx[k.s] }

// A turn is a·c + b·s − ref of one joint; of a sliding one s is −1, and c its displacement.
type turn struct {
	c, s      int
	a, b, ref float64
}

func (k *turn) value(v *view) float64 {
	t := k.a*v.x[k.c] - k.ref
	if k.s >= 0 {
		t += k.b * v.x[k.s]
	}
	return t
}

func (k *turn) gradient(_ *view, out []float64, _ []int) {
	if out[0] = k.a; k.s >= 0 {
		out[1] = k.b
	}
}

func (k *turn) hessian(_ *view, out []float64, cols []int) { clear(out[:len(cols)]) }

// A twist compares a joint with the one that the point gives: s C − c S, the sine of the
// difference, or if it tells the side −(c C + s S); of a sliding joint δ − Δ. It is bilinear.
type twist struct {
	c, s  int
	given int // where the given configuration begins
	side  bool
}

func (k *twist) value(v *view) float64 {
	x, g := v.x, v.given[k.given:]
	switch {
	case k.s < 0:
		return x[k.c] - g[k.c]
	case k.side:
		return -x[k.c]*g[k.c] - x[k.s]*g[k.s]
	}
	return x[k.s]*g[k.c] - x[k.c]*g[k.s]
}

func (k *twist) gradient(v *view, out []float64, _ []int) { k.slope(out, v.x, v.given[k.given:], 1) }
func (k *twist) hessian(v *view, out []float64, _ []int)  { k.slope(out, v.dx, v.dgiven[k.given:], 0) }

// slope writes the gradient, or the Hessian's product: of a sliding joint slides is the derivative.
func (k *twist) slope(out, x, g []float64, slides float64) {
	switch {
	case k.s < 0:
		out[0], out[1] = slides, -slides
	case k.side:
		out[0], out[1], out[2], out[3] = -g[k.c], -g[k.s], -x[k.c], -x[k.s]
	default:
		out[0], out[1], out[2], out[3] = -g[k.s], g[k.c], x[k.s], -x[k.c]
	}
}

// A step is (cos δ − c c′ − s s′)/sin δ of a turning joint, a = cos δ and w = 1/sin δ, from a waypoint to the next;
// of a sliding one, s = −1, w (x′ − x) − δ, a = δ and w = ±1. It is bilinear.
type step struct {
	c, s int
	a, w float64
}

func (t *step) value(v *view) float64 {
	x, y := v.x, v.x[v.dim:]
	if t.s < 0 {
		return t.w*(y[t.c]-x[t.c]) - t.a
	}
	return t.w * (t.a - x[t.c]*y[t.c] - x[t.s]*y[t.s])
}

func (t *step) gradient(v *view, out []float64, _ []int) { t.slope(out, v.x, v.x[v.dim:], t.w) }
func (t *step) hessian(v *view, out []float64, _ []int)  { t.slope(out, v.dx, v.dx[v.dim:], 0) }

// slope writes the gradient, or the Hessian's product: of a sliding joint slides is the derivative.
func (t *step) slope(out, x, y []float64, slides float64) {
	if t.s < 0 {
		out[0], out[1] = -slides, slides
		return
	}
	out[0], out[1], out[2], out[3] = -t.w*y[t.c], -t.w*y[t.s], -t.w*x[t.c], -t.w*x[t.s]
}

// A bend bounds by how much a step of a joint differs from the one before. With z = c + is of a turning joint, and z₋
// and z₊ one waypoint before and after, the second difference of its angles is that of z₊ z₋ z̄², so that the bound δ
// is
//
//	(cos δ − Re(z₊ z₋ z̄²))/sin δ ≤ 0,
//
// a = cos δ and w = 1/sin δ. Of a sliding one, s = −1: w (x₊ − 2x + x₋) − a ≤ 0, with a = δ and w = ±1.
type bend struct {
	c, s int
	a, w float64
}

// of returns what the bend sees of the first, second or third waypoint: a complex number, or the displacement.
func (t *bend) of(x []float64, d, waypoint int) (c, s float64) {
	x = x[waypoint*d:]
	if t.s < 0 {
		return x[t.c], 0
	}
	return x[t.c], x[t.s]
}

func (t *bend) value(v *view) float64 {
	a, b := t.of(v.x, v.dim, 0)
	c, s := t.of(v.x, v.dim, 1)
	p, q := t.of(v.x, v.dim, 2)
	if t.s < 0 {
		return t.w*(p-2*c+a) - t.a
	}
	return t.w * (t.a - (p*a-q*b)*(c*c-s*s) - (q*a+p*b)*2*c*s)
}

func (t *bend) gradient(v *view, out []float64, _ []int) {
	if t.s < 0 {
		out[0], out[1], out[2] = t.w, -2*t.w, t.w
		return
	}
	a, b := t.of(v.x, v.dim, 0)
	c, s := t.of(v.x, v.dim, 1)
	p, q := t.of(v.x, v.dim, 2)
	wr, wi := p*a-q*b, q*a+p*b // z₊ z₋
	vr, vi := c*c-s*s, 2*c*s   // z²
	out[0], out[1] = -t.w*(p*vr+q*vi), -t.w*(p*vi-q*vr)
	out[2], out[3] = -2*t.w*(c*wr+s*wi), -2*t.w*(c*wi-s*wr)
	out[4], out[5] = -t.w*(a*vr+b*vi), -t.w*(a*vi-b*vr)
}

func (t *bend) hessian(v *view, out []float64, cols []int) {
	if t.s < 0 {
		clear(out[:len(cols)])
		return
	}
	a, b := t.of(v.x, v.dim, 0)
	c, s := t.of(v.x, v.dim, 1)
	p, q := t.of(v.x, v.dim, 2)
	da, db := t.of(v.dx, v.dim, 0)
	dc, ds := t.of(v.dx, v.dim, 1)
	dp, dq := t.of(v.dx, v.dim, 2)
	wr, wi := p*a-q*b, q*a+p*b
	vr, vi := c*c-s*s, 2*c*s
	dwr, dwi := dp*a+p*da-dq*b-q*db, dq*a+q*da+dp*b+p*db
	dvr, dvi := 2*(c*dc-s*ds), 2*(c*ds+s*dc)
	out[0] = -t.w * (dp*vr + p*dvr + dq*vi + q*dvi)
	out[1] = -t.w * (dp*vi + p*dvi - dq*vr - q*dvr)
	out[2] = -2 * t.w * (dc*wr + c*dwr + ds*wi + s*dwi)
	out[3] = -2 * t.w * (dc*wi + c*dwi - ds*wr - s*dwr)
	out[4] = -t.w * (da*vr + a*dvr + db*vi + b*dvi)
	out[5] = -t.w * (da*vi + a*dvi - db*vr - b*dvr)
}

// A task is w·q − ref of a feature, less scale times a given number.
type task struct {
	feature    int
	direction  bool // until the stage is laid out, features are counted from the first direction
	w          [3]float64
	ref, scale float64
	given      int // −1: none
}

func (k *task) value(v *view) float64 {
	t := vec3.Dot(k.w, v.at(k.feature)) - k.ref
	if k.given >= 0 {
		t -= k.scale * v.given[k.given]
	}
	return t
}

func (k *task) gradient(v *view, out []float64, cols []int) { k.slope(v, v.jac, -k.scale, out, cols) }
func (k *task) hessian(v *view, out []float64, cols []int)  { k.slope(v, v.hess, 0, out, cols) }

// slope writes wᵀ∂q or wᵀ∇²q dx, and behind it what is that of a given number.
func (k *task) slope(v *view, rows []float64, given float64, out []float64, cols []int) {
	if n := len(cols) - 1; k.given >= 0 {
		cols, out[n] = cols[:n], given
	}
	v.pull(out, rows, k.feature, k.w, cols)
}

// A clearance is pad − φ(p) of a point and an obstacle.
type clearance struct {
	point, obstacle int
	pad             float64
}

func (k *clearance) value(v *view) float64 {
	return k.pad - v.set.spec.Obstacles[k.obstacle].Distance(v.at(k.point))
}

func (k *clearance) gradient(v *view, out []float64, cols []int) {
	_, n := v.set.spec.Obstacles[k.obstacle].At(v.at(k.point))
	v.pull(out, v.jac, k.point, vec3.Scaled(-1, n), cols)
}

// hessian: −(∇φᵀ∇²p dx + ∂pᵀ ∇²φ ∂p dx).
func (k *clearance) hessian(v *view, out []float64, cols []int) {
	o, p := &v.set.spec.Obstacles[k.obstacle], v.at(k.point)
	_, n := o.At(p)
	w := o.HessianVector(p, v.along(k.point))
	v.pull(out, v.hess, k.point, vec3.Scaled(-1, n), cols)
	v.add(out, v.jac, k.point, vec3.Scaled(-1, w), cols)
}

// A sweep is pad + Σ bow_k (x′_k − x_k)² − min φ, of an obstacle and the chord between where a point is at a waypoint
// and at the next.
type sweep struct {
	point, obstacle int
	pad             float64
	bow             []float64
}

func (k *sweep) chord(v *view) (o *scene.Obstacle, a, b [3]float64) {
	return &v.set.spec.Obstacles[k.obstacle], v.at(k.point), v.after.at(k.point)
}

func (k *sweep) value(v *view) float64 {
	o, a, b := k.chord(v)
	t := k.pad - o.ChordDistance(a, b)
	from, to := v.x[:len(k.bow)], v.after.x[:len(k.bow)]
	for i, w := range k.bow {
		if w > 0 {
			δ := to[i] - from[i]
			t += w * δ * δ
		}
	}
	return t
}

func (k *sweep) gradient(v *view, out []float64, cols []int) {
	o, a, b := k.chord(v)
	_, s, n := o.Chord(a, b)
	here, next := out[:len(cols)/2], out[len(cols)/2:len(cols)]
	cols = cols[:len(here)]
	v.pull(here, v.jac, k.point, vec3.Scaled(s-1, n), cols)
	v.pull(next, v.after.jac, k.point, vec3.Scaled(-s, n), cols)
	k.bows(here, next, v.x, v.after.x, cols)
}

func (k *sweep) hessian(v *view, out []float64, cols []int) {
	o, a, b := k.chord(v)
	_, s, n := o.Chord(a, b)
	da, db := v.along(k.point), v.after.along(k.point)
	ga, gb := o.ChordChange(a, b, da, db, s, n)
	here, next := out[:len(cols)/2], out[len(cols)/2:len(cols)]
	cols = cols[:len(here)]
	v.pull(here, v.hess, k.point, vec3.Scaled(s-1, n), cols)
	v.add(here, v.jac, k.point, vec3.Scaled(-1, ga), cols)
	v.pull(next, v.after.hess, k.point, vec3.Scaled(-s, n), cols)
	v.add(next, v.after.jac, k.point, vec3.Scaled(-1, gb), cols)
	k.bows(here, next, v.dx, v.after.dx, cols)
}

// bows adds the derivatives of the quadratic form, at x or along a tangent.
func (k *sweep) bows(here, next, x, y []float64, cols []int) {
	for i, c := range cols {
		δ := 2 * k.bow[c] * (y[c] - x[c])
		here[i], next[i] = here[i]-δ, next[i]+δ
	}
}

// A pair is pad − ‖p_a − p_b‖ of two points; where a is −1, p_a is still.
type pair struct {
	a, b  int
	pad   float64
	still [3]float64
}

// away returns p_b − p_a.
func (k *pair) away(v *view) [3]float64 {
	from := k.still
	if k.a >= 0 {
		from = v.at(k.a)
	}
	return vec3.Minus(v.at(k.b), from)
}

func (k *pair) value(v *view) float64 { return k.pad - vec3.Norm(k.away(v)) }

func (k *pair) gradient(v *view, out []float64, cols []int) {
	u := direction(k.away(v))
	v.pull(out, v.jac, k.b, vec3.Scaled(-1, u), cols)
	if k.a >= 0 {
		v.add(out, v.jac, k.a, u, cols)
	}
}

// hessian, with u = (p_b − p_a)/r: ∇²r = (I − uuᵀ)/r.
func (k *pair) hessian(v *view, out []float64, cols []int) {
	away := k.away(v)
	r, u, w := vec3.Norm(away), direction(away), v.along(k.b)
	if k.a >= 0 {
		w = vec3.Minus(w, v.along(k.a))
	}
	if s := vec3.Dot(u, w); r > 0 {
		w = [3]float64{(w[0] - s*u[0]) / r, (w[1] - s*u[1]) / r, (w[2] - s*u[2]) / r}
	}
	v.pull(out, v.hess, k.b, vec3.Scaled(-1, u), cols)
	v.add(out, v.jac, k.b, vec3.Scaled(-1, w), cols)
	if k.a >= 0 {
		v.add(out, v.hess, k.a, u, cols)
		v.add(out, v.jac, k.a, w, cols)
	}
}

// direction returns v/‖v‖, and 0 of 0.
func direction(v [3]float64) [3]float64 {
	if v == [3]float64{} {
		return v
	}
	return vec3.Unit(v)
}
