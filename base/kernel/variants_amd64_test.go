package kernel

import "unsafe"

// implementations lists what tests run on: what this machine has, portable Go, and where it multiplies in bfloat16 two
// more with AVX512_BF16 in place of tiles: one that computes three products, one that is laid out as tiles are.
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
