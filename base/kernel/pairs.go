package kernel

import "unsafe"

// Products in bfloat16. The processor multiplies pairs (a_2l, a_2l+1)·(b_2l, b_2l+1) and adds both to a float32 sum, so
// a pair takes the place that a number has in float32 products: operands are arrays of 32-bit words, and l counts
// pairs. The last pair of an odd number has a zero.
//
// In BFloat16x3 each operand is two arrays, the rounded numbers and the rounded remainders. Every element is one chain
// of sums in an order that k alone fixes, whatever the number of rows.

// A pairing is a set of bfloat16 loops, in assembly.
type pairing struct {
	rows  int  // of a tile; it is pairColumns wide
	whole int  // pairs are summed in multiples of this
	along bool // tiles read the left operand along l, not across
	split bool // BFloat16x3 is faster than float32

	strip func(s strip)

	// Where it is set, a column has the numbers of two pairs, a quad, together: quad l of column j of a panel is at
	// 2·l·pairColumns + 2·j. It lays rows of n numbers out as columns; pairRows writes quads too, narrow and turn have
	// no use, and the left operand is a panel of block columns.
	quads func(dst *uint32, step int, src *float32, stride, rows, n int)

	// Layouts: of the numbers, and of their remainders.
	narrow   [2]func(dst *uint32, src *float32, n int)
	pairRows [2]func(dst *uint32, step int, src *float32, stride, n, cols int)
	turn     func(dst *uint32, step int, src *uint32, stride int)
}

// A strip is a product C = A·B, or C += A·B, of h ≤ rows rows and cols columns. Strides and distances are in words.
type strip struct {
	h, pairs int
	a        *uint32 // pair l of row r at r·rs + l·ks
	rs, ks   int
	aRest    int     // from a to its remainders
	b        *uint32 // panels: row l of panel j at j·bStep + l·pairColumns
	bStep    int
	bRest    int
	c        *float32
	cs, cols int
	add      bool
	parts    int
	spare    *float32 // room for a tile
}

// inTiles multiplies with tiles of width columns, panel by panel.
func (s strip) inTiles(width int, tile func(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)) {
	for j := 0; j < s.cols; j += width {
		at, c := j/pairColumns*s.bStep+j%pairColumns, (*float32)(word((*uint32)(unsafe.Pointer(s.c)), j))
		part := func(a, b unsafe.Pointer, add bool) {
			tile(s.h, s.pairs, (*float32)(a), 4*s.rs, 4*s.ks, (*float32)(b), c, 4*s.cs, min(width, s.cols-j),
				truth(add))
		}
		if s.parts == 3 {
			part(word(s.a, s.aRest), word(s.b, at), s.add)
			part(word(s.a, 0), word(s.b, at+s.bRest), true)
		}
		part(word(s.a, 0), word(s.b, at), s.add || s.parts == 3)
	}
}

// word points n words on from p.
func word(p *uint32, n int) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(p), 4*n) }

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

const (
	pairColumns = 32
	block       = 16 // words in a register; pairs of a stored operand come in blocks
)

// words returns how many pairs an operand of k numbers is stored in.
func words(k int) int { return roundUp((k+1)/2, block) }

// deep returns how many pairs of k numbers to sum from pair p on, and how many numbers these pairs read. A block of
// each operand then stays in the caches.
func (q *pairing) deep(k, p, copies int) (pairs, read int) {
	read = min(2*depth/copies, k-2*p)
	return roundUp((read+1)/2, q.whole), read
}

// scratch returns the words of scratch that products of an out×in layer need for n rows.
func (q *pairing) scratch(n, in int) int {
	pairs := min(2*words(n), depth)
	return q.left() + q.tile() + depth*block + pairs*roundUp(in, pairColumns)
}

func (q *pairing) left() int { return 2 * max(q.rows*leftStride, depth*block) }
func (q *pairing) tile() int { return q.rows * pairColumns }

// packTransposed lays out the transpose of the rows×cols matrix a as panels,
// pairs along its rows. Columns of panels beyond the matrix may hold anything.
func (q *pairing) packTransposed(dst []uint32, a []float32, rows, cols, copies int, spare *[block * block]uint32) {
	k := words(cols)
	if q.quads != nil {
		for i := 0; i < rows && cols > 0; i += pairColumns {
			q.quads(&dst[i*k], pairColumns, &a[i*cols], cols, min(pairColumns, rows-i), cols)
		}
		return
	}
	for rest := range copies {
		panels := dst[rest*len(dst)/copies:]
		for i := 0; i < rows; i += block {
			at := i/pairColumns*pairColumns*k + i%pairColumns
			for l := 0; l < cols; l += 2 * block {
				for r := range min(block, rows-i) {
					q.narrow[rest](&spare[r*block], &a[(i+r)*cols+l], min(2*block, cols-l))
				}
				q.turn(&panels[at+l/2*pairColumns], pairColumns, &spare[0], block)
			}
		}
	}
}

