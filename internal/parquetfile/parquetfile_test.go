package parquetfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func written(t testing.TB, names []string, parts ...[]float64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, names)
	for _, p := range parts {
		testkit.OK(t, w.Write(p))
	}
	testkit.OK(t, w.Close())
	return b.Bytes()
}

func read(b []byte, columns ...int) (*File, []float64, error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	if columns == nil {
		for i := range f.Columns {
			columns = append(columns, i)
		}
	}
	x, err := f.Read(columns, 1<<24)
	return f, x, err
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// What is written comes back to the last bit, columns in their order, and its bytes do not depend on how the rows came.
func TestRoundTrip(t *testing.T) {
	names := []string{"x0", "x1", "x2", "x10", "b", "a"}
	const n = groupRows + 777
	x := make([]float64, n*len(names))
	for i := range x {
		x[i] = math.Sin(float64(i)) * math.Pow(10, float64(i%600-300))
	}
	x[7], x[8], x[9] = math.Inf(1), math.Copysign(0, -1), math.MaxFloat64
	whole := written(t, names, x)
	cut := 6 * 1234
	testkit.EqualSlices(t, whole, written(t, names, x[:6], x[6:cut], x[cut:]), "the bytes depend on how the rows came")
	f, got, err := read(whole)
	testkit.OK(t, err)
	if f.Rows != n || !same(got, x) {
		t.Errorf("%d rows, or others", f.Rows)
	}
	for j, c := range f.Columns {
		if c.Name != names[j] || !c.Numbers || c.Type != "float64" {
			t.Errorf("column %d is %+v", j, c)
		}
	}
	_, two, err := read(whole, 3, 0)
	if err != nil || two[2*9] != x[6*9+3] || two[2*9+1] != x[6*9] {
		t.Errorf("columns 3 and 0: %v", err)
	}
	if _, got, err := read(written(t, names)); err != nil || len(got) != 0 {
		t.Errorf("no rows: %v, %v", got, err)
	}
}

type every struct {
	Double   float64  `parquet:"double"`
	Float    float32  `parquet:"float"`
	Int32    int32    `parquet:"int32"`
	Int64    int64    `parquet:"int64"`
	Uint32   uint32   `parquet:"uint32"`
	Uint64   uint64   `parquet:"uint64"`
	Missing  *float64 `parquet:"missing,optional"`
	Few      float64  `parquet:"few,dict"`
	FewThere *int64   `parquet:"few_there,optional,dict"`
	Split    float64  `parquet:"split,split"`
	Snappy   float64  `parquet:"snappy,snappy"`
	Gzip     float64  `parquet:"gzip,gzip,dict"`
	Zstd     float32  `parquet:"zstd,zstd"`
}

// Files of another writer, with every type, encoding and compression that is read, in pages of both versions.
func TestForeign(t *testing.T) {
	const n = 5000
	var rows []every
	want := make([]float64, 0, 13*n)
	for i := range n {
		v := math.Sin(float64(i))
		r := every{v, float32(v), int32(-i), int64(i) << 40, math.MaxUint32 - uint32(i), 1 << 53, nil, float64(i % 7),
			nil, v / 3, math.Round(v), float64(i % 300), float32(i)}
		row := []float64{v, float64(float32(v)), float64(-i), float64(int64(i) << 40),
			float64(math.MaxUint32 - uint32(i)), 1 << 53, math.NaN(), float64(i % 7), math.NaN(), v / 3,
			math.Round(v), float64(i % 300), float64(i)}
		if i%3 == 0 {
			k := int64(i % 5)
			r.Missing, r.FewThere, row[6], row[8] = &v, &k, v, float64(k)
		}
		rows, want = append(rows, r), append(want, row...)
	}
	for version := 1; version <= 2; version++ {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[every](&b, parquet.DataPageVersion(version), parquet.PageBufferSize(4096),
			parquet.MaxRowsPerRowGroup(1777))
		testkit.Must(w.Write(rows))
		testkit.OK(t, w.Close())
		f, got, err := read(b.Bytes())
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		for i := range want {
			if a, b := got[i], want[i]; a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Fatalf("version %d: row %d, column %s: %v, want %v", version, i/13, f.Columns[i%13].Name, a, b)
			}
		}
	}
}

