package ranks

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// each runs f on every rank of a local group and returns what it panicked with, by rank.
func each(size int, f func(g Group)) []any {
	caught := make([]any, size)
	var wait sync.WaitGroup
	for r, g := range Local(size) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() { caught[r] = recover() }()
			f(g)
		}()
	}
	wait.Wait()
	return caught
}

func calm(t *testing.T, caught []any) {
	t.Helper()
	for r, v := range caught {
		if v != nil {
			t.Errorf("rank %d: %v", r, v)
		}
	}
}

// Every rank gets what another one said.
func TestWords(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		calm(t, each(size, func(g Group) {
			for from := range size {
				b := []byte{0, 0}
				if g.Rank() == from {
					b = []byte{byte(from), 7}
				}
				if g.Broadcast(from, b); !bytes.Equal(b, []byte{byte(from), 7}) {
					t.Errorf("%d ranks: rank %d heard %v from %d", size, g.Rank(), b, from)
				}
			}
			if g.Rank() == 0 {
				Tell(g, Order{Op: 3, Args: [11]uint64{10: 9}})
				GiveBytes(g, 0, []byte("some words"))
				for r := 1; r < size; r++ {
					if b := ReceiveBytes(g, r); !bytes.Equal(b, bytes.Repeat([]byte{byte(r)}, r)) {
						t.Errorf("%d ranks: rank %d sent %v", size, r, b)
					}
				}
				return
			}
			if o := Hear(g); o.Op != 3 || o.Args[10] != 9 {
				t.Errorf("rank %d heard %+v", g.Rank(), o)
			}
			if b := GiveBytes(g, 0, nil); string(b) != "some words" {
				t.Errorf("rank %d heard %q", g.Rank(), b)
			}
			SendBytes(g, 0, bytes.Repeat([]byte{byte(g.Rank())}, g.Rank()))
		}))
	}
}

func TestShare(t *testing.T) {
	const n = 7
	for _, size := range []int{1, 3, 9} {
		calm(t, each(size, func(g Group) {
			lo, hi := Cut(n, g.Rank(), size)
			x := make([]float64, n)
			for i := range x {
				x[i] = -1 // which others must not see
				if i >= lo && i < hi {
					x[i] = float64(i) + 0.1
				}
			}
			Share(g, x, func(i int) bool { return i >= lo && i < hi })
			for i, v := range x {
				if v != float64(i)+0.1 {
					t.Errorf("%d ranks: entry %d is %v on rank %d", size, i, v, g.Rank())
				}
			}
		}))
	}
}

// Parts of a thing are all of it, once each.
func TestCut(t *testing.T) {
	for _, n := range []int{0, 1, 5, 16} {
		for size := 1; size <= 20; size++ {
			at := 0
			for r := range size {
				lo, hi := Cut(n, r, size)
				if lo != at || hi < lo || hi-lo > (n+size-1)/size {
					t.Fatalf("rank %d of %d has [%d, %d) of %d", r, size, lo, hi, n)
				}
				at = hi
			}
			if at != n {
				t.Fatalf("%d ranks have %d of %d", size, at, n)
			}
		}
	}
}

// parts returns n arrays of numbers of very different sizes, whose sum is another one in another order.
func parts(n, length int) [][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]float32, n)
	for i := range out {
		for range length {
			out[i] = append(out[i], (r.Float32()-0.5)*float32([]int{1, 1000, 1_000_000}[r.IntN(3)]))
		}
	}
	return out
}

// inOrder adds parts of numbers in the order given.
func inOrder(p [][]float32, order []int) []float32 {
	x := slices.Clone(p[order[0]])
	for _, i := range order[1:] {
		for j, v := range p[i] {
			x[j] += v
		}
	}
	return x
}

// folded returns what Fold gives the ranks of a group, whose parts lie in the order given.
func folded(t *testing.T, p [][]float32, order []int, size, piece int) [][]float32 {
	t.Helper()
	last := min(size, len(order))
	out := make([][]float32, size)
	calm(t, each(size, func(g Group) {
		x := make([]float32, len(p[0]))
		var own []int
		if g.Rank() < last {
			lo, hi := Cut(len(order), g.Rank(), last)
			own = order[lo:hi]
		}
		if g.Rank() == 0 {
			copy(x, p[own[0]])
			own = own[1:]
		}
		Fold(g, x, last, piece, func(lo, hi int) {
			for _, i := range own {
				for j := lo; j < hi; j++ {
					x[j] += p[i][j]
				}
			}
		})
		out[g.Rank()] = x
	}))
	return out
}

// The sum of numbered parts has the same bytes at any number of ranks and in pieces of any size, on every rank. The
// numbers are such that another order, or a part that is missed or comes twice, gives others.
func TestFoldIsInOrder(t *testing.T) {
	const n, length = 16, 100
	p := parts(n, length)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	want := inOrder(p, order)
	for _, size := range []int{1, 2, 3, 4, 7, 16, 20} {
		for _, piece := range []int{1, 33, length, 1000} {
			for r, x := range folded(t, p, order, size, piece) {
				if !slices.Equal(x, want) {
					t.Fatalf("%d ranks, pieces of %d: rank %d has another sum", size, piece, r)
				}
			}
		}
	}
	swapped := slices.Clone(order)
	swapped[3], swapped[9] = swapped[9], swapped[3]
	for fault, order := range map[string][]int{
		"two parts in turned order": swapped, "a part missed": order[:n-1],
		"a part twice": append(slices.Clone(order), 4),
	} {
		if x := folded(t, p, order, 3, 33)[0]; slices.Equal(x, want) {
			t.Errorf("%s gives the same sum: the numbers tell nothing", fault)
		}
	}
	calm(t, each(3, func(g Group) { // the implementation's own order is another one
		x := slices.Clone(p[g.Rank()])
		if g.Sum32(x); slices.Equal(x, inOrder(p, []int{0, 1, 2})) {
			t.Error("Sum32 adds as Fold does: a test that takes one for the other sees nothing")
		}
	}))
}

// Ranks at different calls get an error instead of waiting for ever, and so do the ranks of a group that lost one.
func TestFaultsEndTheGroup(t *testing.T) {
	for what, f := range map[string]func(g Group){
		"another call": func(g Group) {
			if g.Rank() == 1 {
				g.Sum64(make([]float64, 1))
			}
			g.Broadcast(0, make([]byte, 8))
		},
		"another length": func(g Group) { g.Broadcast(0, make([]byte, 8+g.Rank())) },
		"a message of another length": func(g Group) {
			if g.Rank() == 0 {
				g.Send(1, make([]byte, 3))
			} else if g.Rank() == 1 {
				g.Receive(0, make([]byte, 4))
			}
			g.Sum64(make([]float64, 1))
		},
		"a rank that ends the group": func(g Group) {
			if g.Rank() == 2 {
				g.Abort(5)
			}
			g.Sum64(make([]float64, 1))
		},
	} {
		for r, v := range each(3, f) {
			err, _ := v.(error)
			want := "where another is at"
			if what == "a rank that ends the group" {
				want = "rank 2 has ended the group: code 5"
			}
			testkit.Refused(t, err, want, what, ": rank ", r)
		}
	}
}
