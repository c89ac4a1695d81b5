package files

import (
	"crypto/sha256"
	"math"
	"os"
	"strconv"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
)

// frameArrays are the arrays of an NPZ file that are taken for frames if there are several.
var frameArrays = []string{"frames", "positions", "coordinates", "xyz", "R", "X", "x"}

// decodeArray reads an array of shape n×A×3, n×3A, or A×3, which is one frame: that of an NPY file, or of an archive
// the only one, or that of frameArrays. Its atoms have no names; their bonds are guessed as if they were carbon.
func decodeArray(f *os.File) (*Frames, error) {
	a, called, digest, err := arrayfile.Pick(f, maxNumbers, "", frameArrays...)
	if err != nil {
		return nil, err
	}
	if called != "" {
		called = " " + called
	}
	frames, err := array(f.Name(), called, a)
	if err == nil {
		frames.SHA256 = digest
	}
	return frames, err
}

// array makes frames of an array; called is its name with a blank before it, if it has one.
func array(file, called string, a arrayfile.Array) (*Frames, error) {
	g := gathered{file: file, sum: sha256.New()}
	shape, d := a.Shape, 0
	switch {
	case a.Len() == 0:
	case len(shape) == 3 && shape[2] == 3:
		d = 3 * shape[1]
	case len(shape) == 2 && shape[1] == 3:
		d = a.Len()
	case len(shape) == 2 && shape[1]%3 == 0:
		d = shape[1]
	}
	none := Error{Frame: -1}
	switch {
	case a.Truth:
		g.refuse(none, "the array%s holds booleans, expected numbers", called)
	case d == 0:
		g.refuse(none, "the array%s has shape %d, expected [n A 3], [n 3A] or [A 3], none of them 0", called, shape)
	case d > 3*MaxAtoms:
		g.refuse(none, "the array%s has shape %d: %d atoms, expected at most %d", called, shape, d/3, MaxAtoms)
	}
	if g.err != nil {
		return nil, g.err
	}
	g.molecule, g.x = molecule.Anonymous(d/3), a.AsFloat64()
	g.n = len(g.x) / d
	for i := range g.n {
		g.checkFrame(i, g.x[i*d:(i+1)*d])
	}
	return g.frames("atoms in it")
}

// checkFrame refuses a frame of atoms without names whose numbers are not finite or too large.
func (g *gathered) checkFrame(frame int, x []float64) {
	for i, v := range x {
		if !(math.Abs(v) <= farthest) {
			g.refuse(Error{Frame: frame, Atom: strconv.Itoa(i / 3)}, "%c is %v, expected a number of at most %.0g Å",
				'x'+rune(i%3), v, farthest)
		}
	}
}
