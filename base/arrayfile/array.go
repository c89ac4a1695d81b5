// Package arrayfile reads and writes n-dimensional arrays: NumPy's NPY and NPZ files, and safetensors.
//
// Decoders take files that nobody vouches for. They check every claim of a header before acting on it, and their memory
// grows with the bytes that are really there, not with the bytes that a header promises. Errors say what was found and
// what was expected.
//
// The package is not for structured, complex or object arrays, and it does not map files into memory.
package arrayfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/input"
)

// ErrTruncated is wrapped by the errors of input that ends too early.
var ErrTruncated = errors.New("the file is truncated")

// An Array is an n-dimensional array in C order (the last index runs fastest). A nil or empty Shape is that of a
// scalar. Exactly one of the data slices is set, that is, not nil. Whole numbers of files are read as Int64, and
// numbers of half precision as Float32.
type Array struct {
	Shape []int

	Float32 []float32
	Float64 []float64
	Int64   []int64
	Truth   bool // Int64 holds 0 and 1 for booleans, which are only read
}

// Of returns data, whose memory it shares, as an array of a shape.
func Of[T float32 | float64](data []T, shape ...int) Array {
	a := Array{Shape: shape}
	switch v := any(data).(type) {
	case []float32:
		a.Float32 = v
	case []float64:
		a.Float64 = v
	}
	return a
}

// Len returns the number of elements that a holds.
func (a Array) Len() int { return len(a.Float32) + len(a.Float64) + len(a.Int64) }

// AsFloat64 returns the elements as float64: the slice itself if they are float64 already, a new one otherwise.
// An int64 beyond ±2⁵³ is rounded.
func (a Array) AsFloat64() []float64 {
	switch {
	case a.Float32 != nil:
		return converted(a.Float32, func(v float32) float64 { return float64(v) })
	case a.Int64 != nil:
		return converted(a.Int64, func(v int64) float64 { return float64(v) })
	}
	return a.Float64
}

func converted[S, T any](src []S, f func(S) T) []T {
	dst := make([]T, len(src))
	for i, v := range src {
		dst[i] = f(v)
	}
	return dst
}

// A kind is an element type of a file.
type kind struct {
	size        int // bytes
	safetensors string
	read        func(a *Array, r io.Reader, n int, order binary.ByteOrder) error
}

// kinds are those that are read, by NumPy's names without the byte order; f4, f8 and i8 are written.
var kinds = map[string]kind{
	"f2": {size: 2, read: func(a *Array, r io.Reader, n int, order binary.ByteOrder) error {
		return readAs(&a.Float32, r, n, order, halfToFloat)
	}},
	"f4": {4, "F32", func(a *Array, r io.Reader, n int, order binary.ByteOrder) error {
		return readSlice(&a.Float32, r, n, order)
	}},
	"f8": {8, "F64", func(a *Array, r io.Reader, n int, order binary.ByteOrder) error {
		return readSlice(&a.Float64, r, n, order)
	}},
	"i1": {1, "", whole[int8]},
	"i2": {2, "", whole[int16]},
	"i4": {4, "I32", whole[int32]},
	"i8": {8, "I64", whole[int64]},
	"u1": {1, "U8", whole[uint8]},
	"u2": {2, "", whole[uint16]},
	"u4": {4, "", whole[uint32]},
	"u8": {size: 8, read: func(a *Array, r io.Reader, n int, order binary.ByteOrder) error {
		return readAs(&a.Int64, r, n, order, func(v uint64) int64 { return int64(min(v, math.MaxInt64)) })
	}},
	"b1": {1, "BOOL", func(a *Array, r io.Reader, n int, order binary.ByteOrder) error {
		a.Truth = true
		return readAs(&a.Int64, r, n, order, func(v uint8) int64 { return int64(min(v, 1)) })
	}},
}

func whole[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](a *Array, r io.Reader, n int,
	order binary.ByteOrder) error {
	return readAs(&a.Int64, r, n, order, func(v T) int64 { return int64(v) })
}

