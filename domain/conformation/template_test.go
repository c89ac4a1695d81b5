package conformation_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// crown is a ring of n atoms, bonds of 1.53 Å, alternately above and below a plane.
func crown(t testing.TB, n int) (*molecule.Molecule, []float64) {
	t.Helper()
	m := molecule.Anonymous(n)
	var bonds []molecule.Bond
	x := make([]float64, 3*n)
	const up = 0.4
	r := math.Sqrt(1.53*1.53-4*up*up) / (2 * math.Sin(math.Pi/float64(n)))
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		x[3*i], x[3*i+1], x[3*i+2] = r*cos, r*sin, up*float64(1-2*(i%2))
		bonds = append(bonds, molecule.Bond{i, (i + 1) % n})
	}
	testkit.OK(t, m.SetBonds(bonds))
	return m, x
}

// shaken returns x with noise of standard deviation sd in each coordinate.
func shaken(x []float64, sd float64, sample uint64) []float64 {
	y := make([]float64, len(x))
	keyed.New(1, keyed.Probe, 5).Normals(y, sample, 0)
	for j, v := range x {
		y[j] = v + sd*y[j]
	}
	return y
}

// A rigid group has 3n−6 independent conditions, and wherever they hold all distances
// and the hand are the template's: for groups in space, flat ones, and nearly linear ones.
func TestRigid(t *testing.T) {
	groups := map[string][]float64{
		"two":         {0, 0, 0, 1.5, 0, 0},
		"triangle":    {0, 0, 0, 1.5, 0, 0, 2, 1, 0},
		"tetrahedron": {0, 0, 0, 1.5, 0, 0, 0, 1.4, 0, 0.3, 0.2, 1.3},
		"flat amide":  {0, 0, 0, 1.5, 0, 0, 2.1, 1.05, 0, 2.2, -1.1, 0, 3.6, -1.2, 0, 1.7, -2, 0},
		"in a row":    {0, 0, 0, 1.5, 0, 0, 2.7, 0, 0, -0.7, 1.2, 0, 3.9, 0, 0},
	}
	keyed.New(1, keyed.Probe, 6).Normals(groups["tetrahedron"][9:], 1, 0)
	cloud := make([]float64, 24)
	keyed.New(1, keyed.Probe, 6).Normals(cloud, 0, 0)
	groups["cloud"] = cloud
	for name, x := range groups {
		n := len(x) / 3
		var atoms []int
		for i := range n {
			atoms = append(atoms, i)
		}
		conditions := testkit.Must(conformation.Rigid(molecule.Anonymous(n), x, atoms))
		testkit.Equal(t, len(conditions), max(3*n-6, 1), "%s", name)
		s := set(t, n, conformation.Spec{Conditions: conditions})
		if err := s.Singular(x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		solver, at := geometry.NewSolver(s, 0), geometry.New(s, 1, 0)
		for sample := range uint64(20) {
			y := shaken(x, 0.1, sample)
			if !solver.Descend(y, 1e-14) {
				t.Fatalf("%s: point %d does not reach Σ", name, sample)
			}
			if err := at.At(y, 1); err != nil || at.Rank(0) != len(conditions) {
				t.Errorf("%s: rank %d of %d, %v", name, at.Rank(0), len(conditions), err)
			}
			for i := range n {
				for j := range i {
					if e := molecule.Distance(y, i, j) - molecule.Distance(x, i, j); math.Abs(e) > 1e-11 {
						t.Errorf("%s: atoms %d and %d are off by %.3g", name, i, j, e)
					}
				}
			}
			for i := 3; i < n; i++ {
				if e := molecule.Volume(y, 0, 1, 2, i) - molecule.Volume(x, 0, 1, 2, i); math.Abs(e) > 1e-10 {
					t.Errorf("%s: the volume of atom %d is off by %.3g", name, i, e)
				}
			}
		}
	}
}

// Three atoms of a rigid group locate each other atom, in the order that stays farthest from straight angles.
func TestRigidChoosesTheBestOrder(t *testing.T) {
	const n = 50
	x, atoms := make([]float64, 3*n), make([]int, n)
	for i := range atoms {
		atoms[i] = i
	}
	for sample := range uint64(10) {
		keyed.New(1, keyed.Probe, 7).Normals(x, sample, 0)
		for _, c := range testkit.Must(conformation.Rigid(molecule.Anonymous(n), x, atoms)) {
			if c.Kind != conformation.Dihedral {
				continue
			}
			i, p := c.Atoms[0], c.Atoms[1:]
			sines := func(a, b, c int) float64 {
				return math.Sin(molecule.Angle(x, i, p[a], p[b])) * math.Sin(molecule.Angle(x, p[a], p[b], p[c]))
			}
			for _, o := range [][3]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				if sines(o[0], o[1], o[2]) > sines(0, 1, 2)+1e-12 {
					t.Errorf("sample %d, atom %d: the order %v of the atoms %v is better", sample, i, o, p)
				}
			}
		}
	}
}

