package main

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Instructions that Go's assembler does not know, as bytes. Operands of these functions are in Go's order, destination
// last. Layouts: Intel's manual, volume 2, sections 2.3 (VEX) and 2.7 (EVEX).

// bytesOf writes an instruction's bytes, and as a comment what they say.
func (f *file) bytesOf(code []byte, format string, args ...any) {
	var s []string
	for _, b := range code {
		s = append(s, fmt.Sprintf("BYTE $0x%02X", b))
	}
	f.in("%s // %s", strings.Join(s, "; "), fmt.Sprintf(format, args...))
}

// Mandatory prefixes, as the field pp has them.
const (
	pp66 = 1 + iota
	ppF3
	ppF2
)

// evex encodes a 512-bit instruction of map 0F38 between registers 0–31: rm and v are its sources, reg its destination.
func evex(pp, op, rm, v, reg int) []byte {
	not := func(r, bit int) int { return ^r >> bit & 1 }
	return []byte{
		0x62,
		byte(not(reg, 3)<<7 | not(rm, 4)<<6 | not(rm, 3)<<5 | not(reg, 4)<<4 | 2),
		byte((^v&15)<<3 | 1<<2 | pp),
		byte(2<<5 | not(v, 4)<<3),
		byte(op),
		byte(3<<6 | reg&7<<3 | rm&7),
	}
}

func vdpbf16ps(b, a, c int) []byte        { return evex(ppF3, 0x52, b, a, c) }
func vcvtneps2bf16(src, dst int) []byte   { return evex(ppF3, 0x72, src, 0, dst) }
func vcvtne2ps2bf16(l, h, dst int) []byte { return evex(ppF2, 0x72, l, h, dst) }

// dotPairs adds to each number of register c the products of the pairs of b and a.
func (f *file) dotPairs(b, a, c int) {
	f.bytesOf(vdpbf16ps(b, a, c), "VDPBF16PS Z%d, Z%d, Z%d", b, a, c)
}

// narrow rounds a register of float32 to half a register of bfloat16.
func (f *file) narrow(src, dst int) {
	f.bytesOf(vcvtneps2bf16(src, dst), "VCVTNEPS2BF16 Z%d, Y%d", src, dst)
}

// narrow2 rounds two registers of float32 to the low and the high half of one.
func (f *file) narrow2(low, high, dst int) {
	f.bytesOf(vcvtne2ps2bf16(low, high, dst), "VCVTNE2PS2BF16 Z%d, Z%d, Z%d", low, high, dst)
}

// general numbers the general registers.
var general = map[string]int{
	"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SP": 4, "BP": 5, "SI": 6, "DI": 7,
	"R8": 8, "R9": 9, "R10": 10, "R11": 11, "R12": 12, "R13": 13, "R14": 14, "R15": 15,
}

// vex encodes a 128-bit instruction of map 0F38 whose base and index registers
// have the numbers given; rest begins with the ModRM byte.
func vex(pp, op, v, base, index int, rest ...byte) []byte {
	code := []byte{
		0xC4,
		byte(1<<7 | (^index>>3&1)<<6 | (^base>>3&1)<<5 | 2),
		byte((^v&15)<<3 | pp),
		byte(op),
	}
	return append(code, rest...)
}

// tiles encodes a move between tile t and memory at base + disp, whose rows are index bytes apart.
func tiles(pp, t int, base, index string, disp int) []byte {
	b, i := general[base], general[index]
	rest := []byte{byte(2<<6 | t<<3 | 4), byte(i&7<<3 | b&7)}
	return vex(pp, 0x4B, 0, b, i, binary.LittleEndian.AppendUint32(rest, uint32(disp))...)
}

func (f *file) tileLoad(base, index string, disp, t int) {
	f.bytesOf(tiles(ppF2, t, base, index, disp), "TILELOADD %d(%s)(%s*1), TMM%d", disp, base, index, t)
}

func (f *file) tileStore(t int, base, index string, disp int) {
	f.bytesOf(tiles(ppF3, t, base, index, disp), "TILESTORED TMM%d, %d(%s)(%s*1)", t, disp, base, index)
}

func tilezero(t int) []byte         { return vex(ppF2, 0x49, 0, 0, 0, byte(3<<6|t<<3)) }
func tdpbf16ps(b, a, c int) []byte  { return vex(ppF3, 0x5C, b, 0, 0, byte(3<<6|c<<3|a)) }
func tilerelease() []byte           { return vex(0, 0x49, 0, 0, 0, 3<<6) }
func ldtilecfg(base string) []byte  { return vex(0, 0x49, 0, general[base], 0, byte(general[base]&7)) }
func (f *file) tileZero(t int)      { f.bytesOf(tilezero(t), "TILEZERO TMM%d", t) }
func (f *file) tileRelease()        { f.bytesOf(tilerelease(), "TILERELEASE") }
func (f *file) tileConfig(b string) { f.bytesOf(ldtilecfg(b), "LDTILECFG (%s)", b) }

// tileDot adds to tile c the product of tiles a and b, of pairs.
func (f *file) tileDot(b, a, c int) {
	f.bytesOf(tdpbf16ps(b, a, c), "TDPBF16PS TMM%d, TMM%d, TMM%d", b, a, c)
}
