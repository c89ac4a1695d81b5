package kernel

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/tools/testkit"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

type fatalf = func(format string, args ...any)

// same reports whether two arrays have the same bits, up to the payload of a NaN.
func same(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// rounded returns x in bfloat16, as the processor rounds: to nearest, ties to even, and what is below 2⁻¹²⁶ to 0.
func rounded(x float32) float32 {
	b := math.Float32bits(x)
	switch {
	case x != x:
		return x
	case b&0x7f800000 == 0:
		return 0
	}
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}

// within checks got = start + Σ_l a(l) b(l) of k terms against float64. A product of float32 numbers and a sum round
// once each, so the error is at most (k+1) 2⁻²⁴ (|start| + Σ|a b|) to first order, beside underflow; so it is with the
// numbers that a precision rounds to, three products for one in bfloat16x3, and the rounding itself costs what
// Precision says. Not-a-numbers and infinities are those of float64, of rounded numbers.
func within(fatal fatalf, what string, p Precision, got float32, start float64, k int,
	term func(l int) (a, b float32)) {
	want, exact, size, flushed := start, start, math.Abs(start), 0.0
	for l := range k {
		a, b := term(l)
		add := func(a, b float32) { want += float64(a) * float64(b) }
		switch p {
		case Float32:
			add(a, b)
		case BFloat16:
			add(rounded(a), rounded(b))
		case BFloat16x3:
			a1, b1 := rounded(a), rounded(b)
			add(rounded(a-a1), b1)
			add(a1, rounded(b-b1))
			add(a1, b1)
		}
		exact += float64(a) * float64(b)
		size += math.Abs(float64(a) * float64(b))
		flushed += 0x1p-126 * (math.Abs(float64(a)) + math.Abs(float64(b)))
	}
	const u = 0x1p-8
	loss := map[Precision]float64{Float32: 0, BFloat16x3: 3 * u * u, BFloat16: 2*u + u*u}[p] * size
	sums, tiny := float64(k+1), 0x1p-150
	if p != Float32 {
		sums, tiny = float64(3*k+2), 0x1p-124 // what is below 2⁻¹²⁶ is 0
	}
	rounding := 1.02 * sums * (0x1p-24*size + tiny)
	switch g := float64(got); {
	case math.IsNaN(want) || math.IsInf(want, 0):
		if g != want && !(g != g && want != want) {
			fatal("%s is %v, want %v", what, got, want)
		}
	case !(math.Abs(g-want) <= rounding):
		fatal("%s is %v, want %v: error %.3g, size of terms %.3g", what, got, want, g-want, size)
	case p != Float32 && !(math.Abs(g-exact) <= loss+flushed+rounding):
		fatal("%s is %v, exactly %v: error %.3g, size of terms %.3g", what, got, exact, g-exact, size)
	}
}

// emulated says that the tests run where every instruction of AMX is emulated: slowly.
var emulated = os.Getenv("KERNEL_TILES") == "emulated"

// checkLinear checks the three products of one shape and precision on the active
// implementation and returns their results.
func checkLinear(fatal fatalf, g *guard, prec Precision, n, out, in int, x0, dy0, w0, dw0 []float32) [][]float32 {
	defer g.check(fatal)
	x, dy, w := g.holding(x0), g.holding(dy0), g.holding(w0)
	y, dx, dw, set := g.array(n*out), g.array(n*in), g.holding(dw0), g.array(out*in)
	scratch := g.array(Scratch[float32](n, out, in))
	p := NewWeights[float32](out, in, true, prec)
	p.Set(w)
	MulTransposed(y, x, p, n, scratch)
	MulWeights(dx, dy, p, n, scratch)
	AddGradient(dw, dy, x, n, out, in, true, prec, scratch)
	AddGradient(set, dy, x, n, out, in, false, prec, scratch)
	for name, pair := range map[string][2][]float32{"X": {x, x0}, "dY": {dy, dy0}, "W": {w, w0}} {
		if !same(pair[0], pair[1]) {
			fatal("%s was changed", name)
		}
	}
	prec = Effective(prec)
	at := func(name string, i, j int) string { return fmt.Sprintf("%s, %v: %s[%d,%d]", Name(), prec, name, i, j) }
	for i := range n {
		for j := range out {
			within(fatal, at("Y", i, j), prec, y[i*out+j], 0, in,
				func(l int) (a, b float32) { return x[i*in+l], w[j*in+l] })
		}
		for j := range in {
			within(fatal, at("dX", i, j), prec, dx[i*in+j], 0, out,
				func(l int) (a, b float32) { return dy[i*out+l], w[l*in+j] })
		}
	}
	for i := range out {
		for j := range in {
			term := func(l int) (a, b float32) { return dy[l*out+i], x[l*in+j] }
			within(fatal, at("dW", i, j), prec, set[i*in+j], 0, n, term)
			within(fatal, at("dW+", i, j), prec, dw[i*in+j], float64(dw0[i*in+j]), n, term)
		}
	}
	// Any row alone has the bits that it has among others.
	row := make([]float32, max(out, in))
	step := 1
	if emulated {
		step += n / 3
	}
	for i := 0; i < n; i += step {
		if MulTransposed(row, x[i*in:(i+1)*in], p, 1, scratch); !same(row[:out], y[i*out:(i+1)*out]) {
			fatal("%s, %v: row %d of %d of Y differs alone", Name(), prec, i, n)
		}
		if MulWeights(row, dy[i*out:(i+1)*out], p, 1, scratch); !same(row[:in], dx[i*in:(i+1)*in]) {
			fatal("%s, %v: row %d of %d of dX differs alone", Name(), prec, i, n)
		}
	}
	var results [][]float32
	for _, r := range [][]float32{y, dx, dw, set} {
		results = append(results, append([]float32(nil), r...))
	}
	return results
}

// checkShape checks one shape on every implementation in every precision. In
// float32 those in assembly agree bit for bit.
func checkShape(fatal fatalf, g *guard, n, out, in int, special bool) {
	x, dy, w, dw := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3), fill[float32](out*in, 4)
	if special {
		for _, a := range [][]float32{x, dy, w, dw} { // sizes from 2⁻⁴⁰ to 2⁴⁰
			for i := range a {
				a[i] *= float32(math.Ldexp(1, i*37%81-40))
			}
		}
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
	for _, active = range implementations() {
		for p := range BFloat16 + 1 {
			if Effective(p) != p {
				continue // TestPrecisionIsAPermission
			}
			got := checkLinear(fatal, g, p, n, out, in, x, dy, w, dw)
			if active == nil || p != Float32 {
				continue
			}
			if first == nil {
				first = got
			}
			for i := range got {
				if !same(got[i], first[i]) {
					fatal("%s and %s differ in product %d", Name(), implementations()[0].name, i)
				}
			}
		}
	}
}

// toOdd returns p + s rounded to odd: an inexact sum is the neighbour whose last bit is set, so that rounding it again
// to fewer bits is as good as rounding once (Boldo and Melquiond 2008).
func toOdd(p, s float64) float64 {
	sum := p + s
	if v := sum - p; math.Float64bits(sum)&1 == 0 && !math.IsInf(sum, 0) {
		switch rest := (p - (sum - v)) + (s - v); {
		case rest > 0 == (sum > 0) && rest != 0:
			return math.Float64frombits(math.Float64bits(sum) + 1)
		case rest != 0:
			return math.Float64frombits(math.Float64bits(sum) - 1)
		}
	}
	return sum
}

// fused returns a·b + c, rounded once: the product is exact in float64.
func fused(a, b, c float32) float32 { return float32(toOdd(float64(a)*float64(b), float64(c))) }

// With BFMMLA every element of a product is one chain of sums of two products, rounded to odd, to the bit.
func TestChainOfPairs(t *testing.T) {
	const n, out, in = 13, 37, 301
	if active == nil || active.name != "neon" || active.pairs == nil {
		t.Skip("no BFMMLA here")
	}
	add := func(a, b float32) float32 {
		sum := toOdd(float64(a), float64(b))
		r := float32(sum)
		if math.Abs(float64(r)) > math.Abs(sum) {
			r = math.Float32frombits(math.Float32bits(r) - 1)
		}
		if float64(r) != sum {
			r = math.Float32frombits(math.Float32bits(r) | 1)
		}
		return r
	}
	x, w := fill[float32](n*in, 1), fill[float32](out*in, 2)
	y, p := make([]float32, n*out), NewWeights[float32](out, in, false, BFloat16)
	p.Set(w)
	MulTransposed(y, x, p, n, make([]float32, Scratch[float32](n, out, in)))
	for i, got := range y {
		want := float32(0)
		term := func(l int) float32 {
			if l >= in {
				return 0
			}
			return rounded(x[i/out*in+l]) * rounded(w[i%out*in+l]) // exact
		}
		for l := 0; l < in; l += 2 {
			want = add(want, add(term(l), term(l+1)))
		}
		testkit.Equal(t, got, want, "element %d", i)
	}
}

// In assembly every element of a product is one chain of fused multiply-adds in index order, to the bit.
func TestChain(t *testing.T) {
	const n, out, in = 13, 37, 300
	x, w := fill[float32](n*in, 1), fill[float32](out*in, 2)
	each(t, func(t *testing.T) {
		if active == nil {
			t.Skip("portable products round each product")
		}
		y, p := make([]float32, n*out), NewWeights[float32](out, in, false, Float32)
		p.Set(w)
		MulTransposed(y, x, p, n, make([]float32, Scratch[float32](n, out, in)))
		for i, got := range y {
			want := float32(0)
			for l := range in {
				want = fused(x[i/out*in+l], w[i%out*in+l], want)
			}
			testkit.Equal(t, got, want, "element %d", i)
		}
	})
}

// All loops in assembly, on x86 and on arm64, give the same bits: products, passes and float64.
func TestBits(t *testing.T) {
	const n, out, in = 13, 37, 50
	each(t, func(t *testing.T) {
		if active == nil {
			t.Skip("portable loops have bits of their own")
		}
		sum := fnv.New64a()
		write := func(what string, x any, want uint64) {
			testkit.OK(t, binary.Write(sum, binary.LittleEndian, x))
			testkit.Equal(t, sum.Sum64(), want, what)
		}
		x, dy, w := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3)
		for i, r := range checkLinear(t.Fatalf, &guard{t: t}, Float32, n, out, in, x, dy, w, w) {
			write(fmt.Sprint("product ", i), r, []uint64{13461089709217708217, 17589992571876695416,
				4657780072993737097, 17483379391912037612}[i])
		}
		for i, p := range passes {
			var arrays [][]float32
			for k := range p.arrays {
				arrays = append(arrays, fill[float32](173, uint64(k)))
			}
			p.run(arrays)
			for _, a := range arrays {
				testkit.OK(t, binary.Write(sum, binary.LittleEndian, a))
			}
			write(p.name, []float32{}, []uint64{1786339363538670026, 3315691530661920732, 10577456840931776580,
				11398944506815431839, 18345451654713870669, 1251792190451431799,
				8886027778928632569}[i])
		}
		if double() == nil {
			return
		}
		b, c, slope := NewMatrix64(21, 37), make([]float64, 9*Pad64(37)), make([]float64, 9*Pad64(37))
		b.Set(fill[float64](21*37, 1), 37)
		Mul64(c, fill[float64](9*Pad64(21), 2), b, 9, false)
		Softplus64(c, slope, c, fill[float64](Pad64(37), 3), 9, 37, 10)
		write("softplus", c, 16534784285139364787)
		write("its slope", slope, 6686757483023482192)
	})
}

