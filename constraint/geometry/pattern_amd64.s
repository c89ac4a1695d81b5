#include "go_asm.h"
#include "textflag.h"

// The loops of pattern.go in AVX2, a vec in a register; base/kernel/internal/gen translates them to NEON. Products and sums are rounded one by one, in the order of the
// loops in Go. Indices of vecs are turned into offsets: 32 bytes each.

// func factorVectors(p *pattern, l, inverse, u, y *vec, tolerance float64, least *vec)
//
// R8 p, DI l, R9 inverse, SI u, DX y, R10 k; Y0 d, Y13 the least, Y14 ones, Y12 the tolerance.
TEXT ·factorVectors(SB), NOSPLIT, $0-56
	MOVQ p+0(FP), R8
	MOVQ l+8(FP), DI
	MOVQ inverse+16(FP), R9
	MOVQ u+24(FP), SI
	MOVQ y+32(FP), DX
	VBROADCASTSD tolerance+40(FP), Y12
	MOVQ $0x3FF0000000000000, AX
	MOVQ AX, X14
	VBROADCASTSD X14, Y14
	VMOVUPD Y14, Y13
	XORQ R10, R10

row:
	CMPQ R10, (pattern_order+8)(R8)
	JGE  finished
	VXORPD Y0, Y0, Y0
	MOVQ pattern_order(R8), AX
	MOVLQSX (AX)(R10*4), AX
	MOVQ pattern_start(R8), BX
	MOVLQSX (BX)(AX*4), CX
	MOVLQSX 4(BX)(AX*4), R11
	SHLQ $5, CX
	SHLQ $5, R11
	JMP  squaresTest

squares:
	VMOVUPD (SI)(CX*1), Y1
	VMULPD Y1, Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ $32, CX

squaresTest:
	CMPQ CX, R11
	JLT  squares

	// y[rj[t]] = Σ u[a] u[b]; R11 t, R12 its end
	MOVQ pattern_rp(R8), BX
	MOVLQSX (BX)(R10*4), R11
	MOVLQSX 4(BX)(R10*4), R12
	MOVQ pattern_pairs(R8), R14
	MOVQ pattern_ps(R8), R15
	MOVQ pattern_rj(R8), AX
	JMP  elementsTest

elements:
	MOVLQSX (R15)(R11*4), CX
	MOVLQSX 4(R15)(R11*4), R13
	VXORPD Y1, Y1, Y1
	JMP  pairsTest

pairs:
	MOVLQSX (R14)(CX*8), BX
	SHLQ $5, BX
	VMOVUPD (SI)(BX*1), Y2
	MOVLQSX 4(R14)(CX*8), BX
	SHLQ $5, BX
	VMULPD (SI)(BX*1), Y2, Y2
	VADDPD Y2, Y1, Y1
	INCQ CX

pairsTest:
	CMPQ CX, R13
	JLT  pairs
	MOVLQSX (AX)(R11*4), BX
	SHLQ $5, BX
	VMOVUPD Y1, (DX)(BX*1)
	INCQ R11

elementsTest:
	CMPQ R11, R12
	JLT  elements

	MOVQ pattern_rp(R8), BX
	MOVLQSX (BX)(R10*4), R11

column:
	CMPQ R11, R12
	JGE  pivot
	MOVQ pattern_rj(R8), BX
	MOVLQSX (BX)(R11*4), AX // j
	MOVQ pattern_lp(R8), BX
	MOVLQSX (BX)(AX*4), R13 // from
	MOVLQSX 4(BX)(AX*4), BX // where column j+1 begins
	MOVQ pattern_rx(R8), CX
	MOVLQSX (CX)(R11*4), R14 // to
	MOVQ pattern_twin(R8), R15
	MOVBLZX (R15)(AX*1), R15
	SHLQ $5, AX
	VMOVUPD (DX)(AX*1), Y1 // v
	INCQ R11
	TESTL R15, R15
	JEQ  single
	CMPQ R11, R12
	JGE  single

	// column j+1 has the rows of column j
	INCQ R11
	SHLQ $5, BX
	MOVQ pattern_li(R8), CX
	LEAQ 4(CX)(R13*4), CX // rows from + 1, …
	SHLQ $5, R13
	SHLQ $5, R14
	VMULPD (DI)(R13*1), Y1, Y3
	VMOVUPD 32(DX)(AX*1), Y2
	VSUBPD Y3, Y2, Y2 // w
	ADDQ $32, R13
	JMP  twinsTest

