package geometry

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A factored is the geometry by a rank-revealing factorisation of the unit gradients of the active components, group by
// group: QR, or a sparse one where the group has a pattern (sparse.go).
type factored struct {
	*points
	*layout
	until
	ε   float64
	der derivatives

	jac   []float64 // rows×mat: ∇J by groups; of those with a pattern packed
	count []int     // rows×groups: active components
	rank  []int     // rows×groups: rank of ∇J
	pivot []int     // rows×c: active components of each group, its own numbers, in the order of elimination
	scale []float64 // rows×c: norms of their gradients
	q     []float64 // rows×mat: orthonormal basis of the normal space, by rows
	r     []float64 // rows×sq: column i is the i-th pivoted unit gradient in basis q
	cores []vec     // a block of lanes×cores: L, D⁻¹ and unit gradients of groups with a pattern

	z, rhs, square []float64 // small solves: c, c, widest²
	buf            []float64 // a group's coordinates: d
	sparse         *sparse   // of groups with a pattern
}

func newFactored(p *points, l *layout, ε float64) *factored {
	groups := p.rows * len(l.groups)
	g := &factored{
		points: p, layout: l, ε: ε, der: newDerivatives(p.eval, l, p.c, p.d, p.rows),
		jac: make([]float64, p.rows*l.mat), r: make([]float64, p.rows*l.sq),
		count: make([]int, groups), rank: make([]int, groups),
		pivot: make([]int, p.rows*p.c), scale: make([]float64, p.rows*p.c),
		z: make([]float64, p.c), rhs: make([]float64, p.c), square: make([]float64, l.widest*l.widest),
		buf: make([]float64, p.d),
	}
	if l.widest > 0 {
		g.q = make([]float64, p.rows*l.mat)
	}
	if l.sparse {
		g.sparse, g.cores = newSparse(p, l), make([]vec, (p.rows+lanes-1)/lanes*l.cores)
	}
	return g
}

// At implements Geometry.
func (g *factored) At(x []float64, n int) error { return g.hold(x, n, g.factorAll) }

