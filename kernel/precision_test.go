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
