package mesh

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

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
