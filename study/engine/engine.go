// Package engine draws samples of trained runs for many callers at a time. What a caller gets is, byte for byte,
// what it would get alone, and what landing generate writes: sample i is a function of the run, the seed and i.
//
// A request is cut into parts. Each is drawn by a fiber, a goroutine that steps its samples with the run's own
// sampler; where it asks for scores, its call is evaluated together with those of other fibers, whatever request
// and time they are of (schedule). A request joins at any step and leaves at any: nobody waits for a batch to
// fill or to end.
package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// partRows bounds the samples of a part. As many large parts are at work as there are workers: each stays with one
// until it is done, and what it works on in that one's cache. With more of them, taking turns step by step, the same
// work takes a fifth longer (docs/benchmarks.md). Parts of at most smallRows are drawn beside them, smallRoom samples
// for each worker: they go through the network together, and need not wait for a large one to end. With fewer at a
// time passes are too small, with more what they work on is in no cache.
const (
	partRows  = 64
	smallRows = 8
	smallRoom = 16
	passRows  = partRows + smallRoom // of a network
)

// An Engine draws samples. Its methods may be called at any time from any goroutine.
type Engine struct {
	schedule *schedule
	small    *semaphore.Weighted // samples at work in small parts
	large    *semaphore.Weighted // large parts at work
	workers  int
}

// New makes an engine on which `workers` goroutines compute at a time. It has no goroutine of its own.
func New(workers int) *Engine {
	return &Engine{schedule: newSchedule(workers), small: semaphore.NewWeighted(int64(smallRoom * workers)),
		large: semaphore.NewWeighted(int64(workers)), workers: workers}
}

// Workers returns how many goroutines compute at a time.
func (e *Engine) Workers() int { return e.workers }

// partsAhead is how many parts of a request are drawn or in line at a time, for each worker: with one a request whose
// turn it is would leave its place to another whenever a part ends.
const partsAhead = 2

// Compute calls f as one of the engine's workers: what takes a processor for long, such as writing numbers as
// text, leaves one free so. The error is the context's, if it ends before it is f's turn, or f's.
func (e *Engine) Compute(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fiber := e.schedule.fiber()
	fiber.acquire()
	defer fiber.release()
	return f()
}

// A Request asks for samples.
type Request struct {
	N           int // above 0
	Seed, First uint64
	Conditions  []float64 // rows of the run's condition; nil of a run without one
	Each        int       // samples of each row

	// See, if not nil, is called with the states of the samples lo, lo+1, … at each evaluation of their scores: n×d at
	// a time of the method, d the coordinates of a point. Calls may run at the same time.
	See func(lo int, x []float64, n int, t float64)
}

