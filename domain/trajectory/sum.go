package trajectory

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Sum is a set put together as the paper does, with one equality and one inequality:
//
//	h = Σ (c² + s² − 1)² + Σ h_i² + ‖p_start − p‖⁴ + ‖p_goal − p‖⁴
//	g = Σ max(0, g_j)
//
// A repeated constraint counts twice. Both gradients vanish on Σ, so that geometry cannot follow it; it is there for
// comparison.
type Sum struct {
	parts  *Set
	square []squared // of each equality of the parts
}

// squared is (weight·c)², or a part of ‖·‖⁴ of a place.
type squared struct {
	weight float64
	place  int // −1: none
}

func newSum(s *Set) *Sum {
	out := &Sum{parts: s}
	for _, st := range s.stages {
		for _, c := range st.half[0] {
			q := squared{1, c.of}
			if c.order == circles {
				q = squared{2, -1}
			}
			out.square = append(out.square, q)
		}
	}
	return out
}

func (s *Sum) Dim() int             { return s.parts.Dim() }
func (s *Sum) Equalities() []string { return []string{"sum of squares"} }

func (s *Sum) Inequalities() []string {
	if len(s.parts.rest) == 0 {
		return nil
	}
	return []string{"sum of violations"}
}

// Unwrap is for constraint.As: the set of the parts.
func (s *Sum) Unwrap() []constraint.Set { return []constraint.Set{s.parts} }

func (s *Sum) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.parts.String() + ", in two sums", Start: s.parts.start,
		Steps: s.parts.l, StepDim: s.parts.d, HeldNames: s.parts.given}
}

func (s *Sum) NewEvaluator(int) constraint.Evaluator {
	n := len(s.parts.support)
	e := &summing{Sum: s, in: newEvaluator(s.parts), values: make([]float64, n), slope: make([]float64, n),
		along: make([]float64, n)}
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians, HessianVectors: e.HessianVectors}
}

type summing struct {
	*Sum
	in            *evaluator
	values, slope []float64 // of the parts: c_i, and what it counts in the derivative of its sum
	along         []float64 // ∇c_i·v
	ends          [2]float64
	bent          []float64
}

// sum writes h and g of the point whose parts are in values, and the slopes ∂h/∂c_i, ∂g/∂c_i.
func (e *summing) sum(out []float64) {
	m := len(e.square)
	h := 0.0
	e.ends = [2]float64{}
	for i, q := range e.square {
		v := q.weight * e.values[i]
		if q.place >= 0 {
			e.ends[q.place] += v * v
			continue
		}
		h += v * v
		e.slope[i] = 2 * q.weight * v
	}
	for i, q := range e.square {
		if q.place >= 0 {
			e.slope[i] = 4 * e.ends[q.place] * e.values[i]
		}
	}
	out[0] = h + e.ends[0]*e.ends[0] + e.ends[1]*e.ends[1]
	if len(e.values) == m {
		return
	}
	g := 0.0
	for j := m; j < len(e.values); j++ {
		v := e.values[j]
		e.slope[j] = 0
		if v > 0 {
			g += v
			e.slope[j] = 1
		}
	}
	out[1] = g
}

func (e *summing) Values(values, x []float64, n int) {
	d, c := e.Dim(), 1+len(e.Inequalities())
	for i := range n {
		e.in.point(e.values, nil, x[i*d:(i+1)*d])
		e.sum(values[i*c : (i+1)*c])
	}
}

func (e *summing) Jacobians(values, jac, x []float64, n int) {
	d, c := e.Dim(), 1+len(e.Inequalities())
	clear(jac[:n*c*d])
	for i := range n {
		packed := e.in.room()
		e.in.point(e.values, packed, x[i*d:(i+1)*d])
		e.sum(values[i*c : (i+1)*c])
		e.add(jac[i*c*d:(i+1)*c*d], packed, e.slope)
	}
}

// add adds the parts' packed derivatives, each times its weight, to the rows of the sums.
func (e *summing) add(rows, packed, weight []float64) {
	d, m := e.Dim(), len(e.square)
	for a, cols := range e.parts.support {
		row := rows[:d]
		if a >= m {
			row = rows[d : 2*d]
		}
		if w := weight[a]; w != 0 {
			for k, j := range cols {
				row[j] += w * packed[k]
			}
		}
		packed = packed[len(cols):]
	}
}

// HessianVectors: Σ ∂h/∂c_i ∇²c_i v + Σ ∂²h/∂c_i∂c_j (∇c_j·v) ∇c_i.
func (e *summing) HessianVectors(dst, x, v []float64, n int) {
	d, c := e.Dim(), 1+len(e.Inequalities())
	clear(dst[:n*c*d])
	if e.bent == nil {
		e.bent = make([]float64, e.parts.row)
	}
	var sums [2]float64
	for i := range n {
		xi, vi, to := x[i*d:(i+1)*d], v[i*d:(i+1)*d], dst[i*c*d:(i+1)*c*d]
		packed := e.in.room()
		e.in.point(e.values, packed, xi)
		e.sum(sums[:])
		e.in.bend(e.bent, xi, vi)
		e.add(to, e.bent, e.slope)
		rest := packed
		var ends [2]float64 // Σ c_j (∇c_j·v) of a place
		for a, cols := range e.parts.support {
			e.along[a] = 0
			if a >= len(e.square) {
				continue
			}
			e.along[a] = dense.Dot(rest[:len(cols)], pick(e.in.gathered(len(cols)), vi, cols))
			rest = rest[len(cols):]
			if p := e.square[a].place; p >= 0 {
				ends[p] += e.values[a] * e.along[a]
			}
		}
		for a, q := range e.square {
			if q.place < 0 {
				e.along[a] *= 2 * q.weight * q.weight
			} else {
				e.along[a] = 4*e.ends[q.place]*e.along[a] + 8*e.values[a]*ends[q.place]
			}
		}
		e.add(to, packed, e.along)
	}
}

func pick(to, v []float64, at []int) []float64 {
	for k, j := range at {
		to[k] = v[j]
	}
	return to
}
