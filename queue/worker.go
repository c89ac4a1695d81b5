package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// A Task is a unit as a Doer gets it.
type Task struct {
	Unit     *work.Unit
	Inputs   map[string]string // paths of its inputs by name; those with slashes in their names lie in folders alike
	Dir      string            // an empty folder for what it makes
	Progress func()            // to be called as the unit gets on; without it the unit is given up
}

// A Product is what a unit made, besides its files.
type Product struct {
	Files  []string        // names of files in Task.Dir, whose bytes are the same whoever makes them
	Detail json.RawMessage // what else is to be known
}

// A Doer does units. A unit is tried again after an error, unless it is a *FinalError.
type Doer func(ctx context.Context, t *Task) (*Product, error)

// A FinalError is one that a unit ends in whoever does it.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }
func (e *FinalError) Unwrap() error { return e.Err }

// A StalledError says that a unit did not get on.
type StalledError struct{ For time.Duration }

func (e *StalledError) Error() string {
	return fmt.Sprintf("no progress for %v", e.For.Round(time.Second))
}

// A HungError says that a unit was given up and does not end: the worker cannot go on.
type HungError struct{ Unit string }

func (e *HungError) Error() string {
	return e.Unit + " was given up for want of progress, and does not end; the worker ends in its place"
}

// Worker says how a worker works. Do is needed.
type Worker struct {
	Do    Doer
	Cache string        // folder for inputs and scratch; several workers may share it; "": one in the user's cache
	Grace time.Duration // how long a unit may go on once the worker is asked to end; 0: 20 s; below 0: none
	Drain bool          // end when nothing waits any more and nothing is under way
	Units int           // end after so many; 0: no bound
	Say   func(line string)

	Build, Bits string // in place of this program's: for tests
}

const (
	defaultGrace = 20 * time.Second
	// hangs is how long a unit that was given up may take to end.
	hangs = 30 * time.Second
	// mostPatience bounds what a unit says of patience.
	mostPatience = 30 * 24 * time.Hour
	// breakEvery is how often a worker that is at a unit looks whether its connection broke meanwhile.
	breakEvery = 500 * time.Millisecond
	// idleWait is how long one request for a unit waits at the server; a worker that is asked to end waits for it.
	idleWait = time.Second
)

// worker is a Worker at work.
type worker struct {
	Worker
	q       *Queue
	of      []class
	from    []jetstream.Consumer
	last    int           // of from, that gave a unit last
	ackWait time.Duration // the shortest
	breaks  uint64        // of the connection, when ackWait was asked
	scratch *run.Folder
	cache   *cache
	set     string // hash of the inputs that lie in scratch/in
	told    string // what was said of units for others
	present Present
	key     string // of present
	done    atomic.Int64
	looked  time.Time // at what waits for others
	tidied  time.Time // when old inputs were dropped

	now atomic.Pointer[progress] // of the unit that is done
}

// progress is how a unit gets on.
type progress struct {
	name, id string
	began    time.Time
	last     atomic.Int64 // nanoseconds from began to the last progress
}

func (p *progress) stalled() time.Duration { return time.Since(p.began) - time.Duration(p.last.Load()) }

// Work takes units and does them until ctx ends, and returns how many it did. A unit that it is at then is finished if
// that takes no longer than Grace, and returned to the queue otherwise. Errors are those that end a worker: a disk that
// is full, a queue that stays away (*DownError), a *FullError, a *HungError; with Drain, *VersionError where units wait
// that are for others.
func (q *Queue) Work(ctx context.Context, of Worker) (done int, err error) {
	w := &worker{Worker: of, q: q}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	if w.Grace == 0 {
		w.Grace = defaultGrace
	}
	if w.Build == "" {
		w.Build = Build()
	}
	if w.Bits == "" {
		w.Bits = Bits()
	}
	w.of = []class{{Build: w.Build}, {w.Build, w.Bits}}
	if err := w.consumers(ctx); err != nil {
		return 0, err
	}
	if err := w.room(); err != nil {
		return 0, err
	}
	defer w.scratch.Drop()
	stop := w.bePresent(ctx)
	defer stop()
	err = w.loop(ctx)
	return int(w.done.Load()), err
}

