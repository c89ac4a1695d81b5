package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// watched returns an untrained run with evaluations, and with a held-out distance at its end. Only the first and the
// last epoch have checkpoints.
func watched(t *testing.T, settings ...string) *experiment.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	var b strings.Builder
	for k := range 240 {
		x := onBall(k)
		fmt.Fprintf(&b, "%v,%v,%v\n", x[0], x[1], x[2])
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	text := "name: ball\nset: {dim: 3, equality: [{name: radius, expr: \"norm(x) = 1\"}], inequality: [{name: top, " +
		"expr: \"x[2] <= 2\"}]}\nprior: empirical\nobserve: [{name: height, expr: \"x[2]\"}]\n"
	settings = append([]string{"train.epochs=4", "train.stop=held_out", "train.evaluate_every=2", "network.width=8",
		"network.layers=1", "train.times_per_path=2", "process.steps=6", "train.checkpoint_every=1e6",
		"generate.max_failed=1", "data.path=" + path}, settings...)
	return job.New[*experiment.Run](t, experiment.Load, []byte(text), "test.yaml", settings...)
}

// board has a training of a run watched, and fails at an error of the board.
func board(t *testing.T, r *experiment.Run, asked bool) *Board {
	t.Helper()
	return testkit.Must(NewBoard(r, asked, func(err error) { t.Error(err) }))
}

func trainOn(t *testing.T, r *experiment.Run, b *Board, o experiment.Observer) {
	t.Helper()
	testkit.OK(t, r.Train(context.Background(), "", o))
	b.Close()
}

// steps are the steps of each tag, and the values of scalars, but for those of clocks.
func steps(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for tag, points := range testkit.Must(readEvents(dir)).Scalars {
		for _, p := range points {
			if strings.HasSuffix(tag, "seconds") || strings.HasSuffix(tag, "simulated") {
				p.Value = 0
			}
			out[tag] = append(out[tag], fmt.Sprintf("%d: %v", p.Step, p.Value))
		}
	}
	return out
}

// A training that is watched has each epoch once, and so has one that was killed at any moment and went on, be it in
// the midst of a record: the same numbers at the same steps. What it writes is what an export of it says.
func TestBoard(t *testing.T) {
	r := watched(t)
	b := board(t, r, true)
	var killed []string
	kill := func() {
		dir := filepath.Join(t.TempDir(), "killed")
		testkit.OK(t, os.CopyFS(dir, os.DirFS(r.Folder.Dir)))
		killed = append(killed, dir)
	}
	o := b.Observer(experiment.Observer{Checkpoint: func(int) { kill() }})
	record := o.Record
	o.Record = func(line run.Record) {
		if line.Kind == "epoch" && line.Epoch > 1 && line.Epoch < 4 {
			record(line)
			return
		}
		kill()
		record(line)
		kill()
	}
	trainOn(t, r, b, o)
	want := steps(t, b.Dir)
	for tag, at := range map[string]string{"epoch/loss": "1 2 3 4", "epoch/worst/radius": "1 2 3 4",
		"evaluation/violation": "2 4", "held-out/distance": "4", "evaluation/observables/height/full": "2 4"} {
		var got []string
		for _, p := range want[tag] {
			step, _, _ := strings.Cut(p, ":")
			got = append(got, step)
		}
		testkit.Equal(t, strings.Join(got, " "), at, "%s at the steps %v", tag, got)
	}
	if len(killed) != 12 {
		t.Fatalf("killed %d times", len(killed))
	}
	for i, dir := range killed {
		torn := i == 4
		if torn { // in the midst of a record
			events := filepath.Join(dir, run.EventsDir, eventsFile(1))
			whole := testkit.Must(os.Stat(events))
			testkit.OK(t, os.Truncate(events, whole.Size()-5))
		}
		again := testkit.Must(experiment.Open(t.Context(), dir, "", r.Pool, nil))
		on := board(t, again, false)
		if on == nil || on.Dir != filepath.Join(dir, run.EventsDir) {
			t.Fatalf("events of a run that goes on: %+v", on)
		}
		trainOn(t, again, on, on.Observer(experiment.Observer{}))
		got := steps(t, on.Dir)
		for tag := range want {
			testkit.EqualSlices(t, got[tag], want[tag], "killed at moment %d (torn: %v), %s", i, torn, tag)
		}
		for tag := range got {
			if _, ok := want[tag]; !ok {
				t.Errorf("killed at moment %d: %s is new", i, tag)
			}
		}
		if t.Failed() {
			return
		}
	}

	n := testkit.Must(r.Trained(""))
	files := testkit.Must((&Source{Run: r, Trained: n}).TensorBoard())
	dir := filepath.Join(t.TempDir(), "exported")
	testkit.OK(t, run.WriteFolder(dir, files))
	events := testkit.Must(readEvents(dir))
	loss, seconds := events.Scalars["epoch/loss"], events.Scalars["epoch/seconds"]
	for i, p := range loss { // at float32's precision of the seconds
		trained := seconds[i].Value - seconds[0].Value
		if d := p.Time - loss[0].Time - trained; math.Abs(d) > 1e-6*seconds[i].Value+1e-5 {
			t.Errorf("epoch %d is %v s beside its time", p.Step, d)
		}
	}
	if h := events.Scalars["held-out/distance"]; len(h) != 1 || h[0].Time != loss[len(loss)-1].Time {
		t.Errorf("held-out distances %v, losses %v", h, loss)
	}
	got := steps(t, dir)
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("exported is\n%v, want\n%v", got, want)
	}
}

