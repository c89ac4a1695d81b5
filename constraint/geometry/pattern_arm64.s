// Code generated from pattern_amd64.s by base/kernel/internal/gen; DO NOT EDIT.

#include "go_asm.h"
#include "textflag.h"


TEXT ·factorVectors(SB), NOSPLIT, $0-56
	MOVD p+0(FP), R6
	MOVD l+8(FP), R1
	MOVD inverse+16(FP), R7
	MOVD u+24(FP), R0
	MOVD y+32(FP), R2
	FMOVD tolerance+40(FP), F24
	WORD $0x4E080719 // dup v25.2d, v24.d[0]
	WORD $0x4E080718 // dup v24.2d, v24.d[0]
	MOVD $0x3FF0000000000000, R4
	FMOVD R4, F28
	WORD $0x4E08079D // dup v29.2d, v28.d[0]
	WORD $0x4E08079C // dup v28.2d, v28.d[0]
	WORD $0x4EBC1F9A // orr v26.16b, v28.16b, v28.16b
	WORD $0x4EBD1FBB // orr v27.16b, v29.16b, v29.16b
	MOVD $0, R8

row:
	MOVD (pattern_order+8)(R6), R14
	CMP R14, R8
	BGE finished
	WORD $0x6E201C00 // eor v0.16b, v0.16b, v0.16b
	WORD $0x6E211C21 // eor v1.16b, v1.16b, v1.16b
	MOVD pattern_order(R6), R4
	MOVW (R4)(R8<<2), R4
	MOVD pattern_start(R6), R5
	MOVW (R5)(R4<<2), R3
	ADD R4<<2, R5, R14
	MOVW 4(R14), R9
	LSL $5, R3
	LSL $5, R9
	B squaresTest

squares:
	ADD R3, R0, R14
	FLDPQ (R14), (F2, F3)
	WORD $0x6E62DC42 // fmul v2.2d, v2.2d, v2.2d
	WORD $0x6E63DC63 // fmul v3.2d, v3.2d, v3.2d
	WORD $0x4E62D400 // fadd v0.2d, v0.2d, v2.2d
	WORD $0x4E63D421 // fadd v1.2d, v1.2d, v3.2d
	ADDS $32, R3

squaresTest:
	CMP R9, R3
	BLT squares

	MOVD pattern_rp(R6), R5
	MOVW (R5)(R8<<2), R9
	ADD R8<<2, R5, R14
	MOVW 4(R14), R10
	MOVD pattern_pairs(R6), R12
	MOVD pattern_ps(R6), R13
	MOVD pattern_rj(R6), R4
	B elementsTest

elements:
	MOVW (R13)(R9<<2), R3
	ADD R9<<2, R13, R14
	MOVW 4(R14), R11
	WORD $0x6E221C42 // eor v2.16b, v2.16b, v2.16b
	WORD $0x6E231C63 // eor v3.16b, v3.16b, v3.16b
	B pairsTest

pairs:
	ADD R3<<3, R12, R14
	MOVW (R14), R5
	LSL $5, R5
	ADD R5, R0, R14
	FLDPQ (R14), (F4, F5)
	ADD R3<<3, R12, R14
	MOVW 4(R14), R5
	LSL $5, R5
	ADD R5, R0, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC84 // fmul v4.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA5 // fmul v5.2d, v5.2d, v31.2d
	WORD $0x4E64D442 // fadd v2.2d, v2.2d, v4.2d
	WORD $0x4E65D463 // fadd v3.2d, v3.2d, v5.2d
	ADDS $1, R3

pairsTest:
	CMP R11, R3
	BLT pairs
	MOVW (R4)(R9<<2), R5
	LSL $5, R5
	ADD R5, R2, R14
	FSTPQ (F2, F3), (R14)
	ADDS $1, R9

elementsTest:
	CMP R10, R9
	BLT elements

	MOVD pattern_rp(R6), R5
	MOVW (R5)(R8<<2), R9

