package mesh

import (
	"math"
	"slices"
)

// A Tree finds nearest points on a mesh: a hierarchy of boxes around its faces. Any number of goroutines may use it.
type Tree struct {
	mesh  *Mesh
	tie   float64 // faces whose squared distances from a point differ by less are equally near
	nodes []node
	face  []int32 // in the order of leaves
}

// A node holds the faces lo … hi of Tree.face. Its children are the node after it and node right; a leaf has right = 0.
type node struct {
	box    [2]vec
	lo, hi int32
	right  int32
}

const leafFaces = 4

// tie returns Tree.tie: the published evaluation's 1e-8 for meshes of a size in [2, 4), where the published ones and
// those fitted to [−1, 1]³ are, and four times as much with each doubling.
func tie(size float64) float64 {
	_, e := math.Frexp(size)
	return math.Ldexp(1e-8, 2*(e-2))
}

// NewTree builds the hierarchy, by halving along the longest side.
func NewTree(m *Mesh) *Tree {
	_, n := m.N()
	t := &Tree{mesh: m, tie: tie(m.Size()), face: make([]int32, n)}
	centre := make([]vec, n)
	for f := range n {
		t.face[f] = int32(f)
		a, b, c := m.Corners(f)
		for j := range 3 {
			centre[f][j] = (a[j] + b[j] + c[j]) / 3
		}
	}
	t.build(centre, 0, int32(n))
	return t
}