// consumers finds where units come from, and how long a silence may be: a server that was started again may have
// another one.
func (w *worker) consumers(ctx context.Context) error {
	breaks := w.q.conn.Stats().Reconnects
	var from []jetstream.Consumer
	ackWait := time.Duration(0)
	for _, of := range w.of {
		c, err := w.q.consumerOf(ctx, of)
		if err != nil {
			return err
		}
		from = append(from, c)
		if wait := c.CachedInfo().Config.AckWait; ackWait == 0 || wait < ackWait {
			ackWait = wait
		}
	}
	w.from, w.ackWait, w.breaks = from, ackWait, breaks
	return nil
}

// room makes the worker's own folder in the cache.
func (w *worker) room() (err error) {
	if w.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		w.Cache = filepath.Join(dir, "landing", "queue")
	}
	w.cache = &cache{filepath.Join(w.Cache, "objects"), map[string]bool{}}
	w.scratch, err = run.Scratch(w.Cache, "worker-")
	return err
}

// tidyEvery is how often a worker looks for inputs in the cache that nobody used for long.
const tidyEvery = 6 * time.Hour

// bePresent tells the queue now and then who is here, until the returned function is called.
func (w *worker) bePresent(ctx context.Context) (stop func()) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.present = Present{Host: host, PID: os.Getpid(), Version: run.Version(), Build: w.Build, Bits: w.Bits}
	w.key = fmt.Sprintf("%s-%d-%08x", keyOf(host), os.Getpid(), rand.Uint32()) // a name, no sample
	w.present.Name = w.key
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p := w.present
			p.Done = int(w.done.Load())
			if u := w.now.Load(); u != nil {
				p.Unit, p.ID = u.name, u.id
				p.Seconds, p.Idle = time.Since(u.began).Seconds(), u.stalled().Seconds()
			}
			if data, err := json.Marshal(p); err == nil {
				once, cancel := context.WithTimeout(ctx, callTime)
				w.q.workers.Put(once, w.key, data) // what is not told now is told later
				cancel()
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(workerSays):
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		once, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		w.q.workers.Purge(once, w.key)
	}
}

// keyOf makes a name one that a bucket may have.
func keyOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, name)
}