// Where a precision is not to be had, or not faster, it gives the bits of float32; float64 ignores it.
func TestPrecisionIsAPermission(t *testing.T) {
	const n, out, in = 20, 33, 40
	x, dy, w := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3)
	each(t, func(t *testing.T) {
		for p := range BFloat16 + 1 {
			results := func(p Precision) [][]float32 {
				return checkLinear(t.Fatalf, &guard{t: t}, p, n, out, in, x, dy, w, w)
			}
			got, want := results(p), results(Effective(p))
			for i := range got {
				if !same(got[i], want[i]) {
					t.Errorf("%v: product %d is not that of %v", p, i, Effective(p))
				}
			}
		}
		if Effective(Float32) != Float32 {
			t.Errorf("float32 runs as %v", Effective(Float32))
		}
		y, z := make([]float64, 1), []float64{1 + 0x1p-40}
		one := NewWeights[float64](1, 1, true, BFloat16)
		one.Set([]float64{1})
		if MulTransposed(y, z, one, 1, make([]float64, 2)); y[0] != z[0] {
			t.Errorf("float64 is rounded to %v", y[0])
		}
	})
}

func TestLinear(t *testing.T) {
	g := &guard{t: t}
	for _, s := range [][3]int{
		{0, 3, 2}, {2, 0, 3}, {2, 3, 0}, {1, 1, 1}, {15, 31, 33}, {29, 64, 7}, {33, 65, 32}, {64, 64, 64},
		{5, 3, 512}, {3, 530, 300}, {300, 17, 5}, {17, 16, 513}, {260, 33, 65}, {517, 5, 33}, {2, 3, 1030},
	} {
		if emulated && s[0]*s[1]*s[2] > 200_000 {
			continue
		}
		checkShape(t.Fatalf, g, s[0], s[1], s[2], false)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, out, in := rapid.IntRange(0, 45).Draw(t, "n"), rapid.IntRange(0, 70).Draw(t, "out"), rapid.IntRange(0, 70).
			Draw(t, "in")
		checkShape(t.Fatalf, g, n, out, in, rapid.Bool().Draw(t, "special"))
	})
}

