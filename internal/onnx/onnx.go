// Package onnx builds graphs of ONNX's operators and writes them as model files.
//
// A [Graph] is made operator by operator, in the order in which it runs; [Graph.Encode] writes it as the
// format's protocol buffers. Equal graphs give equal bytes. The operators are those of operator set 17
// (of December 2021), which every runtime of today knows; the file's version is 8.
//
// It knows nothing of networks: each says its own graph (package score). It reads no files, runs no graphs
// and holds no operator that no network needs.
package onnx

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Versions of the file format and of the operators.
const (
	IRVersion = 8
	Opset     = 17
)

// A Type is that of a tensor's elements, by the format's numbers.
type Type int32

// The types in use.
const (
	Float  Type = 1
	Int64  Type = 7
	Bool   Type = 9
	Double Type = 11
)

// TypeOf returns the type of T.
func TypeOf[T float32 | float64]() Type {
	if _, ok := any(*new(T)).(float32); ok {
		return Float
	}
	return Double
}

// A Value is the name of a tensor in a graph, and the type of its elements. The zero Value is none.
type Value struct {
	Name string
	Type Type
}

// A Port is an input or an output. A size of Batch is that of the batch, any number.
type Port struct {
	Value
	Dims []int
}

// Batch is the size of a dimension that a graph leaves open.
const Batch = -1

// BatchName is what the open dimension is called in files.
const BatchName = "n"

// A Node applies an operator.
type Node struct {
	Op         string
	In         []string
	Out        string
	Attributes []Attribute
}

// An Attribute is a whole number or a list of them.
type Attribute struct {
	Name string
	Int  int64
	List []int64 // nil: Int
}

// A Tensor is a constant of a graph, or a parameter: numbers in C order, of one of three types. Without a
// shape it is a scalar.
type Tensor struct {
	Name    string
	Shape   []int
	Float32 []float32
	Float64 []float64
	Int64   []int64
	// Parameter is the name that the numbers have in checkpoints; "" of a constant. They may stand here in
	// another order of axes: Axes, as Transpose has them, took them there; nil: none.
	Parameter string
	Axes      []int
}

// A Graph is a function of its Inputs. Wide is the type of inputs, outputs and of what Constant makes.
type Graph struct {
	Name    string
	Doc     string
	Wide    Type
	Inputs  []Port
	Outputs []Port
	Nodes   []Node
	Tensors []Tensor
}

// New returns an empty graph.
func New(name string, wide Type) *Graph { return &Graph{Name: name, Wide: wide} }

// Input declares an input, or returns the one of that name.
func (g *Graph) Input(name string, dims ...int) Value {
	for _, p := range g.Inputs {
		if p.Name == name {
			return p.Value
		}
	}
	v := Value{name, g.Wide}
	g.Inputs = append(g.Inputs, Port{v, dims})
	return v
}

// Output makes v an output of a name.
func (g *Graph) Output(name string, v Value, dims ...int) {
	g.Nodes = append(g.Nodes, Node{Op: "Identity", In: []string{v.Name}, Out: name})
	g.Outputs = append(g.Outputs, Port{Value{name, v.Type}, dims})
}

// Op applies an operator to values. The result has the type of the first of them.
func (g *Graph) Op(op string, in []Value, attributes ...Attribute) Value {
	n := Node{Op: op, Out: fmt.Sprintf("v%d", len(g.Nodes)), Attributes: attributes}
	for _, v := range in {
		if v.Name == "" {
			panic(fmt.Sprintf("onnx: an operator %s of a value that is none", op))
		}
		n.In = append(n.In, v.Name)
	}
	g.Nodes = append(g.Nodes, n)
	return Value{n.Out, in[0].Type}
}

func (g *Graph) tensor(t Tensor, as Type) Value {
	t.Name = cmp.Or(t.Name, fmt.Sprintf("c%d", len(g.Tensors)))
	g.Tensors = append(g.Tensors, t)
	return Value{t.Name, as}
}

