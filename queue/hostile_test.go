package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/queue/server"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// Messages that are no units, from whoever may write to the queue, end no worker and leave nothing outside of its
// folder; entries that cannot be read keep only their own unit from being done.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 4)
	of := class{Build: Build()}
	var salt string
	for sum := range s.Inputs {
		salt = sum
	}
	whole := func(change func(u *work.Unit)) (string, string) {
		u := *s.Units[0]
		u.Name = "foreign"
		change(&u)
		m := message{id(&u, of, ""), &u, of.Build, "", "", 1, 60}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return m.ID, string(data)
	}
	build, _ := json.Marshal(of.Build)
	sum := run.Hash([]byte("any"))
	outside, outsider := whole(func(u *work.Unit) { u.Inputs = map[string]string{"in/../../../x": salt} })
	unclean, uncleaner := whole(func(u *work.Unit) { u.Inputs = map[string]string{"in/a/../../x": salt} })
	nested, nestling := whole(func(u *work.Unit) { u.Inputs = map[string]string{"in": salt, "in/x": salt} })
	noSum, noSummer := whole(func(u *work.Unit) { u.Inputs = map[string]string{"in": "../../../../etc/passwd"} })
	_, named := whole(func(u *work.Unit) { u.Name = "../../up" })
	_, other := whole(func(u *work.Unit) { u.Kind = "other" })
	for subject, text := range map[string]string{
		sum: "words", run.Hash([]byte("1")): "null", run.Hash([]byte("2")): `{"unit":null}`,
		run.Hash([]byte("3")):     fmt.Sprintf(`{"id":%q,"unit":{"name":"a","kind":"k"},"build":%s}`, sum, build),
		run.Hash([]byte("4")):     fmt.Sprintf(`{"id":%q,"unit":{"name":"a","task":""},"build":%s}`, sum, build),
		run.Hash([]byte("other")): other, run.Hash([]byte("named")): named,
		outside: outsider, nested: nestling, unclean: uncleaner, noSum: noSummer,
	} {
		if _, err := q.js.Publish(t.Context(), of.subject(subject), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	j := submit(t, q, s)
	unread := id(s.Units[3], of, "")
	if _, err := q.tries.Put(t.Context(), unread, []byte(`{"tries":"many"}`)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	said := ""
	cache := t.TempDir()
	done := hire(t, q, 1, Worker{Do: hash, Cache: cache, Say: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said += line + "\n"
	}})
	until := time.Now().Add(time.Minute)
	for st := (&Status{}); st.Done < 3; time.Sleep(50 * time.Millisecond) {
		var err error
		if st, err = q.Status(t.Context(), j); err != nil || time.Now().After(until) {
			t.Fatalf("%+v, %v", st, err)
		}
	}
	for id, want := range map[string]string{outside: "no file of its folder", unclean: "no file of its folder",
		nested: "is in the other", noSum: "is no SHA-256"} {
		for {
			r, err := q.endedAs(t.Context(), id)
			if err != nil || time.Now().After(until) {
				t.Fatalf("no record: %v", err)
			}
			if r == nil {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			if r.State != work.Failed || !strings.Contains(r.Reason, want) {
				t.Errorf("want %q, got %+v", want, r)
			}
			break
		}
	}
	if n := done(); n != 3 {
		t.Errorf("%d units were done", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(said, "no unit was dropped"); n != 7 {
		t.Errorf("%d messages were dropped:\n%s", n, said)
	}
	if !strings.Contains(said, "entry "+unread+" of landing-tries") {
		t.Errorf("nobody hears of the entry:\n%s", said)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 1 || filepath.Base(left[0]) != "objects" {
		t.Errorf("left %v", left)
	}
}

// A submission that cannot be read is named, and the others are told beside it; its list is no more than a list may be.
func TestHostileSubmissions(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	j := submit(t, q, hashes(t, 2))
	if _, err := q.jobs.Put(t.Context(), "other", []byte(`{"units":"two"}`)); err != nil {
		t.Fatal(err)
	}
	var entry *EntryError
	if all, err := q.Jobs(t.Context()); !errors.As(err, &entry) || entry.Key != "other" || len(all) != 1 ||
		all[0].ID != j.ID {
		t.Errorf("%v, %v", all, err)
	}
	if err := q.Forget(t.Context(), j); !errors.As(err, &entry) { // whose files might be the other's
		t.Errorf("forgotten: %v", err)
	}
	list := func(text string) *Job {
		bad := *j
		bad.List, bad.Units = run.Hash([]byte(text)), strings.Count(text, "\n")
		err := (objects{q}).Put(t.Context(), bad.List, int64(len(text)), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return &bad
	}
	good := `{"id":"x","unit":{"name":"a","task":1}}` + "\n"
	if _, err := q.List(t.Context(), list(good)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"words\n", "{}\n", `{"id":"x","unit":{"name":"a"}}` + "\n",
		`{"id":"x","unit":{"name":"../a","task":1}}` + "\n", strings.TrimSuffix(good, "\n")} {
		var damaged *DamagedError
		if _, err := q.Status(t.Context(), list(text)); !errors.As(err, &damaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What another submission made, or reads, is not forgotten with a submission that made the same bytes.
func TestForgetLeavesOthers(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 3)
	first := submit(t, q, s)
	s.SameBits = true // other units, of the same bytes
	second := submit(t, q, s)
	hire(t, q, 2, Worker{Do: hash})
	wait(t, q, first)
	wait(t, q, second)
	if err := q.Forget(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := gather(t, q, second); got != want(t, s) {
		t.Errorf("collected\n%s", got)
	}
}

// A worker that is at a unit while the queue is started again with a shorter silence keeps it.
func TestShorterSilence(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Options{})
	open := func(silence time.Duration) *Queue {
		q, err := Open(t.Context(), Options{InProcess: s, AckWait: silence})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		return q
	}
	q := open(30 * time.Second)
	sub := hashes(t, 1)
	j := submit(t, q, sub)
	began := make(chan bool, 9)
	hire(t, q, 2, Worker{Do: func(ctx context.Context, task *Task) (*Product, error) {
		began <- true
		for range 25 { // 2.5 s
			task.Progress()
			time.Sleep(100 * time.Millisecond)
		}
		return hash(ctx, task)
	}})
	<-began
	if err := open(1200 * time.Millisecond).SetAckWait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.conn.ForceReconnect(); err != nil { // as after a new start
		t.Fatal(err)
	}
	if st := wait(t, q, j); st.Done != 1 || len(began) != 0 {
		t.Errorf("%+v, begun %d times more", st, len(began))
	}
}

// A disk that is full ends the worker and costs the unit no try; a unit that no disk has room for is given up.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 1)
	s.Tries = 1
	j := submit(t, q, s)
	full := func(context.Context, *Task) (*Product, error) {
		return nil, fmt.Errorf("rows.npy: %w", syscall.ENOSPC)
	}
	for k := range mostFull {
		if st, err := q.Status(t.Context(), j); err != nil || st.Failed != 0 {
			t.Fatalf("after %d: %+v, %v", k, st, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		n, err := q.Work(ctx, Worker{Do: full, Cache: t.TempDir()})
		cancel()
		if n != 0 || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d units, %v", n, err)
		}
	}
	st, err := q.Status(t.Context(), j)
	if err != nil || st.Failed != 1 || !strings.Contains(st.Failures[0].Reason, "after 3 tries: rows.npy: no space") {
		t.Errorf("%+v, %v", st, err)
	}
}

// A worker of another build is not there for a submission, though its version is called the same.
func TestWorkersOfABuild(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	j := submit(t, q, hashes(t, 1))
	hire(t, q, 1, Worker{Do: hash, Build: "another"})
	until := time.Now().Add(time.Minute)
	for there := []Present(nil); len(there) == 0; time.Sleep(20 * time.Millisecond) {
		var err error
		if there, err = q.Workers(t.Context()); err != nil || time.Now().After(until) {
			t.Fatal(err)
		}
	}
	if st, err := q.Status(t.Context(), j); err != nil || len(st.Workers) != 0 || st.Waiting != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A file that changes between its SHA-256 and its way is not stored, parts that it left are not taken for its own, and
// a damaged one in a shared folder is put anew; while a file goes, progress is told.
func TestFilesThatChange(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	data := bytes.Repeat([]byte("landing "), partSize/8+10)
	other := bytes.Clone(data)
	other[3] ^= 1
	sum, size := run.Hash(data), int64(len(data))
	place := t.TempDir()
	for _, to := range []Files{objects{q}, shared{place}} {
		var damaged *DamagedError
		if err := to.Put(t.Context(), sum, size, bytes.NewReader(other)); !errors.As(err, &damaged) {
			t.Errorf("%T: other bytes: %v", to, err)
		}
		var missing *MissingError
		if err := to.Get(t.Context(), sum, new(bytes.Buffer)); !errors.As(err, &missing) {
			t.Errorf("%T: %v", to, err)
		}
		steps := 0
		tells := ticking{to, func() { steps++ }}
		if err := tells.Put(t.Context(), sum, size, bytes.NewReader(data)); err != nil || steps < 2 {
			t.Errorf("%T: %d steps, %v", to, steps, err)
		}
		if s, ok := to.(shared); ok {
			if err := os.WriteFile(s.path(sum), other, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := to.Put(t.Context(), sum, size, bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
		}
		path := filepath.Join(t.TempDir(), "x")
		for _, n := range []int64{size - 1, size + 1, 0} {
			if err := GetFile(t.Context(), to, File{"x", sum, n}, path); !errors.As(err, &damaged) {
				t.Errorf("%T: %d bytes: %v", to, n, err)
			}
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%T: a file of another size is there", to)
		}
		steps = 0
		if err := GetFile(t.Context(), tells, File{"x", sum, size}, path); err != nil || steps < 2 {
			t.Errorf("%T: %d steps, %v", to, steps, err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%T: other bytes came back, %v", to, err)
		}
	}
}

// A store that is full ends a worker, and costs the unit no try.
func TestFullForWorkers(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{MaxStore: 1 << 20}))
	s := hashes(t, 1)
	s.Tries = 1
	j := submit(t, q, s)
	large := func(_ context.Context, task *Task) (*Product, error) {
		path := filepath.Join(task.Dir, "large")
		return &Product{Files: []string{"large"}}, os.WriteFile(path, make([]byte, 4<<20), 0o666)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := q.Work(ctx, Worker{Cache: t.TempDir(), Do: large})
	var full *FullError
	if n != 0 || !errors.As(err, &full) {
		t.Errorf("%d units, %v", n, err)
	}
	hire(t, q, 1, Worker{Do: hash})
	if st := wait(t, q, j); st.Done != 1 {
		t.Errorf("%+v", st)
	}
}

// A unit whose workers fall silent as often as it may be tried is given up, and it is told who the last one was.
func TestSilentWorkers(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 1)
	s.Tries = 2
	last := &work.Holder{Host: "elsewhere", PID: 7}
	unit := id(s.Units[0], class{Build: Build()}, "")
	if err := q.setTried(t.Context(), unit, tried{Tries: 2, By: last}); err != nil {
		t.Fatal(err)
	}
	j := submit(t, q, s)
	hire(t, q, 1, Worker{Do: hash})
	st := wait(t, q, j)
	if st.Failed != 1 || st.Failures[0].Reason != "given up after 2 tries: process 7 on elsewhere "+silent {
		t.Errorf("%+v", st)
	}
}

// A submission that is stopped is known, and the same one goes on with it.
func TestStoppedSubmission(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 300)
	ctx, stop := context.WithCancel(t.Context())
	_, err := q.Submit(ctx, s, func(int, int) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	jobs, err := q.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].Whole {
		t.Fatalf("%+v, %v", jobs, err)
	}
	info, err := q.units.Info(t.Context())
	if err != nil || info.State.Msgs == 0 || info.State.Msgs == 300 {
		t.Fatalf("%d units wait, %v", info.State.Msgs, err)
	}
	j := submit(t, q, s)
	if info, err = q.units.Info(t.Context()); err != nil || info.State.Msgs != 300 || j.ID != jobs[0].ID || !j.Whole {
		t.Errorf("%d units wait of %+v, %v", info.State.Msgs, j, err)
	}
}

// A unit that the server holds and gives to nobody, since it takes it for done, is put back by who waits.
func TestMendOfHeld(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	of := class{Build: Build()}
	// a consumer that gives up after one delivery comes to that state by itself
	once, err := q.units.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: of.name(),
		FilterSubject: of.subject("*"), AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := hashes(t, 1)
	j := submit(t, q, s)
	take := func() int {
		batch, err := once.Fetch(1, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range batch.Messages() {
			n++
		}
		return n
	}
	if n := take(); n != 1 {
		t.Fatalf("%d units were given", n)
	}
	list, err := q.List(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		info, err := once.Info(t.Context())
		if err != nil || time.Now().After(until) {
			t.Fatalf("%+v, %v", info, err)
		}
		if info.NumAckPending == 0 {
			break
		}
	}
	if err := q.mend(t.Context(), j, list, []int{0}); err != nil {
		t.Fatal(err)
	}
	if n := take(); n != 1 {
		t.Errorf("%d units were given after mending", n)
	}
}

// Of more workers than units that are left, no more are counted on than have one.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	q, s := fresh(t, 3)
	release := make(chan bool)
	hire(t, q, 4, Worker{Do: func(ctx context.Context, task *Task) (*Product, error) {
		if task.Unit.Name == "u-2" {
			<-release
		}
		time.Sleep(50 * time.Millisecond)
		return hash(ctx, task)
	}})
	j := submit(t, q, s)
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		st, err := q.Status(t.Context(), j)
		if err != nil || time.Now().After(until) {
			t.Fatalf("%+v, %v", st, err)
		}
		if st.Done == 2 && len(st.Workers) == 4 {
			if st.Left != st.Seconds || !(st.Left >= 0.05) {
				t.Errorf("%v s left of a unit of %v s", st.Left, st.Seconds)
			}
			break
		}
	}
	close(release)
	wait(t, q, j)
}

// A slow look puts the next one off by ten times what it took, and by no more than ten pauses: a machine that was busy
// for a moment does not keep Wait from seeing that all is done.
func TestRest(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: lookPause, 40 * time.Millisecond: lookPause,
		200 * time.Millisecond: 2 * time.Second, time.Minute: 5 * time.Second} {
		if got := rest(lookPause, took); got != want {
			t.Errorf("after %v it rests %v, want %v", took, got, want)
		}
	}
}

// Units that the server holds need not be asked for: those that it does not are told apart, also beside another
// submission's, and where the others are too many all are asked for.
func TestGone(t *testing.T) {
	t.Parallel()
	q := open(t, serve(t, server.Options{}))
	of := class{Build: Build()}
	s := hashes(t, fewUnits+6)
	j := submit(t, q, s)
	list, err := q.List(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	at := begin(j).Missing
	drop := func(i int) {
		err := q.units.Purge(t.Context(), jetstream.WithPurgeSubject(of.subject(list[i].ID)))
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, at, want []int) {
		t.Helper()
		if got, err := q.gone(t.Context(), of, list, at); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}
	check("none", at, nil)
	drop(3)
	drop(69)
	check("two", at, []int{3, 69})
	check("few", at[:fewUnits], at[:fewUnits])
	other := hashes(t, 3*len(at))
	for i, u := range other.Units {
		u.Task = json.RawMessage(fmt.Sprint(1000 + i))
	}
	submit(t, q, other)
	check("beside many", at, at)
	// what is lost is put back though the rest is under way
	if err := q.mend(t.Context(), j, list, at); err != nil {
		t.Fatal(err)
	}
	if info, err := q.units.Info(t.Context()); err != nil || info.State.Msgs != uint64(4*len(at)) {
		t.Errorf("%d units wait, %v", info.State.Msgs, err)
	}
}