func (w *worker) loop(ctx context.Context) error {
	for ctx.Err() == nil && (w.Units == 0 || w.done.Load() < int64(w.Units)) {
		if time.Since(w.tidied) > tidyEvery {
			w.cache.tidy()
			w.tidied = time.Now()
		}
		msg, err := w.next(ctx)
		if err != nil {
			return err
		}
		if msg == nil {
			if over, err := w.idle(ctx); over || err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil { // asked to end while it waited
			w.giveBack(msg, 0)
			break
		}
		if err := w.unit(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// next asks for a unit; nil if none came. The consumer that gave the last one is asked first.
func (w *worker) next(ctx context.Context) (jetstream.Msg, error) {
	var away time.Time
	for k := range len(w.from) + 1 {
		i := (w.last + k) % len(w.from)
		wait := k == len(w.from) // nobody has any: wait at the first
		msg, err := w.ask(w.from[i], wait)
		switch {
		case msg != nil:
			w.last = i
			return msg, nil
		case err == nil:
			continue
		case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
			if w.from[i], err = w.q.consumerOf(ctx, w.of[i]); err != nil {
				return nil, stopped(ctx, err)
			}
		case !transient(err):
			return nil, named(err)
		}
		if away.IsZero() {
			away = time.Now()
		}
	}
	if !away.IsZero() { // wait until the server answers
		err := w.q.retry(ctx, func(ctx context.Context) error {
			_, err := w.q.units.Info(ctx)
			return err
		})
		return nil, stopped(ctx, err)
	}
	return nil, nil
}

// stopped drops an error that says that the worker was asked to end.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// ask requests one unit. It does not end early: a unit that comes to one who has left is late for all others.
func (w *worker) ask(from jetstream.Consumer, wait bool) (jetstream.Msg, error) {
	var batch jetstream.MessageBatch
	var err error
	if wait {
		batch, err = from.Fetch(1, jetstream.FetchMaxWait(idleWait))
	} else {
		batch, err = from.FetchNoWait(1)
	}
	if err != nil {
		return nil, err
	}
	msg := <-batch.Messages()
	return msg, batch.Error()
}

// lookEvery is how often a worker without work looks at what waits for others.
const lookEvery = 10 * time.Second

// idle is called when no unit came: it reports whether the worker is to end.
func (w *worker) idle(ctx context.Context) (over bool, err error) {
	if !w.Drain && time.Since(w.looked) < lookEvery {
		return false, nil
	}
	w.looked = time.Now()
	others, waiting, err := w.others(ctx)
	if err != nil {
		return false, stopped(ctx, err)
	}
	if others != nil && others.Error() != w.told {
		w.told = others.Error()
		w.Say(w.told)
	}
	if !w.Drain || waiting {
		return false, nil
	}
	if others != nil && w.done.Load() == 0 {
		return true, others
	}
	return true, nil
}

// others looks at what waits for other builds and kernels, and whether anything waits or is under way for this one.
func (w *worker) others(ctx context.Context) (others *VersionError, mine bool, err error) {
	err = w.q.retry(ctx, func(ctx context.Context) error {
		others, mine = nil, false
		l := w.q.units.ListConsumers(ctx)
		for c := range l.Info() {
			of := class{c.Config.Metadata["landing-build"], c.Config.Metadata["landing-bits"]}
			switch n := c.NumPending + uint64(c.NumAckPending); {
			case n == 0:
			case of == w.of[0] || of == w.of[1]:
				mine = true
			case c.NumPending > 0:
				others = &VersionError{c.NumPending, of.Build, of.Bits, w.Build, w.Bits}
			}
		}
		return l.Err()
	})
	return others, mine, err
}

// tell answers the server about a unit, and does not mind if that fails: an answer that does not come is silence, after
// which the unit is given again, and its record or its tries say what came of it.
func tell(answer func() error) { _ = answer() }

// giveBack returns a unit that was not done.
func (w *worker) giveBack(msg jetstream.Msg, after time.Duration) {
	tell(func() error { return msg.NakWithDelay(after) })
	tell(func() error { return w.q.conn.FlushTimeout(time.Second) }) // the process may end
}

// unit does a unit. Errors are those that end the worker.
func (w *worker) unit(ctx context.Context, msg jetstream.Msg) error {
	// what is to be told of a unit is told though the worker was asked to end
	say, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(max(w.Grace, 0)+hangs, cancel) })()
	var m message
	if err := json.Unmarshal(msg.Data(), &m); err != nil || !m.whole() || msg.Subject() != m.class().subject(m.ID) {
		w.Say("a message that is no unit was dropped: " + msg.Subject())
		tell(func() error { return msg.TermWithReason("no unit") })
		return nil
	}
	if m.class() != w.of[0] && m.class() != w.of[1] { // whatever way it came
		w.Say((&VersionError{1, m.Build, m.Bits, w.Build, w.Bits}).Error())
		w.giveBack(msg, time.Minute)
		return nil
	}
	if w.q.conn.Stats().Reconnects != w.breaks {
		if err := w.consumers(say); err != nil {
			return err
		}
	}
	ended, err := w.q.endedAs(say, m.ID)
	var t tried
	if err == nil && ended == nil {
		t, err = w.q.triedBefore(say, m.ID)
	}
	switch {
	case errors.As(err, new(*EntryError)): // which another worker cannot read either
		w.Say(m.Unit.Name + ": " + err.Error())
		w.giveBack(msg, time.Minute)
		return nil
	case err != nil:
		return err
	case ended != nil:
		return w.ack(say, msg)
	}
	if t.By != nil {
		t.Reasons = append(t.Reasons, fmt.Sprintf("process %d on %s %s", t.By.PID, t.By.Host, silent))
	}
	if t.Tries >= m.Tries {
		return w.bury(say, msg, &m, t)
	}
	t.Tries++
	t.By = &work.Holder{Host: w.present.Host, PID: w.present.PID, Since: time.Now().UTC().Round(time.Second)}
	if err := w.q.setTried(say, m.ID, t); err != nil {
		return err
	}
	start := time.Now()
	p := &progress{name: m.Unit.Name, id: m.ID, began: start}
	w.now.Store(p)
	product, files, err := w.try(ctx, msg, &m, p)
	w.now.Store(nil)
	if err == nil {
		err = w.finish(say, msg, &m, t, product, files, time.Since(start))
	}
	switch {
	case err == nil:
		w.done.Add(1)
		return nil
	case errors.Is(err, errReturned): // nobody's fault
		t.Tries--
		t.By = nil
		w.Say(m.Unit.Name + ": returned to the queue")
		err := w.q.setTried(say, m.ID, t)
		w.giveBack(msg, 0)
		return err
	case ends(err):
		t.Tries--
		t.By = nil
		if noDisk(err) {
			t.Full++
		}
		if t.Full >= mostFull*m.Tries {
			t.Tries = t.Full
			t.Reasons = append(t.Reasons, oneLine(err.Error()))
			return errors.Join(err, w.bury(say, msg, &m, t))
		}
		e := w.q.setTried(say, m.ID, t)
		w.giveBack(msg, retryPause)
		return errors.Join(err, e)
	}
	reason := oneLine(err.Error())
	t.Reasons, t.By = append(t.Reasons, reason), nil
	w.Say(fmt.Sprintf("%s failed, try %d of %d: %s", m.Unit.Name, t.Tries, m.Tries, reason))
	final := errors.As(err, new(*FinalError))
	if final || t.Tries >= m.Tries {
		if err := w.bury(say, msg, &m, t); err != nil {
			return err
		}
	} else {
		if err := w.q.setTried(say, m.ID, t); err != nil {
			return err
		}
		w.giveBack(msg, min(retryPause<<(t.Tries-1), time.Minute))
	}
	if hung := new(HungError); errors.As(err, &hung) {
		return hung
	}
	return nil
}

// retryPause is how long a unit rests after its first failure; the double after each.
const retryPause = time.Second

func (m *message) class() class { return class{m.Build, m.Bits} }

// whole reports whether a message from the server is a unit, under its own id.
func (m *message) whole() bool {
	return m.Unit != nil && m.Unit.Check() == nil && m.ID == id(m.Unit, m.class(), m.Folder)
}

// maxReason bounds what is told of a failure, in bytes.
const maxReason = 1000

// oneLine makes text a line of bounded length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// errReturned says that a worker was asked to end before its unit did.
var errReturned = errors.New("the worker was asked to end")

// mostFull bounds how often a unit ends in a disk without room, by its tries: then it is the unit that is too large.
const mostFull = 3

// noDisk reports whether an error is that of a disk.
func noDisk(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// ends reports whether an error is no fault of a unit, and of a kind that the next unit would meet too.
func ends(err error) bool {
	return noDisk(err) || errors.As(err, new(*FullError)) || errors.As(err, new(*DownError)) ||
		errors.As(err, new(*FolderError)) || errors.Is(err, nats.ErrConnectionClosed)
}

// ack tells the server that the record of a unit stands. If that fails, the unit is given again, and its record found.
func (w *worker) ack(ctx context.Context, msg jetstream.Msg) error {
	once, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := msg.DoubleAck(once); err != nil {
		tell(msg.Ack)
	}
	return nil
}

// bury records that a unit is given up.
func (w *worker) bury(ctx context.Context, msg jetstream.Msg, m *message, t tried) error {
	last := "it was never told why"
	if n := len(t.Reasons); n > 0 {
		last = t.Reasons[n-1]
	}
	r := &Record{ID: m.ID, State: work.Failed, Tries: t.Tries, By: t.By,
		Reason: fmt.Sprintf("given up after %s: %s", plural(t.Tries, "try", "tries"), last)}
	if _, err := w.q.end(ctx, r); err != nil {
		return err
	}
	w.Say(m.Unit.Name + ": " + r.Reason)
	return w.ack(ctx, msg)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// finish records what a unit made.
func (w *worker) finish(ctx context.Context, msg jetstream.Msg, m *message, t tried, p *Product, files []File,
	took time.Duration) error {
	r := &Record{ID: m.ID, State: work.Done, Files: files, Detail: p.Detail, Seconds: took.Seconds(), Bits: w.Bits,
		Tries: t.Tries, By: t.By}
	stands, err := w.q.end(ctx, r)
	if err != nil {
		return err
	}
	if stands != r && stands.State == work.Done && !stands.same(r) && stands.Other == nil && stands.By != nil {
		w.Say(fmt.Sprintf("%s: process %d on %s got other bytes with kernels %s, this one with %s; the first stand",
			m.Unit.Name, stands.By.PID, stands.By.Host, stands.Bits, w.Bits))
		if err := w.q.differs(ctx, stands, Holder{*t.By, w.Bits}); err != nil {
			return err
		}
	}
	return w.ack(ctx, msg)
}

// try brings a unit's inputs here, does it and hands its files over, all the while telling the server that it goes on,
// for as long as it gets on.
func (w *worker) try(ctx context.Context, msg jetstream.Msg, m *message, p *progress) (*Product, []File, error) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	type outcome struct {
		product *Product
		files   []File
		err     error
	}
	ended := make(chan outcome, 1)
	patience := time.Duration(min(m.Patience, mostPatience.Seconds()) * float64(time.Second))
	step := func() { p.last.Store(int64(time.Since(p.began))) }
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ended <- outcome{err: fmt.Errorf("internal error: %v", v)}
			}
		}()
		product, files, err := w.all(inner, m, step)
		ended <- outcome{product, files, err}
	}()
	pulse := func() time.Duration { return max(min(w.ackWait/3, patience/4), 10*time.Millisecond) }
	beat, again := time.NewTicker(pulse()), time.NewTicker(breakEvery)
	defer beat.Stop()
	defer again.Stop()
	asked, grace, hung := ctx.Done(), (<-chan time.Time)(nil), (<-chan time.Time)(nil)
	var given error // up
	for {
		select {
		case o := <-ended:
			if given != nil && o.err != nil {
				o.err = given
			}
			return o.product, o.files, o.err
		case <-beat.C:
			if given != nil {
				tell(msg.InProgress) // it is being ended: nobody else need begin yet
			} else if idle := p.stalled(); idle < patience {
				tell(msg.InProgress)
			} else {
				given = &StalledError{idle}
				cancel(given)
				hung = time.After(hangs)
			}
		case <-again.C:
			if w.q.conn.Stats().Reconnects == w.breaks {
				continue
			}
			tell(msg.InProgress)
			once, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			if w.consumers(once) == nil {
				beat.Reset(pulse())
			}
			cancel()
		case <-asked:
			asked = nil
			grace = time.After(max(w.Grace, 0))
		case <-grace:
			if given == nil {
				given = errReturned
				cancel(given)
				hung = time.After(hangs)
			}
		case <-hung:
			if given == errReturned {
				return nil, nil, given
			}
			return nil, nil, &HungError{fmt.Sprintf("%s (%v)", m.Unit.Name, given)}
		}
	}
}

