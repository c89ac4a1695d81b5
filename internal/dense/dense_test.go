package dense

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
)

func random(n int, sample uint64) []float64 {
	v := make([]float64, n)
	keyed.New(1, keyed.Probe, 70).Normals(v, sample, 0)
	return v
}

// Every length around the width of the lanes: sums by both orders, and what writes
// writes each element once and no others.
func TestVectors(t *testing.T) {
	for n := range 14 {
		a, b := random(n, 1), random(n+1, 2)
		want, exact := 0.0, 0.0
		for i := range a {
			want += a[i] * b[i]
			exact += math.Abs(a[i] * b[i])
		}
		if got := Dot(a, b); got != want {
			t.Errorf("n = %d: Dot is %v, added in order %v", n, got, want)
		}
		if got := Dot4(a, b); math.Abs(got-want) > 1e-15*exact {
			t.Errorf("n = %d: Dot4 is %v, want %v", n, got, want)
		}
		if want := floats.Norm(a, 2); math.Abs(Norm(a)-want) > 1e-15*want || math.Abs(Norm4(a)-want) > 1e-15*want {
			t.Errorf("n = %d: norms %v and %v, want %v", n, Norm(a), Norm4(a), want)
		}
		y := append(random(n, 3), 7)
		x := append([]float64(nil), y...)
		sum, times := make([]float64, n), make([]float64, n)
		AddScaled(sum, x, -0.3, b)
		Scaled(times, -0.3, b)
		Axpy(y[:n], -0.3, b)
		for i := range n {
			if y[i] != x[i]-0.3*b[i] || sum[i] != y[i] || times[i] != -0.3*b[i] {
				t.Errorf("n = %d: element %d is %v, %v and %v", n, i, y[i], sum[i], times[i])
			}
		}
		if y[n] != 7 {
			t.Errorf("n = %d: Axpy wrote past the end", n)
		}
		p, q := random(n, 4), random(n, 5)
		if Swap(p, q); !floats.Equal(p, random(n, 5)) || !floats.Equal(q, random(n, 4)) {
			t.Errorf("n = %d: Swap", n)
		}
	}
}

// Four lanes: element i goes to lane i mod 4 and the lanes are added in pairs.
func TestDot4AddsInLanes(t *testing.T) {
	a := []float64{1e16, 1, -1e16, 1, 1, 1, 1, 1}
	one := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	// In lanes 1e16+1 → 1e16, 1+1, −1e16+1 → −1e16, 1+1.
	if got, want := Dot4(a, one), (1e16+2)+(-1e16+2); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Residuals of the solvers on random systems, and 0 or false on singular ones.
func TestSolvers(t *testing.T) {
	for n := 1; n <= 9; n++ {
		a, x := random(n*n, uint64(n)), random(n, 100+uint64(n))
		A, X := mat.NewDense(n, n, append([]float64(nil), a...)), mat.NewVecDense(n, append([]float64(nil), x...))
		residual := func(what string, z []float64) {
			t.Helper()
			var r mat.VecDense
			r.MulVec(A, mat.NewVecDense(n, z))
			r.SubVec(&r, X)
			if e := mat.Norm(&r, math.Inf(1)); !(e < 1e-12*mat.Norm(mat.NewVecDense(n, z), 2)+1e-13) {
				t.Errorf("%s: ‖A z − x‖ = %.3g at n = %d", what, e, n)
			}
		}
		work := func() ([]float64, []float64) { return append([]float64(nil), a...), append([]float64(nil), x...) }
		u, z := work()
		if !Gauss(u, z, n) {
			t.Fatal("singular")
		}
		residual("Gauss", z)
		u, z = work()
		if !GaussInOrder(u, z, n) {
			t.Fatal("singular")
		}
		residual("GaussInOrder", z)
		u, _ = work()
		if got, want := Eliminate(u, nil, n), mat.Det(A); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("determinant %v, want %v", got, want)
		}
		u, z = work()
		copy(u[:n], make([]float64, n))
		if Eliminate(append([]float64(nil), u...), nil, n) != 0 || Gauss(append([]float64(nil), u...), z, n) ||
			GaussInOrder(u, z, n) {
			t.Errorf("n = %d: a zero row is not singular", n)
		}
		// W = A Aᵀ + I.
		var W mat.SymDense
		W.SymOuterK(1, A)
		w := make([]float64, n*n)
		for i := range n {
			W.SetSym(i, i, W.At(i, i)+1)
			for j := range i + 1 {
				w[i*n+j] = W.At(i, j)
			}
		}
		z = append(z[:0], x...)
		FactorCholesky(w, n)
		SolveCholesky(w, z, n)
		A = mat.DenseCopyOf(&W)
		residual("Cholesky", z)
	}
}

