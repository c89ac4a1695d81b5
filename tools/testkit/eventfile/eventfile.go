// Package eventfile reads folders of event files as TensorBoard does, so that tests see what it would show.
package eventfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/landing-diffusion/landing/internal/tensorboard"
)

// A Point is a value of a tag at a step: a number; of histograms how many numbers they are of; of images their
// bytes.
type Point struct {
	Step  int64
	Value float64
	Time  float64 // seconds since 1970
}

// A Board is what a folder shows: the points of each tag, in the order in which they were written.
type Board struct {
	Scalars, Histograms, Images map[string][]Point
	Purged                      int // points that came again
}

// Read reads the files of a folder in the order of their names. A restart drops what has its step or a later one, of
// earlier files too. What a process that was killed has left of a last record is passed over, as TensorBoard does.
func Read(dir string) (*Board, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	b := &Board{map[string][]Point{}, map[string][]Point{}, map[string][]Point{}, 0}
	for _, e := range entries {
		if !strings.Contains(e.Name(), "tfevents") {
			continue
		}
		file, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		records, err := Records(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		for i, r := range records {
			if err := b.add(r, i == 0); err != nil {
				return nil, fmt.Errorf("%s, record %d: %w", e.Name(), i, err)
			}
		}
	}
	return b, nil
}

// Records takes a file apart: the events that are whole. An error is a checksum that is not that of its bytes.
func Records(b []byte) (all [][]byte, err error) {
	for len(b) >= 12 {
		n := binary.LittleEndian.Uint64(b)
		if binary.LittleEndian.Uint32(b[8:]) != tensorboard.Masked(b[:8]) {
			return nil, fmt.Errorf("the checksum of a length")
		}
		if n > uint64(len(b)) || len(b)-16 < int(n) {
			break
		}
		data := b[12 : 12+n]
		if binary.LittleEndian.Uint32(b[12+n:]) != tensorboard.Masked(data) {
			return nil, fmt.Errorf("the checksum of a record")
		}
		all, b = append(all, data), b[16+n:]
	}
	return all, nil
}

// Fields are the fields of a message by number; those that repeat one after the other. Of bytes they have no length. It
// panics where there is no message.
func Fields(b []byte) map[int][][]byte {
	out := map[int][][]byte{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		m := -1
		if n > 0 {
			m = protowire.ConsumeFieldValue(num, typ, b[n:])
		}
		if m < 0 {
			panic("no protocol buffer")
		}
		v := b[n : n+m]
		if typ == protowire.BytesType {
			v, _ = protowire.ConsumeBytes(v)
		}
		out[int(num)], b = append(out[int(num)], v), b[n+m:]
	}
	return out
}

// Doubles are numbers of eight bytes each.
func Doubles(b []byte) (x []float64) {
	for ; len(b) >= 8; b = b[8:] {
		x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return x
}

// add takes in an event.
func (b *Board) add(record []byte, first bool) error {
	e := Fields(record)
	p := Point{}
	if v := e[1]; len(v) == 1 {
		p.Time = Doubles(v[0])[0]
	}
	if v := e[2]; len(v) == 1 {
		n, _ := protowire.ConsumeVarint(v[0])
		p.Step = int64(n)
	}
	if first != (len(e[3]) == 1) {
		return fmt.Errorf("the version of the format is said %d times", len(e[3]))
	}
	if len(e[7]) > 0 {
		for _, of := range []map[string][]Point{b.Scalars, b.Histograms, b.Images} {
			for tag, points := range of {
				of[tag] = slices.DeleteFunc(points, func(old Point) bool { return old.Step >= p.Step })
				b.Purged += len(points) - len(of[tag])
			}
		}
	}
	for _, summary := range e[5] {
		for _, v := range Fields(summary)[1] {
			if err := b.value(Fields(v), p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Board) value(f map[int][][]byte, p Point) error {
	if len(f[1]) != 1 {
		return fmt.Errorf("a value without a tag")
	}
	tag := string(f[1][0])
	switch {
	case len(f[2]) == 1:
		p.Value = float64(math.Float32frombits(binary.LittleEndian.Uint32(f[2][0])))
		b.Scalars[tag] = append(b.Scalars[tag], p)
	case len(f[5]) == 1:
		p.Value = Doubles(Fields(f[5][0])[3][0])[0]
		b.Histograms[tag] = append(b.Histograms[tag], p)
	case len(f[4]) == 1:
		p.Value = float64(len(Fields(f[4][0])[4][0]))
		b.Images[tag] = append(b.Images[tag], p)
	default:
		return fmt.Errorf("%q has no value that is known", tag)
	}
	return nil
}
