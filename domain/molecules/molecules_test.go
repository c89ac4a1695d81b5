package molecules

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/kept"
)

const degree = math.Pi / 180

func dihedral(name string, low, high float64, atoms ...int) conformation.Condition {
	return conformation.Condition{Name: name, Low: low * degree, High: high * degree,
		Coordinate: conformation.Coordinate{Kind: conformation.Dihedral, Atoms: atoms}}
}

func set(t testing.TB, m *molecule.Molecule, c ...conformation.Condition) *conformation.Set {
	t.Helper()
	return testkit.Must(conformation.New(conformation.Spec{Molecule: m, Conditions: c}))
}

func pool(t testing.TB) *parallel.Pool {
	p := parallel.New(2)
	t.Cleanup(p.Close)
	return p
}

// alanine is the paper's set on ten heavy atoms without names.
func alanine(t testing.TB) *conformation.Set {
	return set(t, molecule.Anonymous(10), dihedral("φ", -70, -70, 1, 3, 4, 6), dihedral("ψ", 130, 170, 3, 4, 6, 8))
}

// ψ, RMSD and the two distances are the reference implementation's; it computes the
// numbers of a conformation in float32.
func TestGolden(t *testing.T) {
	data := testkit.Shared(t, "data/alanine/dipeptide_refined_phi_psiwin.npy")
	centre := testkit.Shared(t, "data/alanine/dipeptide_center.npy")
	want := golden.Read(t, "md_jsd.npz")
	p := testkit.Must(Read(data))
	if p.N != 6029 || p.D != 30 {
		t.Fatalf("%d × %d", p.N, p.D)
	}
	d := testkit.Must(New(domain.Input{Set: alanine(t), Data: p.X, Train: p.X, Molecule: p.Molecule, Pool: pool(t),
		Files: map[string]string{"data.path": data, ReferenceKey: centre}}))
	if names := d.Distance.Parts; !slices.Equal(names, []string{"ψ", "RMSD"}) || d.Samples != 8000 || !d.More {
		t.Fatalf("parts %q, %d samples", names, d.Samples)
	}
	if o := d.Observables.List; o[0].Lo != 120 || o[0].Hi != 180 || o[1].Lo != -0.05 || o[1].Hi != 0.6 ||
		o[0].N != 60 || o[1].N != 60 || o[0].Feasible != [2]float64{130, 170} || o[0].File != "psi" {
		t.Errorf("%+v", o)
	}
	marks := d.Distance.Marks(p.X)
	for k, name := range []string{"psi", "rmsd"} {
		for i, v := range want[name].AsFloat64() {
			if got := marks[2*i+k]; math.Abs(got-v) > 4e-6*max(1, math.Abs(v)) {
				t.Fatalf("%s of row %d is %v, the reference's %v", name, i, got, v)
			}
		}
	}
	got := d.Distance.Compare(marks[:2*2000], marks)
	for k, name := range []string{"psi_jsd", "rmsd_jsd"} {
		// A value of float32 at a bin's edge may fall into the next: one count of 2000.
		testkit.Near(t, got[1+k], want[name].AsFloat64()[0], 2e-4, "%s", name)
	}
	t.Logf("ψ %.8f (%.8f), RMSD %.8f (%.8f)", got[1], want["psi_jsd"].AsFloat64()[0], got[2],
		want["rmsd_jsd"].AsFloat64()[0])
	// 8000 draws from the training rows are 0.027 from all data on both.
	split := dataset.RandomSplit(p.N, 1)
	r := d.Distance.Against(p.X, p.Rows(split.Train), p.Rows(append(split.Val, split.Test...)))
	draws := make([]float64, 0, 2*8000)
	for i := range 8000 {
		at := keyed.New(5, keyed.Probe, 0).Index(len(split.Train), uint64(i), 0)
		draws = append(draws, r.Train[2*at:2*at+2]...)
	}
	_, parts := r.Score(draws, 1)
	for k, s := range parts {
		if !(math.Abs(float64(s.Floor.Mean)-0.027) < 0.004) || !(s.SD > 0.0005 && s.SD < 0.006) ||
			!(s.HeldOut > s.Full) {
			t.Errorf("%s: %+v, expected a floor of 0.027 ± 0.003", d.Distance.Parts[k], s)
		}
		t.Logf("%s: floor %.4f ± %.4f", d.Distance.Parts[k], s.Floor.Mean, s.SD)
	}
}

