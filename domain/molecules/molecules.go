// Package molecules is the domain of conformations of a molecule: they are compared by
// the internal coordinates that a set leaves a window, and by how far they are from a
// reference after alignment. None of these sees where a conformation is and how it is
// turned.
package molecules

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/conformation"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/molecule"
	"github.com/landing-diffusion/landing/molecule/files"
	"github.com/landing-diffusion/landing/molecule/superpose"
	"github.com/landing-diffusion/landing/parallel"
)

// Kind is data.kind molecule: conformations, on sets of three coordinates an atom.
var Kind = domain.Kind{Name: "molecule", Data: "molecule", Fits: fits, Read: Read, New: New,
	Writes: []string{".pdb", ".xyz", ".sdf", ".dcd"}}

// ReferenceKey is the key of the file that the RMSD is taken to.
const ReferenceKey = "data.reference"

// published is the number of samples that distances on molecules are published with.
const published = 8000

func fits(set constraint.Set) bool { return set.Dim()%3 == 0 }

// conditioned returns the set of conditions on a molecule, or nil if it is another kind of
// set.
func conditioned(set constraint.Set) *conformation.Set {
	if s, ok := constraint.As[*conformation.Set](set); ok && s.Dim() == set.Dim() { // no factor of a product
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

// New makes the domain. The error is a *files.Error, a *superpose.ReferenceError or one
// of the file system.
func New(in domain.Input) (*domain.Domain, error) {
	m, err := of(in)
	if err != nil {
		return nil, err
	}
	g := &guide{molecule: m, set: conditioned(in.Set)}
	var origin string
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
	out := &domain.Domain{Samples: published, More: true, Draw: g.draw(o), Writers: map[string]domain.Writer{}}
	if g.reference != nil {
		out.Lay = func(x []float64) []float64 { return g.laid(x, in.Pool) }
	}
	if len(o.List) > 0 { // one or two atoms may have nothing to compare
		out.Observables, out.Distance = o, o.Distance(in.Set.Dim(), in.Pool)
		out.Distance.Name = "Jensen–Shannon distance"
	}
	for ext, w := range files.Writers {
		out.Writers[ext] = func(to io.Writer, x []float64, _ int) error { return w(to, m, x) }
	}
	for _, r := range in.Remarks {
		out.Faults = append(out.Faults, fmt.Sprintf("%s: %s", in.Files["data.path"], r))
	}
	return out, nil
}

// laid returns conformations laid on the reference.
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

// of returns the molecule with all that is known of it: the set's, or the data's if that
// alone has names. If both have, they must be the same.
func of(in domain.Input) (*molecule.Molecule, error) {
	own := in.Molecule
	if own == nil {
		own = molecule.Anonymous(in.Set.Dim() / 3)
	}
	s := conditioned(in.Set)
	if s == nil {
		return bonded(own, in.Data), nil
	}
	if at, ok := s.Molecule().Same(own); !ok {
		return nil, &files.Error{File: in.Files["data.path"], Frame: 0, Atom: fmt.Sprint(at), Problem: fmt.Sprintf(
			"is %s, expected %s as in the template of the set", described(own, at), described(s.Molecule(), at))}
	}
	known := func(m *molecule.Molecule) bool {
		return slices.ContainsFunc(m.Atoms, func(a molecule.Atom) bool { return a.Name != "" || a.Element != "" })
	}
	if known(s.Molecule()) || !known(own) {
		return bonded(s.Molecule(), in.Data), nil
	}
	return bonded(own, in.Data), nil
}

func described(m *molecule.Molecule, i int) string {
	if i >= m.N() {
		return "missing"
	}
	a := m.Atoms[i]
	return strings.TrimSpace(fmt.Sprintf("%s %s", m.Label(i), a.Element))
}

// bonded returns the molecule with bonds: where it has none, those that are guessed in the
// first row of the data.
func bonded(m *molecule.Molecule, data []float64) *molecule.Molecule {
	if m.Bonds != nil || len(data) < m.Dim() {
		return m
	}
	out := *m
	out.Bonds, out.Guessed = m.GuessBonds(data[:m.Dim()]), true
	return &out
}

// reference returns what RMSDs are taken to, and where it is from: the first frame of the
// file that the problem names, or the training row nearest to the mean shape. It is nil
// for fewer than three atoms.
func reference(in domain.Input) (*superpose.Reference, string, error) {
	d := in.Set.Dim()
	if d < 9 {
		return nil, "", nil
	}
	if path := in.Files[ReferenceKey]; path != "" {
		f, err := files.Read(path)
		if err != nil {
			return nil, "", err
		}
		if f.Molecule.Dim() != d {
			return nil, "", &files.Error{File: path, Frame: 0,
				Problem: fmt.Sprintf("it has %d atoms, expected %d as in "+
					"the set", f.Molecule.N(), d/3)}
		}
		r, err := superpose.New(f.Frame(0))
		if err != nil {
			return nil, "", &files.Error{File: path, Frame: 0, Problem: err.Error()}
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
