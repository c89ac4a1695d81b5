package queue

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// A Submission is units that somebody wants done.
type Submission struct {
	What     string            // for people: samples of runs/a, sweep b
	Units    []*work.Unit      // in order; no two are the same work
	Inputs   map[string]string // paths of files by their SHA-256, all that units read
	Collect  json.RawMessage   // what becomes of the results; who collects them knows
	SameBits bool              // by machines with the same kind of kernels as this one alone
	Tries    int               // of a unit, before it is given up; 0: 5
	Patience time.Duration     // without progress, after which a try is given up; 0: 15 minutes
	Folder   string            // a shared folder for files, of the same absolute path everywhere; "": the server
	Retry    bool              // units too that were given up before
}

const (
	defaultTries    = 5
	defaultPatience = 15 * time.Minute
)

// MaxUnits bounds the units of a submission.
const MaxUnits = 100_000

// maxList bounds the list of units of a submission in bytes: it is held whole.
const maxList = 1 << 30

// A Job is what a queue knows of a submission.
type Job struct {
	ID       string          `json:"id"` // of what is asked: the same again is the same job
	What     string          `json:"what"`
	Units    int             `json:"units"`
	Collect  json.RawMessage `json:"collect,omitempty"`
	Version  string          `json:"version"` // of the program
	Build    string          `json:"build"`   // that gives the same bytes
	Bits     string          `json:"same_bits,omitempty"`
	Folder   string          `json:"folder,omitempty"`
	List     string          `json:"list_sha256"` // of the file of units, a line each
	Size     int64           `json:"list_bytes"`
	Whole    bool            `json:"whole"` // all units were handed over
	Inputs   []string        `json:"inputs"`
	Created  time.Time       `json:"created"`
	Tries    int             `json:"tries"`
	Patience float64         `json:"patience_seconds"`
}

// A class is units that the same workers may do.
type class struct{ Build, Bits string }

const anyBits = "any"

func (c class) tokens() (build, bits string) {
	bits = anyBits
	if c.Bits != "" {
		bits = run.Hash([]byte(c.Bits))[:12]
	}
	return run.Hash([]byte(c.Build))[:12], bits
}

func (c class) name() string {
	build, bits := c.tokens()
	return "build-" + build + "-" + bits
}

func (c class) subject(id string) string {
	build, bits := c.tokens()
	return unitSubject + build + "." + bits + "." + id
}

// Build names the program as far as it may change bytes: its version, and where that says little (built without
// version control, or with changes that no commit has) the program's own SHA-256.
func Build() string { return build() }

var build = sync.OnceValue(func() string {
	v := run.Version()
	if v != "development" && v != "unknown" && !strings.Contains(v, "+") {
		return v
	}
	path, err := os.Executable()
	if err != nil {
		return v
	}
	f, err := os.Open(path)
	if err != nil {
		return v
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return v
	}
	return v + " " + hex.EncodeToString(h.Sum(nil))[:16]
})

// Bits names what else may change last bits: the kind of kernels, and the processor's kind, for whose sake a compiler
// may fuse operations.
func Bits() string { return kernel.Name() + " on " + runtime.GOARCH }

// message is a unit on its way.
type message struct {
	ID       string     `json:"id"`
	Unit     *work.Unit `json:"unit"`
	Build    string     `json:"build"`
	Bits     string     `json:"same_bits,omitempty"`
	Folder   string     `json:"folder,omitempty"`
	Tries    int        `json:"tries"`
	Patience float64    `json:"patience_seconds"`
}

// id identifies the result of a unit: what is done, by which build, with which bits, and where its files go.
func id(u *work.Unit, of class, folder string) string {
	return run.Hash(fmt.Appendf(nil, "%q %q %q %q", u.Key(), of.Build, of.Bits, folder))
}

// maxMessage bounds a unit as a message in bytes: NATS's own bound is 1 MiB.
const maxMessage = 900_000

// encode returns the message as it goes; errors are *SizeError.
func (m *message) encode() ([]byte, error) {
	data, err := json.Marshal(m)
	if err == nil && len(data) > maxMessage {
		err = &SizeError{"the unit " + m.Unit.Name, int64(len(data)), maxMessage}
	}
	return data, err
}

