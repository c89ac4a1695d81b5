package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// NEON code is AVX2 code, instruction by instruction: a register of eight float32 or four float64 numbers is a pair of
// NEON registers, Y5 is V10 and V11. An element thus goes through the same operations, rounded in the same way, and
// has the same bits on both. NEON has no masks: what does not fill a register is taken one number at a time.
//
// Encodings: Arm Architecture Reference Manual for A-profile, C7.2. TestArmEncodings holds them against GNU as.

// A translation writes NEON instructions.
type translation struct {
	*text
	where     []int // the pair of NEON registers that each register of AVX2 is in; the last is the spare pair
	single    bool  // vectors hold one float32 number, in the first half
	constants bool  // of sigmoid are in registers, from firstConstant on
}

const (
	spare         = 15 // AVX2 code for NEON leaves it unused
	firstConstant = 16
	base          = "R15" // points to constants in memory
	scratch       = "R14"
)

// armGeneral has the general registers for those of x86. Go keeps R18 and those from R26 on for itself.
var armGeneral = map[string]string{
	"SI": "R0", "DI": "R1", "DX": "R2", "CX": "R3", "AX": "R4", "BX": "R5", "R8": "R6", "R9": "R7",
	"R10": "R8", "R11": "R9", "R12": "R10", "R13": "R11", "R14": "R12", "R15": "R13",
}

// shifts has the scales of an index.
var shifts = map[string]string{"1": "", "4": "<<2", "8": "<<3"}

// armScalar has the instructions whose operands stay in their order.
var armScalar = map[string]string{
	"MOVQ": "MOVD", "ADDQ": "ADDS", "SUBQ": "SUBS", "PCALIGN": "PCALIGN", "RET": "RET",
	"JMP": "B", "JEQ": "BEQ", "JZ": "BEQ", "JNE": "BNE", "JNZ": "BNE", "JLT": "BLT", "JGE": "BGE", "JG": "BGT",
	"JGT": "BGT", "SHLQ": "LSL", "MOVLQSX": "MOVW", "MOVBLZX": "MOVBU",
}

// An armOp is an instruction on vectors of equal numbers.
type armOp struct {
	name string
	code uint32 // with .4s, or .16b where the numbers do not matter
	wide uint32 // what to add for .2d
}

const sz = 1 << 22

// armVector has those of two sources, the second first as in Go's AVX, and a destination.
var armVector = map[string]armOp{
	"VADDP": {"fadd", 0x4E20D400, sz}, "VSUBP": {"fsub", 0x4EA0D400, sz}, "VMULP": {"fmul", 0x6E20DC00, sz},
	"VDIVP": {"fdiv", 0x6E20FC00, sz}, "VMAXP": {"fmax", 0x4E20F400, sz}, "VMINP": {"fmin", 0x4EA0F400, sz},
	"VFMADD231P": {"fmla", 0x4E20CC00, sz}, "VFNMADD231P": {"fmls", 0x4EA0CC00, sz},
	"VPADD": {"add", 0x4EA08400, sz}, "VPSUB": {"sub", 0x6EA08400, sz},
	"VANDP": {"and", 0x4E201C00, 0}, "VXORP": {"eor", 0x6E201C00, 0},
}

var (
	fcmgt  = armOp{"fcmgt", 0x6EA0E400, sz}
	fcmge  = armOp{"fcmge", 0x6E20E400, sz}
	fcmeq  = armOp{"fcmeq", 0x4E20E400, sz}
	mvn    = armOp{"mvn", 0x6E205800, 0}
	orr    = armOp{"orr", 0x4EA01C00, 0}
	bit    = armOp{"bit", 0x6EA01C00, 0}
	fsqrt  = armOp{"fsqrt", 0x6EA1F800, sz}
	fcvtns = armOp{"fcvtns", 0x4E21A800, sz}
	scvtf  = armOp{"scvtf", 0x4E21D800, sz}
)

