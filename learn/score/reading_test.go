package score

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// φ and χ against their formulas: doubling angles loses a bit an octave.
func TestRow(t *testing.T) {
	r := Reading{Octaves: 6, Wavelength: 3, TimeOctaves: 4, Horizon: 1.25}
	x, p := []float64{0.3, -1.7}, []float64{5, 6}
	if w := r.Width(2, true); w != 37 {
		t.Fatalf("width %d", w)
	}
	row := make([]float64, 37)
	NewReader[float64](r, 2, true).Row(row, Input{X: x, P: p, T: 0.5})
	want := []float64{0.3, -1.7, 5, 6, 0.5}
	for i := range 6 {
		for _, v := range x {
			a := 2 * math.Pi * math.Exp2(float64(i)) * v / 3
			want = append(want, math.Sin(a), math.Cos(a))
		}
	}
	for i := range 4 {
		a := math.Pi * math.Exp2(float64(i)) * 0.4
		want = append(want, math.Sin(a), math.Cos(a))
	}
	for i, v := range want {
		testkit.Near(t, row[i], v, 1e-13, "entry %d", i)
	}
	r.Octaves = 0
	NewReader[float64](r, 2, false).Row(row[:11], Input{X: x, T: 0.5})
	for i, v := range want[29:] {
		testkit.Near(t, row[3+i], v, 1e-13, "entry %d after the time", i)
	}
	testkit.Equal(t, (Reading{}).Width(2, false), 3, "plain width")
	NewReader[float64](Reading{}, 2, false).Row(row[:3], Input{X: x, T: 0.5})
	if row[0] != 0.3 || row[1] != -1.7 || row[2] != 0.5 {
		t.Errorf("plain row %v", row[:3])
	}
}

// With Start, φ is of where a path began, and its waves shrink by exp(−½vω²), but for
// coordinates that noise does not move.
func TestRowOfStart(t *testing.T) {
	x, p := []float64{0.3, -1.7, 0.8}, []float64{0.2, -0.6, 0.4}
	for _, momentum := range []bool{true, false} {
		for _, still := range [][]int{nil, {1}, {0, 2}} {
			r := Reading{Octaves: 4, Wavelength: 3, Still: still}
			r.Start = func(t float64) (b, v float64) { return 3 * t, t / 50 }
			in, want := Input{X: x, T: 0.4}, append([]float64(nil), x...)
			if momentum {
				in.P, want = p, append(want, p...)
			}
			want = append(want, 0.4)
			for i := range 4 {
				ω := 2 * math.Pi * math.Exp2(float64(i)) / 3
				for j, y := range x {
					size := math.Exp(-0.008 / 2 * ω * ω)
					if slices.Contains(still, j) {
						size = 1
					} else if momentum {
						y -= 1.2 * p[j]
					}
					want = append(want, size*math.Sin(ω*y), size*math.Cos(ω*y))
				}
			}
			row := make([]float64, r.Width(3, momentum))
			NewReader[float64](r, 3, momentum).Row(row, in)
			if len(row) != len(want) {
				t.Fatalf("a row of %d numbers, want %d", len(row), len(want))
			}
			for i, v := range want {
				testkit.Near(t, row[i], v, 1e-13, "momentum %v, still %v: entry %d", momentum, still, i)
			}
		}
	}
}