// A ring of 12 with all bonds and angles fixed has 24 equalities, of rank 24 on Σ, and goes on to bend at 6 degrees of
// freedom, or at 5 if a double bond keeps its torsion; in a ring of 5 the ten are dependent, and geometry says so.
func TestRings(t *testing.T) {
	for _, c := range []struct{ atoms, double, rank int }{{12, 0, 24}, {12, 1, 25}, {8, 0, 16}, {5, 0, 9}} {
		m, x := crown(t, c.atoms)
		if c.atoms == 5 {
			x = shaken(x, 0.2, 3)
		}
		conditions := slices.Concat(testkit.Must(conformation.Bonds(m, x)), testkit.Must(conformation.BondAngles(m, x)))
		if c.double > 0 {
			τ := molecule.Torsion(x, 4, 5, 6, 7)
			conditions = append(conditions, on(dihedral, τ, τ, 4, 5, 6, 7))
		}
		s := set(t, c.atoms, conformation.Spec{Conditions: conditions})
		if len(s.Equalities()) != 2*c.atoms+c.double {
			t.Errorf("%d equalities of a ring of %d", len(s.Equalities()), c.atoms)
		}
		solver, at := geometry.NewSolver(s, 0), geometry.New(s, 1, 0)
		for sample := range uint64(5) {
			y := shaken(x, 0.05, sample)
			if !solver.Descend(y, 1e-14) {
				t.Fatalf("ring of %d: point %d does not reach Σ", c.atoms, sample)
			}
			if c.double > 0 && math.Abs(molecule.Torsion(y, 4, 5, 6, 7)-molecule.Torsion(x, 4, 5, 6, 7)) > 1e-12 {
				t.Errorf("point %d: the double bond turns", sample)
			}
			if err := at.At(y, 1); err != nil || at.Rank(0) != c.rank {
				t.Errorf("ring of %d: rank %d, want %d, %v", c.atoms, at.Rank(0), c.rank, err)
			}
			for a, v := range constraint.Values(s, y) {
				if math.Abs(v) > 1e-12 {
					t.Errorf("ring of %d: %s is off by %.3g", c.atoms, s.Equalities()[a], v)
				}
			}
		}
	}
}

// Where all angles of a flat ring, or all distances of a flat group, are fixed, Σ is singular. The fault names a
// component. Redundant equalities are no fault.
func TestSingular(t *testing.T) {
	flat := func(n int) ([]float64, []conformation.Condition) {
		x := make([]float64, 3*n)
		var out []conformation.Condition
		for i := range n {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x[3*i], x[3*i+1] = 1.3*cos, 1.3*sin
		}
		for i := range n {
			for j := range i {
				v := molecule.Distance(x, i, j)
				out = append(out, on(distance, v, v, i, j))
			}
		}
		return x, out
	}
	for n := 4; n <= 6; n++ {
		x, all := flat(n)
		testkit.Refused(t, set(t, n, conformation.Spec{Conditions: all}).Singular(x), "make that part rigid")
		for j := range x { // three decimals, as in a PDB file
			x[j] = math.Round(x[j]*1e3+2*math.Sin(float64(j))) / 1e3
		}
		if set(t, n, conformation.Spec{Conditions: all}).Singular(x) == nil {
			t.Errorf("%d atoms, rounded", n)
		}
	}
	x := make([]float64, 15) // ten distances of five atoms in space, of rank nine
	keyed.New(1, keyed.Probe, 6).Normals(x, 3, 0)
	var all []conformation.Condition
	for i := range 5 {
		for j := range i {
			v := molecule.Distance(x, i, j)
			all = append(all, on(distance, v, v, i, j))
		}
	}
	testkit.OK(t, set(t, 5, conformation.Spec{Conditions: all}).Singular(x))
	if err := alanine(t, false).Singular(make([]float64, 30)); err != nil {
		t.Error("a template that is not on Σ:", err)
	}
}

