package kernel

import "fmt"

// Portable products. The three of a linear layer all reduce to that of two matrices whose rows lie along the summed
// index (an "NT" product), with operands transposed first where needed.

// mulNT computes C = A·Bᵀ, or C += A·Bᵀ if add, with A n×k, B m×k, C n×m, all row-major and dense.
func mulNT[T Float](c, a, b []T, n, m, k int, add bool) {
	// Tiles of B that stay in the level-1 and level-2 caches while all rows of A pass by.
	const tile = 30
	for jt := 0; jt < m; jt += tile {
		je := min(m, jt+tile)
		i := 0
		for ; i+2 <= n; i += 2 {
			a0, a1 := a[i*k:(i+1)*k], a[(i+1)*k:(i+2)*k]
			c0, c1 := c[i*m:(i+1)*m], c[(i+1)*m:(i+2)*m]
			j := jt
			for ; j+3 <= je; j += 3 {
				s00, s01, s02, s10, s11, s12 := dot2x3(a0, a1, b[j*k:(j+1)*k], b[(j+1)*k:(j+2)*k], b[(j+2)*k:(j+3)*k])
				if add {
					s00, s01, s02 = s00+c0[j], s01+c0[j+1], s02+c0[j+2]
					s10, s11, s12 = s10+c1[j], s11+c1[j+1], s12+c1[j+2]
				}
				c0[j], c0[j+1], c0[j+2] = s00, s01, s02
				c1[j], c1[j+1], c1[j+2] = s10, s11, s12
			}
			for ; j < je; j++ {
				bj := b[j*k : (j+1)*k]
				s0, s1 := dot(a0, bj), dot(a1, bj)
				if add {
					s0, s1 = s0+c0[j], s1+c1[j]
				}
				c0[j], c1[j] = s0, s1
			}
		}
		if i < n {
			ai, ci := a[i*k:(i+1)*k], c[i*m:(i+1)*m]
			j := jt
			for ; j+4 <= je; j += 4 {
				s0, s1, s2, s3 := dot1x4(ai, b[j*k:(j+1)*k], b[(j+1)*k:(j+2)*k], b[(j+2)*k:(j+3)*k], b[(j+3)*k:(j+4)*k])
				if add {
					s0, s1, s2, s3 = s0+ci[j], s1+ci[j+1], s2+ci[j+2], s3+ci[j+3]
				}
				ci[j], ci[j+1], ci[j+2], ci[j+3] = s0, s1, s2, s3
			}
			for ; j < je; j++ {
				s := dot(ai, b[j*k:(j+1)*k])
				if add {
					s += ci[j]
				}
				ci[j] = s
			}
		}
	}
}

// dot2x3 returns the six dot products of two rows with three. Each is summed in index order, exactly as dot does, so
// tile edges do not change a result. With more sums the compiler runs out of registers, and the loop takes three times
// as long.
func dot2x3[T Float](a0, a1, b0, b1, b2 []T) (s00, s01, s02, s10, s11, s12 T) {
	k := len(a0)
	a1, b0, b1, b2 = a1[:k], b0[:k], b1[:k], b2[:k]
	for l, x := range a0 {
		y := a1[l]
		v := b0[l]
		s00 += x * v
		s10 += y * v
		v = b1[l]
		s01 += x * v
		s11 += y * v
		v = b2[l]
		s02 += x * v
		s12 += y * v
	}
	return
}

// dot1x4 returns the dot products of a row with four, summed as dot does.
func dot1x4[T Float](a, b0, b1, b2, b3 []T) (s0, s1, s2, s3 T) {
	k := len(a)
	b0, b1, b2, b3 = b0[:k], b1[:k], b2[:k], b3[:k]
	for l, x := range a {
		s0 += x * b0[l]
		s1 += x * b1[l]
		s2 += x * b2[l]
		s3 += x * b3[l]
	}
	return
}

func dot[T Float](a, b []T) (s T) {
	b = b[:len(a)]
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// transpose writes the transpose of the n×m matrix a into dst (m×n).
func transpose[T Float](dst, a []T, n, m int) {
	const tile = 16
	for it := 0; it < n; it += tile {
		ie := min(n, it+tile)
		for jt := 0; jt < m; jt += tile {
			je := min(m, jt+tile)
			for i := it; i < ie; i++ {
				for j, v := range a[i*m+jt : i*m+je] {
					dst[(jt+j)*n+i] = v
				}
			}
		}
	}
}

// A Precision is how exact the products of a float32 layer must be. It is a permission: they run on the fastest loops
// of this machine that are at least as exact (Effective). Sums are float32 in each; weights, activations and gradients
// stay float32 outside the products. float64 products ignore it.
//
// With u = 2⁻⁸, the unit roundoff of bfloat16 (8 significant bits), a product differs from the exact one, relatively to
// Σ|a b|, to first order and beside the error of a float32 sum, by at most the bound below; measured were the relative
// rms errors of products of random matrices (512 terms) and of the gradient of a network with 512-wide layers.
//
//	            bound     product  gradient
//	Float32     0         4e-7     2.5e-7
//	BFloat16x3  3u²       3.8e-6   3.6e-6    a₁b₁ + a₁b₂ + a₂b₁ with a₁+a₂ ≈ a
//	BFloat16    2u + u²   2.1e-3   1.9e-3    a₁b₁
//
// The processor's bfloat16 products take numbers below 2⁻¹²⁶ for 0. A number above the largest of bfloat16, 3.39e38,
// becomes infinite, and an infinite one may give not-a-numbers in BFloat16x3.
type Precision uint8

// The precisions, each at least as exact as the next.
const (
	Float32 Precision = iota
	BFloat16x3
	BFloat16
)

var precisions = [...]string{Float32: "float32", BFloat16x3: "bfloat16x3", BFloat16: "bfloat16"}

// String returns the precision's name: float32, bfloat16x3 or bfloat16.
func (p Precision) String() string {
	if int(p) >= len(precisions) {
		return fmt.Sprintf("Precision(%d)", uint8(p))
	}
	return precisions[p]
}

// ParsePrecision returns the precision of the given name.
func ParsePrecision(name string) (Precision, error) {
	for p, s := range precisions {
		if s == name {
			return Precision(p), nil
		}
	}
	return 0, fmt.Errorf("kernel: precision %q is not one of float32, bfloat16x3, bfloat16", name)
}

// MarshalText returns the precision's name.
func (p Precision) MarshalText() ([]byte, error) {
	if int(p) >= len(precisions) {
		return nil, fmt.Errorf("kernel: %v has no name", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText sets p to the precision of the given name.
func (p *Precision) UnmarshalText(name []byte) (err error) {
	*p, err = ParsePrecision(string(name))
	return err
}

// Effective returns the precision that float32 products permitted p have on this machine: p, or Float32 where Float32
// is as fast or the machine has no p.
func Effective(p Precision) Precision {
	if pairsOf[float32](p) == nil {
		return Float32
	}
	return p
}

// pairsOf returns the loops that compute products of T in bfloat16 with precision p, or nil if they run in T.
func pairsOf[T Float](p Precision) *pairing {
	im := use[T]()
	switch {
	case int(p) >= len(precisions):
		panic(fmt.Sprintf("kernel: there is no %v", p))
	case p == Float32 || im == nil || im.pairs == nil || p == BFloat16x3 && !im.pairs.split:
		return nil
	}
	return im.pairs
}

// parts returns how many products of bfloat16 numbers make one, and copies how many arrays then hold an operand.
func (p Precision) parts() (parts, copies int) {
	if p == BFloat16x3 {
		return 3, 2
	}
	return 1, 1
}
