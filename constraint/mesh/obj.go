package mesh

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// decodeOBJ reads the lines "v x y z …" and "f a b c …" of an OBJ file; a corner is i, i/j, i/j/k or i//k, and a
// negative i counts from the last vertex so far. Other lines are passed over; a line that ends with \ goes on in the
// next.
func decodeOBJ(file string, src *source) (*Mesh, error) {
	m, text := &Mesh{}, "" // text: of lines that go on
	for {
		line, err := src.next()
		if err == io.EOF && text == "" {
			return m, nil
		}
		bad := func(format string, v ...any) (*Mesh, error) {
			return nil, refused(file, fmt.Sprintf("line %d", src.line), format, v...)
		}
		if err == errLong {
			src.line++
			return bad("%v; expected an OBJ file", err)
		}
		if err == io.EOF {
			return bad("the file ends in a line that goes on")
		}
		if err != nil {
			return nil, err
		}
		line, _, _ = strings.Cut(line, "#")
		if line = text + line; len(line) > maxLine {
			return bad("%v; expected an OBJ file", errLong)
		}
		if more, ok := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`); ok {
			text = more + " "
			continue
		}
		text = ""
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		switch w[0] {
		case "v":
			if len(w) < 4 {
				return bad("a vertex with %d coordinates; expected 3", len(w)-1)
			}
			for _, s := range w[1:4] {
				v, err := strconv.ParseFloat(s, 64)
				if err != nil {
					return bad("%.20q is not a number", s)
				}
				m.Vertices = append(m.Vertices, v)
			}
		case "f":
			if len(w) < 4 || len(w)-1 > maxPolygon {
				return bad("a face with %d corners; expected 3 to %d", len(w)-1, maxPolygon)
			}
			for k, s := range w[1:] {
				s, _, _ = strings.Cut(s, "/")
				i, err := strconv.Atoi(s)
				n := len(m.Vertices) / 3
				switch {
				case err != nil || i == 0 || i > maxVertices:
					return bad("%.20q is no index of a vertex; expected 1, 2, … or −1, −2, …", s)
				case i < -n:
					return bad("vertex %d, where %d were given so far", i, n)
				case i < 0:
					i += n
				default:
					i--
				}
				src.corner(m, k, int32(i))
			}
		}
	}
}

// WritePLY writes the mesh as a binary PLY file, coordinates in double precision.
func (m *Mesh) WritePLY(w io.Writer) error {
	n, faces := m.N()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty double x\nproperty double "+
		"y\nproperty double z\n", n)
	fmt.Fprintf(b, "element face %d\nproperty list uchar int vertex_indices\nend_header\n", faces)
	var buf [13]byte
	for _, v := range m.Vertices {
		binary.LittleEndian.PutUint64(buf[:], math.Float64bits(v))
		b.Write(buf[:8]) // errors stay with b until Flush
	}
	for f := range faces {
		buf[0] = 3
		for k, v := range m.Faces[3*f : 3*f+3] {
			binary.LittleEndian.PutUint32(buf[1+4*k:], uint32(v))
		}
		b.Write(buf[:])
	}
	return b.Flush()
}
