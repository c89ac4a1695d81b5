// Package parallel runs numbered tasks on a fixed set of workers.
//
// It decides who does a task, never what the task is: callers cut work into tasks by the problem alone, so that results
// do not depend on the number of workers.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Pool is a fixed set of workers. Calls of Do must not overlap or nest.
type Pool struct {
	workers int
	task    func(worker, task int)
	n       int64
	next    atomic.Int64
	wake    []chan struct{}
	done    sync.WaitGroup
	panics  []any
}

// MaxWorkers is the largest number of workers of a pool: each has buffers of its own.
const MaxWorkers = 1024

// New starts a pool of at most MaxWorkers; workers ≤ 0 means one for each core that Go may use. Close ends it.
func New(workers int) *Pool {
	if workers > MaxWorkers {
		panic(fmt.Sprintf("parallel: %d workers; expected at most %d", workers, MaxWorkers))
	}
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	p := &Pool{workers: workers, panics: make([]any, workers)}
	for w := 1; w < workers; w++ {
		wake := make(chan struct{}, 1)
		p.wake = append(p.wake, wake)
		go func() {
			for range wake {
				p.run(w)
				p.done.Done()
			}
		}()
	}
	return p
}

// Workers returns the number of workers.
func (p *Pool) Workers() int { return p.workers }

// Do calls f(worker, task) for every task in 0 … n−1 and returns when all are done. Calls with the same worker never
// overlap, so worker may index scratch space. A panic in f is raised again here.
func (p *Pool) Do(n int, f func(worker, task int)) {
	p.task, p.n = f, int64(n)
	p.next.Store(0)
	helpers := min(len(p.wake), n-1)
	if helpers > 0 {
		p.done.Add(helpers)
		for _, wake := range p.wake[:helpers] {
			wake <- struct{}{}
		}
	}
	p.run(0)
	p.done.Wait()
	p.task = nil
	for w, v := range p.panics {
		if v != nil {
			p.panics[w] = nil
			panic(v)
		}
	}
}

// DoUntil is Do, but tasks that have not begun when ctx is done are left out: the error is then that of ctx.
func (p *Pool) DoUntil(ctx context.Context, n int, f func(worker, task int)) error {
	p.Do(n, func(worker, task int) {
		if ctx.Err() == nil {
			f(worker, task)
		}
	})
	return ctx.Err()
}

func (p *Pool) run(worker int) {
	task := int64(-1)
	defer func() {
		if v := recover(); v != nil {
			p.panics[worker] = fmt.Sprintf("task %d: %v", task, v)
			p.next.Store(p.n) // the other workers stop early
		}
	}()
	for {
		task = p.next.Add(1) - 1
		if task >= p.n {
			return
		}
		p.task(worker, int(task))
	}
}

// Close ends the workers. The pool must be idle.
func (p *Pool) Close() {
	for _, wake := range p.wake {
		close(wake)
	}
	p.wake = nil
}

// Blocks cuts n rows into blocks of at most size rows: the number of blocks.
func Blocks(n, size int) int { return (n + size - 1) / size }

// Block returns the rows [lo, hi) of block b.
func Block(b, n, size int) (lo, hi int) { return b * size, min(n, (b+1)*size) }

// Until calls f and returns its results. If the context ends first, Until returns the context's error at once; f runs
// on in the background and its results are dropped, so f must not write anything. Use it for work that takes no
// context, such as reading a large file. If f panics, Until panics with the same value.
func Until[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		panic any
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panic = recover()
			ended <- o
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-ended:
		if o.panic != nil {
			panic(o.panic)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
