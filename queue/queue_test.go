package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/queue/server"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// serve starts a server in this process, without a socket.
func serve(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Local = true
	if o.Store == "" {
		o.Store = t.TempDir()
	}
	s, err := server.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// open connects to a server in this process. Silence of 300 ms loses a unit.
func open(t *testing.T, s *server.Server) *Queue {
	t.Helper()
	q, err := Open(t.Context(), Options{InProcess: s, AckWait: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// hashes is n units of one input, each of which has a file with the hash of its number and the input.
func hashes(t *testing.T, n int) Submission {
	t.Helper()
	path := filepath.Join(t.TempDir(), "salt")
	if err := os.WriteFile(path, []byte("salt of "+t.Name()), 0o666); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	s := Submission{What: t.Name(), Inputs: map[string]string{run.Hash(data): path}}
	for i := range n {
		s.Units = append(s.Units, &work.Unit{Name: fmt.Sprintf("u-%d", i), Kind: "hash",
			Task: json.RawMessage(fmt.Sprint(i)), Inputs: map[string]string{"in/salt": run.Hash(data)},
			Version: run.Version()})
	}
	return s
}

// fresh is a queue of its own, and n units of hashes to be handed over.
func fresh(t *testing.T, n int) (*Queue, Submission) {
	t.Helper()
	return open(t, serve(t, server.Options{})), hashes(t, n)
}

// hash does a unit of hashes.
func hash(ctx context.Context, t *Task) (*Product, error) {
	salt, err := os.ReadFile(t.Inputs["in/salt"])
	if err != nil {
		return nil, err
	}
	t.Progress()
	sum := run.Hash(append(salt, t.Unit.Task...))
	return &Product{[]string{"sum"}, t.Unit.Task}, os.WriteFile(filepath.Join(t.Dir, "sum"), []byte(sum+"\n"), 0o666)
}

// gather returns what all units of a job made, one after the other.
func gather(t *testing.T, q *Queue, j *Job) string {
	t.Helper()
	var b bytes.Buffer
	err := q.Collect(t.Context(), j, func(i int, u *work.Unit, r *Record, from Files) error {
		if r.State != work.Done || string(r.Detail) != string(u.Task) {
			t.Errorf("%s: %+v", u.Name, r)
			return nil
		}
		return from.Get(t.Context(), r.Files[0].SHA256, &b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// want is what one process makes of units of hashes.
func want(t *testing.T, s Submission) string {
	t.Helper()
	var b strings.Builder
	for _, u := range s.Units {
		salt, err := os.ReadFile(s.Inputs[u.Inputs["in/salt"]])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, run.Hash(append(salt, u.Task...)))
	}
	return b.String()
}

// hire starts workers, and returns how many units they did when they have ended.
func hire(t *testing.T, q *Queue, n int, w Worker) (done func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if w.Cache == "" {
		w.Cache = t.TempDir()
	}
	var group sync.WaitGroup
	var sum atomic.Int64
	for range n {
		group.Go(func() {
			d, err := q.Work(ctx, w)
			sum.Add(int64(d))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	done = sync.OnceValue(func() int {
		cancel()
		group.Wait()
		return int(sum.Load())
	})
	t.Cleanup(func() { done() })
	return done
}

func submit(t *testing.T, q *Queue, s Submission) *Job {
	t.Helper()
	j, err := q.Submit(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func wait(t *testing.T, q *Queue, j *Job) *Status {
	t.Helper()
	limit := 2 * time.Minute
	if long() {
		limit = 9 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := q.Wait(ctx, j, nil)
	if s == nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatalf("%v: %d done, %d failed, %d workers", err, s.Done, s.Failed, len(s.Workers))
	}
	return s
}

// Units are done once each, in the submission's order when they are collected; the same submission is the same job, and
// gives nobody work.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", t.TempDir()} {
		q := open(t, serve(t, server.Options{}))
		s := hashes(t, 40)
		s.Folder = folder
		var told int
		j, err := q.Submit(t.Context(), s, func(done, of int) { told = max(told, done*1000+of) })
		if err != nil {
			t.Fatal(err)
		}
		if told != 40040 || !j.Whole {
			t.Errorf("told %d, %+v", told, j)
		}
		st, err := q.Status(t.Context(), j)
		if err != nil || st.Done != 0 || st.Waiting != 40 || st.Over() || !st.Left.IsNaN() {
			t.Errorf("%+v, %v", st, err)
		}
		var unended *UnendedError
		if err := q.Collect(t.Context(), j, nil); !errors.As(err, &unended) || unended.Unit != "u-0" {
			t.Errorf("collected too early: %v", err)
		}
		submit(t, q, s) // twice: still one of each
		if info, err := q.units.Info(t.Context()); err != nil || info.State.Msgs != 40 {
			t.Errorf("%d units wait, %v", info.State.Msgs, err)
		}
		done := hire(t, q, 3, Worker{Do: hash})
		st = wait(t, q, j)
		if st.Done != 40 || st.Failed != 0 || st.Waiting != 0 || st.Left != 0 || len(st.Others) != 0 {
			t.Errorf("%+v", st)
		}
		if got := gather(t, q, j); got != want(t, s) {
			t.Errorf("collected\n%s", got)
		}
		again := submit(t, q, s)
		if again.ID != j.ID || !again.Created.Equal(j.Created) {
			t.Errorf("the same submission is %s, was %s", again.ID, j.ID)
		}
		if info, err := q.units.Info(t.Context()); err != nil || info.State.Msgs != 0 {
			t.Errorf("%d units wait, %v", info.State.Msgs, err)
		}
		if n := done(); n != 40 {
			t.Errorf("%d units were done", n)
		}
		if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 1 {
			t.Errorf("%v, %v", jobs, err)
		}
		if err := q.Forget(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var unknown *UnknownJobError
		if _, err := q.Job(t.Context(), j.ID); !errors.As(err, &unknown) {
			t.Errorf("forgotten: %v", err)
		}
		if infos, err := q.objects.List(t.Context()); !errors.Is(err, jetstream.ErrNoObjectsFound) {
			t.Errorf("files are left: %v, %v", infos, err)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, "objects", "*", "*")); folder != "" && len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	}
}

// A unit that fails is tried as often as it may be, then it is given up with the reason; asked for again, it is done.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 6)
	s.Tries = 2
	var tries [6]atomic.Int32
	var well atomic.Bool
	hire(t, q, 3, Worker{Do: func(ctx context.Context, task *Task) (*Product, error) {
		var i int
		json.Unmarshal(task.Unit.Task, &i)
		n := tries[i].Add(1)
		switch {
		case well.Load():
		case i == 1:
			return nil, errors.New("a unit\nthat breaks")
		case i == 2 && n == 1:
			panic("once")
		case i == 3:
			return nil, &FinalError{errors.New("by law")}
		}
		return hash(ctx, task)
	}})
	j := submit(t, q, s)
	st := wait(t, q, j)
	if st.Done != 4 || st.Failed != 2 || len(st.Failures) != 2 {
		t.Fatalf("%+v", st)
	}
	for i, want := range []string{"given up after 2 tries: a unit that breaks", "given up after 1 try: by law"} {
		if f := st.Failures[i]; f.Reason != want || f.Unit != fmt.Sprintf("u-%d", []int{1, 3}[i]) {
			t.Errorf("%+v", f)
		}
	}
	for i, want := range []int32{1, 2, 2, 1, 1, 1} {
		if got := tries[i].Load(); got != want {
			t.Errorf("u-%d was tried %d times", i, got)
		}
	}
	if st := wait(t, q, submit(t, q, s)); st.Failed != 2 { // they stay given up
		t.Errorf("%+v", st)
	}
	well.Store(true)
	s.Retry = true
	if st := wait(t, q, submit(t, q, s)); st.Done != 6 {
		t.Errorf("%+v", st)
	}
	if got := gather(t, q, j); got != want(t, s) {
		t.Errorf("collected\n%s", got)
	}
}

// A unit that takes longer than a silence may is one worker's as long as it gets on, and is given up when it does not.
func TestProgress(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 2)
	q.AckWait = time.Second // 1.5 s are longer; less is too short for a busy machine
	s.Tries, s.Patience = 1, 700*time.Millisecond
	var begun atomic.Int32
	done := hire(t, q, 3, Worker{Do: func(ctx context.Context, task *Task) (*Product, error) {
		begun.Add(1)
		for i := range 15 { // 1.5 s
			if task.Unit.Name == "u-0" || i < 5 {
				task.Progress()
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(100 * time.Millisecond):
			}
		}
		return hash(ctx, task)
	}})
	j := submit(t, q, s)
	st := wait(t, q, j)
	if st.Done != 1 || st.Failed != 1 || st.Failures[0].Unit != "u-1" ||
		!strings.Contains(st.Failures[0].Reason, "no progress for") {
		t.Errorf("%+v", st)
	}
	if n := done(); n != 1 || begun.Load() != 2 {
		t.Errorf("%d done, %d begun", n, begun.Load())
	}
}

// A worker that is asked to end finishes its unit, or returns it: another takes it at once, and no try is lost.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{5 * time.Second, -1} {
		q := open(t, serve(t, server.Options{}))
		s := hashes(t, 1)
		s.Tries = 1
		began, left := make(chan bool, 2), make(chan bool, 1)
		first := hire(t, q, 1, Worker{Grace: grace, Do: func(ctx context.Context, task *Task) (*Product, error) {
			began <- true
			select {
			case <-ctx.Done():
				left <- true
				return nil, ctx.Err()
			case <-time.After(500 * time.Millisecond):
				return hash(ctx, task)
			}
		}})
		j := submit(t, q, s)
		<-began
		if n := first(); n != map[bool]int{true: 1}[grace > 0] || (len(left) > 0) != (grace < 0) {
			t.Errorf("grace %v: %d done, %d left", grace, n, len(left))
		}
		if grace < 0 {
			hire(t, q, 1, Worker{Do: hash})
		}
		if st := wait(t, q, j); st.Done != 1 {
			t.Errorf("grace %v: %+v", grace, st)
		}
		if workers, err := q.Workers(t.Context()); err != nil || len(workers) != map[bool]int{false: 1}[grace > 0] {
			t.Errorf("grace %v: there are %+v, %v", grace, workers, err)
		}
	}
}

// A worker of another build, or of other kernels where the same bits are asked for, leaves units to others and says so.
func TestOthers(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 3)
	s.SameBits = true
	j := submit(t, q, s)
	for _, w := range []Worker{{Build: "another"}, {Bits: "others"}} {
		w.Do, w.Drain, w.Cache = hash, true, t.TempDir()
		var said []string
		w.Say = func(line string) { said = append(said, line) }
		n, err := q.Work(t.Context(), w)
		var of *VersionError
		if n != 0 || !errors.As(err, &of) || of.Waiting != 3 || len(said) != 1 {
			t.Errorf("%+v: %d done, %v, said %q", w, n, err, said)
		}
	}
	if n, err := q.Work(t.Context(), Worker{Do: hash, Drain: true, Cache: t.TempDir()}); n != 3 || err != nil {
		t.Errorf("%d done, %v", n, err)
	}
	if st := wait(t, q, j); st.Done != 3 {
		t.Errorf("%+v", st)
	}
	s.SameBits = false // another result, since other machines may make it
	if other := submit(t, q, s); other.ID == j.ID {
		t.Error("the same job")
	}
	w := Worker{Do: hash, Drain: true, Cache: t.TempDir(), Bits: "others"}
	if n, err := q.Work(t.Context(), w); n != 3 || err != nil {
		t.Errorf("%d done, %v", n, err)
	}
}

// Two workers that get other bytes of a unit are told of; what the first made stands.
func TestOtherBytes(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 1)
	j := submit(t, q, s)
	got := make(chan bool)
	slow := hire(t, q, 1, Worker{Bits: "slow", Do: func(ctx context.Context, task *Task) (*Product, error) {
		// the server takes it for lost: progress is not told while this sleeps
		close(got)
		time.Sleep(100 * time.Millisecond)
		if err := q.units.Purge(ctx); err != nil {
			return nil, err
		}
		data, err := (&message{id(task.Unit, class{Build: Build()}, ""), task.Unit, Build(), "", "", 5, 60}).encode()
		if err == nil {
			err = q.publish(ctx, class{Build: Build()}, id(task.Unit, class{Build: Build()}, ""), data)
		}
		if err != nil {
			return nil, err
		}
		wait(t, q, j)
		return &Product{[]string{"sum"}, nil}, os.WriteFile(filepath.Join(task.Dir, "sum"), []byte("else"), 0o666)
	}})
	<-got
	hire(t, q, 1, Worker{Do: hash})
	wait(t, q, j)
	slow()
	st := wait(t, q, j)
	if len(st.Others) != 1 || !strings.Contains(st.Others[0].Second, "slow") {
		t.Errorf("%+v", st)
	}
	if got := gather(t, q, j); got != want(t, s) {
		t.Errorf("collected %q", got)
	}
}

// What the server lost is put back by who waits.
func TestMend(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 8)
	j := submit(t, q, s)
	if err := q.units.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := q.List(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.mend(t.Context(), j, list, []int{0, 3, 7}); err != nil {
		t.Fatal(err)
	}
	if info, err := q.units.Info(t.Context()); err != nil || info.State.Msgs != 3 {
		t.Errorf("%d units wait, %v", info.State.Msgs, err)
	}
	hire(t, q, 1, Worker{Do: hash})
	if err := q.mend(t.Context(), j, list, []int{1, 2, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	wait(t, q, j)
	if got := gather(t, q, j); got != want(t, s) {
		t.Errorf("collected\n%s", got)
	}
}

// Files go in parts and come back whole; damage is named.
func TestFiles(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	r := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for _, to := range []Files{objects{q}, shared{t.TempDir()}} {
		var last File
		for _, size := range []int{0, 1, partSize, 2*partSize + 17} {
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			path := filepath.Join(dir, "given")
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			var err error
			for range 2 { // the second time it is there
				if last, err = PutFile(t.Context(), to, "x", path); err != nil {
					t.Fatal(err)
				}
			}
			var got bytes.Buffer
			if err := to.Get(t.Context(), last.SHA256, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
				t.Errorf("%d bytes: %d came back, %v", size, got.Len(), err)
			}
		}
		var missing *MissingError
		if err := to.Get(t.Context(), strings.Repeat("0", 64), &bytes.Buffer{}); !errors.As(err, &missing) {
			t.Errorf("of nothing: %v", err)
		}
		switch to := to.(type) {
		case objects:
			if _, err := q.objects.PutBytes(t.Context(), partName(last.SHA256, 1), make([]byte, partSize)); err != nil {
				t.Fatal(err)
			}
		case shared:
			if err := os.WriteFile(to.path(last.SHA256), []byte("else"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var damaged *DamagedError
		path := filepath.Join(dir, "fetched")
		if err := GetFile(t.Context(), to, last, path); !errors.As(err, &damaged) || damaged.SHA256 != last.SHA256 {
			t.Errorf("damaged: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*fetched*")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		if o, ok := to.(objects); ok {
			if err := q.objects.Delete(t.Context(), partName(last.SHA256, 2)); err != nil {
				t.Fatal(err)
			}
			if err := o.Get(t.Context(), last.SHA256, &bytes.Buffer{}); !errors.As(err, &damaged) {
				t.Errorf("a part is not there: %v", err)
			}
		}
	}
}

// A cache gives what it has, and fetches what is damaged anew.
func TestCache(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	path := filepath.Join(t.TempDir(), "given")
	if err := os.WriteFile(path, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := PutFile(t.Context(), objects{q}, "x", path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 {
		c := &cache{dir, map[string]bool{}}
		kept, err := c.get(t.Context(), objects{q}, file.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(kept); err != nil || string(got) != "content" {
			t.Errorf("%q, %v", got, err)
		}
		if err := os.WriteFile(kept, []byte("damaged"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := &cache{dir, map[string]bool{}}
	old := time.Now().Add(-keepInputs - time.Hour)
	os.Chtimes(c.path(file.SHA256), old, old)
	c.tidy()
	if _, err := os.Stat(c.path(file.SHA256)); err == nil {
		t.Error("an old file stays")
	}
	for _, bad := range []string{"", "../../etc/passwd", strings.Repeat("g", 64)} {
		if _, err := c.get(t.Context(), objects{q}, bad); err == nil {
			t.Errorf("%q is a SHA-256", bad)
		}
	}
}

// What is no submission is refused before anything is stored.
func TestRefused(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 2)
	none := s
	none.Units = nil
	twice := s
	twice.Units = append(twice.Units[:1:1], s.Units[0])
	large := s
	u := *s.Units[0]
	u.Task, _ = json.Marshal(strings.Repeat("x", maxMessage))
	large.Units = []*work.Unit{&u}
	inputless := s
	inputless.Inputs = nil
	relative := s
	relative.Folder = "shared"
	for what, s := range map[string]Submission{"none": none, "twice": twice, "large": large, "inputless": inputless,
		"relative": relative} {
		if _, err := q.Submit(t.Context(), s, nil); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	changed := s
	changed.Inputs = map[string]string{}
	for sum := range s.Inputs {
		path := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(path, []byte("other"), 0o666); err != nil {
			t.Fatal(err)
		}
		changed.Inputs[sum] = path
	}
	var damaged *DamagedError
	if _, err := q.Submit(t.Context(), changed, nil); !errors.As(err, &damaged) {
		t.Errorf("other bytes: %v", err)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
}

// A store that is full is told of as that, and what was submitted before goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{MaxStore: 1 << 20}))
	small := hashes(t, 3)
	j := submit(t, q, small)
	large := hashes(t, 1)
	data := make([]byte, 4<<20)
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	large.Units[0].Inputs = map[string]string{"in/salt": run.Hash(data)}
	large.Inputs = map[string]string{run.Hash(data): path}
	var full *FullError
	if _, err := q.Submit(t.Context(), large, nil); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
	hire(t, q, 1, Worker{Do: hash})
	wait(t, q, j)
	if got := gather(t, q, j); got != want(t, small) {
		t.Errorf("collected\n%s", got)
	}
}
