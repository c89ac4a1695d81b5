package interval

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bits = 256

func exact(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

// sum adds the terms of a series, each made of the one before, until they are below 2⁻²²⁰.
func sum(first *big.Float, next func(term *big.Float, i int64) *big.Float) *big.Float {
	total, term := new(big.Float).Set(first), first
	for i := int64(1); term.Sign() != 0 && term.MantExp(nil) > -220; i++ {
		term = next(term, i)
		total = new(big.Float).Add(total, term)
	}
	return total
}

func times(a *big.Float, more ...*big.Float) *big.Float {
	p := new(big.Float).SetPrec(bits).Set(a)
	for _, b := range more {
		p.Mul(p, b)
	}
	return p
}

func over(a *big.Float, n int64) *big.Float {
	return new(big.Float).SetPrec(bits).Quo(a, new(big.Float).SetInt64(n))
}

// halved is f of x/2ᵏ, small, and k times the way back.
func halved(x *big.Float, f func(x *big.Float) [2]*big.Float, back func(y [2]*big.Float) [2]*big.Float) [2]*big.Float {
	k := 0
	for x.MantExp(nil) > -4 && x.Sign() != 0 {
		x, k = over(x, 2), k+1
	}
	y := f(x)
	for ; k > 0; k-- {
		y = back(y)
	}
	return y
}

func bigExp(x *big.Float) *big.Float {
	return halved(x, func(x *big.Float) [2]*big.Float {
		return [2]*big.Float{sum(exact(1), func(t *big.Float, i int64) *big.Float { return over(times(t, x), i) })}
	}, func(y [2]*big.Float) [2]*big.Float { return [2]*big.Float{times(y[0], y[0])} })[0]
}

func bigSincos(x *big.Float) (sin, cos *big.Float) {
	y := halved(x, func(x *big.Float) [2]*big.Float {
		minus := times(exact(-1), x, x)
		series := func(first *big.Float, odd int64) *big.Float {
			return sum(first, func(t *big.Float, i int64) *big.Float {
				return over(over(times(t, minus), 2*i+odd), 2*i-1+odd)
			})
		}
		return [2]*big.Float{series(times(x), 1), series(exact(1), 0)}
	}, func(y [2]*big.Float) [2]*big.Float {
		return [2]*big.Float{times(exact(2), y[0], y[1]), new(big.Float).Sub(times(y[1], y[1]), times(y[0], y[0]))}
	})
	return y[0], y[1]
}

// Enclosures hold the values of numbers of very different sizes, and are narrow: within some units in the last place of
// the larger of the value and scale.
func TestElementary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(name string, x float64, got Interval, want *big.Float, scale float64) {
		t.Helper()
		if want.Cmp(exact(got.Lo)) < 0 || want.Cmp(exact(got.Hi)) > 0 {
			t.Fatalf("%s(%v) is %v; expected %v inside", name, x, got, want)
		}
		if v, _ := want.Float64(); got.Hi-got.Lo > 1e-14*max(scale, math.Abs(v)) {
			t.Fatalf("%s(%v) is as wide as %v", name, x, got.Hi-got.Lo)
		}
	}
	for i := range 4000 {
		x := r.NormFloat64() * math.Pow(10, float64(i%9-5))
		if i < 200 { // beside multiples of π/2 and ln 2
			x = float64(i-100) * []float64{math.Pi / 2, math.Ln2}[i%2]
		}
		sin, cos := Sincos(Point(x))
		s, c := bigSincos(exact(x))
		check("sin", x, sin, s, 1e-3)
		check("cos", x, cos, c, 1e-3)
		if math.Abs(x) < 600 {
			check("exp", x, Exp(Point(x)), bigExp(exact(x)), 0)
			e := exact(bigFloat(bigExp(exact(x))))
			l := Log(Point(bigFloat(e)))
			low, high := bigExp(exact(l.Lo)), bigExp(exact(l.Hi))
			if low.Cmp(e) > 0 || high.Cmp(e) < 0 || l.Hi-l.Lo > 1e-14*max(1, math.Abs(x)) {
				t.Fatalf("log(%v) is %v", e, l)
			}
		}
		y := r.NormFloat64()
		a := Atan2(Point(y), Point(x)) // sin(a)/cos(a) = y/x, on the right side
		for _, end := range []float64{a.Lo, a.Hi} {
			s, c := bigSincos(exact(end))
			turn := new(big.Float).Sub(times(exact(y), c), times(exact(x), s)) // r sin(angle − end)
			if end == a.Lo && turn.Sign() < 0 || end == a.Hi && turn.Sign() > 0 {
				t.Fatalf("atan2(%v, %v) is %v", y, x, a)
			}
		}
		if !(a.Hi-a.Lo < 1e-14) || math.Abs(a.Mid()-math.Atan2(y, x)) > 1e-14 {
			t.Fatalf("atan2(%v, %v) is %v", y, x, a)
		}
	}
}

