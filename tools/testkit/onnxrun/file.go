// Package onnxrun reads ONNX files and computes what they say, for tests of what writes them: an
// implementation of the operators in use by their definitions, one after the other and slow, that shares
// no code with package onnx.
package onnxrun

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

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
