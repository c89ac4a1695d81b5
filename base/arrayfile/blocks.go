package arrayfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/landing-diffusion/landing/internal/input"
)

// Rows are N rows of D numbers that come in blocks, for more than fits in memory. A block is whole rows, in order; it
// is good until the next one is asked for. Blocks that end before N rows come from a source that failed, which whoever
// made the Rows knows.
type Rows struct {
	N, D   int
	Blocks iter.Seq[[]float64]
}

// RowsOf returns the rows of x, of d numbers each, as one block.
func RowsOf(x []float64, d int) Rows {
	n := 0
	if d > 0 {
		n = len(x) / d
	}
	if n*d != len(x) {
		panic(fmt.Sprintf("arrayfile: %d numbers in rows of %d", len(x), d))
	}
	return Rows{n, d, func(yield func([]float64) bool) {
		if n > 0 {
			yield(x)
		}
	}}
}

// Each ranges over the rows by number.
func (r Rows) Each() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		i := 0
		for x := range r.Blocks {
			for ; len(x) > 0; x = x[r.D:] {
				if !yield(i, x[:r.D]) {
					return
				}
				i++
			}
		}
	}
}

// Map returns the rows that f makes of each block: rows of d numbers, as many as the block has.
func (r Rows) Map(d int, f func(x []float64) []float64) Rows {
	return Rows{r.N, d, func(yield func([]float64) bool) {
		for x := range r.Blocks {
			if !yield(f(x)) {
				return
			}
		}
	}}
}

// EncodeNPYRows is EncodeNPY of float64 rows as an array of a shape. The error is that of w, or says that the rows have
// not as many elements as the shape.
func EncodeNPYRows(w io.Writer, shape []int, rows Rows) error {
	n, err := elements(shape, kinds[float64Kind].size)
	if err != nil {
		return fmt.Errorf("arrayfile: %w", err)
	}
	if err := writeNPYHeader(w, float64Kind, shape); err != nil {
		return err
	}
	got := 0
	for x := range rows.Blocks {
		if got += len(x); got > n {
			break
		}
		if err := writeSlice(w, x, kinds[float64Kind].size); err != nil {
			return err
		}
	}
	if got != n {
		return fmt.Errorf("arrayfile: rows of %d elements, expected %d for shape %s", got, n, tuple(shape))
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

// readBytes reads n bytes, of what, without trusting n.
func readBytes(r io.Reader, what string, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, readError(what+" ends", len(b), n, err)
	}
	return b, nil
}

// readError describes a failure to read after got of want bytes.
func readError(what string, got, want int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated
	}
	return fmt.Errorf("%s after %d of %d bytes: %w", what, got, want, err)
}

// expectEnd returns an error unless r is at its end.
func expectEnd(r io.Reader) error {
	var b [1]byte
	switch _, err := io.ReadFull(r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more bytes follow the data, expected the end of the file")
	default:
		return err
	}
}

// maxFile bounds the files that are read by name: no array in this project comes near.
const maxFile = 64 << 30

func open(path string) (*os.File, error) { return input.Open(path, maxFile) }

// withFile calls decode on the named file and puts its name before an error.
func withFile(path string, decode func(f *os.File) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := decode(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// excerpt quotes s, cut to a length that suits a message.
func excerpt(s string) string {
	const limit = 40
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}
