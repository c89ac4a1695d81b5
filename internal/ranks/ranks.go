// Package ranks is a fixed group of processes that do one piece of work together, each known by its number: what
// they say to each other, and no more. Rank 0 decides and the others follow: it tells what comes next by an Order,
// and every rank then does it.
//
// Of the two implementations, Local is goroutines of one process, and internal/ranks/mpi is MPI, behind a build tag.
// A call has no error: where a rank is lost the group ends, and its processes with it.
package ranks

import (
	"fmt"
	"unsafe"
)

// A Group is how one rank sees its group. Calls are made by one goroutine at a time. Broadcast, Sum32 and Sum64
// return on a rank when it has its result; all ranks call them in the same order.
type Group interface {
	Rank() int // from 0
	Size() int
	// Broadcast gives the bytes of a rank to all others; all know how many there are.
	Broadcast(from int, b []byte)
	// Send and Receive move bytes from one rank to another, in the order of the calls. Send may wait for Receive.
	Send(to int, b []byte)
	Receive(from int, b []byte)
	// Sum32 and Sum64 replace x by its sum over ranks, in an order of the implementation's own.
	Sum32(x []float32)
	Sum64(x []float64)
	// Abort ends all processes of the group with an exit code: a rank can go on no more.
	Abort(code int)
}

// A Part is a rank that does its part of the work and tells nobody: of its Group only Rank and Size can be called.
type Part struct {
	Group
	Number, Of int
}

func (p Part) Rank() int { return p.Number }
func (p Part) Size() int { return p.Of }

// Joined reports whether the ranks of a group tell each other what they did.
func Joined(g Group) bool { _, alone := g.(Part); return !alone }

// Share gives all ranks the entries that each has: own are those of the calling rank, which no other has. All others
// must be 0 there, and are exact sums of zeros and one number.
func Share(g Group, x []float64, own func(i int) bool) {
	for i := range x {
		if !own(i) {
			x[i] = 0
		}
	}
	g.Sum64(x)
}

// Cut returns the part [lo, hi) of n things that a rank of size has; parts are in order and differ by one at most.
func Cut(n, rank, size int) (lo, hi int) { return rank * n / size, (rank + 1) * n / size }

// An Order is what rank 0 tells the others to do: what, and numbers that it takes.
type Order struct {
	Op   uint64
	Args [11]uint64
}

// Tell gives an order to all ranks.
func Tell(g Group, o Order) { g.Broadcast(0, View([]Order{o})) }

// Hear waits for the next order of rank 0.
func Hear(g Group) Order {
	o := make([]Order, 1)
	g.Broadcast(0, View(o))
	return o[0]
}

// GiveBytes gives the bytes of a rank to all others, who need not know how many there are and give nil. It returns
// them on all ranks.
func GiveBytes(g Group, from int, b []byte) []byte {
	n := []uint64{uint64(len(b))}
	g.Broadcast(from, View(n))
	if g.Rank() != from {
		b = make([]byte, n[0])
	}
	g.Broadcast(from, b)
	return b
}

// SendBytes sends bytes to a rank that does not know how many there are; it calls ReceiveBytes.
func SendBytes(g Group, to int, b []byte) {
	g.Send(to, View([]uint64{uint64(len(b))}))
	g.Send(to, b)
}

// ReceiveBytes returns the bytes of SendBytes.
func ReceiveBytes(g Group, from int) []byte {
	n := make([]uint64, 1)
	g.Receive(from, View(n))
	b := make([]byte, n[0])
	g.Receive(from, b)
	return b
}

// View returns the memory of x as bytes. T has no pointers. Ranks are of one architecture.
func View[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// Sum replaces x by its sum over ranks.
func Sum[T float32 | float64](g Group, x []T) {
	switch x := any(x).(type) {
	case []float32:
		g.Sum32(x)
	case []float64:
		g.Sum64(x)
	}
}

// Fold adds numbered parts of ranks in their order: x ← (((p_0 + p_1) + …) + p_n), those of rank 0 first. add adds the
// calling rank's parts to x[lo:hi], one after the other; on rank 0 the first part replaces a sum. The sum goes from
// rank to rank in pieces of `piece` numbers, so that the ranks work at once. Ranks from last on have no parts. All have
// the same bytes in x at the end.
func Fold[T float32 | float64](g Group, x []T, last, piece int, add func(lo, hi int)) {
	rank := g.Rank()
	for lo := 0; rank < last && lo < len(x); lo += piece {
		hi := min(lo+piece, len(x))
		if rank > 0 {
			g.Receive(rank-1, View(x[lo:hi]))
		}
		add(lo, hi)
		if rank < last-1 {
			g.Send(rank+1, View(x[lo:hi]))
		}
	}
	g.Broadcast(last-1, View(x))
}

// mismatch is an error of ranks of a group that do not stand at the same call: a fault of the program.
func mismatch(rank int, call, other string) error {
	return fmt.Errorf("rank %d is at %s where another is at %s", rank, call, other)
}
