// Package onnxrun reads ONNX files and computes what they say, for tests of what writes them: an
// implementation of the operators in use by their definitions, one after the other and slow, that shares
// no code with package onnx.
package onnxrun

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Run computes the outputs at inputs, by name.
func (m *Model) Run(inputs map[string]*Tensor) (out map[string]*Tensor, err error) {
	at := "inputs"
	defer func() { // what is wrong with the graph panics, here or at an index below
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("%s: %v", at, v)
		}
	}()
	values := maps.Clone(m.Tensors)
	for _, p := range m.Inputs {
		t := p.holds(inputs[p.Name])
		for i, d := range p.Dims {
			if d != "n" && d != fmt.Sprint(t.Dims[i]) {
				panic(fmt.Sprintf("%s has dims %d, want %v", p.Name, t.Dims, p.Dims))
			}
		}
		values[p.Name] = t.round()
	}
	for i, n := range m.Nodes {
		at = fmt.Sprintf("node %d, %s", i, n.Op)
		in := make([]*Tensor, len(n.In))
		for j, name := range n.In {
			if in[j] = values[name]; in[j] == nil {
				panic(fmt.Sprintf("nothing before it makes %q", name))
			}
		}
		if len(n.Out) != 1 || values[n.Out[0]] != nil {
			panic(fmt.Sprintf("outputs %q", n.Out))
		}
		values[n.Out[0]] = n.run(in).round()
	}
	at, out = "outputs", map[string]*Tensor{}
	for _, p := range m.Outputs {
		out[p.Name] = p.holds(values[p.Name])
	}
	return out, nil
}

// holds returns t, which must be of the port's type and have as many axes.
func (p Port) holds(t *Tensor) *Tensor {
	if t == nil || t.Type != p.Type || len(t.Dims) != len(p.Dims) {
		panic(fmt.Sprintf("%s is %v, want type %d and dims %v", p.Name, t, p.Type, p.Dims))
	}
	return t
}

