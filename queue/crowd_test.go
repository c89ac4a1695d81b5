package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/queue/server"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// A crowd is workers without work: a unit is a time that passes, drawn once for each unit. Server, stream, records and
// workers are the real ones.
type crowd struct {
	workers, units int
	mean           time.Duration // of a unit, log-normal with σ = 0.3
	straggler      float64       // share of units that take five times as long
	dies           float64       // chance that a worker falls silent in a unit
	silence        time.Duration
}

// takes returns the time of unit i.
func (c *crowd) takes(i int) time.Duration {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	t := float64(c.mean) * math.Exp(0.3*r.NormFloat64()-0.045) // mean 1
	if r.Float64() < c.straggler {
		t *= 5
	}
	return time.Duration(t)
}

// A crowded is what came of a crowd.
type crowded struct {
	Opening   float64 // seconds until each worker had its first unit or none was left
	Seconds   float64 // from the first worker to the last unit
	Work      float64 // seconds of all units, each once
	Longest   float64 // unit
	Deaths    int64
	Begun     int64 // units, with those that were begun again
	Processor float64
	Heap      uint64 // bytes at the end
}

func (c *crowd) run(t *testing.T) crowded {
	s := serve(t, server.Options{})
	q, err := Open(t.Context(), Options{InProcess: s, AckWait: c.silence})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	sub := Submission{What: "a crowd", Tries: 100}
	var out crowded
	for i := range c.units {
		sub.Units = append(sub.Units, &work.Unit{Name: fmt.Sprintf("v-%d", i), Kind: "virtual",
			Task: json.RawMessage(fmt.Sprint(i)), Version: run.Version()})
		out.Work += c.takes(i).Seconds()
		out.Longest = max(out.Longest, c.takes(i).Seconds())
	}
	j := submit(t, q, sub)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var deaths, begun, there, all atomic.Int64
	var group sync.WaitGroup
	start, before := time.Now(), processorSeconds()
	cache := t.TempDir()
	for k := range c.workers {
		group.Go(func() {
			r, first := rand.New(rand.NewPCG(11, uint64(k))), true
			for ctx.Err() == nil {
				own, err := Open(ctx, Options{InProcess: s})
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				do := func(ctx context.Context, task *Task) (*Product, error) {
					begun.Add(1)
					if first {
						if first = false; there.Add(1) == int64(c.workers) {
							all.Store(int64(time.Since(start)))
						}
					}
					var i int
					json.Unmarshal(task.Unit.Task, &i)
					takes, dies := c.takes(i), r.Float64() < c.dies
					if dies {
						takes = time.Duration(r.Float64() * float64(takes))
					}
					for until := time.Now().Add(takes); ; {
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-time.After(min(time.Until(until), time.Second)):
						}
						if !time.Now().Before(until) {
							break
						}
						task.Progress()
					}
					if dies {
						deaths.Add(1)
						own.conn.Close() // without a word
						return nil, errors.New("dead")
					}
					return &Product{Detail: task.Unit.Task}, nil
				}
				_, err = own.Work(ctx, Worker{Cache: cache, Grace: -1, Do: do})
				own.Close()
				if err != nil && !errors.Is(err, context.Canceled) && !deadly(err) {
					t.Error(err)
				}
			}
		})
	}
	watch, done := context.WithTimeout(ctx, 10*time.Minute)
	defer done()
	st, err := q.Wait(watch, j, nil)
	out.Seconds, out.Processor = time.Since(start).Seconds(), processorSeconds()-before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	out.Opening = time.Duration(all.Load()).Seconds()
	out.Heap, out.Deaths, out.Begun = m.HeapAlloc, deaths.Load(), begun.Load()
	cancel()
	group.Wait()
	if st == nil {
		t.Fatal(err)
	}
	if err != nil || st.Done != c.units {
		t.Fatalf("%d done, %d failed, %d workers, %v", st.Done, st.Failed, len(st.Workers), err)
	}
	n := 0
	err = q.Collect(t.Context(), j, func(i int, u *work.Unit, r *Record, _ Files) error {
		if n++; r.State != work.Done || string(r.Detail) != fmt.Sprint(i) {
			t.Errorf("unit %d: %+v", i, r)
		}
		return nil
	})
	if err != nil || n != c.units {
		t.Errorf("%d collected, %v", n, err)
	}
	return out
}

// deadly reports whether an error is that of a worker whose connection was closed.
func deadly(err error) bool { return ends(err) }

// A crowd does each unit, though workers fall silent and some units take long; LANDING_LONG=1: a thousand workers.
func TestCrowd(t *testing.T) {
	c := crowd{workers: 40, units: 300, mean: 50 * time.Millisecond, straggler: 0.01, dies: 0.02, silence: time.Second}
	if long() {
		c = crowd{workers: 1000, units: 14_000, mean: 2 * time.Second, straggler: 0.01, dies: 0.01,
			silence: 5 * time.Second}
	} else {
		t.Parallel()
	}
	r := c.run(t)
	ideal := r.Work / float64(c.workers)
	t.Logf("%d workers, all at work after %.1f s; %d units of %v: %.1f s, at best %.1f s (%.0f %%); longest unit "+
		"%.1f s, %d deaths, %d begun again; %.1f processor seconds, %.2f ms a unit; heap %d MB", c.workers, r.Opening,
		c.units, c.mean, r.Seconds, ideal, 100*ideal/r.Seconds, r.Longest, r.Deaths, r.Begun-int64(c.units),
		r.Processor, 1e3*r.Processor/float64(c.units), r.Heap>>20)
	if r.Deaths == 0 {
		t.Error("nobody died: the test shows nothing")
	}
}
