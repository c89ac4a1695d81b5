package files

import (
	"fmt"
	"io"
	"maps"
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
	var first *record
	for rec := t.recordSDF(); rec != nil; rec = t.recordSDF() {
		t.add(rec.atoms, rec.x, rec.lines, t.line)
		if first == nil {
			first, t.molecule.Name = rec, rec.title
		} else if t.err == nil {
			t.sameBonds(first, rec)
		}
	}
	if t.err == nil && first != nil && len(first.bonds) > 0 {
		t.bonded(first)
	}
	return t.frames("records, expected an SDF file")
}

// sameBonds refuses a record, just added, with other bonds than the first.
func (t *reader) sameBonds(first, r *record) {
	order := func(a, b molecule.Bond) int { return slices.Compare(a[:], b[:]) }
	for _, of := range []*record{first, r} {
		for _, b := range slices.SortedFunc(maps.Keys(of.bonds), order) {
			if was, is := first.bonds[b], r.bonds[b]; was != is {
				t.refuse(Error{Line: t.line, Frame: t.n - 1}, "its bond of atoms %d and %d has order %d, in frame 0 %d"+
					" (0: none): expected conformers of one molecule, with its atoms in one order", b[0], b[1], is, was)
			}
		}
	}
}

// bonded gives the molecule the bonds of a record, and their orders.
func (t *reader) bonded(r *record) {
	m := t.molecule
	if err := m.SetBonds(slices.Collect(maps.Keys(r.bonds))); err != nil {
		t.refuse(Error{}, "%v", err)
		return
	}
	m.Orders = make([]int, len(m.Bonds))
	for k, b := range m.Bonds {
		m.Orders[k] = r.bonds[b]
	}
}

// A record is one of an SDF file.
type record struct {
	title string
	atoms []molecule.Atom
	x     []float64
	lines []int
	bonds map[molecule.Bond]int // with their orders
}

// recordSDF reads a record; it is nil at the end, or after a fault.
func (t *reader) recordSDF() *record {
	// A blank title is usual, and so are blank lines at the end of a file.
	var head []string
	for len(head) < 4 {
		line, ok := t.next()
		if !ok {
			if strings.TrimSpace(strings.Join(head, "")) != "" {
				t.fault("", "the file ends in the header of a record: it is truncated")
			}
			return nil
		}
		head = append(head, line)
	}
	r := &record{title: strings.TrimSpace(head[0]), bonds: map[molecule.Bond]int{}}
	atoms, bonds := t.counts(head[3])
	for i := range atoms {
		t.atomSDF(r, i, t.must("atom %d of %d", i, atoms))
	}
	for k := range bonds {
		t.bondSDF(r, k, t.must("bond %d of %d", k, bonds))
	}
	if t.err == nil {
		t.spatial(r, columns(head[1], 21, 22))
	}
	t.endSDF(r)
	if t.err != nil {
		return nil
	}
	return r
}

// spatial refuses a record that is a drawing: by its header, or flat without a header that says 3D, or with an atom of
// four neighbours.
func (t *reader) spatial(r *record, said string) {
	flat, near, most := len(r.atoms) > 3, make([]int, len(r.atoms)), 0
	for i := 2; i < len(r.x); i += 3 {
		flat = flat && r.x[i] == 0
	}
	for b := range r.bonds {
		near[b[0]], near[b[1]] = near[b[0]]+1, near[b[1]]+1
		most = max(most, near[b[0]], near[b[1]])
	}
	if said == "2D" || flat && (said != "3D" || most > 3) {
		t.fault("", "the record is a drawing (2D in its second line, or all z are 0), expected conformers in space, "+
			"as RDKit's EmbedMultipleConfs or obabel --gen3d makes them")
	}
}

