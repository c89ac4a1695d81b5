package conformation_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/proof"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A ring of five with an arm of three and a branch.
var (
	ringed = known("C C C C C C O N C", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{2, 3},
		molecule.Bond{3, 4}, molecule.Bond{0, 4}, molecule.Bond{0, 5}, molecule.Bond{5, 6}, molecule.Bond{6, 7},
		molecule.Bond{5, 8})
	ringedX = []float64{1.2, 0, 0.4, 0.4, 1.2, 0, -1, 0.8, -0.3, -1, -0.8, 0.2, 0.4, -1.2, 0, 2.6, 0.2, 0.1, 3.2, 1.4,
		0.6, 4.6, 1.3, 0.2, 3.3, -1, 0.5}
)

// Butanone, whose last carbon is off the plane of the others.
var (
	ketone  = known("C C O C C", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{1, 3}, molecule.Bond{3, 4})
	ketoneX = []float64{-1.3, -0.8, 0, 0, 0, 0, 0, 1.2, 0, 1.3, -0.8, 0, 2, -0.9, 1.3}
)

// A flat ring 4, 6 to 10 with the bonds 3–4 and 5–6 in its plane, which tilt there: no part of the rigid group.
var (
	tilted = known("C C C O C F C C C C C", molecule.Bond{0, 1}, molecule.Bond{0, 2}, molecule.Bond{0, 3},
		molecule.Bond{3, 4}, molecule.Bond{4, 6}, molecule.Bond{5, 6}, molecule.Bond{6, 7}, molecule.Bond{7, 8},
		molecule.Bond{8, 9}, molecule.Bond{9, 10}, molecule.Bond{4, 10})
	tiltedX = []float64{3.4, 0.2, 0.9, 4.6, -0.5, 0.4, 3.5, 0.7, 2.3, 2.8, 1.2, 0, 1.4, 0, 0, 1.5, 2.3, 0, 0.7, 1.2, 0,
		-0.7, 1.2, 0, -1.4, 0, 0, -0.7, -1.2, 0, 0.7, -1.2, 0}
	ring = []int{4, 6, 7, 8, 9, 10}
)

// Without Tilt, points are those of runs made before there was a choice, though both kinds have as many coordinates.
func TestTilt(t *testing.T) {
	m := known("C C C C C C", molecule.Bond{0, 1}, molecule.Bond{0, 2}, molecule.Bond{0, 3}, molecule.Bond{1, 4},
		molecule.Bond{1, 5})
	x := []float64{0, 0, 0, 1.5, 0, 0, -0.5, 1.4, 0, -0.5, -0.7, 1.2, 2, 1.4, 0.2, 2, -0.7, -1.2}
	group := []int{0, 1, 5}
	spec := conformation.Spec{Molecule: m, Template: x, Rigid: [][]int{group}, Conditions: append(
		testkit.Must(conformation.Bonds(m, x)), testkit.Must(conformation.Rigid(m, x, group))...)}
	for tilt, want := range map[bool]string{
		false: "9 [torsion 3–0–1–2.radius torsion 4–1–0–2.radius torsion 5–1–0–4.radius]",
		true:  "9 [torsion 3–0–1–2.radius torsion 5–1–0–2.radius torsion 4–1–0–5.radius]",
	} {
		spec.Tilt = tilt
		s := testkit.Must(conformation.NewInternal(testkit.Must(conformation.New(spec)), spec))
		testkit.Equal(t, fmt.Sprint(s.Dim(), constraint.Components(s)), want, fmt.Sprint("tilt ", tilt))
	}
}

