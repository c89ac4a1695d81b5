package arrayfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// EncodeNPYBlocks is EncodeNPY of a float64 array that comes in blocks, for arrays larger than memory. Blocks are the
// elements in C order, cut anywhere; they are read before the next one is asked for. The error is that of w, or says
// that the blocks have not as many elements as the shape.
func EncodeNPYBlocks(w io.Writer, shape []int, blocks iter.Seq[[]float64]) error {
	n, err := elements(shape, kinds[float64Kind].size)
	if err != nil {
		return fmt.Errorf("arrayfile: %w", err)
	}
	if err := writeNPYHeader(w, float64Kind, shape); err != nil {
		return err
	}
	got := 0
	for x := range blocks {
		if got += len(x); got > n {
			break
		}
		if err := writeSlice(w, x, kinds[float64Kind].size); err != nil {
			return err
		}
	}
	if got != n {
		return fmt.Errorf("arrayfile: blocks of %d elements, expected %d for shape %s", got, n, tuple(shape))
	}
	return nil
}

// An NPYReader reads a float64 array by pieces, for arrays larger than memory.
type NPYReader struct {
	Shape []int

	r     io.Reader
	left  int // elements
	of    int
	bytes []byte
}

// NewNPYReader reads the header of an array of little-endian float64 in C order, as EncodeNPY writes it; another one is
// an error.
func NewNPYReader(r io.Reader) (*NPYReader, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	if h.kind != float64Kind || h.order != binary.LittleEndian || h.fortran && len(h.shape) > 1 {
		return nil, fmt.Errorf("the array is not float64, little-endian, in C order; expected '<f8'")
	}
	n, err := elements(h.shape, kinds[float64Kind].size)
	if err != nil {
		return nil, err
	}
	return &NPYReader{Shape: h.shape, r: r, left: n, of: n}, nil
}

// Next fills dst with the next elements and returns how many there were: fewer than len(dst) only at the end of the
// array, 0 behind it. An error wraps ErrTruncated where the file ends too early.
func (n *NPYReader) Next(dst []float64) (int, error) {
	const size = 8
	if n.bytes == nil {
		n.bytes = make([]byte, chunk)
	}
	m := min(len(dst), n.left)
	for at := 0; at < m; {
		b := n.bytes[:min((m-at)*size, len(n.bytes))]
		if got, err := io.ReadFull(n.r, b); err != nil {
			return 0, readError("data end", (n.of-n.left)*size+got, n.of*size, err)
		}
		k := len(b) / size
		if _, err := binary.Decode(b, binary.LittleEndian, dst[at:at+k]); err != nil {
			return 0, err
		}
		at, n.left = at+k, n.left-k
	}
	return m, nil
}
