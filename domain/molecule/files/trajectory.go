package files

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// A stream is a binary trajectory that is being read. Its atoms have no names.
type stream struct {
	gathered
	in    *bufio.Reader
	order binary.ByteOrder
}

func newStream(file string, r io.Reader) *stream {
	s := &stream{gathered: gathered{file: file, sum: sha256.New()}, order: binary.BigEndian}
	s.in = bufio.NewReader(io.TeeReader(r, s.sum))
	return s
}

// more reports whether the file goes on.
func (s *stream) more() bool {
	_, err := s.in.Peek(1)
	return s.err == nil && err == nil
}

// get reads numbers. After a fault it leaves them as they are.
func (s *stream) get(to any) {
	if s.err == nil && binary.Read(s.in, s.order, to) != nil {
		s.refuse(Error{Frame: s.n}, "the file ends within it: it is truncated")
	}
}

// begin returns a frame of n atoms to fill.
func (s *stream) begin(n int32) []float64 {
	if s.molecule == nil && n > 0 && n <= MaxAtoms {
		s.molecule = molecule.Anonymous(int(n))
	}
	if s.molecule == nil || int(n) != s.molecule.N() {
		s.refuse(Error{Frame: s.n}, "has %d atoms, expected 1 to %d, and the same number in all frames", n, MaxAtoms)
		return nil
	}
	return make([]float64, 3*n)
}

// DecodeDCD reads a DCD trajectory of CHARMM, NAMD or X-PLOR, of either byte order. Unit cells are not read. Files with
// fixed atoms, which have these in the first frame alone, and with a fourth dimension are refused.
func DecodeDCD(name string, r io.Reader) (*Frames, error) {
	s := newStream(name, r)
	if first, _ := s.in.Peek(1); len(first) > 0 && first[0] != 0 {
		s.order = binary.LittleEndian
	}
	var control [20]uint32
	head := s.record("header", 84)
	binary.Decode(head[4:], s.order, &control)
	charmm := control[19] != 0
	switch {
	case !bytes.HasPrefix(head, []byte("CORD")):
		s.refuse(Error{Frame: -1}, "it begins with %q, expected CORD, as DCD files do", head[:4])
	case control[8] > 0:
		s.refuse(Error{Frame: -1}, "%d atoms are fixed and in frame 0 alone, expected all in each frame", control[8])
	case charmm && control[11] != 0:
		s.refuse(Error{Frame: -1}, "its points have four dimensions, expected three")
	}
	s.record("titles", -1)
	n := s.order.Uint32(s.record("number of atoms", 4))
	for s.more() {
		x := s.begin(int32(n))
		if charmm && control[10] != 0 {
			s.record("unit cell", 48)
		}
		axis := make([]float32, len(x)/3)
		for k := range 3 {
			binary.Decode(s.record(string('x'+rune(k)), 4*len(axis)), s.order, axis)
			for i, v := range axis {
				x[3*i+k] = float64(v)
			}
		}
		s.extend(x)
	}
	return s.frames("frames in it")
}

// record returns what stands between two lengths: a number of bytes, or any up to a bound if it is negative.
func (s *stream) record(name string, want int) []byte {
	const most = 1 << 16
	var n, again int32
	if s.get(&n); int(n) != want && want >= 0 || n < 0 || want < 0 && n > most {
		s.refuse(Error{Frame: s.n}, "the record of the %s has %d bytes, expected %d", name, n, max(want, -want*most))
		n = int32(max(want, 0))
	}
	b := make([]byte, n)
	s.get(b)
	if s.get(&again); again != n {
		s.refuse(Error{Frame: s.n}, "the record of the %s ends with the length %d, expected %d", name, again, n)
	}
	return b
}

// DecodeXTC reads an XTC trajectory of GROMACS. It returns its nanometres as ångström.
func DecodeXTC(name string, r io.Reader) (*Frames, error) {
	const magic, plain = 1995, 9 // first number of a frame; atoms that are not packed, at most
	s := newStream(name, r)
	said := "XTC files are in nanometres: they were multiplied by 10."
	for s.more() {
		var head struct {
			Magic, Atoms, Step int32
			TimeAndBox         [10]float32
			Again              int32
		}
		if s.get(&head); head.Magic != magic || head.Again != head.Atoms {
			s.refuse(Error{Frame: s.n}, "it begins with %d, expected %d and twice the number of atoms, as in XTC files",
				head.Magic, magic)
		}
		x, unit := s.begin(head.Atoms), 10.0
		if len(x) > 3*plain {
			unit = 10 / s.unpack(x)
			said = fmt.Sprintf("XTC files are in nanometres, this one to %.2g Å: they were multiplied by 10.", unit)
		} else {
			few := make([]float32, len(x))
			s.get(few)
			for i, v := range few {
				x[i] = float64(v)
			}
		}
		for i := range x {
			x[i] *= unit
		}
		s.extend(x)
	}
	s.remarks = append(s.remarks, said)
	return s.frames("frames in it")
}