// word writes an instruction as its code, and as a comment what it says to GNU as.
func (t *translation) word(code uint32, format string, args ...any) {
	t.p("\tWORD $0x%08X // %s", code, fmt.Sprintf(format, args...))
}

// apply writes an instruction of a destination and one or two sources; size is S or D.
func (t *translation) apply(op armOp, size string, d int, sources ...int) {
	code, suffix := op.code|uint32(d), ".4s"
	switch {
	case op.wide == 0:
		suffix = ".16b"
	case size == "D":
		code, suffix = code+op.wide, ".2d"
	}
	text := fmt.Sprintf("%s v%d%s", op.name, d, suffix)
	for i, s := range sources {
		code |= uint32(s) << []int{5, 16}[i]
		text += fmt.Sprintf(", v%d%s", s, suffix)
	}
	t.word(code, "%s", text)
}

// halves runs do for each NEON register of a pair.
func (t *translation) halves(do func(h int)) {
	do(0)
	if !t.single {
		do(1)
	}
}

// pair returns the pair that holds a register, by number.
func (t *translation) pair(i int) int {
	for len(t.where) <= spare {
		t.where = append(t.where, len(t.where))
	}
	return t.where[i]
}

// numbered returns the number of a register such as Y5.
func numbered(reg string) int {
	i, err := strconv.Atoi(strings.TrimLeft(reg, "XY"))
	if err != nil {
		log.Fatalf("%q is not a vector register", reg)
	}
	return i
}

var (
	constantAt = regexp.MustCompile(`^\w+<>\+(\d+)\(SB\)$`)
	indexed    = regexp.MustCompile(`^(-?\d*)\((\w+)\)\((\w+)\*(\d)\)$`)
	indirect   = regexp.MustCompile(`^(.*)\((\w+)\)$`)
)

// source returns the registers of an operand by half. One that lies in memory is loaded to the spare pair.
func (t *translation) source(operand string) [2]int {
	i := 2 * t.pair(spare)
	switch m := constantAt.FindStringSubmatch(operand); {
	case m != nil && t.constants:
		offset, _ := strconv.Atoi(m[1])
		i = firstConstant + offset/64
		return [2]int{i, i}
	case m != nil:
		t.p("\tFMOVQ %s(%s), F%d", m[1], base, i)
		return [2]int{i, i}
	case strings.Contains(operand, "("):
		t.p("\tFLDPQ %s, (F%d, F%d)", t.general(operand, true), i, i+1)
	default:
		i = 2 * t.pair(numbered(operand))
	}
	return [2]int{i, i + 1}
}

// keepConstants loads those of sigmoid.
func (t *translation) keepConstants() {
	t.p("\tMOVD $sigmoid<>(SB), %s", base)
	for i := range size {
		t.p("\tFMOVQ %d(%s), F%d", 64*i, base, firstConstant+i)
	}
}

// oneByOne writes the loop over the last CX numbers of a pass.
func (f *file) oneByOne(pointers []string, body func(masked bool)) {
	f.single = true
	f.p("one:")
	body(true)
	for _, r := range pointers {
		f.in("ADDQ $4, %s", r)
	}
	f.in("SUBQ $1, CX")
	f.in("JNZ one")
	f.single = false
}

// multiplyElement adds to c the product of b and the first element of a.
func (t *translation) multiplyElement(size string, b, a, c int) {
	for h := range 2 {
		n, m, d := uint32(2*t.pair(b)+h), uint32(2*t.pair(a)), uint32(2*t.pair(c)+h)
		operands := m<<16 | n<<5 | d
		if size == "D" {
			t.word(0x4FC01000|operands, "fmla v%d.2d, v%d.2d, v%d.d[0]", d, n, m)
		} else {
			t.word(0x4F801000|operands, "fmla v%d.4s, v%d.4s, v%d.s[0]", d, n, m)
		}
	}
}

