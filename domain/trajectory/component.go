package trajectory

// Each component has its value, and its gradient and Hessian product along the columns of its label
// written to out, of which the rest is returned. Those of features are view's.

// A circle is (c² + s² − 1)/2 of a turning joint: a quadratic form, so that its gradient at dx is its Hessian product.
type circle struct{ c, s int }

func (k circle) value(x []float64) float64 {
	c, s := x[k.c], x[k.s]
	return (c*c + s*s - 1) / 2
}

func (k circle) gradient(out, x []float64) []float64 {
	out[0], out[1] = x[k.c], x[k.s]
	return out[2:]
}

// A turn is a·c + b·s − ref of one joint; of a sliding one s is −1, and c its displacement.
type turn struct {
	c, s      int
	a, b, ref float64
}

func (k *turn) value(x []float64) float64 {
	t := k.a*x[k.c] - k.ref
	if k.s >= 0 {
		t += k.b * x[k.s]
	}
	return t
}

func (k *turn) gradient(out []float64) []float64 {
	if out[0] = k.a; k.s < 0 {
		return out[1:]
	}
	out[1] = k.b
	return out[2:]
}

func (k *turn) hessian(out []float64) []float64 {
	if out[0] = 0; k.s < 0 {
		return out[1:]
	}
	out[1] = 0
	return out[2:]
}

// A twist compares a joint with the one that the point gives: s C − c S, the sine of the
// difference, or if it tells the side −(c C + s S); of a sliding joint δ − Δ.
type twist struct {
	c, s  int
	given int // where the given configuration begins
	side  bool
}

func (k *twist) value(x, given []float64) float64 {
	g := given[k.given:]
	switch {
	case k.s < 0:
		return x[k.c] - g[k.c]
	case k.side:
		return -x[k.c]*g[k.c] - x[k.s]*g[k.s]
	}
	return x[k.s]*g[k.c] - x[k.c]*g[k.s]
}

func (k *twist) gradient(out, x, given []float64) []float64 {
	g := given[k.given:]
	switch {
	case k.s < 0:
		out[0], out[1] = 1, -1
		return out[2:]
	case k.side:
		out[0], out[1], out[2], out[3] = -g[k.c], -g[k.s], -x[k.c], -x[k.s]
	default:
		out[0], out[1], out[2], out[3] = -g[k.s], g[k.c], x[k.s], -x[k.c]
	}
	return out[4:]
}

// hessian of a twist along (dx, dgiven): it is bilinear.
func (k *twist) hessian(out, dx, dgiven []float64) []float64 {
	if k.s < 0 {
		out[0], out[1] = 0, 0
		return out[2:]
	}
	return k.gradient(out, dx, dgiven)
}

// A step is (cos δ − c c′ − s s′)/sin δ of a turning joint, a = cos δ and w = 1/sin δ, from
// waypoint l to the next; of a sliding one, s = −1, w (x′ − x) − δ, a = δ and w = ±1.
type step struct {
	l, c, s int
	a, w    float64
	name    string
}

// value of a step; x is where the waypoint begins, y the next.
func (t *step) value(x, y []float64) float64 {
	if t.s < 0 {
		return t.w*(y[t.c]-x[t.c]) - t.a
	}
	return t.w * (t.a - x[t.c]*y[t.c] - x[t.s]*y[t.s])
}

func (t *step) gradient(out, x, y []float64) []float64 {
	if t.s < 0 {
		out[0], out[1] = -t.w, t.w
		return out[2:]
	}
	out[0], out[1], out[2], out[3] = -t.w*y[t.c], -t.w*y[t.s], -t.w*x[t.c], -t.w*x[t.s]
	return out[4:]
}

// hessian of a step along (dx, dy): it is bilinear.
func (t *step) hessian(out, dx, dy []float64) []float64 {
	if t.s < 0 {
		out[0], out[1] = 0, 0
		return out[2:]
	}
	return t.gradient(out, dx, dy)
}

// A task is w·q − ref of a feature, less scale times a given number.
type task struct {
	feature    int
	direction  bool // until the stage is laid out, features are counted from the first direction
	w          [3]float64
	ref, scale float64
	given      int // −1: none
}

// A clearance is pad − φ(p) of a point and an obstacle.
type clearance struct {
	point, obstacle int
	pad             float64
}

// A pair is pad − ‖p_a − p_b‖ of two points; where a is −1, p_a is still.
type pair struct {
	a, b  int
	pad   float64
	still [3]float64
}
