package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A pass is a function of arrays, element by element: run works in place on them.
type pass struct {
	name   string
	arrays int
	run    func(a [][]float32)
	want   func(a []float64) []float64 // of one element
	ulps   float64                     // error allowed, in 2⁻²⁴ of the terms' size
}

var passes = []pass{
	{"Add", 2, func(a [][]float32) { Add(a[0], a[1]) },
		func(a []float64) []float64 { return []float64{a[0] + a[1], a[1]} }, 1},
	{"Mix", 2, func(a [][]float32) { Mix(a[0], a[1], 0.9) }, func(a []float64) []float64 {
		return []float64{0.9*a[0] + 0.1*a[1], a[1]}
	}, 5},
	{"BiasSiLU", 3, func(a [][]float32) { BiasSiLU(a[0], a[1], a[2], 1, len(a[0])) }, func(a []float64) []float64 {
		z := float64(float32(a[1]) + float32(a[2]))
		return []float64{z / (1 + math.Exp(-z)), z, a[2]}
	}, 6},
	{"SiLUGrad", 2, func(a [][]float32) { SiLUGrad(a[0], a[1]) }, func(a []float64) []float64 {
		s := 1 / (1 + math.Exp(-a[1]))
		return []float64{a[0] * s * (1 + a[1]*(1-s)), a[1]}
	}, 12},
	{"Modulate", 4, func(a [][]float32) { Modulate(a[0], a[1], a[2], a[3], 1, len(a[0])) },
		func(a []float64) []float64 {
			z := (1+a[2])*a[1] + a[3]
			return []float64{z / (1 + math.Exp(-z)), a[1], a[2], a[3]}
		}, 16},
	{"ModulateGrad", 6, func(a [][]float32) { ModulateGrad(a[0], a[1], a[2], a[3], a[4], a[5], 1, len(a[0])) },
		func(a []float64) []float64 {
			z := (1+a[2])*a[1] + a[3]
			s := 1 / (1 + math.Exp(-z))
			δ := a[0] * s * (1 + z*(1-s))
			return []float64{(1 + a[2]) * δ, a[1], a[2], a[3], a[4] + δ*a[1], a[5] + δ}
		}, 40},
	{"Adam", 4, func(a [][]float32) {
		for i := range a[2] { // second moments are not negative
			a[2][i] = max(a[2][i], -a[2][i])
		}
		Adam(a[0], a[1], a[2], a[3], adamStep)
	}, func(a []float64) []float64 {
		s := adamStep
		g := s.Scale * a[3]
		m, v := s.Beta1*a[1]+(1-s.Beta1)*g, s.Beta2*math.Abs(a[2])+(1-s.Beta2)*g*g
		mhat, vhat := m/(1-math.Pow(s.Beta1, float64(s.T))), v/(1-math.Pow(s.Beta2, float64(s.T)))
		return []float64{a[0] - s.Rate*mhat/(math.Sqrt(vhat)+s.Epsilon), m, v, a[3]}
	}, 8},
}

var adamStep = AdamStep{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Scale: 0.5, T: 3}

// Every pass agrees with float64, writes nothing beside its arrays, and gives an element the bits that it has alone.
func TestPasses(t *testing.T) {
	g := &guard{t: t}
	each(t, func(t *testing.T) {
		for _, p := range passes {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(0, 70).Draw(t, "n")
				var start, arrays [][]float32
				for i := range p.arrays {
					x := fill[float32](n, uint64(10*i+n))
					for j := range x {
						x[j] *= 4
					}
					start, arrays = append(start, x), append(arrays, g.holding(x))
				}
				p.run(arrays)
				for j := range n {
					var in []float64
					var alone [][]float32
					for _, a := range start {
						in, alone = append(in, float64(a[j])), append(alone, []float32{a[j]})
					}
					p.run(alone)
					for i, want := range p.want(in) {
						got := arrays[i][j]
						if d := math.Abs(float64(got) - want); !(d <= p.ulps*0x1p-24*(4+math.Abs(want))) {
							t.Fatalf("%s: array %d at %d of %d is %v, want %v", p.name, i, j, n, got, want)
						}
						if !same(alone[i], arrays[i][j:j+1]) {
							t.Fatalf("%s: element %d of %d differs alone", p.name, j, n)
						}
					}
				}
				g.check(t.Fatalf)
			})
		}
	})
}

