package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/internal/testkit/process"
	"github.com/landing-diffusion/landing/queue/server"
)

// The test binary is a server or a worker where the environment says so, until its standard input ends: so none
// outlives the test.
const (
	roleEnv  = "LANDING_QUEUE_TEST_ROLE"
	urlEnv   = "LANDING_QUEUE_TEST_URL"
	dirEnv   = "LANDING_QUEUE_TEST_DIR"
	holdTime = 60 * time.Millisecond // of a unit
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var err error
	switch role {
	case "server":
		var s *server.Server
		if s, err = server.Start(server.Options{Listen: os.Getenv(urlEnv), Store: os.Getenv(dirEnv)}); err == nil {
			<-ctx.Done()
			s.Stop()
		}
	case "worker":
		var q *Queue
		until := time.Now().Add(30 * time.Second)
		for { // the server may be away just now
			if q, err = Open(ctx, Options{URL: os.Getenv(urlEnv)}); err == nil || time.Now().After(until) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err == nil {
			_, err = q.Work(ctx, Worker{Cache: os.Getenv(dirEnv), Do: held})
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
}

// held is hash, with some time.
func held(ctx context.Context, t *Task) (*Product, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(holdTime):
	}
	return hash(ctx, t)
}

// spawn starts the test binary in a role.
func spawn(t *testing.T, role, url, dir string) *process.Child {
	t.Helper()
	cmd := process.Self(t, "", []string{roleEnv + "=" + role, urlEnv + "=" + url, dirEnv + "=" + dir})
	cmd.Stderr = os.Stderr
	return process.Start(t, cmd)
}

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("LANDING_LONG") == "1" }

// What is collected is what one process makes, though workers and the server are killed at random.
func TestKills(t *testing.T) {
	t.Parallel()
	kills, workers, units := 3, 3, 60
	if long() {
		kills, workers, units = 20, 8, 1000
	}
	addr, store, scratch := process.FreePort(t), t.TempDir(), t.TempDir()
	serving := spawn(t, "server", addr, store)
	q := reach(t, addr)
	s := hashes(t, units)
	s.Tries = 20 // of kills, none is a unit's fault
	j := submit(t, q, s)
	all := make([]*process.Child, workers)
	for i := range all {
		all[i] = spawn(t, "worker", addr, scratch)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for k := range kills {
		time.Sleep(time.Duration(200+r.IntN(500)) * time.Millisecond)
		if k == 1 || k > 1 && r.IntN(4) == 0 {
			serving.Kill()
			time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
			serving = spawn(t, "server", addr, store)
			continue
		}
		i := r.IntN(workers)
		all[i].Kill()
		all[i] = spawn(t, "worker", addr, scratch)
	}
	if st := wait(t, q, j); st.Done != units {
		t.Errorf("%+v", st)
	}
	if got := gather(t, q, j); got != want(t, s) {
		t.Errorf("collected\n%s", got)
	}
	settle(t, q)
}

// settle returns when nothing waits any more: what was done twice is acknowledged too.
func settle(t *testing.T, q *Queue) {
	t.Helper()
	until := time.Now().Add(30 * time.Second)
	for {
		info, err := q.units.Info(t.Context())
		if err == nil && info.State.Msgs == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("units wait though all have ended: %+v, %v", info, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// reach connects to a server that may not be there yet. Silence of a second loses a unit.
func reach(t *testing.T, addr string) *Queue {
	t.Helper()
	until := time.Now().Add(30 * time.Second)
	for {
		q, err := Open(t.Context(), Options{URL: addr, AckWait: time.Second})
		if err == nil {
			t.Cleanup(q.Close)
			return q
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A breaker is a way to a server that breaks now and then.
type breaker struct {
	net.Listener
	to     string
	mu     sync.Mutex
	random *rand.Rand
	broken int
}

// after draws how long a connection lives.
func (b *breaker) after() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Duration(200+b.random.IntN(1800)) * time.Millisecond
}

func (b *breaker) run() {
	for {
		in, err := b.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", b.to)
		if err != nil {
			in.Close()
			continue
		}
		cut := func() {
			in.Close()
			out.Close()
		}
		time.AfterFunc(b.after(), func() {
			b.mu.Lock()
			b.broken++
			b.mu.Unlock()
			cut()
		})
		go func() { io.Copy(in, out); cut() }()
		go func() { io.Copy(out, in); cut() }()
	}
}

// What is collected is what one process makes, though no connection lives longer than two seconds.
func TestDrops(t *testing.T) {
	t.Parallel()
	workers, units := 3, 60
	if long() {
		workers, units = 8, 400
	}
	s, err := server.Start(server.Options{Listen: "127.0.0.1:0", Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := &breaker{Listener: l, to: s.Addr().String(), random: rand.New(rand.NewPCG(seed, 0))}
	defer l.Close()
	go b.run()
	q := reach(t, l.Addr().String())
	sub := hashes(t, units)
	sub.Tries = 1000
	j := submit(t, q, sub)
	scratch := t.TempDir()
	for range workers {
		spawn(t, "worker", l.Addr().String(), scratch)
	}
	if st := wait(t, q, j); st.Done != units {
		t.Errorf("%+v", st)
	}
	if got := gather(t, q, j); got != want(t, sub) {
		t.Errorf("collected\n%s", got)
	}
	settle(t, q)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken < workers {
		t.Errorf("%d connections broke: the test shows nothing", b.broken)
	}
	t.Logf("%d connections broke", b.broken)
}
