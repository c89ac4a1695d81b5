package spectrum

import (
	"fmt"
	"math"
	"slices"
)

// A factor is the Cholesky factor L of a sparse matrix A = L Lᵀ after its rows
// were put in another order: rows of L in their envelope, from the first number
// that is not zero to the diagonal.
type factor struct {
	order []int32 // row i of the factor is row order[i] of A
	first []int32
	row   [][]float64
	work  []float64
}

// maxEnvelope bounds the memory of a factor, in numbers.
const maxEnvelope = 250_000_000

// newFactor factors S + shift·M over the vertices with a mass. Rows are in
// reverse Cuthill–McKee order, whose envelope on a surface of n vertices is
// of order n^1.5.
func newFactor(l *Laplacian, shift float64) (*factor, error) {
	f := &factor{order: cuthillMcKee(l)}
	n := len(f.order)
	place := make([]int32, len(l.Mass))
	for i := range place {
		place[i] = -1
	}
	for i, v := range f.order {
		place[v] = int32(i)
	}
	f.first, f.row, f.work = make([]int32, n), make([][]float64, n), make([]float64, n)
	size := 0
	for i, v := range f.order {
		f.first[i] = int32(i)
		for p := l.Start[v]; p < l.Start[v+1]; p++ {
			if j := place[l.Col[p]]; j >= 0 {
				f.first[i] = min(f.first[i], j)
			}
		}
		if size += i - int(f.first[i]) + 1; size > maxEnvelope {
			return nil, fmt.Errorf("spectrum: the mesh of %d vertices is too large: its factor has more than %d numbers; cut it less often, or simplify it", len(l.Mass), maxEnvelope)
		}
	}
	for i, v := range f.order {
		lo := f.first[i]
		f.row[i] = make([]float64, int32(i)-lo+1)
		for p := l.Start[v]; p < l.Start[v+1]; p++ {
			if j := place[l.Col[p]]; j >= 0 && j <= int32(i) {
				f.row[i][j-lo] += l.Value[p]
			}
		}
		ri := f.row[i]
		ri[len(ri)-1] += shift * l.Mass[v]
		for j := lo; j < int32(i); j++ {
			rj, from := f.row[j], max(lo, f.first[j])
			s := ri[j-lo] - dot(ri[from-lo:j-lo], rj[from-f.first[j]:j-f.first[j]])
			ri[j-lo] = s / rj[len(rj)-1]
		}
		d := ri[len(ri)-1] - dot(ri[:len(ri)-1], ri[:len(ri)-1])
		if !(d > 0) {
			return nil, fmt.Errorf("spectrum: the stiffness matrix is not positive at vertex %d (pivot %.3g): triangles there are too obtuse or degenerate", v, d)
		}
		ri[len(ri)-1] = math.Sqrt(d)
	}
	return f, nil
}

// solve writes A⁻¹ x; entries of vertices without a mass are zero. dst may be x.
func (f *factor) solve(dst, x []float64) {
	y := f.work
	for i, v := range f.order {
		ri := f.row[i]
		k := len(ri) - 1
		y[i] = (x[v] - dot(ri[:k], y[f.first[i]:i])) / ri[k]
	}
	for i := len(y) - 1; i >= 0; i-- {
		ri := f.row[i]
		k := len(ri) - 1
		y[i] /= ri[k]
		axpy(y[f.first[i]:i], -y[i], ri[:k])
	}
	clear(dst)
	for i, v := range f.order {
		dst[v] = y[i]
	}
}

// cuthillMcKee returns the vertices with a mass in reverse Cuthill–McKee order:
// breadth first from a vertex far from others, neighbours of few neighbours first.
func cuthillMcKee(l *Laplacian) []int32 {
	n := len(l.Mass)
	degree := func(v int32) int32 { return l.Start[v+1] - l.Start[v] }
	seen := make([]int32, n) // number of the walk that was here
	walk := int32(0)
	visit := func(from int32, out []int32) []int32 {
		walk++
		seen[from] = walk
		head := len(out)
		out = append(out, from)
		for ; head < len(out); head++ {
			v, mark := out[head], len(out)
			for p := l.Start[v]; p < l.Start[v+1]; p++ {
				if c := l.Col[p]; seen[c] != walk {
					seen[c] = walk
					out = append(out, c)
				}
			}
			slices.SortFunc(out[mark:], func(a, b int32) int {
				if d := degree(a) - degree(b); d != 0 {
					return int(d)
				}
				return int(a - b)
			})
		}
		return out
	}
	var order []int32
	done := make([]bool, n)
	for v := range int32(n) {
		if done[v] || l.Mass[v] == 0 {
			continue
		}
		start := v
		for range 3 { // towards an end of the component
			far := visit(start, nil)
			start = far[len(far)-1]
		}
		mark := len(order)
		order = visit(start, order)
		for _, u := range order[mark:] {
			done[u] = true
		}
	}
	slices.Reverse(order)
	return order
}