func (t *reader) counts(line string) (atoms, bonds int) {
	if columns(line, 34, 39) == "V3000" {
		t.fault("", "the record is V3000, expected V2000")
	}
	atoms, errA := strconv.Atoi(columns(line, 1, 3))
	bonds, errB := strconv.Atoi(columns(line, 4, 6))
	if errA != nil || errB != nil || atoms < 1 || bonds < 0 || columns(line, 34, 39) != "V2000" {
		t.fault("", "%s, expected the counts line of a V2000 record: atoms and bonds in columns 1 to 6, V2000 in "+
			"columns 34 to 39", quoted(line))
	}
	return atoms, bonds
}

func (t *reader) atomSDF(r *record, i int, line string) {
	symbol := columns(line, 32, 34)
	if symbol == "" {
		t.fault(strconv.Itoa(i), "the record ends in column %d, expected x, y, z and a symbol in columns 1 to 34",
			len(line))
	}
	a := molecule.Atom{Name: symbol}
	if molecule.Known(symbol) {
		a.Element = molecule.Symbol(symbol)
	}
	// Charges of the atom block count where no M  CHG follows: 1 to 7 are 3 to −3.
	if c, err := strconv.Atoi(columns(line, 37, 39)); err == nil && c > 0 && c < 8 && c != 4 {
		a.Charge = 4 - c
	}
	p := t.place(strconv.Itoa(i)+" ("+symbol+")", fixed(line, 1, 10))
	r.atoms, r.lines, r.x = append(r.atoms, a), append(r.lines, t.line), append(r.x, p[:]...)
}

func (t *reader) bondSDF(r *record, k int, line string) {
	i, errI := strconv.Atoi(columns(line, 1, 3))
	j, errJ := strconv.Atoi(columns(line, 4, 6))
	order, errO := strconv.Atoi(columns(line, 7, 9))
	n := len(r.atoms)
	if errI != nil || errJ != nil || errO != nil || i < 1 || j < 1 || i > n || j > n || i == j || order < 1 ||
		order > 8 {
		t.fault("", "%s, expected bond %d: two atoms of 1 to %d and an order of 1 to 8, in columns of three",
			quoted(line),
			k, n)
	}
	b := molecule.Bond{min(i, j) - 1, max(i, j) - 1}
	if r.bonds[b] > 0 {
		t.fault("", "bond %d joins the atoms %d and %d, which another bond joins", k, i, j)
	}
	r.bonds[b] = order
}

// endSDF reads properties to M  END, and on to $$$$ or the end of the file.
func (t *reader) endSDF(r *record) {
	charged := false
	for line := t.must("M  END"); line != "M  END" && t.err == nil; line = t.must("M  END") {
		if line == "$$$$" {
			t.fault("", "$$$$ before M  END")
		}
		if strings.HasPrefix(line, "M  RAD") && t.n == 0 {
			t.remarks = append(t.remarks, fmt.Sprintf("Unpaired electrons (M  RAD, line %d) are not read, and not "+
				"written: other programs may put hydrogens in their places.", t.line))
		}
		if cells := strings.Fields(line); len(cells) > 2 && cells[0] == "M" && cells[1] == "CHG" {
			for i := range r.atoms {
				if !charged {
					r.atoms[i].Charge = 0
				}
			}
			charged = true
			t.charges(r, cells[3:])
		}
	}
	data := false
	for line, ok := t.next(); line != "$$$$"; line, ok = t.next() {
		if !ok && data {
			t.fault("", "the file ends in data fields, expected $$$$: it is truncated")
		}
		if !ok {
			return
		}
		data = data || strings.TrimSpace(line) != ""
	}
}

// charges reads pairs of an atom, from 1, and its charge.
func (t *reader) charges(r *record, pairs []string) {
	for pair := range slices.Chunk(pairs[:len(pairs)/2*2], 2) {
		i, errI := strconv.Atoi(pair[0])
		c, errC := strconv.Atoi(pair[1])
		if errI != nil || errC != nil || i < 1 || i > len(r.atoms) || c < -15 || c > 15 {
			t.fault("", "M  CHG gives atom %s the charge %s, expected an atom of 1 to %d and a charge of −15 to 15",
				quoted(pair[0]), quoted(pair[1]), len(r.atoms))
			return
		}
		r.atoms[i-1].Charge = c
	}
}