// LeastSquares: the residual is orthogonal to the columns, in both layouts.
func TestLeastSquares(t *testing.T) {
	const rows, cols = 7, 3
	a, rhs := random(rows*cols, 1), random(rows, 2)
	for _, byRow := range []bool{true, false} {
		z := make([]float64, cols)
		col, row := 1, cols
		if !byRow {
			col, row = rows, 1
		}
		LeastSquares(z, a, rhs, col, row, make([]float64, cols*cols))
		r := append([]float64(nil), rhs...)
		for e := range r {
			for p, v := range z {
				r[e] -= a[p*col+e*row] * v
			}
		}
		for p := range cols {
			s := 0.0
			for e, v := range r {
				s += a[p*col+e*row] * v
			}
			if math.Abs(s) > 1e-13 {
				t.Errorf("the residual has product %.3g with column %d", s, p)
			}
		}
	}
}

// QR and PivotedQR give orthonormal rows with QR = A; QR gives up where rows are
// nearly dependent, and PivotedQR finds the rank.
func TestQR(t *testing.T) {
	const k, c, d = 4, 5, 6
	unit := func(sample uint64) []float64 {
		q := random(k*d, sample)
		for j := range k {
			Scaled(q[j*d:(j+1)*d], 1/Norm(q[j*d:(j+1)*d]), q[j*d:(j+1)*d])
		}
		return q
	}
	check := func(what string, a, q, r []float64, pivot []int, rank int) {
		t.Helper()
		for j := range k {
			row := append([]float64(nil), a[pivot[j]*d:(pivot[j]+1)*d]...)
			for p := range min(j+1, rank) {
				Axpy(row, -r[p*c+j], q[p*d:(p+1)*d])
			}
			if e := Norm(row); e > 1e-12 {
				t.Errorf("%s: row %d is missed by %.3g", what, j, e)
			}
		}
		for j := range rank {
			for p := range j + 1 {
				want := 0.0
				if p == j {
					want = 1
				}
				if e := Dot(q[p*d:(p+1)*d], q[j*d:(j+1)*d]) - want; math.Abs(e) > 1e-14 {
					t.Errorf("%s: rows %d and %d are off by %.3g", what, p, j, e)
				}
			}
		}
	}
	a := unit(1)
	q, r := append([]float64(nil), a...), make([]float64, k*c)
	if !QR(q, r, k, c, d) {
		t.Fatal("QR gave up")
	}
	check("QR", a, q, r, []int{0, 1, 2, 3}, k)
	for _, rank := range []int{k, 3} {
		a := unit(2)
		if rank == 3 { // row 1 in the span of 0 and 2
			clear(a[d : 2*d])
			Axpy(a[d:2*d], 0.6, a[:d])
			Axpy(a[d:2*d], -0.5, a[2*d:3*d])
			Scaled(a[d:2*d], 1/Norm(a[d:2*d]), a[d:2*d])
		}
		q := append([]float64(nil), a...)
		pivot, scale := []int{0, 1, 2, 3}, []float64{10, 11, 12, 13}
		if got := PivotedQR(q, r, pivot, scale, k, c, d, 1e-10); got != rank {
			t.Fatalf("rank %d, want %d", got, rank)
		}
		for j, p := range pivot {
			if scale[j] != float64(10+p) {
				t.Errorf("scale %v of pivots %v", scale, pivot)
			}
		}
		check("PivotedQR", a, q, r, pivot, rank)
		if rank == 3 && QR(append([]float64(nil), a...), r, k, c, d) {
			t.Error("QR did not give up at dependent rows")
		}
	}
}

