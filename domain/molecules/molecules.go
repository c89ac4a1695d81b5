// Package molecules is the domain of conformations of a molecule: they are compared by the internal coordinates that a
// set leaves a window, and by how far they are from a reference after alignment. None of these sees where a
// conformation is and how it is turned.
package molecules

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
)

// Kind is data.kind molecule: conformations, on sets of three coordinates an atom.
var Kind = domain.Kind{Name: "molecule", Data: "molecule", Fits: fits, Read: Read, Fit: fitBent, Open: open, New: New,
	Writes: []string{".pdb", ".xyz", ".sdf", ".dcd"}}

// Keys of the file that the RMSD is taken to, and of AMBER's parameters, for energies.
const (
	ReferenceKey = "data.reference"
	PrmtopKey    = "data.prmtop"
)

// published is the number of samples that distances on molecules are published with.
const published = 8000

func fits(set constraint.Set) bool { return !fitsInternal(set) && set.Dim()%3 == 0 }

// conditioned returns the set of conditions on a molecule, or nil if it is another kind of set.
func conditioned(set constraint.Set) *conformation.Set {
	if s, ok := constraint.As[*conformation.Set](set); ok && s.Molecule().Dim() == set.Dim() { // no factor of a product
		return s
	}
	return nil
}

// Read reads frames of a file; see package files.
func Read(path string) (*dataset.Points, error) {
	f, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	return &dataset.Points{Name: f.Name, N: f.N, D: f.Molecule.Dim(), X: f.X, SHA256: f.SHA256, Molecule: f.Molecule,
		Remarks: f.Remarks}, nil
}

// New makes the domain. The error is a *files.Error, a *superpose.ReferenceError or one of the file system.
func New(in domain.Input) (*domain.Domain, error) {
	m, remark := of(in)
	g := &guide{molecule: m, set: conditioned(in.Set)}
	var origin string
	var err error
	if g.reference, origin, err = reference(in); err != nil {
		return nil, err
	}
	g.choose(in.Train)
	o := g.observables(in.Data, origin)
	if len(in.Data) > 0 && len(o.List) > 0 {
		if o, err = o.Over(in.Data, in.Set.Dim(), in.Pool); err != nil {
			return nil, &files.Error{File: in.Files["data.path"], Frame: -1, Problem: err.Error()}
		}
	}
	c, err := g.compare(in)
	if err != nil {
		return nil, err
	}
	out := &domain.Domain{Samples: published, More: true, Draw: g.draw(o, c), Scene: g.space,
		Find: func(x []float64) []domain.Finding {
			return slices.Concat(c.find(x), c.contacts(x), g.windows(x, in.Data))
		},
		Writers: map[string]domain.Writer{}, Rounded: files.Rounded,
		Unit: "Å (root mean square over atoms)", PerUnit: math.Sqrt(3 / float64(in.Set.Dim()))}
	if g.reference != nil {
		out.Lay = func(x []float64) []float64 { return g.laid(x, in.Pool) }
	}
	if len(o.List) > 0 { // one or two atoms may have nothing to compare
		out.Say = func(x []float64) string { return "(" + g.label(x) + ")" }
		out.Observables, out.Distance = o, o.Distance(in.Set.Dim(), in.Pool)
		out.Distance.Name = "Jensen–Shannon distance"
	}
	for ext, w := range files.Writers {
		out.Writers[ext] = func(to io.Writer, points arrayfile.Rows) error { return w(to, m, points) }
	}
	if remark != "" {
		in.Remarks = append(slices.Clone(in.Remarks), remark)
	}
	for _, r := range in.Remarks {
		out.Faults = append(out.Faults, fmt.Sprintf("%s: %s", in.Files["data.path"], r))
	}
	return out, nil
}

func (g *guide) laid(x []float64, pool *parallel.Pool) []float64 {
	d := g.molecule.Dim()
	out := make([]float64, len(x))
	domain.EachBlock(pool, len(x)/d, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			pose := g.reference.Fit(x[i*d : (i+1)*d])
			pose.Apply(out[i*d:(i+1)*d], x[i*d:(i+1)*d])
		}
	})
	return out
}

// fit takes the set's atoms out of frames and gives equivalent ones the names that the set's conditions ask for.
func fit(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
	s := conditioned(set)
	if s == nil || data.Molecule == nil {
		return data, nil
	}
	out, err := placed(s, data)
	if err != nil {
		return nil, err
	}
	m := s.Molecule()
	// Bonds of beads, for example, are long, but then all are. One frame may have a bond across a periodic boundary.
	d, last := m.Dim(), len(out.X)/m.Dim()-1
	long := func(b molecule.Bond) bool {
		for _, i := range []int{0, last / 2, last} {
			if last < 0 || molecule.Distance(out.X[i*d:(i+1)*d], b[0], b[1]) <= 1.1*m.LongestBond(b[0], b[1]) {
				return false
			}
		}
		return true
	}
	short := func(b molecule.Bond) bool { return !long(b) }
	if at := slices.IndexFunc(m.Bonds, long); at >= 0 && slices.ContainsFunc(m.Bonds, short) {
		b := m.Bonds[at]
		return nil, fmt.Errorf("the atoms %s and %s, bonded in the set, are %.3g Å apart in its first frame: are its "+
			"atoms in another order?", m.Label(b[0]), m.Label(b[1]), molecule.Distance(out.X, b[0], b[1]))
	}
	return relabelled(s, out), nil
}

