package arrayfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

type entry struct {
	name   string
	method uint16
	data   string
}

func npzFile(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w := testkit.Must(z.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method}))
		testkit.Must(w.Write([]byte(e.data)))
	}
	testkit.OK(t, z.Close())
	return b.Bytes()
}

func readNPZ(path string) (map[string]Array, error) {
	z, err := OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return all(z)
}

func all(z *NPZ) (map[string]Array, error) {
	arrays := make(map[string]Array)
	for _, name := range z.Names() {
		a, err := z.Read(name, math.MaxInt)
		if err != nil {
			return nil, err
		}
		arrays[name] = a
	}
	return arrays, nil
}

func TestReadNPZ(t *testing.T) {
	data := npzFile(t, entry{"a.npy", zip.Store, numpyFiles[0].data}, entry{"b.npy", zip.Deflate, numpyFiles[1].data},
		entry{"group/c.npy", zip.Deflate, numpyFiles[2].data})
	want := map[string]Array{"a": numpyFiles[0].want, "b": numpyFiles[1].want, "group/c": numpyFiles[2].want}
	got, err := readNPZ(write(t, "a.npz", data))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestReadNPZRefuses(t *testing.T) {
	a := numpyFiles[0].data
	stored := npzFile(t, entry{"a.npy", zip.Store, a})
	corrupt := bytes.Replace(stored, []byte("\x00\x00\x80?"), []byte("\x00\x00\x81?"), 1)
	method := bytes.Clone(stored)
	directory := bytes.LastIndex(method, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint16(method[directory+10:], 12)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"NPY", []byte(a), "expected an NPZ file, a zip archive of arrays"},
		{"cut off", stored[:len(stored)-1], "expected an NPZ file"},
		{"twice", npzFile(t, entry{"a.npy", zip.Store, a}, entry{"a.npy", zip.Store, a}),
			`entry "a.npy" is there twice`},
		{"other file", npzFile(t, entry{"a.txt", zip.Store, a}),
			`entry "a.txt" is not an array, expected a name that ends in .npy`},
		{"truncated", npzFile(t, entry{"a.npy", zip.Deflate, a[:140]}),
			`entry "a.npy": data end after 12 of 24 bytes: the file is truncated`},
		{"trailing", npzFile(t, entry{"a.npy", zip.Deflate, a + "x"}), `entry "a.npy": more bytes follow the data`},
		{"checksum", corrupt, `entry "a.npy": zip: checksum error`},
		{"method", method, `entry "a.npy": compression method 12, expected 0 (stored) or 8 (deflated)`},
	} {
		path := write(t, "a.npz", c.data)
		got, err := readNPZ(path)
		wantError(t, c.name, err, path+": "+c.want)
		if got != nil {
			t.Errorf("%s: got %+v beside the error", c.name, got)
		}
	}
}

// NPZ.Read inflates only the named array, and refuses an array whose header promises more elements than the limit.
func TestNPZReadsWhatIsAsked(t *testing.T) {
	const huge = 1 << 20
	head := npyHead(huge)
	data := npzFile(t, entry{"a.npy", zip.Store, numpyFiles[0].data}, entry{"bomb.npy", zip.Deflate, head +
		strings.Repeat("\x00", huge)}, entry{"damaged.npy", zip.Store, "no array"})
	path := write(t, "a.npz", data)
	z, err := OpenNPZ(path)
	testkit.OK(t, err)
	defer z.Close()
	testkit.EqualSlices(t, z.Names(), []string{"a", "bomb", "damaged"}, "names")
	if a, err := z.Read("a", numpyFiles[0].want.Len()); err != nil || !reflect.DeepEqual(a, numpyFiles[0].want) {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = z.Read("bomb", huge-1)
	wantError(t, "bomb", err,
		path+`: entry "bomb.npy": shape (1048576,) has 1048576 elements, expected at most 1048575`)
	testkit.OK(t, testkit.Err(z.Read("bomb", huge)))
	_, err = z.Read("nosuch", 1)
	wantError(t, "nosuch", err, `entry "nosuch.npy": there is none`)
}

// npyHead is the beginning of an NPY file of n bytes.
func npyHead(n int) string {
	return string(npyFile(1, fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", n), ""))
}

// An archive whose directory lists the same bytes many times.
func TestNPZOverlap(t *testing.T) {
	data := npzFile(t, entry{"a.npy", zip.Store, numpyFiles[0].data})
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	const copies = 50
	bomb := bytes.Clone(data[:at])
	for i := range byte(copies) {
		record := bytes.Clone(data[at:end])
		record[46] = 'A' + i // the first letter of the name
		bomb = append(bomb, record...)
	}
	tail := bytes.Clone(data[end:])
	binary.LittleEndian.PutUint16(tail[8:], copies)
	binary.LittleEndian.PutUint16(tail[10:], copies)
	binary.LittleEndian.PutUint32(tail[12:], uint32(copies*(end-at)))
	bomb = append(bomb, tail...)
	_, err := NewNPZ(bytes.NewReader(bomb), int64(len(bomb)))
	wantError(t, "overlap", err, "its entries overlap")
}

// goldenFiles is where package golden, which reads by this package, keeps them.
const goldenFiles = "../../tools/testkit/golden/testdata/"

func TestReadNPZReference(t *testing.T) {
	for _, c := range []struct {
		file, array string
		shape       []int
	}{
		{"optim.npz", "losses", []int{6}},
		{"optim.npz", "init_layer_0_weight", []int{8, 7}},
		{"md_ops.npz", "active_on", []int{6, 2}},
		{"md_jsd.npz", "psi", []int{500}},
		{"md_jsd.npz", "psi_jsd", []int{}},
		{"s2_splits.npz", "volcano_train", []int{663}},
		{"mesh_bunny.npz", "n_faces", []int{}},
	} {
		arrays := testkit.Must(readNPZ(goldenFiles + c.file))
		a, ok := arrays[c.array]
		if !ok || !reflect.DeepEqual(a.Shape, c.shape) {
			t.Errorf("%s: %s has shape %v, want %v", c.file, c.array, a.Shape, c.shape)
		}
		for _, v := range a.AsFloat64() {
			if math.IsNaN(v) || math.Abs(v) > 1e6 {
				t.Errorf("%s: %s holds %v", c.file, c.array, v)
			}
		}
	}
	arrays := testkit.Must(readNPZ(goldenFiles + "mesh_bunny.npz"))
	if n := arrays["n_faces"].Int64; len(n) != 1 || n[0] != 5000 {
		t.Errorf("n_faces = %v, want 5000", n)
	}
}

func FuzzNPZ(f *testing.F) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(npzFile(f, entry{"a.npy", method, numpyFiles[0].data}, entry{"b.npy", method, numpyFiles[1].data}))
	}
	f.Add(npzFile(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := NewNPZ(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		arrays, err := all(z)
		if err != nil {
			return
		}
		for name, a := range arrays {
			if _, err := a.kind(); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
	})
}
