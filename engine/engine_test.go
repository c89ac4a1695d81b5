package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/testkit/trained"
	"github.com/landing-diffusion/landing/parallel"
)

// ready opens a run for an engine, and alone as landing generate does.
func ready(t *testing.T, e *Engine, dir string) (*Run, *experiment.Run, *experiment.Trained, *experiment.Prior) {
	t.Helper()
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	alone, err := experiment.OpenToDraw(dir, "", pool)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Ready(t.Context(), "r", alone, nil)
	if err != nil {
		t.Fatal(err)
	}
	prior, err := alone.Prior(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, alone, r.Trained, prior
}

// draw returns all samples of a request.
func draw(ctx context.Context, e *Engine, r *Run, q Request) ([]float64, *judge.Samples, error) {
	x := make([]float64, q.N*r.Process.Set.Dim())
	at := 0
	sum, err := e.Draw(ctx, r, q, func(lo int, s *judge.Samples) error {
		if lo != at {
			return fmt.Errorf("samples from %d on follow %d", lo, at)
		}
		at += s.N()
		copy(x[lo*s.Dim:], s.X)
		return nil
	})
	if err == nil && at != q.N {
		err = fmt.Errorf("%d of %d samples", at, q.N)
	}
	return x, sum, err
}

// Whatever is asked beside it, of this run or another, a request gets the bytes that it gets alone.
func TestRequestsDoNotTouchEachOther(t *testing.T) {
	for _, workers := range []int{1, 3} {
		e := New(Options{Workers: workers})
		ulla, alone, network, prior := ready(t, e, trained.Run(t, trained.Demo))
		few, aloneFew, networkFew, priorFew := ready(t, e, trained.Run(t, trained.Demo, "process.method=olla"))
		given, aloneGiven, networkGiven, priorGiven := ready(t, e, trained.Conditional(t))
		c := []float64{1.2, 0.5, -1, 1, 1.5, 0.1} // no point has the second: a third of the samples fail
		type asked struct {
			r       *Run
			q       Request
			alone   *experiment.Run
			network *experiment.Trained
			prior   *experiment.Prior
		}
		var all []asked
		for i, n := range []int{1, 2, 3, 64, 65, 200, 7, 130} {
			q := Request{N: n, Seed: uint64(i % 3), First: uint64(100 * (i % 2))}
			all = append(all, asked{ulla, q, alone, network, prior}, asked{few, q, aloneFew, networkFew, priorFew})
			q.Conditions, q.Each, q.N = c, n, 3*n
			all = append(all, asked{given, q, aloneGiven, networkGiven, priorGiven.Under(c, n)})
		}
		all = append(all, all...)
		got := make([][]float64, len(all))
		sums := make([]*judge.Samples, len(all))
		var group sync.WaitGroup
		for i, a := range all {
			group.Go(func() {
				var err error
				if got[i], sums[i], err = draw(t.Context(), e, a.r, a.q); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for i, a := range all {
			want, err := a.alone.Generate(t.Context(), a.network, a.prior, a.q.N, a.q.First, a.q.Seed, nil)
			if want == nil {
				t.Fatal(err)
			}
			if s := sums[i]; !slices.Equal(got[i], want.X) || !slices.Equal(s.Lost, want.Lost) ||
				s.Wrong != want.Wrong || s.Begun != want.Begun || s.Broken != want.Broken ||
				(s.Break == nil) != (want.Break == nil) {
				t.Fatalf("%d workers: request %d, %d samples from %d of seed %d, is not what it is alone", workers, i,
					a.q.N, a.q.First, a.q.Seed)
			}
		}
		counts := e.Counts()
		if counts.Rows <= counts.Passes {
			t.Errorf("%d rows in %d passes of the networks: nothing was drawn together", counts.Rows, counts.Passes)
		}
		if s := e.schedule; len(s.free) != workers || len(s.ready) != 0 || len(s.pending) != 0 ||
			e.large.free != workers || e.small.free != smallRoom*workers {
			t.Errorf("afterwards %d of %d tokens, %d of %d and %d of %d places are free", len(s.free), workers,
				e.small.free, smallRoom*workers, e.large.free, workers)
		}
	}
}

// Callers that wait for scores at the same time get them in one pass, as large as their number allows.
func TestPassesAreShared(t *testing.T) {
	e := New(Options{Workers: 1})
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	const callers = smallRoom  // as many as are at work at a time
	hold := e.schedule.fiber() // the only token, until all have arrived
	hold.acquire()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			if _, _, err := draw(t.Context(), e, r, Request{N: 1, Seed: uint64(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < callers; runtime.Gosched() {
		e.schedule.mu.Lock()
		waiting = len(e.schedule.ready)
		e.schedule.mu.Unlock()
	}
	hold.release()
	group.Wait()
	if c := e.Counts(); c.Passes != 12 || c.Rows != 12*callers || c.Samples != callers {
		t.Errorf("%+v; expected a pass for each of 12 steps", c)
	}
}

// A request that is given up ends soon, leaves nothing behind, and the others go on.
func TestCancelled(t *testing.T) {
	e := New(Options{Workers: 2})
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	before := runtime.NumGoroutine()
	want, _, err := draw(t.Context(), e, r, Request{N: 10})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	var group sync.WaitGroup
	group.Go(func() {
		got, _, err := draw(t.Context(), e, r, Request{N: 10})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("beside one that is given up: %v", err)
		}
	})
	_, _, err = draw(ctx, e, r, Request{N: 1, See: func(int, []float64, int, float64) {
		if steps++; steps == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || steps > 12 {
		t.Errorf("%v after %d calls for scores", err, steps)
	}
	group.Wait()
	past, done := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer done()
	if _, _, err := draw(past, e, r, Request{N: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	stop := errors.New("stop")
	_, err = e.Draw(t.Context(), r, Request{N: 1000}, func(int, *judge.Samples) error { return stop })
	if err != stop {
		t.Errorf("%v; expected what emit said", err)
	}
	if e.small.free != 2*smallRoom || e.large.free != 2 || e.small.guests+e.large.guests != 0 ||
		len(e.schedule.free) != 2 {
		t.Errorf("%d and %d places and %d tokens are free, %d guests are there", e.small.free, e.large.free,
			len(e.schedule.free), e.small.guests+e.large.guests)
	}
	for try := 0; runtime.NumGoroutine() > before; try++ {
		if time.Sleep(time.Millisecond); try == 2000 {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// A fault of the program in one drawing is that request's error; others get their samples.
func TestPanics(t *testing.T) {
	e := New(Options{Workers: 2})
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	var fault *PanicError
	_, _, err := draw(t.Context(), e, r, Request{N: 5, See: func(int, []float64, int, float64) { panic("broken") }})
	if !errors.As(err, &fault) || !strings.Contains(fault.Error(), "broken") {
		t.Errorf("%v", err)
	}
	fields := r.network.fields
	r.network.fields = nil // a pass that panics
	if _, _, err = draw(t.Context(), e, r, Request{N: 5}); !errors.As(err, &fault) {
		t.Errorf("%v", err)
	}
	r.network.fields = fields
	if _, _, err = draw(t.Context(), e, r, Request{N: 5}); err != nil {
		t.Error(err)
	}
}

// Samples whose simulation breaks down are counted over all parts.
func TestBreakdowns(t *testing.T) {
	e := New(Options{Workers: 2})
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	const n = 200
	_, sum, err := draw(t.Context(), e, r, Request{N: n, See: func(_ int, x []float64, _ int, _ float64) {
		x[0] = math.NaN() // of each block, and of what is left of it, until nothing is
	}})
	if err != nil || sum.Broken != n || sum.Failed() != n || sum.Break == nil {
		t.Errorf("%v: of %d samples %d broke down, %d are lost, %v", err, n, sum.Broken, sum.Failed(), sum.Break)
	}
}

// A run keeps no more drawers than it says, whatever was at work at once.
func TestKeepsFewDrawers(t *testing.T) {
	e := New(Options{Workers: 1})
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	for class, c := range classes {
		var all []*drawer
		for range c.spare + 3 {
			all = append(all, r.drawer(e, c.rows))
		}
		for _, d := range all {
			r.keep(d)
		}
		if n := len(r.spare[class]); n != c.spare {
			t.Errorf("%d drawers of %d samples are kept, want %d", n, c.rows, c.spare)
		}
		if d := r.drawer(e, c.rows); d != all[c.spare-1] || len(r.spare[class]) != c.spare-1 {
			t.Error("the next one is not the last that was kept")
		}
	}
}

// line waits until so many wait for places.
func (r *room) waiting(n int) {
	for have := -1; have != n; runtime.Gosched() {
		r.mu.Lock()
		have = len(r.line)
		r.mu.Unlock()
	}
}

// Places are given in turn, and none is lost where one who waits goes away.
func TestRoom(t *testing.T) {
	r := room{free: 3}
	if err := r.enter(t.Context(), 2, 2, 0); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() { first <- r.enter(gone, 2, 2, 5) }()
	r.waiting(1)
	go func() { second <- r.enter(t.Context(), 1, 1, 5) }() // there is room, but not its turn
	r.waiting(2)
	if err := r.enter(t.Context(), 1, 1, 4); err != nil || len(r.line) != 2 { // whose turn it is
		t.Fatalf("%v, %d wait", err, len(r.line))
	}
	r.exit(1)
	select {
	case <-second:
		t.Fatal("the second was let in before the first")
	case <-time.After(20 * time.Millisecond):
	}
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-second; err != nil || r.free != 0 {
		t.Errorf("%v, %d free", err, r.free)
	}
	r.exit(2)
	r.exit(1)
	if r.free != 3 || len(r.line) != 0 {
		t.Errorf("%d free, %d wait", r.free, len(r.line))
	}
}

// Of equal requests the oldest is drawn first; a small one passes a large one that has just begun, but not one that
// came long before; and a very large one does not hold up all others until its end, nor is it held up for ever.
func TestTurns(t *testing.T) {
	// drawn returns whose parts of 50 samples are drawn one after another, by requests of so many, of which each comes
	// when so many samples were drawn.
	type request struct{ n, at int }
	drawn := func(all ...request) (order []int) {
		r := room{free: 1} // as a large part takes it
		guests := make([]*guest, len(all))
		turns := make([]float64, len(all))
		left := make([]int, len(all))
		for samples := 0; ; samples += 50 {
			best := -1
			for i, q := range all {
				if guests[i] == nil && q.at <= samples {
					guests[i], left[i] = r.come(q.n), q.n
					turns[i] = guests[i].next(50)
				}
				if left[i] > 0 && (best < 0 || turns[i] < turns[best]) {
					best = i
				}
			}
			if best < 0 {
				return order
			}
			if err := r.enter(t.Context(), 1, 50, turns[best]); err != nil {
				t.Fatal(err)
			}
			r.exit(1)
			order = append(order, best)
			if left[best] -= 50; left[best] == 0 {
				guests[best].leave()
			} else {
				turns[best] = guests[best].next(50)
			}
		}
	}
	if got := drawn(request{150, 0}, request{150, 0}, request{150, 50}); !slices.Equal(got,
		[]int{0, 0, 0, 1, 1, 1, 2, 2, 2}) {
		t.Errorf("equal requests: %v", got)
	}
	if got := drawn(request{400, 0}, request{50, 100}); !slices.Equal(got, []int{0, 0, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("a small one beside a large one: %v", got)
	}
	// Small ones that come all the time, one beside the large one at any moment: it begins when they have had about
	// as much, and would have had half of all that was drawn.
	small := []request{{1000, 0}}
	for at := 0; at < 10_000; at += 100 {
		small = append(small, request{100, at})
	}
	if got := slices.Index(drawn(small...), 0) * 50; got < 1000 || got > 2000 {
		t.Errorf("a request of 1000 samples is first drawn after %d of others", got)
	}
	got := drawn(request{100_000, 0}, request{2000, 1000})
	if at := slices.Index(got, 1) * 50; at > 2*atOnce {
		t.Errorf("beside 100000 samples others wait for %d", at)
	}
}
