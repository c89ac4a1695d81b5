// Package program brings points to Σ = {h = 0, g ≤ 0} by general-purpose programs of constrained optimisation, which
// know of Σ its components and their first derivatives. The rivals of the paper's tables are made of them:
//
//	Interior    the nearest point, by an interior-point method
//	Lagrangian  the nearest point, by an augmented Lagrangian with dual ascent
//	Guidance    the gradient of the violation ½‖h‖² + ½‖max(g, 0)‖²
//	Correction  Gauss–Newton steps, as of an extrapolated end state
//
// It is not for the house's own dynamics: these use package geometry, which knows more of Σ.
package program

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A point is on Σ where each excess is at most tolerance, or at most roundoff of the terms
// that the component is made of, Σ_j |x_j ∂_j c|.
const (
	tolerance = 1e-12
	roundoff  = 0x1p-46
)

// met reports whether a component with this value and these derivatives along the coordinates cols is as Σ asks at x.
func met(v float64, equality bool, gradient []float64, cols []int, x []float64) bool {
	e := constraint.Excess(v, equality)
	if e <= tolerance {
		return true
	}
	terms := 0.0
	for k, j := range cols {
		terms += math.Abs(gradient[k] * x[j])
	}
	return e <= roundoff*terms
}

// supports returns the coordinates that each component of s depends on, all where s does not say, and how many they are
// in all: derivatives of a point are laid out by them.
func supports(s constraint.Set) (support [][]int, derivatives int) {
	if support = s.Capabilities().Support; support == nil {
		support = slices.Repeat([][]int{upTo(s.Dim())}, len(constraint.Components(s)))
	}
	for _, cols := range support {
		derivatives += len(cols)
	}
	return support, derivatives
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// jacobians evaluates a set with the derivatives along its supports.
func jacobians(e *constraint.Evaluator, values, jac, x []float64, n int) {
	if e.SparseJacobians != nil {
		e.SparseJacobians(values, jac, x, n)
	} else {
		e.Jacobians(values, jac, x, n)
	}
}

// A Guidance computes the gradient of the violation
//
//	V(x) = ½‖h(x)‖² + ½‖max(g(x), 0)‖²,   ∇V = Σ_i h_i ∇h_i + Σ_{g_j > 0} g_j ∇g_j
//
// of blocks of points. It is scratch space for one goroutine.
type Guidance struct {
	eval        constraint.Evaluator
	d, m, c     int
	support     [][]int // of each component
	derivatives int     // kept of a point
	block       int
	values, jac []float64
}

// NewGuidance makes room for rows points of s.
func NewGuidance(s constraint.Set, rows int) *Guidance {
	support, derivatives := supports(s)
	c := len(support)
	block := max(1, min(rows, blockNumbers/max(1, derivatives)))
	return &Guidance{s.NewEvaluator(block), s.Dim(), len(s.Equalities()), c, support, derivatives, block,
		make([]float64, block*c), make([]float64, block*derivatives)}
}

// Gradient writes ∇V at the n points x: n×d. steep (n) gets Σ‖∇c_i‖² over the components in it,
// which bounds the curvature of V but for that of the components.
func (g *Guidance) Gradient(dst, steep, x []float64, n int) {
	d, c := g.d, g.c
	clear(dst[:n*d])
	clear(steep[:n])
	if c == 0 {
		return
	}
	for lo := 0; lo < n; lo += g.block {
		k := min(g.block, n-lo)
		jacobians(&g.eval, g.values[:k*c], g.jac[:k*g.derivatives], x[lo*d:(lo+k)*d], k)
		rest := g.jac
		for i := range k {
			to := dst[(lo+i)*d : (lo+i+1)*d]
			for a, v := range g.values[i*c : (i+1)*c] {
				cols := g.support[a]
				grad := rest[:len(cols)]
				rest = rest[len(cols):]
				if a >= g.m && !(v > 0) && v == v {
					continue
				}
				steep[lo+i] += dense.Dot4(grad, grad)
				for e, j := range cols {
					to[j] += v * grad[e]
				}
			}
		}
	}
}

// A Correction moves points by Gauss–Newton steps x ← x − ∇JᵀG†J, with J = [h; g_I] of the equalities and the
// inequalities that are not met. It is the projection by which physics-constrained flow matching (Utkarsh et al. 2025)
// corrects the end state that a step of generation extrapolates: once on the way, and to round-off at the end. It is
// scratch space for one goroutine; methods allocate at most once.
type Correction struct {
	at, one     geometry.Geometry
	approach    *geometry.Approach
	d, m, rows  int
	y           []float64 // d: where a point began
	eval        constraint.Evaluator
	support     [][]int
	values, jac []float64 // of one point
}

// NewCorrection makes room for rows points of s.
func NewCorrection(s constraint.Set, rows int) *Correction {
	support, derivatives := supports(s)
	c := &Correction{
		at: geometry.New(s, rows, 0), one: geometry.New(s, 1, 0), d: s.Dim(), m: len(s.Equalities()), rows: rows,
		y: make([]float64, s.Dim()), eval: s.NewEvaluator(1), support: support,
		values: make([]float64, len(support)), jac: make([]float64, derivatives),
	}
	c.approach = geometry.NewApproach(c.one, c.d, geometry.ApproachOptions{Inequalities: len(s.Inequalities())})
	return c
}

// Step writes to dst one step from each of the n points x (n×d; dst may be x). On an affine {h = 0} that is the nearest
// point of it. A row stays where there is no step: components or the step are not finite, or an equality has no
// gradient; ok (n) tells, and the outcome counts it.
func (c *Correction) Step(dst, x []float64, ok []bool, n int) geometry.Outcome {
	if n > c.rows {
		panic(fmt.Sprintf("program: %d points in a correction for %d", n, c.rows))
	}
	d, o := c.d, geometry.Outcome{Points: n}
	if err := c.at.At(x, n); err == nil {
		c.move(c.at, dst[:n*d], ok[:n], &o)
		return o
	}
	for i := range n { // some row has no step: the others do
		from, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		if err := c.one.At(from, 1); err == nil {
			c.move(c.one, to, ok[i:i+1], &o)
			continue
		} else {
			lose(&o, err)
		}
		ok[i] = false
		copy(to, from)
	}
	return o
}

// move writes a step from each point of at.
func (c *Correction) move(at geometry.Geometry, dst []float64, ok []bool, o *geometry.Outcome) {
	at.Landing(dst)
	x, d := at.Points(), c.d
	for i := range ok {
		from, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		for j, v := range from {
			to[j] = v - to[j]
		}
		o.Iterations++
		if ok[i] = dense.Finite(to); !ok[i] {
			o.NotFinite++
			copy(to, from)
		}
	}
}

// Land moves the n points x (n×d) to Σ in place by steps until |h|, g ≤ 1e-13 or their round-off, at most 50 of them
// (geometry.Approach). A row that does not arrive stays; ok (n) tells, and the outcome counts it.
func (c *Correction) Land(x []float64, ok []bool, n int) geometry.Outcome {
	d, o := c.d, geometry.Outcome{Points: n}
	for i := range n {
		row := x[i*d : (i+1)*d]
		copy(c.y, row)
		steps, arrived := c.approach.Run(row)
		o.Iterations += steps
		if ok[i] = arrived && c.met(row); ok[i] {
			continue
		}
		copy(row, c.y)
		lose(&o, c.one.At(row, 1))
	}
	return o
}

// met reports whether all components are as Σ asks at the point x.
func (c *Correction) met(x []float64) bool {
	jacobians(&c.eval, c.values, c.jac, x, 1)
	rest := c.jac
	for a, cols := range c.support {
		if !met(c.values[a], a < c.m, rest[:len(cols)], cols, x) {
			return false
		}
		rest = rest[len(cols):]
	}
	return dense.Finite(x)
}

// lose counts a point from which no step leads on, for the reason err, or to nowhere.
func lose(o *geometry.Outcome, err error) {
	switch err.(type) {
	case nil:
		o.Stalled++
	case *geometry.NonFiniteError:
		o.NotFinite++
	default:
		o.Unreachable++
	}
}

// A part of a set is components that share coordinates with no others: the point of Σ nearest to a
// proposal is, part by part, the nearest of the part. Within a part coordinates are numbered from 0.
//
// Components are in the order of the first coordinate that they depend on, and the gradient of each is
// kept over its span, from its first coordinate to its last. Those of neighbouring steps of a
// sequence then overlap, and others do not: their Gram matrix is a band.
type part struct {
	comp  []int  // numbers of its components in the set
	equal []bool // which are equalities
	m     int    // how many
	coord []int  // its coordinates in a point
	c, d  int

	from   []int   // where the derivatives of each component begin among those of a point
	cols   [][]int // their coordinates
	lo, hi []int   // the span of each component
	at     []int   // where it begins among the part's gradients
	size   int     // numbers in these
	band   int     // numbers of the triangle of its Gram matrix that spans can make other than 0
}

// parts returns those of s, and how many derivatives are kept of a point.
func parts(s constraint.Set) (all []part, derivatives int) {
	support, derivatives := supports(s)
	m, local, from := len(s.Equalities()), make([]int, s.Dim()), []int{0}
	for a, cols := range support {
		from = append(from, from[a]+len(cols))
	}
	first := func(a int) int { return append(slices.Clip(support[a]), 0)[0] } // 0 of none
	for _, g := range geometry.Shares(s) {
		p := part{comp: g.Components, coord: g.Coordinates, c: len(g.Components)}
		if p.coord == nil {
			p.coord = upTo(s.Dim())
		}
		p.d = len(p.coord)
		for k, j := range p.coord {
			local[j] = k
		}
		slices.SortStableFunc(p.comp, func(a, b int) int { return cmp.Compare(first(a), first(b)) })
		for _, a := range p.comp {
			lo, hi, cols := 0, 0, support[a]
			if g.Coordinates != nil {
				cols = make([]int, len(cols))
				for k, j := range support[a] {
					cols[k] = local[j]
				}
			}
			if n := len(cols); n > 0 {
				lo, hi = cols[0], cols[n-1]+1
			}
			p.cols = append(p.cols, cols)
			p.equal = append(p.equal, a < m)
			if a < m {
				p.m++
			}
			p.from = append(p.from, from[a])
			p.lo, p.hi, p.at = append(p.lo, lo), append(p.hi, hi), append(p.at, p.size)
			p.size += hi - lo
		}
		before := 0
		for i := range p.comp {
			for before < i && p.hi[before] <= p.lo[i] {
				before++
			}
			p.band += i - before + 1
		}
		all = append(all, p)
	}
	return all, derivatives
}

// row returns the derivatives of component i among those of a point.
func (q *part) row(jac []float64, i int) []float64 { return jac[q.from[i] : q.from[i]+len(q.cols[i])] }

// span returns the gradient of component i, from coordinate lo[i] to hi[i], among those of the part.
func (q *part) span(gradient []float64, i int) []float64 {
	return gradient[q.at[i] : q.at[i]+q.hi[i]-q.lo[i]]
}

// spread writes scale times the derivatives of component i over its span.
func (q *part) spread(gradient []float64, scale, jac []float64) {
	for i := range q.c {
		to, row := q.span(gradient, i), q.row(jac, i)
		clear(to)
		for k, j := range q.cols[i] {
			to[j-q.lo[i]] = scale[i] * row[k]
		}
	}
}

// take writes the part's coordinates of a point to the beginning of dst.
func (q *part) take(dst, x []float64) {
	for k, j := range q.coord {
		dst[k] = x[j]
	}
}

func (q *part) put(x, from []float64) {
	for k, j := range q.coord {
		x[j] = from[k]
	}
}

// finite reports whether values and derivatives of its components at a point are.
func (q *part) finite(val, jac []float64) bool {
	for i, a := range q.comp {
		if v := val[a]; v-v != 0 || !dense.Finite(q.row(jac, i)) {
			return false
		}
	}
	return true
}

// met reports whether all its components are as Σ asks at y.
func (q *part) met(y, val, jac []float64) bool {
	for i, a := range q.comp {
		if !met(val[a], q.equal[i], q.row(jac, i), q.cols[i], y) {
			return false
		}
	}
	return true
}
