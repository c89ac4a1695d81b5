package files

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
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

// RDKit, OpenMM, Biopython and MDAnalysis read all atoms, names, bonds and frames of what is written, and what
// MDAnalysis writes is read. Set LANDING_PYTHON to a Python that has some of them.
func TestPrograms(t *testing.T) {
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("there is no Python: ", err)
	}
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("there is no NumPy: %s", out)
	}
	script := testkit.Must(filepath.Abs("../../../tools/bench/rivals/molecule_files.py"))
	named, x := ethanol(120)
	for i := range named.Atoms {
		named.Atoms[i].ResidueNumber = 1
	}
	named.Orders = slices.Repeat([]int{1}, len(named.Bonds))
	bare := molecule.Anonymous(9)
	bare.Bonds = named.Bonds
	// As XYZ and SDF files have them.
	symbols := &molecule.Molecule{Atoms: slices.Clone(named.Atoms), Bonds: named.Bonds}
	for i, a := range symbols.Atoms {
		symbols.Atoms[i] = molecule.Atom{Name: a.Element, Element: a.Element}
	}
	for what, m := range map[string]*molecule.Molecule{"names": named, "no names": bare, "symbols": symbols} {
		dir, bonds := t.TempDir(), ""
		for _, ext := range []string{".npy", ".pdb", ".sdf", ".dcd", ".xyz"} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, "frames"+ext), write(t, ext, m, x), 0o666))
		}
		for _, b := range m.Bonds {
			bonds += fmt.Sprintln(b[0], b[1])
		}
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "bonds.txt"), []byte(bonds), 0o666))
		run := func() (string, error) {
			out, err := exec.Command(python, script, dir).CombinedOutput()
			return string(out), err
		}
		out, err := run()
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
			continue
		}
		t.Logf("%s:\n%s", what, out)
		for ext, off := range map[string]float64{".dcd": 5.1e-4, ".xtc": 5.6e-3} {
			path := filepath.Join(dir, "again"+ext)
			if _, err := os.Stat(path); err != nil {
				continue // there is no MDAnalysis
			}
			got := testkit.Must(Read(path))
			if got.N != 120 || slices.ContainsFunc(got.X, func(v float64) bool { return math.IsNaN(v) }) {
				t.Errorf("%s%s: %d frames", what, ext, got.N)
			}
			for k, v := range got.X {
				testkit.Near(t, v, x[k], off, "%s%s: number %d", what, ext, k)
			}
		}
		if what != "names" {
			continue
		}
		// One coordinate that is off by a part in a million is seen, in float32.
		x[27*100+5] *= 1 + 1e-6
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "frames.dcd"), write(t, ".dcd", m, x), 0o666))
		out, err = run()
		if x[27*100+5] /= 1 + 1e-6; strings.Contains(out, "mdanalysis, dcd") &&
			(err == nil || !strings.Contains(out, "FAULT mdanalysis, dcd")) {
			t.Errorf("a changed coordinate: %v\n%s", err, out)
		}
	}
}

// sound holds what is promised of frames that were read, and that they can be written and read again.
func sound(t *testing.T, f *Frames, err error, ext string, again func(string, io.Reader) (*Frames, error)) {
	if err != nil {
		if f != nil || err.Error() == "" {
			t.Fatalf("frames %v with error %v", f, err)
		}
		return
	}
	if f.N < 1 || f.Molecule.N() < 1 || len(f.X) != f.N*f.Molecule.Dim() {
		t.Fatalf("%d frames of %d atoms, %d numbers", f.N, f.Molecule.N(), len(f.X))
	}
	for _, v := range f.X {
		if !(math.Abs(v) <= farthest) {
			t.Fatalf("a coordinate is %v", v)
		}
	}
	for k, b := range f.Molecule.Bonds {
		if b[0] < 0 || b[0] >= b[1] || b[1] >= f.Molecule.N() || k > 0 && b == f.Molecule.Bonds[k-1] {
			t.Fatalf("bonds %v", f.Molecule.Bonds)
		}
	}
	var b bytes.Buffer
	if err := Writers[ext](&b, f.Molecule, arrayfile.RowsOf(f.X, f.Molecule.Dim())); err != nil {
		return // what was read need not fit the columns
	}
	g, err := again("again"+ext, &b)
	if err != nil {
		return // rounded, atoms may come to one place
	}
	if g.N != f.N || g.Molecule.N() != f.Molecule.N() {
		t.Fatalf("%d × %d atoms, written and read %d × %d", f.N, f.Molecule.N(), g.N, g.Molecule.N())
	}
	for k, v := range g.X {
		if !(math.Abs(v-f.X[k]) <= 6e-4+1e-7*math.Abs(v)) {
			t.Fatalf("coordinate %d is %v, written and read %v", k, f.X[k], v)
		}
	}
}

// fuzz reads a file of two molecules, the seeds and what comes of them.
func fuzz(f *testing.F, ext string, decode func(string, io.Reader) (*Frames, error), seeds ...string) {
	m, x := ethanol(2)
	f.Add(write(f, ext, m, x))
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := decode("f"+ext, bytes.NewReader(data))
		sound(t, g, err, ext, decode)
	})
}

func FuzzPDB(f *testing.F) {
	fuzz(f, ".pdb", DecodePDB, twoModels+"CONECT    4    2    3\n",
		"ATOM      2  CA ASER A   2       0.257   0.418   0.692  0.40  0.00           C\n")
}

func FuzzXYZ(f *testing.F) { fuzz(f, ".xyz", DecodeXYZ, twoXYZ) }
func FuzzSDF(f *testing.F) { fuzz(f, ".sdf", DecodeSDF, acetate+acetate) }
func FuzzNPY(f *testing.F) {
	fuzz(f, ".npy", func(name string, r io.Reader) (*Frames, error) {
		a, err := arrayfile.DecodeNPY(r)
		if err != nil {
			return nil, err
		}
		return array(name, "", a)
	})
}