func (t *Tensor) round() *Tensor {
	if t.Type == float {
		t = &Tensor{t.Type, t.Dims, slices.Clone(t.X)}
		for i, v := range t.X {
			t.X[i] = float64(float32(v))
		}
	}
	return t
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

var unary = map[string]func(float64) float64{
	"Sin": math.Sin, "Cos": math.Cos, "Exp": math.Exp, "Sqrt": math.Sqrt, "Abs": math.Abs, "Floor": math.Floor,
	"Round": math.RoundToEven, "Neg": func(v float64) float64 { return -v },
	"Identity": func(v float64) float64 { return v },
	"Sigmoid":  func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
}

var several = map[string]func(v []float64) float64{
	"Add": func(v []float64) float64 { return v[0] + v[1] }, "Sub": func(v []float64) float64 { return v[0] - v[1] },
	"Mul": func(v []float64) float64 { return v[0] * v[1] }, "Div": func(v []float64) float64 { return v[0] / v[1] },
	"Max": func(v []float64) float64 { return math.Max(v[0], v[1]) },
	"Min": func(v []float64) float64 { return math.Min(v[0], v[1]) },
	"Greater": func(v []float64) float64 {
		if v[0] > v[1] {
			return 1
		}
		return 0
	},
	"Where": func(v []float64) float64 {
		if v[0] != 0 {
			return v[1]
		}
		return v[2]
	},
}

// build makes a tensor of what f says of each place, which it must not keep.
func build(kind int64, dims []int, f func(at []int) float64) *Tensor {
	t := &Tensor{kind, dims, make([]float64, size(dims))}
	at := make([]int, len(dims))
	for k := range t.X {
		for i, rest := len(dims)-1, k; i >= 0; i-- {
			at[i], rest = rest%dims[i], rest/dims[i]
		}
		t.X[k] = f(at)
	}
	return t
}

// at returns the number at a place, whose last axes are those of t. Axes of size 1 are repeated.
func (t *Tensor) at(place ...int) float64 {
	k := 0
	for i, d := range t.Dims {
		if v := place[len(place)-len(t.Dims)+i]; d > 1 || v < d {
			if v < 0 || v >= d {
				panic(fmt.Sprintf("place %d of dims %d", place, t.Dims))
			}
			k = k*d + v
		}
	}
	return t.X[k]
}

// together returns the dims of tensors whose axes of size 1 are repeated.
func together(of ...[]int) (dims []int) {
	for _, d := range of {
		for len(dims) < len(d) {
			dims = slices.Insert(dims, 0, 1)
		}
		for i, v := range d {
			switch have := &dims[len(dims)-len(d)+i]; {
			case *have == 1:
				*have = v
			case v != 1 && v != *have:
				panic(fmt.Sprintf("dims %d", of))
			}
		}
	}
	return dims
}

// sum adds f(0), f(1), ….
func sum(n int, f func(i int) float64) (s float64) {
	for i := range n {
		s += f(i)
	}
	return s
}

// run computes the output of a node. What is wrong with its inputs panics.
func (n *Node) run(in []*Tensor) *Tensor {
	x, kind := in[0], in[0].Type
	for _, t := range in {
		of := map[string]int64{"Reshape": int64s, "Unsqueeze": int64s, "ReduceSum": int64s,
			"Gather": int64s, "Pad": int64s}
		if want := of[n.Op]; t != x && t.Type != kind && t.Type != want && n.Op != "Where" {
			panic(fmt.Sprintf("of types %d and %d", kind, t.Type))
		}
	}
	attr := func(name string) int { return int(n.Integers[name][0]) }
	if f := unary[n.Op]; f != nil {
		return build(kind, x.Dims, func(i []int) float64 { return f(x.at(i...)) })
	}
	if f := several[n.Op]; f != nil {
		var dims [][]int
		for _, t := range in {
			dims = append(dims, t.Dims)
		}
		switch last := in[len(in)-1].Type; {
		case n.Op == "Greater":
			kind = boolean
		case n.Op == "Where" && (kind != boolean || in[1].Type != last):
			panic(fmt.Sprintf("of types %d, %d and %d", kind, in[1].Type, last))
		default:
			kind = last
		}
		v := make([]float64, len(in))
		return build(kind, together(dims...), func(i []int) float64 {
			for k, t := range in {
				v[k] = t.at(i...)
			}
			return f(v)
		})
	}
	switch n.Op {
	case "Cast":
		to := int64(attr("to"))
		return build(to, x.Dims, func(i []int) float64 {
			if to == int64s {
				return math.Trunc(x.at(i...))
			}
			return x.at(i...)
		})
	case "Reshape":
		return reshape(x, in[1].X)
	case "Unsqueeze":
		at := int(in[1].X[0])
		if at < 0 {
			at += len(x.Dims) + 1
		}
		return &Tensor{kind, slices.Insert(slices.Clone(x.Dims), at, 1), x.X}
	case "ReduceSum":
		axis := int(in[1].X[0])
		dims := slices.Clone(x.Dims)
		dims[axis] = 1
		out := build(kind, dims, func(i []int) float64 {
			i = slices.Clone(i)
			return sum(x.Dims[axis], func(k int) float64 { i[axis] = k; return x.at(i...) })
		})
		if attr("keepdims") != 1 {
			out.Dims = slices.Delete(out.Dims, axis, axis+1)
		}
		return out
	case "Concat":
		return concat(in, attr("axis"))
	case "Gather":
		axis, places := attr("axis"), in[1]
		dims := slices.Concat(x.Dims[:axis], places.Dims, x.Dims[axis+1:])
		return build(kind, dims, func(i []int) float64 {
			end := axis + len(places.Dims)
			k := places.at(i[axis:end]...)
			if k < 0 || int(k) >= x.Dims[axis] {
				panic(fmt.Sprintf("index %v of %d", k, x.Dims[axis]))
			}
			return x.at(slices.Concat(i[:axis], []int{int(k)}, i[end:])...)
		})
	case "Transpose":
		perm := n.Integers["perm"]
		dims, from := make([]int, len(perm)), make([]int, len(perm))
		for i, p := range perm {
			dims[i] = x.Dims[p]
		}
		return build(kind, dims, func(i []int) float64 {
			for k, p := range perm {
				from[p] = i[k]
			}
			return x.at(from...)
		})
	case "MatMul", "Gemm":
		return multiply(n, in)
	case "Conv":
		return conv(x, in[1], n)
	case "Pad": // zeros behind the last of two axes
		if pads := in[1].X; len(x.Dims) != 2 || len(pads) != 4 || pads[0] != 0 || pads[1] != 0 || pads[2] != 0 {
			panic(fmt.Sprintf("dims %d by %v", x.Dims, pads))
		}
		return build(kind, []int{x.Dims[0], x.Dims[1] + int(in[1].X[3])}, func(i []int) float64 {
			if i[1] >= x.Dims[1] {
				return 0
			}
			return x.at(i...)
		})
	}
	panic("there is no such operator here")
}

func reshape(t *Tensor, to []float64) *Tensor {
	dims, open, n := make([]int, len(to)), -1, 1
	for i, v := range to {
		if dims[i] = int(v); dims[i] < 0 {
			open = i
			continue
		}
		n *= dims[i]
	}
	if open >= 0 {
		dims[open] = len(t.X) / n
	}
	if size(dims) != len(t.X) {
		panic(fmt.Sprintf("of dims %d to %v", t.Dims, to))
	}
	return &Tensor{t.Type, dims, t.X}
}

func concat(in []*Tensor, axis int) *Tensor {
	if axis < 0 {
		axis += len(in[0].Dims)
	}
	dims := slices.Clone(in[0].Dims)
	dims[axis] = 0
	for _, t := range in {
		same := slices.Clone(t.Dims)
		if same[axis] = dims[axis]; !slices.Equal(same, dims) {
			panic(fmt.Sprintf("dims %d beside %d", t.Dims, dims))
		}
		dims[axis] += t.Dims[axis]
	}
	return build(in[0].Type, dims, func(i []int) float64 {
		i = slices.Clone(i)
		for _, t := range in {
			if i[axis] < t.Dims[axis] {
				return t.at(i...)
			}
			i[axis] -= t.Dims[axis]
		}
		panic("beyond all")
	})
}

// multiply is MatMul of the last two axes, where those before are repeated as numbers are, and Gemm of x, wᵀ and b.
func multiply(n *Node, in []*Tensor) *Tensor {
	x, w := in[0], in[1]
	rx, rw := len(x.Dims), len(w.Dims)
	gemm := n.Op == "Gemm"
	k, columns := x.Dims[rx-1], w.Dims[rw-1]
	inner := w.Dims[rw-2]
	if gemm {
		inner, columns = columns, inner
		if n.Integers["transB"][0] != 1 || rx != 2 || rw != 2 || len(in[2].Dims) != 1 || in[2].Dims[0] != columns {
			panic(fmt.Sprintf("dims %d, %d and %d", x.Dims, w.Dims, in[2].Dims))
		}
	}
	if inner != k {
		panic(fmt.Sprintf("dims %d and %d", x.Dims, w.Dims))
	}
	lead := together(x.Dims[:rx-2], w.Dims[:rw-2])
	return build(x.Type, append(slices.Clone(lead), x.Dims[rx-2], columns), func(i []int) float64 {
		r, c, a, b := i[len(lead)], i[len(lead)+1], slices.Clone(i), slices.Clone(i)
		if gemm {
			return in[2].X[c] + sum(k, func(e int) float64 { return x.X[r*k+e] * w.X[c*k+e] })
		}
		return sum(k, func(e int) float64 {
			a[len(lead)+1], b[len(lead)] = e, e
			return x.at(a...) * w.at(b...)
		})
	})
}

func conv(x, w *Tensor, n *Node) *Tensor {
	pads, stride, taps := n.Integers["pads"], int(n.Integers["strides"][0]), w.Dims[2]
	if int(n.Integers["kernel_shape"][0]) != taps || x.Dims[1] != w.Dims[1] {
		panic(fmt.Sprintf("dims %d and %d, kernel %v", x.Dims, w.Dims, n.Integers["kernel_shape"]))
	}
	L := x.Dims[2]
	to := (L+int(pads[0]+pads[1])-taps)/stride + 1
	return build(x.Type, []int{x.Dims[0], w.Dims[0], to}, func(i []int) float64 {
		return sum(x.Dims[1]*taps, func(e int) float64 {
			at := i[2]*stride + e%taps - int(pads[0])
			if at < 0 || at >= L {
				return 0
			}
			return x.at(i[0], e/taps, at) * w.at(i[1], e/taps, e%taps)
		})
	})
}

// Numbers of TensorProto.DataType.
const (
	float, int64s, boolean, double = 1, 7, 9, 11
)

// A Model is a file.
type Model struct {
	IR, Opset       int64
	Producer        string
	Metadata        map[string]string
	Inputs, Outputs []Port
	Nodes           []Node
	Tensors         map[string]*Tensor
}

// A Port is an input or output. A dimension without a number has its name, such as "n".
type Port struct {
	Name string
	Type int64
	Dims []string
}

// A Node applies an operator.
type Node struct {
	Op       string
	In, Out  []string
	Integers map[string][]int64
}

// A Tensor has numbers of a type: those of float are rounded to it.
type Tensor struct {
	Type int64
	Dims []int
	X    []float64
}

// A field is one of a message: a number or bytes.
type field struct {
	bytes []byte
	value uint64
}

// A message has its fields by their numbers. What is wrong with it panics; Decode makes an error of that.
type message map[protowire.Number][]field

func parse(b []byte) message {
	m := message{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		f := field{}
		if n >= 0 {
			b = b[n:]
			switch kind {
			case protowire.VarintType:
				f.value, n = protowire.ConsumeVarint(b)
			case protowire.BytesType:
				f.bytes, n = protowire.ConsumeBytes(b)
			default:
				panic(fmt.Errorf("field %d of wire type %d", number, kind))
			}
		}
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		b = b[n:]
		m[number] = append(m[number], f)
	}
	return m
}

// last returns a field, empty if it is not there.
func (m message) last(number protowire.Number) (f field) {
	if all := m[number]; len(all) > 0 {
		f = all[len(all)-1]
	}
	return f
}

func (m message) text(number protowire.Number) string { return string(m.last(number).bytes) }

func (m message) texts(number protowire.Number) (all []string) {
	for _, f := range m[number] {
		all = append(all, string(f.bytes))
	}
	return all
}

func (m message) number(number protowire.Number) int64 { return int64(m.last(number).value) }

// numbers are those of a repeated field, packed or not.
func (m message) numbers(number protowire.Number) (list []int64) {
	for _, f := range m[number] {
		if f.bytes == nil {
			list = append(list, int64(f.value))
		}
		for b := f.bytes; len(b) > 0; {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				panic(protowire.ParseError(n))
			}
			list, b = append(list, int64(v)), b[n:]
		}
	}
	return list
}

