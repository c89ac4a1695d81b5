package kernel

import "unsafe"

// implementations lists what tests run on: this machine's implementation and portable Go. A machine that multiplies in
// bfloat16 adds two with AVX512_BF16 instead of tiles: one computes three products, one has the layout of tiles.
func implementations() []*impl {
	if emulated {
		return []*impl{avx512.with("amx", &tilesAMX)}
	}
	have := available()
	if len(have) > 0 && have[0].pairs != nil {
		three, rows := pairsAVX512, tilesAMX
		three.split = true
		rows.strip = func(s strip) {
			for r := 0; r < s.h; r += pairsAVX512.rows {
				part := s
				part.h = min(s.h-r, pairsAVX512.rows)
				part.a = (*uint32)(word(s.a, r*s.rs))
				part.c = (*float32)(word((*uint32)(unsafe.Pointer(s.c)), r*s.cs))
				stripBF16(part)
			}
		}
		have = append(have, avx512.with("avx512 in three", &three), avx512.with("avx512 along rows", &rows))
	}
	return append(have, nil)
}
