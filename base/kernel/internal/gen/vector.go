package main

import (
	"fmt"
	"math"
	"strings"
)

// vector writes the passes over arrays of n > 0 numbers. The last, partial register goes through the same instructions
// under a mask, so that an element's bits do not depend on its place.
func vector(f *file) {
	f.pass("add", nil, []string{"dst", "src"}, func(masked bool) {
		f.load("(SI)", f.v(0), 0, masked)
		f.load("(DI)", f.v(1), 0, masked)
		f.in("VADDPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	f.pass("mix", []scalar{{"decay", 8}, {"rest", 9}}, []string{"e", "p"}, func(masked bool) {
		f.load("(SI)", f.v(0), 0, masked)
		f.load("(DI)", f.v(1), 0, masked)
		f.in("VMULPS %s, %s, %s", f.v(0), f.v(8), f.v(0))
		f.in("VFMADD231PS %s, %s, %s", f.v(1), f.v(9), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	// ai = 1 − bi, rate = η/(1−β₁ᵗ), root = 1/√(1−β₂ᵗ).
	f.pass("adam", []scalar{{"scale", 7}, {"b1", 8}, {"a1", 9}, {"b2", 10}, {"a2", 11}, {"rate", 12}, {"root", 13},
		{"eps", 14}}, []string{"p", "m", "v", "grad"}, func(masked bool) {
		g, m, v, p := f.v(0), f.v(1), f.v(2), f.v(3)
		f.load("(R9)", g, 0, masked)
		f.load("(DI)", m, 0, masked)
		f.load("(R8)", v, 0, masked)
		f.load("(SI)", p, 0, masked)
		f.in("VMULPS %s, %s, %s", f.v(7), g, g)
		f.in("VMULPS %s, %s, %s", f.v(8), m, m)
		f.in("VFMADD231PS %s, %s, %s", g, f.v(9), m)
		f.store(m, "(DI)", 0, masked)
		f.in("VMULPS %s, %s, %s", g, g, g)
		f.in("VMULPS %s, %s, %s", f.v(10), v, v)
		f.in("VFMADD231PS %s, %s, %s", g, f.v(11), v)
		f.store(v, "(R8)", 0, masked)
		f.in("VSQRTPS %s, %s", v, v)
		f.in("VFMADD213PS %s, %s, %s", f.v(14), f.v(13), v)
		f.in("VMULPS %s, %s, %s", f.v(12), m, m)
		f.in("VDIVPS %s, %s, %s", v, m, m)
		f.in("VSUBPS %s, %s, %s", m, p, p)
		f.store(p, "(SI)", 0, masked)
	})
	f.constants = f.arm
	f.pass("biasSiLU", nil, []string{"y", "z", "bias"}, func(masked bool) {
		f.load("(DI)", f.v(0), 0, masked)
		f.load("(R8)", f.v(1), 0, masked)
		f.in("VADDPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.store(f.v(0), "(DI)", 0, masked)
		f.sigmoid()
		f.in("VMULPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	// d ← d σ(1 + z(1 − σ))
	f.pass("siluGrad", nil, []string{"d", "z"}, func(masked bool) {
		f.load("(DI)", f.v(0), 0, masked)
		f.sigmoid()
		f.in("VMOVUPS %s, %s", one, f.v(2))
		f.in("VSUBPS %s, %s, %s", f.v(1), f.v(2), f.v(3))
		f.in("VFMADD213PS %s, %s, %s", f.v(2), f.v(3), f.v(0))
		f.load("(SI)", f.v(4), 0, masked)
		f.in("VMULPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.in("VMULPS %s, %s, %s", f.v(4), f.v(0), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	// y = SiLU(z), z = (1 + scale)u + shift
	f.pass("modulate", nil, []string{"y", "u", "scale", "shift"}, func(masked bool) {
		f.modulated(masked)
		f.sigmoid()
		f.in("VMULPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	// d ← d SiLU'(z); what it adds to the gradients of shift and scale; d ← (1 + scale)d
	f.pass("modulateGrad", nil, []string{"d", "u", "scale", "shift", "dscale", "dshift"}, func(masked bool) {
		f.modulated(masked)
		f.sigmoid()
		f.in("VMOVUPS %s, %s", one, f.v(2))
		f.in("VSUBPS %s, %s, %s", f.v(1), f.v(2), f.v(3))
		f.in("VFMADD213PS %s, %s, %s", f.v(2), f.v(3), f.v(0))
		f.load("(SI)", f.v(4), 0, masked)
		f.in("VMULPS %s, %s, %s", f.v(1), f.v(0), f.v(0))
		f.in("VMULPS %s, %s, %s", f.v(4), f.v(0), f.v(0))
		f.load("(R11)", f.v(3), 0, masked)
		f.in("VADDPS %s, %s, %s", f.v(0), f.v(3), f.v(3))
		f.store(f.v(3), "(R11)", 0, masked)
		f.load("(R10)", f.v(3), 0, masked)
		f.load("(DI)", f.v(4), 0, masked)
		f.in("VFMADD231PS %s, %s, %s", f.v(4), f.v(0), f.v(3))
		f.store(f.v(3), "(R10)", 0, masked)
		f.in("VMULPS %s, %s, %s", f.v(6), f.v(0), f.v(0))
		f.store(f.v(0), "(SI)", 0, masked)
	})
	f.constants = false
}

// modulated sets register 0 to (1 + scale)u + shift and register 6 to 1 + scale, of arrays in DI, R8 and R9.
func (f *file) modulated(masked bool) {
	f.load("(DI)", f.v(0), 0, masked)
	f.load("(R8)", f.v(6), 0, masked)
	f.load("(R9)", f.v(1), 0, masked)
	f.in("VADDPS %s, %s, %s", one, f.v(6), f.v(6))
	f.in("VFMADD213PS %s, %s, %s", f.v(1), f.v(6), f.v(0))
}

// A scalar is a parameter that pass spreads over a register.
type scalar struct {
	name string
	reg  int
}

// pass writes a function that walks over arrays, whose pointers are in SI, DI, R8, R9, R10, R11 in turn.
func (f *file) pass(name string, scalars []scalar, arrays []string, body func(masked bool)) {
	ptrs := []string{"SI", "DI", "R8", "R9", "R10", "R11"}[:len(arrays)]
	params, n := strings.Join(arrays, ", ")+" *float32, n int", 8*len(arrays)
	for i, s := range scalars {
		params += ", " + s.name
		if i == len(scalars)-1 {
			params += " float32"
		}
	}
	f.p("// func %s%s(%s)", name, f.name, params)
	f.p("TEXT ·%s%s(SB), NOSPLIT, $0-%d", name, f.name, n+8+4*len(scalars))
	for i, r := range ptrs {
		f.in("MOVQ %s+%d(FP), %s", arrays[i], 8*i, r)
	}
	for i, s := range scalars {
		f.in("VBROADCASTSS %s+%d(FP), %s", s.name, n+8+4*i, f.v(s.reg))
	}
	if f.constants {
		f.keepConstants()
	}
	f.in("MOVQ n+%d(FP), CX", n)
	f.in("SUBQ $%d, CX", f.lanes)
	f.in("JLT last")
	f.in("PCALIGN $32")
	f.p("loop:")
	body(false)
	for _, r := range ptrs {
		f.in("ADDQ $%d, %s", f.bytes(), r)
	}
	f.in("SUBQ $%d, CX", f.lanes)
	f.in("JGE loop")
	f.p("last:")
	f.in("ADDQ $%d, CX", f.lanes)
	f.in("JZ done")
	switch {
	case f.arm:
		f.oneByOne(ptrs, body)
	case f.wide():
		f.in("MOVL $-1, AX")
		f.in("BZHIL CX, AX, AX")
		f.in("KMOVW AX, K1")
		body(true)
	default:
		f.in("LEAQ tail<>+64(SB), AX")
		f.in("SHLQ $2, CX")
		f.in("SUBQ CX, AX")
		f.in("VMOVUPS (AX), %s", f.mask(0))
		body(true)
	}
	f.p("done:")
	f.end()
}

// Constants of sigmoid, each repeated over 64 bytes.
const (
	low = iota
	high
	minusLog2e
	ln2hi
	ln2lo
	bias // of a float32 exponent
	coefficient
	coefficients = 8
	size         = coefficient + coefficients
)

func memory(i int) string { return fmt.Sprintf("sigmoid<>+%d(SB)", 64*i) }

var one = memory(coefficient)

// sigmoid sets register 1 to 1/(1+e^(−x)) for x in register 0; registers 2–5 are
// lost. With n = round(−x log₂e) and r = x + n ln 2, |r| ≤ ½ ln 2,
//
//	e^(−x) = 2ⁿ e^(−r),
//
// and e^(−r) is its Taylor polynomial of degree 7, which leaves out less than 5e-9. 2ⁿ may overflow, so its two halves
// are multiplied in turn. x is clamped where the result is 0 or 1; the minimum and maximum return their first operand
// here, x, if it is NaN.
func (f *file) sigmoid() {
	x, s, n, k, h, r := f.v(0), f.v(1), f.v(2), f.v(3), f.v(4), f.v(5)
	f.in("VMOVUPS %s, %s", memory(low), r)
	f.in("VMAXPS %s, %s, %s", x, r, r)
	f.in("VMOVUPS %s, %s", memory(high), s)
	f.in("VMINPS %s, %s, %s", r, s, r)
	f.in("VMULPS %s, %s, %s", memory(minusLog2e), r, n)
	f.in("VCVTPS2DQ %s, %s", n, k)
	f.in("VCVTDQ2PS %s, %s", k, n)
	f.in("VFMADD231PS %s, %s, %s", memory(ln2hi), n, r)
	f.in("VFMADD231PS %s, %s, %s", memory(ln2lo), n, r)
	f.in("VMOVUPS %s, %s", memory(coefficient+coefficients-1), s)
	for i := coefficients - 2; i >= 0; i-- {
		f.in("VFMADD213PS %s, %s, %s", memory(coefficient+i), r, s)
	}
	f.in("VPSRAD $1, %s, %s", k, h)
	f.in("VPSUBD %s, %s, %s", h, k, k)
	for _, half := range []string{h, k} {
		f.in("VPADDD %s, %s, %s", memory(bias), half, half)
		f.in("VPSLLD $23, %s, %s", half, half)
		f.in("VMULPS %s, %s, %s", half, s, s)
	}
	f.in("VMOVUPS %s, %s", one, n)
	f.in("VADDPS %s, %s, %s", n, s, s)
	f.in("VDIVPS %s, %s, %s", s, n, s)
}

// constants writes the data that the passes read.
func constants(f *file) {
	values := [size]uint32{bias: 127}
	for i, v := range map[int]float64{
		low: -89, high: 87, minusLog2e: -math.Log2E,
		ln2hi: float64(float32(math.Ln2)), ln2lo: math.Ln2 - float64(float32(math.Ln2)),
	} {
		values[i] = math.Float32bits(float32(v))
	}
	c := 1.0
	for i := range coefficients {
		values[coefficient+i] = math.Float32bits(float32(c))
		c /= -float64(i + 1)
	}
	for i, v := range values {
		for j := range 16 {
			f.p("DATA sigmoid<>+%d(SB)/4, $0x%08x", 64*i+4*j, v)
		}
	}
	f.p("GLOBL sigmoid<>(SB), RODATA|NOPTR, $%d", 64*size)
}

// tails writes the masks of partial AVX2 registers: 16 ones, then 16 zeros.
func tails(f *file) {
	for i := range 16 {
		f.p("DATA tail<>+%d(SB)/4, $0xffffffff", 4*i)
	}
	for i := range 16 {
		f.p("DATA tail<>+%d(SB)/4, $0", 64+4*i)
	}
	f.p("GLOBL tail<>(SB), RODATA|NOPTR, $128")
	f.p("")
}

// cheapest walks over sums of two arrays of n numbers, a multiple of the lanes, at least one register. state
// has for each lane: the least so far, the second, the place of the least, the place of the next, and how far on
// the one after it is. The least is left where a sum equals it.
func cheapest(f *file) {
	f.begin("cheapest"+f.name, "state *[5][16]uint32, cost, price *float32, n int", "DX SI DI CX")
	least, second, at, next, step, v, more := f.v(0), f.v(1), f.v(2), f.v(3), f.v(4), f.v(5), f.v(6)
	for i := range 5 {
		f.in("VMOVUPS %d(DX), %s", 64*i, f.v(i))
	}
	f.in("PCALIGN $32")
	f.p("loop:")
	f.in("VMOVUPS (SI), %s", v)
	f.in("VADDPS (DI), %s, %s", v, v)
	f.in("VMAXPS %s, %s, %s", v, least, more)
	f.in("VMINPS %s, %s, %s", more, second, second)
	if f.wide() {
		f.in("VCMPPS $1, %s, %s, K1", least, v)
		f.in("VMOVDQA32 %s, K1, %s", next, at)
	} else {
		f.in("VCMPPS $1, %s, %s, %s", least, v, more)
		f.in("VBLENDVPS %s, %s, %s, %s", more, next, at, at)
	}
	f.in("VMINPS %s, %s, %s", v, least, least)
	f.in("VPADDD %s, %s, %s", step, next, next)
	f.in("ADDQ $%d, SI", f.bytes())
	f.in("ADDQ $%d, DI", f.bytes())
	f.in("SUBQ $%d, CX", f.lanes)
	f.in("JGT loop")
	for i := range 3 {
		f.in("VMOVUPS %s, %d(DX)", f.v(i), 64*i)
	}
	f.end()
}