// A PanicError is a fault of the program, in a drawing.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// Draw draws samples of a run and hands them on in order, in parts: emit gets the samples lo, lo+1, …, those that
// failed marked. The sum, without points, is returned. The error is that of the context, of emit, or of the
// sampler; a share of failed samples above the allowed one is the caller's to judge (Loaded.CheckFailed).
func (e *Engine) Draw(ctx context.Context, r *Run, q Request, emit func(lo int, s *judge.Samples) error) (
	*judge.Samples, error) {
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	prior := r.prior
	if q.Conditions != nil {
		prior = prior.Under(q.Conditions, q.Each)
	}
	sum := &judge.Samples{Dim: r.Process.Set.Dim(), Lost: make([]bool, q.N)}
	size, places := e.part(q.N), e.large
	if size <= smallRows {
		places = e.small
	} else if !e.large.TryAcquire(1) { // no worker is left for a second part
		size = min(q.N, partRows)
	} else {
		e.large.Release(1)
	}
	type result struct {
		s   *judge.Samples
		err error
	}
	var running sync.WaitGroup
	defer running.Wait() // after cancel: a part that is not handed on ends
	defer cancel()
	parts, next := parallel.Blocks(q.N, size), 0
	var queue []chan result
	for done := 0; done < parts; done++ {
		for ; next < parts && next < done+partsAhead*e.workers; next++ {
			lo, hi := parallel.Block(next, q.N, size)
			c := make(chan result, 1)
			queue = append(queue, c)
			running.Go(func() {
				room := int64(hi - lo)
				if places == e.large {
					room = 1
				}
				if err := places.Acquire(ctx, room); err != nil { // in order of arrival
					c <- result{nil, err}
					return
				}
				defer places.Release(room)
				s, err := e.one(ctx, r, prior, q, lo, hi)
				c <- result{s, err}
			})
		}
		got := <-queue[0]
		queue = queue[1:]
		if got.err != nil {
			return nil, got.err
		}
		lo, _ := parallel.Block(done, q.N, size)
		copy(sum.Lost[lo:], got.s.Lost)
		sum.Wrong, sum.Begun = sum.Wrong+got.s.Wrong, sum.Begun+got.s.Begun
		sum.Finished = sum.Finished.Add(got.s.Finished)
		if sum.Broken += got.s.Broken; sum.Break == nil {
			sum.Break = got.s.Break
		}
		if err := emit(lo, got.s); err != nil {
			return nil, err
		}
	}
	sum.Time = time.Since(start)
	return sum, nil
}

// Under draws the samples of a request under constraints that training did not know, as one of the engine's workers.
func (e *Engine) Under(ctx context.Context, r *Run, g *experiment.Given, q Request) (s *judge.Samples,
	report *experiment.GivenReport, err error) {
	prior := r.prior
	if q.Conditions != nil {
		prior = prior.Under(q.Conditions, q.Each)
	}
	pool := parallel.New(1) // that of the run takes one call at a time
	defer pool.Close()
	err = e.Compute(ctx, func() error {
		d, err := g.On(pool).NewDrawer(ctx, r.Trained, prior, q.N, q.First, q.Seed)
		if err == nil {
			report = &d.Report
			report.Text = "" // the caller has it
			s, err = d.Draw(ctx, make([]float64, q.N*r.Process.Set.Dim()), nil)
		}
		return err
	})
	return s, report, err
}

// part returns how many of n samples are a part: for every worker as many parts, of about one size.
func (e *Engine) part(n int) int {
	blocks := e.workers * parallel.Blocks(parallel.Blocks(n, partRows), e.workers)
	return max(1, parallel.Blocks(n, blocks))
}

// one draws the samples lo … hi−1 of a request, which have their places.
func (e *Engine) one(ctx context.Context, r *Run, prior *experiment.Prior, q Request, lo, hi int) (
	s *judge.Samples, err error) {
	d := r.drawer(e, hi-lo)
	d.acquire()
	held := true
	defer func() {
		if v := recover(); v != nil { // the room of the drawer is in no known state: it is not kept
			err = &PanicError{v, debug.Stack()}
		}
		if held {
			d.release()
		}
	}()
	d.ctx, d.see = ctx, nil
	if q.See != nil {
		d.see = func(x []float64, n int, t float64) { q.See(lo, x, n, t) }
	}
	d.Finish(q.See == nil) // what is watched on its way stays as it comes
	s, err = d.Draw(ctx, prior, hi-lo, q.First+uint64(lo), q.Seed, nil)
	d.ctx, d.see = nil, nil
	d.release()
	held = false
	r.keep(d) // now another part may have it
	return s, err
}

// A drawer draws parts of bounded size of one run, with scores from the schedule.
type drawer struct {
	*experiment.Drawer
	*fiber
	of    *network
	class int
	ctx   context.Context
	see   func(x []float64, n int, t float64)
}

// Eval implements method.Score.
func (d *drawer) Eval(dst, x, p []float64, n int, t float64) {
	if d.see != nil {
		d.see(x, n, t)
	}
	if d.ctx.Err() != nil { // the sampler ends at its next look
		clear(dst[:len(x)])
		return
	}
	d.eval(d.of, score.Ask{Dst: dst, X: x, P: p, N: n, T: t})
}

