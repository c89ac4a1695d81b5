package kernel

import "unsafe"

var neon = impl{
	name: "neon", rows: tileHigh, cols: tileWide,
	tile: inColumns, panel: panelNEON, left: leftNEON,
	add: addNEON, mix: mixNEON, adam: adamNEON,
	biasSiLU: biasSiLUNEON, siluGrad: siluGradNEON,
	modulate: modulateNEON, modulateGrad: modulateGradNEON, cheapest: cheapestNEON,
}

// available lists what the processor has. Every one with arm64 has NEON.
func available() []*impl {
	if hasBF16() {
		with := neon
		with.pairs = &pairsNEON
		return []*impl{&with}
	}
	return []*impl{&neon}
}

// The tile of a product.
const (
	tileHigh = 6
	tileWide = 16
)

// A room is a whole tile, for what is to be a part of one.
type room [tileHigh * tileWide]float32

// load takes h rows of cols columns of C, rows cs bytes apart; store writes them.
func (m *room) load(c *float32, cs, h, cols int) {
	for r := range h {
		copy(m[r*tileWide:], unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), r*cs)), cols))
	}
}

func (m *room) store(c *float32, cs, h, cols int) {
	for r := range h {
		copy(unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), r*cs)), cols), m[r*tileWide:])
	}
}

// inColumns multiplies with tileNEON.
func inColumns(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int) {
	if cols == tileWide {
		tileNEON(rows, k, a, rs, ks, b, c, cs, cols, add)
		return
	}
	var m room
	if add != 0 {
		m.load(c, cs, rows, cols)
	}
	tileNEON(rows, k, a, rs, ks, b, &m[0], 4*tileWide, tileWide, add)
	m.store(c, cs, rows, cols)
}

// pairsNEON multiplies with BFMMLA, which adds two pairs of products to a sum in turn. It rounds to odd, and takes what
// is below 2⁻¹²⁶ for 0, results too.
var pairsNEON = pairing{
	rows: tileHigh, whole: 2, strip: inBlocks, quads: quads,
	pairRows: [2]func(*uint32, int, *float32, int, int, int){weave},
}

// inBlocks multiplies with tileBFMMLA.
func inBlocks(s strip) {
	for j := 0; j < s.cols; j += tileWide {
		b := (*uint32)(word(s.b, j/pairColumns*s.bStep+2*(j%pairColumns)))
		c, cols := (*float32)(unsafe.Add(unsafe.Pointer(s.c), 4*j)), min(tileWide, s.cols-j)
		if cols == tileWide && s.h%2 == 0 {
			tileBFMMLA(s.h/2, s.pairs/2, s.a, b, c, 4*s.cs, truth(s.add))
			continue
		}
		var m room
		if s.add {
			m.load(c, 4*s.cs, s.h, cols)
		}
		tileBFMMLA((s.h+1)/2, s.pairs/2, s.a, b, &m[0], 4*tileWide, truth(s.add))
		m.store(c, 4*s.cs, s.h, cols)
	}
}

// quads rounds rows rows of n numbers, stride apart, and writes each as a column of quads, pairs of rows step words
// apart. Zeros follow up to a whole quad.
func quads(dst *uint32, step int, src *float32, stride, rows, n int) {
	const two = 8 // numbers of two quads
	for r := 0; r < rows; r += 2 {
		to := (*uint32)(word(dst, 2*r))
		at := [2]unsafe.Pointer{unsafe.Pointer(src), unsafe.Pointer(src)}
		for i := range at {
			at[i] = unsafe.Add(at[i], 4*min(r+i, rows-1)*stride)
		}
		if n >= two {
			quadsNEON(to, 8*step, (*float32)(at[0]), (*float32)(at[1]), n/two)
		}
		if rest := n % two; rest > 0 {
			var room [2][two]float32
			for i := range room {
				copy(room[i][:], unsafe.Slice((*float32)(unsafe.Add(at[i], 4*(n-rest))), rest))
			}
			var last [2][4]uint32
			quadsNEON(&last[0][0], 16, &room[0][0], &room[1][0], 1)
			for i := 0; 4*i < rest; i++ {
				copy(unsafe.Slice((*uint32)(word(to, ((n-rest)/4+i)*2*step)), 4), last[i][:])
			}
		}
	}
}

// weave rounds n > 0 rows of cols ≤ 16 numbers, stride apart, and writes four rows as a row of 16 quads, pairs of rows
// step words apart. Zeros stand for what the matrix does not have.
func weave(dst *uint32, step int, src *float32, stride, n, cols int) {
	whole := 0
	if cols == block && n >= 4 {
		whole = n / 4
		weaveNEON(dst, 8*step, src, 4*stride, whole)
	}
	for i := 4 * whole; i < n; i += 4 {
		var room [4][block]float32
		for r := range min(4, n-i) {
			copy(room[r][:], unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(src), 4*(i+r)*stride)), cols))
		}
		weaveNEON((*uint32)(word(dst, i/2*step)), 8*step, &room[0][0], 4*block, 1)
	}
}

var doubleNEON = doubles{rows: tileHigh, cols: tileWide / 2, tile: tile64NEON, softplus: softplus64NEON}

// double returns the float64 loops of the active instruction set, or nil.
func double() *doubles {
	if Name() == "neon" {
		return &doubleNEON
	}
	return nil
}
