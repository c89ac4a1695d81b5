package expr

import "math"

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
	opGE // 1 where a ≥ b, else 0
	opGT // 1 where a > b, else 0

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
	opGE: ">=", opGT: ">",
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
