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

// field is one of a message.
type field struct {
	number int
	bytes  []byte
	value  uint64
}

func fields(b []byte) (all []field, err error) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		f := field{number: int(num)}
		switch typ {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			return nil, fmt.Errorf("field %d of wire type %d", num, typ)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		all = append(all, f)
	}
	return all, nil
}

// each calls f on the fields of a message.
func each(b []byte, f func(field) error) error {
	all, err := fields(b)
	for _, v := range all {
		if err == nil {
			err = f(v)
		}
	}
	return err
}

// Decode reads a file.
func Decode(b []byte) (*Model, error) {
	m := &Model{Metadata: map[string]string{}, Tensors: map[string]*Tensor{}}
	err := each(b, func(f field) error {
		switch f.number {
		case 1:
			m.IR = int64(f.value)
		case 2:
			m.Producer = string(f.bytes)
		case 7:
			return each(f.bytes, m.inGraph)
		case 8:
			return each(f.bytes, func(f field) error {
				if f.number == 2 {
					m.Opset = int64(f.value)
				}
				return nil
			})
		case 14:
			key, value := "", ""
			err := each(f.bytes, func(f field) error {
				if f.number == 1 {
					key = string(f.bytes)
				} else {
					value = string(f.bytes)
				}
				return nil
			})
			m.Metadata[key] = value
			return err
		}
		return nil
	})
	return m, err
}

func (m *Model) inGraph(f field) error {
	switch f.number {
	case 1:
		n := Node{Integers: map[string][]int64{}}
		err := each(f.bytes, n.read)
		m.Nodes = append(m.Nodes, n)
		return err
	case 5:
		return m.tensor(f.bytes)
	case 11, 12:
		p := Port{}
		err := each(f.bytes, p.read)
		if f.number == 11 {
			m.Inputs = append(m.Inputs, p)
		} else {
			m.Outputs = append(m.Outputs, p)
		}
		return err
	}
	return nil
}

func (n *Node) read(f field) error {
	switch f.number {
	case 1:
		n.In = append(n.In, string(f.bytes))
	case 2:
		n.Out = append(n.Out, string(f.bytes))
	case 4:
		n.Op = string(f.bytes)
	case 5:
		name, kind, list := "", uint64(0), []int64{}
		err := each(f.bytes, func(f field) error {
			switch f.number {
			case 1:
				name = string(f.bytes)
			case 3:
				list = append(list, int64(f.value))
			case 8:
				list = append(list, unpack(f.bytes)...)
			case 20:
				kind = f.value
			default:
				return fmt.Errorf("attribute with field %d", f.number)
			}
			return nil
		})
		if kind != 2 && kind != 7 || kind == 2 && len(list) != 1 {
			return fmt.Errorf("attribute %s of type %d with %d numbers", name, kind, len(list))
		}
		n.Integers[name] = list
		return err
	}
	return nil
}

func unpack(b []byte) (list []int64) {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil
		}
		list, b = append(list, int64(v)), b[n:]
	}
	return list
}

func (m *Model) tensor(b []byte) error {
	t, name, n := &Tensor{}, "", 1
	var raw []byte
	if err := each(b, func(f field) error {
		switch f.number {
		case 1:
			for _, d := range unpack(f.bytes) {
				t.Dims = append(t.Dims, int(d))
				n *= int(d)
			}
		case 2:
			t.Type = int64(f.value)
		case 8:
			name = string(f.bytes)
		case 9:
			raw = f.bytes
		default:
			return fmt.Errorf("tensor with field %d", f.number)
		}
		return nil
	}); err != nil {
		return err
	}
	size := map[int64]int{float: 4, double: 8, int64s: 8}[t.Type]
	if size == 0 || len(raw) != n*size || m.Tensors[name] != nil {
		return fmt.Errorf("tensor %q of type %d and dims %d with %d bytes", name, t.Type, t.Dims, len(raw))
	}
	for i := range n {
		switch t.Type {
		case float:
			t.X = append(t.X, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))))
		case double:
			t.X = append(t.X, math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		default:
			t.X = append(t.X, float64(int64(binary.LittleEndian.Uint64(raw[8*i:]))))
		}
	}
	m.Tensors[name] = t
	return nil
}

func (p *Port) read(f field) error {
	if f.number == 1 {
		p.Name = string(f.bytes)
		return nil
	}
	return each(f.bytes, func(f field) error { // TypeProto
		return each(f.bytes, func(f field) error { // its tensor_type
			if f.number == 1 {
				p.Type = int64(f.value)
				return nil
			}
			return each(f.bytes, func(f field) error { // a dimension of its shape
				p.Dims = append(p.Dims, "")
				return each(f.bytes, func(f field) error {
					p.Dims[len(p.Dims)-1] = string(f.bytes)
					if f.number == 1 {
						p.Dims[len(p.Dims)-1] = fmt.Sprint(f.value)
					}
					return nil
				})
			})
		})
	})
}
