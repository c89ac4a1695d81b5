package amxtest

import "encoding/binary"

// Mandatory prefixes, as the field pp of VEX has them.
const (
	prefixNone = 0
	prefixF3   = 2
	prefixF2   = 3
)

// An instruction is one of those that are emulated, decoded.
type instruction struct {
	op, pp   byte
	register bool // the operand rm is a register
	reg, rm  int
	v        int
	base     int // general registers of an address; index −1 without
	index    int
	disp     int64
	length   int
}

// decode decodes a three-byte VEX instruction of map 0F38, or reports that the
// code holds none. Addresses without a base or relative to RIP are none here.
func decode(code []byte) (in instruction, ok bool) {
	if len(code) < 15 || code[0] != 0xC4 || code[1]&31 != 2 || code[2]&0x84 != 0 { // W and L are 0
		return in, false
	}
	r, x, b := int(^code[1]>>7&1), int(^code[1]>>6&1), int(^code[1]>>5&1)
	modrm := code[4]
	in = instruction{
		op: code[3], pp: code[2] & 3, v: int(^code[2] >> 3 & 15), index: -1, length: 5,
		reg: r<<3 | int(modrm>>3&7), rm: b<<3 | int(modrm&7), register: modrm>>6 == 3,
	}
	if in.register {
		return in, true
	}
	in.base = in.rm
	if modrm&7 == 4 {
		sib := code[5]
		in.length++
		in.base = b<<3 | int(sib&7)
		if i := x<<3 | int(sib>>3&7); i != 4 {
			in.index = i
		}
		if sib>>6 != 0 {
			return in, false
		}
	}
	switch modrm >> 6 {
	case 0:
		if in.base&7 == 5 {
			return in, false
		}
	case 1:
		in.disp = int64(int8(code[in.length]))
		in.length++
	case 2:
		in.disp = int64(int32(binary.LittleEndian.Uint32(code[in.length:])))
		in.length += 4
	}
	return in, true
}

// do executes the instruction, and reports whether it is one of AMX.
func (s *state) do(in instruction, general *[16]uint64, m memory) (known bool, err error) {
	addr, stride := uint64(0), int64(0)
	if !in.register {
		addr = general[in.base] + uint64(in.disp)
		if in.index >= 0 {
			stride = int64(general[in.index])
		}
	}
	if in.reg >= tiles {
		return false, nil
	}
	switch in.op {
	case 0x49:
		switch {
		case in.pp == prefixF2 && in.register && in.rm == 0:
			return true, s.zero(in.reg)
		case in.pp == prefixNone && in.register && in.reg == 0 && in.rm == 0:
			*s = state{}
			return true, nil
		case in.pp == prefixNone && !in.register && in.reg == 0:
			var c [64]byte
			if err := m.read(c[:], addr+uint64(stride), 1, len(c), 0); err != nil {
				return true, err
			}
			return true, s.configure(c)
		}
	case 0x4B:
		switch {
		case in.pp == prefixF2 && !in.register:
			return true, s.load(in.reg, m, addr, stride)
		case in.pp == prefixF3 && !in.register:
			return true, s.store(in.reg, m, addr, stride)
		}
	case 0x5C:
		if in.pp == prefixF3 && in.register && in.rm < tiles && in.v < tiles {
			return true, s.dot(in.reg, in.rm, in.v)
		}
	}
	return false, nil
}
