package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

// The normal space of a group with a pattern has three parts, orthogonal to each other:
//
//   - walls: active inequalities in one coordinate, each a unit vector e_j. The other gradients lose that coordinate;
//   - the core: equalities, with U Uᵀ = L D Lᵀ of their unit gradients U;
//   - the border: what is too near the span of the core for that, redundant equalities among it, and the other active
//     inequalities. Their unit gradients b are b = Wᵀ (walls and core) + Rᵀ Q with Q orthonormal, by a rank-revealing
//     QR factorisation of the few rows that the core leaves of them. Rows of W that Q does not count are replaced by
//     an orthonormal basis of the w with wᵀ ∇J = 0, so that what solves the others solves them in the least squares.
//
// A sparse holds the borders of a block of points, and scratch.
type sparse struct {
	border []border  // rows×groups
	arena  []float64 // of the borders: Q, R, W of each, and what dependent ones need
	used   int
	walled []bool    // d: coordinates with an active wall, in factorSparse
	late   []int     // c: components of a border
	order  []int     // c: their order by QR
	z, t   []float64 // of the core
	rhs    []float64 // c
	x      []float64 // d
	e, ζ   []float64 // of the border: c
}

// A border says how many walls and rows of the border a group has at a point, the rank of the latter, and where their
// numbers begin.
type border struct {
	walls, k, rank, at int
	precision          float64 // of what is projected, along unit gradients: sines as small as this may be among them
}

// nearSpan: an equality with a smaller squared sine to the span of those before it goes to the border, since the square
// roots of pivots are the precision of L.
const nearSpan = 1e-6

// mostBorder is how many active inequalities in several coordinates count at a point: the border is dense. The others
// wait for a point where these hold.
const mostBorder = 256

// projected: what is left along unit gradients of a vector of size 1 that is projected, where they are orthogonal.
const projected = 0x1p-48

func newSparse(p *points, l *layout) *sparse {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &sparse{
		border: make([]border, p.rows*len(l.groups)), walled: make([]bool, p.d), late: make([]int, p.c),
		order: make([]int, p.c), z: vec(p.c), t: vec(p.c), rhs: vec(p.c), x: vec(p.d), e: vec(p.c), ζ: vec(p.c),
	}
}

// reset forgets the borders of a block.
func (g *factored) reset() {
	if g.sparse != nil {
		g.sparse.used = 0
	}
}

// take returns where n more numbers begin in the arena.
func (s *sparse) take(n int) int {
	at := s.used
	if s.used += n; s.used > len(s.arena) {
		s.arena = append(s.arena, make([]float64, 2*s.used-len(s.arena))...)
	}
	return at
}

// core returns the factors of group a at point i.
func (g *factored) core(i, a int) (low, inverse, unit []float64) {
	gr := &g.groups[a]
	n := len(gr.pattern.li)
	r := g.r[i*g.sq+gr.sq:][:n+gr.m]
	return r[:n], r[n:], gr.matrix(g.q[i*g.mat:])
}

// edge returns the border of group a at point i: Q, k×d of which the first rank rows count; R, k×k; W, k×c, by
// components; and the components of walls and border.
func (g *factored) edge(i, a int) (b border, q, r, w []float64, walls, late []int) {
	gr := &g.groups[a]
	b = g.sparse.border[i*len(g.groups)+a]
	q = g.sparse.arena[b.at:]
	r = q[b.k*gr.d:]
	w = r[b.k*b.k:]
	pivot := g.pivot[i*g.c+gr.vec:][:gr.c]
	return b, q, r, w, pivot[:b.walls], pivot[b.walls:][:b.k]
}

