package main

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Encodings against those of the GNU assembler 2.40 (its displacements made 32 bits wide with {disp32}).
func TestEncodings(t *testing.T) {
	for want, got := range map[string][]byte{
		"62 92 0e 40 52 dc":             vdpbf16ps(28, 30, 3),
		"62 62 6e 48 52 d9":             vdpbf16ps(1, 2, 27),
		"62 52 76 40 52 e1":             vdpbf16ps(9, 17, 12),
		"62 f2 7e 48 72 d1":             vcvtneps2bf16(1, 2),
		"62 02 7e 48 72 f5":             vcvtneps2bf16(29, 30),
		"62 c2 7e 48 72 dc":             vcvtneps2bf16(12, 19),
		"62 f2 6f 48 72 d9":             vcvtne2ps2bf16(1, 2, 3),
		"62 12 17 40 72 c6":             vcvtne2ps2bf16(30, 29, 8),
		"62 42 57 48 72 fb":             vcvtne2ps2bf16(11, 5, 31),
		"c4 e2 78 49 00":                ldtilecfg("AX"),
		"c4 c2 78 49 01":                ldtilecfg("R9"),
		"c4 e2 7b 49 c0":                tilezero(0),
		"c4 e2 7b 49 e8":                tilezero(5),
		"c4 a2 7b 4b b4 0f 00 00 00 00": tiles(ppF2, 6, "DI", "R9", 0),
		"c4 a2 7b 4b bc 0f 40 00 00 00": tiles(ppF2, 7, "DI", "R9", 64),
		"c4 c2 7b 4b a4 03 00 00 00 00": tiles(ppF2, 4, "R11", "AX", 0),
		"c4 82 7b 4b 8c 05 00 00 00 00": tiles(ppF2, 1, "R13", "R8", 0),
		"c4 a2 7b 4b 94 12 00 04 00 00": tiles(ppF2, 2, "DX", "R10", 1024),
		"c4 a2 7a 4b 84 02 00 00 00 00": tiles(ppF3, 0, "DX", "R8", 0),
		"c4 82 7a 4b 9c 02 40 00 00 00": tiles(ppF3, 3, "R10", "R8", 64),
		"c4 e2 4a 5c c4":                tdpbf16ps(6, 4, 0),
		"c4 e2 42 5c dd":                tdpbf16ps(7, 5, 3),
		"c4 e2 78 49 c0":                tilerelease(),
	} {
		if w, err := hex.DecodeString(strings.ReplaceAll(want, " ", "")); err != nil || string(w) != string(got) {
			t.Errorf("% x, want %s", got, want)
		}
	}
}
