package geometry

import (
	"slices"
	"unsafe"
)

// A pattern is what the supports of a group's components say of its gradients, once a set: where their numbers stand,
// an order of elimination for the m equalities, and the places of the factors of
//
//	G = U Uᵀ = L D Lᵀ,
//
// U the unit gradients of the equalities. Numbers of U are packed row by row as Evaluator.SparseJacobians writes them;
// rows and columns of L are in the order of elimination.
type pattern struct {
	start []int32 // c+1: row l is the numbers start[l] … start[l+1] of a packed matrix
	col   []int32 // their coordinates, of the group
	order []int32 // m: the equality that is eliminated k-th

	lp, li []int32 // column k of L below the diagonal: rows li[lp[k]:lp[k+1]], ascending
	twin   []bool  // column k+1 of L has the rows of column k, but for k+1: loops take both at a time
	// Row k of L left of the diagonal: columns rj[rp[k]:rp[k+1]], ascending, and where they are in L.
	rp, rj, rx []int32
	// Element t of rj is Σ u[a] u[b] of G, over the pairs (a, b) in pairs[ps[t]:ps[t+1]]; none of a fill-in.
	ps    []int32
	pairs [][2]int32
}

// fewer returns how many multiply-adds a sparse factorisation of m rows of d numbers may take, so that it is faster
// than the m²d of the dense one: its loops go through lists of places.
func fewer(m, d int) int { return m * m * d / 4 }

// newPattern finds the pattern of rows of coordinates, ascending, the first m of them equalities, in R^d. It returns
// nil where a point takes more multiply-adds than budget.
func newPattern(rows [][]int32, m, d, budget int) *pattern {
	p := &pattern{start: []int32{0}}
	for _, js := range rows {
		p.col = append(p.col, js...)
		p.start = append(p.start, int32(len(p.col)))
	}
	at := make([][]int32, d) // equalities by coordinate
	budget -= 8 * int(p.start[m])
	for l, js := range rows[:m] {
		for _, j := range js {
			budget -= len(at[j])
			at[j] = append(at[j], int32(l))
		}
	}
	if budget <= 0 {
		return nil
	}
	columns := p.eliminate(rows[:m], at, budget)
	if columns == nil {
		return nil
	}
	place := make([]int32, m)
	for k, l := range p.order {
		place[l] = int32(k)
	}
	p.lp, p.rp, p.ps = make([]int32, 1, m+1), make([]int32, 1, m+1), []int32{0}
	left := make([][][2]int32, m) // of each row: column and place in L
	for k, l := range p.order {
		for e, r := range columns[l] {
			columns[l][e] = place[r]
		}
		slices.Sort(columns[l])
		for _, r := range columns[l] {
			left[r] = append(left[r], [2]int32{int32(k), int32(len(p.li))})
			p.li = append(p.li, r)
		}
		p.lp = append(p.lp, int32(len(p.li)))
	}
	p.twin = make([]bool, m)
	for k := range m - 1 {
		p.twin[k] = p.lp[k+1]-p.lp[k] == p.lp[k+2]-p.lp[k+1]+1 && p.li[p.lp[k]] == int32(k+1)
	}
	for k, l := range p.order {
		for _, e := range left[k] {
			p.rj, p.rx = append(p.rj, e[0]), append(p.rx, e[1])
			p.pair(l, p.order[e[0]])
		}
		p.rp = append(p.rp, int32(len(p.rj)))
	}
	return p
}

// pair notes the products that make up the element of rows l and r in G.
func (p *pattern) pair(l, r int32) {
	a, b := p.start[l], p.start[r]
	for a < p.start[l+1] && b < p.start[r+1] {
		switch {
		case p.col[a] < p.col[b]:
			a++
		case p.col[a] > p.col[b]:
			b++
		default:
			p.pairs = append(p.pairs, [2]int32{a, b})
			a, b = a+1, b+1
		}
	}
	p.ps = append(p.ps, int32(len(p.pairs)))
}

