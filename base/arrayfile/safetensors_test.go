package arrayfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func safetensorsFile(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestSafetensorsKnownBytes(t *testing.T) {
	tensors := []Named{
		{"w", Array{Shape: []int{2, 1}, Float32: []float32{1, -2}}},
		{`b "1"`, Array{Shape: []int{1}, Float64: []float64{2}}},
		{"n", Array{Shape: []int{}, Int64: []int64{-1}}},
	}
	metadata := map[string]string{"z": "1", "a": "<é>"}
	header := `{"__metadata__":{"a":"\u003cé\u003e","z":"1"},` +
		`"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
		`"b \"1\"":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},` +
		`"n":{"dtype":"I64","shape":[],"data_offsets":[16,24]}}`
	header += strings.Repeat(" ", 7-(len(header)-1)%8)
	want := safetensorsFile(header, "\x00\x00\x80?\x00\x00\x00\xc0"+
		"\x00\x00\x00\x00\x00\x00\x00@\xff\xff\xff\xff\xff\xff\xff\xff")

	var b bytes.Buffer
	testkit.OK(t, EncodeSafetensors(&b, tensors, metadata))
	testkit.EqualSlices(t, b.Bytes(), want, "wrote")
	got, gotMetadata, err := DecodeSafetensors(bytes.NewReader(want))
	if err != nil || !reflect.DeepEqual(got, tensors) || !reflect.DeepEqual(gotMetadata, metadata) {
		t.Errorf("got %+v, %v, %v", got, gotMetadata, err)
	}
	checkTruncations(t, want, func(b []byte) error {
		_, _, err := DecodeSafetensors(bytes.NewReader(b))
		return err
	})
}

func TestSafetensorsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID).Draw(t, "names")
		var tensors []Named
		for _, name := range names {
			tensors = append(tensors, Named{name, drawArray(t)})
		}
		var metadata map[string]string
		if rapid.Bool().Draw(t, "has metadata") {
			metadata = rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "metadata")
		}
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			testkit.OK(t, EncodeSafetensors(b, tensors, metadata))
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatal("the same tensors gave other bytes")
		}
		if n := binary.LittleEndian.Uint64(first.Bytes()); n%8 != 0 {
			t.Fatalf("header of %d bytes", n)
		}
		got, gotMetadata, err := DecodeSafetensors(&first)
		testkit.OK(t, err)
		if !reflect.DeepEqual(metadata, gotMetadata) || len(got) != len(tensors) {
			t.Fatalf("%v came back as %v, %d tensors as %d", metadata, gotMetadata, len(tensors), len(got))
		}
		for i := range got {
			if got[i].Name != tensors[i].Name || !same(got[i].Array, tensors[i].Array) {
				t.Fatalf("%+v came back as %+v", tensors[i], got[i])
			}
		}
	})
}

func TestDecodeSafetensorsSortsByOffset(t *testing.T) {
	got, metadata, err := DecodeSafetensors(bytes.NewReader(safetensorsFile(
		`{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},`+
			`"a":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"},`+
			`"empty":{"dtype":"F64","shape":[0],"data_offsets":[2,2]}}  `, "\x01\x02\x03")))
	want := []Named{
		{"a", Array{Shape: []int{2}, Int64: []int64{1, 2}}},
		{"empty", Array{Shape: []int{0}, Float64: []float64{}}},
		{"b", Array{Shape: []int{1}, Int64: []int64{3}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) || metadata != nil {
		t.Errorf("got %+v, %v, %v; want %+v", got, metadata, err, want)
	}
}

func TestEncodeSafetensorsRefuses(t *testing.T) {
	a := Array{Shape: []int{1}, Int64: []int64{1}}
	for _, c := range []struct {
		tensors  []Named
		metadata map[string]string
		want     string
	}{
		{[]Named{{"a", a}, {"a", a}}, nil, `tensor "a" is there twice`},
		{[]Named{{"__metadata__", a}}, nil, "is reserved"},
		{[]Named{{"\xff", a}}, nil, `tensor name "\xff", expected UTF-8`},
		{nil, map[string]string{"a": "\xff"}, "expected UTF-8"},
		{nil, map[string]string{"a": strings.Repeat("x", safetensorsMaxHeader)}, "expected at most 16777216"},
	} {
		var b bytes.Buffer
		wantError(t, c.want, EncodeSafetensors(&b, c.tensors, c.metadata), c.want)
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written before the error", c.want, b.Len())
		}
	}
}

