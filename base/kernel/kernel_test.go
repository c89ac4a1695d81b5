package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func fill[T Float](n int, seed uint64) []T {
	x := make([]T, n)
	s := seed*2862933555777941757 + 3037000493
	for i := range x {
		s = s*6364136223846793005 + 1442695040888963407
		x[i] = T(int64(s>>33)-1<<30) / (1 << 30)
	}
	return x
}

// Products agree with a float64 triple loop to k rounding errors, at any shape,
// and a row's bits do not depend on the rows beside it.
func TestMulNT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, k := rapid.IntRange(0, 9).Draw(t, "n"), rapid.IntRange(0, 70).Draw(t, "m"), rapid.IntRange(0, 40).
			Draw(t, "k")
		add := rapid.Bool().Draw(t, "add")
		a, b, c := fill[float32](n*k, 1), fill[float32](m*k, 2), fill[float32](n*m, 3)
		got := append([]float32(nil), c...)
		mulNT(got, a, b, n, m, k, add)
		for i := range n {
			for j := range m {
				want, size := 0.0, 0.0
				if add {
					want = float64(c[i*m+j])
				}
				for l := range k {
					p := float64(a[i*k+l]) * float64(b[j*k+l])
					want += p
					size += math.Abs(p)
				}
				if d := math.Abs(float64(got[i*m+j]) - want); d > float64(k+2)*0x1p-24*(size+2) {
					t.Fatalf("C[%d,%d] = %v, want %v", i, j, got[i*m+j], want)
				}
			}
			row := append([]float32(nil), c[i*m:(i+1)*m]...)
			mulNT(row, a[i*k:(i+1)*k], b, 1, m, k, add)
			for j := range row {
				if row[j] != got[i*m+j] {
					t.Fatalf("row %d alone differs from row %d in a block", i, i)
				}
			}
		}
	})
}

func TestTranspose(t *testing.T) {
	n, m := 37, 21
	a := fill[float64](n*m, 1)
	b := make([]float64, n*m)
	transpose(b, a, n, m)
	for i := range n {
		for j := range m {
			if a[i*m+j] != b[j*n+i] {
				t.Fatalf("element %d,%d", i, j)
			}
		}
	}
}

// The derivative of SiLU by central differences: the error falls with h².
func TestSiLUGrad(t *testing.T) {
	for z := -30.0; z <= 30; z += 0.37 {
		y, d := make([]float64, 1), []float64{1}
		BiasSiLU(y, []float64{z}, []float64{0}, 1, 1)
		if want := z / (1 + math.Exp(-z)); math.Abs(y[0]-want) > 1e-14*(1+math.Abs(want)) {
			t.Errorf("SiLU(%v) = %v, want %v", z, y[0], want)
		}
		SiLUGrad(d, []float64{z})
		f := func(z float64) float64 { return z / (1 + math.Exp(-z)) }
		h := 1e-4
		if want := (f(z+h) - f(z-h)) / (2 * h); math.Abs(d[0]-want) > 1e-7 {
			t.Errorf("SiLU'(%v) = %v, want %v", z, d[0], want)
		}
	}
}

// The float32 exponential is within 5·2⁻²⁴ of the exact one over the whole range, and its limits are right.
func TestExp32(t *testing.T) {
	worst := 0.0
	for x := float32(-87); x < 88.7; x += 0.00137 {
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(exp32(x))-want)/(want*0x1p-24))
	}
	if worst > 5 {
		t.Errorf("worst relative error %.2f·2⁻²⁴", worst)
	}
	if exp32(-1000) != 0 || !math.IsInf(float64(exp32(1000)), 1) || exp32(0) != 1 {
		t.Error("limits")
	}
	if v := exp32(float32(math.NaN())); v == v {
		t.Error("NaN does not travel")
	}
}