func (g *factored) factorAll(n int) error {
	g.der.at(g.values, g.jac, g.x, n)
	g.reset()
	for from := 0; from < n; from += lanes {
		to := min(from+lanes, n)
		if g.work > heavy {
			if err := g.until.Err(); err != nil {
				return err
			}
		}
		if g.factorGroups(from, to) == nil {
			continue
		}
		for i := from; i < to; i++ { // the first point with an error
			if err := g.factorGroups(i, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// factorRow computes the gradients and factors of point i alone.
func (g *factored) factorRow(i int) error {
	g.der.at(g.values[i*g.c:], g.jac[i*g.mat:], g.x[i*g.d:], 1)
	return g.factorGroups(i, i+1)
}

// factorGroups factors the points from, …, to − 1 of a block of lanes.
func (g *factored) factorGroups(from, to int) (err error) {
	for a := range g.groups {
		if g.groups[a].pattern != nil {
			err = g.factorSparse(from, to, a)
		}
		for i := from; i < to && err == nil && g.groups[a].pattern == nil; i++ {
			err = g.factor(i, a)
		}
		if err != nil {
			break
		}
	}
	return err
}

// factor computes the factorisation of group a at point i: with the components in their own order if they are well
// apart, otherwise with column pivoting, which reveals the rank.
func (g *factored) factor(i, a int) error {
	gr := &g.groups[a]
	d, c := gr.d, gr.c
	vals := g.values[i*g.c : (i+1)*g.c]
	jac, q := g.jac[i*g.mat+gr.mat:][:c*d], g.q[i*g.mat+gr.mat:][:c*d]
	r := g.r[i*g.sq+gr.sq:][:c*c]
	pivot, scale := g.pivot[i*g.c+gr.vec:][:c], g.scale[i*g.c+gr.vec:][:c]

	// I_x = {j : g_j(x) ≥ 0}; equalities are always active. An inequality whose
	// gradient vanishes has no direction to push in and is left out.
	k := 0
	for l, comp := range gr.comp {
		row := jac[l*d : (l+1)*d]
		s := dense.Norm4(row)
		if err := g.check(i, comp, s); err != nil {
			return err
		}
		if l >= gr.m && (vals[comp] < 0 || s < GradientTolerance) {
			continue
		}
		dense.Scaled(q[k*d:(k+1)*d], 1/s, row)
		pivot[k], scale[k] = l, s
		k++
	}
	at := i*len(g.groups) + a
	g.count[at], g.rank[at] = k, k
	switch {
	case k == 1:
		r[0] = 1
	case !dense.QR(q, r, k, c, d):
		for e := range k {
			dense.Scaled(q[e*d:(e+1)*d], 1/scale[e], jac[pivot[e]*d:(pivot[e]+1)*d])
		}
		g.rank[at] = dense.PivotedQR(q, r, pivot, scale, k, c, d, RankTolerance)
	}
	return nil
}

// Active implements Geometry.
func (g *factored) Active(i int) int { return sum(g.count, i, len(g.groups)) }

// Rank implements Geometry.
func (g *factored) Rank(i int) int { return sum(g.rank, i, len(g.groups)) }

func sum(v []int, i, width int) (s int) {
	for _, k := range v[i*width : (i+1)*width] {
		s += k
	}
	return s
}

// Tangent implements Geometry.
func (g *factored) Tangent(dst, v []float64) {
	if g.n > 0 && &dst[0] != &v[0] {
		copy(dst, v[:g.n*g.d])
	}
	g.tangents(dst, 0, g.n)
	g.points.rest(dst)
}

// Normal implements Geometry.
func (g *factored) Normal(dst, u []float64) { g.normals(dst, u, 0, 0, g.n) }

// Landing implements Geometry.
func (g *factored) Landing(dst []float64) { g.normals(dst, g.values, g.ε, 0, g.n) }

// tangents projects the rows from, …, to − 1 of v.
func (g *factored) tangents(v []float64, from, to int) {
	for a := range g.groups {
		gr := &g.groups[a]
		for lo := from; lo < to; {
			hi := min(to, (lo/lanes+1)*lanes)
			if gr.pattern != nil {
				g.tangentSparse(v, lo, hi, a)
				lo = hi
			}
			for ; lo < hi; lo++ {
				out := v[lo*g.d : (lo+1)*g.d]
				t := gr.take(g.buf, out)
				for q, _ := g.basis(lo, a); len(q) > 0; q = q[gr.d:] {
					dense.Axpy(t, -dense.Dot4(q[:gr.d], t), q[:gr.d])
				}
				gr.put(out, t)
			}
		}
	}
}

// normals writes ∇Jᵀ G† u at the points from, …, to − 1, with ε added to the inequalities in u.
func (g *factored) normals(out, u []float64, ε float64, from, to int) {
	if len(g.groups) != 1 || g.groups[0].coord != nil {
		clear(out[from*g.d : to*g.d]) // coordinates that no component touches
	}
	for a := range g.groups {
		for lo := from; lo < to; {
			hi := min(to, (lo/lanes+1)*lanes)
			if g.groups[a].pattern != nil {
				g.normalSparse(out, u, ε, lo, hi, a)
				lo = hi
			}
			for ; lo < hi; lo++ {
				g.normal(out[lo*g.d:(lo+1)*g.d], u[lo*g.c:(lo+1)*g.c], ε, lo, a)
			}
		}
	}
}

// normal is normals of a group without a pattern at point i.
func (g *factored) normal(out, u []float64, ε float64, i, a int) {
	gr := &g.groups[a]
	t := out
	if gr.coord != nil {
		t = g.buf[:gr.d]
	}
	o, k := i*g.c+gr.vec, g.count[i*len(g.groups)+a]
	rhs := g.rhs[:k]
	for e, l := range g.pivot[o : o+k] {
		v := u[gr.comp[l]]
		if l >= gr.m {
			v += ε
		}
		rhs[e] = v / g.scale[o+e]
	}
	g.solve(t, rhs, i, a)
	gr.put(out, t)
}

// solve writes the vector Qᵀz of least norm with (unit gradients)·Qᵀz = rhs, in
// the least-squares sense where gradients are dependent.
func (g *factored) solve(out, rhs []float64, i, a int) {
	gr := &g.groups[a]
	c, d := gr.c, gr.d
	q, rank := g.basis(i, a)
	r, z := g.r[i*g.sq+gr.sq:][:c*c], g.z[:rank]
	if rank == len(rhs) {
		forward(z, r, rhs, c)
	} else {
		dense.LeastSquares(z, r, rhs, c, 1, g.square)
	}
	clear(out)
	for j, s := range z {
		dense.Axpy(out, s, q[j*d:(j+1)*d])
	}
}

// forward solves Rᵀ z = rhs by forward substitution; R has rows of c numbers.
func forward(z, r, rhs []float64, c int) {
	for j := range z {
		s := rhs[j]
		for p := range j {
			s -= r[p*c+j] * z[p]
		}
		z[j] = s / r[j*c+j]
	}
}

// basis implements base.
func (g *factored) basis(i, a int) ([]float64, int) {
	gr, rank := &g.groups[a], g.rank[i*len(g.groups)+a]
	return g.q[i*g.mat+gr.mat:][:rank*gr.d], rank
}

// gradients implements base.
func (g *factored) gradients(i, a int) []float64 {
	gr := &g.groups[a]
	return gr.matrix(g.jac[i*g.mat:])
}

// derivatives evaluates values and first derivatives, the latter by groups.
type derivatives struct {
	eval   constraint.Evaluator
	l      *layout
	c, d   int
	packed []float64 // rows×(numbers of a packed Jacobian)
}

func newDerivatives(e constraint.Evaluator, l *layout, c, d, rows int) derivatives {
	return derivatives{e, l, c, d, make([]float64, rows*len(l.place))}
}

// at writes values (n×c) and derivatives (n×mat) at n points.
func (f *derivatives) at(values, jac, x []float64, n int) {
	mat, place := f.l.mat, f.l.place
	if place == nil {
		f.eval.Jacobians(values[:n*f.c], jac[:n*mat], x[:n*f.d], n)
		return
	}
	k := len(place)
	f.eval.SparseJacobians(values[:n*f.c], f.packed[:n*k], x[:n*f.d], n)
	for i := range n {
		out, in := jac[i*mat:(i+1)*mat], f.packed[i*k:(i+1)*k]
		for a, p := range place {
			out[p] = in[a] // the rest is zero since it was allocated
		}
	}
}

// A group holds components whose gradients touch coordinates that no other
// group's do, so that G is block-diagonal. A dense set is one group of all.
type group struct {
	comp  []int // its c components in ascending order, so equalities first
	m     int   // how many of them are equalities
	coord []int // its d coordinates in ascending order; nil: all of them
	c, d  int
	// Offsets into a point's block of component vectors, of c×d matrices and of
	// c×c matrices, groups one after the other.
	vec, mat, sq int
	// Where it is there, matrices are packed, and instead of c×c matrices there are the numbers of cores.
	pattern *pattern
}

// sizes returns how many numbers the group has in a point's blocks of matrices.
func (g *group) sizes() (mat, sq int) {
	if p := g.pattern; p != nil {
		return len(p.col), len(p.li) + g.m + int(p.start[g.m])
	}
	return g.c * g.d, g.c * g.c
}

// matrix returns the group's share of a point's block of c×d matrices.
func (g *group) matrix(block []float64) []float64 {
	size, _ := g.sizes()
	return block[g.mat:][:size]
}

// row returns the numbers of row l of the group's matrix, and their coordinates; nil: all.
func (g *group) row(matrix []float64, l int) (numbers []float64, at []int32) {
	if p := g.pattern; p != nil {
		from, to := p.start[l], p.start[l+1]
		return matrix[from:to], p.col[from:to]
	}
	return matrix[l*g.d : (l+1)*g.d], nil
}

// dot returns the product of row l with x.
func (g *group) dot(matrix []float64, l int, x []float64) (s float64) {
	row, at := g.row(matrix, l)
	if at == nil {
		return dense.Dot4(row, x)
	}
	for e, j := range at {
		s += row[e] * x[j]
	}
	return s
}

// axpy adds s times row l to x.
func (g *group) axpy(x []float64, s float64, matrix []float64, l int) {
	row, at := g.row(matrix, l)
	if at == nil {
		dense.Axpy(x, s, row)
		return
	}
	for e, j := range at {
		x[j] += s * row[e]
	}
}

// terms returns Σ_j |∂_j x_j| of row l.
func (g *group) terms(matrix []float64, l int, x []float64) (s float64) {
	row, at := g.row(matrix, l)
	for e, v := range row {
		if at != nil {
			e = int(at[e])
		}
		s += math.Abs(v * x[e])
	}
	return s
}

// whole returns the coordinate of the point that number e of a row belongs to; at is what row returned with it.
func (g *group) whole(e int, at []int32) int {
	if at != nil {
		e = int(at[e])
	}
	if g.coord != nil {
		e = g.coord[e]
	}
	return e
}

// A layout says how the components of a set fall into groups, and where each number of a point is kept.
type layout struct {
	groups []group
	place  []int // of packed derivatives in a point's matrices; nil if dense
	mat    int   // numbers in a point's c×d matrices, groups one after the other
	sq     int   // the same of c×c matrices
	cores  int   // and of what patterns have instead
	widest int   // components of the largest group without a pattern
	work   int   // multiply-adds at a point, roughly
	sparse bool  // some group has a pattern
}

func newLayout(s constraint.Set) *layout { return newLayoutWithin(s, fewer) }

// newLayoutWithin gives a pattern to the groups that take no more multiply-adds than budget says.
func newLayoutWithin(s constraint.Set, budget func(m, d int) int) *layout {
	l := &layout{}
	l.groups, l.place = makeGroups(s, budget)
	dense := 0
	for i := range l.groups {
		g := &l.groups[i]
		mat, sq := g.sizes()
		l.mat += mat
		if g.pattern == nil {
			g.sq = l.sq
			l.sq += sq
			l.widest, dense = max(l.widest, g.c), dense+mat
		} else {
			g.sq = l.cores
			l.cores += sq
			l.sparse, l.work = true, l.work+64*(mat+sq)
		}
	}
	l.work += dense * l.widest
	return l
}

// Groups returns how many groups of components that share no coordinates s falls into.
func Groups(s constraint.Set) int { return len(Shares(s)) }

// A Share is components of a set that depend on coordinates that no component of another share
// depends on: both by their numbers in ascending order. Coordinates are nil where they are all.
type Share struct{ Components, Coordinates []int }

// Shares returns those of s, by what it says of its support.
func Shares(s constraint.Set) (all []Share) {
	groups, _ := makeGroups(s, func(int, int) int { return 0 })
	for _, g := range groups {
		all = append(all, Share{g.comp, g.coord})
	}
	return all
}

// JacobianSize returns how many numbers are kept of ∇J at each point: m·d of a
// dense set, fewer of one that knows its support.
func JacobianSize(s constraint.Set) int { return newLayout(s).mat }

// makeGroups finds the connected components of the graph that joins components to the coordinates they touch, and where
// each number of a packed Jacobian goes among the groups' matrices (nil for a dense set).
func makeGroups(s constraint.Set, budget func(m, d int) int) (groups []group, place []int) {
	d, m := s.Dim(), len(s.Equalities())
	c := m + len(s.Inequalities())
	support := s.Capabilities().Support
	if support == nil {
		all := make([]int, c)
		for a := range all {
			all[a] = a
		}
		if c == 0 {
			return nil, nil
		}
		return []group{{comp: all, m: m, c: c, d: d}}, nil
	}
	parent := make([]int, c+d) // components, then coordinates
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for a, js := range support {
		for _, j := range js {
			parent[root(c+j)] = root(a)
		}
	}
	index := make(map[int]int) // root → group
	for a := range c {
		g, seen := index[root(a)]
		if !seen {
			g = len(groups)
			index[root(a)] = g
			groups = append(groups, group{coord: []int{}})
		}
		groups[g].comp = append(groups[g].comp, a)
		if a < m {
			groups[g].m++
		}
	}
	local := make([]int, d) // a coordinate's place within its group
	for j := range d {
		if g, touched := index[root(c+j)]; touched {
			local[j] = len(groups[g].coord)
			groups[g].coord = append(groups[g].coord, j)
		}
	}
	at := make([]int, c) // of each component in its group
	vec, mat := 0, 0
	for i := range groups {
		g := &groups[i]
		g.c, g.d = len(g.comp), len(g.coord)
		for a, comp := range g.comp {
			at[comp] = a
		}
		if most := budget(g.m, g.d); g.m > 1 && most > 0 {
			rows := make([][]int32, g.c)
			for a, comp := range g.comp {
				for _, j := range support[comp] {
					rows[a] = append(rows[a], int32(local[j]))
				}
			}
			g.pattern = newPattern(rows, g.m, g.d, most)
		}
		g.vec, g.mat = vec, mat
		m, _ := g.sizes()
		vec, mat = vec+g.c, mat+m
		if g.d == d {
			g.coord = nil
		}
	}
	place = []int{}
	for a, js := range support {
		g := &groups[index[root(a)]]
		for e, j := range js {
			if g.pattern != nil {
				place = append(place, g.mat+int(g.pattern.start[at[a]])+e)
			} else {
				place = append(place, g.mat+at[a]*g.d+local[j])
			}
		}
	}
	return groups, place
}

// take returns the group's coordinates of a point: the point itself, or a copy in buf.
func (g *group) take(buf, x []float64) []float64 {
	if g.coord == nil {
		return x
	}
	buf = buf[:len(g.coord)]
	for a, j := range g.coord {
		buf[a] = x[j]
	}
	return buf
}

// put writes what take returned, after changes, back into the point.
func (g *group) put(x, buf []float64) {
	for a, j := range g.coord {
		x[j] = buf[a]
	}
}
