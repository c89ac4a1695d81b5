package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
)

// eventsFile is the name of a file of events: TensorBoard reads those of a folder by their names' order, one to its end
// and then the next.
func eventsFile(number int) string { return fmt.Sprintf("events.out.tfevents.%010d.landing", number) }

// mostApart is how many components or parts have lines of their own; of more there is the worst alone.
const mostApart = 32

// events writes what a run tells as events, with a step for each epoch.
type events struct {
	*eventWriter
	set     constraint.Set
	begun   float64 // when the run was made, in seconds since 1970
	trained float64 // seconds, as of the last record that says
}

func begun(r *experiment.Run) (float64, error) {
	m, err := r.Folder.Manifest()
	return float64(m.Created.Unix()), err
}

// kept writes records of metrics.jsonl. Their time is that at which the run was made, and the seconds that it had been
// trained.
func (e *events) kept(records []run.Record) {
	for _, r := range records {
		var told struct{ Seconds *float64 }
		if r.Kind != "held-out" && json.Unmarshal(r.Data, &told) == nil && told.Seconds != nil {
			e.trained = *told.Seconds // in all; of a held-out distance it is what that took
		}
		e.record(e.begun+e.trained, r)
	}
}

// record writes the numbers of a record, each under its kind and its key.
func (e *events) record(at float64, r run.Record) {
	var told map[string]any
	if json.Unmarshal(r.Data, &told) != nil {
		return
	}
	e.number(at, int64(r.Epoch), r.Kind, told)
}

// number writes a number, those of an object by their keys, and those of a list by the names of its parts.
func (e *events) number(at float64, step int64, tag string, v any) {
	switch v := v.(type) {
	case float64:
		e.scalar(at, step, tag, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "epoch" && key != "histogram" {
				e.number(at, step, tag+"/"+key, v[key])
			}
		}
	case []any:
		names := e.names(v)
		if names == nil {
			return
		}
		if len(v) > mostApart {
			e.largest(at, step, tag, v)
			return
		}
		for i, part := range v {
			e.number(at, step, tag+"/"+names[i], part)
		}
	}
}

// names are those of the parts of a list: their own, or, of a number for each, those of the components of Σ; nil: they
// have none.
func (e *events) names(parts []any) (names []string) {
	for _, p := range parts {
		of, _ := p.(map[string]any)
		if name, ok := of["name"].(string); ok {
			names = append(names, name)
		}
	}
	if len(names) == len(parts) {
		return names
	}
	if names = constraint.Components(e.set); len(names) == len(parts) {
		return names
	}
	return nil
}

// largest writes the largest number of a list, if it is one of numbers.
func (e *events) largest(at float64, step int64, tag string, v []any) {
	var all []float64
	for _, x := range v {
		if x, ok := x.(float64); ok {
			all = append(all, x)
		}
	}
	if len(all) > 0 {
		e.scalar(at, step, tag, slices.Max(all))
	}
}

// TensorBoard returns the numbers of a run's metrics by epoch as a folder for TensorBoard. Errors are those of the file
// system.
func (s *Source) TensorBoard() (Files, error) {
	r := s.Run
	records, err := r.Folder.Metrics()
	if err != nil {
		return nil, err
	}
	made, err := begun(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := &events{eventWriter: newEvents(&b, made), set: r.Process.Set, begun: made}
	e.kept(records)
	if err := e.flush(); err != nil {
		return nil, err
	}
	return Files{eventsFile(1): b.Bytes()}, nil
}

// A Board writes what a training tells as events while it goes, for TensorBoard to show, into its run folder. Each
// call of Train writes a file of its own behind those of earlier ones, and has TensorBoard drop what these have of
// epochs that come again: a training that was killed has each epoch once. Where there are no earlier ones it begins
// with the records of metrics.jsonl.
type Board struct {
	Dir string // of the events

	r     *experiment.Run
	fault func(error) // called with the first error; nothing is written after it
	file  *os.File
	to    *events
	err   error
}

// NewBoard returns a board of a run whose folder is locked; nil if neither asked is set nor an earlier call was asked
// for one. Errors are those of the file system; later ones go to fault, and the training goes on.
func NewBoard(r *experiment.Run, asked bool, fault func(error)) (*Board, error) {
	m, err := r.Folder.Manifest()
	if err != nil {
		return nil, err
	}
	if m.Events == "" {
		if !asked {
			return nil, nil
		}
		if err := r.Folder.AmendManifest(func(m *run.Manifest) { m.Events = run.EventsDir }); err != nil {
			return nil, err
		}
	}
	return &Board{Dir: r.Folder.Path(run.EventsDir), r: r, fault: fault}, nil
}

// Observer returns o with From and Record of the board, for one call of Train.
func (b *Board) Observer(o experiment.Observer) experiment.Observer {
	o.From = func(epoch int) { b.try(func(at float64) error { return b.from(at, epoch) }) }
	o.Record = func(line run.Record) {
		b.try(func(at float64) error {
			b.to.record(at, line)
			return b.to.flush()
		})
	}
	return o
}

// try does something at the present time unless something failed before.
func (b *Board) try(do func(at float64) error) {
	if b.err != nil {
		return
	}
	if b.err = do(float64(time.Now().UnixMicro()) / 1e6); b.err != nil {
		b.fault(b.err)
	}
}

// from goes on after an epoch: in a new file if it is the first time.
func (b *Board) from(at float64, epoch int) error {
	if b.file != nil {
		b.to.restart(at, int64(epoch+1))
		return b.to.flush()
	}
	number, held, err := sessions(b.Dir)
	if err != nil {
		return err
	}
	made, err := begun(b.r)
	if err != nil {
		return err
	}
	if b.file, err = b.r.Folder.NewFile(path.Join(run.EventsDir, eventsFile(number+1))); err != nil {
		return err
	}
	b.to = &events{set: b.r.Process.Set, begun: made}
	if held {
		b.to.eventWriter = newEvents(b.file, at)
		b.to.restart(at, int64(epoch+1))
		return b.to.flush()
	}
	b.to.eventWriter = newEvents(b.file, made)
	records, err := b.r.Folder.Metrics()
	if err != nil {
		return err
	}
	b.to.kept(records)
	return b.to.flush()
}

// sessions returns the largest number of a file of events in a folder, 0 if there is none, and whether any of them
// holds something.
func sessions(dir string) (largest int, held bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	for _, e := range entries {
		var n int
		if fmt.Sscanf(e.Name(), "events.out.tfevents.%d.landing", &n); e.Name() != eventsFile(n) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, false, err
		}
		largest, held = max(largest, n), held || info.Size() > 0
	}
	return largest, held, nil
}

// Close closes the board's file. Its error goes to fault, unless an earlier error did.
func (b *Board) Close() {
	if b.file == nil {
		return
	}
	if err := b.file.Close(); err != nil && b.err == nil {
		b.err = err
		b.fault(err)
	}
}

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
