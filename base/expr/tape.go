package expr

import "math"

// instr is one operation over a chunk of points. Operands are offsets in the scratch memory.
type instr struct {
	op               op
	dst, a, b, c, d2 int32 // d2: the fourth operand, or the second result
}

// A tape is a straight line of instructions over registers, each of which holds one number for every point of a chunk.
type tape struct {
	code    []instr
	loads   []move // from the n×d inputs: fromX of them from x, then from v
	fromX   int
	fills   []fill // constants
	stores  [2][]move
	strides [2]int // row lengths of the results
	stride  int    // between registers
	chunk   int    // points at a time
	size    int    // of the scratch memory
}

type move struct{ at, register int32 } // place in a row; register offset

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

// few: up to so many moves, going through the points once for each is faster
// than going through the moves for each point.
const few = 8

// gather copies columns of rows (stride wide) to registers. Column 0 is the variable numbered first.
func gather(s, rows []float64, moves []move, stride, first, count int) {
	if len(moves) <= few {
		for _, m := range moves {
			at := int(m.at) - first
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
			s[int(m.register)+i] = row[int(m.at)-first]
		}
	}
}

func (t *tape) store(dst, s []float64, stores []move, stride, count int) {
	if len(stores) < stride {
		clear(dst)
	}
	if len(stores) <= few {
		for _, m := range stores {
			at := int(m.at)
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
