package files

import (
	"io"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// DecodeXYZ reads the frames of an XYZ file: each a line with the number of atoms, a
// comment, and a line an atom with its symbol (or its element's number) and x, y, z;
// what follows them is not read. Blank lines may stand between frames.
func DecodeXYZ(name string, r io.Reader) (*Frames, error) {
	t := newReader(name, r)
	var atoms []molecule.Atom
	var lines []int
	var x []float64
	for {
		line, ok, err := t.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || n < 1 || n > MaxAtoms {
			return nil, t.fault("", "%s, expected the number of atoms, 1 to %d", quoted(line), MaxAtoms)
		}
		comment, ok, err := t.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, t.fault("", "the file ends before the comment, expected %d atoms: it is truncated", n)
		}
		if err := t.ordered(comment); err != nil {
			return nil, err
		}
		atoms, lines, x = atoms[:0], lines[:0], x[:0]
		for i := range n {
			line, ok, err := t.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, t.fault("", "the file ends after %d of %d atoms: it is truncated", i, n)
			}
			a, p, err := t.atomXYZ(i, line)
			if err != nil {
				return nil, err
			}
			atoms, lines, x = append(atoms, a), append(lines, t.line), append(x, p[:]...)
		}
		if err := t.add(atoms, x, lines, t.line); err != nil {
			return nil, err
		}
	}
	if t.n == 0 {
		return nil, &Error{File: name, Frame: -1, Problem: "there are no frames, expected an XYZ file"}
	}
	return t.frames()
}

// ordered refuses an extended comment whose columns do not begin with symbol and place.
func (t *reader) ordered(comment string) error {
	const key, want = "Properties=", "species:S:1:pos:R:3"
	if _, p, ok := strings.Cut(comment, key); ok && !strings.HasPrefix(strings.Trim(p, `"`), want) {
		return t.fault("", "the comment says %s, expected columns that begin with %s", quoted(key+p), want)
	}
	return nil
}

func (t *reader) atomXYZ(i int, line string) (a molecule.Atom, p [3]float64, err error) {
	cells := strings.Fields(line)
	if len(cells) == 0 {
		return a, p, t.fault(strconv.Itoa(i), "a blank line, expected a symbol and x, y, z")
	}
	a.Name = clip(cells[0])
	if z, err := strconv.Atoi(cells[0]); err == nil {
		if a.Name = molecule.Numbered(z); a.Name == "" {
			return a, p, t.fault(strconv.Itoa(i), "there is no element of number %s", clip(cells[0]))
		}
	}
	if s := strings.TrimRight(a.Name, "0123456789"); molecule.Known(s) {
		a.Element = molecule.Symbol(s)
	}
	at := strconv.Itoa(i) + " (" + a.Name + ")"
	for k, axis := range []string{"x", "y", "z"} {
		cell := ""
		if k+1 < len(cells) {
			cell = cells[k+1]
		}
		if p[k], err = t.coordinate(at, axis, cell, ""); err != nil {
			return a, p, err
		}
	}
	return a, p, nil
}