func TestDecodeSafetensorsRefuses(t *testing.T) {
	one := func(info string) string { return `{"a":` + info + `}` }
	for _, c := range []struct{ header, data, want string }{
		{"", "", "expected a JSON object: it ends too early"},
		{"[]", "", "expected a JSON object: it begins with ["},
		{"{} x", "", "expected a JSON object: more follows it"},
		{"{", "", "expected a JSON object: it ends too early"},
		{`{"a"`, "", "expected an object of dtype, shape and data_offsets"},
		{`{1:2}`, "", "expected a JSON object"},
		{"{\"\xff\":1}", "", "header is not UTF-8"},
		{`{"__metadata__":{"a":1}}`, "", "__metadata__, expected an object of strings"},
		{one(`5`), "", `tensor "a", expected an object of dtype, shape and data_offsets`},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}`), "1234", "more"},
		{one(`{"shape":[1],"data_offsets":[0,4]}`), "1234", `dtype "", expected F32`},
		{one(`{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}`), "1234",
			`tensor "a": dtype "BF16", expected F32, F64, I32, I64, BOOL or U8`},
		{one(`{"dtype":"F32","data_offsets":[0,4]}`), "1234", "no shape"},
		{one(`{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}`), "1234", "negative dimension"},
		{one(`{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}`), "1234", "cannot unmarshal"},
		{one(`{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}`), "1234", "larger than any memory"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[0]}`), "1234", "must be two numbers"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}`), "1234", "must be two numbers"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[4,0]}`), "1234", "must be two numbers"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}`), "1234", "must be two numbers"},
		{one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4]}`), "1234",
			"data_offsets hold 4 bytes, expected 8 for F32 of shape (2,)"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`), "12345678",
			"begins at byte 4 of the data, expected 0: no tensor holds"},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`), "123",
			`tensor "a": data end after 3 of 4 bytes: the file is truncated`},
		{one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`), "12345", "more bytes follow the data"},
		{`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`,
			"123", `tensor "b" begins at byte 1 of the data, expected 2: it overlaps`},
		{`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`,
			"123", `tensor "b" begins at byte 2 of the data, expected 1`},
		{`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`,
			"12", `tensor "a" is there twice`},
	} {
		_, _, err := DecodeSafetensors(bytes.NewReader(safetensorsFile(c.header, c.data)))
		wantError(t, c.header, err, c.want)
	}
	_, _, err := DecodeSafetensors(strings.NewReader("\x93NUMPY\x01\x00v\x00{'descr'"))
	wantError(t, "NPY", err, "damaged, or not a safetensors file")
}

func TestDecodeSafetensorsMemory(t *testing.T) {
	claim := binary.LittleEndian.AppendUint64(nil, safetensorsMaxHeader)
	if n := allocated(func() { _, _, _ = DecodeSafetensors(bytes.NewReader(claim)) }); n > 1<<16 {
		t.Errorf("%d bytes were allocated for a header that is not there", n)
	}
	const size = 1 << 40
	data := safetensorsFile(fmt.Sprintf(`{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, size, size),
		"12345678")
	if n := allocated(func() { _, _, _ = DecodeSafetensors(bytes.NewReader(data)) }); n > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", n, len(data))
	}
}

func FuzzDecodeSafetensors(f *testing.F) {
	f.Add(safetensorsFile(`{}`, ""))
	f.Add(safetensorsFile(`{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`,
		"12345678"))
	f.Add(safetensorsFile(`{"b":{"dtype":"I32","shape":[],"data_offsets":[2,6]},`+
		`"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}`, "123456"))
	f.Add(safetensorsFile(`{"a":{"dtype":"F64","shape":[0,9],"data_offsets":[0,0]},`+
		`"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, "12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, metadata, err := DecodeSafetensors(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		testkit.OK(t, EncodeSafetensors(&b, tensors, metadata))
		again, againMetadata, err := DecodeSafetensors(&b)
		if err != nil || len(again) != len(tensors) || !reflect.DeepEqual(metadata, againMetadata) {
			t.Fatalf("%+v, %v came back as %+v, %v, %v", tensors, metadata, again, againMetadata, err)
		}
		for i := range tensors {
			if again[i].Name != tensors[i].Name || !same(again[i].Array, tensors[i].Array) {
				t.Fatalf("%+v came back as %+v", tensors[i], again[i])
			}
		}
	})
}
