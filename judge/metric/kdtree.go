package metric

import "math"

// leafSize is the number of points below which a part of a tree is scanned.
const leafSize = 12

// tree is a k-d tree (Bentley 1975; splits at the median of the widest side as in Friedman, Bentley and Finkel 1977).
// Its parts are ranges of points, which are stored in the tree's order.
type tree struct {
	d      int
	points []float64
	nodes  []node // a node's lower child follows it
}

// node is a part of a tree. In a leaf, axis is −1 and the points from lo to hi
// belong to it; else its children lie on either side of the plane x[axis] = at.
type node struct {
	axis   int32
	upper  int32 // index of the upper child
	lo, hi int32
	at     float64
}

// newTree returns the tree of the finite ones among the points x.
func newTree(x []float64, d int) *tree {
	order := make([]int32, 0, len(x)/d)
	for i := range len(x) / d {
		if finite(x[i*d : (i+1)*d]) {
			order = append(order, int32(i))
		}
	}
	t := &tree{d: d, points: make([]float64, 0, len(order)*d)}
	if len(order) > 0 {
		t.build(x, order)
	}
	return t
}

// build appends the part of the points of x whose numbers are in order, which it reorders.
func (t *tree) build(x []float64, order []int32) {
	self := len(t.nodes)
	t.nodes = append(t.nodes, node{axis: -1})
	axis, width := t.widest(x, order)
	if width == 0 {
		order = order[:1] // equal points: one stands for all
	}
	if len(order) <= leafSize {
		n := &t.nodes[self]
		n.lo = int32(len(t.points) / t.d)
		for _, i := range order {
			t.points = append(t.points, x[int(i)*t.d:(int(i)+1)*t.d]...)
		}
		n.hi = int32(len(t.points) / t.d)
		return
	}
	mid := len(order) / 2
	at := find(order, mid, func(i int32) float64 { return x[int(i)*t.d+axis] })
	t.build(x, order[:mid])
	n := &t.nodes[self]
	n.axis, n.at, n.upper = int32(axis), at, int32(len(t.nodes))
	t.build(x, order[mid:])
}

// widest returns the axis along which the points spread most, and how much.
func (t *tree) widest(x []float64, order []int32) (axis int, width float64) {
	for a := range t.d {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range order {
			v := x[int(i)*t.d+a]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > width {
			axis, width = a, hi-lo
		}
	}
	return axis, width
}

// nearest returns the squared distance from q to the nearest point, +Inf if there is none.
func (t *tree) nearest(q []float64) float64 {
	if len(t.nodes) == 0 {
		return math.Inf(1)
	}
	return t.search(0, q, math.Inf(1))
}

// search returns the smaller of best and the squared distance from q to the nearest point in a part. Subtraction,
// squaring and sums of squares are monotone in floating point too, so that a part is passed over only if no point of it
// can have a smaller squaredDistance: the result is that of a full scan to the last bit.
func (t *tree) search(part int32, q []float64, best float64) float64 {
	n := &t.nodes[part]
	if n.axis < 0 {
		for i := int(n.lo); i < int(n.hi); i++ {
			if s := squaredDistance(q, t.points[i*t.d:(i+1)*t.d]); s < best {
				best = s
			}
		}
		return best
	}
	near, far := part+1, n.upper
	r := q[n.axis] - n.at
	if r >= 0 {
		near, far = far, near
	}
	best = t.search(near, q, best)
	if r*r < best {
		best = t.search(far, q, best)
	}
	return best
}