twins:
	VMULPD (DI)(R13*1), Y1, Y3
	VMULPD (DI)(BX*1), Y2, Y4
	VADDPD Y4, Y3, Y3
	MOVLQSX (CX), R15
	SHLQ $5, R15
	VMOVUPD (DX)(R15*1), Y5
	VSUBPD Y3, Y5, Y5
	VMOVUPD Y5, (DX)(R15*1)
	ADDQ $4, CX
	ADDQ $32, R13
	ADDQ $32, BX

twinsTest:
	CMPQ R13, R14
	JLT  twins
	VMULPD (R9)(AX*1), Y1, Y3
	VMULPD 32(R9)(AX*1), Y2, Y4
	VMOVUPD Y3, (DI)(R14*1)
	VMOVUPD Y4, (DI)(BX*1) // where the loop left it: next
	VMULPD Y1, Y3, Y3
	VMULPD Y2, Y4, Y4
	VADDPD Y4, Y3, Y3
	VSUBPD Y3, Y0, Y0
	JMP  column

single:
	MOVQ pattern_li(R8), CX
	LEAQ (CX)(R13*4), CX
	SHLQ $5, R13
	SHLQ $5, R14
	JMP  singleTest

singles:
	VMULPD (DI)(R13*1), Y1, Y3
	MOVLQSX (CX), R15
	SHLQ $5, R15
	VMOVUPD (DX)(R15*1), Y5
	VSUBPD Y3, Y5, Y5
	VMOVUPD Y5, (DX)(R15*1)
	ADDQ $4, CX
	ADDQ $32, R13

singleTest:
	CMPQ R13, R14
	JLT  singles
	VMULPD (R9)(AX*1), Y1, Y3
	VMOVUPD Y3, (DI)(R14*1)
	VMULPD Y1, Y3, Y3
	VSUBPD Y3, Y0, Y0
	JMP  column

pivot:
	VCMPPD $0x1D, Y12, Y0, Y1 // d ≥ tolerance
	VDIVPD Y0, Y14, Y2
	VANDPD Y1, Y2, Y2
	MOVQ R10, AX
	SHLQ $5, AX
	VMOVUPD Y2, (R9)(AX*1)
	VBLENDVPD Y1, Y0, Y14, Y2
	VMINPD Y2, Y13, Y13
	INCQ R10
	JMP  row

finished:
	MOVQ least+48(FP), AX
	VMOVUPD Y13, (AX)
	VZEROUPPER
	RET

// func solveVectors(p *pattern, l, r, inverse, z *vec)
//
// R8 p, DI l, SI r, R9 inverse, DX z, R10 k, R12 m, R15 lp, R11 twin, R14 li
TEXT ·solveVectors(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), R8
	MOVQ l+8(FP), DI
	MOVQ r+16(FP), SI
	MOVQ inverse+24(FP), R9
	MOVQ z+32(FP), DX
	MOVQ (pattern_order+8)(R8), R12
	MOVQ pattern_lp(R8), R15
	MOVQ pattern_twin(R8), R11
	MOVQ pattern_li(R8), R14
	XORQ R10, R10