// Bond angles at a carbon with four neighbours and at a flat one: five and three numbers,
// from which all angles follow, and the hand.
func TestBondAngles(t *testing.T) {
	for name, x := range map[string][]float64{
		"tetrahedral": {0, 0, 0, 1, 1, 1, -1, -1, 1.1, 1, -1, -1, -1, 1.2, -1},
		"flat":        {0, 0, 0, 1.2, 0, 0, -0.7, 1.2, 0, -0.7, -1.1, 0},
		"pyramid":     {0, 0, 0, 1.2, 0, 0.3, -0.7, 1.2, 0.3, -0.7, -1.1, 0.3},
	} {
		n := len(x) / 3
		m := molecule.Anonymous(n)
		var bonds []molecule.Bond
		for i := 1; i < n; i++ {
			bonds = append(bonds, molecule.Bond{0, i})
		}
		testkit.OK(t, m.SetBonds(bonds))
		conditions := testkit.Must(conformation.BondAngles(m, x))
		testkit.Equal(t, len(conditions), 2*(n-1)-3, "%s", name)
		s := set(t, n, conformation.Spec{Conditions: conditions})
		if err := s.Singular(x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		solver := geometry.NewSolver(s, 0)
		for sample := range uint64(10) {
			y := shaken(x, 0.1, sample)
			if !solver.Descend(y, 1e-14) {
				t.Fatalf("%s: no way to Σ", name)
			}
			for _, a := range m.Angles() {
				if e := molecule.Angle(y, a[0], a[1], a[2]) - molecule.Angle(x, a[0], a[1], a[2]); math.Abs(e) > 1e-11 {
					t.Errorf("%s: angle %v is off by %.3g", name, a, e)
				}
			}
			if v := molecule.Volume(y, 0, 1, 2, 3) * molecule.Volume(x, 0, 1, 2, 3); name != "flat" && v <= 0 {
				t.Errorf("%s: the hand has changed", name)
			}
		}
	}
}

// Pairs with at most the given number of bonds between them are left out.
func TestSeparated(t *testing.T) {
	m, _ := crown(t, 7)
	atoms := []int{0, 1, 2, 3, 4, 5, 6}
	testkit.Equal(t, fmt.Sprint(conformation.Separated(m, atoms, 2)), "[[0 3] [0 4] [1 4] [1 5] [2 5] [2 6] [3 6]]")
	if got := conformation.Separated(m, atoms, 0); len(got) != 21 {
		t.Errorf("%d pairs", len(got))
	}
	if got := conformation.Separated(molecule.Anonymous(3), []int{0, 2}, 5); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Templates that give no conditions.
func TestBadTemplates(t *testing.T) {
	row := []float64{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}
	chain := molecule.Anonymous(4)
	testkit.OK(t, chain.SetBonds([]molecule.Bond{{0, 1}, {1, 2}, {2, 3}}))
	_, rigid := conformation.Rigid(chain, row, []int{0, 1, 2})
	_, one := conformation.Rigid(chain, row, []int{1})
	_, angles := conformation.BondAngles(chain, row)
	_, none := conformation.BondAngles(molecule.Anonymous(4), row)
	_, bonds := conformation.Bonds(molecule.Anonymous(4), row)
	_, torsion := conformation.Fixed(chain, row, conformation.Coordinate{Kind: dihedral, Atoms: []int{0, 1, 2, 3}})
	for want, err := range map[string]error{
		"lie on a line in the template": rigid, "at least two atoms": one,
		"0–1–2 is 180° in the template": angles, "no two bonds at one atom": none, "has no bonds": bonds,
		"the dihedral of 0 1 2 3 has no value": torsion,
	} {
		testkit.Refused(t, err, want)
	}
}

// Chains on a molecule begin beside its template, on Σ, not where Gaussian points land.
func TestStarts(t *testing.T) {
	m, x := crown(t, 12)
	conditions := slices.Concat(testkit.Must(conformation.Bonds(m, x)), testkit.Must(conformation.BondAngles(m, x)))
	spec := conformation.Spec{Molecule: m, Conditions: conditions, Apart: []conformation.Apart{
		{Pairs: [][2]int{{0, 5}}, Min: 3}, {Pairs: [][2]int{{5, 0}, {1, 7}}, Min: 2.5}}}
	for _, near := range []bool{false, true} {
		if near {
			spec.Template = x
		}
		s := testkit.Must(conformation.New(spec))
		if got := fmt.Sprint(s.Inequalities()); got != "[distance 0–5 ≥ 3 Å distance 1–7 ≥ 2.5 Å]" {
			t.Errorf("components %s: of two bounds the larger counts", got)
		}
		const n = 20
		starts := testkit.Must(langevin.Start(t.Context(), process(s, langevin.ULLA, langevin.ElasticWalls), n, 1))
		far := 0.0
		for i := range n {
			y := starts[36*i : 36*i+36]
			far = max(far, distanceOf(y, x))
			if v, _ := constraint.Worst(constraint.Values(s, y), len(conditions)); v > 1e-10 {
				t.Errorf("start %d violates Σ by %.3g", i, v)
			}
			if i > 0 && distanceOf(y, starts[:36]) < 0.01 {
				t.Errorf("start %d is that of chain 0", i)
			}
		}
		if (far < 0.5) != near {
			t.Errorf("with a template %v: starts are up to %.3g Å from it", near, far)
		}
	}
}

// A dihedral is in one of its windows where none of the inequalities is violated, and beside an edge an inequality is
// the angle from it.
func TestSeveralWindows(t *testing.T) {
	windows := [][2]float64{{170, 200}, {-60, -20}, {40, 90}}
	c := conformation.Condition{Coordinate: conformation.Coordinate{Kind: dihedral, Atoms: []int{0, 1, 2, 3}}}
	for _, w := range windows {
		c.Windows = append(c.Windows, [2]float64{w[0] * degree, w[1] * degree})
	}
	s := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{c}})
	for deg := -179.5; deg < 180; deg++ {
		inside, edge := false, math.Inf(1)
		for _, w := range windows {
			for _, turn := range []float64{-360, 0, 360} {
				inside = inside || deg+turn >= w[0] && deg+turn <= w[1]
				edge = min(edge, math.Abs(deg+turn-w[0]), math.Abs(deg+turn-w[1]))
			}
		}
		x := dihedralOf(deg * degree)
		v := constraint.Values(s, x)
		worst := max(v[0], v[1], v[2])
		testkit.Equal(t, inside, worst <= 0, "at %v: %v", deg, v)
		testkit.Equal(t, inside, c.Excess(x) == 0, "excess at %v", deg)
		if edge < 3 && math.Abs(math.Abs(worst)-edge*degree) > 0.12*edge*degree {
			t.Errorf("at %v, %v from an edge: %v", deg, edge, worst/degree)
		}
	}
}