// Constant returns numbers of type Wide. Without a shape they are a scalar.
func (g *Graph) Constant(x []float64, shape ...int) Value {
	if g.Wide == Double {
		return g.tensor(Tensor{Shape: shape, Float64: slices.Clone(x)}, Double)
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return g.tensor(Tensor{Shape: shape, Float32: y}, Float)
}

// Number is Constant of one number.
func (g *Graph) Number(v float64) Value { return g.Constant([]float64{v}) }

// Indices returns whole numbers.
func (g *Graph) Indices(x ...int) Value {
	return g.tensor(Tensor{Shape: []int{len(x)}, Int64: whole(x)}, Int64)
}

// whole returns x as the format has whole numbers.
func whole(x []int) []int64 {
	y := make([]int64, len(x))
	for i, v := range x {
		y[i] = int64(v)
	}
	return y
}

// Parameter returns numbers that checkpoints hold under a name, of shape.
func Parameter[T float32 | float64](g *Graph, name string, x []T, shape ...int) Value {
	t := Tensor{Name: name, Parameter: name, Shape: shape}
	return g.tensor(t.with(slices.Clone(x)), TypeOf[T]())
}

// with returns the tensor with numbers of type float32 or float64.
func (t Tensor) with(x any) Tensor {
	switch x := x.(type) {
	case []float32:
		t.Float32 = x
	case []float64:
		t.Float64 = x
	}
	return t
}

// Transposed is Parameter of the array with its axes in another order: axis i of the result is axis axes[i] of x.
func Transposed[T float32 | float64](g *Graph, name string, x []T, shape, axes []int) Value {
	to := make([]int, len(axes))
	stride := make([]int, len(axes))
	for i, a := range axes {
		to[i], stride[i] = shape[a], 1
		for _, s := range shape[a+1:] {
			stride[i] *= s
		}
	}
	y := make([]T, len(x))
	index := make([]int, len(axes))
	for k := range y {
		from := 0
		for i, j := range index {
			from += j * stride[i]
		}
		y[k] = x[from]
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < to[i] {
				break
			}
			index[i] = 0
		}
	}
	t := Tensor{Name: name, Parameter: name, Axes: slices.Clone(axes), Shape: to}
	return g.tensor(t.with(y), TypeOf[T]())
}

// Add, Sub, Mul and Div work number by number, with axes of size 1 repeated.
func (g *Graph) Add(a, b Value) Value { return g.Op("Add", []Value{a, b}) }
func (g *Graph) Sub(a, b Value) Value { return g.Op("Sub", []Value{a, b}) }
func (g *Graph) Mul(a, b Value) Value { return g.Op("Mul", []Value{a, b}) }
func (g *Graph) Div(a, b Value) Value { return g.Op("Div", []Value{a, b}) }

// MatMul is the product of matrices, the last two axes.
func (g *Graph) MatMul(a, b Value) Value { return g.Op("MatMul", []Value{a, b}) }

// Of1 applies an operator of one value, such as Sin.
func (g *Graph) Of1(op string, v Value) Value { return g.Op(op, []Value{v}) }

// SiLU is v/(1 + exp(−v)).
func (g *Graph) SiLU(v Value) Value { return g.Mul(v, g.Of1("Sigmoid", v)) }

// Linear is x Wᵀ + b, W out×in.
func (g *Graph) Linear(x, w, b Value) Value {
	return g.Op("Gemm", []Value{x, w, b}, Attribute{Name: "transB", Int: 1})
}

// Greater is a > b.
func (g *Graph) Greater(a, b Value) Value {
	v := g.Op("Greater", []Value{a, b})
	v.Type = Bool
	return v
}

// Where is a where the condition holds, b elsewhere.
func (g *Graph) Where(condition, a, b Value) Value {
	v := g.Op("Where", []Value{condition, a, b})
	v.Type = a.Type
	return v
}

// Cast turns v into another type.
func (g *Graph) Cast(v Value, to Type) Value {
	if v.Type == to {
		return v
	}
	v = g.Op("Cast", []Value{v}, Attribute{Name: "to", Int: int64(to)})
	v.Type = to
	return v
}

