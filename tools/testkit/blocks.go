package testkit

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"testing"
)

// blocks are arrayfile.Rows, whose package this one is to test.
type blocks interface {
	~struct {
		N, D   int
		Blocks iter.Seq[[]float64]
	}
}

// InBlocks tests that a writer writes the rows of x, of d numbers each, as the same bytes however they are cut into
// blocks. Each block is overwritten when the next comes.
func InBlocks[R blocks](t testing.TB, name string, write func(w io.Writer, rows R) error, x []float64, d int) {
	t.Helper()
	var want bytes.Buffer
	if err := write(&want, R{len(x) / d, d, slices.Values([][]float64{x})}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, size := range []int{1, 2, 3} {
		var got bytes.Buffer
		buffer := make([]float64, size*d)
		err := write(&got, R{len(x) / d, d, func(yield func([]float64) bool) {
			for at := 0; at < len(x); at += len(buffer) {
				if !yield(buffer[:copy(buffer, x[at:])]) {
					return
				}
			}
		}})
		if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: in blocks of %d rows it has %d bytes, others than the %d of one block (%v)", name, size,
				got.Len(), want.Len(), err)
		}
	}
}