// relabelled returns the frames with equivalent atoms exchanged where conditions ask for it.
func relabelled(s *conformation.Set, data *dataset.Points) *dataset.Points {
	m := s.Molecule()
	if len(m.Bonds) == 0 {
		m = data.Molecule
	}
	r := s.NewRelabeller(m)
	if len(r) == 0 {
		return data
	}
	out, frames := *data, 0
	out.X = slices.Clone(data.X)
	for row := range slices.Chunk(out.X, data.D) {
		if r.Relabel(row) {
			frames++
		}
	}
	if frames == 0 {
		return data
	}
	out.Remarks = append(slices.Clone(data.Remarks), fmt.Sprintf("In %d of %d frames equivalent atoms, such as the "+
		"hydrogens of CH₂, exchange names to have the chirality of the set.", frames, data.N))
	return &out
}

// placed takes the set's atoms out of frames that call them alike, in the set's order. Where the frames do not, they
// are taken as they are: with as many atoms, and no other element at the place of one.
func placed(s *conformation.Set, data *dataset.Points) (*dataset.Points, error) {
	m, own := s.Molecule(), data.Molecule
	pick, err := picked(m, own)
	if err == nil {
		return picking(data, pick), nil
	}
	if kept, of := s.Kept(); kept != nil && own.N() == of && len(kept) < of {
		data = picking(data, kept)
		data.Remarks = data.Remarks[:len(data.Remarks)-1] // that atoms are left out is what the set asks for
		own = data.Molecule
	}
	if have, want := own.N(), m.N(); have != want {
		fault := fmt.Sprintf("its frames have %d atoms; expected %d, of %s", have, want, constraint.Name(s))
		if named(m) && named(own) {
			fault += fmt.Sprintf(", and they are not found by name: %v", err)
		}
		return nil, errors.New(fault)
	}
	for i, a := range own.Atoms {
		if b := m.Atoms[i]; a.Element != "" && b.Element != "" && a.Element != b.Element {
			return nil, fmt.Errorf("atom %d (%s) is %s; expected %s, for the set calls it %s: is the order another?", i,
				own.Label(i), a.Element, b.Element, m.Label(i))
		}
	}
	return data, nil
}

// fitBent is fit of frames whose dihedrals have values: it refuses one where three of the
// atoms of a condition's dihedral are on a line.
func fitBent(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
	out, err := fit(set, data)
	s := conditioned(set)
	if err != nil || s == nil || out.D != set.Dim() {
		return out, err
	}
	m := s.Molecule()
	for i := range out.N {
		x := out.X[i*out.D : (i+1)*out.D]
		for _, c := range s.Conditions() {
			if c.Kind != conformation.Dihedral {
				continue
			}
			for k := range 2 {
				a, b, d := c.Atoms[k], c.Atoms[k+1], c.Atoms[k+2]
				if math.Sin(molecule.Angle(x, a, b, d)) > straight {
					continue
				}
				return nil, fmt.Errorf("frame %d (from 0): the atoms %s, %s and %s are on a line, where the dihedral "+
					"%s has no value", i, m.Label(a), m.Label(b), m.Label(d), (&guide{molecule: m, set: s}).of(c).name)
			}
		}
	}
	return out, nil
}

// open is fitBent for a set of conformations and values of coordinates that are given with them: those of the frames.
func open(set constraint.Set, data *dataset.Points, names []string) (*dataset.Points, error) {
	s, ok := constraint.As[*conformation.Set](set)
	data, err := fitBent(constraint.At(set, make([]float64, len(names))), data)
	if err != nil || !ok || len(s.Capabilities().HeldNames) != len(names) || data.D != s.Molecule().Dim() {
		return data, err
	}
	out := *data
	out.X, out.D = nil, set.Dim()
	for x := range slices.Chunk(data.X, data.D) {
		out.X = append(out.X, s.Given(x[:data.D:data.D])...)
	}
	return &out, nil
}

// straight is the sine of the angle within which atoms count as on a line: what three
// decimals of their coordinates leave of a line.
const straight = 3e-3

// named reports whether a molecule has names, and not elements alone.
func named(m *molecule.Molecule) bool {
	return slices.ContainsFunc(m.Atoms, func(a molecule.Atom) bool { return a.Name != "" && a.Name != a.Element })
}

