// Package premetric measures how far points of a triangle mesh are from each other by a spectral premetric, and follows
// it from one to another: the conditional paths of Riemannian flow matching where geodesics have no closed form (Chen
// and Lipman, "Flow matching on general geometries", 2024, section 3.2).
//
// It is no place for geodesic distances: the biharmonic distance is cheap at any two points and
// smooth, but it is another one.
package premetric

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Biharmonic is the biharmonic distance on a mesh (Lipman, Rustamov and Funkhouser 2010),
//
//	d(x, y)² = Σ_i (φ_i(x) − φ_i(y))²/λ_i²
//
// over the lowest eigenfunctions of −Δ but the constant, linear on each face between their values at its corners: the
// distance of Φ(x) and Φ(y) in R^K, Φ = (φ_i/λ_i). Any number of goroutines may use it.
type Biharmonic struct {
	mesh *mesh.Mesh
	tree *mesh.Tree
	k    int
	Φ    []float64 // of each vertex, n×k
	edge float64   // mean length of an edge
}

// MaxNumbers bounds Φ: 512 MB.
const MaxNumbers = 1 << 26

// New computes the distance by `functions` eigenfunctions, the constant left out, at least 2; fewer on a mesh of few
// vertices. The error is the context's or of kind fault.Config: the mesh has parts without a path between them, or
// spectrum cannot handle it.
func New(ctx context.Context, m *mesh.Mesh, functions int) (*Biharmonic, error) {
	n, faces := m.N()
	if parts := m.Components(); parts > 1 {
		return nil, spectrum.Unanswered("the number of parts of the mesh", parts,
			"1: no path leads from one to another")
	}
	l := spectrum.New(m)
	vertices := 0
	for _, a := range l.Mass {
		if a > 0 {
			vertices++
		}
	}
	k := min(functions, vertices-1)
	if k < 2 || float64(n)*float64(k) > MaxNumbers {
		return nil, spectrum.Unanswered("the number of eigenfunctions", functions, "2 to %d on a mesh of %d vertices",
			MaxNumbers/n, n)
	}
	low, err := l.Lowest(ctx, k+1, nil)
	if err != nil {
		return nil, err
	}
	b := &Biharmonic{mesh: m, tree: mesh.NewTree(m), k: k, Φ: make([]float64, n*k)}
	for i, f := range low[1:] {
		for v, φ := range f.F {
			b.Φ[v*k+i] = φ / f.Lambda
		}
	}
	for f := range faces {
		p, q, r := m.Corners(f)
		b.edge += (dense.Norm(minus(p, q)) + dense.Norm(minus(q, r)) + dense.Norm(minus(r, p))) / float64(3*faces)
	}
	return b, nil
}

func minus(p, q [3]float64) []float64 { return []float64{p[0] - q[0], p[1] - q[1], p[2] - q[2]} }

// A Place is a point of the mesh on one of its faces.
type Place struct {
	Face int
	X    [3]float64
}

// Nearest returns the place of the mesh that is nearest to x; its face is −1 if x is not finite.
func (b *Biharmonic) Nearest(x [3]float64) Place {
	f, p, _ := b.tree.Nearest(x)
	return Place{f, p}
}

// linear are the three functions that are linear on a face, 1 at one corner and 0 at the others:
// its first corner and their gradients, 0 on a face without area.
type linear struct{ corner, g [3][3]float64 }

func (b *Biharmonic) linear(face int) (l linear) {
	l.corner[0], l.corner[1], l.corner[2] = b.mesh.Corners(face)
	v := &l.corner
	var e, f [3]float64
	for j := range 3 {
		e[j], f[j] = v[1][j]-v[0][j], v[2][j]-v[0][j]
	}
	ee, ef, ff := vec3.Dot(e, e), vec3.Dot(e, f), vec3.Dot(f, f)
	det := ee*ff - ef*ef // (2 area)²
	if !(det > 0) {
		return l
	}
	for j := range 3 {
		l.g[1][j] = (ff*e[j] - ef*f[j]) / det
		l.g[2][j] = (ee*f[j] - ef*e[j]) / det
		l.g[0][j] = -l.g[1][j] - l.g[2][j]
	}
	return l
}

