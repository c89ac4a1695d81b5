package main

import (
	"fmt"
	"math"
)

// float64s writes the float64 loops. Rows of matrices are padded to whole registers, so nothing here is masked.
func float64s(f *file) {
	tile64(f)
	softplus64(f)
}

// tile64 writes the register tile of a product of float64 matrices: rows ≤ f.rows rows and two registers of columns of
//
//	C = A B, or C += A B if add ≠ 0,
//
// with row r of A at a + r·rs, row l of B at b + l·2 registers, row r of C at c + r·cs; strides in bytes. Every element
// of C is one chain of fused multiply-adds in the order of l.
func tile64(f *file) {
	f.begin("tile64"+f.name, "rows, k int, a *float64, rs int, b, c *float64, cs, add int", "R12 CX SI AX DI DX R13")
	f.tiles(numbers{"D", "add+56(FP)", "$8", f.move64})
}

// move64 loads or stores n rows of C.
func (f *file) move64(n int, load bool) {
	f.in("MOVQ DX, R12")
	for r := range n {
		for h := range 2 {
			at, acc := fmt.Sprintf("%d(R12)", h*f.bytes()), f.v(2*r+h)
			if load {
				f.in("VMOVUPD %s, %s", at, acc)
			} else {
				f.in("VMOVUPD %s, %s", acc, at)
			}
		}
		if r+1 < n {
			f.in("ADDQ R13, R12")
		}
	}
}

// Constants of softplus64, each repeated over 64 bytes.
const (
	zero64 = iota
	one64
	two64
	cut64    // βz above which softplus is the identity
	low64    // βz below which e^(βz) is a subnormal number
	absolute // mask of the sign
	log2e64
	ln2hi64
	ln2lo64
	bias64 // of a float64 exponent
	exp64
	expTerms = 14
	log64    = exp64 + expTerms
	logTerms = 16
	size64   = log64 + logTerms
)

func memory64(i int) string { return fmt.Sprintf("softplus<>+%d(SB)", 64*i) }