// only refuses fields that are not known here.
func (m message) only(what string, numbers ...protowire.Number) message {
	known := 0
	for _, n := range numbers {
		if m[n] != nil {
			known++
		}
	}
	if known < len(m) {
		panic(fmt.Errorf("%s with fields other than %d", what, numbers))
	}
	return m
}

// Decode reads a file.
func Decode(b []byte) (m *Model, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	file := parse(b)
	m = &Model{IR: file.number(1), Producer: file.text(2), Opset: parse(file.last(8).bytes).number(2),
		Metadata: map[string]string{}, Tensors: map[string]*Tensor{}}
	for _, f := range file[14] {
		entry := parse(f.bytes)
		m.Metadata[entry.text(1)] = entry.text(2)
	}
	graph := parse(file.last(7).bytes)
	for _, f := range graph[1] {
		m.Nodes = append(m.Nodes, node(parse(f.bytes)))
	}
	for _, f := range graph[5] {
		m.tensor(parse(f.bytes).only("tensor", 1, 2, 8, 9))
	}
	for _, f := range graph[11] {
		m.Inputs = append(m.Inputs, port(parse(f.bytes)))
	}
	for _, f := range graph[12] {
		m.Outputs = append(m.Outputs, port(parse(f.bytes)))
	}
	return m, nil
}