func (l *linear) at(x [3]float64) (a [3]float64) {
	for j := range 3 {
		r := x[j] - l.corner[0][j]
		a[1] += l.g[1][j] * r
		a[2] += l.g[2][j] * r
	}
	a[0] = 1 - a[1] - a[2]
	return a
}

// A Walker measures and walks towards one place y at a time. One goroutine uses it at a time; its
// methods allocate nothing.
//
// Of the face that it is on it holds D_c = Φ_c − Φ(y) of the corners and their products, with which
// d² = aᵀDDᵀa at a point of values a of the linear functions: a step on a face is free of K, and one to
// the next costs a single new corner.
type Walker struct {
	*Biharmonic
	to     []float64 // Φ(y)
	face   int       // −1: none
	linear linear
	vertex [3]int32
	d      [3][]float64  // D
	dd     [3][3]float64 // DDᵀ
	c      []float64     // Σ_c a_c D_c
}

// NewWalker makes room.
func (b *Biharmonic) NewWalker() *Walker {
	w := &Walker{Biharmonic: b, to: make([]float64, b.k), face: -1, c: make([]float64, b.k)}
	for c := range w.d {
		w.d[c] = make([]float64, b.k)
	}
	return w
}

// To sets the place that distances are measured to.
func (w *Walker) To(y Place) {
	l := w.Biharmonic.linear(y.Face)
	at := l.at(y.X)
	clear(w.to)
	for c, v := range w.mesh.Faces[3*y.Face : 3*y.Face+3] {
		dense.Axpy(w.to, at[c], w.Φ[int(v)*w.k:(int(v)+1)*w.k])
	}
	w.face, w.vertex = -1, [3]int32{-1, -1, -1}
}

// enter makes a face the one that the walker is on. Corners that it has in common with the one before
// keep what is held of them.
func (w *Walker) enter(face int) {
	if face == w.face {
		return
	}
	w.face, w.linear = face, w.Biharmonic.linear(face)
	corners := w.mesh.Faces[3*face : 3*face+3]
	for c, v := range corners {
		for o := range w.vertex {
			if o != c && w.vertex[o] == v {
				w.exchange(c, o)
			}
		}
	}
	var fresh [3]bool
	for c, v := range corners {
		if fresh[c] = w.vertex[c] != v; fresh[c] {
			w.vertex[c] = v
			dense.AddScaled(w.d[c], w.Φ[int(v)*w.k:(int(v)+1)*w.k], -1, w.to)
		}
	}
	for c := range 3 {
		for o := range c + 1 {
			if fresh[c] || fresh[o] {
				w.dd[c][o] = dense.Dot4(w.d[c], w.d[o])
				w.dd[o][c] = w.dd[c][o]
			}
		}
	}
}

func (w *Walker) exchange(c, o int) {
	w.vertex[c], w.vertex[o] = w.vertex[o], w.vertex[c]
	w.d[c], w.d[o] = w.d[o], w.d[c]
	w.dd[c], w.dd[o] = w.dd[o], w.dd[c]
	for i := range w.dd {
		w.dd[i][c], w.dd[i][o] = w.dd[i][o], w.dd[i][c]
	}
}

// cancels is d² over the largest d² of a corner below which sums of products have too few digits.
const cancels = 1e-8

