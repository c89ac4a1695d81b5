// Package interval encloses real numbers: each function returns an interval that contains the exact result for all
// numbers in its arguments.
//
// Sums, products, quotients and roots are those of IEEE 754, moved outwards by one number or two. The other functions
// are Taylor polynomials in interval arithmetic with Lagrange's remainder, after a reduction with enclosed constants;
// inverse functions correct a guess of package math by an enclosed quotient. So no result relies on the accuracy of
// package math. A bound that is NaN says nothing: a comparison with it is false, as a proof needs. Both are NaN where a
// function may have no value.
package interval

import "math"

// An Interval is {v : Lo ≤ v ≤ Hi}.
type Interval struct{ Lo, Hi float64 }

// Nothing is the result where a function has no value.
var Nothing = Interval{math.NaN(), math.NaN()}

// Point returns [v, v].
func Point(v float64) Interval { return Interval{v, v} }

// Down and Up return numbers below and above all reals that round to v, where
// v is finite (Rump and others, 2009, "Computing predecessor and successor in rounding to nearest").
func Down(v float64) float64 { return v - (float64(φ*math.Abs(v)) + tiny) }
func Up(v float64) float64   { return v + (float64(φ*math.Abs(v)) + tiny) }

const (
	φ    = 0x1.0000000000001p-53
	tiny = 0x1p-1022 // numbers below it are slow on some machines
)

// Mid returns a number of the interval, and Reach how far the interval goes from that number at most.
func (a Interval) Mid() float64              { return max(a.Lo, min(a.Hi, a.Lo/2+a.Hi/2)) }
func (a Interval) Reach(mid float64) float64 { return Up(max(a.Hi-mid, mid-a.Lo)) }

// Size returns the largest |v|.
func (a Interval) Size() float64 { return max(-a.Lo, a.Hi) }

func Add(a, b Interval) Interval { return Interval{Down(a.Lo + b.Lo), Up(a.Hi + b.Hi)} }
func Sub(a, b Interval) Interval { return Interval{Down(a.Lo - b.Hi), Up(a.Hi - b.Lo)} }
func Neg(a Interval) Interval    { return Interval{-a.Hi, -a.Lo} }

func Mul(a, b Interval) Interval {
	if a.Lo >= 0 && b.Lo >= 0 {
		return Interval{Down(a.Lo * b.Lo), Up(a.Hi * b.Hi)}
	}
	p, q, r, s := a.Lo*b.Lo, a.Lo*b.Hi, a.Hi*b.Lo, a.Hi*b.Hi
	return Interval{Down(min(p, q, r, s)), Up(max(p, q, r, s))}
}

// Scale returns c·a.
func Scale(c float64, a Interval) Interval {
	if c < 0 {
		return Interval{Down(c * a.Hi), Up(c * a.Lo)}
	}
	return Interval{Down(c * a.Lo), Up(c * a.Hi)}
}

// Square returns a².
func Square(a Interval) Interval {
	p, q := a.Lo*a.Lo, a.Hi*a.Hi
	if a.Lo < 0 && a.Hi > 0 {
		return Interval{0, Up(max(p, q))}
	}
	return Interval{max(0, Down(min(p, q))), Up(max(p, q))}
}

// Div returns a/b, Nothing where b may be 0.
func Div(a, b Interval) Interval {
	if !(b.Lo > 0 || b.Hi < 0) {
		return Nothing
	}
	p, q, r, s := a.Lo/b.Lo, a.Lo/b.Hi, a.Hi/b.Lo, a.Hi/b.Hi
	return Interval{Down(min(p, q, r, s)), Up(max(p, q, r, s))}
}

func Sqrt(a Interval) Interval {
	if !(a.Lo >= 0) {
		return Nothing
	}
	return Interval{max(0, Down(math.Sqrt(a.Lo))), Up(math.Sqrt(a.Hi))}
}

func Abs(a Interval) Interval {
	if a.Lo < 0 && a.Hi > 0 {
		return Interval{0, a.Size()}
	}
	return Interval{min(math.Abs(a.Lo), math.Abs(a.Hi)), a.Size()}
}

