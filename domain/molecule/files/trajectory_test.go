package files

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// grid is coordinate k of atom i in frame f of the files in testdata, in 0.01 Å: what MDAnalysis 2.11 was given.
func grid(i, k, f, span int) float64 {
	far := i / 3 * span * (k + 1) % (12*span + 1)
	if k == 1 {
		far = -far
	}
	step := 40
	if k == 0 {
		step = 100
	}
	return float64(far+i%3*step+(i*i*7+k*53+f*3)%31) / 100
}

// Files that MDAnalysis wrote are read: packed and plain coordinates, ranges beyond 24 bits, and a unit cell.
func TestTrajectories(t *testing.T) {
	for name, c := range map[string]struct {
		atoms, frames, span int
		off                 float64
		remark              string
	}{
		"water.xtc": {30, 2, 150, 1e-12, "nanometres, this one to 0.01 Å: they were multiplied by 10"},
		"far.xtc":   {12, 1, 3_000_000, 0.03, "this one to 0.01 Å"}, // float32 of what was written
		"few.xtc":   {5, 2, 150, 2e-6, "XTC files are in nanometres: they were multiplied by 10"},
		"cell.dcd":  {5, 2, 150, 1e-6, ""},
	} {
		got, err := Read(filepath.Join("testdata", name))
		if err != nil || got.N != c.frames || got.Molecule.N() != c.atoms || len(got.SHA256) != 64 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		testkit.Contains(t, strings.Join(got.Remarks, ""), c.remark, name)
		for at, v := range got.X {
			if want := grid(at/3%c.atoms, at%3, at/3/c.atoms, c.span); math.Abs(v-want) > c.off {
				t.Fatalf("%s: number %d is %v, want %v", name, at, v, want)
			}
		}
	}
}

// The sizes of small numbers are those of the format: 2^{i/3}, but for three.
func TestSizes(t *testing.T) {
	want := []uint64{8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256, 322, 406, 512, 645, 812, 1024,
		1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321, 13003, 16384, 20642, 26007, 32768, 41285, 52015,
		65536, 82570, 104031, 131072, 165140, 208063, 262144, 330280, 416127, 524287, 660561, 832255, 1048576, 1321122,
		1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216}
	for k, n := range want {
		testkit.Equal(t, sizeOf(int32(9+k)), n, "size %d", 9+k)
	}
}

// swapped is a DCD file of the other byte order: all of it is words of four bytes, but for the texts.
func swapped(dcd []byte) []byte {
	out := slices.Clone(dcd)
	for k := 0; k < len(out); k += 4 {
		if k != 4 && !(k >= 100 && k < 180) {
			binary.BigEndian.PutUint32(out[k:], binary.LittleEndian.Uint32(dcd[k:]))
		}
	}
	return out
}

func TestReadDCD(t *testing.T) {
	m, x := ethanol(3)
	dcd := write(t, ".dcd", m, x)
	for _, file := range [][]byte{dcd, swapped(dcd)} {
		got, err := DecodeDCD("a.dcd", bytes.NewReader(file))
		if err != nil || got.N != 3 || got.X[27+4] != float64(float32(x[27+4])) || got.Remarks != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
	with := func(at int, v uint32) []byte {
		out := slices.Clone(dcd)
		binary.LittleEndian.PutUint32(out[at:], v)
		return out
	}
	const control, body = 8, 196 // where these begin
	cell := with(control+4*10, 1)
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "truncated"}, {[]byte("\x7fELF and more"), "the record of the header has"},
		{with(4, 0), `it begins with "\x00\x00\x00\x00", expected CORD`},
		{with(control+4*8, 2), "2 atoms are fixed and in frame 0 alone"},
		{with(control+4*11, 1), "four dimensions"},
		{cell, "frame 0 (from 0): the record of the unit cell has 36 bytes, expected 48"},
		{with(92, 1<<20), "the record of the titles has 1048576 bytes, expected 65536"},
		{with(188, 1<<20), "has 1048576 atoms, expected 1 to 32768"},
		{with(188, 10), "the record of the x has 36 bytes, expected 40"},
		{with(body+40, 35), "the record of the x ends with the length 35, expected 36"},
		{dcd[:len(dcd)-5], "a.dcd: frame 2 (from 0): the file ends within it: it is truncated"},
		{with(body+4, math.Float32bits(float32(math.NaN()))), "frame 0 (from 0), atom 0: x is NaN"},
	} {
		testkit.Refused(t, testkit.Err(DecodeDCD("a.dcd", bytes.NewReader(c.file))), c.want)
	}
}

func TestReadXTC(t *testing.T) {
	water := testkit.Must(os.ReadFile("testdata/water.xtc"))
	with := func(at int, v uint32) []byte {
		out := slices.Clone(water)
		binary.BigEndian.PutUint32(out[at:], v)
		return out
	}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "there are no frames"},
		{with(0, 2023), "it begins with 2023, expected 1995"},
		{with(4, 31), "it begins with 1995, expected 1995 and twice the number of atoms"},
		{with(56, 0), "x is "}, // precision 0
		{with(84, 200), "its packed coordinates are damaged"},
		{with(84, 8), "its packed coordinates are damaged"},
		{with(88, 1<<30), "its packed coordinates are damaged"},
		{with(88, 4), "its packed coordinates are damaged"},
		{with(72, 1<<31), "its packed coordinates are damaged"}, // an empty range
		{water[:len(water)-1], "frame 1 (from 0): the file ends within it"},
		{append(slices.Clone(water), testkit.Must(os.ReadFile("testdata/few.xtc"))...), "frame 2 (from 0): has 5 "},
	} {
		testkit.Refused(t, testkit.Err(DecodeXTC("a.xtc", bytes.NewReader(c.file))), c.want)
	}
}

func fuzzBinary(f *testing.F, pattern string, decode func(string, io.Reader) (*Frames, error), again string) {
	for _, path := range testkit.Must(filepath.Glob(pattern)) {
		f.Add(testkit.Must(os.ReadFile(path)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := decode("f", bytes.NewReader(data))
		sound(t, g, err, again, DecodeDCD)
	})
}

func FuzzDCD(f *testing.F) { fuzzBinary(f, "testdata/*.dcd", DecodeDCD, ".dcd") }
func FuzzXTC(f *testing.F) { fuzzBinary(f, "testdata/*.xtc", DecodeXTC, ".dcd") }
