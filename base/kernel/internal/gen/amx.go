package main

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
	f.tileConfig("AX")
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
		f.tileZero(t)
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
	f.tileRelease()
	f.end()
}

// peakTiles multiplies tiles n times, four of them at once: 4 × 16 × 16 × 32 × 2 operations each time.
func peakTiles(f *file) {
	f.begin("peakAMX", "cfg *[64]byte, n int", "AX")
	f.tileConfig("AX")
	f.in("MOVQ n+8(FP), CX")
	for t := range 8 {
		f.tileZero(t)
	}
	f.p("loop:")
	for t := range 4 {
		f.tileDot(6+t%2, 4+t/2, t)
	}
	f.in("DECQ CX")
	f.in("JNZ loop")
	f.tileRelease()
	f.end()
}