// Goroutines that share weights, under garbage collection and preemption, get the
// bits of one alone: what registers and tiles hold is never another's.
func TestProductsInParallel(t *testing.T) {
	const n, out, in, workers = 40, 70, 50, 6
	x, dy, w := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3)
	each(t, func(t *testing.T) {
		for p := range BFloat16 + 1 {
			packed := NewWeights[float32](out, in, true, p)
			packed.Set(w)
			run := func() []float32 {
				r, scratch := make([]float32, n*out+n*in+out*in), make([]float32, Scratch[float32](n, out, in))
				MulTransposed(r, x, packed, n, scratch)
				MulWeights(r[n*out:], dy, packed, n, scratch)
				AddGradient(r[n*(out+in):], dy, x, n, out, in, false, p, scratch)
				return r
			}
			want, times, differ := run(), 40, make(chan bool)
			if emulated {
				times = 1
			}
			for range workers {
				go func() {
					d := false
					for range times {
						d = d || !same(run(), want)
					}
					differ <- d
				}()
			}
			runtime.GC()
			for range workers {
				if <-differ {
					t.Errorf("%v: a product differs beside others", p)
				}
			}
		}
	})
}

func FuzzLinear(f *testing.F) {
	f.Add(uint16(6), uint16(16), uint16(14), true)
	f.Fuzz(func(t *testing.T, n, out, in uint16, special bool) {
		checkShape(t.Fatalf, &guard{t: t}, int(n%12), int(out%34), int(in%18), special)
	})
}

