package langevin

import (
	"math"
	"sync"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// An Energy is a Potential that knows its values, as Metropolis asks for.
type Energy interface {
	Potential
	// Value writes f at n points, up to a constant.
	Value(dst, x []float64, n int)
}

// A Beginner is a Potential that knows a point near Σ where chains may begin: f is finite there,
// as it is not at points that are drawn blindly when f is the energy of a molecule.
type Beginner interface {
	Potential
	// Begin returns the point, or nil.
	Begin() []float64
}

// begin returns the point that f would have chains begin from, or nil.
func begin(f Potential) []float64 {
	if b, ok := f.(Beginner); ok {
		return b.Begin()
	}
	return nil
}

// Quadratic is f(x) = ½ (x−c)ᵀ diag(w) (x−c): a Gaussian exp(−f) before Σ cuts it.
type Quadratic struct {
	Center []float64 // c; nil means 0
	Weight []float64 // w; nil means 1
}

// Gradient implements Potential.
func (q Quadratic) Gradient(dst, x []float64, n int) {
	d := len(x) / max(n, 1)
	for i := range n {
		for j := range d {
			v := x[i*d+j]
			if q.Center != nil {
				v -= q.Center[j]
			}
			if q.Weight != nil {
				v *= q.Weight[j]
			}
			dst[i*d+j] = v
		}
	}
}

// Linear is f(x) = −b·x: on a sphere exp(−f) is the von Mises–Fisher law.
type Linear struct{ B []float64 }

// Gradient implements Potential.
func (l Linear) Gradient(dst, _ []float64, n int) {
	d := len(l.B)
	for i := range n {
		for j, b := range l.B {
			dst[i*d+j] = -b
		}
	}
}

// Value implements Energy.
func (q Quadratic) Value(dst, x []float64, n int) {
	d := len(x) / max(n, 1)
	for i := range n {
		dst[i] = 0
		for j := range d {
			v, w := x[i*d+j], 1.0
			if q.Center != nil {
				v -= q.Center[j]
			}
			if q.Weight != nil {
				w = q.Weight[j]
			}
			dst[i] += w * v * v / 2
		}
	}
}

// Value implements Energy.
func (l Linear) Value(dst, x []float64, n int) {
	d := len(l.B)
	for i := range n {
		dst[i] = -dense.Dot(l.B, x[i*d:(i+1)*d])
	}
}

// Before returns f of the first d coordinates of points that have n more behind them, a condition.
func Before(f Potential, d, n int) Potential {
	b := before{f, d, d + n}
	if e, ok := f.(Energy); ok {
		return beforeEnergy{b, e}
	}
	return b
}

type before struct {
	f      Potential
	d, all int
}

// Gradient implements Potential.
func (b before) Gradient(dst, x []float64, n int) {
	for i := range n {
		to := dst[i*b.all : (i+1)*b.all]
		b.f.Gradient(to[:b.d], x[i*b.all:i*b.all+b.d], 1)
		clear(to[b.d:])
	}
}

type beforeEnergy struct {
	before
	e Energy
}

// Value implements Energy.
func (b beforeEnergy) Value(dst, x []float64, n int) {
	for i := range n {
		b.e.Value(dst[i:i+1], x[i*b.all:i*b.all+b.d], 1)
	}
}

// Level returns f + ½ ln det G with G = ∇h∇hᵀ, so that exp(−f − ½ ln det G) on Σ is the law of exp(−f) in R^d given h =
// 0; exp(−f) alone is a density by area. f may be nil; the result is an Energy if f is nil or one. The error is a
// *constraint.UnsupportedError: the set has no second derivatives.
//
//	∂_k ½ ln det G = ½ tr(G⁻¹ ∂_k G) = Σ_i (∇²h_i w_i)_k,  w = G⁻¹∇h
func Level(set constraint.Set, f Potential) (Potential, error) {
	smooth := constraint.EqualitiesOf(set)
	if len(smooth.Equalities()) == 0 {
		return f, nil
	}
	if smooth.NewEvaluator(1).HessianVectors == nil {
		return nil, &constraint.UnsupportedError{
			Set: constraint.Name(set), Need: "second derivatives", For: "the measure of a level",
		}
	}
	l := newLevel(smooth, f)
	if e, ok := f.(Energy); ok || f == nil {
		return levelEnergy{l, e}, nil
	}
	return l, nil
}

// A level is shared by goroutines: each takes scratch from the pool.
type level struct {
	set  constraint.Set
	f    Potential
	free *sync.Pool // of *levelScratch
}

func newLevel(set constraint.Set, f Potential) level {
	m, d := len(set.Equalities()), set.Dim()
	return level{set, f, &sync.Pool{New: func() any {
		vec := func(n int) []float64 { return make([]float64, n) }
		return &levelScratch{set.NewEvaluator(1), vec(m), vec(m * d), vec(m * m), vec(m * d), vec(m)}
	}}}
}

// Begin implements Beginner.
func (l level) Begin() []float64 { return begin(l.f) }

type levelScratch struct {
	at                      constraint.Evaluator
	values, jac, g, hv, col []float64
}

// factor computes ∇h and the Cholesky factor of G at a point; ok is false where the rank drops.
func (s *levelScratch) factor(x []float64) (ok bool) {
	m, d, jac, g := len(s.values), len(x), s.jac, s.g
	s.at.Jacobians(s.values, jac, x, 1)
	for i := range m {
		for j := range i + 1 {
			g[i*m+j] = dense.Dot(jac[i*d:(i+1)*d], jac[j*d:(j+1)*d])
		}
	}
	for i := range m {
		for j := range i + 1 {
			v := g[i*m+j] - dense.Dot(g[i*m:i*m+j], g[j*m:j*m+j])
			if i > j {
				g[i*m+j] = v / g[j*m+j]
			} else if g[i*m+i] = math.Sqrt(v); !(v > 0) {
				return false
			}
		}
	}
	return true
}

// Gradient implements Potential.
func (l level) Gradient(dst, x []float64, n int) {
	s := l.free.Get().(*levelScratch)
	defer l.free.Put(s)
	m, d := len(s.values), l.set.Dim()
	clear(dst[:n*d])
	if l.f != nil {
		l.f.Gradient(dst, x, n)
	}
	w, g, col := s.jac, s.g, s.col
	for i := range n {
		row, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		if !s.factor(row) {
			continue
		}
		for k := range d { // solve L Lᵀ w = ∇h in place, column by column
			for a := range m {
				col[a] = (w[a*d+k] - dense.Dot(g[a*m:a*m+a], col[:a])) / g[a*m+a]
			}
			for a := m - 1; a >= 0; a-- {
				for b := a + 1; b < m; b++ {
					col[a] -= g[b*m+a] * col[b]
				}
				col[a] /= g[a*m+a]
				w[a*d+k] = col[a]
			}
		}
		for a := range m {
			s.at.HessianVectors(s.hv, row, w[a*d:(a+1)*d], 1)
			dense.AddScaled(to, to, 1, s.hv[a*d:(a+1)*d])
		}
	}
}

type levelEnergy struct {
	level
	energy Energy
}

// Value implements Energy.
func (l levelEnergy) Value(dst, x []float64, n int) {
	s := l.free.Get().(*levelScratch)
	defer l.free.Put(s)
	clear(dst[:n])
	if l.energy != nil {
		l.energy.Value(dst, x, n)
	}
	m, d := len(s.values), l.set.Dim()
	for i := range n {
		if !s.factor(x[i*d : (i+1)*d]) {
			dst[i] = math.Inf(1)
			continue
		}
		for a := range m {
			dst[i] += math.Log(s.g[a*m+a])
		}
	}
}