// kind returns the name in kinds of the element type of a, after checking that exactly one slice is
// set and that it has as many elements as the shape.
func (a Array) kind() (name string, err error) {
	count := 0
	for k, set := range map[string]bool{"f4": a.Float32 != nil, "f8": a.Float64 != nil, "i8": a.Int64 != nil} {
		if set {
			name = k
			count++
		}
	}
	if count != 1 {
		return "", fmt.Errorf("the array has %d data slices, expected exactly one that is not nil", count)
	}
	n, err := elements(a.Shape, kinds[name].size)
	if err == nil && n != a.Len() {
		err = fmt.Errorf("the array has %d elements, expected %d for shape %s", a.Len(), n, tuple(a.Shape))
	}
	return name, err
}

// maxDims is NumPy's own limit on the number of dimensions.
const maxDims = 64

// elements returns the product of the shape. It refuses shapes whose bytes, at size bytes an element, do not fit in an
// int, even where a zero among the factors makes the product small.
func elements(shape []int, size int) (int, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("shape has %d dimensions, expected at most %d", len(shape), maxDims)
	}
	n, empty := 1, false
	for _, s := range shape {
		switch {
		case s < 0:
			return 0, fmt.Errorf("shape %s has a negative dimension", tuple(shape))
		case s == 0:
			empty = true
		case n > math.MaxInt/size/s:
			return 0, fmt.Errorf("shape %s is larger than any memory", tuple(shape))
		default:
			n *= s
		}
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// tuple writes a shape as Python does: (), (3,), (2, 3).
func tuple(shape []int) string {
	s := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}

// chunk is the number of bytes that are read or written at a time. It is a multiple of every element size.
const chunk = 1 << 16

func readArray(r io.Reader, k kind, shape []int, order binary.ByteOrder) (Array, error) {
	a := Array{Shape: shape}
	n, err := elements(shape, k.size)
	if err == nil {
		err = k.read(&a, r, n, order)
	}
	if err != nil {
		return Array{}, err
	}
	return a, nil
}

// readAs reads n elements of one type as another.
func readAs[S, T any](dst *[]T, r io.Reader, n int, order binary.ByteOrder, f func(S) T) error {
	var src []S
	err := readSlice(&src, r, n, order)
	if err == nil {
		*dst = converted(src, f)
	}
	return err
}

// readSlice reads n elements. The slice grows as bytes arrive: n is only a header's claim.
func readSlice[T any](dst *[]T, r io.Reader, n int, order binary.ByteOrder) error {
	size := binary.Size(*new(T))
	buf := make([]byte, min(n*size, chunk))
	data := make([]T, 0, len(buf)/size)
	for len(data) < n {
		done := len(data)
		b := buf[:min((n-done)*size, chunk)]
		if got, err := io.ReadFull(r, b); err != nil {
			return readError("data end", done*size+got, n*size, err)
		}
		m := len(b) / size
		data = slices.Grow(data, m)[:done+m]
		if _, err := binary.Decode(b, order, data[done:]); err != nil {
			return err
		}
	}
	*dst = data
	return nil
}

// writeArray writes the elements of a in little-endian order.
func writeArray(w io.Writer, a Array) error {
	switch {
	case a.Float32 != nil:
		return writeSlice(w, a.Float32)
	case a.Float64 != nil:
		return writeSlice(w, a.Float64)
	}
	return writeSlice(w, a.Int64)
}

func writeSlice[T float32 | float64 | int64](w io.Writer, data []T) error {
	size := binary.Size(T(0))
	buf := make([]byte, 0, min(len(data)*size, chunk))
	for part := range slices.Chunk(data, chunk/size) {
		b, err := binary.Append(buf, binary.LittleEndian, part)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// Rows are N rows of D numbers, read in blocks, for arrays larger than the memory. A block is whole rows, in order. It
// stays valid until the next call. If the source fails, the blocks end before N rows, and the function that made the
// Rows returns the error.
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
	n, err := elements(shape, 8)
	if err != nil {
		return fmt.Errorf("arrayfile: %w", err)
	}
	if err := writeNPYHeader(w, "f8", shape); err != nil {
		return err
	}
	got := 0
	for x := range rows.Blocks {
		if got += len(x); got > n {
			break
		}
		if err := writeSlice(w, x); err != nil {
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
	if h.kind != "f8" || h.order != binary.LittleEndian || h.fortran && len(h.shape) > 1 {
		return nil, fmt.Errorf("the array is not float64, little-endian, in C order; expected '<f8'")
	}
	n, err := elements(h.shape, 8)
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
