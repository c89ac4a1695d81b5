package parallel

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestDoRunsEveryTaskOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		p := New(workers)
		busy := make([]atomic.Int32, workers)
		for _, n := range []int{0, 1, 2, 1000} {
			counts := make([]atomic.Int32, n)
			p.Do(n, func(w, task int) {
				if busy[w].Add(1) != 1 {
					t.Errorf("two tasks at once on worker %d", w)
				}
				counts[task].Add(1)
				busy[w].Add(-1)
			})
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Fatalf("%d workers: task %d of %d ran %d times", workers, i, n, c)
				}
			}
		}
		p.Close()
	}
}

func TestDoRaisesPanics(t *testing.T) {
	p := New(3)
	defer p.Close()
	func() {
		defer func() {
			if v, _ := recover().(string); !strings.Contains(v, "task 5: broken") {
				t.Errorf("recovered %q", v)
			}
		}()
		p.Do(10, func(_, task int) {
			if task == 5 {
				panic("broken")
			}
		})
	}()
	var ran atomic.Int32
	p.Do(4, func(_, _ int) { ran.Add(1) })
	if ran.Load() != 4 {
		t.Error("the pool does not work after a panic")
	}
}

func TestDoAllocatesNothing(t *testing.T) {
	p := New(2)
	defer p.Close()
	f := func(_, _ int) {}
	if n := testing.AllocsPerRun(100, func() { p.Do(8, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A pool that no machine could use is a programmer's mistake, told before anything is allocated.
func TestNewRefuses(t *testing.T) {
	defer func() {
		if v := recover(); v == nil {
			t.Error("no panic")
		}
	}()
	New(MaxWorkers + 1)
}

// What f returns comes out, its panic too, and a context that ends does not wait for it.
func TestUntil(t *testing.T) {
	fault := errors.New("no")
	if v, err := Until(t.Context(), func() (int, error) { return 3, fault }); v != 3 || err != fault {
		t.Errorf("%d, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan bool)
	defer close(release)
	_, err := Until(ctx, func() (int, error) {
		cancel()
		<-release
		return 4, nil
	})
	if err != context.Canceled {
		t.Errorf("%v", err)
	}
	defer func() {
		if v := recover(); v != "lost" {
			t.Errorf("recovered %v", v)
		}
	}()
	Until(t.Context(), func() (int, error) { panic("lost") })
}
