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

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/trained"
)

// ready opens a run for an engine, and alone as landing generate does.
func ready(t *testing.T, e *Engine, dir string) (*Run, *experiment.Run, *experiment.Trained, *experiment.Prior) {
	t.Helper()
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	alone := testkit.Must(experiment.OpenToDraw(t.Context(), dir, "", pool, nil))
	r := testkit.Must(e.Ready(t.Context(), "r", alone))
	prior := testkit.Must(alone.Prior(t.Context(), nil))
	return r, alone, r.Trained, prior
}

// idle reports whether all places are free.
func (e *Engine) idle() bool {
	small, large := int64(smallRoom*e.workers), int64(e.workers)
	if !e.small.TryAcquire(small) {
		return false
	}
	defer e.small.Release(small)
	if !e.large.TryAcquire(large) {
		return false
	}
	e.large.Release(large)
	return true
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

// A request gets the bytes that it gets alone, whatever other requests of this run or another there are.
func TestRequestsDoNotTouchEachOther(t *testing.T) {
	for _, workers := range []int{1, 3} {
		e := New(workers)
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
		s := e.schedule
		if s.rows <= s.passes {
			t.Errorf("%d rows in %d passes of the networks: nothing was drawn together", s.rows, s.passes)
		}
		if len(s.free) != workers || len(s.ready) != 0 || len(s.pending) != 0 || !e.idle() {
			t.Errorf("afterwards %d of %d tokens are free, all places: %v", len(s.free), workers, e.idle())
		}
	}
}

// Callers that wait for scores at the same time get them in one pass, as large as their number allows.
func TestPassesAreShared(t *testing.T) {
	e := New(1)
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
	if s := e.schedule; s.passes != 12 || s.rows != 12*callers {
		t.Errorf("%d passes of %d rows; expected a pass for each of 12 steps", s.passes, s.rows)
	}
}

// A request that is given up ends soon, leaves nothing behind, and the others go on.
func TestCancelled(t *testing.T) {
	e := New(2)
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	before := runtime.NumGoroutine()
	want, _, err := draw(t.Context(), e, r, Request{N: 10})
	testkit.OK(t, err)
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
	if !e.idle() || len(e.schedule.free) != 2 {
		t.Errorf("all places are free: %v; %d tokens are", e.idle(), len(e.schedule.free))
	}
	for try := 0; runtime.NumGoroutine() > before; try++ {
		if time.Sleep(time.Millisecond); try == 60_000 {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// A fault of the program in one drawing is that request's error; others get their samples.
func TestPanics(t *testing.T) {
	e := New(2)
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
	_, _, err = draw(t.Context(), e, r, Request{N: 5})
	testkit.OK(t, err)
}

// Samples whose simulation breaks down are counted over all parts.
func TestBreakdowns(t *testing.T) {
	e := New(2)
	r, _, _, _ := ready(t, e, trained.Run(t, trained.Demo))
	const n = 200
	_, sum, err := draw(t.Context(), e, r, Request{N: n, See: func(_ int, x []float64, _ int, _ float64) {
		x[0] = math.NaN() // of each block, and of what is left of it, until nothing is
	}})
	if err != nil || sum.Broken != n || sum.Failed() != n || sum.Break == nil {
		t.Errorf("%v: of %d samples %d broke down, %d are lost, %v", err, n, sum.Broken, sum.Failed(), sum.Break)
	}
}
