package kernel

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
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

// The least two of sums, and the first place of the least, are those that sorting finds, on all loops: with equal sums,
// with +∞ behind a length that is no multiple, and where nothing is below +∞. Arrays end where memory does.
func TestCheapest(t *testing.T) {
	each(t, func(t *testing.T) {
		costs, prices := fence(t, 256), fence(t, 256)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 200).Draw(t, "n")
			values := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "values")
			number := rapid.IntRange(-values, values)
			padded := roundUp(n, CheapestPad)
			cost, price := costs[len(costs)-padded:], prices[len(prices)-padded:]
			var sums []float32
			for j := range padded {
				cost[j], price[j] = float32(math.Inf(1)), 0
				if j < n {
					cost[j], price[j] = float32(number.Draw(t, "cost"))/8, float32(number.Draw(t, "price"))/8
					sums = append(sums, cost[j]+price[j])
				}
			}
			least, second, at := Cheapest(cost, price)
			want := [2]float32{float32(math.Inf(1)), float32(math.Inf(1))}
			copy(want[:], slices.Sorted(slices.Values(sums)))
			if place := max(0, slices.Index(sums, want[0])); least != want[0] || second != want[1] || at != place {
				t.Fatalf("%v: got %v, %v at %d; want %v at %d", sums, least, second, at, want, place)
			}
		})
	})
}

func TestPrecisionNames(t *testing.T) {
	for p, name := range map[Precision]string{Float32: "float32", BFloat16x3: "bfloat16x3", BFloat16: "bfloat16"} {
		var back Precision
		text, err := p.MarshalText()
		if err != nil || string(text) != name || back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%d is %q (%v) and reads back as %v", p, text, err, back)
		}
	}
	if p, err := ParsePrecision("half"); err == nil ||
		err.Error() != `kernel: precision "half" is not one of float32, bfloat16x3, bfloat16` {
		t.Errorf("half is %v, %v", p, err)
	}
	if _, err := Precision(3).MarshalText(); err == nil {
		t.Error("Precision(3) has a name")
	}
}

// Three products pay on tiles alone, one wherever pairs are multiplied.
func TestEffective(t *testing.T) {
	was := active
	defer func() { active = was }()
	for _, c := range []struct {
		im   *impl
		want [BFloat16 + 1]Precision
	}{
		{nil, [...]Precision{Float32, Float32, Float32}},
		{&impl{}, [...]Precision{Float32, Float32, Float32}},
		{&impl{pairs: &pairing{}}, [...]Precision{Float32, Float32, BFloat16}},
		{&impl{pairs: &pairing{split: true}}, [...]Precision{Float32, BFloat16x3, BFloat16}},
	} {
		active = c.im
		for p, want := range c.want {
			if got := Effective(Precision(p)); got != want {
				t.Errorf("%v runs as %v, not %v", Precision(p), got, want)
			}
			if pairsOf[float64](Precision(p)) != nil {
				t.Errorf("float64 runs in %v", Precision(p))
			}
		}
	}
	for _, im := range available() {
		if im.pairs != nil && im.pairs.split != (im.name == "amx") {
			t.Errorf("%s: three products are preferred: %v", im.name, im.pairs.split)
		}
	}
}

// Relative rms errors of products of independent numbers uniform on ±1; limits
// twice what was measured: 4e-7, 3.8e-6 and 2.1e-3.
func TestErrorOfProducts(t *testing.T) {
	const n, out, in = 64, 96, 512
	x, w := fill[float32](n*in, 1), fill[float32](out*in, 2)
	exact := make([]float64, n*out)
	for i := range n {
		for j := range out {
			for l := range in {
				exact[i*out+j] += float64(x[i*in+l]) * float64(w[j*in+l])
			}
		}
	}
	each(t, func(t *testing.T) {
		for p := range BFloat16 + 1 {
			y, packed := make([]float32, n*out), NewWeights[float32](out, in, false, p)
			packed.Set(w)
			MulTransposed(y, x, packed, n, make([]float32, Scratch[float32](n, out, in)))
			d, s := 0.0, 0.0
			for i, v := range exact {
				d += (float64(y[i]) - v) * (float64(y[i]) - v)
				s += v * v
			}
			e := math.Sqrt(d / s)
			t.Logf("%v, which runs as %v: %.2g", p, Effective(p), e)
			if limit := []float64{8e-7, 8e-6, 4.2e-3}[Effective(p)]; !(e < limit) {
				t.Errorf("error %.3g in %v", e, Effective(p))
			}
		}
	})
}

func TestChoose(t *testing.T) {
	best, worse := &impl{name: "avx512"}, &impl{name: "avx2"}
	for _, c := range []struct {
		want string
		have []*impl
		got  *impl
		err  string
	}{
		{"", []*impl{best, worse}, best, ""},
		{"", nil, nil, ""},
		{"portable", []*impl{best, worse}, nil, ""},
		{"avx2", []*impl{best, worse}, worse, ""},
		{"avx512", []*impl{worse}, nil, "this machine does not have it; it has avx2, portable"},
		{"avx2", nil, nil, "it has portable"},
		{"AVX", []*impl{best}, nil, `LANDING_KERNEL="AVX" is not one of amx, avx512, avx2, neon, portable`},
	} {
		got, err := choose(c.want, c.have)
		if got != c.got || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v", c.want, got, err)
		}
	}
}

// The notice of slow portable Go appears unless the user chose it.
func TestNotice(t *testing.T) {
	if got := notice("", nil); !strings.Contains(got, "portable Go, about ten times slower") {
		t.Errorf("without AVX2: %q", got)
	}
	if notice("portable", nil) != "" || notice("", []*impl{{}}) != "" {
		t.Error("told where it is asked for, or not so")
	}
	if (Notice() != "") != (len(available()) == 0 && os.Getenv("LANDING_KERNEL") == "") {
		t.Errorf("here: %q", Notice())
	}
}

// The architecture says whether products and sums are fused, as in a loop over numbers.
func TestArch(t *testing.T) {
	x, y, z := fill[float64](50, 1), fill[float64](50, 2), fill[float64](50, 3)
	fused := true
	for i := range x {
		fused = fused && x[i]*y[i]+z[i] == math.FMA(x[i], y[i], z[i])
	}
	t.Log(Arch())
	if want := map[bool]string{true: runtime.GOARCH + ", fused", false: runtime.GOARCH}[fused]; Arch() != want {
		t.Errorf("%q, want %q", Arch(), want)
	}
}

// The environment chooses for the whole process. Check reports an invalid choice, and nothing is computed with it.
func TestEnvironment(t *testing.T) {
	if os.Getenv("KERNEL_NAME") != "" {
		if err := Check(); err != nil {
			os.Stdout.WriteString(err.Error())
			NewWeights[float32](1, 1, false, Float32) // panics
		}
		os.Stdout.WriteString("runs on " + Name())
		return
	}
	for want, text := range map[string]string{
		"portable": "runs on portable",
		"sse":      `kernel: LANDING_KERNEL="sse" is not one of amx, avx512, avx2, neon, portable`,
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		cmd.Env = append(os.Environ(), "KERNEL_NAME=1", "LANDING_KERNEL="+want)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this program, and the system cannot")
		}
		if (err != nil) != (want == "sse") || !strings.Contains(string(out), text) {
			t.Errorf("%s: %v, %s", want, err, out)
		}
	}
}
