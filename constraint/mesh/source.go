package mesh

import (
	"bufio"
	"errors"
	"io"
	"math"
	"sort"

	"github.com/landing-diffusion/landing/base/keyed"
)

// A source reads a file by lines or bytes and knows where it is.
type source struct {
	*bufio.Reader
	line int   // lines read
	at   int64 // bytes read
}

func newSource(r io.Reader) *source { return &source{Reader: bufio.NewReaderSize(r, maxLine)} }

const maxLine = 1 << 16

var errLong = errors.New("a line of more than 65536 bytes")

// next returns the next line without its end; io.EOF after the last.
func (s *source) next() (string, error) {
	text, err := s.ReadSlice('\n')
	s.at += int64(len(text))
	switch {
	case err == bufio.ErrBufferFull:
		return "", errLong
	case err == io.EOF && len(text) > 0, err == nil:
		s.line++
	default:
		return "", err
	}
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	return string(text), nil
}

func (s *source) take(b []byte) error {
	n, err := io.ReadFull(s, b)
	s.at += int64(n)
	return err
}

// A Sampler draws points on a mesh.
type Sampler struct {
	mesh *Mesh
	upto []float64 // weight of the faces up to and with each
}

// NewSampler draws with density uniform by area, or, if weight is not nil, uniform on each face and with the weight of
// each face in all: one number a face, at least 0 and not all 0.
func NewSampler(m *Mesh, weight []float64) *Sampler {
	_, n := m.N()
	s := &Sampler{mesh: m, upto: make([]float64, n)}
	sum := 0.0
	for f := range n {
		if weight != nil {
			sum += weight[f]
		} else {
			sum += m.FaceArea(f)
		}
		s.upto[f] = sum
	}
	return s
}

// Sample writes the point of (st, sample, step) to dst, 3 numbers, and returns its
// face and its barycentric coordinates: weights of the face's corners, of sum 1.
func (s *Sampler) Sample(dst []float64, st keyed.Stream, sample uint64, step int) (face int, bary [3]float64) {
	var u [3]float64
	st.Uniforms(u[:], sample, step)
	total := s.upto[len(s.upto)-1]
	face = min(sort.Search(len(s.upto), func(f int) bool { return s.upto[f] > u[0]*total }), len(s.upto)-1)
	r := math.Sqrt(u[1]) // uniform on a triangle
	bary = [3]float64{1 - r, r * (1 - u[2]), r * u[2]}
	a, b, c := s.mesh.Corners(face)
	for j := range 3 {
		dst[j] = bary[0]*a[j] + bary[1]*b[j] + bary[2]*c[j]
	}
	return face, bary
}
