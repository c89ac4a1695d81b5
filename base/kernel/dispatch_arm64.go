package kernel

import "unsafe"

var neon = impl{
	name: "neon", rows: tileHigh, cols: tileWide,
	tile: func(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int) {
		inColumns(false, rows, k, a, rs, ks, b, c, cs, cols, add)
	},
	panel: panelNEON, left: leftNEON,
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

// The tile of a product, and the number of pairs that narrowNEON writes at once.
const (
	tileHigh = 6
	tileWide = 16
)

// inColumns multiplies with tileBFDOT if pairs and with tileNEON otherwise. Those write tiles of full width, so a
// narrower one goes through a buffer.
func inColumns(pairs bool, rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int) {
	var room [tileHigh * tileWide]float32
	to, step := c, cs
	row := func(r int) []float32 { return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), r*cs)), cols) }
	if cols < tileWide {
		to, step = &room[0], 4*tileWide
		for r := 0; r < rows && add != 0; r++ {
			copy(room[r*tileWide:], row(r))
		}
	}
	if pairs {
		tileBFDOT(rows, k, a, rs, ks, b, to, step, tileWide, add)
	} else {
		tileNEON(rows, k, a, rs, ks, b, to, step, tileWide, add)
	}
	for r := 0; r < rows && cols < tileWide; r++ {
		copy(row(r), room[r*tileWide:])
	}
}

// pairsNEON multiplies with BFDOT, which adds the two products of a pair to the sum. It rounds to odd, and takes what
// is below 2⁻¹²⁶ for 0, results too.
var pairsNEON = pairing{
	rows: tileHigh, whole: 1,
	strip: func(s strip) {
		s.inTiles(tileWide, func(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int) {
			inColumns(true, rows, k, a, rs, ks, b, c, cs, cols, add)
		})
	},
	narrow:   [2]func(*uint32, *float32, int){narrow},
	pairRows: [2]func(*uint32, int, *float32, int, int, int){pairRows},
	turn:     turnNEON,
}

// narrow rounds n > 0 numbers to bfloat16; zeros follow up to a multiple of 32.
func narrow(dst *uint32, src *float32, n int) {
	const step = 2 * block
	whole := n / step
	if whole > 0 {
		narrowNEON(dst, src, whole)
	}
	if rest := n % step; rest > 0 {
		var room [step]float32
		copy(room[:], unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(src), 4*step*whole)), rest))
		narrowNEON((*uint32)(word(dst, block*whole)), &room[0], 1)
	}
}

// pairRows rounds n > 0 rows of cols ≤ 16 numbers, stride apart, and writes rows 2l and 2l+1 woven as row l of 16
// pairs, rows step words apart. Zeros stand for what the matrix does not have.
func pairRows(dst *uint32, step int, src *float32, stride, n, cols int) {
	var room [2][block]float32
	for i := 0; i < n; i += 2 {
		at := [2]*float32{}
		for r := range at {
			at[r] = (*float32)(unsafe.Add(unsafe.Pointer(src), 4*(i+r)*stride))
			if cols == block && i+r < n {
				continue
			}
			if clear(room[r][:]); i+r < n {
				copy(room[r][:], unsafe.Slice(at[r], cols))
			}
			at[r] = &room[r][0]
		}
		weaveNEON((*uint32)(word(dst, i/2*step)), at[0], at[1])
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
