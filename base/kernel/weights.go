package kernel

import (
	"fmt"
	"unsafe"
)

// Weights holds the matrix W (out×in) of a linear layer as the products read it.
// Set it once after each change of W; any number of goroutines may then use it.
type Weights[T Float] struct {
	out, in int
	im      *impl // whose layout it has; nil for portable Go

	w, t []T // portable: W, and Wᵀ for MulWeights

	// Panels of im.cols columns: of Wᵀ (in rows) for MulTransposed, of W (out rows) for MulWeights. Row l of panel j
	// follows row l−1; columns beyond the matrix are zero.
	forward, backward []float32

	// In bfloat16, panels of pairs in their place.
	pairs     *pairing // nil if products run in float32
	precision Precision
	spare     [block * block]uint32
}

// NewWeights makes room for an out×in matrix, whose products may run in precision
// p, and if gradients for MulWeights too.
func NewWeights[T Float](out, in int, gradients bool, p Precision) *Weights[T] {
	if setup != nil {
		panic(setup)
	}
	w := &Weights[T]{out: out, in: in, im: use[T](), pairs: pairsOf[T](p), precision: p}
	if w.im == nil {
		w.w = make([]T, out*in)
		if gradients {
			w.t = make([]T, out*in)
		}
		return w
	}
	if w.pairs != nil {
		_, copies := p.parts()
		w.forward = aligned(copies * roundUp(out, pairColumns) * words(in))
		if gradients {
			w.backward = aligned(copies * roundUp(in, pairColumns) * words(out))
		}
		return w
	}
	w.forward = aligned(roundUp(out, w.im.cols) * in)
	if gradients {
		w.backward = aligned(roundUp(in, w.im.cols) * out)
	}
	return w
}

// Set takes over the values of src, out×in.
func (w *Weights[T]) Set(src []T) {
	out, in := w.out, w.in
	need("Weights.Set: W", len(src), out*in)
	if w.im == nil {
		copy(w.w, src[:out*in])
		if w.t != nil {
			transpose(w.t, src, out, in)
		}
		return
	}
	s := single(src)
	if q := w.pairs; q != nil {
		_, copies := w.precision.parts()
		q.packTransposed(bits(w.forward), s, out, in, copies, &w.spare)
		if w.backward != nil {
			q.pack(bits(w.backward), s, out, in, words(out), copies)
		}
		return
	}
	w.im.packTransposed(w.forward, s, out, in)
	if w.backward != nil {
		w.im.pack(w.backward, s, out, in)
	}
}

// pack copies the rows×cols matrix a into panels.
func (im *impl) pack(dst, a []float32, rows, cols int) {
	width := im.cols
	for j := 0; j < cols; j += width {
		panel := dst[j*rows : (j+width)*rows]
		if rows > 0 && j+width <= cols {
			im.panel(&panel[0], &a[j], rows, 4*cols)
			continue
		}
		for i := range rows {
			d := panel[i*width : (i+1)*width]
			clear(d[copy(d, a[i*cols+j:(i+1)*cols]):])
		}
	}
}

