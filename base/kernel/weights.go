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
