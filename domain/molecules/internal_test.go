package molecules

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
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
	two := append(frame, frame...)
	two[29] += 9
	_, err := Internal.Fit(s, &dataset.Points{N: 2, D: 15, X: two, Molecule: m})
	if err == nil || !strings.Contains(err.Error(), "frame 1 (from 0)") {
		t.Errorf("a bond of 10 Å: %v", err)
	}
}