// general translates a general register, an immediate, a parameter or an address. NEON has no address of a base, an
// index and an offset, none with an index of 8 bytes for a number of 4, and none with an index for a pair: the scratch
// register then has the sum.
func (t *translation) general(operand string, pair bool) string {
	if r, ok := armGeneral[operand]; ok {
		return r
	}
	if m := indexed.FindStringSubmatch(operand); m != nil {
		at, index := armGeneral[m[2]], armGeneral[m[3]]+shifts[m[4]]
		if m[1] == "" && m[4] != "8" && !pair {
			return fmt.Sprintf("(%s)(%s)", at, index)
		}
		t.p("\tADD %s, %s, %s", index, at, scratch)
		return fmt.Sprintf("%s(%s)", m[1], scratch)
	}
	if m := indirect.FindStringSubmatch(operand); m != nil && armGeneral[m[2]] != "" {
		return fmt.Sprintf("%s(%s)", m[1], armGeneral[m[2]])
	}
	return operand
}

// compare compares a register or what is in memory with a register or an immediate.
func (t *translation) compare(load, a, b string) {
	in := func(operand string) string {
		g := t.general(operand, false)
		if strings.Contains(g, "(") {
			t.p("\t%s %s, %s", load, g, scratch)
			return scratch
		}
		return g
	}
	t.p("\tCMP %s, %s", in(b), in(a))
}

// translate writes what an instruction of x86 becomes.
func (t *translation) translate(line string) {
	op, rest, _ := strings.Cut(line, " ")
	args := strings.Split(rest, ", ")
	if scalar, ok := armScalar[op]; ok && !strings.HasPrefix(args[len(args)-1], "X") {
		for i, a := range args {
			args[i] = t.general(a, false)
		}
		t.p("\t%s", strings.TrimRight(scalar+" "+strings.Join(args, ", "), " "))
		return
	}
	switch op {
	case "VZEROUPPER": // x86 alone
	case "INCQ", "DECQ":
		t.p("\t%s $1, %s", map[string]string{"INCQ": "ADDS", "DECQ": "SUBS"}[op], t.general(args[0], false))
	case "XORQ":
		t.p("\tMOVD $0, %s", t.general(args[1], false))
	case "TESTQ", "TESTL":
		t.compare("", args[0], "$0")
	case "CMPQ":
		t.compare("MOVD", args[0], args[1])
	case "CMPB":
		t.compare("MOVBU", args[0], args[1])
	case "LEAQ":
		m := indexed.FindStringSubmatch(args[0])
		to := t.general(args[1], false)
		t.p("\tADD %s%s, %s, %s", armGeneral[m[3]], shifts[m[4]], armGeneral[m[2]], to)
		if m[1] != "" {
			t.p("\tADD $%s, %s", m[1], to)
		}
	default:
		t.translateVector(op, args)
	}
}

