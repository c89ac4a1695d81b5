package kernel

import "math"

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
