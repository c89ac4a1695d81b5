package expr

import "math"

// instr is one operation over a chunk of points. Operands are offsets in the scratch memory.
type instr struct {
	op               op
	dst, a, b, c, d2 int32 // d2: the fourth operand, or the second result
}

// A tape is a straight line of instructions over registers. Each register holds one number for every point of a chunk.
type tape struct {
	code    []instr
	loads   []move // from the n×d inputs: fromX of them from x, then from v
	fromX   int
	fills   []fill // constants
	stores  [2][]move
	strides [2]int // row lengths of the results
	names   [2]string
	stride  int // between registers
	chunk   int // points at a time
	size    int // of the scratch memory
}

type move struct {
	at       int // place in a row
	register int32
}

type fill struct {
	register int32
	c        float64
}

// scratch makes the memory of runs, with the constants in their places.
func (t *tape) scratch() []float64 {
	s := make([]float64, t.size)
	for _, f := range t.fills {
		for i := range t.chunk {
			s[int(f.register)+i] = f.c
		}
	}
	return s
}

// run evaluates n points in the scratch memory s. x holds the first d inputs, v the others (nil where there are none).
// dst[k] is n×strides[k]; places without a store become 0.
func (t *tape) run(s []float64, dst [2][]float64, x, v []float64, d, n int) {
	for from := 0; from < n; from += t.chunk {
		count := min(t.chunk, n-from)
		t.load(s, x, v, d, from, count)
		t.execute(s, count)
		for k, stores := range t.stores {
			if dst[k] != nil {
				t.store(dst[k][from*t.strides[k]:(from+count)*t.strides[k]], s, stores, t.strides[k], count)
			}
		}
	}
}

func (t *tape) load(s, x, v []float64, d, from, count int) {
	gather(s, x[from*d:(from+count)*d], t.loads[:t.fromX], d, 0, count)
	if t.fromX < len(t.loads) {
		gather(s, v[from*d:(from+count)*d], t.loads[t.fromX:], d, d, count)
	}
}

// few is the largest number of moves for which one pass over the points for each move is faster than one pass over the
// moves for each point.
const few = 8

// gather copies columns of rows (stride wide) to registers. Column 0 is the variable numbered first.
func gather(s, rows []float64, moves []move, stride, first, count int) {
	if len(moves) <= few {
		for _, m := range moves {
			at := m.at - first
			for i := range s[m.register:][:count] {
				s[int(m.register)+i] = rows[at]
				at += stride
			}
		}
		return
	}
	for i := range count {
		row := rows[i*stride : (i+1)*stride]
		for _, m := range moves {
			s[int(m.register)+i] = row[m.at-first]
		}
	}
}

func (t *tape) store(dst, s []float64, stores []move, stride, count int) {
	if len(stores) < stride {
		clear(dst)
	}
	if len(stores) <= few {
		for _, m := range stores {
			at := m.at
			for _, c := range s[m.register:][:count] {
				dst[at] = c
				at += stride
			}
		}
		return
	}
	for i := range count {
		row := dst[i*stride : (i+1)*stride]
		for _, m := range stores {
			row[m.at] = s[int(m.register)+i]
		}
	}
}

