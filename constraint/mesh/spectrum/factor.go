package spectrum

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
)

// A factor is L and D of a symmetric sparse matrix A = L D Lᵀ after its rows were put in another order, L with ones on
// its diagonal and D diagonal: rows of L in their envelope, from the first number that is not zero to the diagonal.
type factor struct {
	order  []int32 // row i of the factor is row order[i] of A
	first  []int32
	row    [][]float64 // without the ones
	pivot  []float64   // D
	growth float64     // largest (|L| |D| |Lᵀ|)_ii / |A|_ii; 1 where A is positive definite
	work   []float64
}

// maxEnvelope bounds the memory of a factor, in numbers.
const maxEnvelope = 250_000_000

// newFactor factors S + shift·M over the vertices with a mass, without pivoting. Rows are in reverse Cuthill–McKee
// order, whose envelope on a surface of n vertices is of order n^1.5. The error is an *Error or the context's.
func newFactor(ctx context.Context, l *Laplacian, shift float64) (*factor, error) {
	f := &factor{order: cuthillMcKee(l)}
	place, err := f.envelope(l)
	if err != nil {
		return nil, err
	}
	for i := range f.order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.eliminate(l, place, i, shift)
	}
	return f, nil
}

// envelope finds where the rows of the factor begin, and the place of each vertex among them, −1 without a mass.
func (f *factor) envelope(l *Laplacian) (place []int32, err error) {
	n := len(f.order)
	place = make([]int32, len(l.Mass))
	for i := range place {
		place[i] = -1
	}
	for i, v := range f.order {
		place[v] = int32(i)
	}
	f.first, f.row, f.pivot, f.work = make([]int32, n), make([][]float64, n), make([]float64, n), make([]float64, n)
	size := 0
	for i, v := range f.order {
		f.first[i] = int32(i)
		for p := l.Start[v]; p < l.Start[v+1]; p++ {
			if j := place[l.Col[p]]; j >= 0 {
				f.first[i] = min(f.first[i], j)
			}
		}
		if size += i - int(f.first[i]); size > maxEnvelope {
			return nil, &Error{"the number of vertices", len(l.Mass),
				fmt.Sprintf("fewer: the mesh's factor has more than %d numbers; cut it less often, or simplify it",
					maxEnvelope)}
		}
	}
	return place, nil
}

// eliminate computes row i of L and D from the rows before it: y = L D by
// y_j = a_ij − Σ_k y_k L_jk, then L_ij = y_j/D_j and D_i = a_ii − Σ_j y_j L_ij.
func (f *factor) eliminate(l *Laplacian, place []int32, i int, shift float64) {
	v, lo := f.order[i], f.first[i]
	y := f.work[:int32(i)-lo+1]
	clear(y)
	for p := l.Start[v]; p < l.Start[v+1]; p++ {
		if j := place[l.Col[p]]; j >= 0 && j <= int32(i) {
			y[j-lo] += l.Value[p]
		}
	}
	k := len(y) - 1
	d := y[k] + shift*l.Mass[v]
	size := math.Abs(y[k]) + math.Abs(shift)*l.Mass[v]
	for j := lo; j < int32(i); j++ {
		from := max(lo, f.first[j])
		y[j-lo] -= dense.Dot(y[from-lo:j-lo], f.row[j][from-f.first[j]:])
	}
	row, sum := make([]float64, k), 0.0
	for j, w := range y[:k] {
		row[j] = w / f.pivot[int(lo)+j]
		d -= w * row[j]
		sum += math.Abs(w * row[j])
	}
	f.row[i], f.pivot[i] = row, d
	f.growth = max(f.growth, (sum+math.Abs(d))/size) // NaN stays
}

// negative returns the number of negative pivots: of negative eigenvalues of A, by Sylvester's law of inertia.
func (f *factor) negative() (n int) {
	for _, d := range f.pivot {
		if d < 0 {
			n++
		}
	}
	return n
}

// solve writes A⁻¹ x; entries of vertices without a mass are zero. dst may be x.
func (f *factor) solve(dst, x []float64) {
	y := f.work
	for i, v := range f.order {
		y[i] = x[v] - dense.Dot(f.row[i], y[f.first[i]:i])
	}
	for i, d := range f.pivot {
		y[i] /= d
	}
	for i := len(y) - 1; i >= 0; i-- {
		dense.Axpy(y[f.first[i]:i], -y[i], f.row[i])
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