// PivotedQR takes the row with the most left outside the span so far, the first of equals.
func TestPivots(t *testing.T) {
	q := []float64{
		1, 0, 0, 0,
		0.8, 0.6, 0, 0,
		0.6, 0, 0.8, 0,
		0.75, 0, 0, math.Sqrt(1 - 0.75*0.75),
	}
	pivot := []int{0, 1, 2, 3}
	rank := PivotedQR(q, make([]float64, 16), pivot, make([]float64, 4), 4, 4, 4, 1e-10)
	if want := [4]int{0, 2, 3, 1}; rank != 4 || [4]int(pivot) != want {
		t.Errorf("rank %d, pivots %v, want %v", rank, pivot, want)
	}
}

// Orthonormalise and Reject: orthonormal columns that span what the old ones did.
func TestOrthonormalise(t *testing.T) {
	const n, p = 5, 3
	x := random(n*p, 1)
	if !Orthonormalise(x, n, p) {
		t.Fatal("dependent")
	}
	column := func(x []float64, i int) (v []float64) {
		for k := range n {
			v = append(v, x[k*p+i])
		}
		return v
	}
	basis := [][]float64{column(x, 0), column(x, 1), column(x, 2)}
	was, r := column(random(n*p, 1), 2), make([]float64, 2)
	v := append([]float64(nil), was...)
	Reject(v, basis, r)
	for i, b := range basis {
		for j := range i + 1 {
			if e := Dot(b, basis[j]) - float64((j+1)/(i+1)); math.Abs(e) > 1e-15*10 {
				t.Errorf("vectors %d and %d are off by %.3g", i, j, e)
			}
		}
		if i < 2 && math.Abs(r[i]-Dot(b, was)) > 1e-14 {
			t.Errorf("coefficient %d is %v, want %v", i, r[i], Dot(b, was))
		}
	}
	if e := Norm(v); e > 1e-14 {
		t.Errorf("%.3g is left of a vector of the span", e)
	}
	if x := []float64{1, 2, 2, 4}; Orthonormalise(x, 2, 2) {
		t.Error("parallel vectors became orthonormal")
	}
}

// Products against gonum.
func TestProducts(t *testing.T) {
	for p := 1; p <= 5; p++ {
		a, b := random(p*p, uint64(p)), random(p*p, 50+uint64(p))
		A, B, got := mat.NewDense(p, p, a), mat.NewDense(p, p, b), make([]float64, p*p)
		var want mat.Dense
		check := func(name string) {
			t.Helper()
			if !floats.EqualApprox(got, want.RawMatrix().Data, 1e-14) {
				t.Errorf("%s of %d×%d", name, p, p)
			}
			want.Reset()
		}
		want.Mul(A, B)
		Mul(got, a, b, p)
		check("A B")
		want.Mul(A, B.T())
		MulT(got, a, b, p)
		check("A Bᵀ")
		want.Mul(A.T(), B)
		TMul(got, a, b, p)
		check("AᵀB")
	}
}

// Of a matrix that is kept by its envelope the factors are those of Cholesky, to round-off, and where that is the
// whole triangle they are the same to the last bit.
func TestEnvelope(t *testing.T) {
	const n = 13
	for name, first := range map[string][]int{
		"full":     make([]int, n),
		"diagonal": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"band":     {0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"blocks":   {0, 0, 0, 3, 3, 5, 5, 5, 5, 9, 9, 11, 11},
		"ragged":   {0, 1, 0, 2, 1, 5, 0, 6, 7, 3, 10, 9, 0},
	} {
		full, kept, diagonal := random(n*n, 31), []float64(nil), []int(nil)
		for i := range n {
			for j := range i {
				if j < first[i] {
					full[i*n+j] = 0
				}
				full[j*n+i] = full[i*n+j]
			}
			full[i*n+i] = 20
			kept = append(kept, full[i*n+first[i]:i*n+i+1]...)
			diagonal = append(diagonal, len(kept)-1)
		}
		want, z := random(n, 32), make([]float64, n)
		for i := range n {
			z[i] = Dot(full[i*n:(i+1)*n], want)
		}
		y := append([]float64(nil), z...)
		FactorCholesky(full, n)
		SolveCholesky(full, y, n)
		FactorEnvelope(kept, diagonal)
		SolveEnvelope(kept, z, diagonal)
		for i, v := range want {
			if !(math.Abs(z[i]-v) < 1e-14) || name == "full" && z[i] != y[i] {
				t.Errorf("%s: element %d is %v, want %v; by Cholesky %v", name, i, z[i], v, y[i])
			}
		}
	}
}

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