func bigFloat(v *big.Float) float64 { f, _ := v.Float64(); return f }

// What follows from these agrees with package math, and grows with the interval.
func TestOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	logistic := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for name, c := range map[string]struct {
		f       func(Interval) Interval
		g       func(float64) float64
		low, up float64
	}{
		"sqrt": {Sqrt, math.Sqrt, 0, 9}, "tan": {Tan, math.Tan, -1.5, 1.5}, "asin": {Asin, math.Asin, -0.99, 0.99},
		"acos": {Acos, math.Acos, -0.99, 0.99}, "atan": {Atan, math.Atan, -9, 9}, "sinh": {Sinh, math.Sinh, -9, 9},
		"cosh": {Cosh, math.Cosh, -9, 9}, "tanh": {Tanh, math.Tanh, -50, 50}, "logistic": {Logistic, logistic, -50, 50},
		"softplus": {Softplus, func(v float64) float64 { return math.Log1p(math.Exp(v)) }, -50, 50},
		"abs":      {Abs, math.Abs, -1, 1}, "square": {Square, func(v float64) float64 { return v * v }, -1, 1},
		"power": {func(a Interval) Interval { return Pow(a, Point(2.5)) },
			func(v float64) float64 { return math.Pow(v, 2.5) }, 0.1, 9},
	} {
		for range 500 {
			x := c.low + (c.up-c.low)*r.Float64()
			got, want := c.f(Point(x)), c.g(x)
			if ε := 1e-13 * max(1, math.Abs(want)); !(got.Lo <= want+ε && got.Hi >= want-ε && got.Hi-got.Lo < ε) {
				t.Fatalf("%s(%v) is %v; expected %v", name, x, got, want)
			}
			wide := c.f(Interval{max(c.low, x-1e-3), min(c.up, x+1e-3)})
			if !(wide.Lo <= got.Hi && wide.Hi >= got.Lo && wide.Lo <= want && wide.Hi >= want) {
				t.Fatalf("%s about %v is %v; expected %v inside", name, x, wide, got)
			}
		}
	}
}

// A function without a value, or that jumps, is Nothing.
func TestNothing(t *testing.T) {
	for name, v := range map[string]Interval{
		"1/0": Div(Point(1), Interval{-1, 1}), "√−1": Sqrt(Interval{-1, 1}), "log 0": Log(Interval{0, 1}),
		"angle of 0": Atan2(Point(0), Point(0)), "angle beside π": Atan2(Interval{-1e-9, 1e-9}, Point(-1)),
		"sin NaN": first(Sincos(Nothing)), "exp NaN": Exp(Nothing),
		"asin 2": Asin(Point(2)), "max": Max(Nothing, Point(1)), "|NaN|": Abs(Nothing), "NaN²": Square(Nothing),
	} {
		if v.Lo == v.Lo || v.Hi == v.Hi {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func first(a, _ Interval) Interval { return a }
