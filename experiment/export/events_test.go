package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A reader of folders of event files as TensorBoard reads them, so that tests see what it would show.

// A point is a number of a tag at a step.
type point struct {
	Step  int64
	Value float64
	Time  float64 // seconds since 1970
}

// A shown is what a folder shows: the points of each tag, in the order in which they were written.
type shown struct {
	Scalars map[string][]point
	Purged  int // points that came again
}

// readEvents reads the files of a folder in the order of their names. A restart drops what has its step or a later one,
// of earlier files too. What a process that was killed has left of a last record is passed over, as TensorBoard does.
func readEvents(dir string) (*shown, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	b := &shown{Scalars: map[string][]point{}}
	for _, e := range entries {
		if !strings.Contains(e.Name(), "tfevents") {
			continue
		}
		file, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		records, err := eventRecords(file)
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

// eventRecords takes a file apart: the events that are whole. An error is a checksum that is not that of its bytes.
func eventRecords(b []byte) (all [][]byte, err error) {
	for len(b) >= 12 {
		n := binary.LittleEndian.Uint64(b)
		if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) {
			return nil, fmt.Errorf("the checksum of a length")
		}
		if n > uint64(len(b)) || len(b)-16 < int(n) {
			break
		}
		data := b[12 : 12+n]
		if binary.LittleEndian.Uint32(b[12+n:]) != masked(data) {
			return nil, fmt.Errorf("the checksum of a record")
		}
		all, b = append(all, data), b[16+n:]
	}
	return all, nil
}

// fieldsOf returns the fields of a message by number, those that repeat in their order. It panics where there is no
// message.
func fieldsOf(b []byte) map[int][][]byte {
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

// add takes in an event.
func (b *shown) add(record []byte, first bool) error {
	e, p := fieldsOf(record), point{}
	if v := e[1]; len(v) == 1 {
		p.Time = math.Float64frombits(binary.LittleEndian.Uint64(v[0]))
	}
	if v := e[2]; len(v) == 1 {
		n, _ := protowire.ConsumeVarint(v[0])
		p.Step = int64(n)
	}
	if first != (len(e[3]) == 1) {
		return fmt.Errorf("the version of the format is said %d times", len(e[3]))
	}
	if len(e[7]) > 0 {
		for tag, points := range b.Scalars {
			b.Scalars[tag] = slices.DeleteFunc(points, func(old point) bool { return old.Step >= p.Step })
			b.Purged += len(points) - len(b.Scalars[tag])
		}
	}
	for _, summary := range e[5] {
		for _, v := range fieldsOf(summary)[1] {
			f := fieldsOf(v)
			if len(f[1]) != 1 || len(f[2]) != 1 {
				return fmt.Errorf("a value without a tag or a number: %x", v)
			}
			p.Value = float64(math.Float32frombits(binary.LittleEndian.Uint32(f[2][0])))
			b.Scalars[string(f[1][0])] = append(b.Scalars[string(f[1][0])], p)
		}
	}
	return nil
}
