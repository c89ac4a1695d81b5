package arrayfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// The format is described in numpy.lib.format: magic, version, length of the
// header, the header (a Python dictionary as text), then the elements.
const (
	npyMagic     = "\x93NUMPY"
	npyAlign     = 64
	npyMaxHeader = 1 << 20
)

// ReadNPY reads the named NPY file, which must hold one array and nothing else.
func ReadNPY(path string) (Array, error) {
	var a Array
	err := withFile(path, func(f *os.File) (err error) {
		if a, err = DecodeNPY(f); err != nil {
			return err
		}
		return expectEnd(f)
	})
	if err != nil {
		return Array{}, err
	}
	return a, nil
}

// DecodeNPY reads one array in NPY format, of version 1, 2 or 3, and leaves r behind its last byte. It understands the
// types of kinds in either byte order. An array in Fortran order is rearranged into C order.
func DecodeNPY(r io.Reader) (Array, error) { return decodeNPY(r, math.MaxInt) }

// decodeNPY is DecodeNPY with a limit: the array has at most `most` elements.
func decodeNPY(r io.Reader, most int) (Array, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return Array{}, err
	}
	if n, err := elements(h.shape, kinds[h.kind].size); err == nil && n > most {
		return Array{}, fmt.Errorf("shape %s has %d elements, expected at most %d", tuple(h.shape), n, most)
	}
	a, err := readArray(r, kinds[h.kind], h.shape, h.order)
	if err == nil && h.fortran && len(h.shape) > 1 {
		a.Float32 = transpose(a.Float32, a.Shape)
		a.Float64 = transpose(a.Float64, a.Shape)
		a.Int64 = transpose(a.Int64, a.Shape)
	}
	return a, err
}

// halfToFloat returns the number of IEEE 754 half precision with these bits.
func halfToFloat(b uint16) float32 {
	sign, exponent, mantissa := uint32(b&0x8000)<<16, int(b>>10&31), b&1023
	if exponent == 31 {
		return math.Float32frombits(sign | 0x7f800000 | uint32(mantissa)<<13)
	}
	v := math.Ldexp(float64(mantissa)/1024, -14) // below the smallest normal number
	if exponent > 0 {
		v = math.Ldexp(1+float64(mantissa)/1024, exponent-15)
	}
	return math.Float32frombits(sign | math.Float32bits(float32(v)))
}

func readNPYHeader(r io.Reader) (h npyHeader, err error) {
	start := make([]byte, len(npyMagic)+2)
	if got, err := io.ReadFull(r, start); err != nil {
		if !strings.HasPrefix(npyMagic, string(start[:min(got, len(npyMagic))])) {
			return h, notNPY(start[:got])
		}
		return h, readError("file signature ends", got, len(start), err)
	}
	if !bytes.HasPrefix(start, []byte(npyMagic)) {
		return h, notNPY(start)
	}

	var length int
	switch major, minor := start[len(npyMagic)], start[len(npyMagic)+1]; {
	case major == 1 && minor == 0:
		b, err := readBytes(r, "header length", 2)
		if err != nil {
			return h, err
		}
		length = int(binary.LittleEndian.Uint16(b))
	case (major == 2 || major == 3) && minor == 0:
		b, err := readBytes(r, "header length", 4)
		if err != nil {
			return h, err
		}
		n := binary.LittleEndian.Uint32(b)
		if n > npyMaxHeader {
			return h, fmt.Errorf("header of %d bytes, expected at most %d", n, npyMaxHeader)
		}
		length = int(n)
	default:
		return h, fmt.Errorf("NPY version %d.%d, expected 1.0, 2.0 or 3.0", major, minor)
	}
	text, err := readBytes(r, "header", length)
	if err != nil {
		return h, err
	}
	return parseNPYHeader(string(text))
}

func notNPY(start []byte) error {
	return fmt.Errorf("file begins with %s, expected %q: this is not an NPY file", excerpt(string(start)), npyMagic)
}

// transpose returns in C order the elements that src holds in Fortran order.
func transpose[T any](src []T, shape []int) []T {
	if len(src) < 2 {
		return src
	}
	stride := make([]int, len(shape))
	step := 1
	for i, s := range shape {
		stride[i] = step
		step *= s
	}
	dst := make([]T, len(src))
	index := make([]int, len(shape))
	from := 0
	for to := range dst {
		dst[to] = src[from]
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			from += stride[i]
			if index[i] < shape[i] {
				break
			}
			from -= index[i] * stride[i]
			index[i] = 0
		}
	}
	return dst
}

// EncodeNPY writes a in NPY format, version 1, little-endian and in C order.
func EncodeNPY(w io.Writer, a Array) error {
	k, err := a.kind()
	if err != nil {
		return fmt.Errorf("arrayfile: %w", err)
	}
	if err := writeNPYHeader(w, k, a.Shape); err != nil {
		return err
	}
	return writeArray(w, a)
}

