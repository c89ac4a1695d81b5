package main

// pairs writes what lays float32 numbers out as pairs of bfloat16, lane for lane what a float32 product reads.
// Functions with the suffix Rest take the remainder of each number, x − bfloat16(x), in its place.
func pairs(f *file) {
	for _, rest := range []bool{false, true} {
		narrowRow(f, rest)
		pairRows(f, rest)
	}
	turn(f)
}

func suffix(rest bool) string {
	if rest {
		return "Rest"
	}
	return ""
}

// remainder sets register x to x − bfloat16(x), exactly; register t is lost.
func (f *file) remainder(x, t int) {
	f.narrow(x, t)
	f.in("VPMOVZXWD Y%d, Z%d", t, t)
	f.in("VPSLLD $16, Z%d, Z%d", t, t)
	f.in("VSUBPS Z%d, Z%d, Z%d", t, x, x)
}

// narrowRow rounds n > 0 numbers to bfloat16, 32 at a time; zeros follow up to a multiple of 32.
func narrowRow(f *file, rest bool) {
	f.begin("narrow"+suffix(rest), "dst *uint32, src *float32, n int", "DI SI CX")
	step := func() {
		if rest {
			f.remainder(0, 2)
			f.remainder(1, 3)
		}
		f.narrow2(0, 1, 0)
		f.in("VMOVUPS Z0, (DI)")
	}
	f.in("SUBQ $32, CX")
	f.in("JLT last")
	f.p("loop:")
	f.in("VMOVUPS (SI), Z0")
	f.in("VMOVUPS 64(SI), Z1")
	step()
	f.in("ADDQ $128, SI")
	f.in("ADDQ $64, DI")
	f.in("SUBQ $32, CX")
	f.in("JGE loop")
	f.p("last:")
	f.in("ADDQ $32, CX")
	f.in("JZ done")
	f.in("MOVL $-1, AX")
	f.in("BZHIL CX, AX, AX")
	f.in("KMOVW AX, K1")
	f.in("SHRL $16, AX")
	f.in("KMOVW AX, K2")
	f.in("VMOVUPS.Z (SI), K1, Z0")
	f.in("VMOVUPS.Z 64(SI), K2, Z1")
	step()
	f.p("done:")
	f.end()
}

// pairRows rounds n > 0 rows of cols ≤ 16 numbers, stride apart, and writes rows 2l and 2l+1 woven, (a_2l,0, a_2l+1,0,
// a_2l,1, …), as row l of 16 pairs, rows step words apart. Zeros stand for what the matrix does not have.
func pairRows(f *file, rest bool) {
	f.begin("pairRows"+suffix(rest), "dst *uint32, step int, src *float32, stride, n, cols int", "DI DX SI BX CX AX")
	f.in("SHLQ $2, DX")
	f.in("SHLQ $2, BX")
	f.in("MOVL $-1, R8")
	f.in("BZHIL AX, R8, R8")
	f.in("KMOVW R8, K1")
	f.in("VMOVUPS weave<>(SB), Z4")
	step := func() {
		if rest {
			f.remainder(0, 2)
			f.remainder(1, 3)
		}
		f.narrow2(0, 1, 0)
		f.in("VPERMW Z0, Z4, Z0")
		f.in("VMOVUPS Z0, (DI)")
	}
	f.in("SUBQ $2, CX")
	f.in("JLT last")
	f.p("loop:")
	f.in("VMOVUPS.Z (SI), K1, Z0")
	f.in("VMOVUPS.Z (SI)(BX*1), K1, Z1")
	step()
	f.in("LEAQ (SI)(BX*2), SI")
	f.in("ADDQ DX, DI")
	f.in("SUBQ $2, CX")
	f.in("JGE loop")
	f.p("last:")
	f.in("ADDQ $2, CX")
	f.in("JZ done")
	f.in("VMOVUPS.Z (SI), K1, Z0")
	f.in("VPXORD Z1, Z1, Z1")
	step()
	f.p("done:")
	f.end()
}

// turn transposes a 16×16 block of 32-bit words, rows stride words apart and in the result step, in three stages: words
// within quarters of four registers, then quarters between registers four apart, twice.
func turn(f *file) {
	f.begin("turn", "dst *uint32, step int, src *uint32, stride int", "DI DX SI BX")
	f.in("SHLQ $2, DX")
	f.in("SHLQ $2, BX")
	for i := range 16 {
		f.in("VMOVUPS (SI), Z%d", i)
		f.in("ADDQ BX, SI")
	}
	// Quarter q of register 4g+j becomes column 4q+j of rows 4g … 4g+3.
	for g := 0; g < 16; g += 4 {
		for h, op := range []string{"VPUNPCKLDQ", "VPUNPCKHDQ"} {
			f.in("%s Z%d, Z%d, Z%d", op, g+1, g, 16+h)
			f.in("%s Z%d, Z%d, Z%d", op, g+3, g+2, 18+h)
		}
		for h := range 2 {
			f.in("VPUNPCKLQDQ Z%d, Z%d, Z%d", 18+h, 16+h, g+2*h)
			f.in("VPUNPCKHQDQ Z%d, Z%d, Z%d", 18+h, 16+h, g+2*h+1)
		}
	}
	// Row 4q+j of the result is quarter q of registers j, 4+j, 8+j, 12+j.
	const even, odd = 0x88, 0xDD // quarters 0 and 2, 1 and 3, of two registers
	for j := range 4 {
		for h, pick := range []int{even, odd} {
			f.in("VSHUFI32X4 $%d, Z%d, Z%d, Z%d", pick, 4+j, j, 16+h)
			f.in("VSHUFI32X4 $%d, Z%d, Z%d, Z%d", pick, 12+j, 8+j, 18+h)
		}
		for q := range 4 {
			f.in("VSHUFI32X4 $%d, Z%d, Z%d, Z%d", []int{even, odd}[q/2], 18+q%2, 16+q%2, 4*q+j)
		}
	}
	for i := range 16 {
		f.in("VMOVUPS Z%d, (DI)", i)
		f.in("ADDQ DX, DI")
	}
	f.end()
}

// weave writes the order in which VPERMW weaves the halves of a register.
func weave(f *file) {
	for i := range 16 {
		f.p("DATA weave<>+%d(SB)/4, $0x%08x", 4*i, (16+i)<<16|i)
	}
	f.p("GLOBL weave<>(SB), RODATA|NOPTR, $64")
	f.p("")
}