// translateVector is translate for vectors of float32, float64 and integers.
func (t *translation) translateVector(op string, args []string) {
	size, name := "S", op[:len(op)-1]
	if strings.HasSuffix(op, "PD") || strings.HasSuffix(op, "SD") ||
		strings.HasPrefix(op, "VP") && strings.HasSuffix(op, "Q") {
		size = "D"
	}
	last := args[len(args)-1]
	each := func(op armOp, operands ...string) {
		d, sources := t.source(last), make([][2]int, len(operands))
		for i, o := range operands {
			sources[i] = t.source(o)
		}
		t.halves(func(h int) {
			var s []int
			for _, pair := range sources {
				s = append(s, pair[h])
			}
			t.apply(op, size, d[h], s...)
		})
	}
	if v, ok := armVector[name]; ok {
		each(v, args[1], args[0])
		return
	}
	switch op {
	case "MOVQ": // to a vector
		t.p("\tFMOVD %s, F%d", t.general(args[0], false), t.source(last)[0])
	case "VMOVUPS", "VMOVUPD", "VMOVSD":
		t.moveVector(op, args[0], args[1])
	case "VBROADCASTSS", "VBROADCASTSD":
		d := t.source(last)
		element := !strings.HasPrefix(args[0], "X") && !strings.Contains(args[0], "(FP)")
		if !strings.HasPrefix(args[0], "X") {
			t.p("\tFMOV%s %s, F%d", size, t.general(args[0], false), d[0])
		}
		if !element { // multiplyElement takes the first
			code, of := map[string]uint32{"S": 0x4E040400, "D": 0x4E080400}[size], strings.ToLower(size)
			for _, to := range []int{d[1], d[0]} {
				t.word(code|uint32(d[0])<<5|uint32(to), "dup v%d.%s%s, v%d.%s[0]", to,
					map[string]string{"S": "4", "D": "2"}[size], of, d[0], of)
			}
		}
	case "VFMADD213PS", "VFMADD213PD": // d ← a d + c: into the spare pair, which then is d
		t.copyVector(args[0], "Y15")
		d, a, c := t.source(last), t.source(args[1]), t.source("Y15")
		t.halves(func(h int) { t.apply(armVector["VFMADD231P"], size, c[h], a[h], d[h]) })
		i := numbered(last)
		t.where[i], t.where[spare] = t.where[spare], t.where[i]
	case "VSQRTPS":
		each(fsqrt, args[0])
	case "VCVTPS2DQ", "VCVTPD2DQY": // float64 to integers of 64 bits at once
		size = map[string]string{"VCVTPS2DQ": "S", "VCVTPD2DQY": "D"}[op]
		each(fcvtns, args[0])
	case "VCVTDQ2PS", "VCVTDQ2PD":
		each(scvtf, args[0])
	case "VPMOVSXDQ": // they are
	case "VPSRAD", "VPSLLD", "VPSLLQ":
		t.shift(op, size, args)
	case "VCMPPS", "VCMPPD":
		switch args[0] {
		case "$1", "$17": // less
			each(fcmgt, args[1], args[2])
		case "$30":
			each(fcmgt, args[2], args[1])
		case "$0x1D":
			each(fcmge, args[2], args[1])
		case "$0x04": // not equal
			each(fcmeq, args[2], args[1])
			each(mvn, last)
		default:
			log.Fatalf("no NEON for %s %s", op, strings.Join(args, ", "))
		}
	case "VBLENDVPS", "VBLENDVPD":
		t.copyVector(args[2], last)
		each(bit, args[1], args[0])
	default:
		log.Fatalf("no NEON for %s %s", op, strings.Join(args, ", "))
	}
}

// copyVector copies a register or a constant.
func (t *translation) copyVector(from, to string) {
	if from == to {
		return
	}
	d, s := t.source(to), [2]int{}
	if m := constantAt.FindStringSubmatch(from); m != nil && !t.constants {
		t.halves(func(h int) { t.p("\tFMOVQ %s(%s), F%d", m[1], base, d[h]) })
		return
	}
	s = t.source(from)
	t.halves(func(h int) { t.apply(orr, "S", d[h], s[h], s[h]) })
}

// moveVector loads, stores or copies.
func (t *translation) moveVector(op, from, to string) {
	load := !strings.HasPrefix(from, "X") && !strings.HasPrefix(from, "Y")
	pair := !t.single && op != "VMOVSD"
	reg, at := from, to
	if load {
		reg, at = to, from
	}
	if !constantAt.MatchString(at) {
		at = t.general(at, pair)
	}
	r := t.source(reg)
	move := func(op, registers string) {
		if load {
			t.p("\t%s %s, %s", op, at, registers)
		} else {
			t.p("\t%s %s, %s", op, registers, at)
		}
	}
	one := fmt.Sprintf("F%d", r[0])
	switch {
	case constantAt.MatchString(from), at[0] == 'Y':
		t.copyVector(from, to)
	case t.single:
		move("FMOVS", one)
	case op == "VMOVSD":
		move("FMOVD", one)
	case strings.HasPrefix(reg, "X"):
		move("FMOVQ", one)
	case load:
		move("FLDPQ", fmt.Sprintf("(F%d, F%d)", r[0], r[1]))
	default:
		move("FSTPQ", fmt.Sprintf("(F%d, F%d)", r[0], r[1]))
	}
}