// Concat puts values side by side along an axis.
func (g *Graph) Concat(axis int, v ...Value) Value {
	if len(v) == 1 {
		return v[0]
	}
	return g.Op("Concat", v, Attribute{Name: "axis", Int: int64(axis)})
}

// Reshape gives v another shape; Batch stands for what is left.
func (g *Graph) Reshape(v Value, dims ...int) Value {
	return g.Op("Reshape", []Value{v, g.Indices(dims...)})
}

// Unsqueeze puts an axis of size 1 in.
func (g *Graph) Unsqueeze(v Value, axis int) Value {
	return g.Op("Unsqueeze", []Value{v, g.Indices(axis)})
}

// Sum adds up along an axis, which stays with size 1 if keep.
func (g *Graph) Sum(v Value, axis int, keep bool) Value {
	k := int64(0)
	if keep {
		k = 1
	}
	return g.Op("ReduceSum", []Value{v, g.Indices(axis)}, Attribute{Name: "keepdims", Int: k})
}

// Gather takes the slices of these numbers along an axis.
func (g *Graph) Gather(v Value, axis int, at ...int) Value {
	return g.GatherBy(v, axis, g.Indices(at...))
}

// GatherBy is Gather by a value of whole numbers, whose shape takes the place of the axis.
func (g *Graph) GatherBy(v Value, axis int, at Value) Value {
	return g.Op("Gather", []Value{v, at}, Attribute{Name: "axis", Int: int64(axis)})
}

// Columns takes n columns of v from one on.
func (g *Graph) Columns(v Value, from, n int) Value {
	at := make([]int, n)
	for i := range at {
		at[i] = from + i
	}
	return g.Gather(v, 1, at...)
}

// Transpose puts axes in another order.
func (g *Graph) Transpose(v Value, axes ...int) Value {
	return g.Op("Transpose", []Value{v}, Attribute{Name: "perm", List: whole(axes)})
}

// Conv is the convolution of sequences x, n×channels×steps, by w, out×channels×taps. It pads both ends with `pad`
// zeros, and takes every stride-th result.
func (g *Graph) Conv(x, w Value, taps, pad, stride int) Value {
	return g.Op("Conv", []Value{x, w}, Attribute{Name: "kernel_shape", List: []int64{int64(taps)}},
		Attribute{Name: "pads", List: []int64{int64(pad), int64(pad)}},
		Attribute{Name: "strides", List: []int64{int64(stride)}})
}

// Widen appends zeros to the last of two axes.
func (g *Graph) Widen(v Value, zeros int) Value {
	return g.Op("Pad", []Value{v, g.Indices(0, 0, 0, zeros)})
}

// Numbers of the fields of onnx.proto3 (github.com/onnx/onnx) that are written.
const (
	modelIRVersion, modelProducer, modelProducerVersion = 1, 2, 3
	modelDoc, modelGraph, modelOpset, modelMetadata     = 6, 7, 8, 14
	opsetVersion                                        = 2
	entryKey, entryValue                                = 1, 2
	graphNode, graphName, graphTensor, graphDoc         = 1, 2, 5, 10
	graphInput, graphOutput                             = 11, 12
	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttr   = 1, 2, 3, 4, 5
	attrName, attrInt, attrInts, attrType               = 1, 3, 8, 20
	attrIsInt, attrIsInts                               = 2, 7 // AttributeProto.AttributeType
	tensorDims, tensorType, tensorName, tensorRaw       = 1, 2, 8, 9
	valueName, valueType                                = 1, 2
	typeTensor, typeElement, typeShape                  = 1, 1, 2
	shapeDim, dimValue, dimName                         = 1, 1, 2
)

// maxFile is what protocol buffers allow.
const maxFile = math.MaxInt32

func tooLarge(bytes int) error {
	return fmt.Errorf("the model takes %d bytes; an ONNX file has at most %d", bytes, maxFile)
}

