package mesh

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

func (p *plyReader) header() ([]plyElement, error) {
	line, err := p.src.next()
	if err != nil || strings.TrimSpace(line) != "ply" {
		return nil, &Error{p.file, "line 1", "it does not begin with \"ply\": expected a PLY file"}
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
	return &Error{p.file, fmt.Sprintf("line %d", p.src.line), fmt.Sprintf(format, v...)}
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
