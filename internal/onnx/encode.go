package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

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