// A Property is an entry of a model's metadata.
type Property struct{ Key, Value string }

// message is a protocol buffer that grows.
type message []byte

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) number(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) numbers(field protowire.Number, list []int64) {
	var b []byte
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	m.bytes(field, b)
}

// Encode returns the graph as a file, made by a version of the program, with metadata in the order given.
// It is an error that a file has no room for it.
func (g *Graph) Encode(version string, metadata []Property) ([]byte, error) {
	var body message
	size := 0
	for _, t := range g.Tensors {
		size += 8 * t.Len()
	}
	if size > maxFile { // at most as large: before room is made
		return nil, tooLarge(size)
	}
	for i, n := range g.Nodes {
		body.bytes(graphNode, n.encode(i))
	}
	body.text(graphName, g.Name)
	for _, t := range g.Tensors {
		body.bytes(graphTensor, t.encode())
	}
	if g.Doc != "" {
		body.text(graphDoc, g.Doc)
	}
	for _, p := range g.Inputs {
		body.bytes(graphInput, p.encode())
	}
	for _, p := range g.Outputs {
		body.bytes(graphOutput, p.encode())
	}
	var opset, m message
	opset.number(opsetVersion, Opset) // of the default domain, ""
	m.number(modelIRVersion, IRVersion)
	m.text(modelProducer, "landing")
	m.text(modelProducerVersion, version)
	if g.Doc != "" {
		m.text(modelDoc, g.Doc)
	}
	m.bytes(modelGraph, body)
	m.bytes(modelOpset, opset)
	for _, p := range metadata {
		var e message
		e.text(entryKey, p.Key)
		e.text(entryValue, p.Value)
		m.bytes(modelMetadata, e)
	}
	if len(m) > maxFile {
		return nil, tooLarge(len(m))
	}
	return m, nil
}

func (n *Node) encode(i int) (m message) {
	for _, in := range n.In {
		m.text(nodeInput, in)
	}
	m.text(nodeOutput, n.Out)
	m.text(nodeName, fmt.Sprintf("%s_%d", n.Op, i))
	m.text(nodeOp, n.Op)
	for _, a := range n.Attributes {
		var b message
		b.text(attrName, a.Name)
		if a.List == nil {
			b.number(attrInt, a.Int)
			b.number(attrType, attrIsInt)
		} else {
			b.numbers(attrInts, a.List)
			b.number(attrType, attrIsInts)
		}
		m.bytes(nodeAttr, b)
	}
	return m
}

// Len returns how many numbers the tensor has.
func (t *Tensor) Len() int { return len(t.Float32) + len(t.Float64) + len(t.Int64) }

// Type returns that of the tensor's elements.
func (t *Tensor) Type() Type {
	switch {
	case t.Float32 != nil:
		return Float
	case t.Float64 != nil:
		return Double
	}
	return Int64
}

func (t *Tensor) encode() (m message) {
	if len(t.Shape) > 0 {
		m.numbers(tensorDims, whole(t.Shape))
	}
	m.number(tensorType, int64(t.Type()))
	m.text(tensorName, t.Name)
	m.bytes(tensorRaw, t.raw())
	return m
}

// raw returns the elements one after the other, the least byte first.
func (t *Tensor) raw() []byte {
	b := make([]byte, 0, 8*t.Len())
	for _, v := range t.Float32 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	for _, v := range t.Float64 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	for _, v := range t.Int64 {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func (p *Port) encode() (m message) {
	var shape message
	for _, d := range p.Dims {
		var dim message
		if d == Batch {
			dim.text(dimName, BatchName)
		} else {
			dim.number(dimValue, int64(d))
		}
		shape.bytes(shapeDim, dim)
	}
	var tensor, of message
	tensor.number(typeElement, int64(p.Type))
	tensor.bytes(typeShape, shape)
	of.bytes(typeTensor, tensor)
	m.text(valueName, p.Name)
	m.bytes(valueType, of)
	return m
}