// A Run is a run that is ready to draw: its network, prior and set are in memory, so that what becomes of its
// folder changes nothing.
type Run struct {
	*experiment.Run
	Name    string
	Trained *experiment.Trained

	prior   *experiment.Prior
	network *network

	spare [len(classes)]sync.Pool // of drawers
	own   sync.Mutex              // of the domain, whose calls share a pool
}

// classes are the numbers of samples that drawers have room for.
var classes = [...]int{1, smallRows, partRows}

// Ready makes a run ready, with its newest or chosen weights. Its prior is made on its pool, which is of no use
// afterwards; the domain needs one of its own.
func (e *Engine) Ready(ctx context.Context, name string, r *experiment.Run) (*Run, error) {
	t, err := r.Trained("")
	if err != nil {
		return nil, err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return nil, err
	}
	own, alone := *r, *r.Loaded
	alone.Pool = parallel.New(1)
	own.Loaded = &alone
	n := &network{fields: experiment.Fields(r.Loaded, t, passRows, e.workers),
		asks: make([][]score.Ask, e.workers), room: passRows}
	return &Run{Run: &own, Name: name, Trained: t, prior: prior, network: n}, nil
}

// Prior says what kind of prior samples begin with.
func (r *Run) Prior() string { return r.prior.Kind }

// Own calls f while nobody else uses the run's domain.
func (r *Run) Own(f func() error) error {
	r.own.Lock()
	defer r.own.Unlock()
	return f()
}

// drawer returns one with room for n samples.
func (r *Run) drawer(e *Engine, n int) *drawer {
	class := 0
	for classes[class] < n {
		class++
	}
	if d, ok := r.spare[class].Get().(*drawer); ok {
		return d
	}
	d := &drawer{fiber: e.schedule.fiber(), of: r.network, class: class}
	own := *r.Loaded
	own.Pool = parallel.New(1) // which takes one call at a time
	d.Drawer = experiment.NewDrawerBy(&own, classes[class], func(int) method.Score { return d })
	return d
}

// keep keeps a drawer for another part, which may have it before keep returns.
func (r *Run) keep(d *drawer) {
	if d.token >= 0 {
		panic("engine: a drawer is handed on before its token")
	}
	r.spare[d.class].Put(d)
}

// A schedule shares a fixed number of tokens among fibers. A fiber with a token computes, and all others wait. A fiber
// that needs scores gives its token back. A waiting fiber with work of its own takes the token. If there is none, the
// token goes to a fiber that waits for scores, and its pass of the network includes the calls of others. So a pass has
// as many rows as there are callers, without a clock: nobody waits for callers that may never come.
//
// At most as many threads compute as there are tokens. A core that Go may use besides stays free for the goroutines
// that answer requests.
type schedule struct {
	mu      sync.Mutex
	tokens  int
	free    []int    // tokens that nobody has
	ready   []*fiber // that wait for a token
	pending []*call  // that wait for a pass, the oldest first

	passes, rows int64 // of the network
}

// A fiber is a goroutine that computes now and then. One goroutine uses it.
type fiber struct {
	s     *schedule
	token int // −1: it has none
	wake  chan struct{}
	batch []*call // the pass that it is to lead
	call  call
}

// A call asks for the scores of a network, and its fiber waits for them.
type call struct {
	ask   score.Ask
	of    *network
	fiber *fiber
	fault any // of a pass that panicked
}

// A network evaluates calls in passes of at most room rows.
type network struct {
	fields []*score.Field[float32] // of each token
	asks   [][]score.Ask           // likewise
	room   int
}

// fewestRows is how many rows a pass takes before others are left for another token: below it a pass takes
// about as long with fewer.
const fewestRows = 8