func Min(a, b Interval) Interval { return Interval{min(a.Lo, b.Lo), min(a.Hi, b.Hi)} }
func Max(a, b Interval) Interval { return Interval{max(a.Lo, b.Lo), max(a.Hi, b.Hi)} }

// A series is the coefficients of a Taylor polynomial, the last one widened by the remainder.
type series [10]Interval

// evaluate returns the polynomial at s, by Horner's rule.
func (c *series) evaluate(s Interval) Interval {
	sum := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		sum = Add(Mul(sum, s), c[i])
	}
	return sum
}

// The polynomials: sin r = r·S(r²), cos r = C(r²), with r² ≤ reducedSquare, and e^r = E₀(r) with |r| ≤ ½ ln 2 + small,
// split as E(r²) + r·O(r²) so that the three share a form.
var sines, cosines, even, odd = taylor(1, -1), taylor(0, -1), taylor(0, 1), taylor(1, 1)

// reducedSquare bounds r² after a reduction: (π/4)² < 0.63, (½ ln 2)² < 0.13.
const reducedSquare = 0.63

// taylor returns Σ signᵢ s^i/(2i+first)!. The remainder after the term i of a function with derivatives of size at most
// cosh r < 1.4 is at most 1.4·s^i·reducedSquare/(2i+first+2)!.
func taylor(first int, sign float64) (c series) {
	f, one := 1.0, 1.0 // factorials up to 22! are exact
	for i := range c {
		if i > 0 {
			n := float64(2*i + first)
			f, one = f*n*(n-1), one*sign
		}
		c[i] = Div(Point(one), Point(f))
	}
	n := float64(2*len(c) + first)
	rest := Up(Up(1.4*reducedSquare) / (f * n)) // n·(n−1) at least n
	last := &c[len(c)-1]
	*last = Add(*last, Interval{-rest, rest})
	return c
}

// Constants as a number of few digits, whose products with small integers are exact, and the rest.
const (
	halfPi     = 0x1.921fb544p0 // 33 digits
	ln2        = 0x1.62e42feep-1
	restHalfPi = math.Pi/2 - halfPi
	restLn2    = math.Ln2 - ln2
)

var (
	halfPiRest = Interval{Down(restHalfPi), Up(restHalfPi)}
	ln2Rest    = Interval{Down(restLn2), Up(restLn2)}
)

// reduce returns x − k·(c + rest) for an integer |k| < 2²⁰.
func reduce(x, k, c float64, rest Interval) Interval {
	return Sub(Sub(Point(x), Point(k*c)), Scale(k, rest))
}

// sincos returns sin x and cos x of a number.
func sincos(x float64) (sin, cos Interval) {
	k := math.Round(x / (math.Pi / 2))
	if !(math.Abs(k) < 1<<20) {
		return Interval{-1, 1}, Interval{-1, 1}
	}
	r := reduce(x, k, halfPi, halfPiRest)
	s := Square(r)
	if !(s.Hi <= reducedSquare) {
		return Interval{-1, 1}, Interval{-1, 1}
	}
	sin, cos = Mul(r, sines.evaluate(s)), cosines.evaluate(s)
	switch int(k) & 3 {
	case 1:
		return cos, Neg(sin)
	case 2:
		return Neg(sin), Neg(cos)
	case 3:
		return Neg(cos), sin
	}
	return sin, cos
}

// Sincos returns sin and cos over a: those of a number of a, widened by how far a goes from it.
func Sincos(a Interval) (sin, cos Interval) {
	m := a.Mid()
	r := a.Reach(m)
	sin, cos = sincos(m)
	return within(Interval{Down(sin.Lo - r), Up(sin.Hi + r)}), within(Interval{Down(cos.Lo - r), Up(cos.Hi + r)})
}

func within(a Interval) Interval { return Interval{max(a.Lo, -1), min(a.Hi, 1)} }

