package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
)

// DecodeNPY reads an array of shape n×A×3, n×3A, or A×3, which is one frame. Its atoms
// have no names; their bonds are guessed as if they were carbon.
func DecodeNPY(name string, r io.Reader) (*Frames, error) {
	a, digest, behind, err := arrayfile.HashNPY(r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case behind > 0:
		return nil, &Error{File: name, Frame: -1, Problem: fmt.Sprintf("%d bytes after the array, expected the end of "+
			"the file", behind)}
	}
	return array(name, "", a, digest)
}

// named are the arrays of an NPZ file that are taken for frames if there are several.
var named = []string{"frames", "positions", "coordinates", "xyz", "R", "X", "x"}

// DecodeNPZ reads the only array of an archive of the given size, or that which is called
// frames, positions, coordinates, xyz, R, X or x; see DecodeNPY.
func DecodeNPZ(name string, r io.ReaderAt, size int64) (*Frames, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, size)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	z, err := arrayfile.NewNPZ(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var fit []string
	for _, s := range z.Names() {
		if len(z.Names()) == 1 || slices.Contains(named, s) {
			fit = append(fit, s)
		}
	}
	if len(fit) != 1 {
		return nil, &Error{File: name, Frame: -1,
			Problem: fmt.Sprintf("it holds the arrays %s, expected one alone, or "+
				"one of them called one of %s", clip(strings.Join(z.Names(), ", ")), strings.Join(named, ", "))}
	}
	a, err := z.Read(fit[0], maxNumbers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return array(name, " "+fit[0], a, hex.EncodeToString(sum.Sum(nil)))
}

// array makes frames of an array; called is its name with a blank before it, if it has one.
func array(file, called string, a arrayfile.Array, digest string) (*Frames, error) {
	fault := func(frame int, atom, format string, v ...any) error {
		return &Error{File: file, Frame: frame, Atom: atom, Problem: fmt.Sprintf(format, v...)}
	}
	if a.Bool != nil {
		return nil, fault(-1, "", "the array%s holds booleans, expected numbers", called)
	}
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
	if d == 0 {
		return nil, fault(-1, "", "the array%s has shape %d, expected [n A 3], [n 3A] or [A 3], none of them 0", called,
			shape)
	}
	if d > 3*MaxAtoms {
		return nil, fault(-1, "", "the array%s has shape %d: %d atoms, expected at most %d", called, shape, d/3,
			MaxAtoms)
	}
	if a.Len() > maxNumbers {
		return nil, fault(-1, "", "more than %d numbers, expected a smaller file", maxNumbers)
	}
	x := a.AsFloat64()
	for i, v := range x {
		if !(math.Abs(v) <= farthest) {
			return nil, fault(i/d, fmt.Sprint(i%d/3), "%c is %v, expected a number of at most %.0g Å", 'x'+rune(i%3), v,
				farthest)
		}
	}
	g := gathered{file: file, molecule: molecule.Anonymous(d / 3), n: len(x) / d, x: x}
	return g.finish(digest)
}
