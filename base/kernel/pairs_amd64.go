package kernel

import "unsafe"

// pairsAVX512 multiplies with AVX512_BF16: half the time of float32, so three products would take longer.
var pairsAVX512 = pairing{
	rows: 14, whole: 1, strip: stripBF16, peak: peakBF16, ops: 12 * 32 * 2,
	narrow:   [2]func(*uint32, *float32, int){narrow, narrowRest},
	pairRows: [2]func(*uint32, int, *float32, int, int, int){pairRows, pairRowsRest},
	turn:     turn,
}

// stripBF16 multiplies panel by panel. VDPBF16PS adds the two products of a pair to the sum in two fused steps, the
// second number's first; it rounds to nearest and takes what is below 2⁻¹²⁶ for 0, results too, whatever MXCSR says.
func stripBF16(s strip) {
	for j := 0; j < s.cols; j += pairColumns {
		b, c := word(s.b, j/pairColumns*s.bStep), (*float32)(word((*uint32)(unsafe.Pointer(s.c)), j))
		tile := func(a, b unsafe.Pointer, add bool) {
			tileBF16(s.h, s.pairs, (*float32)(a), 4*s.rs, 4*s.ks, (*float32)(b), c, 4*s.cs, min(pairColumns, s.cols-j),
				truth(add))
		}
		if s.parts == 3 {
			tile(word(s.a, s.aRest), b, s.add)
			tile(word(s.a, 0), word(s.b, j/pairColumns*s.bStep+s.bRest), true)
		}
		tile(word(s.a, 0), b, s.add || s.parts == 3)
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
