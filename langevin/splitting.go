package langevin

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
)

// A splitting is the symmetric B-A-O-A-B splitting of underdamped Langevin
// dynamics on Σ (Leimkuhler and Matthews, "Efficient molecular dynamics using
// geodesic integration and solvent–solute splitting", 2016), for sampling
// exp(−f). With the step τ and a = exp(−γτ):
//
//	B  p ← p − (τ/2) Π∇f                      half a kick
//	A  x' = x + (τ/2) p + ∇h(x)ᵀλ, h(x') = 0   half a free flight (RATTLE)
//	   p ← Π(x')(x' − x)/(τ/2)
//	O  p ← a p + √(1−a²) Πζ                   exact Ornstein–Uhlenbeck
//	A, B                                      the same again
//
// A flight that ends beyond an inequality turns back: the point stays and the
// momentum is reversed, which leaves exp(−f) on {g ≤ 0} as it is.
//
// It is of second order where the paper's O-B̃-A is of first; on a quadratic f
// and an affine Σ its positions have exactly the covariance of exp(−f).
type splitting struct {
	set     *geometry.Block // of the equalities
	whole   constraint.Set
	c, m    int       // all components, equalities
	values  []float64 // rows×c
	f       Potential
	d       int
	τ, a, b float64
	grad, y []float64 // rows×d
	ok      []bool
}

// step advances (x, p) in place. A row whose flight fails turns back: it keeps
// its point and reverses its momentum, which leaves exp(−f − ‖p‖²/2) invariant
// up to the kicks; it is marked in failed.
func (s *splitting) step(x, p, ζ []float64, failed []bool, n int) error {
	if err := s.set.At(x, n); err != nil {
		return err
	}
	s.kick(x, p, n)
	if err := s.flight(x, p, failed, n); err != nil {
		return err
	}
	nd := n * s.d
	for i := range s.y[:nd] {
		s.y[i] = s.b * ζ[i]
	}
	s.set.Tangent(s.y, s.y)
	for i, v := range s.y[:nd] {
		p[i] = s.a*p[i] + v
	}
	if err := s.flight(x, p, failed, n); err != nil {
		return err
	}
	s.kick(x, p, n)
	return nil
}

// kick is B; the geometry must be that of x.
func (s *splitting) kick(x, p []float64, n int) {
	if s.f == nil {
		return
	}
	s.f.Gradient(s.grad[:n*s.d], x[:n*s.d], n)
	s.set.Tangent(s.grad, s.grad)
	for i, g := range s.grad[:n*s.d] {
		p[i] -= s.τ / 2 * g
	}
}

// flight is A. It leaves the geometry at the new points.
func (s *splitting) flight(x, p []float64, failed []bool, n int) error {
	h := s.τ / 2
	for i, v := range p[:n*s.d] {
		s.y[i] = x[i] + h*v
	}
	s.set.Project(s.y, s.y, s.ok)
	if s.c > s.m {
		s.whole.Values(s.values[:n*s.c], s.y[:n*s.d], n)
	}
	for i, ok := range s.ok[:n] {
		failed[i] = failed[i] || !ok
		for _, g := range s.values[i*s.c+s.m : (i+1)*s.c] {
			ok = ok && g <= 0
		}
		for j := i * s.d; j < (i+1)*s.d; j++ {
			if ok {
				p[j] = (s.y[j] - x[j]) / h
				x[j] = s.y[j]
			} else {
				p[j] = -p[j]
			}
		}
	}
	if err := s.set.At(x, n); err != nil {
		return err
	}
	s.set.Tangent(p, p)
	return nil
}

// components returns all components at the points x of the last step.
func (s *splitting) components(x []float64, n int) []float64 {
	if s.c == s.m {
		return s.set.Values()
	}
	s.whole.Values(s.values[:n*s.c], x[:n*s.d], n)
	return s.values
}

func newSplitting(p *Process, rows int) *splitting {
	d, τ := p.Set.Dim(), p.Schedule.Tau(0)
	a := p.Decay(τ)
	set := p.Set
	if len(set.Inequalities()) > 0 {
		set = &equalities{Set: p.Set, m: len(p.Set.Equalities()), rows: rows}
	}
	return &splitting{
		set: geometry.NewBlock(set, rows, 0), whole: p.Set, f: p.Potential, d: d,
		c: len(constraint.Components(p.Set)), m: len(p.Set.Equalities()), values: make([]float64, rows*len(constraint.Components(p.Set))),
		τ: τ, a: a, b: math.Sqrt(1 - a*a),
		grad: make([]float64, rows*d), y: make([]float64, rows*d), ok: make([]bool, rows),
	}
}

// equalities is a set without its inequalities, for one goroutine and blocks of
// up to rows points.
type equalities struct {
	constraint.Set
	m, rows     int
	values, jac []float64 // of the whole set
}

func (*equalities) Inequalities() []string { return nil }

func (s *equalities) Values(values, x []float64, n int) {
	c := s.room()
	s.Set.Values(s.values[:n*c], x, n)
	s.keep(values, s.values, n, 1)
}

func (s *equalities) Jacobians(values, jac, x []float64, n int) {
	c, d := s.room(), s.Dim()
	s.Set.Jacobians(s.values[:n*c], s.jac[:n*c*d], x, n)
	s.keep(values, s.values, n, 1)
	s.keep(jac, s.jac, n, d)
}

// room returns the number of components of the whole set.
func (s *equalities) room() int {
	c := len(s.values) / s.rows
	if s.values == nil {
		c = len(constraint.Components(s.Set))
		s.values, s.jac = make([]float64, s.rows*c), make([]float64, s.rows*c*s.Dim())
	}
	return c
}

// keep copies the equalities' share of src, width numbers a component.
func (s *equalities) keep(dst, src []float64, n, width int) {
	c := len(s.values) / s.rows
	for i := range n {
		copy(dst[i*s.m*width:(i+1)*s.m*width], src[i*c*width:])
	}
}