// A field's score is the gain times the network's output on the row.
func TestFieldReading(t *testing.T) {
	r := Reading{Octaves: 2, Wavelength: 2, Gain: func(t float64) float64 { return 10 * t }}
	net := NewMLP[float64]([]int{r.Width(2, true), 8, 2}, 3)
	m := net.Model(r, kernel.Float32)
	x, p, t0 := []float64{0.1, 0.2}, []float64{-1, 2}, 0.25
	in := make([]float64, m.In())
	m.Row(in, Input{X: x, P: p, T: t0})
	want := m.Pack(false).NewWorkspace(1, false).Forward(in, 1)
	got := make([]float64, 2)
	NewField(m, 1).Eval(got, x, p, 1, t0)
	for j := range got {
		testkit.Equal(t, got[j], 2.5*want[j], "s_%d", j)
	}
	for name, mistake := range map[string]func(){
		"a reading of other rows":  func() { net.Model(Reading{}, kernel.Float32) },
		"a point without momentum": func() { NewField(m, 1).Eval(got, x, nil, 1, t0) },
		"a point of other width":   func() { m.Row(in, Input{X: x[:1], P: p[:1]}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			mistake()
		}()
	}
}

// Coordinates are read from their center, in their unit, and waves are of x − center in the unit of x. A unit does not
// change the reading of a condition, momenta and hidden numbers. t is read as it is or as a share of the horizon.
func TestRowOfUnit(t *testing.T) {
	x, p := []float64{1000.5, -1999, 0.75, 14}, []float64{5, 6, 7, 0}
	center := []float64{1000, -2000, 0}
	given := Standard{Mean: []float64{10}, Scale: []float64{2}}
	for _, c := range []struct {
		name   string
		share  bool
		null   bool
		center []float64
		unit   float64
		scales []float64
	}{
		{"both", true, false, center, 4, nil}, {"center", false, false, center, 0, nil},
		{"unit", true, false, nil, 4, nil}, {"one number", false, false, center[:1], 0.5, nil},
		{"hidden", false, true, center, 4, nil}, {"neither", false, false, nil, 0, nil},
		{"scales", false, false, center, 4, []float64{0.01, 0, 30}},
	} {
		r := Reading{Center: c.center, Unit: c.unit, Octaves: 2, Wavelength: 3, Horizon: 4, TimeOctaves: 1,
			Share: c.share, Given: given, Null: true, Still: []int{3}, Scales: c.scales}
		r.Start = func(t float64) (b, v float64) { return t / 8, t / 50 }
		far, unit := make([]float64, 4), 1.0
		copy(far, c.center)
		if c.unit != 0 {
			unit = c.unit
		}
		last := 2.0 // (14 − 10)/2
		if c.null {
			last = 0
		}
		want := []float64{(x[0] - far[0]) / unit, (x[1] - far[1]) / unit, (x[2] - far[2]) / unit, last, 5, 6, 7, 0, 1}
		for j, u := range c.scales { // y has the variance u² + v
			want[j] = (x[j] - far[j] - p[j]/8) / math.Sqrt(u*u+1./50)
		}
		if c.share {
			want[8] = 0.25
		}
		for i := range 2 {
			ω := 2 * math.Pi * math.Exp2(float64(i)) / 3
			for j := range x {
				y, size := last*unit, 1.0
				if j < 3 {
					y, size = x[j]-far[j]-p[j]/8, math.Exp(-ω*ω/100)
				}
				want = append(want, size*math.Sin(ω*y), size*math.Cos(ω*y))
			}
		}
		want = append(want, math.Sin(math.Pi/4), math.Cos(math.Pi/4), 0)
		if c.null {
			want[len(want)-1] = 1
		}
		row := make([]float64, r.Width(4, true))
		NewReader[float64](r, 4, true).Row(row, Input{X: x, P: p, T: 1, Null: c.null})
		if len(row) != len(want) {
			t.Fatalf("%s: a row of %d numbers, want %d", c.name, len(row), len(want))
		}
		for i, v := range want {
			if i < 9 && row[i] != v || math.Abs(row[i]-v) > 1e-12 {
				t.Errorf("%s: entry %d is %v, want %v", c.name, i, row[i], v)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a center of more coordinates than points have is accepted")
		}
	}()
	NewReader[float64](Reading{Center: center, Given: given}, 3, false)
}

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

// Calls that are evaluated in one pass get the numbers that each gets alone, with guidance too.
func TestEvalAll(t *testing.T) {
	const d = 3
	for _, w := range []float64{0, 0.7} {
		r := Reading{Gain: func(t float64) float64 { return 1 + t }}
		if w != 0 {
			r.Given, r.Null = Standard{Mean: []float64{0.1}, Scale: []float64{2}}, true
		}
		m := NewMLP[float32]([]int{r.Width(d, true), 16, 16, d}, 1).Model(r, kernel.Float32)
		f := NewGuided(m, m.Pack(false), 64, 1, w)[0]
		var asks []Ask
		var want [][]float64
		for i, n := range []int{1, 7, 32, 2} {
			x, p := make([]float64, n*d), make([]float64, n*d)
			for j := range x {
				x[j], p[j] = float64((i+3*j)%7)/7, float64((i+5*j)%11)/11
			}
			alone := make([]float64, n*d)
			f.Eval(alone, x, p, n, float64(i)/4)
			want = append(want, alone)
			asks = append(asks, Ask{make([]float64, n*d), x, p, n, float64(i) / 4})
		}
		f.EvalAll(asks)
		for i, a := range asks {
			testkit.EqualSlices(t, a.Dst, want[i], "guidance %v: call %d", w, i)
		}
		if w == 0 && slices.Equal(want[0], want[1][:d]) {
			t.Error("the calls do not differ")
		}
		testkit.Equal(t, testing.AllocsPerRun(10, func() { f.Eval(asks[0].Dst, asks[0].X, asks[0].P, 1, 0) }), 0)
	}
}
