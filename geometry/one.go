package geometry

import "math"

// The closed forms of one dense equality: q = ∇h/‖∇h‖, Π = I − qqᵀ and
// ∇hᵀ G† u = u q/‖∇h‖. Points have few coordinates there, so that the general
// path's bookkeeping would cost more than its sums.

// one reports whether the set is a single dense equality.
func (b *Block) one() bool {
	return b.c == 1 && b.m == 1 && b.place == nil && b.ridge == 0
}

func (b *Block) factorOne(n int) error {
	d := b.d
	for i := range n {
		ji, qi := b.jac[i*d:(i+1)*d], b.q[i*d:(i+1)*d]
		s := 0.0
		for _, v := range ji {
			s += v * v
		}
		s = math.Sqrt(s)
		if err := b.check(i, 0, s); err != nil {
			return err
		}
		inv := 1 / s
		for j, v := range ji {
			qi[j] = v * inv
		}
		b.count[i], b.rank[i], b.pivot[i], b.scale[i], b.r[i] = 1, 1, 0, s, 1
	}
	return nil
}

func (b *Block) tangentOne(dst, v []float64) {
	d := b.d
	for i := range b.n {
		q, out, in := b.q[i*d:(i+1)*d], dst[i*d:(i+1)*d], v[i*d:(i+1)*d]
		s := 0.0
		for j, w := range in {
			s += q[j] * w
		}
		for j, w := range in {
			out[j] = w - s*q[j]
		}
	}
}

func (b *Block) normalOne(dst, u []float64) {
	d := b.d
	for i := range b.n {
		s, out := u[i]/b.scale[i], dst[i*d:(i+1)*d]
		for j, v := range b.q[i*d : (i+1)*d] {
			out[j] = s * v
		}
	}
}
