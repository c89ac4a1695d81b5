package arrayfile

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// npyFile builds a file of the given version around a header's text.
func npyFile(version byte, header, data string) []byte {
	length := string([]byte{byte(len(header)), byte(len(header) >> 8)})
	if version > 1 {
		length += "\x00\x00"
	}
	return []byte(npyMagic + string([]byte{version, 0}) + length + header + data)
}

// Files as numpy.save of NumPy 2.4 writes them.
var numpyFiles = []struct {
	name string
	data string
	want Array
}{
	{
		"f4",
		"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) +
			"\n" + "\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xd0@",
		Array{Shape: []int{2, 3}, Float32: []float32{1, 2, 3, 4, 5, 6.5}},
	},
	{
		"scalar f8",
		"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (), }" + strings.Repeat(" ", 62) +
			"\n" + "\x00\x00\x00\x00\x00\x00\x04@",
		Array{Shape: []int{}, Float64: []float64{2.5}},
	},
	{
		"empty f8",
		"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }" +
			strings.Repeat(" ", 58) + "\n",
		Array{Shape: []int{0, 3}, Float64: []float64{}},
	},
	{
		"i8",
		"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }" + strings.Repeat(" ", 60) +
			"\n\xfe\xff\xff\xff\xff\xff\xff\xff",
		Array{Shape: []int{1}, Int64: []int64{-2}},
	},
}

func TestNumPyFiles(t *testing.T) {
	for _, c := range numpyFiles {
		got, err := DecodeNPY(strings.NewReader(c.data))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
		var b bytes.Buffer
		if err := EncodeNPY(&b, c.want); err != nil || b.String() != c.data {
			t.Errorf("%s: wrote %q, %v; want %q", c.name, b.String(), err, c.data)
		}
	}
}

