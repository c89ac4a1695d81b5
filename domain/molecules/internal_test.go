package molecules

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Frames become points, and files have frames again: with their torsions and angles, and the template's bonds.
func TestInternal(t *testing.T) {
	m := &molecule.Molecule{Atoms: make([]molecule.Atom, 5)}
	if err := m.SetBonds([]molecule.Bond{{0, 1}, {1, 2}, {2, 3}, {3, 4}}); err != nil {
		t.Fatal(err)
	}
	x := []float64{0, 0.2, 0, 1.5, 0, 0, 2, 1.4, 0, 3.4, 1.6, 0.5, 4, 2.9, -0.2}
	spec := conformation.Spec{Molecule: m, Template: x, Conditions: testkit.Must(conformation.Bonds(m, x))}
	s := testkit.Must(conformation.NewInternal(testkit.Must(conformation.New(spec)), spec))
	frame := append([]float64(nil), x...)
	for j := range frame {
		frame[j] = 1.02*frame[j] + 0.05*math.Sin(float64(3*j))
	}
	points := testkit.Must(Internal.Fit(s, &dataset.Points{N: 1, D: 15, X: frame, Molecule: m}))
	if !Internal.Fits(s) || Kind.Fits(s) || points.D != s.Dim() || points.D != 7 {
		t.Fatalf("%d coordinates on %v", points.D, s)
	}
	d := testkit.Must(Internal.New(domain.Input{Set: s, Data: points.X, Train: points.X, Pool: pool(t), Molecule: m}))
	var b bytes.Buffer
	if err := d.Writers[".npy"](&b, arrayfile.RowsOf(points.X, points.D)); err != nil {
		t.Fatal(err)
	}
	y := testkit.Must(arrayfile.DecodeNPY(&b)).Float64
	for k := range 2 {
		got, want := molecule.Torsion(y, k, k+1, k+2, k+3), molecule.Torsion(frame, k, k+1, k+2, k+3)
		if math.Abs(got-want) > 1e-9 || math.Abs(molecule.Distance(y, k, k+1)-molecule.Distance(x, k, k+1)) > 1e-9 {
			t.Errorf("torsion %d is %v, expected %v with the template's bonds", k, got, want)
		}
	}
	marks := d.Distance.Marks(points.X) // dihedrals in degrees
	testkit.Near(t, marks[0], molecule.Torsion(frame, 0, 1, 2, 3)*180/math.Pi, 1e-6, "%s", d.Distance.Parts[0])
	testkit.Contains(t, d.Say(points.X), fmt.Sprintf("dihedral 0 – 1 – 2 – 3 %.1f°", marks[0]), "where a point is")
	two := append(frame, frame...)
	two[29] += 9
	_, err := Internal.Fit(s, &dataset.Points{N: 2, D: 15, X: two, Molecule: m})
	if err == nil || !strings.Contains(err.Error(), "frame 1 (from 0)") {
		t.Errorf("a bond of 10 Å: %v", err)
	}
}

// Frames of a ring that the template's bonds leave open are closed: in the set, by small moves of torsions and angles.
func TestRingsAreClosed(t *testing.T) {
	ring := molecule.Anonymous(12)
	var bonds []molecule.Bond
	var x []float64
	for i := range 12 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 12)
		bonds, x = append(bonds, molecule.Bond{i, (i + 1) % 12}), append(x, 2.9*c, 2.9*s, 0.4*math.Cos(float64(2*i)))
	}
	testkit.OK(t, ring.SetBonds(bonds))
	closing := conformation.Closing(ring, nil)[0]
	spec := conformation.Spec{Molecule: ring, Template: x, AngleUnit: 0.2, Tilt: true,
		Conditions: testkit.Must(conformation.Bonds(ring, x))}
	spec.Conditions = append(spec.Conditions, conformation.Condition{Low: 1.52, High: 1.53,
		Coordinate: conformation.Coordinate{Kind: conformation.Distance, Atoms: closing[:]}})
	s := testkit.Must(conformation.NewInternal(testkit.Must(conformation.New(spec)), spec))
	for j := range x {
		x[j] += 0.05 * math.Sin(float64(3*j*j))
	}
	open := make([]float64, s.Dim())
	testkit.OK(t, s.Point(open, x))
	closed := testkit.Must(Internal.Fit(s, &dataset.Points{N: 1, D: 36, X: x, Molecule: ring})).X
	m := len(s.Equalities())
	before, _ := constraint.Worst(constraint.Values(s, open), m)
	after, _ := constraint.Worst(constraint.Values(s, closed), m)
	if moved := dense.SquaredDistance(open, closed); before < 0.03 || after > 1e-12 || moved > 0.1 {
		t.Errorf("violated by %.2g before and by %.2g after a squared move of %.2g", before, after, moved)
	}
}

// Samples whose ends come near are found if no row's do, and rows by the same law are not.
func TestContacts(t *testing.T) {
	m := &molecule.Molecule{Atoms: make([]molecule.Atom, 5)}
	testkit.OK(t, m.SetBonds([]molecule.Bond{{0, 1}, {1, 2}, {2, 3}, {3, 4}}))
	frames := func(n, near int) (x []float64) { // of a chain of carbon, whose ends are 2.4 Å apart or 2.9 Å and more
		for i := range n {
			end := 2.9 + float64(i%97)/50
			if i < near {
				end = 2.4
			}
			x = append(x, 0, 0, 0, 0, 1.5, 0, end/2, 2.2, 0, end, 1.5, 0, end, 0, 0)
		}
		return x
	}
	c := &conformers{guide: &guide{molecule: m}, d: 15, Input: domain.Input{Data: frames(500, 0), Pool: pool(t)}}
	for near, warns := range map[int]bool{0: false, 3: false, 30: true} {
		f := c.contacts(frames(400, near))[0]
		says := "7.5 % of the samples have atoms closer by 0.2 Å than in any of 500 rows of the data: " +
			"0 and 4 are 2.40 Å apart, " +
			"in these rows at least 2.90 Å"
		if f.Warning != warns || f.Share != float64(near)/400 && f.Share > 0 || warns != (f.Verdict == says) {
			t.Errorf("%d of 400 samples: %+v", near, f)
		}
	}
}
