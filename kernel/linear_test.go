package kernel

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

type fatalf = func(format string, args ...any)

// same reports whether two arrays have the same bits, up to the payload of a
// NaN.
func same(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// within checks got = start + Σ_l a(l) b(l) of k terms against float64: each
// product and each sum rounds once, so the error is at most
// (k+1) 2⁻²⁴ (|start| + Σ|a b|) to first order, beside underflow. Not-a-numbers and infinities are
// those of float64.
func within(fatal fatalf, what string, got float32, start float64, k int, term func(l int) (a, b float32)) {
	want, size := start, math.Abs(start)
	for l := range k {
		a, b := term(l)
		p := float64(a) * float64(b)
		want += p
		size += math.Abs(p)
	}
	switch g := float64(got); {
	case math.IsNaN(want) || math.IsInf(want, 0):
		if g != want && !(g != g && want != want) {
			fatal("%s is %v, want %v", what, got, want)
		}
	case !(math.Abs(g-want) <= 1.001*float64(k+1)*(0x1p-24*size+0x1p-150)):
		fatal("%s is %v, want %v: error %.3g, size of terms %.3g", what, got, want, g-want, size)
	}
}

// checkLinear checks the three products of one shape on the active
// implementation and returns their results.
func checkLinear(fatal fatalf, g *guard, n, out, in int, x0, dy0, w0, dw0 []float32) [][]float32 {
	defer g.check(fatal)
	x, dy, w := g.holding(x0), g.holding(dy0), g.holding(w0)
	y, dx, dw, set := g.array(n*out), g.array(n*in), g.holding(dw0), g.array(out*in)
	scratch := g.array(Scratch[float32](n, out, in))
	p := NewWeights[float32](out, in, true)
	p.Set(w)
	MulTransposed(y, x, p, n, scratch)
	MulWeights(dx, dy, p, n, scratch)
	AddGradient(dw, dy, x, n, out, in, true, scratch)
	AddGradient(set, dy, x, n, out, in, false, scratch)
	for name, pair := range map[string][2][]float32{"X": {x, x0}, "dY": {dy, dy0}, "W": {w, w0}} {
		if !same(pair[0], pair[1]) {
			fatal("%s was changed", name)
		}
	}
	at := func(name string, i, j int) string { return fmt.Sprintf("%s: %s[%d,%d]", Name(), name, i, j) }
	for i := range n {
		for j := range out {
			within(fatal, at("Y", i, j), y[i*out+j], 0, in, func(l int) (a, b float32) { return x[i*in+l], w[j*in+l] })
		}
		for j := range in {
			within(fatal, at("dX", i, j), dx[i*in+j], 0, out, func(l int) (a, b float32) { return dy[i*out+l], w[l*in+j] })
		}
	}
	for i := range out {
		for j := range in {
			term := func(l int) (a, b float32) { return dy[l*out+i], x[l*in+j] }
			within(fatal, at("dW", i, j), set[i*in+j], 0, n, term)
			within(fatal, at("dW+", i, j), dw[i*in+j], float64(dw0[i*in+j]), n, term)
		}
	}
	// Any row alone has the bits that it has among others.
	row := make([]float32, max(out, in))
	for i := range n {
		if MulTransposed(row, x[i*in:(i+1)*in], p, 1, scratch); !same(row[:out], y[i*out:(i+1)*out]) {
			fatal("%s: row %d of %d of Y differs alone", Name(), i, n)
		}
		if MulWeights(row, dy[i*out:(i+1)*out], p, 1, scratch); !same(row[:in], dx[i*in:(i+1)*in]) {
			fatal("%s: row %d of %d of dX differs alone", Name(), i, n)
		}
	}
	var results [][]float32
	for _, r := range [][]float32{y, dx, dw, set} {
		results = append(results, append([]float32(nil), r...))
	}
	return results
}

// checkShape checks one shape on every implementation. Those in assembly agree
// bit for bit.
func checkShape(fatal fatalf, g *guard, n, out, in int, special bool) {
	x, dy, w, dw := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3), fill[float32](out*in, 4)
	if special {
		for i, v := range []float32{nan, inf, -inf, 0, 1e-45} {
			for j, a := range [][]float32{x, dy, w, dw} {
				if len(a) > 0 {
					a[(i*i*31+j*7)%len(a)] = v
				}
			}
		}
	}
	was := active
	defer func() { active = was }()
	var first [][]float32
	for _, active = range append(available(), nil) {
		got := checkLinear(fatal, g, n, out, in, x, dy, w, dw)
		if active == nil {
			return
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if !same(got[i], first[i]) {
				fatal("%s and %s differ in product %d", Name(), available()[0].name, i)
			}
		}
	}
}

