package score

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A condition is read standardised, in the row and in φ; hidden it is 0, and only the last
// number says so. Without Null there is no such number.
func TestGivenRow(t *testing.T) {
	r := Reading{Octaves: 1, Wavelength: 2, TimeOctaves: 1, Horizon: 4,
		Given: Standard{Mean: []float64{10, -1}, Scale: []float64{2, 0.5}}, Null: true}
	at := Input{X: []float64{0.3, 14, -1.25}, P: []float64{5, 0, 0}, T: 1}
	write := func(r Reading, at Input) []float64 {
		row := make([]float64, r.Width(3, true))
		NewReader[float64](r, 3, true).Row(row, at)
		return row
	}
	wave := func(v float64) (float64, float64) { return math.Sincos(math.Pi * v) }
	want := func(a, b, null float64) []float64 {
		s0, c0 := wave(0.3)
		s1, c1 := wave(a)
		s2, c2 := wave(b)
		st, ct := math.Sincos(math.Pi / 4)
		return []float64{0.3, a, b, 5, 0, 0, 1, s0, c0, s1, c1, s2, c2, st, ct, null}
	}
	hidden := at
	hidden.Null = true
	for _, c := range []struct{ got, want []float64 }{
		{write(r, at), want(2, -0.5, 0)}, {write(r, hidden), want(0, 0, 1)},
	} {
		for i, v := range c.want {
			if len(c.got) != len(c.want) || math.Abs(c.got[i]-v) > 1e-15 {
				t.Fatalf("the row is %v, want %v", c.got, c.want)
			}
		}
	}
	r.Null = false
	if got, want := write(r, at), want(2, -0.5, 0); len(got) != len(want)-1 {
		t.Errorf("without Null the row has %d numbers, want %d", len(got), len(want)-1)
	}
	defer func() {
		if recover() == nil {
			t.Error("a condition is hidden from a network that must see it")
		}
	}()
	write(r, hidden)
}

// A guided score is (1+w) s(c) − w s(∅), to the last bit that its sum has, and of w = 0
// the score itself: the same numbers as of a field that knows nothing of guidance.
func TestGuidedField(t *testing.T) {
	r := Reading{Given: Standard{Mean: []float64{1}, Scale: []float64{2}}, Null: true,
		Gain: func(t float64) float64 { return 1 + t }}
	m := NewMLP[float64]([]int{r.Width(2, true), 16, 2}, 3).Model(r, kernel.Float32)
	x, p := []float64{0.1, 0.2, -1, 3, 0.5, 1}, []float64{1, 0, 2, 0, -1, 0}
	read := func(null bool) []float64 {
		in := make([]float64, 3*m.In())
		for i := range 3 {
			m.Row(in[i*m.In():(i+1)*m.In()], Input{X: x[2*i : 2*i+2], P: p[2*i : 2*i+2], T: 0.5, Null: null})
		}
		return slices.Clone(m.Pack(false).NewWorkspace(3, false).Forward(in, 3))
	}
	seen, hidden := read(false), read(true)
	for _, w := range []float64{0, 1.5, -1} {
		got := make([]float64, 6)
		NewGuided(m, m.Pack(false), 4, 1, w)[0].Eval(got, x, p, 3, 0.5)
		for i, v := range got {
			want := (1+w)*(1.5*seen[i]) - w*(1.5*hidden[i])
			if w == 0 {
				want = 1.5 * seen[i]
			}
			testkit.Equal(t, v, want, "w = %v", w)
		}
	}
	plain := make([]float64, 6)
	NewField(m, 4).Eval(plain, x, p, 3, 0.5)
	for i, v := range plain {
		testkit.Equal(t, v, 1.5*seen[i], "a field")
	}
}
