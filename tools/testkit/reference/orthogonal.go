package reference

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// Rows is O(n) as the reference implementation writes it, h = XXᵀ − I with the upper
// triangle row by row: h(X) and all that follows from it are those of the package zoo's
// XᵀX − I at Xᵀ.
type Rows struct {
	constraint.Set // O(n) or SO(n) of package zoo
	n              int
}

// NewRows returns O(n), or SO(n) as the options of package zoo select it.
func NewRows(n int, o zoo.OrthogonalOptions) (Rows, error) {
	s, err := zoo.NewOrthogonal(n, o)
	return Rows{s, n}, err
}

// Capabilities are those of package zoo without its formulas, which are of XᵀX.
func (s Rows) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Formulas = nil
	return c
}

// NewEvaluator implements constraint.Set. Retractions and geodesics are left out.
func (s Rows) NewEvaluator(rows int) constraint.Evaluator {
	m, e, t := len(s.Equalities()), s.Set.NewEvaluator(rows), transposer{s.n, make([]float64, rows*s.n*s.n)}
	return constraint.Evaluator{
		Values: func(values, x []float64, n int) { e.Values(values, t.in(x, n), n) },
		Jacobians: func(values, jac, x []float64, n int) {
			e.Jacobians(values, jac, t.in(x, n), n)
			t.out(jac, n*m)
		},
		HessianVectors: func(dst, x, v []float64, n int) {
			e.HessianVectors(dst, nil, t.in(v, n), n) // h is quadratic
			t.out(dst, n*m)
		},
		Projector: &rowsProjector{e.Projector, t},
	}
}

// rowsProjector is the normal space of Rows in closed form.
type rowsProjector struct {
	columns constraint.Projector
	t       transposer
}

func (p *rowsProjector) WorkSize() int { return p.columns.WorkSize() }

func (p *rowsProjector) Factor(values, work []float64, regular []bool, x []float64, n int) {
	p.columns.Factor(values, work, regular, p.t.in(x, n), n)
}

func (p *rowsProjector) Tangent(dst, v, x, work []float64, n int) {
	vt := append([]float64(nil), p.t.in(v, n)...)
	p.columns.Tangent(dst, vt, p.t.in(x, n), work, n)
	p.t.out(dst, n)
}

func (p *rowsProjector) Normal(dst, u, x, work []float64, n int) {
	p.columns.Normal(dst, u, p.t.in(x, n), work, n)
	p.t.out(dst, n)
}

func (p *rowsProjector) Landing(dst, x, work []float64, n int) {
	p.columns.Landing(dst, p.t.in(x, n), work, n)
	p.t.out(dst, n)
}

// A Group is Rows with the reference's projector (V − XVᵀX)/2 for Π, which is exact
// on the group only.
type Group struct{ Rows }

// NewGroup returns O(n) or SO(n).
func NewGroup(n int, o zoo.OrthogonalOptions) (Group, error) {
	s, err := NewRows(n, o)
	return Group{s}, err
}

// NewEvaluator implements constraint.Set.
func (s Group) NewEvaluator(rows int) constraint.Evaluator {
	e := s.Rows.NewEvaluator(rows)
	e.Projector = inexact{e.Projector, s.n}
	return e
}

type inexact struct {
	constraint.Projector
	n int
}

func (p inexact) Tangent(dst, v, x, _ []float64, points int) {
	n, d := p.n, p.n*p.n
	xv := make([]float64, d)
	for t := range points {
		X, V, out := x[t*d:(t+1)*d], v[t*d:(t+1)*d], dst[t*d:(t+1)*d]
		for i := range n { // X Vᵀ
			for j := range n {
				s := 0.0
				for k := range n {
					s += X[i*n+k] * V[j*n+k]
				}
				xv[i*n+j] = s
			}
		}
		for i := range n {
			for j := range n {
				s := 0.0
				for k := range n {
					s += xv[i*n+k] * X[k*n+j]
				}
				out[i*n+j] = (V[i*n+j] - s) / 2
			}
		}
	}
}

// A transposer turns blocks of n×n matrices over.
type transposer struct {
	n    int
	room []float64
}

// in returns the transposes of k matrices, until the next call.
func (t transposer) in(x []float64, k int) []float64 {
	d := t.n * t.n
	copy(t.room, x[:k*d])
	t.out(t.room, k)
	return t.room[:k*d]
}

// out transposes k matrices in place.
func (t transposer) out(x []float64, k int) {
	n, d := t.n, t.n*t.n
	for p := range k {
		m := x[p*d : (p+1)*d]
		for i := range n {
			for j := range i {
				m[i*n+j], m[j*n+i] = m[j*n+i], m[i*n+j]
			}
		}
	}
}