column:
	CMP R10, R9
	BGE pivot
	MOVD pattern_rj(R6), R5
	MOVW (R5)(R9<<2), R4
	MOVD pattern_lp(R6), R5
	MOVW (R5)(R4<<2), R11
	ADD R4<<2, R5, R14
	MOVW 4(R14), R5
	MOVD pattern_rx(R6), R3
	MOVW (R3)(R9<<2), R12
	MOVD pattern_twin(R6), R13
	MOVBU (R13)(R4), R13
	LSL $5, R4
	ADD R4, R2, R14
	FLDPQ (R14), (F2, F3)
	ADDS $1, R9
	CMP $0, R13
	BEQ single
	CMP R10, R9
	BGE single

	ADDS $1, R9
	LSL $5, R5
	MOVD pattern_li(R6), R3
	ADD R11<<2, R3, R3
	ADD $4, R3
	LSL $5, R11
	LSL $5, R12
	ADD R11, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R4, R2, R14
	FLDPQ 32(R14), (F4, F5)
	WORD $0x4EE6D484 // fsub v4.2d, v4.2d, v6.2d
	WORD $0x4EE7D4A5 // fsub v5.2d, v5.2d, v7.2d
	ADDS $32, R11
	B twinsTest

twins:
	ADD R11, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R5, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC88 // fmul v8.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA9 // fmul v9.2d, v5.2d, v31.2d
	WORD $0x4E68D4C6 // fadd v6.2d, v6.2d, v8.2d
	WORD $0x4E69D4E7 // fadd v7.2d, v7.2d, v9.2d
	MOVW (R3), R13
	LSL $5, R13
	ADD R13, R2, R14
	FLDPQ (R14), (F10, F11)
	WORD $0x4EE6D54A // fsub v10.2d, v10.2d, v6.2d
	WORD $0x4EE7D56B // fsub v11.2d, v11.2d, v7.2d
	ADD R13, R2, R14
	FSTPQ (F10, F11), (R14)
	ADDS $4, R3
	ADDS $32, R11
	ADDS $32, R5

twinsTest:
	CMP R12, R11
	BLT twins
	ADD R4, R7, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R4, R7, R14
	FLDPQ 32(R14), (F30, F31)
	WORD $0x6E7EDC88 // fmul v8.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA9 // fmul v9.2d, v5.2d, v31.2d
	ADD R12, R1, R14
	FSTPQ (F6, F7), (R14)
	ADD R5, R1, R14
	FSTPQ (F8, F9), (R14)
	WORD $0x6E62DCC6 // fmul v6.2d, v6.2d, v2.2d
	WORD $0x6E63DCE7 // fmul v7.2d, v7.2d, v3.2d
	WORD $0x6E64DD08 // fmul v8.2d, v8.2d, v4.2d
	WORD $0x6E65DD29 // fmul v9.2d, v9.2d, v5.2d
	WORD $0x4E68D4C6 // fadd v6.2d, v6.2d, v8.2d
	WORD $0x4E69D4E7 // fadd v7.2d, v7.2d, v9.2d
	WORD $0x4EE6D400 // fsub v0.2d, v0.2d, v6.2d
	WORD $0x4EE7D421 // fsub v1.2d, v1.2d, v7.2d
	B column

single:
	MOVD pattern_li(R6), R3
	ADD R11<<2, R3, R3
	LSL $5, R11
	LSL $5, R12
	B singleTest

singles:
	ADD R11, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	MOVW (R3), R13
	LSL $5, R13
	ADD R13, R2, R14
	FLDPQ (R14), (F10, F11)
	WORD $0x4EE6D54A // fsub v10.2d, v10.2d, v6.2d
	WORD $0x4EE7D56B // fsub v11.2d, v11.2d, v7.2d
	ADD R13, R2, R14
	FSTPQ (F10, F11), (R14)
	ADDS $4, R3
	ADDS $32, R11

singleTest:
	CMP R12, R11
	BLT singles
	ADD R4, R7, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R12, R1, R14
	FSTPQ (F6, F7), (R14)
	WORD $0x6E62DCC6 // fmul v6.2d, v6.2d, v2.2d
	WORD $0x6E63DCE7 // fmul v7.2d, v7.2d, v3.2d
	WORD $0x4EE6D400 // fsub v0.2d, v0.2d, v6.2d
	WORD $0x4EE7D421 // fsub v1.2d, v1.2d, v7.2d
	B column

