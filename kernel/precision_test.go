package kernel

import "testing"

func TestPrecisionNames(t *testing.T) {
	for p, name := range map[Precision]string{Float32: "float32", BFloat16x3: "bfloat16x3", BFloat16: "bfloat16"} {
		var back Precision
		text, err := p.MarshalText()
		if err != nil || string(text) != name || back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%d is %q (%v) and reads back as %v", p, text, err, back)
		}
	}
	if p, err := ParsePrecision("half"); err == nil || err.Error() != `kernel: precision "half" is not one of float32, bfloat16x3, bfloat16` {
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
