package geometry

import "github.com/landing-diffusion/landing/constraint"

// A closed is the geometry of a set that knows its normal space (constraint.Projector). Points where it says that ∇h
// loses rank are factored like those of any other set.
type closed struct {
	*points
	until
	l       *layout
	normals constraint.Projector
	size    int       // numbers kept of a point
	work    []float64 // rows×size
	regular []bool    // rows
	all     bool      // every point held is regular
	other   *factored // of the other points; made when there is one
}

func newClosed(p *points, l *layout) *closed {
	size := p.eval.Projector.WorkSize()
	return &closed{
		points: p, l: l, normals: p.eval.Projector, size: size,
		work: make([]float64, p.rows*size), regular: make([]bool, p.rows),
	}
}

// At implements Geometry.
func (g *closed) At(x []float64, n int) error { return g.hold(x, n, g.factor) }

func (g *closed) factor(n int) error {
	g.normals.Factor(g.values[:n*g.c], g.work[:n*g.size], g.regular[:n], g.x[:n*g.d], n)
	g.all = true
	for i := range n {
		if !g.regular[i] {
			g.all = false
			if err := g.until.Err(); err != nil {
				return err
			}
			if err := g.factorRow(i); err != nil {
				return err
			}
			continue
		}
		for comp := range g.c {
			if err := g.check(i, comp, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// factorRow computes the gradients and factors of point i.
func (g *closed) factorRow(i int) error {
	if g.other == nil {
		g.other = newFactored(g.points, g.l, 0)
		g.other.until = g.until
	}
	return g.other.factorRow(i)
}

// Active implements Geometry.
func (g *closed) Active(int) int { return g.c }

// Rank implements Geometry.
func (g *closed) Rank(i int) int {
	if g.regular[i] {
		return g.c
	}
	return g.other.Rank(i)
}

// Tangent implements Geometry.
func (g *closed) Tangent(dst, v []float64) {
	d := g.d
	if g.all {
		g.normals.Tangent(dst[:g.n*d], v[:g.n*d], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out, in := dst[i*d:(i+1)*d], v[i*d:(i+1)*d]; g.regular[i] {
			g.normals.Tangent(out, in, g.point(i), g.workOf(i), 1)
		} else {
			g.other.tangent(out, in, i)
		}
	}
	g.rest(dst)
}

// Normal implements Geometry.
func (g *closed) Normal(dst, u []float64) {
	d, c := g.d, g.c
	if g.all {
		g.normals.Normal(dst[:g.n*d], u[:g.n*c], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out, ui := dst[i*d:(i+1)*d], u[i*c:(i+1)*c]; g.regular[i] {
			g.normals.Normal(out, ui, g.point(i), g.workOf(i), 1)
		} else {
			g.other.normal(out, ui, 0, i)
		}
	}
}

// Landing implements Geometry.
func (g *closed) Landing(dst []float64) {
	d := g.d
	if g.all {
		g.normals.Landing(dst[:g.n*d], g.x[:g.n*d], g.work, g.n)
		return
	}
	for i := range g.n {
		if out := dst[i*d : (i+1)*d]; g.regular[i] {
			g.normals.Landing(out, g.point(i), g.workOf(i), 1)
		} else {
			g.other.landing(out, i)
		}
	}
}

func (g *closed) point(i int) []float64  { return g.x[i*g.d : (i+1)*g.d] }
func (g *closed) workOf(i int) []float64 { return g.work[i*g.size : (i+1)*g.size] }
