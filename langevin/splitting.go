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
	set     geometry.Geometry    // of the equalities
	project *geometry.Projection // on them
	all     constraint.Evaluator // of the whole set
	c, m    int                  // all components, equalities
	values  []float64            // rows×c
	f       Potential
	d       int
	τ, a, b float64
	grad, y []float64 // rows×d
	ok      []bool
}

// step advances (x, p) in place. A row whose flight fails turns back: it keeps
// its point and reverses its momentum, which leaves exp(−f − ‖p‖²/2) invariant
// up to the kicks; it is marked in failed.
func (s *splitting) step(x, p, ζ []float64, failed []bool, n int) (o geometry.Outcome, err error) {
	if err := s.set.At(x, n); err != nil {
		return o, err
	}
	s.kick(x, p, n)
	if err := s.flight(x, p, failed, n, &o); err != nil {
		return o, err
	}
	nd := n * s.d
	for i := range s.y[:nd] {
		s.y[i] = s.b * ζ[i]
	}
	s.set.Tangent(s.y, s.y)
	for i, v := range s.y[:nd] {
		p[i] = s.a*p[i] + v
	}
	if err := s.flight(x, p, failed, n, &o); err != nil {
		return o, err
	}
	s.kick(x, p, n)
	return o, nil
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
func (s *splitting) flight(x, p []float64, failed []bool, n int, o *geometry.Outcome) error {
	h := s.τ / 2
	for i, v := range p[:n*s.d] {
		s.y[i] = x[i] + h*v
	}
	o.Add(s.project.Project(s.set, s.y, s.y, s.ok, 0))
	if s.c > s.m {
		s.all.Values(s.values[:n*s.c], s.y[:n*s.d], n)
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
	s.all.Values(s.values[:n*s.c], x[:n*s.d], n)
	return s.values
}

func newSplitting(p *Process, rows int) *splitting {
	d, m, τ := p.Set.Dim(), len(p.Set.Equalities()), p.Schedule.Tau(0)
	a, c, set := p.Decay(τ), m+len(p.Set.Inequalities()), p.Set
	if c > m {
		set = whole{constraint.EqualitiesOf(p.Set)}
	}
	return &splitting{
		set: geometry.New(set, rows, 0), project: geometry.NewProjection(set, rows), all: p.Set.NewEvaluator(rows),
		f: p.Potential, d: d, c: c, m: m, τ: τ, a: a, b: math.Sqrt(1 - a*a), values: make([]float64, rows*c),
		grad: make([]float64, rows*d), y: make([]float64, rows*d), ok: make([]bool, rows),
	}
}

// whole hides the Support of a set, so that its geometry is one group.
type whole struct{ constraint.Set }

func (s whole) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Support = nil
	return c
}