// eliminate orders the rows by minimum degree (George and Liu, "The evolution of the minimum degree ordering
// algorithm", 1989), the first of equals, in the graph that joins rows with a common coordinate. It returns the rows
// that each is joined to when it is eliminated: the columns of L; nil where they take more multiply-adds than budget.
func (p *pattern) eliminate(rows, at [][]int32, budget int) [][]int32 {
	m := len(rows)
	joined := make([][]int32, m)
	queue := make([][]int32, m) // by degree; an entry of another degree than its row's is out of date
	for l, js := range rows {
		var all []int32
		for _, j := range js {
			all = append(all, at[j]...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		own, _ := slices.BinarySearch(all, int32(l))
		joined[l] = slices.Delete(all, own, own+1)
		queue[len(joined[l])] = append(queue[len(joined[l])], int32(l))
	}
	done := make([]bool, m)
	var merged []int32
	for least := 0; len(p.order) < m; {
		if len(queue[least]) == 0 {
			least++
			continue
		}
		l := queue[least][0]
		queue[least] = queue[least][1:]
		if done[l] || len(joined[l]) != least {
			continue
		}
		done[l] = true
		p.order = append(p.order, l)
		if budget -= least*(least+1)/2 + 4*least; budget < 0 {
			return nil
		}
		for _, r := range joined[l] { // what l joined is joined without it
			merged = union(merged[:0], joined[r], joined[l], l, r)
			joined[r] = append(joined[r][:0], merged...)
			queue[len(merged)] = append(queue[len(merged)], r)
			least = min(least, len(merged))
		}
	}
	return joined
}

// union appends the numbers of two ascending lists to dst, ascending, but for two of them.
func union(dst, a, b []int32, but, and int32) []int32 {
	for len(a) > 0 || len(b) > 0 {
		var v int32
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			v, a = a[0], a[1:]
		} else {
			v, b = b[0], b[1:]
		}
		if v != but && v != and && (len(dst) == 0 || dst[len(dst)-1] != v) {
			dst = append(dst, v)
		}
	}
	return dst
}

// lanes is how many points are factored and solved at once.
const lanes = 4

// A vec is a number of each of some points, by lanes.
type vec [lanes]float64

// factor writes L and the inverses of D for the packed rows u. A row whose part outside the span of the rows before it
// has a squared length below tolerance is left out: its inverse and its column are 0, and so is what solve gives it. y
// is scratch of m numbers. It returns the least of D that is kept, at most 1. Conversions such as float64(a*b) keep the
// compiler from fusing a product with a sum, so that all loops round alike.
func (p *pattern) factor(l, inverse, u, y []vec, tolerance float64) (least vec) {
	if vectors {
		factorVectors(p, unsafe.SliceData(l), &inverse[0], &u[0], &y[0], tolerance, &least)
		return least
	}
	for i := range lanes {
		least[i] = 1
		for k, row := range p.order {
			d := 0.0
			for _, v := range u[p.start[row]:p.start[row+1]] {
				d += float64(v[i] * v[i])
			}
			lo, hi := p.rp[k], p.rp[k+1]
			for t := lo; t < hi; t++ {
				s := 0.0
				for _, e := range p.pairs[p.ps[t]:p.ps[t+1]] {
					s += float64(u[e[0]][i] * u[e[1]][i])
				}
				y[p.rj[t]][i] = s
			}
			for t := lo; t < hi; t++ {
				j, to := p.rj[t], p.rx[t]
				v, from := y[j][i], p.lp[j]
				if p.twin[j] && t+1 < hi {
					t++
					next, second := p.rx[t], p.lp[j+1]-from-1
					w := y[j+1][i] - float64(l[from][i]*v)
					for e := from + 1; e < to; e++ {
						y[p.li[e]][i] -= float64(l[e][i]*v) + float64(l[e+second][i]*w)
					}
					l[to][i], l[next][i] = v*inverse[j][i], w*inverse[j+1][i]
					d -= float64(l[to][i]*v) + float64(l[next][i]*w)
					continue
				}
				for e := from; e < to; e++ {
					y[p.li[e]][i] -= float64(l[e][i] * v)
				}
				l[to][i] = v * inverse[j][i]
				d -= float64(l[to][i] * v)
			}
			if inverse[k][i] = 0; d >= tolerance {
				inverse[k][i], least[i] = 1/d, min(least[i], d)
			}
		}
	}
	return least
}

// factorGeneral is factor of the matrix M = Z Uᵀ of two packed matrices: M = L D R, with R by rows at the places of L.
// Rows with a small element of D are left out. The matrices are of one point, and so is the first lane of the factors.
func (p *pattern) factorGeneral(l, r, inverse []vec, z, u, y, x []float64, tolerance float64) {
	for k, row := range p.order {
		d := 0.0
		for e := p.start[row]; e < p.start[row+1]; e++ {
			d += z[e] * u[e]
		}
		lo, hi := p.rp[k], p.rp[k+1]
		for t := lo; t < hi; t++ {
			below, above := 0.0, 0.0
			for _, e := range p.pairs[p.ps[t]:p.ps[t+1]] {
				below += z[e[0]] * u[e[1]]
				above += z[e[1]] * u[e[0]]
			}
			y[p.rj[t]], x[p.rj[t]] = below, above
		}
		for t := lo; t < hi; t++ {
			i, to := p.rj[t], p.rx[t]
			below, above := y[i], x[i]
			for e := p.lp[i]; e < to; e++ {
				y[p.li[e]] -= r[e][0] * below
				x[p.li[e]] -= l[e][0] * above
			}
			l[to][0], r[to][0] = below*inverse[i][0], above*inverse[i][0]
			d -= l[to][0] * above
		}
		if inverse[k][0] = 1 / d; !(max(d, -d) >= tolerance) {
			inverse[k][0] = 0
		}
	}
}

// solve overwrites z, in the order of elimination, with the solution of L D R z = z; R is Lᵀ where r is l.
func (p *pattern) solve(l, r, inverse, z []vec) {
	if vectors {
		solveVectors(p, unsafe.SliceData(l), unsafe.SliceData(r), &inverse[0], &z[0])
		return
	}
	for i := range lanes {
		for k := 0; k < len(z); k++ {
			v, from, to := z[k][i], p.lp[k], p.lp[k+1]
			if p.twin[k] {
				w, second := z[k+1][i]-float64(l[from][i]*v), to-from-1
				z[k+1][i] = w
				for e := from + 1; e < to; e++ {
					z[p.li[e]][i] -= float64(l[e][i]*v) + float64(l[e+second][i]*w)
				}
				k++
				continue
			}
			for e := from; e < to; e++ {
				z[p.li[e]][i] -= float64(l[e][i] * v)
			}
		}
		for k := len(z) - 1; k >= 0; k-- {
			s, from, to := z[k][i]*inverse[k][i], p.lp[k], p.lp[k+1]
			twin := k > 0 && p.twin[k-1]
			v, first := 0.0, int32(0)
			if twin {
				v, first = z[k-1][i]*inverse[k-1][i], p.lp[k-1]+1-from
			}
			for e := from; e < to; e++ {
				if twin {
					v -= float64(r[e+first][i] * z[p.li[e]][i])
				}
				s -= float64(r[e][i] * z[p.li[e]][i])
			}
			z[k][i] = s
			if twin {
				z[k-1][i] = v - float64(r[p.lp[k-1]][i]*s)
				k--
			}
		}
	}
}

// times writes U x to z in the order of elimination, 0 for rows left out, and returns the largest.
func (p *pattern) times(z, u, x, inverse []vec) (largest vec) {
	if vectors {
		timesVectors(p, &z[0], &u[0], &x[0], &inverse[0], &largest)
		return largest
	}
	for k, l := range p.order {
		for i := range lanes {
			s := 0.0
			for e := p.start[l]; e < p.start[l+1] && inverse[k][i] != 0; e++ {
				s += float64(u[e][i] * x[p.col[e]][i])
			}
			z[k][i], largest[i] = s, max(largest[i], s, -s)
		}
	}
	return largest
}

// subtractTransposed subtracts Uᵀ z from x.
func (p *pattern) subtractTransposed(x, u, z []vec) {
	if vectors {
		subtractTransposedVectors(p, &x[0], &u[0], &z[0])
		return
	}
	for k, l := range p.order {
		for e := p.start[l]; e < p.start[l+1]; e++ {
			for i, v := range z[k] {
				x[p.col[e]][i] -= float64(v * u[e][i])
			}
		}
	}
}
