package spectrum

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
)

// Unanswered is an error: something about a mesh, or of what was asked of it, has no answer here.
func Unanswered(what string, value any, want string, v ...any) error {
	return fault.Errorf(fault.Config, "", "spectrum: %s is %v; expected %s", what, value, fmt.Sprintf(want, v...))
}

const (
	maxSpace   = 2000        // dimension of the Krylov space
	maxNumbers = 250_000_000 // in its basis
)

// Lowest returns the count eigenfunctions of least eigenvalue in ascending order,
// the constant first, by the Lanczos method with full reorthogonalisation on
//
//	M^½ (S + εM)⁻¹ M^½,  ε > 0 small beside the first eigenvalues,
//
// whose largest eigenvalues are 1/(λ+ε). Residuals ‖S f − λ M f‖ are below 1e-8 of λ‖M f‖ (of the mean eigenvalue for
// the constant). None is left out: the inertia of S − σM counts the eigenvalues below the last, and where a copy of a
// multiple one is missing the space continues from another vector too. Signs are such that the entry of largest size is
// positive; eigenfunctions of one eigenvalue are any basis.
//
// Lowest calls tick, which may be nil, with the dimension of the Krylov space. The error is the context's, or of
// kind fault.Config: count is not 1 to the number of vertices with a face of some area; the mesh or the space is too
// large (about 2000 dimensions, two for an eigenfunction); or triangles are so degenerate that S + εM is not positive.
func (l *Laplacian) Lowest(ctx context.Context, count int, tick func(size int)) ([]Function, error) {
	n, area := 0, 0.0
	for _, m := range l.Mass {
		if m > 0 {
			n++
			area += m
		}
	}
	if count < 1 || count > n {
		return nil, Unanswered("the number of eigenfunctions", count, "1 to %d, the vertices of the mesh", n)
	}
	size, most := min(n, 2*count+40), min(n, maxSpace, maxNumbers/n)
	if size > most {
		return nil, Unanswered("the number of eigenfunctions", count, "at most %d on a mesh of %d vertices",
			max(0, (most-40)/2), n)
	}
	// By Weyl's law λ_k is near 4πk/area.
	ε := 0.1 * 4 * math.Pi / area
	k, err := newKrylov(ctx, l, ε, n)
	if err != nil {
		return nil, err
	}
	return l.converge(ctx, k, ε, count, size, most, tick)
}

// converge widens the space from `size` dimensions to at most `most`, until it holds the first count eigenfunctions.
func (l *Laplacian) converge(ctx context.Context, k *krylov, ε float64, count, size, most int,
	tick func(size int)) ([]Function, error) {
	for ; ; size = min(most, size+size/2) {
		for len(k.h) < size {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			k.next()
			if tick != nil {
				tick(len(k.h))
			}
		}
		out := k.ritz(ctx, l, ε, count)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if out != nil {
			missing, err := l.missing(ctx, out, ε)
			if missing == 0 || err != nil {
				return out, err
			}
			k.widen(missing)
		}
		if size == most {
			return nil, Unanswered("the number of eigenfunctions", count,
				"fewer: they did not converge in a space of %d dimensions", most)
		}
	}
}

// missing returns how many eigenvalues below the last of f, by more than 1e-6 of it, are not in f. A shift σ between
// the two at which the elimination is not stable is passed over for another.
func (l *Laplacian) missing(ctx context.Context, f []Function, ε float64) (int, error) {
	const near, stable = 1e-6, 1e6
	at := len(f) - 1
	gap := func() float64 { return near * max(f[at].Lambda, 10*ε) }
	for at > 0 && f[at].Lambda-f[at-1].Lambda <= gap() {
		at--
	}
	if at == 0 { // S is positive semidefinite: nothing is below
		return 0, nil
	}
	for _, share := range []float64{0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8} {
		a, err := newFactor(ctx, l, -(f[at].Lambda - share*gap()))
		if err != nil {
			return 0, err
		}
		if below := a.negative(); a.growth <= stable && below >= at {
			return below - at, nil
		}
	}
	return 0, Unanswered("the count of eigenvalues below", f[at].Lambda,
		"one that round-off leaves certain; triangles may be too degenerate")
}

// A krylov is an orthonormal basis of a Krylov space, and the operator A in it. The basis is longer than h by the
// vectors whose image is still to be taken: one in the Lanczos method, more in the block one, which widen makes of it.
type krylov struct {
	factor *factor
	root   []float64 // M^½
	n      int       // dimension of the whole space
	basis  [][]float64
	h      [][]float64 // h[j][i] = ⟨q_i, A q_j⟩, i ≤ j
	w      []float64
}

func newKrylov(ctx context.Context, l *Laplacian, ε float64, n int) (*krylov, error) {
	f, err := newFactor(ctx, l, ε)
	if err != nil {
		return nil, err
	}
	for i, d := range f.pivot {
		if !(d > 0) {
			return nil, Unanswered(fmt.Sprintf("the pivot of the stiffness matrix at vertex %d", f.order[i]), d,
				"a number above 0: triangles there are degenerate")
		}
	}
	k := &krylov{factor: f, root: make([]float64, len(l.Mass)), n: n, w: make([]float64, len(l.Mass))}
	for i, m := range l.Mass {
		k.root[i] = math.Sqrt(m)
	}
	keyed.LanczosStart.Stream(0, 0).Normals(k.w, 0, 0)
	for i := range k.w {
		k.w[i] *= k.root[i]
	}
	k.extend(k.w, nil)
	return k, nil
}

// extend orthogonalises x against the basis, twice, and adds it if something is left; what it takes away is added to
// the coefficients h, of as many vectors as it has room for.
func (k *krylov) extend(x, h []float64) {
	before := dense.Norm(x)
	for range 2 {
		dense.Reject(x, k.basis, h)
	}
	if length := dense.Norm(x); length > 1e-14*before {
		q := make([]float64, len(x))
		dense.Axpy(q, 1/length, x)
		k.basis = append(k.basis, q)
	}
}

// next takes the image of a vector of the basis, and adds what is new of it.
func (k *krylov) next() {
	j := len(k.h)
	if j == len(k.basis) { // an invariant space: go on from any vector
		k.widen(1)
	}
	k.apply(k.w, k.basis[j])
	h := make([]float64, j+1)
	if len(k.basis) < k.n {
		k.extend(k.w, h)
	} else {
		for i := range h {
			h[i] = dense.Dot(k.basis[i], k.w)
		}
	}
	k.h = append(k.h, h)
}

// widen adds vectors outside the space, if there are any.
func (k *krylov) widen(count int) {
	for want := min(k.n, len(k.basis)+count); len(k.basis) < want; {
		from := len(k.basis)
		for try := 0; len(k.basis) == from; try++ {
			keyed.LanczosRestart.Stream(0, 0).Normals(k.w, uint64(from), try)
			for i := range k.w {
				k.w[i] *= k.root[i]
			}
			k.extend(k.w, nil)
		}
	}
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

// ritz returns the first count eigenfunctions in the space, or nil if they have not converged or the context has ended.
func (k *krylov) ritz(ctx context.Context, l *Laplacian, ε float64, count int) []Function {
	m := len(k.h)
	if m < count {
		return nil
	}
	t := mat.NewSymDense(m, nil)
	for j, h := range k.h {
		for i, v := range h {
			t.SetSym(i, j, v)
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
		if ctx.Err() != nil {
			return nil
		}
		i := m - 1 - c // ascending eigenvalues of the inverse
		f := make([]float64, len(k.root))
		for j := range m {
			dense.Axpy(f, vectors.At(j, i), k.basis[j])
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