func TestDecodeNPYVariants(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want Array
	}{
		{
			"Fortran order, 2-d",
			npyFile(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n",
				"\x01\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x03\x00\x00\x00\x06\x00\x00\x00"),
			Array{Shape: []int{2, 3}, Int64: []int64{1, 2, 3, 4, 5, 6}},
		},
		{
			"Fortran order, 3-d",
			npyFile(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }\n",
				"\x00\x06\x02\x08\x04\n\x01\x07\x03\t\x05\x0b"),
			Array{Shape: []int{2, 3, 2}, Int64: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		},
		{
			"big-endian f8",
			npyFile(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }\n", "?\xf0\x00\x00\x00\x00\x00\x00"),
			Array{Shape: []int{1}, Float64: []float64{1}},
		},
		{
			"big-endian i8",
			npyFile(1, "{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }\n",
				"\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xfe"),
			Array{Shape: []int{2}, Int64: []int64{1, -2}},
		},
		{
			"version 2",
			npyFile(2, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", "\x07\x08"),
			Array{Shape: []int{2}, Int64: []int64{7, 8}},
		},
		{
			"version 3",
			npyFile(3, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", "\x07\x08"),
			Array{Shape: []int{2}, Int64: []int64{7, 8}},
		},
		{
			"other order, quotes and spaces",
			npyFile(1, "{ \"shape\":(2 , 1),'fortran_order' :False,\"descr\": '|u1'}", "\x07\x08"),
			Array{Shape: []int{2, 1}, Int64: []int64{7, 8}},
		},
		{
			"half precision, big-endian", // 1, −2, 65504, 2⁻²⁴
			npyFile(1, "{'descr': '>f2', 'fortran_order': False, 'shape': (4,), }", "\x3c\x00\xc0\x00\x7b\xff\x00\x01"),
			Array{Shape: []int{4}, Float32: []float32{1, -2, 65504, 0x1p-24}},
		},
		{
			"i1, Fortran order",
			npyFile(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (1, 2), }", "\xff\x02"),
			Array{Shape: []int{1, 2}, Int64: []int64{-1, 2}},
		},
		{
			"u2",
			npyFile(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\xff\xff"),
			Array{Shape: []int{1}, Int64: []int64{65535}},
		},
		{
			"i2, big-endian",
			npyFile(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (1,), }", "\xff\xfe"),
			Array{Shape: []int{1}, Int64: []int64{-2}},
		},
		{
			"u4",
			npyFile(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }", "\xff\xff\xff\xff"),
			Array{Shape: []int{1}, Int64: []int64{1<<32 - 1}},
		},
		{
			"u8 beyond int64 is refused by who needs exact numbers",
			npyFile(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", "\xff\xff\xff\xff\xff\xff\xff\xff"),
			Array{Shape: []int{1}, Int64: []int64{math.MaxInt64}},
		},
		{
			"any byte but 0 is true",
			npyFile(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\x00\x02\xff"),
			Array{Shape: []int{3}, Truth: true, Int64: []int64{0, 1, 1}},
		},
	} {
		got, err := DecodeNPY(bytes.NewReader(c.data))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestDecodeNPYLeavesTheRest(t *testing.T) {
	r := strings.NewReader(numpyFiles[0].data + numpyFiles[1].data)
	for _, c := range numpyFiles[:2] {
		if got, err := DecodeNPY(r); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

func TestNPYRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArray(t)
		var b bytes.Buffer
		testkit.OK(t, EncodeNPY(&b, a))
		if header := b.Len() - a.Len()*elementSize(a); header%npyAlign != 0 {
			t.Fatalf("data begin at byte %d", header)
		}
		got, err := DecodeNPY(&b)
		if err != nil || !same(a, got) {
			t.Fatalf("%+v came back as %+v, %v", a, got, err)
		}
	})
}

func elementSize(a Array) int {
	k, err := a.kind()
	if err != nil {
		panic(err)
	}
	return kinds[k].size
}

func TestDecodeNPYTruncated(t *testing.T) {
	for _, c := range numpyFiles {
		checkTruncations(t, []byte(c.data), func(b []byte) error {
			_, err := DecodeNPY(bytes.NewReader(b))
			return err
		})
	}
}

func TestDecodeNPYRefuses(t *testing.T) {
	header := func(text string) []byte { return npyFile(1, text, "\x01\x02\x03\x04") }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"zip", []byte("PK\x03\x04 and more"), "not an NPY file"},
		{"short text", []byte("1,2"), `file begins with "1,2", expected "\x93NUMPY"`},
		{"version 4", npyFile(4, "{}", ""), "NPY version 4.0, expected 1.0, 2.0 or 3.0"},
		{"version 1.1", []byte(npyMagic + "\x01\x01\x02\x00{}"), "NPY version 1.1"},
		{"header length", []byte(npyMagic + "\x02\x00\xff\xff\xff\xff{"),
			"header of 4294967295 bytes, expected at most 1048576"},
		{"no dictionary", header("[1]"), `header has "[1]" at byte 0, expected {`},
		{"no header", header(""), "header ends, expected {"},
		{"no keys", header("{}"), `lacks the key "descr"`},
		{"no shape", header("{'descr': '|u1', 'fortran_order': False}"), `lacks the key "shape"`},
		{"other key", header("{'dtype': '|u1'}"), `has the key "dtype", expected descr`},
		{"key twice", header("{'descr': '|u1', 'descr': '|u1'}"), `has the key "descr" twice`},
		{"key without quotes", header("{descr: '|u1'}"), "expected a quoted string"},
		{"open quote", header("{'descr: |u1}"), "expected a quoted string"},
		{"no colon", header("{'descr' '|u1'}"), "expected :"},
		{"no comma", header("{'descr': '|u1' 'shape': ()}"), "expected , or }"},
		{"no end", header("{'descr': '|u1', "), "header ends, expected a quoted string"},
		{"more", header("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), } 5"),
			`"5" at byte 58, expected nothing more`},
		{"complex", header("{'descr': '<c16', 'fortran_order': False, 'shape': (4,), }"),
			`dtype is "<c16", complex numbers`},
		{"object", header("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }"), `dtype is "|O"`},
		{"no byte order", header("{'descr': 'f8', 'fortran_order': False, 'shape': (4,), }"), `dtype is "f8"`},
		{"structured", header("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (4,), }"),
			"dtype is structured"},
		{"order", header("{'descr': '|u1', 'fortran_order': 0, 'shape': (4,), }"), "expected True or False"},
		{"number as shape", header("{'descr': '|u1', 'fortran_order': False, 'shape': 4, }"), "expected a tuple"},
		{"parentheses", header("{'descr': '|u1', 'fortran_order': False, 'shape': (4), }"), "expected a comma"},
		{"negative", header("{'descr': '|u1', 'fortran_order': False, 'shape': (-4,), }"), "expected a dimension"},
		{"open tuple", header("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 1"), "expected a comma"},
		{"huge dimension", header("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
			"expected a dimension"},
		{"overflow", header("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
			"larger than any memory"},
		{"hidden overflow", header("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }"),
			"larger than any memory"},
		{"overflow in bytes", header("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }"),
			"larger than any memory"},
		{"dimensions", header("{'descr': '|u1', 'fortran_order': False, 'shape': (" + strings.Repeat("1, ", 65) + ")}"),
			"65 dimensions, expected at most 64"},
	} {
		_, err := DecodeNPY(bytes.NewReader(c.data))
		wantError(t, c.name, err, c.want)
	}
}

// A header may claim any size; only the bytes behind it may cost memory.
func TestDecodeNPYMemory(t *testing.T) {
	for _, order := range []string{"True", "False"} {
		data := npyFile(1, "{'descr': '<f8', 'fortran_order': "+order+", 'shape': (1024, 1073741824), }", "12345678")
		var err error
		if n := allocated(func() { _, err = DecodeNPY(bytes.NewReader(data)) }); n > 1<<20 {
			t.Errorf("%d bytes were allocated for a file of %d", n, len(data))
		}
		wantError(t, "fortran_order "+order, err, "data end after 8 of 8796093022208 bytes: the file is truncated")
	}
	claim := []byte(npyMagic + "\x02\x00\x00\x00\x10\x00{")
	if n := allocated(func() { _, _ = DecodeNPY(bytes.NewReader(claim)) }); n > 1<<16 {
		t.Errorf("%d bytes were allocated for a header that is not there", n)
	}
}

func TestReadNPY(t *testing.T) {
	c := numpyFiles[0]
	if got, err := ReadNPY(write(t, "a.npy", []byte(c.data))); err != nil || !reflect.DeepEqual(got, c.want) {
		t.Errorf("got %+v, %v", got, err)
	}

	path := write(t, "short.npy", []byte(c.data[:len(c.data)-4]))
	_, err := ReadNPY(path)
	if want := path + ": data end after 20 of 24 bytes: the file is truncated"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	path = write(t, "long.npy", []byte(c.data+"x"))
	_, err = ReadNPY(path)
	if want := path + ": more bytes follow the data, expected the end of the file"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	if _, err := ReadNPY(filepath.Join(t.TempDir(), "none.npy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
}

func FuzzDecodeNPY(f *testing.F) {
	for _, c := range numpyFiles {
		f.Add([]byte(c.data))
	}
	f.Add(npyFile(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }\n",
		"\x00\x06\x02\x08\x04\n\x01\x07\x03\t\x05\x0b"))
	f.Add(npyFile(2, "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1), }", "\x7f\x80\x00\x01"))
	f.Add(npyFile(3, "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 9), }", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := DecodeNPY(bytes.NewReader(data))
		if err != nil {
			return
		}
		if a.Len() > len(data) {
			t.Fatalf("%d elements out of %d bytes", a.Len(), len(data))
		}
		var b bytes.Buffer
		testkit.OK(t, EncodeNPY(&b, a))
		again, err := DecodeNPY(&b)
		if err != nil || !same(a, again) {
			t.Fatalf("%+v came back as %+v, %v", a, again, err)
		}
	})
}