// Points and positions are the same conformations; conditions hold by construction or are components with exact
// derivatives.
func TestInternal(t *testing.T) {
	bonds := func(m *molecule.Molecule, x []float64, more ...conformation.Condition) []conformation.Condition {
		return append(testkit.Must(conformation.Bonds(m, x)), more...)
	}
	for _, c := range []struct {
		name string
		m    *molecule.Molecule
		x    []float64
		spec conformation.Spec
		dim  int
		left []string // components besides circles
	}{
		{"tree", fluoro, fluoroX, conformation.Spec{Conditions: bonds(fluoro, fluoroX,
			on(volume, 0, inf, 3, 1, 4, 5), on(dihedral, 1.5, 2.5, 14, 5, 3, 1))}, 34, nil},
		{"ring", ringed, ringedX, conformation.Spec{Conditions: bonds(ringed, ringedX,
			on(distance, 1, inf, 3, 2), on(distance, 1, 9, 2, 7), testkit.Must(conformation.Fixed(ringed, ringedX,
				conformation.Coordinate{Kind: angle, Atoms: []int{6, 5, 0}}))),
			Apart: []conformation.Apart{{Pairs: [][2]int{{2, 8}}, Min: 2}}}, 18,
			[]string{"distance 2–7 ≥ 1 Å", "distance 2–7 ≤ 9 Å", "distance 2–8 ≥ 2 Å",
				"distance 2–3 ≥ 1.57631 Å", "distance 2–3 ≤ 1.77631 Å", "distance 3–2 ≥ 1 Å"}},
		{"own range", ringed, ringedX, conformation.Spec{Conditions: bonds(ringed, ringedX,
			on(distance, 1.6, 9, 3, 2))}, 19, []string{"distance 3–2 ≥ 1.6 Å", "distance 3–2 ≤ 9 Å"}},
		{"rigid", ringed, ringedX, conformation.Spec{Conditions: bonds(ringed, ringedX,
			testkit.Must(conformation.Rigid(ringed, ringedX, []int{0, 1, 2, 3, 4, 5}))...),
			Rigid: [][]int{{0, 1, 2, 3, 4, 5}}}, 9, nil},
		{"flat", ketone, ketoneX, conformation.Spec{Conditions: bonds(ketone, ketoneX,
			on(dihedral, math.Pi, math.Pi, 0, 1, 2, 3))}, 5, nil},
		{"tilt", tilted, tiltedX, conformation.Spec{Conditions: bonds(tilted, tiltedX,
			append(testkit.Must(conformation.Rigid(tilted, tiltedX, ring)), on(distance, 1, 9, 1, 9),
				on(dihedral, math.Pi, math.Pi, 3, 4, 6, 10), on(dihedral, math.Pi, math.Pi, 5, 6, 4, 7))...),
			Rigid: [][]int{ring}}, 11, []string{"distance 1–9 ≥ 1 Å", "distance 1–9 ≤ 9 Å"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Molecule, c.spec.Template, c.spec.Tilt = c.m, c.x, true
			s := testkit.Must(conformation.NewInternal(testkit.Must(conformation.New(c.spec)), c.spec))
			var left []string
			for _, n := range constraint.Components(s) {
				if !strings.HasSuffix(n, ".radius") {
					left = append(left, n)
				}
			}
			if none := proof.New(s).NotCovered; len(none) > 0 {
				t.Errorf("%v have no formulas", none)
			}
			if s.Dim() != c.dim || !slices.Equal(left, c.left) {
				t.Errorf("%d coordinates and components %q, expected %d and %q", s.Dim(), left, c.dim, c.left)
			}
			closes := c.name == "ring" || c.name == "own range"
			if open := s.Capabilities().Open; (open != nil) != closes || open != nil &&
				!slices.Equal(open().Inequalities(), left[:len(left)/5*3]) { // others close the ring
				t.Errorf("what is open of %q is not all but what closes a ring", left)
			}
			constrainttest.Run(t, s, constrainttest.Options{Spread: 0.3})
			point := make([]float64, s.Dim())
			back := func(x []float64) { // there and back again
				if err := s.Point(point, x); err != nil {
					t.Fatal(err)
				}
				y := s.Placed(point)
				if !alike(x, y) {
					t.Errorf("positions %v are not those of %v", y, x)
				}
			}
			back(c.x)
			for j := range point {
				point[j] += math.Sin(float64(7 * j))
			}
			moved := s.Placed(point)
			back(moved)
			c.spec.AngleUnit = 0.2 // a fourfold κ: u is a quarter
			wide := testkit.Must(conformation.NewInternal(testkit.Must(conformation.New(c.spec)), c.spec))
			testkit.OK(t, wide.Point(point, moved))
			scaled := slices.Clone(point)
			back(moved)
			first := 2 * s.Torsions()
			testkit.Near(t, 4*scaled[first], point[first], 1e-9, "the first angle by a fourfold unit")
			for j := range moved {
				moved[j] = -moved[j]
			}
			if err := s.Point(point, moved); (err != nil) != (c.name == "tree") {
				t.Errorf("of the mirror image: %v", err)
			}
		})
	}
}

// alike reports whether two conformations are one but for where they are.
func alike(x, y []float64) bool {
	for i := range len(x) / 3 {
		for j := range i {
			if math.Abs(molecule.Distance(x, i, j)-molecule.Distance(y, i, j)) > 1e-9 {
				return false
			}
		}
	}
	return true
}
