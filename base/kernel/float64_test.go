package kernel

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// fence64 returns n numbers at the end of readable memory.
func fence64(t testing.TB, n int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(fence(t, 2*n)))), n)
}

// padded returns rows×cols numbers in padded rows.
func padded(rows, cols int, seed uint64) (dense, x []float64) {
	dense, x = fill[float64](rows*cols, seed), make([]float64, rows*Pad64(cols))
	for i := range rows {
		copy(x[i*Pad64(cols):], dense[i*cols:(i+1)*cols])
	}
	return dense, x
}

// Products agree with an exact sum to k roundings at any shape, from either form
// of the right operand, and a row has the bits that it has alone.
func TestMul64(t *testing.T) {
	each(t, func(t *testing.T) {
		fenceC, fenceA := fence64(t, 32*Pad64(80)), fence64(t, 32*Pad64(80))
		rapid.Check(t, func(t *rapid.T) {
			n, k, m := rapid.IntRange(0, 32).Draw(t, "n"), rapid.IntRange(0, 80).Draw(t, "k"), rapid.IntRange(1, 80).
				Draw(t, "m")
			add := rapid.Bool().Draw(t, "add")
			b, _ := padded(k, m, 1)
			bT := make([]float64, k*m)
			transpose(bT, b, k, m)
			B := NewMatrix64(k, m)
			if rapid.Bool().Draw(t, "transposed") {
				B.SetTransposed(bT, k)
			} else {
				B.Set(b, m)
			}
			dense, rows := padded(n, k, 2)
			a := fenceA[len(fenceA)-len(rows):]
			copy(a, rows)
			start, was := padded(n, m, 3)
			c := fenceC[len(fenceC)-len(was):]
			copy(c, was)
			if !add {
				for i := range c {
					c[i] = math.NaN()
				}
			}
			Mul64(c, a, B, n, add)
			for i := range n {
				alone := make([]float64, Pad64(m))
				copy(alone, was[i*Pad64(m):(i+1)*Pad64(m)])
				Mul64(alone, a[i*Pad64(k):(i+1)*Pad64(k)], B, 1, add)
				for j := range m {
					sum, size := new(big.Float).SetPrec(200), 0.0
					if add {
						sum.SetFloat64(start[i*m+j])
					}
					for l := range k {
						p := new(big.Float).SetPrec(200).Mul(big.NewFloat(dense[i*k+l]), big.NewFloat(b[l*m+j]))
						sum.Add(sum, p)
						size += math.Abs(dense[i*k+l] * b[l*m+j])
					}
					want, _ := sum.Float64()
					got := c[i*Pad64(m)+j]
					if e := math.Abs(got - want); !(e <= float64(k+2)*0x1p-53*(size+1)) {
						t.Fatalf("C[%d,%d] = %v, want %v", i, j, got, want)
					}
					if alone[j] != got {
						t.Fatalf("row %d alone: %v at %d, in a block %v", i, alone[j], j, got)
					}
				}
			}
		})
	})
}

func TestSoftplus64(t *testing.T) {
	each(t, func(t *testing.T) {
		const width = 16
		bias := make([]float64, width)
		a, s, z := make([]float64, width), make([]float64, width), make([]float64, width)
		worstA, worstS := 0.0, 0.0
		at := func(v, β float64) (float64, float64) {
			for j := range z {
				z[j], bias[j] = v/2, v/2
			}
			Softplus64(a, s, z, bias, 1, width, β)
			for j := range a {
				if math.Float64bits(a[j]) != math.Float64bits(a[0]) ||
					math.Float64bits(s[j]) != math.Float64bits(s[0]) {
					t.Fatalf("the lanes of softplus(%v) differ: %v, %v", v, a, s)
				}
			}
			return a[0], s[0]
		}
		step := 1
		if testing.Short() {
			step = 7
		}
		for _, β := range []float64{1, 10, 100} {
			for i := -70_000; i <= 2_200; i += step {
				v := float64(i) / 100 / β
				gotA, gotS := at(v, β)
				u, wantA, wantS := math.Exp(-math.Abs(β*v)), v, 1.0
				if β*v <= 20 {
					wantA = (max(β*v, 0) + math.Log1p(u)) / β
					if wantS = 1 / (1 + u); v < 0 {
						wantS = u / (1 + u)
					}
				}
				worstA, worstS = max(worstA, math.Abs(gotA/wantA-1)), max(worstS, math.Abs(gotS/wantS-1))
			}
		}
		if worstA > 2e-15 || worstS > 2e-15 {
			t.Errorf("relative errors %.3g and %.3g", worstA, worstS)
		}
		for _, c := range [][3]float64{{math.Inf(1), math.Inf(1), 1}, {-1e300, 0, 0}, {1e300, 1e300, 1},
			{2, 2.0000000002061154, 0.9999999979388463}, {2.0000001, 2.0000001, 1}} {
			if gotA, gotS := at(c[0], 10); !(math.Abs(gotA-c[1]) <= 1e-15*math.Abs(c[1])+1e-300 || gotA == c[1]) ||
				math.Abs(gotS-c[2]) > 1e-15 {
				t.Errorf("softplus(%v) = %v, slope %v; want %v, %v", c[0], gotA, gotS, c[1], c[2])
			}
		}
		if gotA, gotS := at(math.NaN(), 10); gotA == gotA || gotS == gotS {
			t.Errorf("softplus(NaN) = %v, slope %v", gotA, gotS)
		}
	})
}

func TestMisuse64(t *testing.T) {
	b := NewMatrix64(3, 20)
	for name, f := range map[string]func(){
		"short C":      func() { Mul64(make([]float64, 31), make([]float64, 16), b, 1, false) },
		"short A":      func() { Mul64(make([]float64, 32), make([]float64, 15), b, 1, false) },
		"overlap":      func() { x := make([]float64, 40); Mul64(x[:32], x[24:], b, 1, false) },
		"short source": func() { b.Set(make([]float64, 59), 20) },
		"narrow":       func() { b.SetTransposed(make([]float64, 60), 2) },
		"short bias":   func() { x := make([]float64, 32); Softplus64(x, x, x, x[:20], 1, 20, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkMul64(b *testing.B) {
	each(b, func(b *testing.B) {
		for _, n := range []int{64, 1} {
			b.Run(fmt.Sprint(n), func(b *testing.B) {
				w := NewMatrix64(128, 128)
				w.Set(fill[float64](128*128, 1), 128)
				a, c := fill[float64](n*128, 2), make([]float64, n*128)
				for b.Loop() {
					Mul64(c, a, w, n, false)
				}
				gflops(b, 2*128*128*float64(n))
			})
		}
	})
}

func BenchmarkSoftplus64(b *testing.B) {
	each(b, func(b *testing.B) {
		const n = 64 * 128
		z, a, s, bias := fill[float64](n, 2), make([]float64, n), make([]float64, n), make([]float64, 128)
		for b.Loop() {
			Softplus64(a, s, z, bias, 64, 128, 10)
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/number")
	})
}
