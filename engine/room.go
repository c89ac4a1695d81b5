package engine

import (
	"context"
	"slices"
	"sync"
)

// A room has places for what is at work at a time, and requests stand in line for them: by when their
// samples would be done if all requests that are here were drawn evenly (fair queueing; Demers, Keshav and Shenker
// 1989). So of equal requests the oldest is drawn first, a small one passes large ones, and none waits for ever.
type room struct {
	mu     sync.Mutex
	free   int
	line   []*waiter // by turn, and where it is the same by when they came
	guests int
	now    float64 // samples that each guest would have by now, were all drawn evenly
}

// A guest is a request that has samples left to draw. One goroutine uses it.
type guest struct {
	*room
	left  int     // samples that have no turn yet
	ahead int     // that have one and have not asked for a place
	turn  float64 // of these
}

type waiter struct {
	n, samples int
	turn       float64
	ready      chan struct{} // closed when it has its places
}

// atOnce bounds the samples of one turn: a request of more stands in line again and again.
const atOnce = 4096

// come takes in a request of n samples.
func (r *room) come(n int) *guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guests++
	return &guest{room: r, left: n}
}

// leave ends the stay of a request.
func (g *guest) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guests--
}

// next returns the turn of the request's next n samples.
func (g *guest) next(n int) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ahead <= 0 {
		some := min(g.left, atOnce)
		g.turn = max(g.turn, g.now) + float64(some)
		g.left, g.ahead = g.left-some, g.ahead+some
	}
	g.ahead -= n
	return g.turn
}

// enter waits for n places, at most as many as there are, to draw some samples. The error is the context's: then it has
// no place.
func (r *room) enter(ctx context.Context, n, samples int, turn float64) error {
	r.mu.Lock()
	w := &waiter{n, samples, turn, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(r.line, w, func(a, b *waiter) int {
		if a.turn <= b.turn {
			return -1
		}
		return 1
	})
	r.line = slices.Insert(r.line, at, w)
	r.admit()
	r.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-w.ready: // at the same time
		r.free += n
	default:
		r.line = slices.DeleteFunc(r.line, func(o *waiter) bool { return o == w })
	}
	r.admit()
	return ctx.Err()
}

// full reports whether all places are taken.
func (r *room) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.free == 0
}

// exit gives n places back.
func (r *room) exit(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	r.admit()
}

// admit lets in who is next, as long as there are places. r.mu is held.
func (r *room) admit() {
	for len(r.line) > 0 && r.line[0].n <= r.free {
		w := r.line[0]
		r.line = slices.Delete(r.line, 0, 1)
		r.free -= w.n
		r.now += float64(w.samples) / float64(max(1, r.guests))
		close(w.ready)
	}
}