// In float32 assembly, a gradient summed over parts of the rows, in order, has the bits of the whole.
func TestGradientInParts(t *testing.T) {
	each(t, func(t *testing.T) {
		if active == nil {
			t.Skip("portable sums each call apart")
		}
		const n, out, in = 600, 19, 45
		x, dy := fill[float32](n*in, 1), fill[float32](n*out, 2)
		whole, parts := make([]float32, out*in), make([]float32, out*in)
		scratch := make([]float32, Scratch[float32](n, out, in))
		AddGradient(whole, dy, x, n, out, in, false, Float32, scratch)
		for _, cut := range [][2]int{{0, 1}, {1, 300}, {300, 300}, {300, n}} {
			lo, hi := cut[0], cut[1]
			AddGradient(parts, dy[lo*out:], x[lo*in:], hi-lo, out, in, lo > 0, Float32, scratch)
		}
		if !same(whole, parts) {
			t.Error("the parts differ from the whole")
		}
	})
}

func TestBadShapes(t *testing.T) {
	each(t, func(t *testing.T) {
		v := func(n int) []float32 { return make([]float32, n) }
		w, plain := NewWeights[float32](5, 3, true, BFloat16), NewWeights[float32](5, 3, false, BFloat16)
		both, room := v(40), v(Scratch[float32](2, 5, 3))
		for name, c := range map[string]struct {
			want string
			f    func()
		}{
			"W":     {"W has 14 elements, needs 15", func() { w.Set(v(14)) }},
			"Y":     {"Y has 9 elements, needs 10", func() { MulTransposed(v(9), v(6), w, 2, room) }},
			"X":     {"X has 5 elements, needs 6", func() { MulTransposed(v(10), v(5), w, 2, room) }},
			"dX":    {"dX has 5 elements, needs 6", func() { MulWeights(v(5), v(10), w, 2, room) }},
			"dY":    {"dY has 9 elements, needs 10", func() { MulWeights(v(6), v(9), w, 2, room) }},
			"plain": {"made without gradients", func() { MulWeights(v(6), v(10), plain, 2, room) }},
			"dW": {"dW has 14 elements, needs 15",
				func() { AddGradient(v(14), v(10), v(6), 2, 5, 3, true, Float32, room) }},
			"scratch": {"AddGradient: scratch has 1 elements",
				func() { AddGradient(v(15), v(10), v(6), 2, 5, 3, true, BFloat16, v(1)) }},
			"overlap": {"overlaps", func() { MulTransposed(both[:10], both[9:15], w, 2, room) }},
			"grad":    {"overlaps", func() { AddGradient(both[:15], both[14:24], v(6), 2, 5, 3, true, Float32, room) }},
			"Adam":    {"Adam: g has 2 elements, needs 3", func() { Adam(v(3), v(3), v(3), v(2), AdamStep{T: 1}) }},
			"Mix":     {"Mix: p has 2 elements, needs 3", func() { Mix(v(3), v(2), 0.5) }},
			"SiLU":    {"bias has 2 elements, needs 3", func() { BiasSiLU(v(6), v(6), v(2), 2, 3) }},
			"AddRows": {"destination has 2 elements, needs 3", func() { AddRows(v(2), v(6), 2, 3) }},
		} {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "kernel: ") ||
						!strings.Contains(got, c.want) {
						t.Errorf("%s: panic %q, want %q", name, got, c.want)
					}
				}()
				c.f()
			}()
		}
	})
}
