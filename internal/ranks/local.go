package ranks

import (
	"fmt"
	"sync"
)

// Local returns the ranks of a group of goroutines, for tests and for use without MPI. A call that does not match those
// of the other ranks panics on all of them, as all calls do after Abort.
func Local(size int) []Group {
	l := &local{size: size, mail: make(map[[2]int]chan []byte), ended: make(chan struct{})}
	for from := range size {
		for to := range size {
			l.mail[[2]int{from, to}] = make(chan []byte)
		}
	}
	l.met = sync.NewCond(&l.mu)
	var out []Group
	for r := range size {
		out = append(out, &localRank{l, r})
	}
	return out
}

// local is what the ranks of a group share: the meeting of all that is under way.
type local struct {
	size  int
	mail  map[[2]int]chan []byte
	ended chan struct{}

	mu      sync.Mutex
	met     *sync.Cond
	call    string // of those who came
	came    int
	round   uint64
	parts   [][]byte // by rank
	outcome any      // why the group has ended
}

type localRank struct {
	l    *local
	rank int
}

func (r *localRank) Rank() int { return r.rank }
func (r *localRank) Size() int { return r.l.size }

// end makes all present and later calls panic.
func (l *local) end(why any) {
	if l.outcome == nil {
		l.outcome = why
		close(l.ended)
		l.met.Broadcast()
	}
}

// meet waits for all ranks, and returns copies of what each brought; call is the same on all.
func (r *localRank) meet(call string, b []byte) [][]byte {
	l := r.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outcome != nil {
		panic(l.outcome)
	}
	if l.came == 0 {
		l.call, l.parts = call, make([][]byte, l.size)
	}
	if l.call != call {
		l.end(mismatch(r.rank, call, l.call))
		panic(l.outcome)
	}
	parts, round := l.parts, l.round
	parts[r.rank] = append([]byte(nil), b...)
	if l.came++; l.came == l.size {
		l.came = 0
		l.round++
		l.met.Broadcast()
		return parts
	}
	for l.round == round && l.outcome == nil {
		l.met.Wait()
	}
	if l.round == round {
		panic(l.outcome)
	}
	return parts
}

func (r *localRank) Broadcast(from int, b []byte) {
	var mine []byte
	if from == r.rank {
		mine = b
	}
	parts := r.meet(fmt.Sprintf("Broadcast of %d bytes from %d", len(b), from), mine)
	copy(b, parts[from])
}

func (r *localRank) Send(to int, b []byte) {
	select {
	case r.l.mail[[2]int{r.rank, to}] <- append([]byte(nil), b...):
	case <-r.l.ended:
		panic(r.l.outcome)
	}
}

func (r *localRank) Receive(from int, b []byte) {
	select {
	case m := <-r.l.mail[[2]int{from, r.rank}]:
		if len(m) != len(b) {
			r.l.mu.Lock()
			r.l.end(mismatch(r.rank, fmt.Sprintf("Receive of %d bytes", len(b)), fmt.Sprintf("Send of %d", len(m))))
			r.l.mu.Unlock()
			panic(r.l.outcome)
		}
		copy(b, m)
	case <-r.l.ended:
		panic(r.l.outcome)
	}
}

func (r *localRank) Sum32(x []float32) { sum(r, x) }
func (r *localRank) Sum64(x []float64) { sum(r, x) }

// sum adds from the last rank to the first, so that nobody takes its order for that of Fold.
func sum[T float32 | float64](r *localRank, x []T) {
	parts := r.meet(fmt.Sprintf("Sum of %d numbers of %T", len(x), x), View(x))
	y := make([]T, len(x))
	for i := len(parts) - 1; i >= 0; i-- {
		copy(View(y), parts[i])
		for j := range x {
			if i == len(parts)-1 {
				x[j] = y[j]
			} else {
				x[j] += y[j]
			}
		}
	}
}

func (r *localRank) Abort(code int) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.l.end(fmt.Errorf("rank %d has ended the group: code %d", r.rank, code))
}
