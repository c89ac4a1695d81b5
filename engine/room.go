package engine

import (
	"container/list"
	"context"
	"sync"
)

// A room has so many places, which are taken in the order in which they are asked for.
type room struct {
	mu   sync.Mutex
	free int
	line list.List // of *waiter
}

type waiter struct {
	n     int
	ready chan struct{} // closed when it has its places
}

// enter waits for n places, at most as many as there are. The error is the context's: then it has none.
func (r *room) enter(ctx context.Context, n int) error {
	r.mu.Lock()
	if r.line.Len() == 0 && r.free >= n {
		r.free -= n
		r.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	at := r.line.PushBack(w)
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
		r.line.Remove(at)
	}
	r.admit()
	return ctx.Err()
}

// leave gives n places back.
func (r *room) leave(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	r.admit()
}

func (r *room) admit() {
	for at := r.line.Front(); at != nil; at = r.line.Front() {
		w := at.Value.(*waiter)
		if r.free < w.n {
			return
		}
		r.free -= w.n
		r.line.Remove(at)
		close(w.ready)
	}
}