// execute runs the code over the first n points of the chunk. Products and sums
// are rounded one by one: no machine fuses them.
func (t *tape) execute(s []float64, n int) {
	for k := range t.code {
		in := &t.code[k]
		dst := s[in.dst:][:n]
		a := s[in.a:][:n]
		b := s[in.b:][:n]
		switch in.op {
		case opAdd:
			for i := range dst {
				dst[i] = a[i] + b[i]
			}
		case opSub:
			for i := range dst {
				dst[i] = a[i] - b[i]
			}
		case opMul:
			for i := range dst {
				dst[i] = a[i] * b[i]
			}
		case opDiv:
			for i := range dst {
				dst[i] = a[i] / b[i]
			}
		case opMulAdd:
			c := s[in.c:][:n]
			for i := range dst {
				dst[i] = float64(a[i]*b[i]) + c[i]
			}
		case opMulSub:
			c := s[in.c:][:n]
			for i := range dst {
				dst[i] = float64(a[i]*b[i]) - c[i]
			}
		case opSubMul:
			c := s[in.c:][:n]
			for i := range dst {
				dst[i] = c[i] - float64(a[i]*b[i])
			}
		case opDot2:
			c, d := s[in.c:][:n], s[in.d2:][:n]
			for i := range dst {
				dst[i] = float64(a[i]*b[i]) + float64(c[i]*d[i])
			}
		case opCross2:
			c, d := s[in.c:][:n], s[in.d2:][:n]
			for i := range dst {
				dst[i] = float64(a[i]*b[i]) - float64(c[i]*d[i])
			}
		case opNeg:
			for i := range dst {
				dst[i] = -a[i]
			}
		case opSqrt:
			for i := range dst {
				dst[i] = math.Sqrt(a[i])
			}
		case opSincos:
			d := s[in.d2:][:n]
			for i := range dst {
				dst[i], d[i] = math.Sincos(a[i])
			}
		case opMin:
			for i := range dst {
				dst[i] = min(a[i], b[i])
			}
		case opMax:
			for i := range dst {
				dst[i] = max(a[i], b[i])
			}
		case opGE:
			for i := range dst {
				dst[i] = indicator(a[i] >= b[i])
			}
		case opGT:
			for i := range dst {
				dst[i] = indicator(a[i] > b[i])
			}
		default:
			for i := range dst {
				dst[i] = apply(in.op, a[i], b[i])
			}
		}
	}
}

// op is an operation of the graph or of the tape.
type op uint8

const (
	opConst op = iota
	opVar

	opNeg
	opSqrt
	opExp
	opLog
	opSin
	opCos
	opTan
	opAsin
	opAcos
	opAtan
	opSinh
	opCosh
	opTanh
	opAbs
	opSign // −1, 0 or 1
	opSoftplus
	opLogistic

	opAdd
	opSub
	opMul
	opDiv
	opPow
	opAtan2
	opMin
	opMax
	opGE   // 1 where a ≥ b, else 0
	opGT   // 1 where a > b, else 0
	opKeep // b where a ≥ 0, else 0

	// Of the tape alone: what the compiler joins, with the same roundings.
	opMulAdd // a·b + c
	opMulSub // a·b − c
	opSubMul // c − a·b
	opDot2   // a·b + c·d
	opCross2 // a·b − c·d
	opSincos // dst = sin a, dst2 = cos a
)

var opNames = [...]string{
	opConst: "constant", opVar: "x", opNeg: "-", opSqrt: "sqrt", opExp: "exp", opLog: "log", opSin: "sin", opCos: "cos",
	opTan: "tan", opAsin: "asin", opAcos: "acos", opAtan: "atan", opSinh: "sinh", opCosh: "cosh", opTanh: "tanh",
	opAbs: "abs", opSign: "sign", opSoftplus: "softplus", opLogistic: "logistic",
	opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opPow: "^", opAtan2: "atan2", opMin: "min", opMax: "max",
	opGE: ">=", opGT: ">", opKeep: "where",
}

func (o op) String() string { return opNames[o] }

// ofOne are the operations of one operand.
var ofOne = [...]func(float64) float64{
	opNeg: func(a float64) float64 { return -a }, opSqrt: math.Sqrt, opExp: math.Exp, opLog: math.Log, opSin: math.Sin,
	opCos: math.Cos, opTan: math.Tan, opAsin: math.Asin, opAcos: math.Acos, opAtan: math.Atan, opSinh: math.Sinh,
	opCosh: math.Cosh, opTanh: math.Tanh, opAbs: math.Abs, opSign: sign, opSoftplus: softplus, opLogistic: logistic,
}

// apply evaluates an operation of the graph at one point. The loops of the tape compute the same bits.
func apply(o op, a, b float64) float64 {
	switch o {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opPow:
		return math.Pow(a, b)
	case opAtan2:
		return math.Atan2(a, b)
	case opMin:
		return min(a, b)
	case opMax:
		return max(a, b)
	case opGE:
		return indicator(a >= b)
	case opGT:
		return indicator(a > b)
	case opKeep:
		if a >= 0 {
			return b
		}
		return max(0, a) // 0 or NaN
	}
	return ofOne[o](a)
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func sign(a float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return a // 0 or NaN
}

// softplus is log(1 + eᵃ) without overflow.
func softplus(a float64) float64 { return max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) }

// logistic is 1/(1 + e⁻ᵃ) without overflow.
func logistic(a float64) float64 {
	e := math.Exp(-math.Abs(a))
	if a >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}
