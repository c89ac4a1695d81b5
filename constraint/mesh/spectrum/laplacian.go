// Package spectrum computes eigenfunctions of the Laplace–Beltrami operator on a triangle mesh: cotangent stiffness,
// lumped masses, and the Lanczos method on the inverse.
package spectrum

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Laplacian is the pencil (S, M) of a mesh: the symmetric, positive semidefinite stiffness matrix S of cotangent
// weights, in compressed rows, and the diagonal M of areas, a third of each face to each corner. S f = λ M f are the
// eigenfunctions of −Δ; a boundary is free (Neumann).
type Laplacian struct {
	Start []int32 // n+1: row i is at Start[i] … Start[i+1]
	Col   []int32
	Value []float64
	Mass  []float64 // 0 for vertices without a face
}

// New returns the Laplacian of a mesh. Faces without area are passed over.
func New(m *mesh.Mesh) *Laplacian {
	n, faces := m.N()
	l := &Laplacian{Mass: make([]float64, n), Start: make([]int32, n+1)}
	type entry struct {
		row, col int32
		value    float64
	}
	entries := make([]entry, 0, 12*faces+n)
	for f := range faces {
		area := m.FaceArea(f)
		if area == 0 {
			continue
		}
		for k := range 3 {
			a, b, c := m.Faces[3*f+k], m.Faces[3*f+(k+1)%3], m.Faces[3*f+(k+2)%3]
			// The angle at a lies against the edge bc: cot = (u·v)/‖u×v‖.
			p, q, r := m.Vertex(a), m.Vertex(b), m.Vertex(c)
			uv := 0.0
			for j := range 3 {
				uv += (q[j] - p[j]) * (r[j] - p[j])
			}
			w := uv / (2 * area) / 2
			entries = append(entries, entry{b, c, -w}, entry{c, b, -w}, entry{b, b, w}, entry{c, c, w})
			l.Mass[a] += area / 3
		}
	}
	slices.SortStableFunc(entries, func(x, y entry) int {
		if x.row != y.row {
			return int(x.row - y.row)
		}
		return int(x.col - y.col)
	})
	for i, e := range entries {
		if i > 0 && entries[i-1].row == e.row && entries[i-1].col == e.col {
			l.Value[len(l.Value)-1] += e.value
			continue
		}
		l.Col, l.Value = append(l.Col, e.col), append(l.Value, e.value)
		l.Start[e.row+1]++
	}
	for i := range n {
		l.Start[i+1] += l.Start[i]
	}
	return l
}

// Apply writes S x. Both have a number for each vertex, len(l.Mass); dst must not be x.
func (l *Laplacian) Apply(dst, x []float64) {
	for i := range dst {
		s := 0.0
		for p := l.Start[i]; p < l.Start[i+1]; p++ {
			s += l.Value[p] * x[l.Col[p]]
		}
		dst[i] = s
	}
}

// A Function is an eigenfunction: its values at the vertices, ⟨f, M f⟩ = 1.
type Function struct {
	Lambda float64
	F      []float64
}

const (
	refineLevels   = 2
	refineVertices = 50_000
	maxFaces       = 4_000_000
)

// Levels returns how often a mesh is cut (mesh.Mesh.Subdivided) before its eigenfunctions are near those of the
// surface: twice, or less where more than 50 000 vertices would come of it. On a mesh as it is, functions that change
// sign every few edges mix with neighbours of nearly the same eigenvalue: of the published bunny and cow of 2500 and
// 2930 vertices, the 50th are right and the 100th are not; cut twice, all are.
func Levels(m *mesh.Mesh) int {
	n, faces := m.N()
	for l := range refineLevels {
		if n += 3 * faces / 2; n > refineVertices { // edges of a closed mesh
			return l
		}
		faces *= 4
	}
	return refineLevels
}

// Cut returns the mesh with each face cut in four, `levels` times, at least 0. The error is of kind fault.Config: it
// would have more than four million faces.
func Cut(m *mesh.Mesh, levels int) (*mesh.Mesh, error) {
	_, faces := m.N()
	for l := range levels {
		if faces *= 4; faces > maxFaces {
			return nil, Unanswered(fmt.Sprintf("the number of faces, cut %d times,", l+1), faces, "at most %d",
				maxFaces)
		}
	}
	for range levels {
		m = m.Subdivided()
	}
	return m, nil
}

// A Density draws points on a mesh with density proportional to max(f, 0) by
// area, f linear on each face between values at the vertices.
type Density struct {
	mesh    *mesh.Mesh
	f       []float64
	sampler *mesh.Sampler
	most    []float64 // largest value of max(f, 0) on each face
}

// NewDensity takes the values of f at the vertices, one each, and keeps them. It
// panics unless some are positive at a face with an area.
func NewDensity(m *mesh.Mesh, f []float64) *Density {
	_, n := m.N()
	d := &Density{mesh: m, f: f, most: make([]float64, n)}
	weight, sum := make([]float64, n), 0.0
	for i := range n {
		for _, v := range m.Faces[3*i : 3*i+3] {
			d.most[i] = max(d.most[i], f[v])
		}
		weight[i] = d.most[i] * m.FaceArea(i)
		sum += weight[i]
	}
	if !(sum > 0) {
		panic("spectrum: a density of a function that is nowhere positive")
	}
	d.sampler = mesh.NewSampler(m, weight)
	return d
}

// Sample writes the point of (s, sample) to dst, 3 numbers, by rejection: faces in
// proportion to their area times the largest value there.
func (d *Density) Sample(dst []float64, s keyed.Stream, sample uint64) {
	var u [4]float64 // the first three are those of the mesh's sampler
	for step := 0; ; step++ {
		face, bary := d.sampler.Sample(dst, s, sample, step)
		s.Uniforms(u[:], sample, step)
		value := 0.0
		for k, v := range d.mesh.Faces[3*face : 3*face+3] {
			value += bary[k] * d.f[v]
		}
		if u[3]*d.most[face] < value {
			return
		}
	}
}

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
// order, whose envelope on a surface of n vertices is of order n^1.5. The error is of kind fault.Config or the
// context's.
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
			return nil, Unanswered("the number of vertices", len(l.Mass),
				"fewer: the mesh's factor has more than %d numbers; cut it less often, or simplify it", maxEnvelope)
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