// A packed is a string of bits, the first being the highest of its byte. After its end it gives zeros.
type packed struct {
	data []byte
	at   int
}

// bits returns a number of n ≤ 64 bits.
func (p *packed) bits(n int) (v uint64) {
	for ; n > 0 && p.at < 8*len(p.data); n-- {
		v = v<<1 | uint64(p.data[p.at/8]>>(7-p.at%8)&1)
		p.at++
	}
	return v << n
}

// triple returns three numbers below sizes, of n bits. Their bytes, the lowest first, are (a size₁ + b) size₂ + c.
func (p *packed) triple(n int, size [3]uint64) (v [3]int) {
	var word [2]uint64
	for k := 0; k < n; k += 8 {
		word[k/64] |= p.bits(min(n-k, 8)) << (k % 64)
	}
	for i := 2; i > 0; i-- {
		high := word[1] / size[i]
		low, rest := bits.Div64(word[1]%size[i], word[0], size[i])
		word, v[i] = [2]uint64{low, high}, int(rest)
	}
	v[0] = int(word[0])
	return v
}

// sizeOf returns the i-th size of small numbers: 2^{i/3}, rounded down, but for three that the format has otherwise.
func sizeOf(i int32) uint64 {
	switch i {
	case 37:
		return 5060
	case 57, 69:
		return 1<<(i/3) - 1
	}
	return uint64(math.Exp2(float64(i) / 3))
}

// unpack reads the coordinates of a frame as multiples of its precision, which it returns. An atom is three numbers
// from the least of the frame. A run of up to ten more are differences from the one before, below a size that changes
// from run to run; the first two atoms of a run have changed places.
func (s *stream) unpack(x []float64) (precision float64) {
	const widest, smallest, largest = 1 << 24, 9, 72 // ranges that are multiplied; sizes of small numbers
	var head struct {
		Precision     float32
		Low, High     [3]int32
		Small, Length int32
	}
	s.get(&head)
	var size [3]uint64
	for k := range size {
		size[k] = uint64(int64(head.High[k]) - int64(head.Low[k]) + 1)
	}
	wide := max(size[0], size[1], size[2]) >= widest
	high, low := bits.Mul64(size[0]*size[1], size[2])
	whole := bits.Len64(low)
	if high > 0 {
		whole = 64 + bits.Len64(high)
	}
	damaged := min(size[0], size[1], size[2])-1 > math.MaxUint32 || head.Length < 0 || int(head.Length) > 8*len(x)
	p, left, run := packed{}, x, 0
	if !damaged {
		p.data = make([]byte, (head.Length+3)/4*4)
		s.get(p.data)
	}
	put := func(at [3]int) {
		left[0], left[1], left[2] = float64(at[0]), float64(at[1]), float64(at[2])
		left = left[3:]
	}
	for len(left) > 0 {
		damaged = damaged || head.Small < smallest || head.Small > largest || p.at == 8*len(p.data)
		if damaged || s.err != nil {
			s.refuse(Error{Frame: s.n}, "its packed coordinates are damaged")
			break
		}
		var at [3]int
		if wide {
			for k := range at {
				at[k] = int(p.bits(bits.Len64(size[k])))
			}
		} else {
			at = p.triple(whole, size)
		}
		for k := range at {
			at[k] += int(head.Low[k])
		}
		change := int32(0)
		if p.bits(1) == 1 {
			code := int(p.bits(5))
			change, run = int32(code%3-1), code/3
		}
		if damaged = run >= len(left)/3; damaged {
			continue
		}
		if run == 0 {
			put(at)
		}
		n, before := sizeOf(head.Small), at
		for i := range run {
			next := p.triple(int(head.Small), [3]uint64{n, n, n})
			for k := range next {
				next[k] += before[k] - int(n/2)
			}
			if put(next); i == 0 {
				put(at)
			}
			before = next
		}
		head.Small += change
	}
	return float64(head.Precision)
}
