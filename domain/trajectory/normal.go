package trajectory

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

// A normals is the normal space of a set of equalities in closed form. With u = (c, s)/ρ and
// t = (−u_s, u_c) for each turning joint, the gradients of the circles are ρu: they span the
// directions u, whatever else there is. The other equalities of a waypoint, few, have
//
//	∇h_r = Σ_j a_rj u_j + b_rj t_j,
//
// and b of them, without what the circles span, is factored alone: B = L Q with orthonormal
// rows of Q, one for each joint that moves. So
//
//	Π v       = Σ_j t_j τ_j,   τ = (I − QᵀQ)(t_j·v)_j
//	∇hᵀG⁻¹w   = Σ_j u_j y_j + t_j τ_j,   y_j = w_j/ρ_j,   τ = QᵀL⁻¹(w_r − Σ_j a_rj y_j).
//
// A sliding joint has no u; its displacement stands for τ_j. What is given behind the waypoints
// is held: a number in the equalities, and no direction.
type normals struct {
	*evaluator
	at      []int // where a waypoint's part of the work begins
	size    int
	τ, z, y []float64
	line    []float64 // D
	packed  []float64
}

// shape is what is kept of a waypoint: values (m), u (2R), 1/ρ (R), then for each of K rows a (R), q (R+P) and l (K).
type shape struct{ turning, sliding, k int }

func (w shape) size() int { return w.turning + w.k + 3*w.turning + w.k*(2*w.turning+w.sliding+w.k) }

// parts of a waypoint's work.
type parts struct {
	values, uc, us, inv []float64
	a, q, l             []float64
}

func (w shape) of(work []float64) (p parts) {
	take := func(n int) []float64 {
		out := work[:n:n]
		work = work[n:]
		return out
	}
	r := w.turning
	p.values, p.uc, p.us, p.inv = take(r+w.k), take(r), take(r), take(r)
	p.a, p.q, p.l = take(w.k*r), take(w.k*(r+w.sliding)), take(w.k*w.k)
	return p
}

func newNormals(s *Set) constraint.Projector {
	p := &normals{evaluator: newEvaluator(s)}
	widest, longest := 0, 0
	for l, st := range s.stages {
		p.at = append(p.at, p.size)
		p.size += p.shape(l).size()
		widest, longest = max(widest, len(st.half[0])), max(longest, st.row[0])
	}
	n := s.spec.Arm.Moving()
	p.τ, p.z, p.y = make([]float64, n), make([]float64, widest), make([]float64, n)
	p.line, p.packed = make([]float64, s.d), make([]float64, longest)
	return p
}

func (p *normals) shape(l int) shape {
	r := p.spec.Arm.Turning()
	return shape{r, p.spec.Arm.Sliding(), len(p.stages[l].half[0]) - r}
}

func (p *normals) WorkSize() int { return p.size }

// dependent: the factorisation that reveals ranks handles a gradient if a smaller share of it is beyond the span of the
// others.
const dependent = 1e-8

func (p *normals) Factor(values, work []float64, regular []bool, x []float64, n int) {
	dim, m := p.Dim(), len(p.equalities)
	for i := range n {
		xi, vi, wi := x[i*dim:(i+1)*dim], values[i*m:(i+1)*m], work[i*p.size:(i+1)*p.size]
		regular[i] = true
		for l, v := range p.view {
			v.place(xi[l*p.d:], xi[p.l*p.d:])
			m := len(v.half[0])
			regular[i] = p.factor(vi[:m], wi[p.at[l]:], v, p.shape(l)) && regular[i]
			vi = vi[m:]
		}
	}
}

