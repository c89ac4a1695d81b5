package spectrum

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/keyed"
)

// Lowest returns the count eigenfunctions of least eigenvalue in ascending order,
// the constant first, by the Lanczos method with full reorthogonalisation on
//
//	M^½ (S + εM)⁻¹ M^½,  ε > 0 small beside the first eigenvalues,
//
// whose largest eigenvalues are 1/(λ+ε). Residuals ‖S f − λ M f‖ are below 1e-8
// of λ‖M f‖ (of the mean eigenvalue for the constant). Signs are such that the
// entry of largest size is positive; eigenfunctions of one eigenvalue are any
// basis. tick hears of the dimension of the Krylov space.
func (l *Laplacian) Lowest(ctx context.Context, count int, tick func(size int)) ([]Function, error) {
	n, area := 0, 0.0
	for _, m := range l.Mass {
		if m > 0 {
			n++
			area += m
		}
	}
	if count < 1 || count > n {
		return nil, fmt.Errorf("spectrum: %d eigenfunctions were asked for; the mesh has %d vertices", count, n)
	}
	// By Weyl's law λ_k is near 4πk/area.
	ε := 0.1 * 4 * math.Pi / area
	f, err := newFactor(l, ε)
	if err != nil {
		return nil, err
	}
	root := make([]float64, len(l.Mass))
	for i, m := range l.Mass {
		root[i] = math.Sqrt(m)
	}
	start := make([]float64, len(root))
	keyed.New(0, keyed.Probe, 5).Normals(start, 0, 0)
	for i := range start {
		start[i] *= root[i]
	}
	k := &krylov{factor: f, root: root, n: n, w: make([]float64, len(root))}
	k.extend(start)
	for size := min(n, 2*count+40); ; size = min(n, size+size/2) {
		for len(k.alpha) < size {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			k.next()
			if tick != nil {
				tick(len(k.alpha))
			}
		}
		if out := k.ritz(l, ε, count); out != nil {
			return out, nil
		}
		if size == n {
			return nil, fmt.Errorf("spectrum: %d eigenfunctions did not converge in a space of all %d vertices", count, n)
		}
	}
}

// A krylov is an orthonormal basis of the Krylov space, and the operator's
// tridiagonal matrix in it.
type krylov struct {
	factor      *factor
	root        []float64
	n           int // dimension of the whole space
	basis       [][]float64
	alpha, beta []float64
	w           []float64
}

// extend orthogonalises x against the basis, twice, and adds it if something is
// left.
func (k *krylov) extend(x []float64) (length float64) {
	for range 2 {
		for _, q := range k.basis {
			axpy(x, -dot(q, x), q)
		}
	}
	length = norm(x)
	if length > 0 {
		q := make([]float64, len(x))
		axpy(q, 1/length, x)
		k.basis = append(k.basis, q)
	}
	return length
}

// next adds a row to the matrix, and a vector to the basis while it is not full.
func (k *krylov) next() {
	q := k.basis[len(k.basis)-1]
	k.apply(k.w, q)
	size := norm(k.w)
	k.alpha = append(k.alpha, dot(q, k.w))
	full := len(k.basis)
	if full == k.n {
		return
	}
	β := k.extend(k.w)
	for try := uint64(0); β <= 1e-14*size; try++ { // an invariant space: go on from any vector
		k.basis, β = k.basis[:full], 0
		keyed.New(0, keyed.Probe, 6).Normals(k.w, uint64(full), int(try))
		for i := range k.w {
			k.w[i] *= k.root[i]
		}
		if k.extend(k.w) > 1e-8*norm(k.root) {
			break
		}
	}
	k.beta = append(k.beta, β)
}

func (k *krylov) apply(dst, x []float64) {
	for i, v := range x {
		dst[i] = v * k.root[i]
	}
	k.factor.solve(dst, dst)
	for i := range dst {
		dst[i] *= k.root[i]
	}
}

// ritz returns the first count eigenfunctions in the space, or nil if they have
// not converged.
func (k *krylov) ritz(l *Laplacian, ε float64, count int) []Function {
	m := len(k.alpha)
	if m < count {
		return nil
	}
	t := mat.NewSymDense(m, nil)
	for i, a := range k.alpha {
		t.SetSym(i, i, a)
		if i+1 < m {
			t.SetSym(i, i+1, k.beta[i])
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(t, true) {
		return nil
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	values := eig.Values(nil)
	out := make([]Function, count)
	sf := make([]float64, len(k.root))
	for c := range out {
		i := m - 1 - c // ascending eigenvalues of the inverse
		f := make([]float64, len(k.root))
		for j := range m {
			axpy(f, vectors.At(j, i), k.basis[j])
		}
		largest := 0.0
		for v := range f { // f = M^−½ y
			if k.root[v] > 0 {
				f[v] /= k.root[v]
			}
			if math.Abs(f[v]) > math.Abs(largest) {
				largest = f[v]
			}
		}
		if largest < 0 {
			for v := range f {
				f[v] = -f[v]
			}
		}
		λ := 1/values[i] - ε
		l.Apply(sf, f)
		residual, size := 0.0, 0.0
		for v, s := range sf {
			mf := l.Mass[v] * f[v]
			residual += (s - λ*mf) * (s - λ*mf)
			size += mf * mf
		}
		if math.Sqrt(residual/size) > 1e-8*max(λ, 10*ε) {
			return nil
		}
		out[c] = Function{λ, f}
	}
	return out
}
