package export

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event files, which TensorBoard shows: numbers by step. A file is records (TFRecord): the length of the data in eight
// bytes, its masked checksum, the data, its masked checksum. The data of each is an Event as a protocol buffer.

// Numbers of the fields of event.proto and summary.proto that are written.
const (
	eventTime, eventStep, eventVersion, eventSummary, eventSession = 1, 2, 3, 5, 7
	sessionStatus, sessionStart                                    = 1, 1
	summaryValue                                                   = 1
	valueTag, valueSimple                                          = 1, 2
)

// eventsVersion is what the first event of a file says.
const eventsVersion = "brain.Event:2"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of records: CRC-32C, turned right by 15 bits, plus a constant.
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// An eventWriter writes events. They are held until flush.
type eventWriter struct {
	w   io.Writer
	b   []byte
	err error
}

// newEvents begins a file: at is the time in seconds since 1970.
func newEvents(w io.Writer, at float64) *eventWriter {
	t := &eventWriter{w: w}
	e := event(at, 0)
	t.record(protowire.AppendString(protowire.AppendTag(e, eventVersion, protowire.BytesType), eventsVersion))
	return t
}

// restart has TensorBoard drop what this file and earlier ones of its folder have of a step and of later ones:
// they come again.
func (t *eventWriter) restart(at float64, step int64) {
	status := protowire.AppendVarint(protowire.AppendTag(nil, sessionStatus, protowire.VarintType), sessionStart)
	t.record(message(event(at, step), eventSession, status))
}

// flush writes what is held in one piece, so that a file that is being read has whole records, and returns the first
// error of all. Nothing is held or written after one.
func (t *eventWriter) flush() error {
	if t.err == nil && len(t.b) > 0 {
		_, t.err = t.w.Write(t.b)
		t.b = t.b[:0]
	}
	return t.err
}

func (t *eventWriter) record(data []byte) {
	if t.err != nil {
		return
	}
	from := len(t.b)
	t.b = binary.LittleEndian.AppendUint64(t.b, uint64(len(data)))
	t.b = binary.LittleEndian.AppendUint32(t.b, masked(t.b[from:]))
	t.b = append(t.b, data...)
	t.b = binary.LittleEndian.AppendUint32(t.b, masked(data))
}

func event(at float64, step int64) []byte {
	b := protowire.AppendFixed64(protowire.AppendTag(nil, eventTime, protowire.Fixed64Type), math.Float64bits(at))
	return protowire.AppendVarint(protowire.AppendTag(b, eventStep, protowire.VarintType), uint64(step))
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// scalar writes a number, unless it is none.
func (t *eventWriter) scalar(at float64, step int64, tag string, v float64) {
	if v-v != 0 {
		return
	}
	b := protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), tag)
	b = protowire.AppendTag(b, valueSimple, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, math.Float32bits(float32(v)))
	t.record(message(event(at, step), eventSummary, message(nil, summaryValue, b)))
}
