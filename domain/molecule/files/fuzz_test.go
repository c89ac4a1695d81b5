package files

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

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
