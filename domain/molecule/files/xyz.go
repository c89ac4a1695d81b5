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
	for line, ok := t.next(); ok; line, ok = t.next() {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || n < 1 || n > MaxAtoms {
			t.fault("", "%s, expected the number of atoms, 1 to %d", quoted(line), MaxAtoms)
			break
		}
		t.ordered(t.must("the comment of %d atoms", n))
		atoms, lines, x = atoms[:0], lines[:0], x[:0]
		counted := n > 2 // whether the first column is 1, 2, 3, …
		for i := 0; i < n && t.err == nil; i++ {
			line := t.must("atom %d of %d", i, n)
			a, p := t.atomXYZ(i, line)
			counted = counted && strings.HasPrefix(strings.TrimSpace(line)+" ", strconv.Itoa(i+1)+" ")
			atoms, lines, x = append(atoms, a), append(lines, t.line), append(x, p[:]...)
		}
		if counted {
			t.fault("", "the first column counts the atoms, expected their symbols")
		}
		t.add(atoms, x, lines, t.line)
	}
	return t.frames("frames, expected an XYZ file")
}

// ordered refuses an extended comment whose columns do not begin with symbol and place.
func (t *reader) ordered(comment string) {
	const key, want = "properties=", "species:s:1:pos:r:3"
	if at := strings.Index(strings.ToLower(comment), key); at >= 0 {
		if p := comment[at:]; !strings.HasPrefix(strings.Trim(strings.ToLower(p[len(key):]), `"`), want) {
			t.fault("", "the comment says %s, expected columns that begin with species:S:1:pos:R:3", quoted(p))
		}
	}
}

func (t *reader) atomXYZ(i int, line string) (a molecule.Atom, p [3]float64) {
	cells := strings.Fields(line)
	if len(cells) == 0 {
		t.fault(strconv.Itoa(i), "a blank line, expected a symbol and x, y, z")
		return a, p
	}
	a.Name = clip(cells[0])
	if z, err := strconv.Atoi(cells[0]); err == nil {
		if a.Name = molecule.Numbered(z); a.Name == "" {
			t.fault(strconv.Itoa(i), "there is no element of number %s", clip(cells[0]))
		}
	}
	if s := strings.TrimRight(a.Name, "0123456789"); molecule.Known(s) {
		a.Element = molecule.Symbol(s)
	}
	return a, t.place(strconv.Itoa(i)+" ("+a.Name+")", func(k int) (text, where string) {
		if k+1 < len(cells) {
			text = cells[k+1]
		}
		return text, ""
	})
}