// softplus64 writes, with t = β(z + bias) and u = e^(−|t|),
//
//	a = (max(t, 0) + ln(1+u))/β,   s = 1/(1+e^(−t)) = (t < 0 ? u : 1)/(1+u)
//
// for n numbers, a multiple of a register; where t > 20, a = z + bias and s = 1. e^(−r), |r| ≤ ½ ln 2, is its Taylor
// polynomial of degree 13, which leaves out less than 5e-18; ln(1+u) = 2 artanh w with w = u/(2+u) ≤ 1/3 is the series
// up to w³¹, which leaves out less than 2e-17 of it.
func softplus64(f *file) {
	f.begin("softplus64"+f.name, "a, s, z, bias *float64, n int, beta, inverse float64", "SI DI R8 R9 CX")
	if f.arm {
		f.p("\tMOVD $softplus<>(SB), %s", base)
	}
	f.in("VBROADCASTSD beta+40(FP), %s", f.v(14))
	f.in("VBROADCASTSD inverse+48(FP), %s", f.v(13))
	f.in("PCALIGN $32")
	f.p("loop:")
	z, t, u, n, p, w, y := f.v(0), f.v(1), f.v(2), f.v(3), f.v(4), f.v(5), f.v(6)
	f.in("VMOVUPD (R8), %s", z)
	f.in("VADDPD (R9), %s, %s", z, z)
	f.in("VMULPD %s, %s, %s", f.v(14), z, t)
	// −|t| = n ln 2 + r
	f.in("VANDPD %s, %s, %s", memory64(absolute), t, u)
	f.in("VMOVUPD %s, %s", memory64(low64), w)
	f.in("VMINPD %s, %s, %s", u, w, u) // u if it is not a number
	f.in("VMOVUPD %s, %s", memory64(zero64), w)
	f.in("VSUBPD %s, %s, %s", u, w, u)
	f.in("VMULPD %s, %s, %s", memory64(log2e64), u, n)
	half := "X3"
	if f.wide() {
		half = "Y3"
	}
	if f.wide() {
		f.in("VCVTPD2DQ %s, %s", n, half)
	} else {
		f.in("VCVTPD2DQY %s, %s", n, half)
	}
	f.in("VCVTDQ2PD %s, %s", half, w)
	f.in("VFNMADD231PD %s, %s, %s", memory64(ln2hi64), w, u)
	f.in("VFNMADD231PD %s, %s, %s", memory64(ln2lo64), w, u)
	f.in("VPMOVSXDQ %s, %s", half, n)
	f.in("VPADDQ %s, %s, %s", memory64(bias64), n, n)
	f.in("VPSLLQ $52, %s, %s", n, n)
	f.in("VMOVUPD %s, %s", memory64(exp64+expTerms-1), p)
	for i := expTerms - 2; i >= 0; i-- {
		f.in("VFMADD213PD %s, %s, %s", memory64(exp64+i), u, p)
	}
	f.in("VMULPD %s, %s, %s", n, p, u)
	// ln(1+u)
	f.in("VADDPD %s, %s, %s", memory64(two64), u, w)
	f.in("VDIVPD %s, %s, %s", w, u, w)
	f.in("VMULPD %s, %s, %s", w, w, y)
	f.in("VMOVUPD %s, %s", memory64(log64+logTerms-1), p)
	for i := logTerms - 2; i >= 0; i-- {
		f.in("VFMADD213PD %s, %s, %s", memory64(log64+i), y, p)
	}
	f.in("VMULPD %s, %s, %s", w, p, p)
	f.in("VMOVUPD %s, %s", memory64(zero64), w)
	f.in("VMAXPD %s, %s, %s", t, w, y)
	f.in("VADDPD %s, %s, %s", y, p, p)
	f.in("VMULPD %s, %s, %s", f.v(13), p, p)
	// the slope
	f.in("VMOVUPD %s, %s", memory64(one64), y)
	f.in("VADDPD %s, %s, %s", u, y, n)
	if f.wide() {
		f.in("VCMPPD $17, %s, %s, K1", w, t) // t < 0
		f.in("VMOVAPD %s, %s", y, f.v(7))
		f.in("VMOVAPD %s, K1, %s", u, f.v(7))
	} else {
		f.in("VCMPPD $17, %s, %s, %s", w, t, f.v(8))
		f.in("VBLENDVPD %s, %s, %s, %s", f.v(8), u, y, f.v(7))
	}
	f.in("VDIVPD %s, %s, %s", n, f.v(7), n)
	f.in("VMOVUPD %s, %s", memory64(cut64), w)
	if f.wide() {
		f.in("VCMPPD $30, %s, %s, K1", w, t) // t > 20
		f.in("VMOVAPD %s, K1, %s", z, p)
		f.in("VMOVAPD %s, K1, %s", y, n)
	} else {
		f.in("VCMPPD $30, %s, %s, %s", w, t, f.v(8))
		f.in("VBLENDVPD %s, %s, %s, %s", f.v(8), z, p, p)
		f.in("VBLENDVPD %s, %s, %s, %s", f.v(8), y, n, n)
	}
	f.in("VMOVUPD %s, (SI)", p)
	f.in("VMOVUPD %s, (DI)", n)
	for _, r := range []string{"SI", "DI", "R8", "R9"} {
		f.in("ADDQ $%d, %s", f.bytes(), r)
	}
	f.in("SUBQ $%d, CX", f.lanes/2)
	f.in("JG loop")
	f.end()
}

// constants64 writes the data that softplus64 reads.
func constants64(f *file) {
	const ln2hi = 0x1.62e42fee00000p-1 // leaves the last 21 bits to ln2lo
	values := [size64]float64{
		one64: 1, two64: 2, cut64: 20, low64: 708, log2e64: math.Log2E, ln2hi64: ln2hi, ln2lo64: math.Ln2 - ln2hi,
		absolute: math.Float64frombits(1<<63 - 1), bias64: math.Float64frombits(1023),
	}
	c := 1.0
	for i := range expTerms {
		values[exp64+i] = c
		c /= float64(i + 1)
	}
	for i := range logTerms {
		values[log64+i] = 2 / float64(2*i+1)
	}
	for i, v := range values {
		for j := range 8 {
			f.p("DATA softplus<>+%d(SB)/8, $0x%016x", 64*i+8*j, math.Float64bits(v))
		}
	}
	f.p("GLOBL softplus<>(SB), RODATA|NOPTR, $%d", 64*size64)
}
