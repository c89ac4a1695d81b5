package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// A plyProperty is one number of an element, or a list of them.
type plyProperty struct {
	name  string
	kind  plyKind
	list  bool
	count plyKind // of a list's length
}

type plyElement struct {
	name       string
	count      int
	properties []plyProperty
}

// A plyKind is a type of number: its size in bytes, and whether it is signed or a floating-point one.
type plyKind struct {
	size          int
	signed, float bool
}

var plyKinds = map[string]plyKind{
	"char": {1, true, false}, "int8": {1, true, false}, "uchar": {1, false, false}, "uint8": {1, false, false},
	"short": {2, true, false}, "int16": {2, true, false}, "ushort": {2, false, false}, "uint16": {2, false, false},
	"int": {4, true, false}, "int32": {4, true, false}, "uint": {4, false, false}, "uint32": {4, false, false},
	"float": {4, true, true}, "float32": {4, true, true}, "double": {8, true, true}, "float64": {8, true, true},
}

const (
	maxHeader  = 1000 // lines
	maxPolygon = 1000 // corners
)

// A plyReader reads the numbers of a PLY file's body, after its header.
type plyReader struct {
	file  string
	src   *source
	order binary.ByteOrder // nil: text
	words []string         // left of the line, in text
	buf   [8]byte
}

func (p *plyReader) bad(format string, v ...any) error {
	where := fmt.Sprintf("line %d", p.src.line)
	if p.order != nil {
		where = fmt.Sprintf("byte %d", p.src.at)
	}
	return &Error{p.file, where, fmt.Sprintf(format, v...)}
}

// decodePLY reads a PLY file: element vertex with x, y, z, element face with a list vertex_indices or vertex_index; all
// else is passed over. Memory grows with the bytes that are there, not with the counts of the header.
func decodePLY(file string, src *source) (*Mesh, error) {
	p := &plyReader{file: file, src: src}
	elements, err := p.header()
	if err != nil {
		return nil, err
	}
	m := &Mesh{}
	for _, e := range elements {
		for i := range e.count {
			if err := p.record(m, e, i); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// record reads record i of an element and adds it to the mesh.
func (p *plyReader) record(m *Mesh, e plyElement, i int) error {
	truncated := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return p.bad("the file is truncated: it ends in %s %d of the %d that its header promises",
				e.name, i, e.count)
		}
		return err
	}
	if p.order == nil {
		p.words = nil
		for len(p.words) == 0 {
			line, err := p.src.next()
			if err != nil {
				return truncated(err)
			}
			p.words = strings.Fields(line)
		}
	}
	if e.name == "vertex" {
		m.Vertices = append(m.Vertices, 0, 0, 0)
	}
	for _, q := range e.properties {
		if !q.list {
			v, err := p.number(q.kind)
			if err != nil {
				return truncated(err)
			}
			if e.name == "vertex" && len(q.name) == 1 && q.name >= "x" && q.name <= "z" {
				m.Vertices[len(m.Vertices)-3+int(q.name[0]-'x')] = v
			}
			continue
		}
		count, err := p.number(q.count)
		if err != nil {
			return truncated(err)
		}
		indices := e.name == "face" && isIndices(q.name)
		if indices && !(count >= 3 && count <= maxPolygon) || count < 0 || count != math.Trunc(count) {
			return p.bad("%s %d has a list of %v; expected 3 to %d corners", e.name, i, count, maxPolygon)
		}
		var corner [3]int32
		for k := range int(count) {
			v, err := p.number(q.kind)
			if err != nil {
				return truncated(err)
			}
			if !indices {
				continue
			}
			if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
				return p.bad("face %d refers to vertex %v; expected an index", i, v)
			}
			corner[min(k, 2)] = int32(v)
			if k >= 2 { // a fan from the first corner
				m.Faces = append(m.Faces, corner[:]...)
				corner[1] = corner[2]
			}
		}
	}
	if len(p.words) > 0 {
		return p.bad("%s %d has %d numbers too many", e.name, i, len(p.words))
	}
	return nil
}