// factorSparse is factor of a group with a pattern.
func (g *factored) factorSparse(i, a int) error {
	gr, s := &g.groups[a], g.sparse
	p, vals := gr.pattern, g.values[i*g.c:(i+1)*g.c]
	jac := gr.matrix(g.jac[i*g.mat:])
	low, inverse, unit := g.core(i, a)
	pivot, scale := g.pivot[i*g.c+gr.vec:][:gr.c], g.scale[i*g.c+gr.vec:][:gr.c]
	walls, late := 0, s.late[:0]
	for l, comp := range gr.comp {
		row, at := gr.row(jac, l)
		size := dense.Norm4(row)
		if err := g.check(i, comp, size); err != nil {
			return err
		}
		scale[l] = size
		switch {
		case l < gr.m:
			dense.Scaled(unit[p.start[l]:p.start[l+1]], 1/size, row)
		case vals[comp] < 0 || size < GradientTolerance:
			scale[l] = 0
		case len(row) == 1 && !s.walled[at[0]]:
			s.walled[at[0]] = true
			pivot[walls] = l
			walls++
		case len(late) == mostBorder:
			scale[l] = 0
		default:
			late = append(late, l)
		}
	}
	rank := gr.m + walls
	count := rank + len(late)
	if walls > 0 {
		for e, j := range p.col[:p.start[gr.m]] {
			if s.walled[j] {
				unit[e] = 0
			}
		}
		for _, l := range pivot[:walls] {
			s.walled[p.col[p.start[l]]] = false
		}
	}
	least := p.factor(low, inverse, unit, s.z, nearSpan)
	for k, v := range inverse {
		if v == 0 {
			late = append(late, int(p.order[k]))
			rank--
		}
	}
	at := i*len(g.groups) + a
	s.border[at] = border{walls: walls, k: len(late), at: s.used, precision: projected * math.Sqrt(least)}
	copy(pivot[walls:], late)
	if len(late) > 0 {
		if err := g.factorBorder(i, a); err != nil {
			return err
		}
		rank += s.border[at].rank
	}
	g.count[at], g.rank[at] = count, rank
	return nil
}

// factorBorder factors the border of group a at point i.
func (g *factored) factorBorder(i, a int) error {
	gr, s := &g.groups[a], g.sparse
	k, c, d := s.border[i*len(g.groups)+a].k, gr.c, gr.d
	s.take(k * (d + k + c))
	spare := s.take(k * c)
	s.used = spare
	b, q, r, w, walls, late := g.edge(i, a)
	unsorted := s.arena[spare:][:k*c]
	clear(unsorted)
	jac, scale := gr.matrix(g.jac[i*g.mat:]), g.scale[i*g.c+gr.vec:][:c]
	for e, l := range late {
		if err := g.until.Err(); k*d > heavy && err != nil {
			return err
		}
		row, coef := q[e*d:(e+1)*d], unsorted[e*c:(e+1)*c]
		clear(row)
		gr.axpy(row, 1/scale[l], jac, l)
		x := s.x[:d]
		copy(x, row)
		g.stop(row, walls, gr)
		g.clean(row, coef, 1, i, a)
		if size := dense.Norm4(row); size > RankTolerance {
			g.clean(row, coef, size, i, a)
		}
		if len(walls) > 0 {
			for h := range gr.m {
				if coef[h] != 0 {
					gr.axpy(x, -coef[h]/scale[h], jac, h)
				}
			}
			for _, h := range walls {
				j := gr.pattern.col[gr.pattern.start[h]]
				coef[h] = math.Copysign(x[j], x[j]*jac[gr.pattern.start[h]])
			}
		}
		s.order[e] = e
	}
	order := s.order[:k]
	b.rank = dense.PivotedQR(q, r[:k*k], order, s.e, k, k, d, RankTolerance)
	copy(s.late, late)
	for e, from := range order {
		late[e] = s.late[from]
		copy(w[e*c:(e+1)*c], unsorted[from*c:(from+1)*c])
	}
	for e := range b.rank { // what was small had more along the others, by its length
		row := q[e*d : (e+1)*d]
		if r[e*k+e] > 0.1 {
			continue
		}
		g.clean(row, nil, 1, i, a)
		for f := range e {
			dense.Axpy(row, -dense.Dot4(q[f*d:(f+1)*d], row), q[f*d:(f+1)*d])
		}
		dense.Scaled(row, 1/dense.Norm4(row), row)
	}
	s.border[i*len(g.groups)+a].rank = b.rank
	for e := b.rank; e < k; e++ {
		row, f := w[e*c:(e+1)*c], s.ζ[:b.rank]
		dense.Scaled(row, -1, row)
		for p := b.rank - 1; p >= 0; p-- { // b_e = … + Rᵀ Q in the b of rows before it
			f[p] = r[p*k+e]
			for h := p + 1; h < b.rank; h++ {
				f[p] -= r[p*k+h] * f[h]
			}
			f[p] /= r[p*k+p]
			dense.Axpy(row, f[p], w[p*c:(p+1)*c])
			row[late[p]] = -f[p]
		}
		row[late[e]] = 1
		for range 2 {
			dense.Scaled(row, 1/dense.Norm4(row), row)
			for h := b.rank; h < e; h++ {
				dense.Axpy(row, -dense.Dot4(w[h*c:(h+1)*c], row), w[h*c:(h+1)*c])
			}
		}
		dense.Scaled(row, 1/dense.Norm4(row), row)
	}
	return nil
}

