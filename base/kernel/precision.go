package kernel

import "fmt"

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

// Effective returns the precision that float32 products permitted p have on this
// machine: p, or Float32 where that is as fast or p cannot be had.
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
