//go:build mpi

package mpi

/*
#include <mpi.h>
#include <stdint.h>

// Names of MPI are macros, or their types differ from one MPI to the next: Go sees functions of plain C types.
static int start(int *level) { return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level); }
static int serialized(void) { return MPI_THREAD_SERIALIZED; }
static void place(int *rank, int *size) {
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, size);
}
static void broadcast(int from, void *b, int n) { MPI_Bcast(b, n, MPI_BYTE, from, MPI_COMM_WORLD); }
static void give(int to, void *b, int n) { MPI_Send(b, n, MPI_BYTE, to, 0, MPI_COMM_WORLD); }
static void take(int from, void *b, int n) {
	MPI_Recv(b, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sum32(void *x, int n) { MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void sum64(void *x, int n) { MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void end(void) { MPI_Finalize(); }
static void quit(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/landing-diffusion/landing/internal/ranks"
)

// group is the group of all processes of the job. Where one is lost, MPI ends the others: that is its default.
type group struct{ rank, size int }

// Start joins the processes of the job. Calls of the group may come from any thread, one at a time, so that Go may
// move its goroutines.
func Start() (ranks.Group, error) {
	var level, rank, size C.int
	if C.start(&level) != 0 {
		return nil, errors.New("mpi: it cannot be started")
	}
	if level < C.serialized() {
		C.quit(1)
		return nil, errors.New("mpi: this MPI takes calls of one thread alone; expected MPI_THREAD_SERIALIZED")
	}
	C.place(&rank, &size)
	return &group{int(rank), int(size)}, nil
}

// Stop leaves the job; all processes call it.
func Stop() { C.end() }

func (g *group) Rank() int { return g.rank }
func (g *group) Size() int { return g.size }

// most is how many bytes go at a time: MPI counts in ints.
const most = 1 << 30

func pieces[T any](x []T, each func(at unsafe.Pointer, n C.int)) {
	size := int(unsafe.Sizeof(*new(T)))
	for len(x) > 0 {
		n := min(len(x), most/size)
		each(unsafe.Pointer(&x[0]), C.int(n))
		x = x[n:]
	}
}

func (g *group) Broadcast(from int, b []byte) {
	pieces(b, func(at unsafe.Pointer, n C.int) { C.broadcast(C.int(from), at, n) })
}

func (g *group) Send(to int, b []byte) {
	pieces(b, func(at unsafe.Pointer, n C.int) { C.give(C.int(to), at, n) })
}

func (g *group) Receive(from int, b []byte) {
	pieces(b, func(at unsafe.Pointer, n C.int) { C.take(C.int(from), at, n) })
}

func (g *group) Sum32(x []float32) { pieces(x, func(at unsafe.Pointer, n C.int) { C.sum32(at, n) }) }
func (g *group) Sum64(x []float64) { pieces(x, func(at unsafe.Pointer, n C.int) { C.sum64(at, n) }) }

func (g *group) Abort(code int) { C.quit(C.int(code)) }