// stop clears the coordinates of x that have an active wall.
func (g *factored) stop(x []float64, walls []int, gr *group) {
	for _, l := range walls {
		x[gr.pattern.col[gr.pattern.start[l]]] = 0
	}
}

// clean takes away from x, of a size, its part in the span of the core, and adds its coefficients to those of the
// components; nil: of none. One solution may leave as much as L is imprecise, so it looks.
func (g *factored) clean(x, coef []float64, size float64, i, a int) {
	p, enough := g.groups[a].pattern, size*g.sparse.border[i*len(g.groups)+a].precision
	low, inverse, unit := g.core(i, a)
	z := g.sparse.z[:len(inverse)]
	for before := math.Inf(1); ; {
		along := p.times(z, unit, x, inverse)
		if !(along > enough && along < before/4) {
			return
		}
		before = along
		p.solve(low, low, inverse, z)
		p.addTransposed(x, -1, unit, z)
		if coef != nil {
			for k, v := range z {
				coef[p.order[k]] += v
			}
		}
	}
}

func (g *factored) tangentSparse(x []float64, i, a int) {
	gr := &g.groups[a]
	b, q, _, _, walls, _ := g.edge(i, a)
	g.stop(x, walls, gr)
	g.clean(x, nil, dense.Largest(x), i, a)
	for ; b.rank > 0; b.rank-- {
		dense.Axpy(x, -dense.Dot4(q[:gr.d], x), q[:gr.d])
		q = q[gr.d:]
	}
}

// normalSparse writes ∇Jᵀ G† u of group a, with ε added to the inequalities in u.
func (g *factored) normalSparse(out, u []float64, ε float64, i, a int) {
	gr, s := &g.groups[a], g.sparse
	p, jac, scale := gr.pattern, gr.matrix(g.jac[i*g.mat:]), g.scale[i*g.c+gr.vec:][:gr.c]
	b, q, r, w, walls, late := g.edge(i, a)
	low, inverse, unit := g.core(i, a)
	rhs, ζ := s.rhs[:gr.c], s.ζ[:b.rank]
	for l, comp := range gr.comp {
		v := u[comp]
		if l >= gr.m {
			v += ε
		}
		if scale[l] > 0 {
			v /= scale[l]
		} else {
			v = 0
		}
		rhs[l] = v
	}
	for e := b.rank; e < b.k; e++ { // the nearest right-hand side that has a solution
		null := w[e*gr.c : (e+1)*gr.c]
		dense.Axpy(rhs, -dense.Dot4(null, rhs), null)
	}
	f := s.e[:b.rank]
	for e := range f {
		f[e] = rhs[late[e]] - dense.Dot4(w[e*gr.c:(e+1)*gr.c], rhs)
	}
	forward(ζ, r, f, b.k)
	clear(out)
	for _, l := range walls {
		e := p.start[l]
		out[p.col[e]] = math.Copysign(rhs[l], rhs[l]*jac[e])
	}
	z, t := s.z[:gr.m], s.t[:gr.m]
	for k, l := range p.order {
		v := 0.0
		if inverse[k] != 0 {
			v = rhs[l]
			if b.walls > 0 {
				v -= gr.dot(jac, int(l), out) / scale[l]
			}
		}
		z[k], t[k] = v, v
	}
	for missing := dense.Largest(t); missing > 0; {
		before := missing
		p.solve(low, low, inverse, z)
		p.addTransposed(out, 1, unit, z)
		p.times(z, unit, out, inverse)
		for k, v := range t {
			z[k] = v - z[k]
		}
		missing = dense.Largest(z)
		if !(missing > b.precision*dense.Largest(out) && missing < before/4) {
			break
		}
	}
	for e, v := range ζ {
		dense.Axpy(out, v, q[e*gr.d:(e+1)*gr.d])
	}
}