pivot:
	WORD $0x6E78E402 // fcmge v2.2d, v0.2d, v24.2d
	WORD $0x6E79E423 // fcmge v3.2d, v1.2d, v25.2d
	WORD $0x6E60FF84 // fdiv v4.2d, v28.2d, v0.2d
	WORD $0x6E61FFA5 // fdiv v5.2d, v29.2d, v1.2d
	WORD $0x4E221C84 // and v4.16b, v4.16b, v2.16b
	WORD $0x4E231CA5 // and v5.16b, v5.16b, v3.16b
	MOVD R8, R4
	LSL $5, R4
	ADD R4, R7, R14
	FSTPQ (F4, F5), (R14)
	WORD $0x4EBC1F84 // orr v4.16b, v28.16b, v28.16b
	WORD $0x4EBD1FA5 // orr v5.16b, v29.16b, v29.16b
	WORD $0x6EA21C04 // bit v4.16b, v0.16b, v2.16b
	WORD $0x6EA31C25 // bit v5.16b, v1.16b, v3.16b
	WORD $0x4EE4F75A // fmin v26.2d, v26.2d, v4.2d
	WORD $0x4EE5F77B // fmin v27.2d, v27.2d, v5.2d
	ADDS $1, R8
	B row

finished:
	MOVD least+48(FP), R4
	FSTPQ (F26, F27), (R4)
	RET

TEXT ·solveVectors(SB), NOSPLIT, $0-40
	MOVD p+0(FP), R6
	MOVD l+8(FP), R1
	MOVD r+16(FP), R0
	MOVD inverse+24(FP), R7
	MOVD z+32(FP), R2
	MOVD (pattern_order+8)(R6), R10
	MOVD pattern_lp(R6), R13
	MOVD pattern_twin(R6), R9
	MOVD pattern_li(R6), R12
	MOVD $0, R8

forward:
	CMP R10, R8
	BGE turn
	MOVW (R13)(R8<<2), R4
	ADD R8<<2, R13, R14
	MOVW 4(R14), R5
	MOVD R8, R3
	LSL $5, R3
	ADD R3, R2, R14
	FLDPQ (R14), (F2, F3)
	ADD R4<<2, R12, R11
	LSL $5, R4
	LSL $5, R5
	MOVBU (R9)(R8), R14
	CMP $0, R14
	BEQ forwardSingleTest
	ADD R4, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R3, R2, R14
	FLDPQ 32(R14), (F4, F5)
	WORD $0x4EE6D484 // fsub v4.2d, v4.2d, v6.2d
	WORD $0x4EE7D4A5 // fsub v5.2d, v5.2d, v7.2d
	ADD R3, R2, R14
	FSTPQ (F4, F5), 32(R14)
	ADDS $32, R4
	ADDS $4, R11
	MOVD R5, R3
	ADDS $1, R8
	B forwardTwinTest

forwardTwin:
	ADD R4, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	ADD R3, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC88 // fmul v8.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA9 // fmul v9.2d, v5.2d, v31.2d
	WORD $0x4E68D4C6 // fadd v6.2d, v6.2d, v8.2d
	WORD $0x4E69D4E7 // fadd v7.2d, v7.2d, v9.2d
	MOVW (R11), R6
	LSL $5, R6
	ADD R6, R2, R14
	FLDPQ (R14), (F10, F11)
	WORD $0x4EE6D54A // fsub v10.2d, v10.2d, v6.2d
	WORD $0x4EE7D56B // fsub v11.2d, v11.2d, v7.2d
	ADD R6, R2, R14
	FSTPQ (F10, F11), (R14)
	ADDS $4, R11
	ADDS $32, R4
	ADDS $32, R3

forwardTwinTest:
	CMP R5, R4
	BLT forwardTwin
	ADDS $1, R8
	B forward

forwardSingle:
	ADD R4, R1, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC46 // fmul v6.2d, v2.2d, v30.2d
	WORD $0x6E7FDC67 // fmul v7.2d, v3.2d, v31.2d
	MOVW (R11), R6
	LSL $5, R6
	ADD R6, R2, R14
	FLDPQ (R14), (F10, F11)
	WORD $0x4EE6D54A // fsub v10.2d, v10.2d, v6.2d
	WORD $0x4EE7D56B // fsub v11.2d, v11.2d, v7.2d
	ADD R6, R2, R14
	FSTPQ (F10, F11), (R14)
	ADDS $4, R11
	ADDS $32, R4

forwardSingleTest:
	CMP R5, R4
	BLT forwardSingle
	ADDS $1, R8
	B forward

turn:
	MOVD R10, R8

