package mesh

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	stlHeader   = 84 // bytes of a binary file's header, the last four of them the number of triangles
	stlTriangle = 50 // bytes: a normal, three corners, and two bytes of colour
)

// decodeSTL reads a binary or text STL file, whose triangles have no common vertices. Normals are passed over: the
// order of the corners says the same. A file is text if it begins with "solid", as some binary ones do, has no zero
// byte there and not the size of a binary one.
func decodeSTL(file string, src *source) (*Mesh, error) {
	head, _ := src.Peek(stlHeader)
	count := int64(-1)
	if len(head) == stlHeader {
		count = int64(binary.LittleEndian.Uint32(head[stlHeader-4:]))
	}
	size := stlHeader + count*stlTriangle
	if (count < 0 || src.size != size) && strings.HasPrefix(strings.ToLower(string(head)), "solid") &&
		!slices.Contains(head, 0) {
		return decodeTextSTL(file, src)
	}
	switch {
	case count < 0:
		return nil, refused(file, "", "it has %d bytes; expected an STL file, which has %d at least, or begins with "+
			"\"solid\"", src.size, stlHeader)
	case src.size < size:
		return nil, refused(file, "", "the file is truncated: its header promises %d triangles, which take %d bytes; "+
			"it has %d", count, size, src.size)
	}
	src.binary = true
	var b [stlHeader]byte
	if err := src.take(b[:]); err != nil {
		return nil, err
	}
	m := &Mesh{Vertices: make([]float64, 0, 9*count)} // at most 72/50 of the file's bytes
	for range count {
		if err := src.take(b[:stlTriangle]); err != nil {
			return nil, err
		}
		for k := 12; k < 48; k += 4 {
			m.Vertices = append(m.Vertices, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[k:]))))
		}
	}
	return m.soup(), nil
}

func decodeTextSTL(file string, src *source) (*Mesh, error) {
	m, corners, ended := &Mesh{}, 0, false
	for {
		line, err := src.next()
		bad := func(format string, v ...any) (*Mesh, error) {
			return nil, refused(file, src.place(src.now()), format, v...)
		}
		switch {
		case err == io.EOF && (!ended || corners != 0):
			return bad("the file is truncated: it ends without \"endsolid\"")
		case err == io.EOF:
			return m.soup(), nil
		case err != nil:
			return nil, refused(file, src.place(src.now()+1), "%v", err)
		}
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		switch word := strings.ToLower(w[0]); word {
		case "vertex":
			if len(w) != 4 {
				return bad("a vertex with %d coordinates; expected 3", len(w)-1)
			}
			for _, s := range w[1:] {
				v, err := strconv.ParseFloat(s, 64)
				if err != nil {
					return bad("%.20q is not a number", s)
				}
				m.Vertices = append(m.Vertices, v)
			}
			corners++
		case "endloop", "endfacet", "endsolid":
			if want := map[string]int{"endloop": 3}[word]; corners != want {
				return bad("%q after %d corners of a triangle; expected %d", word, corners, want)
			}
			corners, ended = 0, word == "endsolid"
		default:
			if !slices.Contains([]string{"solid", "facet", "outer", "color"}, word) {
				return bad("%.20q is not a keyword of STL files", w[0])
			}
			ended = false
		}
	}
}

// soup numbers the corners of triangles that are given one after the other.
func (m *Mesh) soup() *Mesh {
	n, _ := m.N()
	m.Faces = make([]int32, n)
	for v := range m.Faces {
		m.Faces[v] = int32(v)
	}
	return m
}
