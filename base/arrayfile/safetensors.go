package arrayfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// The format is described at github.com/huggingface/safetensors: the header's length in eight bytes, the header in
// JSON, then the tensors' bytes one after the other.
const (
	metadataKey          = "__metadata__"
	safetensorsMaxHeader = 16 << 20
)

// Named is an array with the name that it has in a safetensors file.
type Named struct {
	Name  string
	Array Array
}

type tensorInfo struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"`
}

// EncodeSafetensors writes tensors, in the order given, and metadata, which may be nil. Equal arguments give equal
// bytes: metadata is sorted by key. The first tensor begins at a multiple of eight bytes; the later ones do too if
// tensors of larger elements come first.
func EncodeSafetensors(w io.Writer, tensors []Named, metadata map[string]string) error {
	seen := make(map[string]bool)
	var header bytes.Buffer
	header.WriteByte('{')
	if metadata != nil {
		for key, value := range metadata {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return fmt.Errorf("arrayfile: metadata %s: %s, expected UTF-8", excerpt(key), excerpt(value))
			}
		}
		if err := writeMember(&header, metadataKey, metadata); err != nil {
			return err
		}
	}
	end := 0
	for _, t := range tensors {
		switch {
		case seen[t.Name]:
			return fmt.Errorf("arrayfile: tensor %s is there twice", excerpt(t.Name))
		case t.Name == metadataKey:
			return fmt.Errorf("arrayfile: tensor name %q is reserved", metadataKey)
		case !utf8.ValidString(t.Name):
			return fmt.Errorf("arrayfile: tensor name %s, expected UTF-8", excerpt(t.Name))
		}
		seen[t.Name] = true
		name, err := t.Array.kind()
		if err != nil {
			return fmt.Errorf("arrayfile: tensor %s: %w", excerpt(t.Name), err)
		}
		k, begin := kinds[name], end
		end += t.Array.Len() * k.size
		info := tensorInfo{
			DType:   k.safetensors,
			Shape:   append([]int{}, t.Array.Shape...), // [] rather than null for a scalar
			Offsets: []int{begin, end},
		}
		if err := writeMember(&header, t.Name, info); err != nil {
			return err
		}
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if header.Len() > safetensorsMaxHeader {
		return fmt.Errorf("arrayfile: safetensors header of %d bytes, expected at most %d", header.Len(),
			safetensorsMaxHeader)
	}

	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return err
	}
	if _, err := w.Write(header.Bytes()); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := writeArray(w, t.Array); err != nil {
			return err
		}
	}
	return nil
}

// writeMember appends a member to the JSON object in b.
func writeMember(b *bytes.Buffer, key string, value any) error {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	k, err := json.Marshal(key)
	if err != nil {
		return err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(k)
	b.WriteByte(':')
	b.Write(v)
	return nil
}

// DecodeSafetensors reads a safetensors file up to its end and returns the tensors in the order of their data. As the
// format demands, they must cover the data without overlap and without gap. Types other than F32, F64, I32, I64, BOOL
// and U8 are refused.
func DecodeSafetensors(r io.Reader) (tensors []Named, metadata map[string]string, err error) {
	b, err := readBytes(r, "header length", 8)
	if err != nil {
		return nil, nil, err
	}
	length := binary.LittleEndian.Uint64(b)
	if length > safetensorsMaxHeader {
		return nil, nil, fmt.Errorf("header of %d bytes, expected at most %d: damaged, or not a safetensors file",
			length, safetensorsMaxHeader)
	}
	header, err := readBytes(r, "header", int(length))
	if err != nil {
		return nil, nil, err
	}
	entries, metadata, err := parseSafetensorsHeader(header)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(entries, func(a, b tensorEntry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	end := 0
	for _, e := range entries {
		switch {
		case e.begin < end:
			return nil, nil, fmt.Errorf("tensor %s begins at byte %d of the data, expected %d: it overlaps the one "+
				"before", excerpt(e.name), e.begin, end)
		case e.begin > end:
			return nil, nil, fmt.Errorf("tensor %s begins at byte %d of the data, expected %d: no tensor holds the "+
				"bytes between", excerpt(e.name), e.begin, end)
		}
		end = e.end
	}

	for _, e := range entries {
		a, err := readArray(r, e.kind, e.shape, binary.LittleEndian)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %s: %w", excerpt(e.name), err)
		}
		tensors = append(tensors, Named{Name: e.name, Array: a})
	}
	if err := expectEnd(r); err != nil {
		return nil, nil, err
	}
	return tensors, metadata, nil
}

// A tensorEntry is a checked member of a header.
type tensorEntry struct {
	name       string
	kind       kind
	shape      []int
	begin, end int
}

func parseSafetensorsHeader(header []byte) ([]tensorEntry, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("safetensors header is not UTF-8")
	}
	invalid := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return fmt.Errorf("safetensors header %s, expected a JSON object: %w", excerpt(string(header)), err)
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if token, err := d.Token(); err != nil {
		return nil, nil, invalid(err)
	} else if token != json.Delim('{') {
		return nil, nil, invalid(fmt.Errorf("it begins with %v", token))
	}

	var entries []tensorEntry
	var metadata map[string]string
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, invalid(err)
		}
		name := token.(string) // the decoder allows no other keys
		if seen[name] {
			return nil, nil, fmt.Errorf("tensor %s is there twice", excerpt(name))
		}
		seen[name] = true
		if name == metadataKey {
			if err := d.Decode(&metadata); err != nil {
				return nil, nil, fmt.Errorf("%s, expected an object of strings: %w", metadataKey, err)
			}
			continue
		}
		var info tensorInfo
		if err := d.Decode(&info); err != nil {
			return nil, nil, fmt.Errorf("tensor %s, expected an object of dtype, shape and data_offsets: %w",
				excerpt(name), err)
		}
		e, err := info.check(name)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %s: %w", excerpt(name), err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, invalid(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, invalid(errors.New("more follows it"))
	}
	return entries, metadata, nil
}

func (t tensorInfo) check(name string) (tensorEntry, error) {
	var e tensorEntry
	var k kind
	for _, is := range kinds {
		if is.safetensors == t.DType {
			k = is
		}
	}
	if t.DType == "" || k.size == 0 {
		return e, fmt.Errorf("dtype %s, expected F32, F64, I32, I64, BOOL or U8", excerpt(t.DType))
	}
	if t.Shape == nil {
		return e, errors.New("no shape")
	}
	n, err := elements(t.Shape, k.size)
	if err != nil {
		return e, err
	}
	if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
		return e, errors.New("data_offsets must be two numbers, 0 ≤ begin ≤ end")
	}
	begin, end := t.Offsets[0], t.Offsets[1]
	if end-begin != n*k.size {
		return e, fmt.Errorf("data_offsets hold %d bytes, expected %d for %s of shape %s",
			end-begin, n*k.size, t.DType, tuple(t.Shape))
	}
	return tensorEntry{name: name, kind: k, shape: t.Shape, begin: begin, end: end}, nil
}