func node(m message) Node {
	n := Node{Op: m.text(4), In: m.texts(1), Out: m.texts(2), Integers: map[string][]int64{}}
	for _, f := range m[5] {
		a := parse(f.bytes).only("attribute", 1, 3, 8, 20)
		list, kind := append(a.numbers(3), a.numbers(8)...), a.number(20)
		if kind != 2 && kind != 7 || kind == 2 && len(list) != 1 {
			panic(fmt.Errorf("attribute %s of type %d with %d numbers", a.text(1), kind, len(list)))
		}
		n.Integers[a.text(1)] = list
	}
	return n
}

func (m *Model) tensor(of message) {
	t, name, raw := &Tensor{Type: of.number(2)}, of.text(8), of.last(9).bytes
	for _, d := range of.numbers(1) {
		t.Dims = append(t.Dims, int(d))
	}
	width, n := map[int64]int{float: 4, double: 8, int64s: 8}[t.Type], size(t.Dims)
	if width == 0 || len(raw) != n*width || m.Tensors[name] != nil {
		panic(fmt.Errorf("tensor %q of type %d and dims %d with %d bytes", name, t.Type, t.Dims, len(raw)))
	}
	for i := range n {
		switch b := raw[width*i:]; t.Type {
		case float:
			t.X = append(t.X, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case double:
			t.X = append(t.X, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		default:
			t.X = append(t.X, float64(int64(binary.LittleEndian.Uint64(b))))
		}
	}
	m.Tensors[name] = t
}

func port(m message) Port {
	tensor := parse(parse(m.last(2).bytes).last(1).bytes) // TypeProto, and its tensor_type
	p := Port{Name: m.text(1), Type: tensor.number(1)}
	for _, f := range parse(tensor.last(2).bytes)[1] { // dimensions of its shape
		d := parse(f.bytes)
		if d[1] != nil {
			p.Dims = append(p.Dims, fmt.Sprint(d.number(1)))
		} else {
			p.Dims = append(p.Dims, d.text(2))
		}
	}
	return p
}
