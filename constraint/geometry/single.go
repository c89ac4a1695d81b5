package geometry

import "math"

// A single is the geometry of one dense equality: q = ∇h/‖∇h‖, Π = I − qqᵀ and ∇hᵀ G† u = u q/‖∇h‖. Points have few
// coordinates there, so that the bookkeeping of a factorisation would cost more than its sums.
type single struct {
	*points
	jac, q []float64 // rows×d: ∇h and its direction
	norm   []float64 // rows: ‖∇h‖
}

func newSingle(p *points) *single {
	return &single{
		points: p, jac: make([]float64, p.rows*p.d), q: make([]float64, p.rows*p.d), norm: make([]float64, p.rows),
	}
}

// At implements Geometry.
func (g *single) At(x []float64, n int) error { return g.hold(x, n, g.factor) }

func (g *single) factor(n int) error {
	d := g.d
	g.eval.Jacobians(g.values[:n], g.jac[:n*d], g.x[:n*d], n)
	for i := range n {
		ji, qi := g.jac[i*d:(i+1)*d], g.q[i*d:(i+1)*d]
		s := 0.0
		for _, v := range ji {
			s += v * v
		}
		s = math.Sqrt(s)
		if err := g.check(i, 0, s); err != nil {
			return err
		}
		inv := 1 / s
		for j, v := range ji {
			qi[j] = v * inv
		}
		g.norm[i] = s
	}
	return nil
}

// Active implements Geometry.
func (g *single) Active(int) int { return 1 }

// Rank implements Geometry.
func (g *single) Rank(int) int { return 1 }

// Tangent implements Geometry.
func (g *single) Tangent(dst, v []float64) {
	d := g.d
	for i := range g.n {
		q, out, in := g.q[i*d:(i+1)*d], dst[i*d:(i+1)*d], v[i*d:(i+1)*d]
		s := 0.0
		for j, w := range in {
			s += q[j] * w
		}
		for j, w := range in {
			out[j] = w - s*q[j]
		}
	}
	g.rest(dst)
}

// Normal implements Geometry.
func (g *single) Normal(dst, u []float64) {
	d := g.d
	for i := range g.n {
		s, out := u[i]/g.norm[i], dst[i*d:(i+1)*d]
		for j, v := range g.q[i*d : (i+1)*d] {
			out[j] = s * v
		}
	}
}

// Landing implements Geometry.
func (g *single) Landing(dst []float64) { g.Normal(dst, g.values) }

// basis implements base.
func (g *single) basis(i, _ int) ([]float64, int) { return g.q[i*g.d : (i+1)*g.d], 1 }

// gradients implements base.
func (g *single) gradients(i, _ int) []float64 { return g.jac[i*g.d : (i+1)*g.d] }
