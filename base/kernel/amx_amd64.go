package kernel

import "unsafe"

// tilesAMX multiplies in tiles (Intel's AMX-BF16), many times as fast as float32.
var tilesAMX = pairing{
	rows: 2 * tileRows, whole: tileRows, along: true, split: true, strip: stripTiles,
	peak:     func(n int) { peakAMX(&tileConfig, n) },
	ops:      4 * 16 * 16 * 32 * 2,
	narrow:   pairsAVX512.narrow,
	pairRows: pairsAVX512.pairRows,
	turn:     turn,
}

const tileRows = 16

// tileConfig gives each of the eight tiles 16 rows of 64 bytes.
var tileConfig = func() (c [64]byte) {
	c[0] = 1 // palette
	for t := range 8 {
		c[16+2*t] = 64
		c[48+t] = tileRows
	}
	return c
}()

// stripTiles multiplies whole panels of whole strips in place, others in spare. TDPBF16PS sums the first numbers of 16
// pairs in fused steps, the second ones likewise, and adds their sum; it rounds to nearest and takes what is below
// 2⁻¹²⁶ for 0, results too.
func stripTiles(s strip) {
	multiply := func(j int, c *float32, cs, panels int) {
		b := (*uint32)(word(s.b, j/pairColumns*s.bStep))
		stripAMX(&tileConfig, s.pairs/tileRows, s.a, s.rs, s.aRest, b, s.bStep, s.bRest, c, cs, panels,
			truth(s.add), s.parts)
	}
	j := 0
	if s.h == 2*tileRows && s.cols >= pairColumns {
		multiply(0, s.c, s.cs, s.cols/pairColumns)
		j = s.cols / pairColumns * pairColumns
	}
	spare := unsafe.Slice(s.spare, 2*tileRows*pairColumns)
	for ; j < s.cols; j += pairColumns {
		w := min(pairColumns, s.cols-j)
		row := func(r int) []float32 {
			return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(s.c), 4*(r*s.cs+j))), w)
		}
		if s.add {
			for r := range s.h {
				copy(spare[r*pairColumns:], row(r))
			}
		}
		multiply(j, s.spare, pairColumns, 1)
		for r := range s.h {
			copy(row(r), spare[r*pairColumns:])
		}
	}
}
