package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
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
	return refused(p.file, p.src.place(p.src.now()), format, v...)
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
	src.binary = p.order != nil
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
			p.src.corner(m, k, int32(v))
		}
	}
	if len(p.words) > 0 {
		return p.bad("%s %d has %d numbers too many", e.name, i, len(p.words))
	}
	return nil
}

func (p *plyReader) header() ([]plyElement, error) {
	line, err := p.src.next()
	if err != nil || strings.TrimSpace(line) != "ply" {
		return nil, refused(p.file, "line 1", "it does not begin with \"ply\": expected a PLY file")
	}
	var elements []plyElement
	format := false
	for {
		line, err := p.src.next()
		if err != nil {
			return nil, p.headerError("the header ends here without \"end_header\"")
		}
		if p.src.line > maxHeader {
			return nil, p.headerError("the header has more than %d lines", maxHeader)
		}
		w := strings.Fields(line)
		if len(w) == 0 || w[0] == "comment" || w[0] == "obj_info" {
			continue
		}
		switch w[0] {
		case "format":
			if len(w) != 3 || w[2] != "1.0" {
				return nil, p.headerError("%q: expected format ascii, binary_little_endian or binary_big_endian, "+
					"version 1.0", line)
			}
			switch w[1] {
			case "ascii":
			case "binary_little_endian":
				p.order = binary.LittleEndian
			case "binary_big_endian":
				p.order = binary.BigEndian
			default:
				return nil, p.headerError("the format is %q; expected ascii, binary_little_endian or binary_big_endian",
					w[1])
			}
			format = true
		case "element":
			if len(w) != 3 {
				return nil, p.headerError("%q: expected element NAME COUNT", line)
			}
			n, err := strconv.Atoi(w[2])
			if err != nil || n < 0 || n > maxVertices {
				return nil, p.headerError("element %s has a count of %s; expected 0 to %d", w[1], w[2], maxVertices)
			}
			for _, e := range elements {
				if e.name == w[1] {
					return nil, p.headerError("element %s is there twice", w[1])
				}
			}
			elements = append(elements, plyElement{name: w[1], count: n})
		case "property":
			if len(elements) == 0 {
				return nil, p.headerError("a property before any element")
			}
			q, ok := plyProp(w)
			if !ok {
				return nil, p.headerError("%q: expected property TYPE NAME or property list TYPE TYPE NAME, with "+
					"types char … double", line)
			}
			e := &elements[len(elements)-1]
			e.properties = append(e.properties, q)
		case "end_header":
			if !format {
				return nil, p.headerError("the header names no format")
			}
			return elements, p.complete(elements)
		default:
			return nil, p.headerError("%q is not a keyword of PLY headers", w[0])
		}
	}
}

// headerError is about a line of the header, which is text in every format.
func (p *plyReader) headerError(format string, v ...any) error {
	return refused(p.file, fmt.Sprintf("line %d", p.src.line), format, v...)
}

func plyProp(w []string) (q plyProperty, ok bool) {
	switch {
	case len(w) == 3:
		q.kind, ok = plyKinds[w[1]]
		q.name = w[2]
		return q, ok
	case len(w) == 5 && w[1] == "list":
		q.list, q.name = true, w[4]
		if q.count, ok = plyKinds[w[2]]; !ok || q.count.float {
			return q, false
		}
		q.kind, ok = plyKinds[w[3]]
		return q, ok
	}
	return q, false
}

func (p *plyReader) complete(elements []plyElement) error {
	found := map[string]bool{}
	for _, e := range elements {
		if len(e.properties) == 0 {
			return p.headerError("element %s has no properties", e.name)
		}
		for _, q := range e.properties {
			switch {
			case e.name == "vertex" && !q.list:
				found[q.name] = true
			case e.name == "face" && q.list && isIndices(q.name):
				if q.kind.float {
					return p.headerError("%s has a floating-point type; expected integers", q.name)
				}
				found["indices"] = true
			}
		}
	}
	for _, name := range []string{"x", "y", "z"} {
		if !found[name] {
			return p.headerError("element vertex has no property %s", name)
		}
	}
	if !found["indices"] {
		return p.headerError("there are no faces: expected element face with a list vertex_indices")
	}
	return nil
}

func isIndices(name string) bool { return name == "vertex_indices" || name == "vertex_index" }

func (p *plyReader) number(k plyKind) (float64, error) {
	if p.order == nil {
		if len(p.words) == 0 {
			return 0, p.bad("the line has too few numbers")
		}
		w := p.words[0]
		p.words = p.words[1:]
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return 0, p.bad("%.20q is not a number", w)
		}
		return v, nil
	}
	b := p.buf[:k.size]
	if err := p.src.take(b); err != nil {
		return 0, err
	}
	var u uint64
	switch k.size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(p.order.Uint16(b))
	case 4:
		u = uint64(p.order.Uint32(b))
	case 8:
		u = p.order.Uint64(b)
	}
	switch {
	case k.float && k.size == 4:
		return float64(math.Float32frombits(uint32(u))), nil
	case k.float:
		return math.Float64frombits(u), nil
	case k.signed:
		shift := 64 - 8*k.size
		return float64(int64(u<<shift) >> shift), nil
	}
	return float64(u), nil
}
