// Package dense holds the small loops over float64 vectors and matrices that the geometry of Σ is made of. Destinations
// come first, callers own all memory and nothing allocates.
//
// Sums come in two orders. Dot and Norm add one term after the other; Dot4 and Norm4
// add in four lanes, which is faster from some ten numbers on and differs in the last
// bits. Results are promised byte for byte, so a caller keeps to one of them.
//
// It is not for large matrices: nothing is blocked. Those are for package kernel (networks) and gonum.
package dense

import "math"

// Dot returns a·b, added in the order of the elements. b may be longer than a.
func Dot(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// Norm returns ‖a‖ by Dot.
func Norm(a []float64) float64 { return math.Sqrt(Dot(a, a)) }

// SquaredDistance returns ‖a − b‖², added in the order of the elements. b may be longer than a.
func SquaredDistance(a, b []float64) (s float64) {
	b = b[:len(a)]
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return s
}

// Largest returns max |a_i|.
func Largest(a []float64) (size float64) {
	for _, v := range a {
		size = max(size, math.Abs(v))
	}
	return size
}

// Finite says whether all elements are numbers.
func Finite(a []float64) bool {
	for _, v := range a {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Dot4 returns a·b, added in four lanes, which the processor runs side by side. b may be longer than a.
func Dot4(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		p, q := (*[4]float64)(a[i:]), (*[4]float64)(b[i:])
		s0 += p[0] * q[0]
		s1 += p[1] * q[1]
		s2 += p[2] * q[2]
		s3 += p[3] * q[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// Norm4 returns ‖a‖ by Dot4.
func Norm4(a []float64) float64 { return math.Sqrt(Dot4(a, a)) }

// Axpy adds s·x to y. x may be longer than y.
func Axpy(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	i := 0
	for ; i+4 <= len(y); i += 4 {
		p, q := (*[4]float64)(y[i:]), (*[4]float64)(x[i:])
		p[0] += s * q[0]
		p[1] += s * q[1]
		p[2] += s * q[2]
		p[3] += s * q[3]
	}
	for ; i < len(y); i++ {
		y[i] += s * x[i]
	}
}

// AddScaled writes x + s·v, which may stand in the place of x or v.
func AddScaled(dst, x []float64, s float64, v []float64) {
	x, v = x[:len(dst)], v[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + s*v[i]
	}
}

// Scaled writes s·x, which may stand in the place of x.
func Scaled(dst []float64, s float64, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = s * v
	}
}

// Swap exchanges two vectors of one length.
func Swap(a, b []float64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// Mul writes A B of p×p matrices.
func Mul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for i := range p {
		row := dst[i*p : (i+1)*p]
		for k := range p {
			w := a[i*p+k]
			for j, v := range b[k*p : (k+1)*p] {
				row[j] += w * v
			}
		}
	}
}

// MulT writes A Bᵀ of p×p matrices.
func MulT(dst, a, b []float64, p int) {
	for i := range p {
		for j := range p {
			dst[i*p+j] = Dot(a[i*p:(i+1)*p], b[j*p:(j+1)*p])
		}
	}
}

// TMul writes AᵀB of p×p matrices.
func TMul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for k := range p {
		for i := range p {
			w := a[k*p+i]
			for j, v := range b[k*p : (k+1)*p] {
				dst[i*p+j] += w * v
			}
		}
	}
}