// SiLU is within 3·2⁻²⁴ of the exact one, relatively, from −87 to 89, in assembly, and within 6·2⁻²⁴ in portable Go.
func TestSiLUError(t *testing.T) {
	each(t, func(t *testing.T) {
		const step = 0.00137
		var z []float32
		for x := float32(-87); x < 89; x += step {
			z = append(z, x)
		}
		y, worst, at := make([]float32, len(z)), 0.0, float32(0)
		BiasSiLU(y, z, make([]float32, len(z)), 1, len(z))
		for i, x := range z {
			want := float64(x) / (1 + math.Exp(-float64(x)))
			if e := math.Abs(float64(y[i])-want) / math.Abs(want) * 0x1p24; e > worst {
				worst, at = e, x
			}
		}
		t.Logf("largest relative error of SiLU: %.2f·2⁻²⁴ at %v", worst, at)
		if limit := map[bool]float64{true: 6, false: 3}[active == nil]; worst > limit {
			t.Errorf("error %.2f·2⁻²⁴ at %v", worst, at)
		}
	})
}

// Not-a-numbers and infinities: as the formulas in IEEE arithmetic have them.
func TestPassesAtTheLimits(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, c := range []struct{ z, y, dy float32 }{
			{nan, nan, nan}, {inf, inf, nan}, {-inf, nan, nan},
			{1000, 1000, 1}, {-1000, 0, 0}, {3e38, 3e38, 1}, {-3e38, 0, 0}, {0, 0, 0.5},
		} {
			y, d := []float32{7}, []float32{1}
			BiasSiLU(y, []float32{c.z}, []float32{0}, 1, 1)
			SiLUGrad(d, []float32{c.z})
			if !(y[0] == c.y || y[0] != y[0] && c.y != c.y) {
				t.Errorf("SiLU(%v) = %v, want %v", c.z, y[0], c.y)
			}
			if !(d[0] == c.dy || d[0] != d[0] && c.dy != c.dy) {
				t.Errorf("SiLU'(%v) = %v, want %v", c.z, d[0], c.dy)
			}
		}
		p, m, v := []float32{1, 1}, []float32{0, 0}, []float32{0, 0}
		Adam(p, m, v, []float32{nan, 1}, adamStep)
		if p[0] == p[0] || p[1] != p[1] {
			t.Errorf("Adam of gradients NaN, 1 leaves parameters %v", p)
		}
	})
}

func TestNothingAllocates(t *testing.T) {
	each(t, func(t *testing.T) {
		const n, out, in = 20, 30, 40
		x, y, w, dw := fill[float32](n*in, 1), make([]float32, n*out), fill[float32](out*in, 2), make([]float32, out*in)
		for prec := range BFloat16 + 1 {
			p, scratch := NewWeights[float32](out, in, true, prec), make([]float32, Scratch[float32](n, out, in))
			v, z := fill[float32](out*in, 3), make([]float32, n*out)
			if got := testing.AllocsPerRun(10, func() {
				p.Set(w)
				MulTransposed(y, x, p, n, scratch)
				BiasSiLU(y, z, w, n, out)
				AddGradient(dw, y, x, n, out, in, false, prec, scratch)
				MulWeights(x, y, p, n, scratch)
				SiLUGrad(x, x)
				Modulate(z, y, w, v, 1, n*out)
				ModulateGrad(z, y, w, v, w, v, 1, n*out)
				AddRows(dw, x, n, in)
				Adam(w, dw, v, v, adamStep)
				Mix(v, w, 0.5)
			}); got != 0 {
				t.Errorf("%v allocations in %v", got, prec)
			}
		}
	})
}

// Modulate's rows share a scale and a shift, whose gradients are sums over rows in row order:
// of one row at a time the same bits.
func TestModulateRows(t *testing.T) {
	each(t, func(t *testing.T) {
		const n, m = 5, 37
		u, s, b := fill[float32](n*m, 1), fill[float32](m, 2), fill[float32](m, 3)
		y, d, ds, db := make([]float32, n*m), fill[float32](n*m, 4), fill[float32](m, 5), fill[float32](m, 6)
		y1, d1, ds1, db1 := slices.Clone(y), slices.Clone(d), slices.Clone(ds), slices.Clone(db)
		Modulate(y, u, s, b, n, m)
		ModulateGrad(d, u, s, b, ds, db, n, m)
		for i := range n {
			Modulate(y1[i*m:], u[i*m:], s, b, 1, m)
			ModulateGrad(d1[i*m:], u[i*m:], s, b, ds1, db1, 1, m)
		}
		if !same(y, y1) || !same(d, d1) || !same(ds, ds1) || !same(db, db1) {
			t.Error("rows together have other results than one after the other")
		}
	})
}