// picked returns which atoms of b are those of a, by their names: with the residue's number,
// or else with its name alone.
func picked(a, b *molecule.Molecule) ([]int, error) {
	pick, seen := make([]int, a.N()), map[int]bool{}
	for i, v := range a.Atoms {
		label := a.Label(i)
		if _, err := strconv.Atoi(label); err == nil { // an index is no name
			return nil, fmt.Errorf("atom %d of the set has no name of its own", i)
		}
		j, err := b.Select(label)
		if err != nil && v.Residue != "" {
			if k, without := b.Select(v.Residue + ":" + v.Name); without == nil {
				j, err = k, nil
			}
		}
		if err != nil {
			return nil, err
		}
		if seen[j] {
			return nil, fmt.Errorf("two of the set's atoms are %s", b.Label(j))
		}
		seen[j], pick[i] = true, j
	}
	return pick, nil
}

// picking returns the frames with the atoms that were picked, in that order.
func picking(data *dataset.Points, pick []int) *dataset.Points {
	own := data.Molecule
	if len(pick) == own.N() && slices.IsSorted(pick) {
		return data
	}
	out := *data
	out.D = 3 * len(pick)
	out.X = make([]float64, 0, data.N*out.D)
	for i := range data.N {
		out.X = append(out.X, molecule.Picked(data.X[i*data.D:(i+1)*data.D], pick)...)
	}
	out.Molecule = own.Part(pick)
	out.Molecule.Name = ""
	remark := "The frames' atoms are put into the set's order, by their names."
	if n := own.N() - len(pick); n > 0 {
		remark = fmt.Sprintf("%d of the frames' %d atoms are not in the set and are left out; the others are found by "+
			"their names.", n, own.N())
	}
	out.Remarks = append(slices.Clone(data.Remarks), remark)
	return &out
}

// of returns the molecule with all that is known of it: the set's, or the data's if that
// alone has names; and what is to be told where they differ in names.
func of(in domain.Input) (m *molecule.Molecule, remark string) {
	own := in.Molecule
	if own == nil {
		own = molecule.Anonymous(in.Set.Dim() / 3)
	}
	s := conditioned(in.Set)
	if s == nil {
		return bonded(own, in.Data), ""
	}
	known := func(m *molecule.Molecule) bool {
		return slices.ContainsFunc(m.Atoms, func(a molecule.Atom) bool { return a.Name != "" || a.Element != "" })
	}
	if !known(s.Molecule()) && known(own) {
		return bonded(own, in.Data), ""
	}
	for at := range min(own.N(), s.Molecule().N()) {
		v, w := own.Atoms[at], s.Molecule().Atoms[at].Name
		if v.Name != "" && v.Name != v.Element && w != "" && !strings.EqualFold(v.Name, w) { // elements are no names
			remark = fmt.Sprintf("atom %d is called %s, and %s in the set, whose names are used; if the order of "+
				"atoms is another, conditions are on the wrong ones", at, own.Label(at), s.Molecule().Label(at))
			break
		}
	}
	return bonded(s.Molecule(), in.Data), remark
}

// bonded returns the molecule with bonds: where it has none, those that are guessed in the first row of the data.
func bonded(m *molecule.Molecule, data []float64) *molecule.Molecule {
	if m.Bonds != nil || len(data) < m.Dim() {
		return m
	}
	out := *m
	out.Bonds, out.Guessed = m.GuessBonds(data[:m.Dim()]), true
	return &out
}

// reference returns what RMSDs are taken to, and where it is from: the first frame of the file that the problem names,
// or the training row nearest to the mean shape. It is nil for fewer than three atoms.
func reference(in domain.Input) (*superpose.Reference, string, error) {
	d := in.Set.Dim()
	if d < 9 {
		return nil, "", nil
	}
	if path := in.Files[ReferenceKey]; path != "" {
		f, err := Read(path)
		if err != nil {
			return nil, "", err
		}
		fault := func(err error) error { return &files.Error{File: path, Frame: 0, Problem: err.Error()} }
		if f, err = fit(in.Set, f); err != nil {
			return nil, "", fault(err)
		}
		if f.D != d {
			return nil, "", fault(fmt.Errorf("it has %d atoms, expected %d as in the set", f.D/3, d/3))
		}
		r, err := superpose.New(f.X[:d])
		if err != nil {
			return nil, "", fault(err)
		}
		return r, "the reference that " + ReferenceKey + " names", nil
	}
	if len(in.Train) == 0 {
		return nil, "", nil
	}
	at, err := superpose.Central(in.Train, d/3)
	if err != nil {
		var e *superpose.ReferenceError
		if errors.As(err, &e) {
			return nil, "", &files.Error{File: in.Files["data.path"], Frame: -1, Problem: "no frame can be a " +
				"reference: " + e.Problem}
		}
		return nil, "", err
	}
	r, err := superpose.New(in.Train[at*d : (at+1)*d])
	return r, "the training frame nearest to the mean shape", err
}
