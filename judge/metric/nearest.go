package metric

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
)

// treeDim is the largest dimension in which a k-d tree is used. Above it, most of a tree would be visited anyway.
const treeDim = 16

// NearestDistances returns, for each of the points x of dimension d, the Euclidean distance to the nearest of the
// points ref. Points with a coordinate that is not finite are at distance +Inf from all others.
func NearestDistances(x, ref []float64, d int) []float64 {
	n, m := rowsOf("NearestDistances", x, d), rowsOf("NearestDistances", ref, d)
	if m == 0 {
		panic("metric: nearest of no points")
	}
	dst := make([]float64, n)
	if d > treeDim {
		scanNearest(dst, x, ref, d)
		return dst
	}
	t := newTree(ref, d)
	for i := range dst {
		dst[i] = math.Sqrt(t.nearest(x[i*d : (i+1)*d]))
	}
	return dst
}

func scanNearest(dst, x, ref []float64, d int) {
	for i := range dst {
		q := x[i*d : (i+1)*d]
		best := math.Inf(1)
		for j := 0; j < len(ref); j += d {
			if s := dense.SquaredDistance(q, ref[j:j+d]); s < best {
				best = s
			}
		}
		dst[i] = math.Sqrt(best)
	}
}

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
		if dense.Finite(x[i*d : (i+1)*d]) {
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
			if s := dense.SquaredDistance(q, t.points[i*t.d:(i+1)*t.d]); s < best {
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

// CopyDistance is the distance below which a sample counts as a copy of a training row, in the spread of the training
// rows: their root mean square distance from their mean.
const CopyDistance = 1e-6

// Copies compares how close the samples and the held-out rows, which were not trained on, come to the training rows. A
// perfect model's samples are as far away as held-out rows are; a memoriser's are on top of them.
type Copies struct {
	Samples Float `json:"samples_median"`  // median distance of samples to their nearest training row
	HeldOut Float `json:"held_out_median"` // the same of held-out rows

	// Ratio is Samples / HeldOut: 1 for a perfect model, near 0 for a memoriser,
	// above 1 for one that blurs. NaN if both are 0.
	Ratio Float `json:"ratio"`

	// Copied is the share of samples within CopyDistance of a training row, and Repeated that of held-out rows: data
	// may itself repeat places, and only the excess of Copied over Repeated is the model's.
	Copied   Float `json:"copied"`
	Repeated Float `json:"repeated"`
}

// NoCopies is what is known of copies where nothing was measured.
func NoCopies() Copies { return Copies{NaN, NaN, NaN, NaN, NaN} }

// CountCopies measures points of dimension d in the Euclidean distance. There must be a training row.
func CountCopies(samples, heldOut, train []float64, d int) Copies {
	_, spread := Spread(train, d)
	return CopiesAt(NearestDistances(samples, train, d), NearestDistances(heldOut, train, d), spread)
}

// CopiesAt is CountCopies of points at these distances from their nearest training rows, whose spread is
// given; 0, of rows that are one point, counts as 1.
func CopiesAt(s, h []float64, spread float64) Copies {
	bound := CopyDistance
	if spread > 0 {
		bound *= spread
	}
	c := Copies{
		Samples:  Float(Quantile(slices.Clone(s), 0.5)),
		HeldOut:  Float(Quantile(slices.Clone(h), 0.5)),
		Copied:   Float(shareBelow(s, bound)),
		Repeated: Float(shareBelow(h, bound)),
	}
	c.Ratio = c.Samples / c.HeldOut
	return c
}

// shareBelow returns the share of the numbers x that are less than bound.
func shareBelow(x []float64, bound float64) float64 {
	var n int
	for _, v := range x {
		if v < bound {
			n++
		}
	}
	return float64(n) / float64(len(x))
}