// A run that was trained without events gets the events of all its epochs, and later epochs follow.
func TestBoardLater(t *testing.T) {
	r := watched(t, "train.epochs=2", "train.stop=epochs", "train.evaluate_every=0")
	if b, err := NewBoard(r, false, nil); b != nil || err != nil {
		t.Errorf("a board that nobody asked for: %v, %v", b, err)
	}
	trainOn(t, r, &Board{}, experiment.Observer{})
	again := testkit.Must(r.Extend(problem.ParseSettings("train.epochs=3"), "", nil))
	b := board(t, again, true)
	trainOn(t, again, b, b.Observer(experiment.Observer{}))
	if got := steps(t, b.Dir)["epoch/loss"]; len(got) != 3 || !strings.HasPrefix(got[0], "1: ") {
		t.Errorf("losses %v", got)
	}
	if on := board(t, again, false); on == nil || on.Dir != b.Dir {
		t.Errorf("it goes on in %+v", on)
	}
}

// A training goes on where its events cannot, and says so once.
func TestBoardFails(t *testing.T) {
	r := watched(t, "train.epochs=3", "train.stop=epochs")
	var said []error
	b := testkit.Must(NewBoard(r, true, func(err error) { said = append(said, err) }))
	o := b.Observer(experiment.Observer{})
	record, lines := o.Record, 0
	o.Record = func(line run.Record) {
		if lines++; lines == 2 {
			b.file.Close()
		}
		record(line)
	}
	trainOn(t, r, b, o)
	if got := steps(t, b.Dir)["epoch/loss"]; len(said) != 1 || !errors.Is(said[0], os.ErrClosed) || len(got) != 1 {
		t.Errorf("said %v, has %v", said, got)
	}
}

// Of a list with many parts the worst alone is shown.
func TestManyParts(t *testing.T) {
	var lines strings.Builder
	for i := range mostApart + 1 {
		fmt.Fprintf(&lines, "{name: c%d, expr: \"x[0] <= %d\"}, ", i, 2+i)
	}
	r := watched(t, "set.inequality=["+lines.String()+"]", "train.epochs=1", "train.stop=epochs",
		"train.evaluate_every=1")
	b := board(t, r, true)
	trainOn(t, r, b, b.Observer(experiment.Observer{}))
	for tag := range steps(t, b.Dir) {
		if strings.HasPrefix(tag, "epoch/worst/") {
			t.Errorf("there is %s", tag)
		}
	}
	if got := steps(t, b.Dir); len(got["epoch/worst"]) != 1 {
		t.Errorf("got %v", got)
	}
}

// TensorBoard's own reader sees of a training that was killed and went on what the reader of these tests sees.
func TestBoardRead(t *testing.T) {
	python := python(t, "tensorboard")
	r := watched(t)
	b := board(t, r, true)
	o, dir := b.Observer(experiment.Observer{}), filepath.Join(t.TempDir(), "killed")
	record := o.Record
	o.Record = func(line run.Record) {
		if record(line); line.Kind == "evaluation" && line.Epoch == 2 {
			testkit.OK(t, os.CopyFS(dir, os.DirFS(r.Folder.Dir)))
		}
	}
	trainOn(t, r, b, o)
	again := testkit.Must(experiment.Open(t.Context(), dir, "", r.Pool, nil))
	on := board(t, again, false)
	trainOn(t, again, on, on.Observer(experiment.Observer{}))
	want := testkit.Must(readEvents(on.Dir))
	if want.Purged == 0 {
		t.Error("nothing came again")
	}
	var said bytes.Buffer
	cmd := exec.Command(python, "-c", `
import sys, json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}); a.Reload()
t = a.Tags()
def points(tags, of, value):
    return {k: [dict(Step=s.step, Value=value(s), Time=s.wall_time) for s in of(k)] for k in tags}
print(json.dumps({"Scalars": points(t["scalars"], a.Scalars, lambda s: s.value)}))
`, on.Dir)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	var got shown
	testkit.OK(t, json.Unmarshal(out, &got))
	if !maps.EqualFunc(got.Scalars, want.Scalars, slices.Equal) {
		t.Errorf("TensorBoard has\n%v, want\n%v", got, want)
	}
}

// What an epoch of a training costs more that is watched: its numbers, written to a file.
func BenchmarkEpoch(b *testing.B) {
	file := testkit.Must(os.Create(filepath.Join(b.TempDir(), "events")))
	defer file.Close()
	e := &events{eventWriter: newEvents(file, 0), set: zoo.Sphere{D: 3}}
	data := testkit.Must(json.Marshal(train.Epoch{Epoch: 1, Loss: 0.5, Worst: []float64{1e-16}, Rows: 1e6, Seconds: 3}))
	for i := range b.N {
		e.record(1, run.Record{Kind: "epoch", Epoch: i, Data: data})
		testkit.OK(b, e.flush())
	}
}

// The checksum that the format's description gives for 32 zeros (RFC 3720), masked. A value that is no number is left
// out.
func TestEvents(t *testing.T) {
	c := uint32(0x8a9136aa)
	testkit.Equal(t, masked(make([]byte, 32)), c>>15|c<<17+0xa282ead8)
	var b bytes.Buffer
	w := newEvents(&b, 1000.5)
	w.scalar(1001, 8, "nothing", math.NaN())
	testkit.Equal(t, b.Len(), 0, "events are written before they are whole")
	testkit.OK(t, w.flush())
	testkit.Equal(t, len(testkit.Must(eventRecords(b.Bytes()))), 1, "records")
}

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
