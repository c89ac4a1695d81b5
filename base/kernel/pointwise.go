package kernel

import (
	"fmt"
	"math"
)

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

// Modulate writes y = SiLU(z), z = (1 + s)⊙u + b, for the n×m matrices y and u: a channel's
// scale s and shift b (m numbers each) are those of all n rows (FiLM: Perez et al. 2018).
func Modulate[T Float](y, u, scale, shift []T, n, m int) {
	need("Modulate: y", len(y), n*m)
	need("Modulate: u", len(u), n*m)
	need("Modulate: scale", len(scale), m)
	need("Modulate: shift", len(shift), m)
	if n == 0 || m == 0 {
		return
	}
	if im := use[T](); im != nil {
		y, u, s, b := single(y), single(u), &single(scale)[0], &single(shift)[0]
		for i := range n {
			im.modulate(&y[i*m], &u[i*m], s, b, m)
		}
		return
	}
	s, b := scale[:m], shift[:m]
	for i := range n {
		ui, yi := u[i*m:(i+1)*m], y[i*m:(i+1)*m]
		for j, v := range ui {
			z := (1+s[j])*v + b[j]
			yi[j] = z * sigmoid(z)
		}
	}
}

// ModulateGrad takes the gradient d of a loss in Modulate's y (n×m) to that in u, in place,
// and adds those in scale and shift to dscale and dshift, in row order:
//
//	δ = d⊙SiLU'(z),  dscale += Σ δ⊙u,  dshift += Σ δ,  d = (1 + s)⊙δ
func ModulateGrad[T Float](d, u, scale, shift, dscale, dshift []T, n, m int) {
	need("ModulateGrad: d", len(d), n*m)
	need("ModulateGrad: u", len(u), n*m)
	need("ModulateGrad: scale", len(scale), m)
	need("ModulateGrad: shift", len(shift), m)
	need("ModulateGrad: dscale", len(dscale), m)
	need("ModulateGrad: dshift", len(dshift), m)
	if n == 0 || m == 0 {
		return
	}
	if im := use[T](); im != nil {
		d, u, s, b := single(d), single(u), &single(scale)[0], &single(shift)[0]
		ds, db := &single(dscale)[0], &single(dshift)[0]
		for i := range n {
			im.modulateGrad(&d[i*m], &u[i*m], s, b, ds, db, m)
		}
		return
	}
	s, b, ds, db := scale[:m], shift[:m], dscale[:m], dshift[:m]
	for i := range n {
		ui, di := u[i*m:(i+1)*m], d[i*m:(i+1)*m]
		for j, v := range ui {
			a := 1 + s[j]
			z := a*v + b[j]
			σ := sigmoid(z)
			δ := di[j] * σ * (1 + z*(1-σ))
			ds[j] += δ * v
			db[j] += δ
			di[j] = a * δ
		}
	}
}

// An AdamStep holds the scalars of one Adam update (Kingma and Ba 2015).
type AdamStep struct {
	Rate, Beta1, Beta2, Epsilon float64
	Scale                       float64 // factor of the gradient: clipping
	T                           int     // number of this update, from 1
}

// Adam updates parameters p and moments m, v in place from the gradient g:
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  p ← p − η m̂/(√v̂ + ε)
func Adam[T Float](p, m, v, g []T, s AdamStep) {
	need("Adam: m", len(m), len(p))
	need("Adam: v", len(v), len(p))
	need("Adam: g", len(g), len(p))
	b1, b2, scale, ε := T(s.Beta1), T(s.Beta2), T(s.Scale), T(s.Epsilon)
	a1, a2 := T(1-s.Beta1), T(1-s.Beta2)
	η := T(s.Rate / (1 - math.Pow(s.Beta1, float64(s.T))))
	root := T(1 / math.Sqrt(1-math.Pow(s.Beta2, float64(s.T))))
	if len(p) == 0 {
		return
	}
	m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
	if im := use[T](); im != nil {
		im.adam(&single(p)[0], &single(m)[0], &single(v)[0], &single(g)[0], len(p),
			float32(scale), float32(b1), float32(a1), float32(b2), float32(a2), float32(η), float32(root), float32(ε))
		return
	}
	for i := range p {
		gi := g[i] * scale
		mi := b1*m[i] + a1*gi
		vi := b2*v[i] + a2*gi*gi
		m[i], v[i] = mi, vi
		p[i] -= η * mi / (T(math.Sqrt(float64(vi)))*root + ε)
	}
}

// Mix moves the average e toward p: e ← decay·e + (1−decay)·p.
func Mix[T Float](e, p []T, decay float64) {
	need("Mix: p", len(p), len(e))
	Blend(e, p, decay, 1-decay)
}

// Blend computes y ← αy + βx.
func Blend[T Float](y, x []T, α, β float64) {
	need("Blend: x", len(x), len(y))
	if len(y) == 0 {
		return
	}
	a, b := T(α), T(β)
	if im := use[T](); im != nil {
		im.mix(&single(y)[0], &single(x)[0], len(y), float32(a), float32(b))
		return
	}
	for i, v := range x[:len(y)] {
		y[i] = a*y[i] + b*v
	}
}

// CheapestPad is what lengths of Cheapest's arrays are multiples of.
const CheapestPad = 16

// Cheapest returns the least and the second least of the sums cost[j] + price[j], and the first j of the least: +∞
// and 0 where there is none below +∞, which pads arrays to a multiple of CheapestPad. No sum may be NaN. The results
// are the same on all loops.
func Cheapest(cost, price []float32) (least, second float32, at int) {
	if len(cost) != len(price) || len(cost)%CheapestPad != 0 {
		panic(fmt.Sprintf("kernel: Cheapest: %d costs and %d prices; expected as many, a multiple of %d", len(cost),
			len(price), CheapestPad))
	}
	inf := float32(math.Inf(1))
	least, second = inf, inf
	im := active
	if im == nil {
		price = price[:len(cost)]
		for j, c := range cost {
			if v := c + price[j]; v < second {
				if second = v; v < least {
					least, second, at = v, least, j
				}
			}
		}
		return least, second, at
	}
	if len(cost) == 0 {
		return least, second, 0
	}
	var state [5][CheapestPad]uint32
	lanes := im.cols / 2
	for l := range lanes {
		state[0][l], state[1][l] = math.Float32bits(inf), math.Float32bits(inf)
		state[3][l], state[4][l] = uint32(l), uint32(lanes)
	}
	im.cheapest(&state, &cost[0], &price[0], len(cost))
	for l := range lanes { // of equal ones the first
		v, s, j := math.Float32frombits(state[0][l]), math.Float32frombits(state[1][l]), int(state[2][l])
		if v < least || v == least && v < inf && j < at {
			least, v, at = v, least, j
		}
		second = min(second, v, s)
	}
	return least, second, at
}