func writeNPYHeader(w io.Writer, kind string, shape []int) error {
	header := fmt.Sprintf("{'descr': '<%s', 'fortran_order': False, 'shape': %s, }", kind, tuple(shape))

	b := make([]byte, 0, 2*npyAlign)
	b = append(b, npyMagic...)
	b = append(b, 1, 0)
	before := len(b) + 2
	end := (before + len(header) + 1 + npyAlign - 1) / npyAlign * npyAlign
	b = binary.LittleEndian.AppendUint16(b, uint16(end-before))
	b = append(b, header...)
	for len(b) < end-1 {
		b = append(b, ' ')
	}
	b = append(b, '\n')
	_, err := w.Write(b)
	return err
}

type npyHeader struct {
	kind    string // of kinds
	order   binary.ByteOrder
	fortran bool
	shape   []int
}

// parseNPYHeader reads a header such as
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
func parseNPYHeader(text string) (npyHeader, error) {
	var h npyHeader
	p := literal{text: text}
	if !p.accept("{") {
		return h, p.expected("{")
	}
	seen := make(map[string]bool)
	for !p.accept("}") {
		key, err := p.quoted()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, fmt.Errorf("NPY header has the key %s twice", excerpt(key))
		}
		seen[key] = true
		if !p.accept(":") {
			return h, p.expected(":")
		}
		switch key {
		case "descr":
			h.kind, h.order, err = p.dtype()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.shape()
		default:
			err = fmt.Errorf("NPY header has the key %s, expected descr, fortran_order and shape", excerpt(key))
		}
		if err != nil {
			return h, err
		}
		if !p.accept(",") && !p.at("}") {
			return h, p.expected(", or }")
		}
	}
	if !p.at("") {
		return h, p.expected("nothing more")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, fmt.Errorf("NPY header lacks the key %q", key)
		}
	}
	return h, nil
}

// A literal is a Python literal that is being read from its beginning.
type literal struct {
	text string
	pos  int
}

func (p *literal) skipSpace() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// at reports whether token comes next; the empty token is the end.
func (p *literal) at(token string) bool {
	p.skipSpace()
	if token == "" {
		return p.pos == len(p.text)
	}
	return strings.HasPrefix(p.text[p.pos:], token)
}

func (p *literal) accept(token string) bool {
	if !p.at(token) {
		return false
	}
	p.pos += len(token)
	return true
}

func (p *literal) expected(what string) error {
	p.skipSpace()
	if p.pos == len(p.text) {
		return fmt.Errorf("NPY header ends, expected %s", what)
	}
	return fmt.Errorf("NPY header has %s at byte %d, expected %s", excerpt(p.text[p.pos:]), p.pos, what)
}

func (p *literal) quoted() (string, error) {
	for _, q := range []string{"'", `"`} {
		if !p.at(q) {
			continue
		}
		s, _, ok := strings.Cut(p.text[p.pos+1:], q)
		if !ok {
			break
		}
		p.pos += len(s) + 2
		return s, nil
	}
	return "", p.expected("a quoted string")
}

// refused are the types that are not read, by how their names begin, with what to do.
var refused = []struct{ begins, what string }{
	{"c", "complex numbers; expected real ones: np.stack([z.real, z.imag], axis=-1) makes two columns of each"},
	{"f16", "long double; expected float64: x.astype('f8') makes it"},
	{"f12", "long double; expected float64: x.astype('f8') makes it"},
	{"O", "Python objects; expected numbers: x.astype('f8') makes them where all rows have the same length"},
	{"U", "text"}, {"S", "text"}, {"a", "text"}, {"V", "bytes without a type"}, {"M", "dates"}, {"m", "times"},
}

func (p *literal) dtype() (name string, order binary.ByteOrder, err error) {
	const known = "f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1"
	if p.at("[") {
		return "", nil, errors.New("NPY dtype is structured (columns with names); expected one type of number: " +
			"numpy.lib.recfunctions.structured_to_unstructured makes it")
	}
	s, err := p.quoted()
	if err != nil {
		return "", nil, err
	}
	mark, name := s[:min(1, len(s))], s[min(1, len(s)):]
	switch k, found := kinds[name]; {
	case found && (mark == "<" || mark == "|" && k.size == 1):
		return name, binary.LittleEndian, nil
	case found && mark == ">":
		return name, binary.BigEndian, nil
	}
	for _, r := range refused {
		if strings.HasPrefix(name, r.begins) {
			return "", nil, fmt.Errorf("NPY dtype is %s, %s", excerpt(s), r.what)
		}
	}
	return "", nil, fmt.Errorf("NPY dtype is %s, expected %s, with its byte order (as in <f8)", excerpt(s), known)
}

func (p *literal) boolean() (bool, error) {
	switch {
	case p.accept("True"):
		return true, nil
	case p.accept("False"):
		return false, nil
	}
	return false, p.expected("True or False")
}

func (p *literal) shape() ([]int, error) {
	if !p.accept("(") {
		return nil, p.expected("a tuple")
	}
	shape := []int{}
	for !p.accept(")") {
		p.skipSpace()
		rest := p.text[p.pos:]
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil {
			return nil, p.expected("a dimension")
		}
		p.pos += digits
		shape = append(shape, n)
		// The comma is what makes (3,) a tuple and (3) a number.
		if !p.accept(",") && (len(shape) == 1 || !p.at(")")) {
			return nil, p.expected("a comma")
		}
	}
	return shape, nil
}