func newSchedule(tokens int) *schedule {
	s := &schedule{tokens: tokens}
	for t := range tokens {
		s.free = append(s.free, t)
	}
	return s
}

func (s *schedule) fiber() *fiber { return &fiber{s: s, token: -1, wake: make(chan struct{}, 1)} }

// acquire waits for a token.
func (f *fiber) acquire() {
	s := f.s
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		f.token, s.free = s.free[n-1], s.free[:n-1]
		s.mu.Unlock()
		return
	}
	s.ready = append(s.ready, f)
	s.mu.Unlock()
	<-f.wake
}

// release gives the token back.
func (f *fiber) release() {
	s := f.s
	s.mu.Lock()
	t := f.token
	f.token = -1
	s.pass(t, nil)
	s.mu.Unlock()
}

// eval waits for the scores of a call. The fiber has a token before and after.
func (f *fiber) eval(of *network, ask score.Ask) {
	s := f.s
	s.mu.Lock()
	f.call = call{ask: ask, of: of, fiber: f}
	s.pending = append(s.pending, &f.call)
	t := f.token
	f.token = -1
	s.pass(t, f)
	s.mu.Unlock()
	<-f.wake
	if batch := f.batch; batch != nil {
		f.batch = nil
		of.run(f.token, batch)
		s.finish(f, batch)
	}
	if v := f.call.fault; v != nil {
		panic(v)
	}
}

// pass hands a token on: to a fiber with work of its own, else to one that leads a pass, which is by if its own
// call is in it. s.mu is held.
func (s *schedule) pass(token int, by *fiber) {
	if len(s.ready) > 0 {
		f := s.ready[0]
		s.ready = s.ready[1:]
		f.give(token)
		return
	}
	batch := s.take()
	if batch == nil {
		s.free = append(s.free, token)
		return
	}
	leader := batch[0].fiber
	for _, c := range batch {
		if c.fiber == by {
			leader = by
		}
	}
	leader.batch = batch
	leader.give(token)
}

func (f *fiber) give(token int) {
	f.token = token
	f.wake <- struct{}{}
}

// take removes the calls of the next pass from those that wait: of the network of the oldest, a token's share of
// the rows. nil: none waits.
func (s *schedule) take() []*call {
	if len(s.pending) == 0 {
		return nil
	}
	of, waiting := s.pending[0].of, 0
	for _, c := range s.pending {
		if c.of == of {
			waiting += c.ask.N
		}
	}
	share := max(fewestRows, (waiting+s.tokens-1)/s.tokens)
	var batch []*call
	rows, left := 0, s.pending[:0]
	for _, c := range s.pending {
		if c.of == of && (rows == 0 || rows < share && rows+c.ask.N <= of.room) {
			batch, rows = append(batch, c), rows+c.ask.N
		} else {
			left = append(left, c)
		}
	}
	clear(s.pending[len(left):])
	s.pending = left
	s.passes++
	s.rows += int64(rows)
	return batch
}

// finish makes the fibers of a pass go on, but for its leader, which has a token.
func (s *schedule) finish(leader *fiber, batch []*call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range batch {
		if c.fiber == leader {
			continue
		}
		if n := len(s.free); n > 0 {
			t := s.free[n-1]
			s.free = s.free[:n-1]
			c.fiber.give(t)
		} else {
			s.ready = append(s.ready, c.fiber)
		}
	}
}

// run evaluates a pass with the field of a token. A panic is left with each call.
func (n *network) run(token int, batch []*call) {
	defer func() {
		if v := recover(); v != nil {
			for _, c := range batch {
				c.fault = fmt.Sprintf("a pass of the network: %v", v)
			}
		}
	}()
	asks := n.asks[token][:0]
	for _, c := range batch {
		asks = append(asks, c.ask)
	}
	n.fields[token].EvalAll(asks)
	clear(asks)
	n.asks[token] = asks
}