forward:
	CMPQ R10, R12
	JGE  turn
	MOVLQSX (R15)(R10*4), AX
	MOVLQSX 4(R15)(R10*4), BX
	MOVQ R10, CX
	SHLQ $5, CX
	VMOVUPD (DX)(CX*1), Y1
	LEAQ (R14)(AX*4), R13
	SHLQ $5, AX
	SHLQ $5, BX
	CMPB (R11)(R10*1), $0
	JEQ  forwardSingleTest
	VMULPD (DI)(AX*1), Y1, Y3
	VMOVUPD 32(DX)(CX*1), Y2
	VSUBPD Y3, Y2, Y2
	VMOVUPD Y2, 32(DX)(CX*1)
	ADDQ $32, AX
	ADDQ $4, R13
	MOVQ BX, CX // of column k+1
	INCQ R10
	JMP  forwardTwinTest

forwardTwin:
	VMULPD (DI)(AX*1), Y1, Y3
	VMULPD (DI)(CX*1), Y2, Y4
	VADDPD Y4, Y3, Y3
	MOVLQSX (R13), R8
	SHLQ $5, R8
	VMOVUPD (DX)(R8*1), Y5
	VSUBPD Y3, Y5, Y5
	VMOVUPD Y5, (DX)(R8*1)
	ADDQ $4, R13
	ADDQ $32, AX
	ADDQ $32, CX

forwardTwinTest:
	CMPQ AX, BX
	JLT  forwardTwin
	INCQ R10
	JMP  forward

forwardSingle:
	VMULPD (DI)(AX*1), Y1, Y3
	MOVLQSX (R13), R8
	SHLQ $5, R8
	VMOVUPD (DX)(R8*1), Y5
	VSUBPD Y3, Y5, Y5
	VMOVUPD Y5, (DX)(R8*1)
	ADDQ $4, R13
	ADDQ $32, AX

forwardSingleTest:
	CMPQ AX, BX
	JLT  forwardSingle
	INCQ R10
	JMP  forward

turn:
	MOVQ R12, R10

backward:
	DECQ R10
	JLT  solved
	MOVLQSX (R15)(R10*4), AX
	MOVLQSX 4(R15)(R10*4), BX
	MOVQ R10, CX
	SHLQ $5, CX
	VMOVUPD (DX)(CX*1), Y1
	VMULPD (R9)(CX*1), Y1, Y1 // s
	LEAQ (R14)(AX*4), R13
	SHLQ $5, BX
	TESTQ R10, R10
	JEQ  backwardSingleStart
	CMPB -1(R11)(R10*1), $0
	JEQ  backwardSingleStart
	MOVLQSX -4(R15)(R10*4), R12 // where column k−1 begins
	SHLQ $5, R12
	VMOVUPD -32(DX)(CX*1), Y2
	VMULPD -32(R9)(CX*1), Y2, Y2 // v
	VMOVUPD (SI)(R12*1), Y6
	ADDQ $32, R12
	SHLQ $5, AX
	JMP  backwardTwinTest

backwardTwin:
	MOVLQSX (R13), R8
	SHLQ $5, R8
	VMOVUPD (DX)(R8*1), Y5
	VMULPD (SI)(R12*1), Y5, Y3
	VMULPD (SI)(AX*1), Y5, Y4
	VSUBPD Y3, Y2, Y2
	VSUBPD Y4, Y1, Y1
	ADDQ $4, R13
	ADDQ $32, R12
	ADDQ $32, AX

backwardTwinTest:
	CMPQ AX, BX
	JLT  backwardTwin
	VMULPD Y6, Y1, Y3
	VSUBPD Y3, Y2, Y2
	VMOVUPD Y1, (DX)(CX*1)
	VMOVUPD Y2, -32(DX)(CX*1)
	DECQ R10
	JMP  backward

backwardSingleStart:
	SHLQ $5, AX
	JMP  backwardSingleTest

backwardSingle:
	MOVLQSX (R13), R8
	SHLQ $5, R8
	VMOVUPD (DX)(R8*1), Y5
	VMULPD (SI)(AX*1), Y5, Y3
	VSUBPD Y3, Y1, Y1
	ADDQ $4, R13
	ADDQ $32, AX

