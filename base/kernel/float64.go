package kernel

import (
	"fmt"
	"math"
	"unsafe"
)

// Float64 loops, for geometry that is a network: products with a packed right operand, and the softplus with its
// derivative. Matrices are row-major; their rows are padded to Pad64 numbers, and padding may hold anything finite.

// A doubles is a set of float64 loops in assembly.
type doubles struct {
	rows, cols int // of tile
	tile       func(rows, k int, a *float64, rs int, b, c *float64, cs, add int)
	softplus   func(a, s, z, bias *float64, n int, beta, inverse float64)
}

const pad64 = 16

// Pad64 returns how long a row of n numbers is in memory.
func Pad64(n int) int { return roundUp(n, pad64) }

// A Matrix64 is the right operand B (k×m) of Mul64, as the products read it. Set
// it after each change; any number of goroutines may then use it.
type Matrix64 struct {
	k, m int
	im   *doubles

	// Panels of im.cols columns, row l of a panel after row l−1; in portable Go Bᵀ, m×k, both padded. Padding is zero.
	data []float64
}

// NewMatrix64 makes room for a k×m matrix.
func NewMatrix64(k, m int) *Matrix64 {
	if setup != nil {
		panic(setup)
	}
	b := &Matrix64{k: k, m: m, im: double()}
	if b.im == nil {
		b.data = make([]float64, Pad64(m)*Pad64(k))
	} else {
		b.data = aligned64(Pad64(m) * k)
	}
	return b
}

// Set takes over the k×m matrix whose rows begin stride numbers apart.
func (b *Matrix64) Set(src []float64, stride int) {
	b.check("Set", src, stride, b.k, b.m)
	if b.im == nil {
		for l := range b.k {
			for j, v := range src[l*stride : l*stride+b.m] {
				b.data[j*Pad64(b.k)+l] = v
			}
		}
		return
	}
	width := b.im.cols
	for l := range b.k {
		row := src[l*stride : l*stride+b.m]
		for j := 0; j < b.m; j += width {
			copy(b.data[j*b.k+l*width:][:width], row[j:])
		}
	}
}

// SetTransposed takes over the transpose of the m×k matrix whose rows begin stride numbers apart.
func (b *Matrix64) SetTransposed(src []float64, stride int) {
	b.check("SetTransposed", src, stride, b.m, b.k)
	if b.k == 0 {
		return
	}
	if b.im == nil {
		for j := range b.m {
			copy(b.data[j*Pad64(b.k):], src[j*stride:j*stride+b.k])
		}
		return
	}
	width := b.im.cols
	for j := range b.m {
		panel := b.data[j/width*width*b.k+j%width:]
		for l, v := range src[j*stride : j*stride+b.k] {
			panel[l*width] = v
		}
	}
}

func (b *Matrix64) check(what string, src []float64, stride, rows, cols int) {
	if stride < cols {
		panic(fmt.Sprintf("kernel: Matrix64.%s: rows of %d numbers, %d apart", what, cols, stride))
	}
	if rows > 0 {
		need("Matrix64."+what, len(src), (rows-1)*stride+cols)
	}
}

// Mul64 computes C = A·B, or C += A·B if add: A n×k and C n×m, rows padded. An
// element of C is one chain of sums in index order, whatever n.
func Mul64(c, a []float64, b *Matrix64, n int, add bool) {
	ks, ms := Pad64(b.k), Pad64(b.m)
	need("Mul64: C", len(c), n*ms)
	need("Mul64: A", len(a), n*ks)
	c, a = c[:n*ms], a[:n*ks]
	apart("Mul64", c, a)
	if n == 0 || b.m == 0 {
		return
	}
	if b.im == nil {
		mulNT(c, a, b.data, n, ms, ks, add)
		return
	}
	if b.k == 0 {
		if !add {
			clear(c)
		}
		return
	}
	more := 0
	if add {
		more = 1
	}
	for i := 0; i < n; {
		h := share(n-i, b.im.rows)
		for j := 0; j < ms; j += b.im.cols {
			b.im.tile(h, b.k, &a[i*ks], 8*ks, &b.data[j*b.k], &c[i*ms+j], 8*ms, more)
		}
		i += h
	}
}

// Softplus64 writes a = ln(1+e^(βz))/β and its derivative s = 1/(1+e^(−βz)) with z = pre + bias, for n padded rows of
// width numbers; where βz > 20, a = z and s = 1. a or s may be pre. Both are exact to 2e-15 of their size where z is
// above −700/β.
func Softplus64(a, s, pre, bias []float64, n, width int, beta float64) {
	stride := Pad64(width)
	need("Softplus64: a", len(a), n*stride)
	need("Softplus64: s", len(s), n*stride)
	need("Softplus64: pre", len(pre), n*stride)
	need("Softplus64: bias", len(bias), stride)
	im := double()
	for i := range n {
		lo, hi := i*stride, (i+1)*stride
		if im != nil {
			im.softplus(&a[lo], &s[lo], &pre[lo], &bias[0], stride, beta, 1/beta)
			continue
		}
		for j, p := range pre[lo:hi] {
			a[lo+j], s[lo+j] = softplus(p+bias[j], beta)
		}
	}
}

func softplus(z, beta float64) (a, s float64) {
	t := beta * z
	if t > 20 {
		return z, 1
	}
	u := math.Exp(-math.Abs(t))
	a = (max(t, 0) + math.Log1p(u)) / beta
	if t < 0 {
		return a, u / (1 + u)
	}
	return a, 1 / (1 + u)
}

// aligned64 makes a slice that begins at a cache line.
func aligned64(n int) []float64 {
	x := make([]float64, n+7)
	o := int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%64) / 8
	return x[o : o+n : o+n]
}
