package kernel

import (
	"math"
	"testing"
)

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