// A whole number that float64 rounds is an error with its row, in plain pages and in dictionaries, of whatever row
// group. It is missing if the reader is set to that.
func TestBeyond(t *testing.T) {
	type ids struct {
		A int64  `parquet:"a"`
		B uint64 `parquet:"b"`
		C int64  `parquet:"c,dict"`
		D int64  `parquet:"d,optional"`
	}
	const n = 50
	for at, set := range []func(r *ids){func(r *ids) { r.A = 1<<53 + 1 }, func(r *ids) { r.B = 1<<63 + 1 },
		func(r *ids) { r.C = -1 << 60 }, func(r *ids) { r.D = math.MinInt64 }} {
		rows := make([]ids, n)
		for i := range rows {
			rows[i] = ids{1 << 53, 1 << 53, -1 << 53, int64(i)}
		}
		set(&rows[37])
		var b bytes.Buffer
		w := parquet.NewGenericWriter[ids](&b, parquet.MaxRowsPerRowGroup(20))
		w.Write(rows)
		testkit.OK(t, w.Close())
		f, _, err := read(b.Bytes())
		e := new(NumberError)
		if !errors.As(err, &e) || e.Row != 37 || e.Column != string(rune('a'+at)) || len(e.Value) < 16 {
			t.Errorf("column %d: %v", at, err)
			continue
		}
		asked := 0
		x, err := f.ReadAll([]int{3, 2, 1, 0}, 1<<20, func(_ *NumberError, k int) error {
			asked += k + 1
			return nil
		})
		if err != nil || asked != 4-at || !math.IsNaN(x[37*4+3-at]) || x[36*4+3-at] != x[38*4+3-at] && at < 3 {
			t.Errorf("column %d, asked at %d: %v, %v", at, asked, x[37*4:38*4], err)
		}
	}
}

// Rows are as wide as they may be: the reader takes what the writer makes of them, to the last bit.
func TestWide(t *testing.T) {
	names := make([]string, wide+44)
	for j := range names {
		names[j] = fmt.Sprintf("column %d's \"name\", größer", j)
	}
	x := make([]float64, len(names)*(groupRows/4+5))
	for i := range x {
		x[i] = float64(i)
	}
	f, got, err := read(written(t, names, x))
	if err != nil || !same(got, x) || len(f.file.RowGroups()) != 2 || f.Columns[7].Name != names[7] {
		t.Errorf("%d groups, %v", len(f.file.RowGroups()), err)
	}
}

