package kernel

import "golang.org/x/sys/cpu"

var avx2 = impl{
	name: "avx2", rows: 6, cols: 16,
	tile: tileAVX2, panel: panelAVX2, left: leftAVX2,
	add: addAVX2, mix: mixAVX2, adam: adamAVX2,
	biasSiLU: biasSiLUAVX2, siluGrad: siluGradAVX2, peak: peakAVX2,
	modulate: modulateAVX2, modulateGrad: modulateGradAVX2, cheapest: cheapestAVX2,
}

var avx512 = impl{
	name: "avx512", rows: 14, cols: 32,
	tile: tileAVX512, panel: panelAVX512, left: leftAVX512,
	add: addAVX512, mix: mixAVX512, adam: adamAVX512,
	biasSiLU: biasSiLUAVX512, siluGrad: siluGradAVX512, peak: peakAVX512,
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