// pack lays out the rows×cols matrix a as panels of pairs words, pairs down its
// columns; rows beyond the matrix up to pairs are zero.
func (q *pairing) pack(dst []uint32, a []float32, rows, cols, pairs, copies int) {
	if rows == 0 {
		return
	}
	wide := 1 // pairs of a column together
	if q.quads != nil {
		wide = 2
	}
	for rest := range copies {
		panels := dst[rest*len(dst)/copies:]
		for j := 0; j < cols; j += block {
			at := j/pairColumns*pairColumns*pairs + j%pairColumns*wide
			q.pairRows[rest](&panels[at], pairColumns, &a[j], cols, rows, min(block, cols-j))
			for l := roundUp((rows+1)/2, wide); l < pairs; l += wide {
				clear(panels[at+l*pairColumns:][:block*wide])
			}
		}
	}
}

// product computes C = A·B with A n×k and B in panels, k×m.
func (q *pairing) product(c, a []float32, panels []uint32, n, m, k int, p Precision, scratch []uint32) {
	if n == 0 || m == 0 {
		return
	}
	if k == 0 {
		clear(c[:n*m])
		return
	}
	parts, copies := p.parts()
	left, spare := scratch[:q.left()], scratch[q.left():]
	s := strip{
		a: &left[0], rs: leftStride, ks: 1, aRest: q.left() / 2,
		bStep: words(k) * pairColumns, bRest: len(panels) / 2,
		cs: m, parts: parts, spare: float(spare),
	}
	for j0 := 0; j0 < m; j0 += breadth {
		s.cols = min(breadth, m-j0)
		for l := 0; 2*l < k; l += s.pairs {
			var read int
			s.pairs, read = q.deep(k, l, copies)
			s.add = l > 0
			s.b = &panels[j0*words(k)+l*pairColumns]
			for i := 0; i < n; i += s.h {
				s.h = q.share(n - i)
				if q.quads != nil {
					q.quads(&left[0], block, &a[i*k+2*l], k, s.h, read)
				}
				for r := 0; r < s.h && q.quads == nil; r++ {
					for rest := range copies {
						q.narrow[rest](&left[rest*s.aRest+r*leftStride], &a[(i+r)*k+2*l], read)
					}
				}
				s.c = &c[i*m+j0]
				q.strip(s)
			}
		}
	}
}

// share is like the function share; tiles read along l are better full, and those of quads have pairs of rows.
func (q *pairing) share(n int) int {
	switch {
	case q.along:
		return min(n, q.rows)
	case q.quads != nil:
		return min(n, 2*share((n+1)/2, q.rows/2))
	}
	return share(n, q.rows)
}

// gradient computes dW = dYᵀ·X, or adds it.
func (q *pairing) gradient(dw, dy, x []float32, n, out, in int, add bool, p Precision, scratch []uint32) {
	if nothing(dw, n, out, in, add) {
		return
	}
	parts, copies := p.parts()
	left, scratch := scratch[:q.left()], scratch[q.left():]
	spare, scratch := scratch[:q.tile()], scratch[q.tile():]
	across, panels := scratch[:depth*block], scratch[depth*block:]
	s := strip{a: &left[0], rs: 1, ks: block, aRest: q.left() / 2, cs: in, cols: in, parts: parts, spare: float(spare)}
	if q.along {
		s.rs, s.ks = leftStride, 1
	}
	for l := 0; 2*l < n; l += s.pairs {
		var read int
		s.pairs, read = q.deep(n, l, copies)
		s.add = add || l > 0
		s.bStep = s.pairs * pairColumns
		s.bRest = roundUp(in, pairColumns) * s.pairs
		s.b = &panels[0]
		q.pack(panels[:copies*s.bRest], x[2*l*in:], read, in, s.pairs, copies)
		for i := 0; i < out; i += s.h {
			s.h = q.share(out - i)
			for rest := range copies {
				q.packLeft(left[rest*s.aRest:], dy[2*l*out+i:], read, out, s.h, s.pairs, rest, across)
			}
			s.c = &dw[i*in]
			q.strip(s)
		}
	}
}

// packLeft lays out the first h columns of a, whose rows are stride long, as the left operand, pairs down its columns.
func (q *pairing) packLeft(dst []uint32, a []float32, rows, stride, h, pairs, rest int, across []uint32) {
	if !q.along {
		whole := 0 // rows whose block numbers can be read, for layouts without masks
		if q.quads != nil && len(a) >= block {
			whole = min(rows, (len(a)-block)/stride+1) &^ 3
		}
		if whole > 0 {
			q.pairRows[rest](&dst[0], block, &a[0], stride, whole, block)
		}
		if whole < rows {
			q.pairRows[rest](&dst[whole/2*block], block, &a[whole*stride], stride, rows-whole, h)
		}
		return
	}
	for r := 0; r < h; r += block {
		q.pairRows[rest](&across[0], block, &a[r], stride, rows, min(block, h-r))
		clear(across[(rows+1)/2*block : pairs*block])
		for l := 0; l < pairs; l += block {
			q.turn(&dst[r*leftStride+l], leftStride, &across[l*block], block)
		}
	}
}

// float points to w as float32 numbers.
func float(w []uint32) *float32 { return (*float32)(unsafe.Pointer(&w[0])) }