func TestLinear(t *testing.T) {
	g := &guard{t: t}
	for _, s := range [][3]int{{0, 3, 2}, {2, 0, 3}, {2, 3, 0}, {1, 1, 1}, {15, 31, 33}, {29, 64, 7}, {5, 3, 512}, {3, 530, 300}, {300, 17, 5}, {17, 16, 513}, {260, 33, 65}} {
		checkShape(t.Fatalf, g, s[0], s[1], s[2], false)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, out, in := rapid.IntRange(0, 45).Draw(t, "n"), rapid.IntRange(0, 70).Draw(t, "out"), rapid.IntRange(0, 70).Draw(t, "in")
		checkShape(t.Fatalf, g, n, out, in, rapid.Bool().Draw(t, "special"))
	})
}

func FuzzLinear(f *testing.F) {
	f.Add(uint16(6), uint16(16), uint16(14), true)
	f.Fuzz(func(t *testing.T, n, out, in uint16, special bool) {
		checkShape(t.Fatalf, &guard{t: t}, int(n%300), int(out%300), int(in%300), special)
	})
}

// In assembly, a gradient summed over parts of the rows, in order, has the bits
// of the whole.
func TestGradientInParts(t *testing.T) {
	each(t, func(t *testing.T) {
		if active == nil {
			t.Skip("portable sums each call apart")
		}
		const n, out, in = 600, 19, 45
		x, dy := fill[float32](n*in, 1), fill[float32](n*out, 2)
		whole, parts := make([]float32, out*in), make([]float32, out*in)
		scratch := make([]float32, Scratch[float32](n, out, in))
		AddGradient(whole, dy, x, n, out, in, false, scratch)
		for _, cut := range [][2]int{{0, 1}, {1, 300}, {300, 300}, {300, n}} {
			lo, hi := cut[0], cut[1]
			AddGradient(parts, dy[lo*out:], x[lo*in:], hi-lo, out, in, lo > 0, scratch)
		}
		if !same(whole, parts) {
			t.Error("the parts differ from the whole")
		}
	})
}

func TestBadShapes(t *testing.T) {
	each(t, func(t *testing.T) {
		v := func(n int) []float32 { return make([]float32, n) }
		w, plain := NewWeights[float32](5, 3, true), NewWeights[float32](5, 3, false)
		both := v(40)
		for name, c := range map[string]struct {
			want string
			f    func()
		}{
			"W":       {"W has 14 elements, needs 15", func() { w.Set(v(14)) }},
			"Y":       {"Y has 9 elements, needs 10", func() { MulTransposed(v(9), v(6), w, 2, v(5000)) }},
			"X":       {"X has 5 elements, needs 6", func() { MulTransposed(v(10), v(5), w, 2, v(5000)) }},
			"dX":      {"dX has 5 elements, needs 6", func() { MulWeights(v(5), v(10), w, 2, v(5000)) }},
			"dY":      {"dY has 9 elements, needs 10", func() { MulWeights(v(6), v(9), w, 2, v(5000)) }},
			"plain":   {"made without gradients", func() { MulWeights(v(6), v(10), plain, 2, v(5000)) }},
			"dW":      {"dW has 14 elements, needs 15", func() { AddGradient(v(14), v(10), v(6), 2, 5, 3, true, v(5000)) }},
			"scratch": {"AddGradient: scratch has 1 elements", func() { AddGradient(v(15), v(10), v(6), 2, 5, 3, true, v(1)) }},
			"overlap": {"overlaps", func() { MulTransposed(both[:10], both[9:15], w, 2, v(5000)) }},
			"grad":    {"overlaps", func() { AddGradient(both[:15], both[14:24], v(6), 2, 5, 3, true, v(5000)) }},
			"Adam":    {"Adam: g has 2 elements, needs 3", func() { Adam(v(3), v(3), v(3), v(2), AdamStep{T: 1}) }},
			"Mix":     {"Mix: p has 2 elements, needs 3", func() { Mix(v(3), v(2), 0.5) }},
			"SiLU":    {"bias has 2 elements, needs 3", func() { BiasSiLU(v(6), v(6), v(2), 2, 3) }},
			"AddRows": {"destination has 2 elements, needs 3", func() { AddRows(v(2), v(6), 2, 3) }},
		} {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "kernel: ") || !strings.Contains(got, c.want) {
						t.Errorf("%s: panic %q, want %q", name, got, c.want)
					}
				}()
				c.f()
			}()
		}
	})
}
