package main

import "fmt"

// tile writes the register tile of a matrix product: rows ≤ f.rows rows and cols ≤ 2 registers columns of
//
//	C = A B, or C += A B if add ≠ 0,
//
// with A(r, l) at a + r·rs + l·ks, row l of B at b + l·2 registers, and row r of C at c + r·cs; all strides in bytes.
// Every element of C is one chain of fused multiply-adds in the order of l, at any tile shape and however a caller cuts
// l. B's rows are padded to their full width; C is touched only inside cols. In bfloat16 l counts pairs: A(r, l) and an
// element of B are two numbers, and a link of the chain is a VDPBF16PS.
func tile(f *file) {
	f.begin("tile"+f.name, "rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int",
		"R12 CX SI AX BX DI DX R13")
	if f.wide() {
		f.in("MOVQ cols+64(FP), R8")
		f.in("MOVL $-1, R9")
		f.in("BZHIL R8, R9, R9")
		f.in("KMOVW R9, K1")
		f.in("SHRL $16, R9")
		f.in("KMOVW R9, K2")
	}
	f.tiles(numbers{"S", "add+72(FP)", "BX", func(n int, load bool) { f.move(n, load) }})
}

// numbers are what the tiles of float32 and of float64 products differ in.
type numbers struct {
	size string                 // suffix of instructions
	add  string                 // the argument
	next string                 // how far apart A(r, l) and A(r, l+1) are
	move func(n int, load bool) // loads or stores n rows of C
}

// tiles writes those of 1 to f.rows rows. R12 has the rows.
func (f *file) tiles(t numbers) {
	for r := f.stride(); r < f.rows; r += f.stride() {
		last := f.pointer(r - 1)
		if f.arm {
			f.in("LEAQ (%s)(AX*1), %s", last, f.pointer(r))
			continue
		}
		f.in("LEAQ (%s)(AX*2), %s", last, f.pointer(r))
		f.in("ADDQ AX, %s", f.pointer(r))
	}
	for r := f.rows; r > 1; r-- {
		f.in("CMPQ R12, $%d", r)
		f.in("JEQ rows%d", r)
	}
	for r := 1; r <= f.rows; r++ {
		f.tileRows(r, t)
	}
}

// copies writes the two packings: rows of two registers (panel) and rows of as many numbers as a tile has rows (left),
// from a matrix whose rows are stride bytes apart.
func copies(f *file) {
	f.rowCopy("panel", 2*f.bytes(), func(from, to string) {
		for h := range 2 {
			f.in("VMOVUPS %d(%s), %s", h*f.bytes(), from, f.v(h))
		}
		for h := range 2 {
			f.in("VMOVUPS %s, %d(%s)", f.v(h), h*f.bytes(), to)
		}
	})
	f.rowCopy("left", 4*f.rows, func(from, to string) {
		if f.wide() {
			f.load("("+from+")", "Z0", 0, true)
			f.store("Z0", "("+to+")", 0, true)
			return
		}
		f.in("VMOVUPS (%s), X0", from)
		f.in("VMOVSD 16(%s), X1", from)
		f.in("VMOVUPS X0, (%s)", to)
		f.in("VMOVSD X1, 16(%s)", to)
	})
}

func (f *file) rowCopy(name string, width int, row func(from, to string)) {
	f.begin(name+f.name, "dst, src *float32, rows, stride int", "DI SI CX BX")
	if f.wide() {
		f.in("MOVL $%d, AX", 1<<f.rows-1)
		f.in("KMOVW AX, K1")
	}
	f.p("loop:")
	row("SI", "DI")
	f.in("ADDQ BX, SI")
	f.in("ADDQ $%d, DI", width)
	f.in("DECQ CX")
	f.in("JNZ loop")
	f.end()
}

// stride is how many rows of A share a pointer: x86 addresses the next two rows by one and two strides. NEON has a
// pointer to each row and an offset, R15, that all rows share.
func (f *file) stride() int {
	if f.arm {
		return 1
	}
	return 3
}

// pointer is the register that points to row r of A, or to one of the two rows before it.
func (f *file) pointer(r int) string {
	return []string{"SI", "R8", "R9", "R10", "R11", "R14"}[r/f.stride()]
}