// What is read of a file is not much more than it has, however many pages that are.
func TestManyPages(t *testing.T) {
	type one struct {
		X float64 `parquet:"x"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[one](&b, parquet.PageBufferSize(8))
	for i := range 3000 {
		w.Write([]one{{float64(i)}})
	}
	testkit.OK(t, w.Close())
	r := &counting{bytes.NewReader(b.Bytes()), 0}
	f := testkit.Must(Open(r, int64(b.Len())))
	x, err := f.Read([]int{0}, 3000)
	if err != nil || x[2999] != 2999 {
		t.Fatal(err)
	}
	if most := 300*3000 + 2*b.Len(); r.n > most {
		t.Errorf("%d bytes are read of %d", r.n, b.Len())
	}
}

// Headers of pages may be long, by words of their writer's own, up to a bound.
func TestLongHeaders(t *testing.T) {
	for _, n := range []int{0, 10, 250, 300, 1500, 60000, maxHeader} {
		// Fields 1 to 3: a data page of 7 bytes, packed in 7; then field 9, bytes.
		b := slices.Concat([]byte("before"), []byte{0x15, 0, 0x15, 14, 0x15, 14, 0x68})
		b = append(binary.AppendUvarint(b, uint64(n)), make([]byte, n+1)...)
		end := len(b)
		b = append(b, "behind"...)
		header, length, err := (&File{r: bytes.NewReader(b)}).header(6, int64(len(b)))
		if n == maxHeader {
			if err == nil {
				t.Errorf("a header of %d bytes is read", n)
			}
		} else if err != nil || length != end-6 || header.CompressedPageSize != 7 {
			t.Errorf("a header of %d bytes: %d long, %v", n, length, err)
		}
	}
}

type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.n += n
	return n, err
}

// The error names columns without numbers.
func TestKinds(t *testing.T) {
	type odd struct {
		Number float64   `parquet:"number"`
		Word   string    `parquet:"word"`
		List   []float64 `parquet:"list"`
		Inner  struct {
			A float64 `parquet:"a"`
			B string  `parquet:"b"`
		} `parquet:"inner"`
		Is   bool    `parquet:"is"`
		Day  int32   `parquet:"day,date"`
		Last float64 `parquet:"last"`
	}
	var b bytes.Buffer
	testkit.OK(t, parquet.Write(&b, []odd{{Number: 1, List: []float64{1, 2}, Last: 5}, {Number: 3, Last: 7}}))
	f := testkit.Must(Open(bytes.NewReader(b.Bytes()), int64(b.Len())))
	want := []string{"number float64", "word a string", "list a list", "inner a structure", "is a boolean",
		"day a date", "last float64"}
	for i, c := range f.Columns {
		testkit.Equal(t, c.Name+" "+c.Type, want[i], "column %d", i)
		_, err := f.Read([]int{i}, 100)
		if e := new(Error); !c.Numbers != errors.As(err, &e) || e.Column != "" && e.Column != c.Name {
			t.Errorf("column %s: %v", c.Name, err)
		}
	}
	half := Column{logical: new(format.Float16Type)} // parquet-go writes none
	half.describe(f.file.Root().Columns()[0])
	testkit.Equal(t, half.Type, "float16")
	x, err := f.Read([]int{6, 0}, 100)
	if err != nil || !slices.Equal(x, []float64{5, 1, 7, 3}) {
		t.Errorf("columns beside nested ones: %v, %v", x, err)
	}
}

// Compressions that are not read are named, and pages that unpack to more than they say are refused.
func TestPacked(t *testing.T) {
	for name, codec := range map[string]compress.Codec{"brotli": &parquet.Brotli, "lz4": &parquet.Lz4Raw} {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[struct{ X float64 }](&b, parquet.Compression(codec))
		w.Write([]struct{ X float64 }{{1}, {2}})
		testkit.OK(t, w.Close())
		if _, _, err := read(b.Bytes()); err == nil || !strings.Contains(err.Error(), "Zstandard") {
			t.Errorf("%s: %v", name, err)
		}
	}
	zeros := make([]byte, 64<<20)
	for name, codec := range map[format.CompressionCodec]compress.Codec{format.Gzip: &parquet.Gzip,
		format.Zstd: &parquet.Zstd, format.Snappy: &parquet.Snappy} {
		bomb := testkit.Must(codec.Encode(nil, zeros))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := unpack(name, bomb, 1000); err == nil {
			t.Errorf("codec %d: 64 MB from a page of 1000 bytes", name)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
			t.Errorf("codec %d: a page of 1000 bytes took %d bytes of memory", name, grown)
		}
	}
}

// A footer that promises more than a file of its size can hold is refused before there is room made for it.
func TestPromises(t *testing.T) {
	b := written(t, []string{"x"}, make([]float64, 100))
	at := bytes.LastIndex(b, []byte{0x16, 0xc8, 0x01}) // 100 rows, zigzag, of the file
	if at < 0 {
		t.Fatal("no count of rows")
	}
	many := slices.Concat(b[:at+1], []byte{0x80, 0x80, 0x80, 0x80, 0x20}, b[at+3:])
	size := len(many)
	many[size-8] += 3
	if _, err := Open(bytes.NewReader(many), int64(size)); err == nil {
		t.Error("a file of 100 rows that says 2³² is read")
	}
	if _, err := (&File{Rows: 1 << 30, Columns: []Column{{}}, size: 1000}).Read([]int{0}, 1<<40); err == nil {
		t.Error("2³⁰ rows in 1000 bytes")
	}
	f := testkit.Must(Open(bytes.NewReader(b), int64(len(b))))
	if _, err := f.Read([]int{0}, 99); err == nil {
		t.Error("100 numbers where 99 are allowed")
	}
}

// No bytes make the reader panic, or take memory beyond what the file is worth.
func FuzzRead(f *testing.F) {
	var all bytes.Buffer
	v, k := 1.5, int64(3)
	w := parquet.NewGenericWriter[every](&all, parquet.PageBufferSize(64))
	w.Write([]every{{Missing: &v}, {FewThere: &k}, {Double: 2}, {}})
	w.Close()
	f.Add(all.Bytes())
	f.Add(written(f, []string{"x", "y"}, []float64{1, 2, 3, 4}))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for i := range file.Columns {
			if x, err := file.Read([]int{i}, 1<<20); err == nil && len(x) != file.Rows {
				t.Errorf("%d of %d rows", len(x), file.Rows)
			}
		}
	})
}

// Every byte of a small file, changed, and every beginning of it.
func TestEveryByte(t *testing.T) {
	type few struct {
		Missing *float64 `parquet:"missing,optional"`
		Few     int64    `parquet:"few,dict"`
		Snappy  float64  `parquet:"snappy,snappy"`
	}
	var all bytes.Buffer
	v := 1.5
	testkit.OK(t, parquet.Write(&all, []few{{Missing: &v}, {Few: 3}, {Snappy: 2}, {}}))
	b, refused := all.Bytes(), 0
	for i := range b {
		for _, to := range []byte{0, 0x7f, 0xff, b[i] ^ 1, b[i] ^ 0x10} {
			c := slices.Clone(b)
			c[i] = to
			if _, _, err := read(c); err != nil {
				refused++
			}
		}
		if _, _, err := read(b[:i]); err == nil {
			t.Errorf("the first %d of %d bytes are read", i, len(b))
		}
	}
	if refused < len(b)/4 {
		t.Errorf("%d of %d changes were refused", refused, 5*len(b))
	}
}

// pyarrow writes and reads the same numbers.
func TestArrow(t *testing.T) {
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if exec.Command(python, "-c", "import pyarrow.parquet").Run() != nil {
		t.Skipf("%s has no pyarrow: set LANDING_PYTHON", python)
	}
	dir := t.TempDir()
	x := []float64{1, 2.5, -3, 1e300, 5e-324, 7}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "go.parquet"), written(t, []string{"b", "a"}, x), 0o600))
	out, err := exec.Command(python, "-c", `
import pyarrow.parquet as pq, pyarrow as pa, sys, numpy as np
d = sys.argv[1]
t = pq.read_table(d + "/go.parquet")
assert t.column_names == ["b", "a"], t.column_names
print([repr(v) for v in np.stack([t["b"], t["a"]], 1).ravel().tolist()])
n = 30000
t = pa.table({"f": np.sin(np.arange(n)), "g": np.arange(n, dtype="float32") % 9, "i": np.arange(n),
  "u": np.arange(n, dtype="uint8"), "m": pa.array([None if i % 4 else i / 8 for i in range(n)]), "s": ["w"] * n})
for name, o in dict(plain=dict(use_dictionary=False), usual={}, gzip=dict(compression="gzip"),
    none=dict(compression="none"), zstd=dict(compression="zstd", data_page_version="2.0", row_group_size=999),
    split=dict(use_byte_stream_split=["f", "g"], use_dictionary=False)).items():
    pq.write_table(t, f"{d}/{name}.parquet", **o)
`, dir).CombinedOutput()
	if want := "['1.0', '2.5', '-3.0', '1e+300', '5e-324', '7.0']\n"; err != nil || string(out) != want {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"plain", "usual", "gzip", "none", "zstd", "split"} {
		b := testkit.Must(os.ReadFile(filepath.Join(dir, name+".parquet")))
		f, got, err := read(b, 0, 1, 2, 3, 4)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Columns[5].Numbers || f.Rows != 30000 {
			t.Errorf("%s: %d rows, columns %+v", name, f.Rows, f.Columns)
		}
		for i := range f.Rows {
			want := []float64{math.Sin(float64(i)), float64(i % 9), float64(i), float64(uint8(i)), float64(i) / 8}
			if i%4 != 0 {
				want[4] = math.NaN()
			}
			row := got[5*i : 5*i+5]
			if !(math.Abs(row[0]-want[0]) < 1e-12) || fmt.Sprint(row[1:]) != fmt.Sprint(want[1:]) {
				t.Fatalf("%s: row %d is %v, want %v", name, i, row, want)
			}
		}
	}
}