// all is try without the telling.
func (w *worker) all(ctx context.Context, m *message, step func()) (*Product, []File, error) {
	store, err := w.q.store(m.Folder)
	if err != nil {
		return nil, nil, err
	}
	in, err := w.inputs(ctx, store, m.Unit, step)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(w.scratch.Dir, "out")
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	p, err := w.Do(ctx, &Task{m.Unit, in, dir, step})
	if err != nil {
		return nil, nil, err
	}
	var files []File
	for _, name := range p.Files {
		f, err := PutFile(ctx, ticking{store, step}, name, filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
		step()
	}
	return p, files, nil
}

// inputs brings the inputs of a unit to paths that units of the same inputs share.
func (w *worker) inputs(ctx context.Context, from Files, u *work.Unit, step func()) (map[string]string, error) {
	raw, err := json.Marshal(u.Inputs) // in order of names
	if err != nil {
		return nil, err
	}
	set := run.Hash(raw)
	dir := filepath.Join(w.scratch.Dir, "in-"+set[:16])
	if err := placed(u); err != nil {
		return nil, &FinalError{err}
	}
	if w.set != set {
		if err := w.leave(); err != nil {
			return nil, err
		}
	}
	out := map[string]string{}
	for name, sum := range u.Inputs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		out[name] = path
		if w.set == set {
			continue
		}
		kept, err := w.cache.get(ctx, ticking{from, step}, sum)
		if err != nil {
			return nil, err
		}
		step()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err := link(kept, path, sum); err != nil {
			return nil, err
		}
	}
	w.set = set
	return out, nil
}

// leave removes the inputs of earlier units, which the cache keeps.
func (w *worker) leave() error {
	w.set = ""
	old, err := filepath.Glob(filepath.Join(w.scratch.Dir, "in-*"))
	for _, dir := range old {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// placed returns an error unless all inputs of a unit can lie in one folder under their names, and none elsewhere.
func placed(u *work.Unit) error {
	for name := range u.Inputs {
		local := filepath.FromSlash(name)
		if !filepath.IsLocal(local) || filepath.Clean(local) != local || local == "." {
			return fmt.Errorf("the unit names an input %q, which is no file of its folder", name)
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := u.Inputs[dir]; ok {
				return fmt.Errorf("the unit names the inputs %q and %q, of which one is in the other", dir, name)
			}
		}
	}
	return nil
}

// link gives a file another name, or copies it where the file system has no links.
func link(from, to, sum string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeWhole(to, sum, f)
}
