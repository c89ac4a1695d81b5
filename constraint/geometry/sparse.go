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
	z, t   []vec     // of the core
	x      []vec     // d
	rhs    []float64 // c
	wall   []float64 // d
	e      []float64 // of the border: c
	ζ      [lanes][]float64
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
const mostBorder = 64

// projected: what is left along unit gradients of a vector of size 1 that is projected, where they are orthogonal.
const projected = 0x1p-48

func newSparse(p *points, l *layout) *sparse {
	s := &sparse{
		border: make([]border, p.rows*len(l.groups)), walled: make([]bool, p.d), late: make([]int, p.c),
		order: make([]int, p.c), z: make([]vec, p.c), t: make([]vec, p.c), x: make([]vec, p.d),
		rhs: make([]float64, p.c), wall: make([]float64, p.d), e: make([]float64, p.c),
	}
	for i := range s.ζ {
		s.ζ[i] = make([]float64, p.c)
	}
	return s
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

// core returns the factors of group a at point i, which is lane i mod lanes of them, and the unit gradients.
func (g *factored) core(i, a int) (low, inverse, unit []vec) {
	gr := &g.groups[a]
	n := len(gr.pattern.li)
	r := g.cores[i/lanes*g.layout.cores+gr.sq:]
	return r[:n], r[n:][:gr.m], r[n+gr.m:][:gr.pattern.start[gr.m]]
}

// edge returns the border of group a at point i: Q, k×d, with rank rows that count; R, k×k; W, k×c, by components; and
// the components of walls and border.
func (g *factored) edge(i, a int) (b border, q, r, w []float64, walls, late []int) {
	gr := &g.groups[a]
	b = g.sparse.border[i*len(g.groups)+a]
	q = g.sparse.arena[b.at:]
	r = q[b.k*gr.d:]
	w = r[b.k*b.k:]
	pivot := g.pivot[i*g.c+gr.vec:][:gr.c]
	return b, q, r, w, pivot[:b.walls], pivot[b.walls:][:b.k]
}

// factorSparse is factor of a group with a pattern, at the points from, …, to − 1 of one block of lanes.
func (g *factored) factorSparse(from, to, a int) error {
	gr, s := &g.groups[a], g.sparse
	low, inverse, unit := g.core(from, a)
	for i := from; i < to; i++ {
		if err := g.unitGradients(i, a, unit); err != nil {
			return err
		}
	}
	least := gr.pattern.factor(low, inverse, unit, s.z, nearSpan)
	for i := from; i < to; i++ {
		at := i*len(g.groups) + a
		b := &s.border[at]
		b.precision = projected * math.Sqrt(least[i%lanes])
		g.rank[at] = gr.m + b.walls
		late := g.pivot[i*g.c+gr.vec+b.walls:]
		for k, v := range inverse {
			if v[i%lanes] == 0 {
				late[b.k] = int(gr.pattern.order[k])
				b.k++
				g.rank[at]--
			}
		}
		if b.k > 0 {
			if err := g.factorBorder(i, a); err != nil {
				return err
			}
			g.rank[at] += b.rank
		}
	}
	return nil
}

// unitGradients writes those of the equalities of group a at point i, and notes its walls and the other active
// inequalities.
func (g *factored) unitGradients(i, a int, unit []vec) error {
	gr, s := &g.groups[a], g.sparse
	p, vals := gr.pattern, g.values[i*g.c:(i+1)*g.c]
	jac := gr.matrix(g.jac[i*g.mat:])
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
			by, out := 1/size, unit[p.start[l]:]
			for e, v := range row {
				out[e][i%lanes] = by * v
			}
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
	if walls > 0 {
		for e, j := range p.col[:p.start[gr.m]] {
			if s.walled[j] {
				unit[e][i%lanes] = 0
			}
		}
		for _, l := range pivot[:walls] {
			s.walled[p.col[p.start[l]]] = false
		}
	}
	copy(pivot[walls:], late)
	at := i*len(g.groups) + a
	s.border[at] = border{walls: walls, k: len(late)}
	g.count[at] = gr.m + walls + len(late)
	return nil
}

// factorBorder factors the border of group a at point i.
func (g *factored) factorBorder(i, a int) error {
	gr, s := &g.groups[a], g.sparse
	k, c, d := s.border[i*len(g.groups)+a].k, gr.c, gr.d
	s.border[i*len(g.groups)+a].at = s.take(k * (d + k + c))
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
		x := s.wall[:d]
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
		row, f := w[e*c:(e+1)*c], s.ζ[0][:b.rank]
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

var never = vec{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}

// load copies a point into its lane of s.x, and store copies it back.
func (s *sparse) load(x []float64, i int) {
	for j, v := range x {
		s.x[j][i%lanes] = v
	}
}

func (s *sparse) store(x []float64, i int) {
	for j := range x {
		x[j] = s.x[j][i%lanes]
	}
}

// clean takes away from x, of a size, its part in the span of the core at point i, and adds its coefficients to those
// of the components; nil: of none.
func (g *factored) clean(x, coef []float64, size float64, i, a int) {
	enough := never
	enough[i%lanes] = size * g.sparse.border[i*len(g.groups)+a].precision
	clear(g.sparse.x)
	g.sparse.load(x, i)
	g.cleanBlock(coef, nil, enough, i, a)
	g.sparse.store(x, i)
}

// cleanBlock brings the points x of the block of i, in sparse.x, to U x = t by the normals of the core; nil: to 0. It
// goes on until what is missing is as small as enough, or with t as x is precise. One solution may miss as much as
// L is imprecise.
func (g *factored) cleanBlock(coef []float64, t []vec, enough vec, i, a int) {
	p, x := g.groups[a].pattern, g.sparse.x
	low, inverse, unit := g.core(i, a)
	z := g.sparse.z[:len(inverse)]
	for before := never; ; {
		missing, more := p.times(z, unit, x, inverse), false
		if t != nil {
			missing = vec{}
			for k := range t {
				for e, v := range t[k] {
					z[k][e] -= v
					missing[e] = max(missing[e], z[k][e], -z[k][e])
				}
			}
		}
		for e, v := range missing {
			if v > enough[e] && v < before[e]/4 {
				before[e], more = v, true
				continue
			}
			enough[e] = math.Inf(1)
			for k := range z {
				z[k][e] = 0
			}
		}
		if !more {
			return
		}
		p.solve(low, low, inverse, z)
		p.subtractTransposed(x, unit, z)
		for k := 0; coef != nil && k < len(z); k++ {
			coef[p.order[k]] += z[k][i%lanes]
		}
		if t == nil {
			continue
		}
		var size vec
		for j := range x {
			for e, v := range x[j] {
				size[e] = max(size[e], v, -v)
			}
		}
		for e, v := range size {
			if !math.IsInf(enough[e], 1) {
				enough[e] = g.sparse.border[(i-i%lanes+e)*len(g.groups)+a].precision * v
			}
		}
	}
}

// tangentSparse projects the points from, …, to − 1 of a block of lanes.
func (g *factored) tangentSparse(x []float64, from, to, a int) {
	gr, s, enough := &g.groups[a], g.sparse, never
	clear(s.x)
	for i := from; i < to; i++ {
		b, _, _, _, walls, _ := g.edge(i, a)
		t := gr.take(g.buf, x[i*g.d:(i+1)*g.d])
		g.stop(t, walls, gr)
		enough[i%lanes] = dense.Largest(t) * b.precision
		s.load(t, i)
	}
	g.cleanBlock(nil, nil, enough, from, a)
	for i := from; i < to; i++ {
		b, q, _, _, _, _ := g.edge(i, a)
		t := gr.take(g.buf, x[i*g.d:(i+1)*g.d])
		s.store(t, i)
		for ; b.rank > 0; b.rank-- {
			dense.Axpy(t, -dense.Dot4(q[:gr.d], t), q[:gr.d])
			q = q[gr.d:]
		}
		gr.put(x[i*g.d:(i+1)*g.d], t)
	}
}

// normalSparse writes ∇Jᵀ G† u of group a at the points from, …, to − 1 of a block of lanes, with ε added to the
// inequalities in u.
func (g *factored) normalSparse(out, u []float64, ε float64, from, to, a int) {
	gr, s, enough := &g.groups[a], g.sparse, never
	p, rhs, wall, t := gr.pattern, s.rhs[:gr.c], s.wall[:gr.d], s.t[:gr.m]
	_, inverse, _ := g.core(from, a)
	clear(s.x)
	clear(t)
	for i := from; i < to; i++ {
		jac, scale := gr.matrix(g.jac[i*g.mat:]), g.scale[i*g.c+gr.vec:][:gr.c]
		b, _, r, w, walls, late := g.edge(i, a)
		for l, comp := range gr.comp {
			v := u[i*g.c+comp]
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
		forward(s.ζ[i%lanes][:b.rank], r, f, b.k)
		clear(wall)
		for _, l := range walls {
			e := p.start[l]
			wall[p.col[e]] = math.Copysign(rhs[l], rhs[l]*jac[e])
		}
		s.load(wall, i)
		for k, l := range p.order {
			if inverse[k][i%lanes] != 0 {
				v := rhs[l]
				if b.walls > 0 {
					v -= gr.dot(jac, int(l), wall) / scale[l]
				}
				t[k][i%lanes] = v
			}
		}
		enough[i%lanes] = 0
	}
	g.cleanBlock(nil, t, enough, from, a)
	for i := from; i < to; i++ {
		b, q, _, _, _, _ := g.edge(i, a)
		row := out[i*g.d : (i+1)*g.d]
		v := gr.take(g.buf, row)
		s.store(v, i)
		for e, ζ := range s.ζ[i%lanes][:b.rank] {
			dense.Axpy(v, ζ, q[e*gr.d:(e+1)*gr.d])
		}
		gr.put(row, v)
	}
}
