package files

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// mostV2000 is the number of atoms, and of bonds, that a V2000 record can hold.
const mostV2000 = 999

// DecodeSDF reads the records of an SDF file, or a MOL file, as conformers of one
// molecule: all have the same atoms and bonds. It takes V2000; data fields are not read.
func DecodeSDF(name string, r io.Reader) (*Frames, error) {
	t := newReader(name, r)
	var bonds []molecule.Bond
	var orders []int
	for {
		rec, err := t.recordSDF()
		if err != nil {
			return nil, err
		}
		if rec == nil {
			break
		}
		first := t.n == 0
		if err := t.add(rec.atoms, rec.x, rec.lines, t.line); err != nil {
			return nil, err
		}
		if first {
			bonds, orders = rec.bonds, rec.orders
			t.molecule.Name = rec.title
		} else if k := differ(bonds, orders, rec); k >= 0 {
			e := &Error{File: name, Line: t.line, Frame: t.n - 1,
				Problem: fmt.Sprintf("has %d bonds, expected %d as in frame 0: records are conformers of one molecule",
					len(rec.bonds), len(bonds))}
			if k < len(rec.bonds) && k < len(bonds) {
				e.Line = rec.bondLines[k]
				e.Problem = fmt.Sprintf("bond %d joins %d and %d, order %d; in frame 0 it joins %d and %d, order %d: "+
					"records are conformers of one molecule", k, rec.bonds[k][0], rec.bonds[k][1], rec.orders[k],
					bonds[k][0], bonds[k][1], orders[k])
			}
			return nil, e
		}
	}
	if t.n == 0 {
		return nil, &Error{File: name, Frame: -1, Problem: "there are no records, expected an SDF file"}
	}
	if bonds != nil {
		if err := t.molecule.SetBonds(bonds); err != nil {
			return nil, &Error{File: name, Frame: 0, Problem: err.Error()}
		}
		t.molecule.Orders = make([]int, len(t.molecule.Bonds))
		for k, b := range bonds {
			at, _ := slices.BinarySearchFunc(t.molecule.Bonds, molecule.Bond{min(b[0], b[1]), max(b[0], b[1])},
				func(a, b molecule.Bond) int { return slices.Compare(a[:], b[:]) })
			t.molecule.Orders[at] = orders[k]
		}
	}
	return t.frames()
}

// A record is one of an SDF file.
type record struct {
	title            string
	atoms            []molecule.Atom
	x                []float64
	lines, bondLines []int
	bonds            []molecule.Bond
	orders           []int
}

// differ returns the first bond that a record does not have as given, or −1.
func differ(bonds []molecule.Bond, orders []int, r *record) int {
	for k := range min(len(bonds), len(r.bonds)) {
		if bonds[k] != r.bonds[k] || orders[k] != r.orders[k] {
			return k
		}
	}
	if len(bonds) != len(r.bonds) {
		return min(len(bonds), len(r.bonds))
	}
	return -1
}

// must is next, where an end is a fault.
func (t *reader) must(what string) (string, error) {
	line, ok, err := t.next()
	if err == nil && !ok {
		err = t.fault("", "the file ends, expected %s: it is truncated", what)
	}
	return line, err
}

// recordSDF reads a record; it is nil at the end.
func (t *reader) recordSDF() (*record, error) {
	r := &record{}
	// A blank title is usual, and so are blank lines at the end of a file.
	var head []string
	for len(head) < 4 {
		line, ok, err := t.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			if strings.TrimSpace(strings.Join(head, "")) == "" {
				return nil, nil
			}
			return nil, t.fault("", "the file ends in the header of a record: it is truncated")
		}
		head = append(head, line)
	}
	r.title = strings.TrimSpace(head[0])
	if columns(head[1], 21, 22) == "2D" {
		return nil, t.fault("", "the record is a drawing (2D), expected conformers in space")
	}
	atoms, bonds, err := t.counts(head[3])
	if err != nil {
		return nil, err
	}
	for i := range atoms {
		line, err := t.must(fmt.Sprintf("atom %d of %d", i, atoms))
		if err != nil {
			return nil, err
		}
		if err := t.atomSDF(r, i, line); err != nil {
			return nil, err
		}
	}
	for k := range bonds {
		line, err := t.must(fmt.Sprintf("bond %d of %d", k, bonds))
		if err != nil {
			return nil, err
		}
		if err := t.bondSDF(r, k, line); err != nil {
			return nil, err
		}
	}
	return r, t.endSDF(r)
}

