package arrayfile

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

// drawArray draws an array of any type. Floating-point numbers are any bits, NaNs included.
func drawArray(t *rapid.T) Array {
	a := Array{Shape: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape")}
	n := 1
	for _, s := range a.Shape {
		n *= s
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		a.Float32 = make([]float32, n)
		for i, v := range rapid.SliceOfN(rapid.Uint32(), n, n).Draw(t, "bits") {
			a.Float32[i] = math.Float32frombits(v)
		}
	case 1:
		a.Float64 = make([]float64, n)
		for i, v := range rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "bits") {
			a.Float64[i] = math.Float64frombits(v)
		}
	case 2:
		a.Int64 = rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "int64")
	}
	return a
}

// same reports whether two arrays have the same shape, type and bits.
func same(a, b Array) bool {
	bits := func(a Array) []uint64 {
		var u []uint64
		for _, v := range a.Float32 {
			u = append(u, uint64(math.Float32bits(v)))
		}
		for _, v := range a.Float64 {
			u = append(u, math.Float64bits(v))
		}
		return u
	}
	ka, errA := a.kind()
	kb, errB := b.kind()
	return errA == nil && errB == nil && ka == kb && slices.Equal(a.Shape, b.Shape) &&
		slices.Equal(bits(a), bits(b)) && slices.Equal(a.Int64, b.Int64)
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// checkTruncations decodes every proper prefix of data.
func checkTruncations(t *testing.T, data []byte, decode func(b []byte) error) {
	t.Helper()
	for n := range data {
		err := decode(data[:n])
		if !errors.Is(err, ErrTruncated) {
			t.Errorf("first %d of %d bytes: error %v, want ErrTruncated", n, len(data), err)
		}
	}
	if err := decode(data); err != nil {
		t.Errorf("all %d bytes: %v", len(data), err)
	}
}

func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	testkit.Refused(t, err, want, what)
}

func TestAsFloat64(t *testing.T) {
	for _, c := range []struct {
		a    Array
		want []float64
	}{
		{Array{Float32: []float32{1.5, -2}}, []float64{1.5, -2}},
		{Array{Int64: []int64{-1 << 40, 2}}, []float64{-1 << 40, 2}},
		{Array{}, nil},
	} {
		testkit.EqualSlices(t, c.a.AsFloat64(), c.want, "AsFloat64 of %+v", c.a)
		testkit.Equal(t, c.a.Len(), len(c.want), "Len of %+v", c.a)
	}
	x := []float64{1, 2}
	if got := (Array{Float64: x}).AsFloat64(); &got[0] != &x[0] {
		t.Error("AsFloat64 of float64 is a copy")
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		a    Array
		want string
	}{
		{"no data", Array{Shape: []int{0}}, "0 data slices"},
		{"two slices", Array{Shape: []int{1}, Float32: []float32{1}, Int64: []int64{1}}, "2 data slices"},
		{"too few", Array{Shape: []int{2, 3}, Float32: make([]float32, 5)}, "5 elements, expected 6 for shape (2, 3)"},
		{"negative", Array{Shape: []int{-1}, Int64: []int64{}}, "negative dimension"},
		{"overflow", Array{Shape: []int{1 << 32, 1 << 32}, Int64: []int64{}}, "larger than any memory"},
		{"many dimensions", Array{Shape: make([]int, 65), Int64: []int64{}}, "65 dimensions"},
	} {
		var b bytes.Buffer
		wantError(t, c.name, EncodeNPY(&b, c.a), c.want)
		wantError(t, c.name, EncodeSafetensors(&b, []Named{{"a", c.a}}, nil), c.want)
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written before the error", c.name, b.Len())
		}
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return w.left, errors.New("disk is full")
	}
	w.left -= len(b)
	return len(b), nil
}

func TestEncodeReportsWriteErrors(t *testing.T) {
	a := Array{Shape: []int{20000}, Float64: make([]float64, 20000)}
	for _, left := range []int{0, 100, 128, 1 << 16, 150000} {
		wantError(t, "NPY", EncodeNPY(&failingWriter{left}, a), "disk is full")
		wantError(t, "safetensors", EncodeSafetensors(&failingWriter{left}, []Named{{"a", a}}, nil), "disk is full")
	}
}

// Arrays of several chunks, and not a whole number of them.
func TestLargeArrays(t *testing.T) {
	n := 3*chunk/8 + 5
	a := Array{Shape: []int{n}, Float64: make([]float64, n)}
	for i := range a.Float64 {
		a.Float64[i] = math.Sqrt(float64(i))
	}
	var b bytes.Buffer
	testkit.OK(t, EncodeNPY(&b, a))
	if got, err := DecodeNPY(&b); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("NPY: the array came back different (error %v)", err)
	}
	b.Reset()
	testkit.OK(t, EncodeSafetensors(&b, []Named{{"a", a}}, nil))
	if got, _, err := DecodeSafetensors(&b); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Array, a) {
		t.Errorf("safetensors: the array came back different (error %v)", err)
	}
}

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