backward:
	SUBS $1, R8
	BLT solved
	MOVW (R13)(R8<<2), R4
	ADD R8<<2, R13, R14
	MOVW 4(R14), R5
	MOVD R8, R3
	LSL $5, R3
	ADD R3, R2, R14
	FLDPQ (R14), (F2, F3)
	ADD R3, R7, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC42 // fmul v2.2d, v2.2d, v30.2d
	WORD $0x6E7FDC63 // fmul v3.2d, v3.2d, v31.2d
	ADD R4<<2, R12, R11
	LSL $5, R5
	CMP $0, R8
	BEQ backwardSingleStart
	ADD R8, R9, R14
	MOVBU -1(R14), R14
	CMP $0, R14
	BEQ backwardSingleStart
	ADD R8<<2, R13, R14
	MOVW -4(R14), R10
	LSL $5, R10
	ADD R3, R2, R14
	FLDPQ -32(R14), (F4, F5)
	ADD R3, R7, R14
	FLDPQ -32(R14), (F30, F31)
	WORD $0x6E7EDC84 // fmul v4.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA5 // fmul v5.2d, v5.2d, v31.2d
	ADD R10, R0, R14
	FLDPQ (R14), (F12, F13)
	ADDS $32, R10
	LSL $5, R4
	B backwardTwinTest

backwardTwin:
	MOVW (R11), R6
	LSL $5, R6
	ADD R6, R2, R14
	FLDPQ (R14), (F10, F11)
	ADD R10, R0, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDD46 // fmul v6.2d, v10.2d, v30.2d
	WORD $0x6E7FDD67 // fmul v7.2d, v11.2d, v31.2d
	ADD R4, R0, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDD48 // fmul v8.2d, v10.2d, v30.2d
	WORD $0x6E7FDD69 // fmul v9.2d, v11.2d, v31.2d
	WORD $0x4EE6D484 // fsub v4.2d, v4.2d, v6.2d
	WORD $0x4EE7D4A5 // fsub v5.2d, v5.2d, v7.2d
	WORD $0x4EE8D442 // fsub v2.2d, v2.2d, v8.2d
	WORD $0x4EE9D463 // fsub v3.2d, v3.2d, v9.2d
	ADDS $4, R11
	ADDS $32, R10
	ADDS $32, R4

backwardTwinTest:
	CMP R5, R4
	BLT backwardTwin
	WORD $0x6E6CDC46 // fmul v6.2d, v2.2d, v12.2d
	WORD $0x6E6DDC67 // fmul v7.2d, v3.2d, v13.2d
	WORD $0x4EE6D484 // fsub v4.2d, v4.2d, v6.2d
	WORD $0x4EE7D4A5 // fsub v5.2d, v5.2d, v7.2d
	ADD R3, R2, R14
	FSTPQ (F2, F3), (R14)
	ADD R3, R2, R14
	FSTPQ (F4, F5), -32(R14)
	SUBS $1, R8
	B backward

backwardSingleStart:
	LSL $5, R4
	B backwardSingleTest

backwardSingle:
	MOVW (R11), R6
	LSL $5, R6
	ADD R6, R2, R14
	FLDPQ (R14), (F10, F11)
	ADD R4, R0, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDD46 // fmul v6.2d, v10.2d, v30.2d
	WORD $0x6E7FDD67 // fmul v7.2d, v11.2d, v31.2d
	WORD $0x4EE6D442 // fsub v2.2d, v2.2d, v6.2d
	WORD $0x4EE7D463 // fsub v3.2d, v3.2d, v7.2d
	ADDS $4, R11
	ADDS $32, R4

backwardSingleTest:
	CMP R5, R4
	BLT backwardSingle
	ADD R3, R2, R14
	FSTPQ (F2, F3), (R14)
	B backward

solved:
	RET

TEXT ·timesVectors(SB), NOSPLIT, $0-48
	MOVD p+0(FP), R6
	MOVD z+8(FP), R1
	MOVD u+16(FP), R0
	MOVD x+24(FP), R2
	MOVD inverse+32(FP), R7
	MOVD pattern_order(R6), R9
	MOVD (pattern_order+8)(R6), R10
	MOVD pattern_start(R6), R11
	MOVD pattern_col(R6), R12
	WORD $0x6E201C00 // eor v0.16b, v0.16b, v0.16b
	WORD $0x6E211C21 // eor v1.16b, v1.16b, v1.16b
	WORD $0x6E3C1F9C // eor v28.16b, v28.16b, v28.16b
	WORD $0x6E3D1FBD // eor v29.16b, v29.16b, v29.16b
	MOVD $0x7FFFFFFFFFFFFFFF, R4
	FMOVD R4, F24
	WORD $0x4E080719 // dup v25.2d, v24.d[0]
	WORD $0x4E080718 // dup v24.2d, v24.d[0]
	MOVD $0, R8
	B timesTest