// chain returns n conformations of a chain of A atoms, 1.5 apart, with angles of 111° and
// torsions by f, turned and moved at random.
func chain(a, n int, f func(i, k int) float64) []float64 {
	var out []float64
	for i := range n {
		x := []float64{0, 0, 0, 1.5, 0, 0, 1.5 - 1.5*math.Cos(111*degree), 1.5 * math.Sin(111*degree), 0}
		for k := 3; k < a; k++ {
			x = append(x, next(x, 1.5, 111*degree, f(i, k-3))...)
		}
		g := make([]float64, 6)
		keyed.New(9, keyed.Probe, 0).Normals(g, uint64(i), 0)
		for _, turn := range []struct{ a, b int }{{0, 1}, {1, 2}, {0, 1}} {
			s, c := math.Sincos(3 * g[turn.a+turn.b])
			for k := 0; k < len(x); k += 3 {
				x[k+turn.a], x[k+turn.b] = c*x[k+turn.a]-s*x[k+turn.b], s*x[k+turn.a]+c*x[k+turn.b]
			}
		}
		for k := range x {
			x[k] += 20 * g[3+k%3]
		}
		out = append(out, x...)
	}
	return out
}

// next returns the place of an atom at a distance from the last of x, with an angle and a torsion.
func next(x []float64, r, θ, τ float64) []float64 {
	n := len(x) / 3
	at := func(i int) [3]float64 { return [3]float64(x[3*i : 3*i+3]) }
	sub := func(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
	cross := func(a, b [3]float64) [3]float64 {
		return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	}
	unit := func(a [3]float64) [3]float64 {
		l := math.Sqrt(a[0]*a[0] + a[1]*a[1] + a[2]*a[2])
		return [3]float64{a[0] / l, a[1] / l, a[2] / l}
	}
	u := unit(sub(at(n-1), at(n-2)))
	w := unit(cross(sub(at(n-2), at(n-3)), u))
	v := cross(w, u)
	out := make([]float64, 3)
	for k := range 3 {
		out[k] = x[3*(n-1)+k] + r*(-math.Cos(θ)*u[k]+math.Sin(θ)*(math.Cos(τ)*v[k]+math.Sin(τ)*w[k]))
	}
	return out
}

// Windows are compared on the circle: one across ±180° has values on both sides of it, in
// one range; the numbers do not see where a conformation is and how it is turned.
func TestWindowAcrossTheCut(t *testing.T) {
	const n = 400
	x := chain(5, n, func(i, k int) float64 {
		if k == 0 {
			return (170 + 30*float64(i)/n) * degree // 170° to 200°
		}
		return 60 * degree
	})
	s := set(t, molecule.Anonymous(5), dihedral("turn", 170, 200, 0, 1, 2, 3), dihedral("held", 60, 60, 1, 2, 3, 4))
	d := testkit.Must(New(domain.Input{Set: s, Data: x, Train: x, Pool: pool(t)}))
	o := d.Observables.List
	if len(o) != 2 || o[0].Lo != 162.5 || o[0].Hi != 207.5 || o[0].Circular || o[0].Unit != "°" {
		t.Fatalf("%+v", o)
	}
	marks := d.Distance.Marks(x)
	for i := range n {
		if want := 170 + 30*float64(i)/n; math.Abs(marks[2*i]-want) > 1e-9 {
			t.Fatalf("row %d: %v°, want %v°", i, marks[2*i], want)
		}
	}
	// The RMSD compares shapes. It is lowest for the middle one, which is the reference. The distances that detect
	// copies compare shapes too.
	moved, laid := slices.Clone(x), d.Lay(x)
	for i := 0; i < len(x); i += 3 { // a turn about x by 90°, and a shift
		moved[i], moved[i+1], moved[i+2] = x[i]+7, -x[i+2]-1, x[i+1]
	}
	for i, v := range d.Lay(moved) {
		if math.Abs(v-laid[i]) > 1e-7 {
			t.Fatalf("coordinate %d of a moved conformation is laid at %v, that of itself at %v", i, v, laid[i])
		}
	}
	least := 0
	for i := range n {
		if marks[2*i+1] < marks[2*least+1] {
			least = i
		}
	}
	if least < n/2-10 || least > n/2+10 || marks[2*least+1] > 1e-7 {
		t.Errorf("the reference is row %d, RMSD %v", least, marks[2*least+1])
	}
	testkit.Contains(t, d.Observables.Note, "to the training frame nearest to the mean shape", "note")
}

// Where the set has no window, torsions are compared: those of rings that are not flat,
// else those that can turn; what the set fixes is not.
func TestTorsions(t *testing.T) {
	ring := molecule.Anonymous(12)
	var bonds []molecule.Bond
	var x []float64
	for i := range 12 {
		bonds = append(bonds, molecule.Bond{i, (i + 1) % 12})
	}
	for f := range 30 {
		for i := range 12 {
			s, c := math.Sincos(2 * math.Pi * float64(i) / 12)
			x = append(x, 2.9*c, 2.9*s, 0.4*math.Cos(float64(i*(2+f%2))))
		}
	}
	testkit.OK(t, ring.SetBonds(bonds))
	names := func(d *domain.Domain) string {
		var out []string
		for _, v := range d.Observables.List {
			out = append(out, v.Name)
		}
		return strings.Join(out, "; ")
	}
	make := func(s constraint.Set, m *molecule.Molecule, x []float64) *domain.Domain {
		return testkit.Must(New(domain.Input{Set: s, Data: x, Train: x, Molecule: m, Pool: pool(t)}))
	}
	d := make(set(t, ring, dihedral("", 50, 50, 3, 2, 1, 0)), nil, x)
	if got := names(d); strings.Count(got, "dihedral") != 11 || strings.Contains(got, "0 – 1 – 2 – 3;") ||
		!strings.HasSuffix(got, "RMSD") || !d.Observables.List[0].Circular || d.Observables.List[0].Hi != 180 {
		t.Errorf("a ring: %s", got)
	}
	flat := slices.Clone(x)
	for k := 2; k < len(flat); k += 3 {
		flat[k] *= 0.01
	}
	testkit.Equal(t, names(make(zoo.Sphere{D: 36, R: 20}, ring, flat)), "RMSD", "a flat ring")
	y := chain(6, 20, func(i, k int) float64 { return 2 + float64(i*(k+1))*0.05 })
	if got := names(make(zoo.Sphere{D: 18, R: 20}, nil, y)); got !=
		"dihedral 0 – 1 – 2 – 3; dihedral 1 – 2 – 3 – 4; dihedral 2 – 3 – 4 – 5; RMSD" {
		t.Errorf("a chain on a set of another kind: %s", got)
	}
	wide := chain(6, 20, func(i, k int) float64 { return 2 + float64(i)*0.25 })
	o := make(zoo.Sphere{D: 18, R: 20}, nil, wide).Observables.List
	if r := o[len(o)-1]; r.Name != "RMSD" || !(r.Hi > 0.6) || r.Lo == -0.05 {
		t.Errorf("RMSDs beyond the published range: %+v", r)
	}
	// One atom has nothing to compare.
	if d := make(zoo.Sphere{D: 3, R: 1}, nil, []float64{1, 0, 0, 0, 1, 0}); d.Distance != nil || d.Observables != nil {
		t.Errorf("one atom: %+v", d.Distance)
	}
}

// φ and ψ are found by name, by the backbone, and else the first two that there are.
func TestPlane(t *testing.T) {
	m := &molecule.Molecule{}
	for i, s := range strings.Fields("ACE:CH3 ACE:C ACE:O ALA:N ALA:CA ALA:CB ALA:C ALA:O NME:N NME:C") {
		residue, name, _ := strings.Cut(s, ":")
		m.Atoms = append(m.Atoms, molecule.Atom{Name: name, Element: name[:1], Residue: residue,
			ResidueNumber: 1 + (i+3)/7})
	}
	testkit.OK(t, m.SetBonds([]molecule.Bond{{0, 1}, {1, 2}, {1, 3}, {3, 4}, {4, 5}, {4, 6}, {6, 7}, {6, 8}, {8, 9}}))
	plane := func(m *molecule.Molecule, c ...conformation.Condition) (out []string) {
		g := &guide{molecule: m}
		if c != nil {
			g.set = set(t, m, c...)
		}
		g.choose(nil)
		for _, c := range g.plane {
			out = append(out, c.name)
		}
		return out
	}
	for what, c := range map[string]struct{ got, want []string }{
		"by name": {plane(molecule.Anonymous(10), dihedral("other", 0, 50, 0, 1, 3, 4), dihedral("psi", 130, 170, 3, 4,
			6, 8),
			dihedral("Phi", -70, -70, 1, 3, 4, 6)), []string{"Phi", "psi"}},
		"backbone":         {plane(m), []string{"φ of ALA2", "ψ of ALA2"}},
		"window and other": {plane(m, dihedral("w", 130, 170, 8, 6, 4, 3)), []string{"φ of ALA2", "w"}},
		"conditions": {plane(molecule.Anonymous(10), dihedral("a", 0, 50, 0, 1, 3, 4), dihedral("b", 0, 0, 3, 4,
			6, 8)), []string{"a", "b"}},
		"one": {plane(molecule.Anonymous(10), dihedral("a", 0, 50, 0, 1, 3, 4)), nil},
	} {
		testkit.EqualSlices(t, c.got, c.want, "%s", what)
	}
}

// A fault names the file, the frame and the atom.
func TestFaults(t *testing.T) {
	x := chain(4, 5, func(i, k int) float64 { return float64(i) })
	named := molecule.Anonymous(4)
	for i := range named.Atoms {
		named.Atoms[i] = molecule.Atom{Name: string(rune('A' + i)), Element: "C"}
	}
	dir := t.TempDir()
	save := func(name string, m *molecule.Molecule, x []float64) string {
		var b bytes.Buffer
		path := filepath.Join(dir, name)
		testkit.OK(t, files.Writers[filepath.Ext(name)](&b, m, arrayfile.RowsOf(x, m.Dim())))
		testkit.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
		return path
	}
	line := make([]float64, 12)
	for i := range 4 {
		line[3*i] = 1.5 * float64(i)
	}
	s := set(t, named, dihedral("τ", 0, 300, 0, 1, 2, 3))
	for what, c := range map[string]struct {
		molecule  *molecule.Molecule
		reference string
		want      string
	}{
		"other atoms": {named, save("five.npy", molecule.Anonymous(5), make([]float64, 0)), "five.npy: "},
		"another molecule": {named, save("three.npy", molecule.Anonymous(3), x[:9]),
			"frame 0 (from 0): its frames have 3 atoms; expected 4"},
		"a line": {named, save("line.npy", molecule.Anonymous(4), line),
			"line.npy: frame 0 (from 0): no reference for alignment"},
	} {
		_, err := New(domain.Input{Set: s, Data: x, Train: x, Molecule: c.molecule, Pool: pool(t),
			Files: map[string]string{"data.path": "d.npy", ReferenceKey: c.reference}})
		var e *files.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	// A reference of more atoms serves by their names: there the frames are 0 from it.
	more := molecule.Anonymous(5)
	for i, j := range []int{4, 2, 0, 3, 1} { // the file's atom i is the set's j, or a further one
		more.Atoms[i] = molecule.Atom{Name: string(rune('A' + j)), Element: "C"}
	}
	y := make([]float64, 15)
	for i, j := range []int{-1, 2, 0, 3, 1} {
		if j >= 0 {
			copy(y[3*i:3*i+3], x[3*j:3*j+3])
		}
	}
	y[0] = x[0] + 30
	d := testkit.Must(New(domain.Input{Set: s, Data: x, Train: x, Molecule: named, Pool: pool(t),
		Files: map[string]string{ReferenceKey: save("more.pdb", more, y)}}))
	if rmsd := d.Distance.Marks(x[:12])[1]; rmsd > 1e-3 { // a PDB file's decimals
		t.Errorf("the RMSD to the reference of more atoms is %v", rmsd)
	}
	if _, err := New(domain.Input{Set: s, Data: slices.Repeat(line, 3), Train: slices.Repeat(line, 3), Pool: pool(t),
		Files: map[string]string{"data.path": "d.npy"}}); err == nil || !strings.Contains(err.Error(),
		"d.npy: no frame can be a reference") {
		t.Errorf("collinear data: %v", err)
	}
	if _, err := New(domain.Input{Set: s, Data: x, Train: x, Pool: pool(t),
		Files: map[string]string{ReferenceKey: filepath.Join(dir, "none.pdb")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A frame with three atoms of a dihedral on a line is refused, by its number and the atoms.
func TestLine(t *testing.T) {
	m := testkit.Must(molecule.FromNames([]string{"A1:C1", "A1:N2", "A1:C3", "A1:O4"}))
	s := set(t, m, dihedral("τ", 0, 300, 0, 1, 2, 3))
	bent := []float64{0, 1, 0, 0, 0, 0, 1.5, 0, 0, 2, 0, 1}
	for _, c := range []struct {
		what string
		put  func(x []float64)
		want string
	}{
		{"bent", func([]float64) {}, ""},
		{"nearly straight", func(x []float64) { copy(x[9:], []float64{2.5, 0, 0.01}) }, ""},
		{"the last three", func(x []float64) { copy(x[9:], []float64{2.5, 0, 0.001}) },
			"frame 1 (from 0): the atoms A1:N2, A1:C3 and A1:O4 are on a line, where the dihedral τ has no value"},
		{"folded back", func(x []float64) { copy(x[9:], []float64{0.5, 0, 0}) },
			"A1:N2, A1:C3 and A1:O4 are on a line"},
		{"the first three", func(x []float64) { copy(x, []float64{-1, 0, 0}) }, "A1:C1, A1:N2 and A1:C3 are on a line"},
	} {
		x := append(slices.Clone(bent), bent...)
		c.put(x[12:])
		_, err := Kind.Fit(s, &dataset.Points{N: 2, D: 12, X: x, Molecule: m})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// Fit finds the set's atoms in a file by their names, in any order. Fit refuses a file of another molecule. It accepts
// a file with other names for the same atoms, with a warning.
func TestFit(t *testing.T) {
	names := func(s string) *molecule.Molecule {
		return testkit.Must(molecule.FromNames(strings.Fields(s)))
	}
	s := set(t, names("A1:C1 A1:N2 A1:C3 A1:O4"), dihedral("τ", 0, 300, 0, 1, 2, 3))
	for what, c := range map[string]struct {
		own  *molecule.Molecule
		want string
	}{
		"the same": {names("A1:C1 A1:N2 A1:C3 A1:O4"), ""},
		"nothing":  {nil, ""},
		"no names": {molecule.Anonymous(4), ""},
		"missing": {names("A1:C1 A1:C3 A1:O4"),
			"its frames have 3 atoms; expected 4, of molecule of 4 atoms with 0 equalities " +
				"and 2 inequalities, and they are not found by name: \"A1:N2\" fits no atom"},
		"no names, one more": {molecule.Anonymous(5),
			"its frames have 5 atoms; expected 4, of molecule of 4 atoms with 0 " + "equalities and 2 inequalities"},
		"an order": {names("A1:C1 A1:CX A1:N2 A1:O4"),
			"atom 1 (A1:CX) is C; expected N, for the set calls it A1:N2: is the order"},
		"otherwise": {names("A1:C1 A1:N2 A1:CX A1:O4"), ""},
		"mixed up":  {names("A1:C3 A1:O4 A1:C1 A1:N2"), "2 3 0 1: The frames' atoms are put into the set's order"},
		"hydrogens": {names("A7:H1 A7:C3 A7:H2 A7:O4 A7:C1 A7:N2"),
			"4 5 1 3: 2 of the frames' 6 atoms are not in the set"},
		"ambiguous": {names("A7:C1 A8:C1 A7:N2 A7:C3 A7:O4"), "\"A1:C1\" fits no atom"},
	} {
		p := &dataset.Points{Molecule: c.own, N: 2}
		if c.own != nil {
			p.D = c.own.Dim()
			for k := range 2 * p.D {
				p.X = append(p.X, float64(100*(k/p.D)+k%p.D/3)) // the atom's number
			}
		}
		got, err := fit(s, p)
		if pick, remark, ok := strings.Cut(c.want, ": The"); ok || strings.Contains(c.want, ": 2 of") {
			if !ok {
				pick, remark, _ = strings.Cut(c.want, ": ")
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			at := ""
			for i := range 4 {
				at += fmt.Sprint(got.X[12+3*i]-100) + " "
			}
			if strings.TrimSpace(at) != pick || len(got.Remarks) != 1 || !strings.Contains(got.Remarks[0], remark) ||
				got.D != 12 || got.Molecule.Atoms[1].Name != "N2" || len(p.Remarks) != 0 {
				t.Errorf("%s: atoms %s, %q", what, at, got.Remarks)
			}
			continue
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if err == nil && got != p {
			t.Errorf("%s: the data is changed", what)
		}
	}
	// Frames whose atoms have the set's elements in another order break bonds, but not all of them.
	carbon := molecule.Atom{Element: "C"}
	chained := &molecule.Molecule{Atoms: []molecule.Atom{carbon, carbon, carbon, {Element: "O"}},
		Bonds: []molecule.Bond{{0, 1}, {1, 2}, {2, 3}}}
	of := func(order string, step float64) *dataset.Points {
		p := &dataset.Points{Molecule: chained, N: 1, D: 12}
		for _, at := range order {
			p.X = append(p.X, step*float64(at-'0'), 0, 0)
		}
		return p
	}
	bonded := set(t, chained, dihedral("τ", 0, 300, 0, 1, 2, 3))
	for _, right := range []*dataset.Points{of("0123", 1.5), of("0123", 3.8)} {
		if got, err := fit(bonded, right); err != nil || got != right {
			t.Errorf("an order: %v", err)
		}
	}
	if _, err := fit(bonded, of("1023", 1.5)); err == nil || !strings.Contains(err.Error(), "the atoms 1 and 2, "+
		"bonded in the set, are 3 Å apart in its first frame: are its atoms in another order?") {
		t.Errorf("another order: %v", err)
	}
	// A set without the hydrogens of its template takes the others of frames without names, by their places.
	two := names("C O")
	heavy := testkit.Must(conformation.New(conformation.Spec{Molecule: two, Kept: []int{0, 2}, Of: 3,
		Conditions: []conformation.Condition{{Coordinate: conformation.Coordinate{Kind: conformation.Distance,
			Atoms: []int{0, 1}}, Low: 1, High: 2}}}))
	all := &dataset.Points{Molecule: molecule.Anonymous(3), N: 1, D: 9, X: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}}
	if got, err := fit(heavy, all); err != nil || !slices.Equal(got.X, []float64{0, 1, 2, 6, 7, 8}) ||
		len(got.Remarks) > 0 {
		t.Errorf("heavy atoms: %+v, %v", got, err)
	}
	x := chain(4, 5, func(i, k int) float64 { return float64(i) })
	in := domain.Input{Set: s, Data: x, Train: x, Molecule: names("A1:C1 A1:N2 A1:CX A1:O4"), Pool: pool(t)}
	d, err := New(in)
	if err != nil || len(d.Faults) != 1 || !strings.Contains(d.Faults[0],
		"atom 2 is called A1:CX, and A1:C3 in the set") {
		t.Errorf("%+v, %v", d, err)
	}
	if in.Molecule = names("C N2 C4 O"); in.Molecule != nil {
		in.Molecule.Atoms[1].Name, in.Molecule.Atoms[2].Name = "N", "C" // an XYZ file's
	}
	if d, err := New(in); err != nil || d.Faults != nil {
		t.Errorf("elements alone: %q, %v", d.Faults, err)
	}
}

// Points are written with the names of the set's template, or else of the data.
func TestWriters(t *testing.T) {
	x := chain(4, 3, func(i, k int) float64 { return float64(i) })
	named := molecule.Anonymous(4)
	for i := range named.Atoms {
		named.Atoms[i] = molecule.Atom{Name: "C" + string(rune('1'+i)), Element: "C", Residue: "BUT", ResidueNumber: 1}
	}
	for what, in := range map[string]domain.Input{
		"of the set":  {Set: set(t, named, dihedral("τ", 0, 300, 0, 1, 2, 3))},
		"of the data": {Set: set(t, molecule.Anonymous(4), dihedral("τ", 0, 300, 0, 1, 2, 3)), Molecule: named},
	} {
		in.Data, in.Train, in.Pool, in.Remarks = x, x, pool(t), []string{"Two were left out."}
		in.Files = map[string]string{"data.path": "d.pdb"}
		d := testkit.Must(New(in))
		testkit.EqualSlices(t, d.Faults, []string{"d.pdb: Two were left out."})
		for _, ext := range Kind.Writes {
			var b bytes.Buffer
			testkit.OK(t, d.Writer(ext)(&b, arrayfile.RowsOf(x, 12)))
			testkit.InBlocks(t, ext, d.Writer(ext), x, 12)
			if ext == ".pdb" {
				f, err := files.DecodePDB("o.pdb", &b)
				if err != nil || f.N != 3 || f.Molecule.Atoms[3].Name != "C4" || len(f.Molecule.Bonds) != 3 {
					t.Errorf("%s: %+v, %v", what, f, err)
				}
			}
		}
	}
}

type canvas struct {
	names []string
	refs  map[string]figure.FigureRef
	svg   map[string]string
	notes []string
	shown *figure.MoleculeView
}

func (c *canvas) Scene(s figure.Scene) { c.shown, _ = s.(*figure.MoleculeView) }
func (c *canvas) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	var b bytes.Buffer
	if err := pic.WriteSVG(&b); err != nil {
		panic(err)
	}
	c.names = append(c.names, name)
	c.refs[name], c.svg[name] = ref, b.String()
}
func (c *canvas) PNG(string, figure.Picture) {}
func (c *canvas) Note(s string)              { c.notes = append(c.notes, s) }

// The pictures: histograms with the window, dihedrals, torsions on circles beside held-out rows, and conformations that
// lie on one another.
func TestDraw(t *testing.T) {
	torsion := func(i, k int) float64 {
		if k == 0 {
			return -70 * degree
		}
		return (130 + 40*math.Abs(math.Sin(float64(i)))) * degree
	}
	x := chain(5, 900, torsion)
	s := set(t, molecule.Anonymous(5), dihedral("φ", -70, -70, 0, 1, 2, 3), dihedral("ψ", 130, 170, 1, 2, 3, 4))
	d := testkit.Must(New(domain.Input{Set: s, Data: x, Train: x, HeldOut: x[15*800:], Pool: pool(t)}))
	r := d.Distance.Against(x, x, nil)
	samples := x[:15*700]
	marks := r.Marks(samples)
	_, parts := r.Score(marks, 1)
	c := &canvas{refs: map[string]figure.FigureRef{}, svg: map[string]string{}}
	d.Draw(c, domain.View{Dim: 15, Data: x, Samples: samples, Worst: 1e-13, Reference: r, Marks: marks, Parts: parts})
	if !slices.Equal(c.names, []string{"psi", "rmsd", "energy-psi", "torsions", "torsion-circles"}) {
		t.Fatalf("pictures %q", c.names)
	}
	for name, want := range map[string]string{"psi": "feasible", "torsions": "φ, °",
		"torsion-circles": "X1 – X2 – X3 – X4"} {
		testkit.Contains(t, c.svg[name], want, "%s", name)
	}
	if strings.Contains(c.svg["rmsd"], "feasible") {
		t.Error("an RMSD has no window")
	}
	if strings.Contains(c.svg["torsion-circles"], "X0 –") {
		t.Error("a torsion that the set fixes is drawn")
	}
	kept.Domain(t, d, x[:15*60], samples[15*20:15*90], 15, "")
	v := c.shown
	if len(v.Layers) != 2 || len(v.Layers[0].Frames) != 100*15 || len(v.Bonds) != 4 || v.Names[0] != "X0" ||
		v.Layers[0].Labels[1] != "frame 9: ψ "+strings.TrimPrefix(v.Layers[0].Labels[1], "frame 9: ψ ") ||
		!strings.Contains(v.Layers[1].Labels[0], "RMSD") {
		t.Errorf("%+v", v.Layers[0].Labels[:2])
	}
	// Laid on the reference, the part that the torsions hold stays in one place.
	for f := range 100 {
		if d := math.Abs(v.Layers[0].Frames[15*f] - v.Layers[0].Frames[0]); d > 0.6 {
			t.Fatalf("frame %d: its first atom is %v away", f, d)
		}
	}
	// Without samples the data is drawn alone.
	c = &canvas{refs: map[string]figure.FigureRef{}, svg: map[string]string{}}
	d.Draw(c, domain.View{Dim: 15, Data: x, Reference: r})
	if len(c.names) != 4 || len(c.shown.Layers) != 1 {
		t.Errorf("without samples: %q, %d layers", c.names, len(c.shown.Layers))
	}
}

// Coverage is by the RMSD of heavy atoms after alignment: samples that are the held-out rows, turned and moved, cover
// all of them; others none. The column of the data is that of the training rows.
func TestCoverage(t *testing.T) {
	trans, gauche := func(int, int) float64 { return 180 * degree }, func(int, int) float64 { return 60 * degree }
	held, other := chain(5, 20, trans), chain(5, 30, gauche)
	moved := slices.Clone(held)
	for i := 0; i < len(moved); i += 3 {
		moved[i], moved[i+1], moved[i+2] = 3-moved[i+1], moved[i]-7, moved[i+2]+1
	}
	m := molecule.Anonymous(5)
	d := testkit.Must(New(domain.Input{Set: set(t, m, dihedral("a", 20, 200, 0, 1, 2, 3)), Data: append(held, other...),
		Train: other, HeldOut: held, Pool: pool(t)}))
	kept.Domain(t, d, append(held, other...), moved, 15, "")
	f := d.Find(append(moved, other[:15*20]...))[0]
	want := [][2]float64{{1, 0}, {0.5, 0}}
	for k, v := range want {
		testkit.Equal(t, f.Measures[k].Name, []string{"COV-R", "COV-P"}[k], "name")
		testkit.Near(t, float64(f.Measures[k].Samples), v[0], 1e-12, f.Measures[k].Name)
		testkit.Near(t, float64(f.Measures[k].Data), v[1], 1e-12, "of the data, "+f.Measures[k].Name)
	}
	if r := f.Measures[2]; r.Name != "MAT-R" || r.Samples > 1e-6 || r.Data < 0.6 || f.Measures[3].Samples < 0.3 {
		t.Errorf("%+v", f.Measures)
	}
	testkit.Contains(t, f.Verdict, "100.0 % of held-out rows have a sample within 0.5 Å, 0.0 % a training row")
	// Parameters of other atoms, and no parameters, are named.
	for file, want := range map[string]string{
		"../molecule/amber/alanine.prmtop": "it has 22 atoms, expected 5 as in the set",
		"../molecule/amber/alanine.rst7":   "expected %VERSION"} {
		_, err := New(domain.Input{Set: set(t, m, dihedral("a", 20, 100, 0, 1, 2, 3)), Data: held, Train: held,
			Files: map[string]string{PrmtopKey: file}, Pool: pool(t)})
		testkit.Refused(t, err, want)
		testkit.Refused(t, err, file)
	}
}

// φ, ψ and the RMSD of md_network.npz, as pictures and distances see them: degrees.
func TestGoldenObservables(t *testing.T) {
	g := golden.Read(t, "md_network.npz")
	centre := filepath.Join(t.TempDir(), "centre.npy")
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, g["center"]))
	testkit.OK(t, os.WriteFile(centre, b.Bytes(), 0o644))
	x := g["x"].AsFloat64()
	d, err := New(domain.Input{Set: alanine(t), Data: x, Train: x, Files: map[string]string{ReferenceKey: centre},
		Pool: pool(t)})
	testkit.OK(t, err)
	got := make([]float64, 4*2)
	d.Observables.Values(got, x, 4)
	φ := (&guide{molecule: molecule.Anonymous(10)}).torsion([4]int{1, 3, 4, 6})
	var angles []float64
	for i := range 4 {
		angles = append(angles, φ.value(x[30*i:30*i+30])*math.Pi/180)
	}
	golden.Near(t, "φ", angles, g["phi"].AsFloat64())
	for i := range 4 {
		got[2*i] *= degree
	}
	golden.Near(t, "ψ", metric.Column(got, 0, 2), g["psi"].AsFloat64())
	golden.Near(t, "RMSD", metric.Column(got, 1, 2), g["rmsd"].AsFloat64())
}

// Names of files are plain and differ.
func TestFile(t *testing.T) {
	taken := map[string]bool{}
	for k, c := range [][2]string{{"ψ", "psi"}, {"ψ", "coordinate-1"}, {"dihedral ALA2:N – ALA2:CA",
		"dihedral-ala2-n-ala2-ca"}, {"RMSD", "coordinate-3"}, {"…", "coordinate-4"}, {"../a", "a"}} {
		if got := file(c[0], k, taken); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
