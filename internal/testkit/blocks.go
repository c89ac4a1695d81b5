package testkit

import (
	"bytes"
	"io"
	"testing"

	"github.com/landing-diffusion/landing/arrayfile"
)

// InBlocks tests that a writer writes the rows of x, of d numbers each, as the same bytes however they are cut into
// blocks, of which each is gone when the next comes.
func InBlocks(t testing.TB, name string, write func(w io.Writer, rows arrayfile.Rows) error, x []float64, d int) {
	t.Helper()
	var want bytes.Buffer
	if err := write(&want, arrayfile.RowsOf(x, d)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, size := range []int{1, 2, 3} {
		var got bytes.Buffer
		buffer := make([]float64, size*d)
		err := write(&got, arrayfile.Rows{N: len(x) / d, D: d, Blocks: func(yield func([]float64) bool) {
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