timesRow:
	MOVW (R9)(R8<<2), R5
	MOVW (R11)(R5<<2), R4
	ADD R5<<2, R11, R14
	MOVW 4(R14), R5
	ADD R4<<2, R12, R3
	LSL $5, R4
	LSL $5, R5
	WORD $0x6E221C42 // eor v2.16b, v2.16b, v2.16b
	WORD $0x6E231C63 // eor v3.16b, v3.16b, v3.16b
	B dotTest

dot:
	MOVW (R3), R6
	LSL $5, R6
	ADD R4, R0, R14
	FLDPQ (R14), (F4, F5)
	ADD R6, R2, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC84 // fmul v4.2d, v4.2d, v30.2d
	WORD $0x6E7FDCA5 // fmul v5.2d, v5.2d, v31.2d
	WORD $0x4E64D442 // fadd v2.2d, v2.2d, v4.2d
	WORD $0x4E65D463 // fadd v3.2d, v3.2d, v5.2d
	ADDS $4, R3
	ADDS $32, R4

dotTest:
	CMP R5, R4
	BLT dot
	MOVD R8, R4
	LSL $5, R4
	ADD R4, R7, R14
	FLDPQ (R14), (F4, F5)
	WORD $0x4E7CE484 // fcmeq v4.2d, v4.2d, v28.2d
	WORD $0x4E7DE4A5 // fcmeq v5.2d, v5.2d, v29.2d
	WORD $0x6E205884 // mvn v4.16b, v4.16b
	WORD $0x6E2058A5 // mvn v5.16b, v5.16b
	WORD $0x4E241C42 // and v2.16b, v2.16b, v4.16b
	WORD $0x4E251C63 // and v3.16b, v3.16b, v5.16b
	ADD R4, R1, R14
	FSTPQ (F2, F3), (R14)
	WORD $0x4E381C42 // and v2.16b, v2.16b, v24.16b
	WORD $0x4E391C63 // and v3.16b, v3.16b, v25.16b
	WORD $0x4E62F400 // fmax v0.2d, v0.2d, v2.2d
	WORD $0x4E63F421 // fmax v1.2d, v1.2d, v3.2d
	ADDS $1, R8

timesTest:
	CMP R10, R8
	BLT timesRow
	MOVD largest+40(FP), R4
	FSTPQ (F0, F1), (R4)
	RET

TEXT ·subtractTransposedVectors(SB), NOSPLIT, $0-32
	MOVD p+0(FP), R6
	MOVD x+8(FP), R2
	MOVD u+16(FP), R0
	MOVD z+24(FP), R1
	MOVD pattern_order(R6), R9
	MOVD (pattern_order+8)(R6), R10
	MOVD pattern_start(R6), R11
	MOVD pattern_col(R6), R12
	MOVD $0, R8
	B addTest

addRow:
	MOVW (R9)(R8<<2), R5
	MOVW (R11)(R5<<2), R4
	ADD R5<<2, R11, R14
	MOVW 4(R14), R5
	ADD R4<<2, R12, R3
	MOVD R8, R7
	LSL $5, R7
	LSL $5, R4
	LSL $5, R5
	ADD R7, R1, R14
	FLDPQ (R14), (F2, F3)
	B axpyTest

axpy:
	MOVW (R3), R6
	LSL $5, R6
	ADD R4, R0, R14
	FLDPQ (R14), (F30, F31)
	WORD $0x6E7EDC44 // fmul v4.2d, v2.2d, v30.2d
	WORD $0x6E7FDC65 // fmul v5.2d, v3.2d, v31.2d
	ADD R6, R2, R14
	FLDPQ (R14), (F6, F7)
	WORD $0x4EE4D4C6 // fsub v6.2d, v6.2d, v4.2d
	WORD $0x4EE5D4E7 // fsub v7.2d, v7.2d, v5.2d
	ADD R6, R2, R14
	FSTPQ (F6, F7), (R14)
	ADDS $4, R3
	ADDS $32, R4

axpyTest:
	CMP R5, R4
	BLT axpy
	ADDS $1, R8

addTest:
	CMP R10, R8
	BLT addRow
	RET