func (t *Tree) build(centre []vec, lo, hi int32) {
	at := len(t.nodes)
	nd := node{lo: lo, hi: hi, box: [2]vec{{math.Inf(1), math.Inf(1), math.Inf(1)},
		{math.Inf(-1), math.Inf(-1), math.Inf(-1)}}}
	for _, f := range t.face[lo:hi] {
		for _, i := range t.mesh.Faces[3*f : 3*f+3] {
			for j, v := range t.mesh.Vertex(i) {
				nd.box[0][j], nd.box[1][j] = min(nd.box[0][j], v), max(nd.box[1][j], v)
			}
		}
	}
	t.nodes = append(t.nodes, nd)
	if hi-lo <= leafFaces {
		return
	}
	axis, side := 0, sub(nd.box[1], nd.box[0])
	for j := range side {
		if side[j] > side[axis] {
			axis = j
		}
	}
	slices.SortFunc(t.face[lo:hi], func(a, b int32) int {
		if x, y := centre[a][axis], centre[b][axis]; x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
	mid := (lo + hi) / 2
	t.build(centre, lo, mid)
	t.nodes[at].right = int32(len(t.nodes))
	t.build(centre, mid, hi)
}

// Nearest returns the face nearest to p, its point nearest to p, and their distance. Where two faces are equally near,
// as around an edge, it is the one whose normal points most towards p; of more than two, as around a corner, the two
// that are nearest to the last bit count. What is left is the nearer face, and of equals the first. Equally near are
// squared distances that differ by less than about 1e-9 of the mesh's size squared, unless p itself is as near to the
// mesh.
//
// Coordinates of p must be at most 1e60 in size, as a mesh's are; for others, NaN
// among them, the face is −1 and the point and the distance are NaN.
//
// The published evaluation decides so, and goes by the computed cosine: where p is
// straight above or below two faces of a thin part, both are ±1 and the last bit
// decides. The operations here are in the order that gives the evaluation's bits.
func (t *Tree) Nearest(p [3]float64) (face int, point [3]float64, distance float64) {
	return t.nearest(p, math.Inf(1))
}

// NearestFrom is Nearest, with the same result, for less where p is near a face that is known.
func (t *Tree) NearestFrom(p [3]float64, known int) (face int, point [3]float64, distance float64) {
	a, b, c := t.mesh.Corners(known)
	d := sub(p, nearestOnTriangle(p, a, b, c))
	return t.nearest(p, dot(d, d))
}

// nearest is Nearest where a face as near as the root of least, in visit's arithmetic, is known of.
func (t *Tree) nearest(p vec, least float64) (face int, point [3]float64, distance float64) {
	for _, v := range p {
		if !(math.Abs(v) <= maxCoordinate) {
			return -1, vec{math.NaN(), math.NaN(), math.NaN()}, math.NaN()
		}
	}
	var stack [64]int32
	t.visit(&stack, p, func() float64 { return least }, func(_ int32, _ vec, d2 float64) { least = min(least, d2) })
	two := [2]candidate{{face: -1, d2: math.Inf(1)}, {face: -1, d2: math.Inf(1)}}
	limit := least + t.tie
	t.visit(&stack, p, func() float64 { return limit }, func(f int32, q vec, d2 float64) {
		switch c := (candidate{f, q, d2}); {
		case c.before(&two[0]):
			two[0], two[1] = c, two[0]
		case c.before(&two[1]):
			two[1] = c
		}
	})
	best := &two[0]
	if second := &two[1]; least > t.tie && second.d2-least < t.tie && t.facing(p, second) > t.facing(p, best) {
		best = second
	}
	return int(best.face), best.point, math.Sqrt(best.d2)
}

type candidate struct {
	face  int32
	point vec
	d2    float64
}

func (c *candidate) before(o *candidate) bool { return c.d2 < o.d2 || c.d2 == o.d2 && c.face < o.face }

// facing returns the cosine of the angle between a face's normal and the way to p.
func (t *Tree) facing(p vec, c *candidate) float64 {
	way, length := sub(p, c.point), math.Sqrt(c.d2)
	for j := range way {
		way[j] /= length
	}
	return dot(t.mesh.Normal(int(c.face)), way)
}

// visit calls f for the faces in boxes whose squared distance from p is at most limit, nearer boxes first.
func (t *Tree) visit(stack *[64]int32, p vec, limit func() float64, f func(face int32, q vec, d2 float64)) {
	top := 1
	stack[0] = 0
	for top > 0 {
		top--
		i := stack[top]
		nd := &t.nodes[i]
		if boxDistance(&nd.box, p) > limit() {
			continue
		}
		if nd.right == 0 {
			for _, face := range t.face[nd.lo:nd.hi] {
				a, b, c := t.mesh.Corners(int(face))
				q := nearestOnTriangle(p, a, b, c)
				d := sub(p, q)
				f(face, q, dot(d, d))
			}
			continue
		}
		near, far := i+1, nd.right
		if boxDistance(&t.nodes[far].box, p) < boxDistance(&t.nodes[near].box, p) {
			near, far = far, near
		}
		stack[top], stack[top+1] = far, near
		top += 2
	}
}

// boxDistance returns the squared distance of p from a box.
func boxDistance(box *[2]vec, p vec) (s float64) {
	for j, v := range p {
		if d := max(box[0][j]-v, v-box[1][j], 0); d > 0 {
			s += d * d
		}
	}
	return s
}

// nearestOnTriangle returns the point of the triangle abc nearest to p, by the region of the triangle's plane that p
// lies over (Ericson, Real-Time Collision Detection, 5.1.5). A corner is returned exactly, so that its faces tie.
func nearestOnTriangle(p, a, b, c vec) vec {
	ab, ac, ap, bp, cp := sub(b, a), sub(c, a), sub(p, a), sub(p, b), sub(p, c)
	if cross(ab, ac) == (vec{}) {
		return nearestOnSides(p, a, b, c)
	}
	ab1, ac1, ab2, ac2, ab3, ac3 := dot(ab, ap), dot(ac, ap), dot(ab, bp), dot(ac, bp), dot(ab, cp), dot(ac, cp)
	if ab1 <= 0 && ac1 <= 0 {
		return a
	}
	if ab2 >= 0 && ac2 <= ab2 {
		return b
	}
	// Twice the areas of p's triangles with each side, times that of abc.
	vc := det(ab1, ac1, ab2, ac2)
	if vc <= 0 && ab1 >= 0 && ab2 <= 0 {
		return along(a, ab1/(ab1-ab2), ab)
	}
	if ac3 >= 0 && ab3 <= ac3 {
		return c
	}
	vb := det(ab3, ac3, ab1, ac1)
	if vb <= 0 && ac1 >= 0 && ac3 <= 0 {
		return along(a, ac1/(ac1-ac3), ac)
	}
	va := det(ab2, ac2, ab3, ac3)
	if va <= 0 && ac2-ab2 >= 0 && ab3-ac3 >= 0 {
		return along(b, (ac2-ab2)/((ac2-ab2)+(ab3-ac3)), sub(c, b))
	}
	s := 1 / (va + vb + vc)
	return along(along(a, vb*s, ab), vc*s, ac)
}

// nearestOnSides is nearestOnTriangle for one without area.
func nearestOnSides(p, a, b, c vec) vec {
	best, least := a, math.Inf(1)
	for _, side := range [3][2]vec{{a, b}, {b, c}, {c, a}} {
		d, t := sub(side[1], side[0]), 0.0
		if dd := dot(d, d); dd > 0 {
			t = min(max(dot(sub(p, side[0]), d)/dd, 0), 1)
		}
		q := along(side[0], t, d)
		e := sub(p, q)
		if s := dot(e, e); s < least {
			best, least = q, s
		}
	}
	return best
}
