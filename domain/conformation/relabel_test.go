package conformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// known is a molecule of elements and bonds.
func known(elements string, bonds ...molecule.Bond) *molecule.Molecule {
	m := &molecule.Molecule{Bonds: bonds}
	for e := range strings.FieldsSeq(elements) {
		m.Atoms = append(m.Atoms, molecule.Atom{Element: e})
	}
	if err := m.SetBonds(bonds); err != nil {
		panic(err)
	}
	return m
}

var (
	// (S)-1-fluoro-2-methylpropanol.
	fluoro = known("C C C C F O H H H H H H H H H", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{1, 3},
		molecule.Bond{3, 4}, molecule.Bond{3, 5}, molecule.Bond{0, 6}, molecule.Bond{0, 7}, molecule.Bond{0, 8},
		molecule.Bond{1, 9}, molecule.Bond{2, 10}, molecule.Bond{2, 11}, molecule.Bond{2, 12}, molecule.Bond{3, 13},
		molecule.Bond{5, 14})
	fluoroX = []float64{-1.165, 1.075, 0.313, -0.274, 0.018, -0.339, -0.567, -1.357, 0.267, 1.202, 0.388, -0.208, 1.966,
		-0.539, -0.837, 1.640, 0.379, 1.132, -2.223, 0.834, 0.166, -0.983, 2.061, -0.128, -0.983, 1.147, 1.391, -0.516,
		-0.033, -1.407, -0.377, -1.373, 1.346, -1.614, -1.633, 0.108, 0.055, -2.128, -0.199, 1.419, 1.365, -0.652,
		2.419, -0.203, 1.105}
	// (1R,2s,3S)-1,3-dichloro-1,3-difluoropropan-2-ol: its own mirror image.
	meso = known("O C C F Cl C F Cl H H H H", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{2, 3},
		molecule.Bond{2, 4}, molecule.Bond{1, 5}, molecule.Bond{5, 6}, molecule.Bond{5, 7}, molecule.Bond{0, 8},
		molecule.Bond{1, 9}, molecule.Bond{2, 10}, molecule.Bond{5, 11})
	mesoX = []float64{0.495, -1.610, 0.089, -0.070, -0.347, -0.316, 1.022, 0.665, -0.657, 0.453, 1.887, -0.847, 1.869,
		0.214, -2.162, -0.997, 0.213, 0.770, -1.983, -0.708, 0.983, -0.171, 0.499, 2.320, -0.237, -2.155, 0.438, -0.686,
		-0.550, -1.201, 1.781, 0.745, 0.125, -1.476, 1.146, 0.458}
)

// Equivalent atoms get their names back whatever names they come with, and no real centre gets another hand.
func TestRelabel(t *testing.T) {
	mirror := func(x []float64) []float64 {
		for i := 0; i < len(x); i += 3 {
			x[i] = -x[i]
		}
		return x
	}
	swap := func(pairs ...int) func(x []float64) []float64 {
		return func(x []float64) []float64 {
			for k := 0; k < len(pairs); k += 2 {
				for c := range 3 {
					a, b := 3*pairs[k]+c, 3*pairs[k+1]+c
					x[a], x[b] = x[b], x[a]
				}
			}
			return x
		}
	}
	for _, c := range []struct {
		name    string
		m       *molecule.Molecule
		x       []float64
		change  func([]float64) []float64
		changed bool
		left    float64 // rad, Å³: violations that stay, at least; 0: none
	}{
		{"as it is", fluoro, fluoroX, swap(), false, 0},
		{"two hydrogens", fluoro, fluoroX, swap(6, 7), true, 0},
		{"turned hydrogens", fluoro, fluoroX, swap(6, 7, 7, 8), false, 0},
		{"methyls alone", fluoro, fluoroX, swap(0, 2, 6, 10, 7, 11, 8, 12), true, 0},
		{"methyls and hydrogens", fluoro, fluoroX, swap(0, 2, 6, 11, 7, 10, 8, 12), true, 0},
		{"the other hand", fluoro, fluoroX, mirror, true, 1},
		{"the other hand of a centre", fluoro, fluoroX, swap(4, 13), false, 1},
		{"centres in equivalent branches", meso, mesoX, mirror, false, 1},
		{"the other hand of a centre between centres", meso, mesoX, swap(0, 9), false, 1},
	} {
		conditions := testkit.Must(conformation.BondAngles(c.m, c.x))
		s := testkit.Must(conformation.New(conformation.Spec{Molecule: c.m, Template: c.x, Conditions: conditions}))
		x := c.change(slices.Clone(c.x))
		got, worst := s.NewRelabeller(c.m).Relabel(x), 0.0
		for _, k := range conditions {
			if k.Kind == dihedral {
				worst = max(worst, k.Excess(x))
			}
		}
		testkit.Equal(t, got, c.changed, "%s", c.name)
		if c.left == 0 && worst > 0.3 || worst < c.left {
			t.Errorf("%s: dihedrals are off by up to %v", c.name, worst)
		}
	}
	unknown := known("C C C", molecule.Bond{0, 1}, molecule.Bond{0, 2})
	testkit.Equal(t, fmt.Sprint(unknown.Exchanges()), "[]", "carbons whose hydrogens and bond orders are not known")
	testkit.Equal(t, fmt.Sprint(fluoro.Exchanges()), "[[[6 7]] [[6 8]] [[7 8]] [[0 2] [6 10] [7 11] [8 12]] [[10 11]] "+
		"[[10 12]] [[11 12]]]", "exchanges")
	if v := testkit.Must(conformation.New(conformation.Spec{Molecule: fluoro, Conditions: []conformation.Condition{
		on(distance, 1.1, 1.1, 0, 6)}})); len(v.NewRelabeller(fluoro)) > 0 {
		t.Error("a distance asks for no hand")
	}
}