// Submit hands units over, and returns when all are. What ended before is not done again, and what waits does not wait
// twice, so the same submission again goes on where one was stopped. Where the queue holds as many units as it may,
// Submit waits. tick, if not nil, hears how many are handed over. Errors are *work.ListError, *SizeError, *FullError,
// *FolderError, *DownError and those of files.
func (q *Queue) Submit(ctx context.Context, s Submission, tick func(done, of int)) (*Job, error) {
	if len(s.Units) == 0 || len(s.Units) > MaxUnits {
		return nil, &SizeError{"a submission of units", int64(len(s.Units)), MaxUnits}
	}
	if err := work.Check(s.Units); err != nil {
		return nil, err
	}
	of := class{Build: Build()}
	if s.SameBits {
		of.Bits = Bits()
	}
	if s.Tries == 0 {
		s.Tries = defaultTries
	}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	j := &Job{What: s.What, Units: len(s.Units), Collect: s.Collect, Version: run.Version(), Build: of.Build,
		Bits: of.Bits, Folder: s.Folder, Tries: s.Tries, Patience: s.Patience.Seconds(),
		Created: time.Now().UTC().Round(time.Second)}
	var list bytes.Buffer
	var messages [][]byte
	ids := make([]string, len(s.Units))
	for i, u := range s.Units {
		ids[i] = id(u, of, s.Folder)
		m := message{ids[i], u, of.Build, of.Bits, s.Folder, s.Tries, s.Patience.Seconds()}
		data, err := m.encode()
		if err != nil {
			return nil, err
		}
		messages = append(messages, data)
		line, err := json.Marshal(Listed{ids[i], u})
		if err != nil {
			return nil, err
		}
		if list.Write(append(line, '\n')); list.Len() > maxList {
			return nil, &SizeError{"the list of units", int64(list.Len()), maxList}
		}
	}
	j.List, j.Size = run.Hash(list.Bytes()), int64(list.Len())
	j.ID = run.Hash(fmt.Appendf(nil, "%s %q", j.List, j.Collect))[:12]
	if s.Folder != "" {
		if err := share(s.Folder); err != nil {
			return nil, err
		}
	}
	to, err := q.store(s.Folder)
	if err != nil {
		return nil, err
	}
	for _, sum := range inputs(s.Units) {
		path, ok := s.Inputs[sum]
		if !ok {
			return nil, &MissingError{"the submission", sum}
		}
		file, err := PutFile(ctx, to, "", path)
		if err != nil {
			return nil, err
		}
		if file.SHA256 != sum {
			return nil, &DamagedError{path, sum, "it changed while it was handed over"}
		}
		j.Inputs = append(j.Inputs, sum)
	}
	if err := (objects{q}).Put(ctx, j.List, j.Size, bytes.NewReader(list.Bytes())); err != nil {
		return nil, err
	}
	if was, err := q.Job(ctx, j.ID); err == nil {
		j.Created = was.Created
	}
	if err := q.keep(ctx, j); err != nil {
		return nil, err
	}
	if _, err := q.consumerOf(ctx, of); err != nil { // now, so that workers of all kinds see that it waits
		return nil, err
	}
	if err := q.hand(ctx, of, ids, messages, s.Retry, tick); err != nil {
		return nil, err
	}
	j.Whole = true
	return j, q.keep(ctx, j)
}

// inputs returns the SHA-256 of the files that units read, each once.
func inputs(units []*work.Unit) []string {
	var all []string
	seen := map[string]bool{}
	for _, u := range units {
		for _, sum := range u.Inputs {
			if !seen[sum] {
				seen[sum], all = true, append(all, sum)
			}
		}
	}
	slices.Sort(all)
	return all
}

// keep writes what is known of a job.
func (q *Queue) keep(ctx context.Context, j *Job) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if len(data) > maxMessage {
		return &SizeError{"what a submission is", int64(len(data)), maxMessage}
	}
	return q.retry(ctx, func(ctx context.Context) error {
		_, err := q.jobs.Put(ctx, j.ID, data)
		return err
	})
}

func (q *Queue) consumerOf(ctx context.Context, of class) (c jetstream.Consumer, err error) {
	err = q.retry(ctx, func(ctx context.Context) (err error) {
		c, err = q.consumer(ctx, of)
		return err
	})
	return c, err
}

// Lookups and publications at a time: enough to hide a network's latency.
const atOnce = 64