func (t *reader) counts(line string) (atoms, bonds int, err error) {
	if columns(line, 34, 39) == "V3000" {
		return 0, 0, t.fault("", "the record is V3000, expected V2000")
	}
	atoms, errA := strconv.Atoi(columns(line, 1, 3))
	bonds, errB := strconv.Atoi(columns(line, 4, 6))
	if errA != nil || errB != nil || atoms < 1 || bonds < 0 || columns(line, 34, 39) != "V2000" {
		return 0, 0, t.fault("", "%s, expected the counts line of a V2000 record: atoms and bonds in columns 1 to 6, "+
			"V2000 in columns 34 to 39", quoted(line))
	}
	return atoms, bonds, nil
}

func (t *reader) atomSDF(r *record, i int, line string) error {
	symbol := columns(line, 32, 34)
	at := strconv.Itoa(i) + " (" + symbol + ")"
	if symbol == "" {
		return t.fault(strconv.Itoa(i),
			"the record ends in column %d, expected x, y, z and a symbol in columns 1 to 34", len(line))
	}
	a := molecule.Atom{Name: symbol}
	if molecule.Known(symbol) {
		a.Element = molecule.Symbol(symbol)
	}
	// Charges of the atom block count where no M  CHG follows: 1 to 7 are 3 to −3.
	if c, err := strconv.Atoi(columns(line, 37, 39)); err == nil && c > 0 && c < 8 && c != 4 {
		a.Charge = 4 - c
	}
	for k, axis := range []string{"x", "y", "z"} {
		lo := 1 + 10*k
		v, err := t.coordinate(at, axis, columns(line, lo, lo+9), fmt.Sprintf(" in columns %d to %d", lo, lo+9))
		if err != nil {
			return err
		}
		r.x = append(r.x, v)
	}
	r.atoms, r.lines = append(r.atoms, a), append(r.lines, t.line)
	return nil
}

func (t *reader) bondSDF(r *record, k int, line string) error {
	i, errI := strconv.Atoi(columns(line, 1, 3))
	j, errJ := strconv.Atoi(columns(line, 4, 6))
	order, errO := strconv.Atoi(columns(line, 7, 9))
	n := len(r.atoms)
	if errI != nil || errJ != nil || errO != nil || i < 1 || j < 1 || i > n || j > n || i == j || order < 1 ||
		order > 8 {
		return t.fault("", "%s, expected bond %d: two atoms of 1 to %d and an order of 1 to 8, in columns of three",
			quoted(line), k, n)
	}
	b := molecule.Bond{min(i, j) - 1, max(i, j) - 1}
	if at := slices.Index(r.bonds, b); t.n == 0 && at >= 0 { // later records have the first's bonds
		return t.fault("", "bond %d joins the atoms %d and %d, which bond %d (line %d) joins", k, i, j, at,
			r.bondLines[at])
	}
	r.bonds, r.orders, r.bondLines = append(r.bonds, b), append(r.orders, order), append(r.bondLines, t.line)
	return nil
}

// endSDF reads properties to M  END, and on to $$$$ or the end of the file.
func (t *reader) endSDF(r *record) error {
	charged := false
	for {
		line, err := t.must("M  END")
		if err != nil {
			return err
		}
		if line == "M  END" {
			break
		}
		if line == "$$$$" {
			return t.fault("", "$$$$ before M  END")
		}
		if cells := strings.Fields(line); len(cells) > 2 && cells[0] == "M" && cells[1] == "CHG" {
			if !charged {
				for i := range r.atoms {
					r.atoms[i].Charge = 0
				}
				charged = true
			}
			if err := t.charges(r, cells[3:]); err != nil {
				return err
			}
		}
	}
	data := false
	for {
		line, ok, err := t.next()
		switch {
		case err != nil:
			return err
		case ok && line == "$$$$":
			return nil
		case ok && strings.TrimSpace(line) != "":
			data = true
		case !ok && data:
			return t.fault("", "the file ends in data fields, expected $$$$: it is truncated")
		case !ok:
			return nil
		}
	}
}

// charges reads pairs of an atom, from 1, and its charge.
func (t *reader) charges(r *record, pairs []string) error {
	for k := 0; k+1 < len(pairs); k += 2 {
		i, errI := strconv.Atoi(pairs[k])
		c, errC := strconv.Atoi(pairs[k+1])
		if errI != nil || errC != nil || i < 1 || i > len(r.atoms) || c < -15 || c > 15 {
			return t.fault("",
				"M  CHG gives atom %s the charge %s, expected an atom of 1 to %d and a charge of −15 to 15",
				quoted(pairs[k]), quoted(pairs[k+1]), len(r.atoms))
		}
		r.atoms[i-1].Charge = c
	}
	return nil
}