backwardSingleTest:
	CMPQ AX, BX
	JLT  backwardSingle
	VMOVUPD Y1, (DX)(CX*1)
	JMP  backward

solved:
	VZEROUPPER
	RET

// func timesVectors(p *pattern, z, u, x, inverse, largest *vec)
TEXT ·timesVectors(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), R8
	MOVQ z+8(FP), DI
	MOVQ u+16(FP), SI
	MOVQ x+24(FP), DX
	MOVQ inverse+32(FP), R9
	MOVQ pattern_order(R8), R11
	MOVQ (pattern_order+8)(R8), R12
	MOVQ pattern_start(R8), R13
	MOVQ pattern_col(R8), R14
	VXORPD Y0, Y0, Y0 // the largest
	VXORPD Y14, Y14, Y14
	MOVQ $0x7FFFFFFFFFFFFFFF, AX
	MOVQ AX, X12
	VBROADCASTSD X12, Y12
	XORQ R10, R10
	JMP  timesTest

timesRow:
	MOVLQSX (R11)(R10*4), BX
	MOVLQSX (R13)(BX*4), AX
	MOVLQSX 4(R13)(BX*4), BX
	LEAQ (R14)(AX*4), CX
	SHLQ $5, AX
	SHLQ $5, BX
	VXORPD Y1, Y1, Y1
	JMP  dotTest

dot:
	MOVLQSX (CX), R8
	SHLQ $5, R8
	VMOVUPD (SI)(AX*1), Y2
	VMULPD (DX)(R8*1), Y2, Y2
	VADDPD Y2, Y1, Y1
	ADDQ $4, CX
	ADDQ $32, AX

dotTest:
	CMPQ AX, BX
	JLT  dot
	MOVQ R10, AX
	SHLQ $5, AX
	VMOVUPD (R9)(AX*1), Y2
	VCMPPD $0x04, Y14, Y2, Y2 // inverse ≠ 0
	VANDPD Y2, Y1, Y1
	VMOVUPD Y1, (DI)(AX*1)
	VANDPD Y12, Y1, Y1
	VMAXPD Y1, Y0, Y0
	INCQ R10

timesTest:
	CMPQ R10, R12
	JLT  timesRow
	MOVQ largest+40(FP), AX
	VMOVUPD Y0, (AX)
	VZEROUPPER
	RET

// func subtractTransposedVectors(p *pattern, x, u, z *vec)
TEXT ·subtractTransposedVectors(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), R8
	MOVQ x+8(FP), DX
	MOVQ u+16(FP), SI
	MOVQ z+24(FP), DI
	MOVQ pattern_order(R8), R11
	MOVQ (pattern_order+8)(R8), R12
	MOVQ pattern_start(R8), R13
	MOVQ pattern_col(R8), R14
	XORQ R10, R10
	JMP  addTest

addRow:
	MOVLQSX (R11)(R10*4), BX
	MOVLQSX (R13)(BX*4), AX
	MOVLQSX 4(R13)(BX*4), BX
	LEAQ (R14)(AX*4), CX
	MOVQ R10, R9
	SHLQ $5, R9
	SHLQ $5, AX
	SHLQ $5, BX
	VMOVUPD (DI)(R9*1), Y1
	JMP  axpyTest

axpy:
	MOVLQSX (CX), R8
	SHLQ $5, R8
	VMULPD (SI)(AX*1), Y1, Y2
	VMOVUPD (DX)(R8*1), Y3
	VSUBPD Y2, Y3, Y3
	VMOVUPD Y3, (DX)(R8*1)
	ADDQ $4, CX
	ADDQ $32, AX

axpyTest:
	CMPQ AX, BX
	JLT  axpy
	INCQ R10

addTest:
	CMPQ R10, R12
	JLT  addRow
	VZEROUPPER
	RET