// each calls f for 0 … n−1, several at a time, until one fails.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	next := make(chan int)
	for range min(atOnce, n) {
		group.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
loop:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break loop
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// hand publishes the units that have not ended and do not wait.
func (q *Queue) hand(ctx context.Context, of class, ids []string, messages [][]byte, again bool,
	tick func(done, of int)) error {
	var mu sync.Mutex
	done := 0
	return each(ctx, len(ids), func(ctx context.Context, i int) error {
		e, err := q.endedAs(ctx, ids[i])
		if err != nil {
			return err
		}
		if e != nil && e.State == work.Failed && again {
			if err := q.revive(ctx, ids[i]); err != nil {
				return err
			}
			e = nil
		}
		if e == nil {
			if err := q.publish(ctx, of, ids[i], messages[i]); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; tick != nil {
			tick(done, len(ids))
		}
		return nil
	})
}

// fullPause is how long a submission waits for room in the queue before it asks again.
const fullPause = 2 * time.Second

// publish hands one unit over, and waits for room. The server drops what it was given before, by the unit's id; a unit
// that has not ended all the same, and that the server does not hold, is handed over anew.
func (q *Queue) publish(ctx context.Context, of class, id string, data []byte) error {
	nonce := id
	for {
		var ack *jetstream.PubAck
		err := q.retry(ctx, func(ctx context.Context) (err error) {
			ack, err = q.js.Publish(ctx, of.subject(id), data, jetstream.WithMsgID(nonce))
			return err
		})
		switch {
		case stored(err, perSubject): // it waits already
			return nil
		case err == nil && !ack.Duplicate:
			return nil
		case err == nil:
			if held, err := q.held(ctx, of, id); held || err != nil {
				return err
			}
			nonce = fmt.Sprintf("%s again %d", id, time.Now().UnixNano())
			continue
		case !stored(err, perStream):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(fullPause):
		}
	}
}

// held reports whether a unit waits or is under way, or has ended.
func (q *Queue) held(ctx context.Context, of class, id string) (bool, error) {
	held := true
	err := q.retry(ctx, func(ctx context.Context) error {
		_, err := q.units.GetLastMsgForSubject(ctx, of.subject(id))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			held, err = false, nil
		}
		return err
	})
	if held || err != nil {
		return held, err
	}
	r, err := q.endedAs(ctx, id) // it leaves when its record stands: so the record is asked for after it
	return r != nil, err
}

// A Listed is a unit of a job.
type Listed struct {
	ID   string     `json:"id"`
	Unit *work.Unit `json:"unit"`
}

// Job returns a job; errors are *UnknownJobError and *DownError. Empty text is the only one there is.
func (q *Queue) Job(ctx context.Context, id string) (*Job, error) {
	if id == "" {
		all, err := q.Jobs(ctx)
		if err != nil {
			return nil, err
		}
		if len(all) == 1 {
			return all[0], nil
		}
		return nil, unknown("(none was named)", all)
	}
	var j Job
	err := q.read(ctx, q.jobs, id, &j)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		all, e := q.Jobs(ctx)
		if e != nil {
			return nil, e
		}
		return nil, unknown(id, all)
	}
	return &j, err
}

func unknown(id string, all []*Job) error {
	e := &UnknownJobError{ID: id}
	for _, j := range all {
		e.There = append(e.There, j.ID)
	}
	return e
}

// Jobs returns all jobs, the oldest first. An *EntryError says which one cannot be read; the others stand beside it.
func (q *Queue) Jobs(ctx context.Context) ([]*Job, error) {
	names, err := q.keys(ctx, q.jobs)
	if err != nil {
		return nil, err
	}
	out, unread := []*Job{}, error(nil)
	for _, name := range names {
		var j Job
		err := q.read(ctx, q.jobs, name, &j)
		switch {
		case err == nil:
			out = append(out, &j)
		case errors.Is(err, jetstream.ErrKeyNotFound): // forgotten meanwhile
		case errors.As(err, new(*EntryError)):
			unread = errors.Join(unread, err)
		default:
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *Job) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, unread
}

// keys returns the names in a bucket.
func (q *Queue) keys(ctx context.Context, kv jetstream.KeyValue) (names []string, err error) {
	err = q.retry(ctx, func(ctx context.Context) error {
		names = names[:0]
		l, err := kv.ListKeys(ctx)
		if err != nil {
			return err
		}
		defer l.Stop()
		for name := range l.Keys() {
			names = append(names, name)
		}
		return ctx.Err()
	})
	return names, err
}

// read decodes a value of a bucket.
func (q *Queue) read(ctx context.Context, kv jetstream.KeyValue, key string, v any) error {
	return q.retry(ctx, func(ctx context.Context) error {
		e, err := kv.Get(ctx, key)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(e.Value(), v); err != nil {
			return &EntryError{kv.Bucket(), key, err.Error()}
		}
		return nil
	})
}

// maxLine bounds a line of a list of units.
const maxLine = maxMessage

// List returns the units of a job in order. Errors are *DamagedError, *MissingError, *SizeError and *DownError.
func (q *Queue) List(ctx context.Context, j *Job) ([]Listed, error) {
	if _, size, err := (objects{q}).head(ctx, j.List); err != nil {
		return nil, err
	} else if size > maxList {
		return nil, &SizeError{"the list of units of " + j.ID, size, maxList}
	}
	var b bytes.Buffer
	if err := (objects{q}).Get(ctx, j.List, &b); err != nil {
		return nil, err
	}
	var out []Listed
	s := bufio.NewScanner(&b)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var l Listed
		if err := json.Unmarshal(s.Bytes(), &l); err != nil || l.Unit == nil || l.Unit.Check() != nil {
			return nil, &DamagedError{"the list of units", j.List, fmt.Sprintf("line %d is no unit", len(out)+1)}
		}
		out = append(out, l)
	}
	if len(out) != j.Units || s.Err() != nil {
		return nil, &DamagedError{"the list of units", j.List, fmt.Sprintf("it has %d; expected %d", len(out), j.Units)}
	}
	return out, nil
}