// tileRows writes the tile of n rows; registers 2r and 2r+1 sum row r.
func (f *file) tileRows(n int, t numbers) {
	b0, b1, x := f.v(2*f.rows), f.v(2*f.rows+1), 2*f.rows+2
	f.p("")
	f.p("rows%d:", n)
	f.in("CMPQ %s, $0", t.add)
	f.in("JNE load%d", n)
	for i := range 2 * n {
		f.zero(i)
	}
	f.in("JMP start%d", n)
	f.p("load%d:", n)
	t.move(n, true)
	f.p("start%d:", n)
	f.in("TESTQ CX, CX")
	f.in("JZ store%d", n)
	if f.arm {
		f.in("XORQ R15, R15")
	}
	f.in("PCALIGN $32")
	f.p("loop%d:", n)
	f.in("VMOVUP%s (DI), %s", t.size, b0)
	f.in("VMOVUP%s %d(DI), %s", t.size, f.bytes(), b1)
	for r := range n {
		at := fmt.Sprintf("(%s)", f.pointer(r))
		switch {
		case f.arm:
			at += "(R15*1)"
		case r%3 > 0:
			at += fmt.Sprintf("(AX*%d)", r%3)
		}
		f.in("VBROADCASTS%s %s, %s", t.size, at, f.v(x+r%2))
		f.multiply(t.size, 2*f.rows, x+r%2, 2*r)
		f.multiply(t.size, 2*f.rows+1, x+r%2, 2*r+1)
	}
	if f.arm {
		f.in("ADDQ %s, R15", t.next)
	} else {
		for r := 0; r < n; r += 3 {
			f.in("ADDQ %s, %s", t.next, f.pointer(r))
		}
	}
	f.in("ADDQ $%d, DI", 2*f.bytes())
	f.in("DECQ CX")
	f.in("JNZ loop%d", n)
	f.p("store%d:", n)
	t.move(n, false)
	f.end()
}

// multiply adds the product of registers b and a to register c, of numbers of a size.
func (f *file) multiply(size string, b, a, c int) {
	switch {
	case f.arm:
		f.multiplyElement(size, b, a, c)
	case f.pairs:
		f.dotPairs(b, a, c)
	default:
		f.in("VFMADD231P%s %s, %s, %s", size, f.v(b), f.v(a), f.v(c))
	}
}

// zero clears a register.
func (f *file) zero(i int) {
	if f.wide() {
		f.in("VPXORD Z%[1]d, Z%[1]d, Z%[1]d", i)
	} else {
		f.in("VXORPS Y%[1]d, Y%[1]d, Y%[1]d", i)
	}
}

// move loads or stores cols columns of n rows of C. AVX2's masked stores are
// slow on some processors, so full tiles have a way of their own.
func (f *file) move(n int, load bool) {
	what := "store"
	if load {
		what = "load"
	}
	rows := func(masked bool) {
		f.in("MOVQ DX, R12")
		for r := range n {
			for h := range 2 {
				at, acc := fmt.Sprintf("%d(R12)", h*f.bytes()), f.v(2*r+h)
				if load {
					f.load(at, acc, h, masked)
				} else {
					f.store(acc, at, h, masked)
				}
			}
			if r+1 < n {
				f.in("ADDQ R13, R12")
			}
		}
	}
	if f.wide() || f.arm { // NEON gets full tiles alone
		rows(f.wide())
		return
	}
	f.in("CMPQ cols+64(FP), $%d", 2*f.lanes)
	f.in("JNE %spart%d", what, n)
	rows(false)
	f.in("JMP %sdone%d", what, n)
	f.p("%spart%d:", what, n)
	f.in("MOVQ $%d, R12", 2*f.lanes)
	f.in("SUBQ cols+64(FP), R12")
	f.in("LEAQ tail<>(SB), AX")
	f.in("VMOVUPS (AX)(R12*4), %s", f.mask(0))
	f.in("VMOVUPS %d(AX)(R12*4), %s", f.bytes(), f.mask(1))
	rows(true)
	f.in("MOVQ rs+24(FP), AX")
	f.p("%sdone%d:", what, n)
}

// mask is the register that masks half h of a partial row.
func (f *file) mask(h int) string {
	if f.wide() {
		return fmt.Sprintf("K%d", 1+h)
	}
	return fmt.Sprintf("Y%d", 15-h)
}

func (f *file) load(at, reg string, h int, masked bool) {
	switch {
	case !masked || f.arm:
		f.in("VMOVUPS %s, %s", at, reg)
	case f.wide():
		f.in("VMOVUPS.Z %s, %s, %s", at, f.mask(h), reg)
	default:
		f.in("VMASKMOVPS %s, %s, %s", at, f.mask(h), reg)
	}
}