// packTransposed copies the transpose of the rows×cols matrix a into panels.
func (im *impl) packTransposed(dst, a []float32, rows, cols int) {
	width := im.cols
	const strip = 16 // a cache line of each row at a time
	for j := 0; j < rows; j += width {
		panel := dst[j*cols : (j+width)*cols]
		if j+width > rows {
			clear(panel)
		}
		for lo := 0; lo < cols; lo += strip {
			hi := min(cols, lo+strip)
			for i := j; i < min(rows, j+width); i++ {
				d := panel[lo*width+i-j:]
				for l, v := range a[i*cols+lo : i*cols+hi] {
					d[l*width] = v
				}
			}
		}
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// aligned makes a slice that begins at a cache line, so that no register of a panel lies across two.
func aligned(n int) []float32 {
	x := make([]float32, n+15)
	o := int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%64) / 4
	return x[o : o+n : o+n]
}

// apart panics if two arrays overlap.
func apart[T Float](what string, a, b []T) {
	if len(a) == 0 || len(b) == 0 {
		return
	}
	size := unsafe.Sizeof(a[0])
	a0, b0 := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	if a0 < b0+uintptr(len(b))*size && b0 < a0+uintptr(len(a))*size {
		panic(fmt.Sprintf("kernel: %s: the result of %d numbers at %#x overlaps an operand of %d numbers at %#x", what,
			len(a), a0, len(b), b0))
	}
}

// The products of a linear layer y = x Wᵀ. Matrices are row-major and dense. In float32 on assembly every element is
// one chain of fused multiply-adds in index order, whatever the number of rows, so that AVX2, AVX-512 and NEON give
// the same bits. Products in bfloat16: pairs.go.

// Blocks of a product that stay in the caches: depth rows of a panel of the right operand and of a tile of the left one
// in level 1, and as many rows of breadth columns in level 2.
const (
	depth   = 256
	breadth = 512

	// Between rows of a copied tile: rows a power of two apart would share few places in a cache.
	leftStride = depth + 16
)

// Scratch returns how many elements of scratch the three products of an out×in layer need for n rows, in any precision.
func Scratch[T Float](n, out, in int) int {
	im := use[T]()
	if im == nil {
		return n * (out + in)
	}
	need := max(im.rows*leftStride, min(n, depth)*(roundUp(in, im.cols)+im.rows))
	if im.pairs != nil {
		need = max(need, im.pairs.scratch(n, in))
	}
	return need
}

// MulTransposed computes the layer's output Y = X·Wᵀ: X n×in, Y n×out.
func MulTransposed[T Float](y, x []T, w *Weights[T], n int, scratch []T) {
	need("MulTransposed: Y", len(y), n*w.out)
	need("MulTransposed: X", len(x), n*w.in)
	need("MulTransposed: scratch", len(scratch), Scratch[T](n, w.out, w.in))
	y, x = y[:n*w.out], x[:n*w.in]
	apart("MulTransposed", y, x)
	w.product(y, x, w.w, w.forward, n, w.out, w.in, scratch)
}

// MulWeights computes the gradient of the layer's input dX = dY·W: dY n×out,
// dX n×in. The weights must have been made for gradients.
func MulWeights[T Float](dx, dy []T, w *Weights[T], n int, scratch []T) {
	need("MulWeights: dX", len(dx), n*w.in)
	need("MulWeights: dY", len(dy), n*w.out)
	if w.t == nil && w.backward == nil && w.out*w.in > 0 {
		panic("kernel: MulWeights: the weights were made without gradients")
	}
	need("MulWeights: scratch", len(scratch), Scratch[T](n, w.out, w.in))
	dx, dy = dx[:n*w.in], dy[:n*w.out]
	apart("MulWeights", dx, dy)
	w.product(dx, dy, w.t, w.backward, n, w.in, w.out, scratch)
}

// product computes C = A·Bᵀ with A n×k and B m×k as rows or, packed, as panels.
func (w *Weights[T]) product(c, a, rows []T, panels []float32, n, m, k int, scratch []T) {
	switch {
	case w.im == nil:
		mulNT(c, a, rows, n, m, k, false)
	case w.pairs != nil:
		w.pairs.product(single(c), single(a), bits(panels), n, m, k, w.precision, bits(scratch))
	default:
		w.im.product(single(c), single(a), panels, n, m, k, single(scratch))
	}
}

// product computes C = A·B with A n×k and B in panels, k×m.
func (im *impl) product(c, a, panels []float32, n, m, k int, scratch []float32) {
	if n == 0 || m == 0 {
		return
	}
	if k == 0 {
		clear(c[:n*m])
		return
	}
	for j0 := 0; j0 < m; j0 += breadth {
		j1 := min(m, j0+breadth)
		for k0 := 0; k0 < k; k0 += depth {
			kk := min(depth, k-k0)
			for i := 0; i < n; {
				h := share(n-i, im.rows)
				left, stride := &a[i*k+k0], k
				if h > 4 && j1-j0 > 4*im.cols { // worth a copy
					for r := range h {
						copy(scratch[r*leftStride:], a[(i+r)*k+k0:(i+r)*k+k0+kk])
					}
					left, stride = &scratch[0], leftStride
				}
				for j := j0; j < j1; j += im.cols {
					im.tile(h, kk, left, 4*stride, 4, &panels[j*k+k0*im.cols], &c[i*m+j], 4*m, min(im.cols, m-j), k0)
				}
				i += h
			}
		}
	}
}

// share returns how many of n rows the next of the fewest tiles of at most limit
// rows takes, for tiles of nearly equal size.
func share(n, limit int) int {
	tiles := (n + limit - 1) / limit
	return (n + tiles - 1) / tiles
}

// AddGradient adds the gradient of the layer's weights dYᵀ·X to dw, or sets dw to it unless add: dY n×out, X n×in, dw
// out×in. It may run in precision p. Sums run in row order; in bfloat16, over pairs of rows or blocks of them.
func AddGradient[T Float](dw, dy, x []T, n, out, in int, add bool, p Precision, scratch []T) {
	need("AddGradient: dW", len(dw), out*in)
	need("AddGradient: dY", len(dy), n*out)
	need("AddGradient: X", len(x), n*in)
	need("AddGradient: scratch", len(scratch), Scratch[T](n, out, in))
	dw, dy, x = dw[:out*in], dy[:n*out], x[:n*in]
	apart("AddGradient", dw, dy)
	apart("AddGradient", dw, x)
	im := use[T]()
	if im == nil {
		dyT, xT := scratch[:n*out], scratch[n*out:n*(out+in)]
		transpose(dyT, dy, n, out)
		transpose(xT, x, n, in)
		mulNT(dw, dyT, xT, out, in, n, add)
		return
	}
	if q := pairsOf[T](p); q != nil {
		q.gradient(single(dw), single(dy), single(x), n, out, in, add, p, bits(scratch))
		return
	}
	im.gradient(single(dw), single(dy), single(x), n, out, in, add, single(scratch))
}

// nothing reports whether a weight gradient out×in of n rows has no terms, and
// clears it if it is not one that is added to.
func nothing(dw []float32, n, out, in int, add bool) bool {
	if n == 0 && !add && out > 0 && in > 0 {
		clear(dw)
	}
	return n == 0 || out == 0 || in == 0
}

func (im *impl) gradient(dw, dy, x []float32, n, out, in int, add bool, scratch []float32) {
	if nothing(dw, n, out, in, add) {
		return
	}
	wide := roundUp(in, im.cols)
	for k0 := 0; k0 < n; k0 += depth {
		kk, more := min(depth, n-k0), k0
		if add {
			more = 1
		}
		left, panels := scratch[:kk*im.rows], scratch[kk*im.rows:kk*(im.rows+wide)]
		im.pack(panels, x[k0*in:], kk, in)
		for i := 0; i < out; {
			h := share(out-i, im.rows)
			a, step := &dy[k0*out+i], out
			if in > im.cols { // worth a copy: it is read for each panel
				im.packLeft(left, dy[k0*out+i:], kk, out)
				a, step = &left[0], im.rows
			}
			for j := 0; j < in; j += im.cols {
				im.tile(h, kk, a, 4, 4*step, &panels[j*kk], &dw[i*in+j], 4*in, min(im.cols, in-j), more)
			}
			i += h
		}
	}
}

// packLeft copies the first columns of a, whose rows are stride long, to rows as
// long as a tile is high; a may end inside the last ones.
func (im *impl) packLeft(dst, a []float32, rows, stride int) {
	whole := 0
	if len(a) >= im.rows {
		whole = min(rows, (len(a)-im.rows)/stride+1)
		im.left(&dst[0], &a[0], whole, 4*stride)
	}
	for i := whole; i < rows; i++ {
		copy(dst[i*im.rows:], a[i*stride:])
	}
}
