// Package amxtest runs a program that uses AMX tiles on a processor that has none: it traces the program, and where an
// instruction of AMX-TILE or AMX-BF16 faults, does what Intel's manual says that it does. It is for tests, and slow.
package amxtest

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	tiles    = 8
	maxRows  = 16
	rowBytes = 64
)

// A state is the tile state of one thread. It is in its initial state, without tiles, until it is configured.
type state struct {
	configured bool
	rows, cols [tiles]int // cols in bytes
	data       [tiles][maxRows][rowBytes]byte
}

// memory is that of the traced program: n blocks of size bytes, stride apart.
type memory interface {
	read(dst []byte, addr uint64, n, size int, stride int64) error
	write(src []byte, addr uint64, n, size int, stride int64) error
}

// configure is LDTILECFG.
func (s *state) configure(c [64]byte) error {
	*s = state{}
	if c[0] == 0 {
		return nil
	}
	if c[0] != 1 || c[1] != 0 {
		return fmt.Errorf("palette %d, start row %d", c[0], c[1])
	}
	for i, b := range c {
		if b != 0 && (i >= 2 && i < 16 || i >= 32 && i < 48 || i >= 56) {
			return fmt.Errorf("reserved byte %d of the configuration is %d", i, b)
		}
	}
	for t := range tiles {
		s.cols[t], s.rows[t] = int(binary.LittleEndian.Uint16(c[16+2*t:])), int(c[48+t])
		if s.cols[t] > rowBytes || s.rows[t] > maxRows || (s.cols[t] == 0) != (s.rows[t] == 0) {
			return fmt.Errorf("tile %d has %d rows of %d bytes", t, s.rows[t], s.cols[t])
		}
	}
	s.configured = true
	return nil
}

func (s *state) need(list ...int) error {
	for _, t := range list {
		if !s.configured || s.rows[t] == 0 {
			return fmt.Errorf("tile %d is not configured", t)
		}
	}
	return nil
}

func (s *state) zero(t int) error {
	s.data[t] = [maxRows][rowBytes]byte{}
	return s.need(t)
}

// load is TILELOADD: rows beyond the tile's and bytes beyond a row's become 0.
func (s *state) load(t int, m memory, addr uint64, stride int64) error {
	if err := s.zero(t); err != nil {
		return err
	}
	n, size := s.rows[t], s.cols[t]
	buf := make([]byte, n*size)
	if err := m.read(buf, addr, n, size, stride); err != nil {
		return err
	}
	for r := range n {
		copy(s.data[t][r][:size], buf[r*size:])
	}
	return nil
}

// store is TILESTORED.
func (s *state) store(t int, m memory, addr uint64, stride int64) error {
	if err := s.need(t); err != nil {
		return err
	}
	n, size := s.rows[t], s.cols[t]
	buf := make([]byte, n*size)
	for r := range n {
		copy(buf[r*size:], s.data[t][r][:size])
	}
	return m.write(buf, addr, n, size, stride)
}

// dot is TDPBF16PS: C += A·B, where a word of A and B is a pair of bfloat16 numbers, a row of A lies along the sum and
// a column of B too. For each element of C the products of first numbers are summed with fused steps, those of second
// ones apart, and the sum of both is added to C.
func (s *state) dot(c, a, b int) error {
	if err := s.need(c, a, b); err != nil {
		return err
	}
	if a == b || a == c || b == c {
		return fmt.Errorf("tiles %d, %d and %d are not distinct", c, a, b)
	}
	if s.rows[c] != s.rows[a] || s.cols[c] != s.cols[b] || s.cols[a] != 4*s.rows[b] || s.cols[a]%4 != 0 ||
		s.cols[b]%4 != 0 {
		return fmt.Errorf("shapes do not fit: %d×%d += %d×%d · %d×%d bytes", s.rows[c], s.cols[c], s.rows[a], s.cols[a],
			s.rows[b], s.cols[b])
	}
	half := func(t, r, i int) float64 {
		return float64(flush(math.Float32frombits(uint32(binary.LittleEndian.Uint16(s.data[t][r][2*i:])) << 16)))
	}
	for m := range s.rows[c] {
		for n := range s.cols[c] / 4 {
			var sum [2]float32
			for k := range s.cols[a] / 4 {
				for i := range sum {
					// The product is exact; its sum rounds to 53 bits before it
					// rounds to 24, which differs once in 2²⁹ times.
					sum[i] = flush(float32(float64(sum[i]) + half(a, m, 2*k+i)*half(b, k, 2*n+i)))
				}
			}
			at := s.data[c][m][4*n:]
			old := flush(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			binary.LittleEndian.PutUint32(at, math.Float32bits(flush(old+flush(sum[0]+sum[1]))))
		}
	}
	return nil
}

// flush takes what is below the normal numbers for 0.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}