// What is given stands behind the positions and is held: the set of one value is that of an equality.
func TestGivenCoordinates(t *testing.T) {
	given := on(dihedral, 0, 0, 0, 1, 2, 3)
	given.Name, given.Given = "φ", true
	far := on(distance, 0, 0, 0, 3)
	far.Name, far.Given = "r", true
	whole := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{given, on(distance, 1.5, 1.5, 0, 1),
		far}})
	testkit.EqualSlices(t, whole.Capabilities().HeldNames, []string{"cos_φ", "sin_φ", "r"})
	held := constraint.Hold(whole, []int{12, 13, 14})
	x := dihedralOf(2.5)
	c := whole.Given(x[:12:12])[12:]
	one := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, 2.5, 2.5, 0, 1, 2, 3),
		on(distance, 1.5, 1.5, 0, 1), on(distance, c[2], c[2], 0, 3)}})
	slice := constraint.Slice(held, c)
	for _, θ := range []float64{2.5, -2.9, 3.1, 0.1} {
		y := dihedralOf(θ)
		testkit.Near(t, constraint.Values(slice, y)[0], constraint.Values(one, y)[0], 1e-15, "at %v", θ)
		testkit.Near(t, constraint.Values(slice, y)[2], constraint.Values(one, y)[2], 1e-15, "at %v", θ)
	}
	constrainttest.Run(t, slice, constrainttest.Options{Points: 8})
}