// shift shifts integers to the left, or with their sign to the right.
func (t *translation) shift(op, size string, args []string) {
	by, _ := strconv.Atoi(args[0][1:])
	width, suffix := 32, "4s"
	if size == "D" {
		width, suffix = 64, "2d"
	}
	code, name, immediate := uint32(0x4F005400), "shl", width+by
	if op == "VPSRAD" {
		code, name, immediate = 0x4F000400, "sshr", 2*width-by
	}
	s, d := t.source(args[1]), t.source(args[2])
	t.halves(func(h int) {
		t.word(code|uint32(immediate)<<16|uint32(s[h])<<5|uint32(d[h]), "%s v%d.%s, v%d.%s, #%d", name, d[h], suffix,
			s[h], suffix, by)
	})
}

// translateFile writes the translation of a file of assembly in AVX2, name_amd64.s.
func translateFile(name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	f := newFile()
	f.isa = neon[0]
	f.p("// Code generated from %s by base/kernel/internal/gen; DO NOT EDIT.\n", filepath.Base(name))
	for line := range strings.Lines(string(text)) {
		code, _, comment := strings.Cut(strings.TrimRight(line, "\n"), "//")
		switch op, rest, _ := strings.Cut(strings.TrimSpace(code), " "); {
		case op != "" && strings.HasPrefix(code, "\t"):
			f.in("%s", strings.TrimSpace(op+" "+strings.TrimSpace(rest)))
		case op != "" || !comment:
			f.p("%s", code)
		}
	}
	to := strings.TrimSuffix(filepath.Base(name), "_amd64.s") + "_arm64.s"
	if err := os.WriteFile(to, f.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// quadsNEON writes what lays float32 numbers out in quads: a register holds four consecutive numbers along the summed
// index for each of two columns, rounded to bfloat16. dispatch_arm64.go has what does not fill a register.
func quadsNEON(f *file) {
	// 8·n numbers of a and of b, two quads at a time, quads step bytes apart.
	f.begin("quadsNEON", "dst *uint32, step int, a, b *float32, n int", "DI DX SI BX CX")
	f.p("loop:")
	f.p("\tFLDPQ.P 32(R0), (F0, F1)")
	f.p("\tFLDPQ.P 32(R5), (F2, F3)")
	for i := range 2 {
		f.narrowHalves(i, 2+i, 4+i)
		f.p("\tFMOVQ F%d, (R1)", 4+i)
		f.p("\tADD R2, R1")
	}
	f.in("DECQ CX")
	f.in("JNZ loop")
	f.end()

	// 4·n rows of 16 numbers, stride bytes apart: quads run down the columns.
	f.begin("weaveNEON", "dst *uint32, step int, src *float32, stride, n int", "DI DX SI BX CX")
	f.p("loop:")
	rows := []string{"R0", "R6", "R7", "R8"}
	for r := range 3 {
		f.p("\tADD R5, %s, %s", rows[r], rows[r+1])
	}
	for h := range 2 {
		for i, r := range rows {
			f.p("\tFLDPQ %d(%s), (F0, F1)", 32*h, r)
			f.narrowHalves(0, 1, 4+i)
		}
		for i := range 2 {
			f.permute("zip1", 0x4E403800, "8h", 2*i, 4+2*i, 5+2*i)
			f.permute("zip2", 0x4E407800, "8h", 2*i+1, 4+2*i, 5+2*i)
		}
		for i := range 2 {
			f.permute("zip1", 0x4E803800, "4s", 4+2*i, i, 2+i)
			f.permute("zip2", 0x4E807800, "4s", 5+2*i, i, 2+i)
			f.p("\tFSTPQ (F%d, F%d), %d(R1)", 4+2*i, 5+2*i, 64*h+32*i)
		}
	}
	f.p("\tADD R5, R8, R0")
	f.p("\tADD R2, R1")
	f.in("DECQ CX")
	f.in("JNZ loop")
	f.end()
}

// tileBFMMLA writes the tile of C = A B, or C += A B if add ≠ 0, in bfloat16: 1 to 3 pairs of rows and 16 columns. Quad
// l of a pair of rows r is at a + 128·l + 16·r, and of a pair of columns j at b + 256·l + 16·j, in bytes; rows of C are
// cs bytes apart. Register 8r+j sums 2×2 elements of C. BFMMLA adds four products to each: two pairs in turn, as BFDOT
// adds a pair.
func tileBFMMLA(f *file) {
	f.begin("tileBFMMLA", "pairs, quads int, a, b *uint32, c *float32, cs, add int", "R12 CX SI DI DX R13 AX")
	for n := 3; n > 1; n-- {
		f.in("CMPQ R12, $%d", n)
		f.in("JEQ pairs%d", n)
	}
	for n := 1; n <= 3; n++ {
		f.p("\npairs%d:", n)
		f.in("MOVQ DX, R14")
		f.in("TESTQ AX, AX")
		f.in("JNE load%d", n)
		for i := range 4 * n {
			f.zero(i)
		}
		f.in("JMP loop%d", n)
		f.p("load%d:", n)
		for i := range 8 * n {
			f.p("\tFMOVQ %d(R12), F%d", 16*(i%4), 24+i%8)
			if i%4 == 3 {
				f.p("\tADD R11, R12")
			}
			if i%8 == 7 {
				for j := range 4 {
					f.zipHalves(i-7+2*j, i-6+2*j, 24+j, 28+j)
				}
			}
		}
		f.in("PCALIGN $32")
		f.p("loop%d:", n)
		if n > 1 {
			f.p("\tFLDPQ (R0), (F24, F25)")
		}
		if n != 2 {
			f.p("\tFMOVQ %d(R0), F%d", 16*(n-1), 23+n)
		}
		for j := range 8 {
			b := 28 + j%4
			if j%2 == 0 {
				f.p("\tFLDPQ %d(R1), (F%d, F%d)", 16*j, b, b+1)
			}
			for r := range n {
				f.word(0x6E40EC00|uint32(b<<16|(24+r)<<5|8*r+j), "bfmmla v%d.4s, v%d.8h, v%d.8h", 8*r+j, 24+r, b)
			}
		}
		f.in("ADDQ $128, SI")
		f.in("ADDQ $256, DI")
		f.in("DECQ CX")
		f.in("JNZ loop%d", n)
		for r := range n {
			for j := range 4 {
				f.zipHalves(24+j, 28+j, 8*r+2*j, 8*r+2*j+1)
			}
			for h := range 2 {
				for i := range 2 {
					f.p("\tFSTPQ (F%d, F%d), %d(R2)", 24+4*h+2*i, 25+4*h+2*i, 32*i)
				}
				f.p("\tADD R11, R2")
			}
		}
		f.end()
	}
}

// zipHalves sets register low to the low halves of two registers and register high to the high ones.
func (t *translation) zipHalves(low, high, n, m int) {
	t.permute("zip1", 0x4EC03800, "2d", low, n, m)
	t.permute("zip2", 0x4EC07800, "2d", high, n, m)
}

// permute writes an instruction that takes elements of two registers.
func (t *translation) permute(name string, code uint32, suffix string, d, n, m int) {
	t.word(code|uint32(m<<16|n<<5|d), "%s v%d.%s, v%d.%s, v%d.%s", name, d, suffix, n, suffix, m, suffix)
}

// narrowHalves rounds two registers of float32 to one of bfloat16.
func (t *translation) narrowHalves(low, high, d int) {
	t.word(0x0EA16800|uint32(low<<5|d), "bfcvtn v%d.4h, v%d.4s", d, low)
	t.word(0x4EA16800|uint32(high<<5|d), "bfcvtn2 v%d.8h, v%d.4s", d, high)
}
