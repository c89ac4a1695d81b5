package dense

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

// Eigen: A U = U Λ and UᵀU = I to round-off, for random matrices, matrices near
// I, diagonal and repeated eigenvalues, and zero.
func TestEigen(t *testing.T) {
	st := keyed.New(1, keyed.Probe, 61)
	for p := 1; p <= 12; p++ {
		for kind := range 5 {
			a := make([]float64, p*p)
			st.Normals(a, uint64(p), kind)
			for i := range p {
				for j := range i {
					switch kind {
					case 1:
						a[i*p+j] *= 1e-9
					case 2:
						a[i*p+j] = 0
					case 3:
						a[i*p+j] = 1
					case 4:
						a[i*p+j] = 0
					}
					a[j*p+i] = a[i*p+j]
				}
				switch kind {
				case 1, 3:
					a[i*p+i] = 1
				case 4:
					a[i*p+i] = 0
				}
			}
			d, u, off := append([]float64(nil), a...), make([]float64, p*p), make([]float64, p)
			Eigen(d, u, off, p)
			au, uu := make([]float64, p*p), make([]float64, p*p)
			Mul(au, a, u, p)
			TMul(uu, u, u, p)
			for i := range p {
				for j := range p {
					δ := 0.0
					if i == j {
						δ = 1
					}
					if e := math.Abs(au[i*p+j] - d[j*p+j]*u[i*p+j]); !(e < 1e-13) {
						t.Fatalf("p = %d, kind %d: A U differs from U Λ by %.3g", p, kind, e)
					}
					if e := math.Abs(uu[i*p+j] - δ); !(e < 1e-14) {
						t.Fatalf("p = %d, kind %d: UᵀU differs from I by %.3g", p, kind, e)
					}
				}
			}
		}
	}
}

// GaussInOrder: A x = b to round-off for random matrices and for permutations, which have no pivot on the diagonal; a
// singular matrix is an error.
func TestGaussInOrder(t *testing.T) {
	st := keyed.New(1, keyed.Probe, 62)
	for n := 1; n <= 8; n++ {
		for kind := range 2 {
			a, x, b := make([]float64, n*n), make([]float64, n), make([]float64, n)
			st.Normals(x, uint64(n), 0)
			st.Normals(a, uint64(n), 1)
			if kind == 1 {
				clear(a)
				for i := range n {
					a[i*n+(i+1)%n] = 2
				}
			}
			for i := range n {
				for j := range n {
					b[i] += a[i*n+j] * x[j]
				}
			}
			if !GaussInOrder(a, b, n) {
				t.Fatalf("n = %d, kind %d: told singular", n, kind)
			}
			for i := range n {
				if e := math.Abs(b[i] - x[i]); !(e < 1e-12) {
					t.Errorf("n = %d, kind %d: x_%d off by %.3g", n, kind, i, e)
				}
			}
		}
	}
	if GaussInOrder([]float64{1, 2, 2, 4}, []float64{1, 1}, 2) {
		t.Error("a singular matrix is solved")
	}
}