func (f *file) store(reg, at string, h int, masked bool) {
	switch {
	case !masked || f.arm:
		f.in("VMOVUPS %s, %s", reg, at)
	case f.wide():
		f.in("VMOVUPS %s, %s, %s", reg, f.mask(h), at)
	default:
		f.in("VMASKMOVPS %s, %s, %s", reg, f.mask(h), at)
	}
}

// amx writes the product of 32 rows with panels of 32 columns in tiles:
//
//	C = A B, or C += A B if add ≠ 0.
//
// A has 32 rows, stride rs, of 16·steps pairs; a panel of B 16·steps rows of 32 pairs, and panels are bstep apart; C is
// 32 × 32·panels, stride cs. Distances are in words of 4 bytes. With parts = 3 each operand has a remainder, at a +
// arest and b + brest, and the product is A_rest B + A B_rest + A B, summed in that order.
//
// Tiles 0–3 hold C, 4 and 5 rows 0–15 and 16–31 of A, 6 and 7 columns 0–15 and
// 16–31 of B. They are configured and released here: Go never sees them in use.
func amx(f *file) {
	f.begin("stripAMX", "cfg *[64]byte, steps int, a *uint32, rs, arest int, b *uint32, bstep, brest int, "+
		"c *float32, cs, panels, add, parts int", "AX")
	f.bytesOf(ldtilecfg("AX"), "LDTILECFG (AX)")
	f.in("MOVQ rs+24(FP), R8")
	f.in("SHLQ $2, R8")
	f.in("MOVQ $%d, R9", 8*f.lanes)
	f.in("MOVQ c+64(FP), DX")
	f.in("MOVQ cs+72(FP), R10")
	f.in("SHLQ $2, R10")
	f.in("MOVQ panels+80(FP), R12")
	f.in("XORQ R13, R13") // bytes from b to the panel
	f.p("panel:")
	f.in("MOVQ R10, R11")
	f.in("SHLQ $4, R11")
	f.in("ADDQ DX, R11")
	c := func(move func(t int, base string, disp int)) {
		move(0, "DX", 0)
		move(1, "DX", 64)
		move(2, "R11", 0)
		move(3, "R11", 64)
	}
	f.in("CMPQ add+88(FP), $0")
	f.in("JEQ zero")
	c(func(t int, base string, disp int) { f.tileLoad(base, "R10", disp, t) })
	f.in("JMP sum")
	f.p("zero:")
	for t := range 4 {
		f.bytesOf(tilezero(t), "TILEZERO TMM%d", t)
	}
	f.p("sum:")
	f.in("MOVQ parts+96(FP), BX")
	f.p("part:")
	f.in("MOVQ a+16(FP), SI")
	f.in("MOVQ b+40(FP), DI")
	f.in("ADDQ R13, DI")
	f.in("CMPQ BX, $3")
	f.in("JNE second")
	f.in("MOVQ arest+32(FP), AX")
	f.in("LEAQ (SI)(AX*4), SI")
	f.p("second:")
	f.in("CMPQ BX, $2")
	f.in("JNE first")
	f.in("MOVQ brest+56(FP), AX")
	f.in("LEAQ (DI)(AX*4), DI")
	f.p("first:")
	f.in("MOVQ R8, AX")
	f.in("SHLQ $4, AX")
	f.in("ADDQ SI, AX")
	f.in("MOVQ steps+8(FP), CX")
	f.p("loop:")
	f.tileLoad("DI", "R9", 0, 6)
	f.tileLoad("SI", "R8", 0, 4)
	f.tileDot(6, 4, 0)
	f.tileLoad("DI", "R9", 64, 7)
	f.tileDot(7, 4, 1)
	f.tileLoad("AX", "R8", 0, 5)
	f.tileDot(6, 5, 2)
	f.tileDot(7, 5, 3)
	f.in("ADDQ $64, SI")
	f.in("ADDQ $64, AX")
	f.in("ADDQ $%d, DI", 16*8*f.lanes)
	f.in("DECQ CX")
	f.in("JNZ loop")
	f.in("DECQ BX")
	f.in("JNZ part")
	c(func(t int, base string, disp int) { f.tileStore(t, base, "R10", disp) })
	f.in("ADDQ $128, DX")
	f.in("MOVQ bstep+48(FP), AX")
	f.in("LEAQ (R13)(AX*4), R13")
	f.in("DECQ R12")
	f.in("JNZ panel")
	f.bytesOf(tilerelease(), "TILERELEASE")
	f.end()
}