// exp returns eˣ of a number.
func exp(x float64) Interval {
	const most = 690 // 2 to its power over ln 2 is a normal number
	switch k := math.Round(x / math.Ln2); {
	case x > most:
		return Interval{0x1p990, math.Inf(1)}
	case x < -most:
		return Interval{0, 0x1p-990}
	default:
		r := reduce(x, k, ln2, ln2Rest)
		s := Square(r)
		if !(s.Hi <= 0.13) {
			return Nothing
		}
		e := Add(even.evaluate(s), Mul(r, odd.evaluate(s)))
		return Scale(math.Ldexp(1, int(k)), e)
	}
}

// log returns ln x of a number: with a guess y and z = x e⁻ʸ it is y + ln z, and 1 − 1/z ≤ ln z ≤ z − 1.
func log(x float64) Interval {
	y := math.Log(x)
	if !(x > 0) || math.IsInf(y, 0) {
		return Nothing
	}
	z := Mul(Point(x), exp(-y))
	low := Sub(Point(1), Div(Point(1), Point(z.Lo)))
	return Add(Point(y), Interval{low.Lo, Up(z.Hi - 1)})
}

func Exp(a Interval) Interval { return ends(exp(a.Lo), exp(a.Hi)) }
func Log(a Interval) Interval { return ends(log(a.Lo), log(a.Hi)) }

// ends returns a growing function of an interval, by the values at its ends.
func ends(low, high Interval) Interval {
	if low.Lo != low.Lo || high.Hi != high.Hi {
		return Nothing
	}
	return Interval{low.Lo, high.Hi}
}

// Pow returns aᵇ of a > 0.
func Pow(a, b Interval) Interval { return Exp(Mul(b, Log(a))) }

func Tan(a Interval) Interval {
	sin, cos := Sincos(a)
	return Div(sin, cos)
}

// Atan2 is the angle of (x, y) in (−π, π), Nothing where it may cross π. Turned back by a guess θ the vector is (p, q)
// with p > 0, so that the angle is θ + atan(q/p), and atan t lies between 0 and t.
func Atan2(y, x Interval) Interval {
	θ := math.Atan2(y.Mid(), x.Mid())
	sin, cos := sincos(θ)
	p, q := Add(Mul(x, cos), Mul(y, sin)), Sub(Mul(y, cos), Mul(x, sin))
	if !(p.Lo > 0) {
		return Nothing
	}
	t := Div(q, p)
	a := Interval{Down(θ + min(t.Lo, 0)), Up(θ + max(t.Hi, 0))}
	if !(a.Lo >= -math.Pi && a.Hi <= math.Pi) { // the constant is a little below π
		return Nothing
	}
	return a
}

func Atan(a Interval) Interval { return Atan2(a, Point(1)) }

// Across returns √((1−a)(1+a)).
func Across(a Interval) Interval { return Sqrt(Mul(Sub(Point(1), a), Add(Point(1), a))) }

func Asin(a Interval) Interval {
	low, high := Point(a.Lo), Point(a.Hi)
	return ends(Atan2(low, Across(low)), Atan2(high, Across(high)))
}

func Acos(a Interval) Interval {
	low, high := Point(a.Lo), Point(a.Hi)
	return ends(Atan2(Across(high), high), Atan2(Across(low), low))
}

func Sinh(a Interval) Interval { return Scale(0.5, Sub(Exp(a), Exp(Neg(a)))) }
func Cosh(a Interval) Interval { return Scale(0.5, Add(Exp(a), Exp(Neg(a)))) }

// Tanh is 1 − 2/(e²ᵃ + 1).
func Tanh(a Interval) Interval {
	return within(Sub(Point(1), Div(Point(2), Add(Exp(Scale(2, a)), Point(1)))))
}

// Logistic is 1/(1 + e⁻ᵃ).
func Logistic(a Interval) Interval { return Div(Point(1), Add(Point(1), Exp(Neg(a)))) }

// Softplus is log(1 + eᵃ) = max(a, 0) + log(1 + e^−|a|), which grows with a.
func Softplus(a Interval) Interval { return ends(softplus(a.Lo), softplus(a.Hi)) }

func softplus(v float64) Interval {
	return Add(Point(max(v, 0)), Log(Add(Point(1), exp(-math.Abs(v)))))
}
