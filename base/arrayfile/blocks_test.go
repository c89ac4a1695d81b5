package arrayfile

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Rows in blocks are the bytes of EncodeNPY, and are read back in other pieces.
func TestRows(t *testing.T) {
	x := make([]float64, 3*7001) // more than one chunk
	for i := range x {
		x[i] = math.Sqrt(float64(i))
	}
	var want, got bytes.Buffer
	testkit.OK(t, EncodeNPY(&want, Array{Shape: []int{7001, 3}, Float64: x}))
	cut := Rows{7001, 3, slices.Chunk(x, 300)}
	if err := EncodeNPYRows(&got, []int{7001, 3}, cut); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("other bytes in blocks, %v", err)
	}
	n := 0
	for i, row := range cut.Each() {
		if i != n || !slices.Equal(row, x[3*i:3*i+3]) {
			t.Fatalf("row %d is %v, behind %d", i, row, n)
		}
		n++
	}
	testkit.Equal(t, n, 7001)
	firsts := cut.Map(1, func(x []float64) (out []float64) {
		for ; len(x) > 0; x = x[3:] {
			out = append(out, x[0])
		}
		return out
	})
	for i, row := range firsts.Each() {
		if len(row) != 1 || row[0] != x[3*i] {
			t.Fatalf("row %d is %v", i, row)
		}
		if i == 5 {
			break
		}
	}
	for _, size := range []int{1, 64, 9000, 100_000} {
		r, err := NewNPYReader(bytes.NewReader(want.Bytes()))
		if err != nil || !slices.Equal(r.Shape, []int{7001, 3}) {
			t.Fatal(err)
		}
		var back []float64
		for buf := make([]float64, size); ; {
			n := testkit.Must(r.Next(buf))
			if back = append(back, buf[:n]...); n < size {
				break
			}
		}
		testkit.EqualSlices(t, back, x, "pieces of %d are not what was written", size)
		if n, err := r.Next(make([]float64, 1)); n != 0 || err != nil {
			t.Errorf("behind the end: %d, %v", n, err)
		}
	}
	for _, n := range []int{len(x) - 3, 0} {
		if err := EncodeNPYRows(&got, []int{7001, 3}, RowsOf(x[:n], 3)); err == nil {
			t.Errorf("%d of %d elements are taken", n, len(x))
		}
	}
	if err := EncodeNPYRows(&got, []int{7000, 3}, RowsOf(x, 3)); err == nil {
		t.Error("too many elements are taken")
	}
	short := testkit.Must(NewNPYReader(bytes.NewReader(want.Bytes()[:want.Len()-1])))
	if _, err := short.Next(make([]float64, len(x))); !errors.Is(err, ErrTruncated) {
		t.Errorf("a file that ends too early: %v", err)
	}
	for _, a := range []Array{{Shape: []int{1}, Float32: []float32{1}}, {Shape: []int{1}, Int64: []int64{1}}} {
		var b bytes.Buffer
		testkit.OK(t, EncodeNPY(&b, a))
		testkit.Refused(t, testkit.Err(NewNPYReader(&b)), "'<f8'")
	}
}