// Distance returns d(x, y) to the place y of To and its gradient in x along the face of x, 0 where d is.
func (w *Walker) Distance(x Place) (d float64, gradient [3]float64) {
	w.enter(x.Face)
	at := w.linear.at(x.X)
	var s [3]float64 // of each corner: (Φ(x) − Φ(y))·D_c
	dd, most := 0.0, 0.0
	for c := range 3 {
		s[c] = vec3.Dot(w.dd[c], at)
		dd += at[c] * s[c]
		most = max(most, w.dd[c][c])
	}
	if !(dd > cancels*most) {
		clear(w.c)
		for c := range 3 {
			dense.Axpy(w.c, at[c], w.d[c])
		}
		for c := range 3 {
			s[c] = dense.Dot4(w.c, w.d[c])
		}
		dd = dense.Dot4(w.c, w.c)
	}
	if d = math.Sqrt(dd); d == 0 {
		return 0, gradient
	}
	for c := range 3 {
		for j := range 3 {
			gradient[j] += s[c] / d * w.linear.g[c][j]
		}
	}
	return d, gradient
}

// along returns the place of a point in the plane of a face: on it or, beyond its edges, the nearest
// one of the mesh. Most steps stay on their face, which costs little to see.
func (w *Walker) along(face int, x [3]float64) Place {
	w.enter(face)
	for _, v := range w.linear.at(x) {
		if !(v >= 0) {
			f, p, _ := w.tree.NearestFrom(x, face)
			return Place{f, p}
		}
	}
	return Place{face, x}
}

const (
	longest     = 2.0   // edges that a step is long at most
	corrections = 50    // steps to one level of the distance at most
	near        = 1e-4  // of d_0: how near to its level a state is brought
	same        = 1e-12 // of ‖Φ‖: places that are nearer are one
	arrived     = 1e-3  // of d_0: farther from it a path has failed
)

// Path follows the premetric from x to the place y of To and writes where it is at the ascending
// times t in [0, 1), and with what velocity, 3 numbers each. It is the path of
//
//	dx/dt = (d log κ/dt) d ∇d/‖∇d‖²,    κ(t) = 1 − t,
//
// along which d(x_t, y) = κ(t) d(x_0, y) (Chen and Lipman, theorem 3.1 and equation 13). Path solves it by steps of at
// most 1/steps in time. Each step leads along ∇d/‖∇d‖² to the level that the distance has at the step's end, so that
// errors do not add up. Path returns false where the path cannot be followed: it runs into a point from which all
// directions lead away from y.
func (w *Walker) Path(states, velocities []float64, x Place, t []float64, steps int) bool {
	d0, _ := w.Distance(x)
	if d0 <= same*dense.Norm4(w.to) { // to round-off where it should be
		for i := range t {
			copy(states[3*i:3*i+3], x.X[:])
			clear(velocities[3*i : 3*i+3])
		}
		return true
	}
	from := 0.0
	for i, until := range t {
		pieces := max(1, int(math.Ceil((until-from)*float64(steps))))
		for k := range pieces {
			level := (1 - (from + (until-from)*float64(k+1)/float64(pieces))) * d0
			if !w.reach(&x, level, d0) {
				return false
			}
		}
		from = until
		_, g := w.Distance(x)
		gg := vec3.Dot(g, g)
		copy(states[3*i:3*i+3], x.X[:])
		for j := range 3 {
			velocities[3*i+j] = -d0 * g[j] / gg
		}
	}
	return true
}

// reach moves x along ∇d/‖∇d‖² to where d is level.
func (w *Walker) reach(x *Place, level, d0 float64) bool {
	for range corrections {
		d, g := w.Distance(*x)
		far := d - level
		if math.Abs(far) <= near*d0 {
			return true
		}
		size := math.Sqrt(vec3.Dot(g, g))
		if !(size > 0) {
			return false
		}
		step := min(far/size, longest*w.edge)
		step = max(step, -longest*w.edge)
		y := x.X
		for j := range 3 {
			y[j] -= step / size * g[j]
		}
		*x = w.along(x.Face, y)
	}
	d, _ := w.Distance(*x)
	return math.Abs(d-level) <= arrived*d0
}
