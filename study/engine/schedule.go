package engine

import (
	"fmt"
	"sync"

	"github.com/landing-diffusion/landing/learn/score"
)

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
