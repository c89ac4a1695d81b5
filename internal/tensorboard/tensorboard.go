// Package tensorboard writes event files, which TensorBoard shows: scalars, histograms and images by step.
//
// A file is records (TFRecord): the length of the data in eight bytes, its masked checksum, the data, its masked
// checksum; the data of each is an Event as a protocol buffer. It knows no run.
package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields of event.proto and summary.proto that are written.
const (
	eventTime, eventStep, eventVersion, eventSummary, eventSession    = 1, 2, 3, 5, 7
	sessionStatus, sessionStart                                       = 1, 1
	summaryValue                                                      = 1
	valueTag, valueSimple, valueImage, valueHistogram                 = 1, 2, 4, 5
	histMin, histMax, histNum, histSum, histSquares, histLimit, histN = 1, 2, 3, 4, 5, 6, 7
	imageHeight, imageWidth, imageColors, imageData                   = 1, 2, 3, 4
)

// Version is what the first event of a file says.
const Version = "brain.Event:2"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Masked is the checksum of records: CRC-32C, turned right by 15 bits, plus a constant.
func Masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// A Writer writes events. They are held until Flush.
type Writer struct {
	w   io.Writer
	b   []byte
	err error
}

// NewWriter begins a file: at is the time in seconds since 1970.
func NewWriter(w io.Writer, at float64) *Writer {
	t := &Writer{w: w}
	e := event(at, 0)
	t.record(protowire.AppendString(protowire.AppendTag(e, eventVersion, protowire.BytesType), Version))
	return t
}

// Restart has TensorBoard drop what this file and earlier ones of its folder have of a step and of later ones:
// they come again.
func (t *Writer) Restart(at float64, step int64) {
	status := protowire.AppendVarint(protowire.AppendTag(nil, sessionStatus, protowire.VarintType), sessionStart)
	t.record(message(event(at, step), eventSession, status))
}

// Flush writes what is held in one piece, so that a file that is being read has whole records, and returns the first
// error of all. Nothing is held or written after one.
func (t *Writer) Flush() error {
	if t.err == nil && len(t.b) > 0 {
		_, t.err = t.w.Write(t.b)
		t.b = t.b[:0]
	}
	return t.err
}

func (t *Writer) record(data []byte) {
	if t.err != nil {
		return
	}
	from := len(t.b)
	t.b = binary.LittleEndian.AppendUint64(t.b, uint64(len(data)))
	t.b = binary.LittleEndian.AppendUint32(t.b, Masked(t.b[from:]))
	t.b = append(t.b, data...)
	t.b = binary.LittleEndian.AppendUint32(t.b, Masked(data))
}

func event(at float64, step int64) []byte {
	b := double(nil, eventTime, at)
	return protowire.AppendVarint(protowire.AppendTag(b, eventStep, protowire.VarintType), uint64(step))
}

func double(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// value writes an event of one value.
func (t *Writer) value(at float64, step int64, tag string, rest []byte) {
	v := append(protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), tag), rest...)
	t.record(message(event(at, step), eventSummary, message(nil, summaryValue, v)))
}

// Scalar writes a number, unless it is none.
func (t *Writer) Scalar(at float64, step int64, tag string, v float64) {
	if v-v != 0 {
		return
	}
	b := protowire.AppendFixed32(protowire.AppendTag(nil, valueSimple, protowire.Fixed32Type),
		math.Float32bits(float32(v)))
	t.value(at, step, tag, b)
}

// Histogram writes how finite numbers are distributed, in cells whose bounds grow by a tenth from 10⁻¹⁸ on, to either
// side of 0.
func (t *Writer) Histogram(at float64, step int64, tag string, x []float64) {
	x = slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v-v != 0 })
	if len(x) == 0 {
		return
	}
	slices.Sort(x)
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum, squares = sum+v, squares+v*v
	}
	var limits, counts []byte
	for i := 0; i < len(x); {
		limit := bound(x[i])
		n := i
		for n < len(x) && x[n] <= limit {
			n++
		}
		limits = protowire.AppendFixed64(limits, math.Float64bits(limit))
		counts = protowire.AppendFixed64(counts, math.Float64bits(float64(n-i)))
		i = n
	}
	h := double(nil, histMin, x[0])
	h = double(h, histMax, x[len(x)-1])
	h = double(h, histNum, float64(len(x)))
	h = double(h, histSum, sum)
	h = double(h, histSquares, squares)
	h = message(h, histLimit, limits)
	t.value(at, step, tag, message(nil, valueHistogram, message(h, histN, counts)))
}

// bound returns the upper bound of the cell of v: 0 and ±10⁻¹⁸·1.1ᵏ are bounds.
func bound(v float64) float64 {
	const least, ratio = 1e-18, 1.1
	switch size := math.Abs(v); {
	case v == 0, v < 0 && size <= least:
		return 0
	case size <= least:
		return least
	case v > 0:
		limit := least * math.Pow(ratio, math.Ceil(math.Log(size/least)/math.Log(ratio)))
		return min(max(limit, v), math.MaxFloat64)
	default:
		limit := -least * math.Pow(ratio, math.Floor(math.Log(size/least)/math.Log(ratio)))
		return max(limit, v)
	}
}

// Image writes a picture, the bytes of a PNG file of a size in pixels.
func (t *Writer) Image(at float64, step int64, tag string, png []byte, width, height int) {
	var b []byte
	for _, f := range []struct {
		field protowire.Number
		v     int
	}{{imageHeight, height}, {imageWidth, width}, {imageColors, 4}} {
		b = protowire.AppendVarint(protowire.AppendTag(b, f.field, protowire.VarintType), uint64(f.v))
	}
	t.value(at, step, tag, message(nil, valueImage, message(b, imageData, png)))
}
