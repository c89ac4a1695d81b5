package kernel

import "math"

// BiasSiLU adds the bias to each row of the n×m matrix z, in place, and writes y = z·sigmoid(z). z then holds what
// SiLUGrad needs. In float32 the relative error of y is below 6·2⁻²⁴ (3·2⁻²⁴ in assembly) for z from −87 up; below −89
// the sigmoid is 0.
func BiasSiLU[T Float](y, z, bias []T, n, m int) {
	need("BiasSiLU: y", len(y), n*m)
	need("BiasSiLU: z", len(z), n*m)
	need("BiasSiLU: bias", len(bias), m)
	if n == 0 || m == 0 {
		return
	}
	if im := use[T](); im != nil {
		y, z, b := single(y), single(z), &single(bias)[0]
		for i := range n {
			im.biasSiLU(&y[i*m], &z[i*m], b, m)
		}
		return
	}
	for i := range n {
		zi, yi, b := z[i*m:(i+1)*m], y[i*m:(i+1)*m], bias[:m]
		for j, v := range zi {
			v += b[j]
			zi[j] = v
			yi[j] = v * sigmoid(v)
		}
	}
}

// SiLUGrad multiplies d, in place, by the derivative of SiLU at z: σ(z)(1 + z(1 − σ(z))).
func SiLUGrad[T Float](d, z []T) {
	need("SiLUGrad: z", len(z), len(d))
	if len(d) == 0 {
		return
	}
	if im := use[T](); im != nil {
		im.siluGrad(&single(d)[0], &single(z)[0], len(d))
		return
	}
	for i, v := range z[:len(d)] {
		s := sigmoid(v)
		d[i] *= s * (1 + v*(1-s))
	}
}

// AddRow adds b to each row of the n×m matrix y.
func AddRow[T Float](y, b []T, n, m int) {
	need("AddRow: y", len(y), n*m)
	need("AddRow: b", len(b), m)
	for i := range n {
		Add(y[i*m:(i+1)*m], b)
	}
}

// AddRows adds the sum of the rows of the n×m matrix d to dst, in row order.
func AddRows[T Float](dst, d []T, n, m int) {
	need("AddRows: d", len(d), n*m)
	need("AddRows: destination", len(dst), m)
	for i := range n {
		Add(dst[:m], d[i*m:(i+1)*m])
	}
}

// Add adds src to dst, as long.
func Add[T Float](dst, src []T) {
	need("Add: source", len(src), len(dst))
	if len(dst) == 0 {
		return
	}
	if im := use[T](); im != nil {
		im.add(&single(dst)[0], &single(src)[0], len(dst))
		return
	}
	for i, v := range src[:len(dst)] {
		dst[i] += v
	}
}

func sigmoid[T Float](x T) T {
	switch v := any(x).(type) {
	case float32:
		return T(1 / (1 + exp32(-v)))
	default:
		return T(1 / (1 + math.Exp(-float64(x))))
	}
}

// exp32 is e^x in float32 with a relative error below 5·2⁻²⁴: x = n ln 2 + r with |r| ≤ ln 2 / 2, and a polynomial of
// degree 6 in r (Taylor; its truncation error is below 2⁻²³ of the result).
func exp32(x float32) float32 {
	const (
		log2e = 1.4426950408889634
		ln2hi = 0.693145751953125 // 16 bits: n·ln2hi is exact
		ln2lo = 1.428606820309417e-06
	)
	if !(x > -87.3) { // below the smallest normal number, or NaN
		if x != x {
			return x
		}
		return 0
	}
	if x > 88.7 {
		return float32(math.Inf(1))
	}
	n := int32(x*log2e + 0.5)
	if x < 0 {
		n = int32(x*log2e - 0.5)
	}
	r := x - float32(n)*ln2hi - float32(n)*ln2lo
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720))))))
	h := n / 2 // 2ⁿ alone may overflow: multiply by its two halves
	return p * math.Float32frombits(uint32(h+127)<<23) * math.Float32frombits(uint32(n-h+127)<<23)
}
