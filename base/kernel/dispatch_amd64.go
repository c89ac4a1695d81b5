package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var avx2 = impl{
	name: "avx2", rows: 6, cols: 16,
	tile: tileAVX2, panel: panelAVX2, left: leftAVX2,
	add: addAVX2, mix: mixAVX2, adam: adamAVX2,
	biasSiLU: biasSiLUAVX2, siluGrad: siluGradAVX2,
	modulate: modulateAVX2, modulateGrad: modulateGradAVX2, cheapest: cheapestAVX2,
}

var avx512 = impl{
	name: "avx512", rows: 14, cols: 32,
	tile: tileAVX512, panel: panelAVX512, left: leftAVX512,
	add: addAVX512, mix: mixAVX512, adam: adamAVX512,
	biasSiLU: biasSiLUAVX512, siluGrad: siluGradAVX512,
	modulate: modulateAVX512, modulateGrad: modulateGradAVX512, cheapest: cheapestAVX512,
}

// available lists what the processor has and the operating system saves, best first.
func available() (have []*impl) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512VL && x.HasAVX512DQ && x.HasBMI2 {
		if x.HasAVX512BF16 && x.HasAVX512BW {
			if x.HasAMXTile && x.HasAMXBF16 && permitTiles() {
				have = append(have, avx512.with("amx", &tilesAMX))
			}
			have = append(have, avx512.with("avx512", &pairsAVX512))
		} else {
			have = append(have, &avx512)
		}
	}
	if x.HasAVX2 && x.HasFMA {
		have = append(have, &avx2)
	}
	return have
}

// with returns the implementation with bfloat16 products.
func (im impl) with(name string, pairs *pairing) *impl {
	im.name, im.pairs = name, pairs
	return &im
}

var doubleAVX2 = doubles{rows: 6, cols: 8, tile: tile64AVX2, softplus: softplus64AVX2}

var doubleAVX512 = doubles{rows: 14, cols: 16, tile: tile64AVX512, softplus: softplus64AVX512}

// double returns the float64 loops of the active instruction set, or nil.
func double() *doubles {
	switch Name() {
	case "avx2":
		return &doubleAVX2
	case "avx512", "amx":
		return &doubleAVX512
	}
	return nil
}

//go:noescape
func tile64AVX2(rows, k int, a *float64, rs int, b, c *float64, cs, add int)

//go:noescape
func tile64AVX512(rows, k int, a *float64, rs int, b, c *float64, cs, add int)

//go:noescape
func softplus64AVX2(a, s, z, bias *float64, n int, beta, inverse float64)

//go:noescape
func softplus64AVX512(a, s, z, bias *float64, n int, beta, inverse float64)

// pairsAVX512 multiplies with AVX512_BF16: half the time of float32, so three products would take longer.
var pairsAVX512 = pairing{
	rows: 14, whole: 1, strip: stripBF16,
	narrow:   [2]func(*uint32, *float32, int){narrow, narrowRest},
	pairRows: [2]func(*uint32, int, *float32, int, int, int){pairRows, pairRowsRest},
	turn:     turn,
}

// VDPBF16PS adds the two products of a pair to the sum in two fused steps, the second number's first; it rounds to
// nearest and takes what is below 2⁻¹²⁶ for 0, results too, whatever MXCSR says.
func stripBF16(s strip) { s.inTiles(pairColumns, tileBF16) }

// tilesAMX multiplies in tiles (Intel's AMX-BF16), many times as fast as float32.
var tilesAMX = pairing{
	rows: 2 * tileRows, whole: tileRows, along: true, split: true, strip: stripTiles,
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