func (p *normals) factor(values, work []float64, v *view, w shape) bool {
	o := w.of(work)
	x := v.x
	v.values(values, v.half[0])
	copy(o.values, values)
	regular := true
	r, n := w.turning, w.turning+w.sliding
	for j := range r {
		c, s := x[j], x[r+j]
		ρ := math.Sqrt(c*c + s*s)
		regular = regular && ρ > 1e-6
		o.inv[j] = 1 / ρ
		o.uc[j], o.us[j] = c/ρ, s/ρ
	}
	if w.k == 0 {
		return regular
	}
	if len(v.points)+len(v.directions) > 0 {
		v.differentiate()
	}
	v.gradients(p.packed, v.half[0])
	packed := p.packed[2*r:]
	for e := range w.k {
		row := p.line
		clear(row)
		long := 0.0
		cols := v.half[0][r+e].cols
		for k, j := range cols {
			if j < 0 { // given
				continue
			}
			row[j] = packed[k]
			long += packed[k] * packed[k]
		}
		packed = packed[len(cols):]
		a, q, l := o.a[e*r:(e+1)*r], o.q[e*n:(e+1)*n], o.l[e*w.k:(e+1)*w.k]
		for j, uc := range o.uc {
			us, c, s := o.us[j], row[j], row[r+j]
			a[j] = uc*c + us*s
			q[j] = uc*s - us*c
		}
		copy(q[r:], row[2*r:])
		clear(l)
		for range 2 { // twice, so that the rows are orthonormal to round-off
			for k := range e {
				before := o.q[k*n : (k+1)*n]
				t := 0.0
				for j, b := range before {
					t += b * q[j]
				}
				l[k] += t
				for j, b := range before {
					q[j] -= t * b
				}
			}
		}
		t := 0.0
		for _, b := range q {
			t += b * b
		}
		t = math.Sqrt(t)
		regular = regular && t > dependent*math.Sqrt(long)
		l[e] = t
		for j := range q {
			q[j] /= t
		}
	}
	return regular
}

// each calls f for every waypoint of n points: its part of dst, where it begins, its work and how that is laid out.
// What stands behind the waypoints gets no direction.
func (p *normals) each(dst, work []float64, n int, f func(dst []float64, at, l int, work []float64, w shape)) {
	dim := p.Dim()
	for i := range n {
		for l := range p.view {
			at := i*dim + l*p.d
			f(dst[at:at+p.d], at, l, work[i*p.size+p.at[l]:], p.shape(l))
		}
		clear(dst[i*dim+p.l*p.d : (i+1)*dim])
	}
}

func (p *normals) Tangent(dst, v, _, work []float64, n int) {
	p.each(dst, work, n, func(dst []float64, at, _ int, work []float64, w shape) {
		p.tangent(dst, v[at:at+p.d], work, w)
	})
}

func (p *normals) tangent(dst, v, work []float64, w shape) {
	o, τ, r := w.of(work), p.τ, w.turning
	for j, uc := range o.uc {
		τ[j] = uc*v[r+j] - o.us[j]*v[j]
	}
	copy(τ[r:], v[2*r:])
	n := len(τ)
	for q := o.q; len(q) > 0; q = q[n:] {
		s := 0.0
		for j, b := range q[:n] {
			s += b * τ[j]
		}
		for j, b := range q[:n] {
			τ[j] -= s * b
		}
	}
	for j, uc := range o.uc {
		dst[j], dst[r+j] = -o.us[j]*τ[j], uc*τ[j]
	}
	copy(dst[2*r:], τ[r:])
}

func (p *normals) Normal(dst, u, _, work []float64, n int) {
	p.each(dst, work, n, func(dst []float64, _, l int, work []float64, w shape) {
		m := len(p.view[l].half[0])
		p.normal(dst, u[:m], work, w)
		u = u[m:]
	})
}

func (p *normals) Landing(dst, _, work []float64, n int) {
	p.each(dst, work, n, func(dst []float64, _, l int, work []float64, w shape) {
		p.normal(dst, work[:len(p.view[l].half[0])], work, w)
	})
}

func (p *normals) normal(dst, u, work []float64, w shape) {
	o, τ, y, r := w.of(work), p.τ, p.y, w.turning
	for j, inv := range o.inv {
		y[j] = u[j] * inv
	}
	clear(τ)
	n := len(τ)
	for e := range w.k {
		t := u[r+e]
		for j, a := range o.a[e*r : (e+1)*r] {
			t -= a * y[j]
		}
		l := o.l[e*w.k : (e+1)*w.k]
		for k := range e {
			t -= l[k] * p.z[k]
		}
		t /= l[e]
		p.z[e] = t
		for j, b := range o.q[e*n : (e+1)*n] {
			τ[j] += t * b
		}
	}
	for j, uc := range o.uc {
		us := o.us[j]
		dst[j], dst[r+j] = y[j]*uc-τ[j]*us, y[j]*us+τ[j]*uc
	}
	copy(dst[2*r:], τ[r:])
}
