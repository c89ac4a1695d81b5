package amber

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// Alanine dipeptide, CH₃–CO–NH–CH(CH₃)–CO–NH–CH₃ (ACE-ALA-NME, 22 atoms), with the numbers of ff14SB (Maier et al., J.
// Chem. Theory Comput. 2015, 3696; charges of Cornell et al. 1995) and the radii of mbondi2 (Onufriev, Bashford and
// Case 2004). Atoms are in the order of tleap. Every number is a published parameter; none was fitted here.

// alanineAtoms: residue, name, type, charge.
const alanineAtoms = `
ACE1 H1 HC  0.1123
ACE1 CH3 CT -0.3662
ACE1 H2 HC  0.1123
ACE1 H3 HC  0.1123
ACE1 C C    0.5972
ACE1 O O   -0.5679
ALA2 N N   -0.4157
ALA2 H H    0.2719
ALA2 CA CX  0.0337
ALA2 HA H1  0.0823
ALA2 CB CT -0.1825
ALA2 HB1 HC 0.0603
ALA2 HB2 HC 0.0603
ALA2 HB3 HC 0.0603
ALA2 C C    0.5973
ALA2 O O   -0.5679
NME3 N N   -0.4157
NME3 H H    0.2719
NME3 CH3 CT -0.1490
NME3 H1 H1  0.0976
NME3 H2 H1  0.0976
NME3 H3 H1  0.0976
`

var alanineBonds = []molecule.Bond{
	{0, 1}, {1, 2}, {1, 3}, {1, 4}, {4, 5}, {4, 6}, {6, 7}, {6, 8}, {8, 9}, {8, 10}, {8, 14}, {10, 11}, {10, 12}, {10,
		13},
	{14, 15}, {14, 16}, {16, 17}, {16, 18}, {18, 19}, {18, 20}, {18, 21},
}

// alanineKinds: type, mass, R_min/2 in Å, ε in kcal/mol, ρ in Å, screening factor. The
// hydrogens on nitrogen are H, of ρ = 1.3.
const alanineKinds = `
C  12.01 1.9080 0.0860 1.70 0.72
CT 12.01 1.9080 0.1094 1.70 0.72
CX 12.01 1.9080 0.1094 1.70 0.72
N  14.01 1.8240 0.1700 1.55 0.79
O  16.00 1.6612 0.2100 1.50 0.85
H  1.008 0.6000 0.0157 1.30 0.85
HC 1.008 1.4870 0.0157 1.20 0.85
H1 1.008 1.3870 0.0157 1.20 0.85
`

// alanineStretch: types, K in kcal/(mol Å²), r₀ in Å.
const alanineStretch = `
C-CT  317 1.522
C-CX  317 1.522
C-N   490 1.335
C-O   570 1.229
CT-CX 310 1.526
CT-H1 340 1.090
CT-HC 340 1.090
CT-N  337 1.449
CX-H1 340 1.090
CX-N  337 1.449
H-N   434 1.010
`

// alanineBend: types, K in kcal/(mol rad²), θ₀ in degrees.
const alanineBend = `
C-CT-HC  50 109.5
C-CX-CT  63 111.1
C-CX-H1  50 109.5
C-CX-N   63 110.1
C-N-CT   50 121.9
C-N-CX   50 121.9
C-N-H    50 120.0
CT-C-N   70 116.6
CT-C-O   80 120.4
CT-CX-H1 50 109.5
CT-CX-N  80 109.7
CT-N-H   50 118.04
CX-C-N   70 116.6
CX-C-O   80 120.4
CX-CT-HC 50 109.5
CX-N-H   50 118.04
H1-CT-H1 35 109.5
H1-CT-N  50 109.5
H1-CX-N  50 109.5
HC-CT-HC 35 109.5
N-C-O    80 122.9
`

// alanineTwist: types, then K in kcal/mol (some of the papers' are a barrier over the number of dihedrals about a
// bond), n and δ in degrees of each term. Dihedrals of types that are not listed have none.
const alanineTwist = `
CT-C-N-CX   2.5 2 180
CT-C-N-H    2.5 2 180
CX-C-N-CT   2.5 2 180
CX-C-N-H    2.5 2 180
O-C-N-CT    2.5 2 180
O-C-N-CX    2.5 2 180
O-C-N-H     2.0 1 0  2.5 2 180
HC-CT-C-O   0.8 1 0  0.08 3 180
H1-CX-C-O   0.8 1 0  0.08 3 180
C-N-CX-C    0.27 2 0  0.42 3 0
C-N-CX-CT   2.0 1 0  1.8 2 0  0.8 3 0
N-CX-C-N    0.45 1 180  1.58 2 180  0.55 3 180
CT-CX-C-N   0.2 1 0  0.2 2 0  0.4 3 0
N-CX-CT-HC  1.4/9 3 0
H1-CX-CT-HC 1.4/9 3 0
C-CX-CT-HC  1.4/9 3 0
`

// alanineImpropers: K (1 + cos(2φ − 180°)) that keep the peptide groups flat, the atom in the middle third.
var alanineImpropers = []Torsion{
	{1, 6, 4, 5, 2, 10.5, math.Pi, true},
	{4, 8, 6, 7, 2, 1.1, math.Pi, true},
	{8, 16, 14, 15, 2, 10.5, math.Pi, true},
	{14, 18, 16, 17, 2, 1.1, math.Pi, true},
}

// alanineStart is a conformation in the paper's window: φ near −70°, ψ near 150°, at the
// least energy of ff14SB in implicit water with both held there. In Å.
var alanineStart = []float64{
	-3.7050, -0.2392, -1.6089,
	-3.3819, -0.7828, -0.7225,
	-3.7872, -1.7932, -0.7454,
	-3.7358, -0.2672, 0.1689,
	-1.8720, -0.8415, -0.6969,
	-1.2944, -1.9285, -0.7025,
	-1.2348, 0.3275, -0.6712,
	-1.7909, 1.1689, -0.6611,
	0.2218, 0.4699, -0.6141,
	0.6579, -0.1707, -1.3829,
	0.5836, 1.9211, -0.9516,
	0.1642, 2.5945, -0.2028,
	1.6679, 2.0362, -0.9657,
	0.1893, 2.1828, -1.9343,
	0.8143, 0.0417, 0.7479,
	0.1736, 0.1768, 1.7978,
	2.0597, -0.4513, 0.7328,
	2.5245, -0.5203, -0.1626,
	2.7951, -0.8958, 1.9165,
	2.2540, -1.7042, 2.4117,
	3.7841, -1.2572, 1.6293,
	2.9119, -0.0674, 2.6177,
}

// AlanineStart returns a conformation of AlanineDipeptide near φ = −70° and ψ = 150°.
func AlanineStart() []float64 { return slices.Clone(alanineStart) }

// AlanineDipeptide returns the built-in molecule: see alanineAtoms.
func AlanineDipeptide() *System {
	s := &System{Molecule: &molecule.Molecule{Name: "alanine dipeptide"},
		Origin: "ff14SB (Maier et al. 2015), mbondi2 radii"}
	rows := table(alanineKinds)
	kind := func(name string) int { return slices.IndexFunc(rows, func(r []string) bool { return r[0] == name }) }
	for _, r := range table(alanineAtoms) {
		k := kind(r[2])
		v := rows[k]
		s.Molecule.Atoms = append(s.Molecule.Atoms, molecule.Atom{
			Name: r[1], Element: r[1][:1], Residue: r[0][:3], ResidueNumber: int(r[0][3] - '0'),
		})
		s.Atoms = append(s.Atoms, Atom{Type: r[2], Charge: number(r[3]), Mass: number(v[1]), Kind: k,
			Radius: number(v[4]), Screen: number(v[5])})
	}
	if err := s.Molecule.SetBonds(alanineBonds); err != nil {
		panic("amber: " + err.Error())
	}
	s.Kinds = len(rows)
	for _, a := range rows {
		for _, b := range rows { // R = (R_min/2)_a + (R_min/2)_b, ε = √(ε_aε_b)
			r, ε := number(a[2])+number(b[2]), math.Sqrt(number(a[3])*number(b[3]))
			r6 := math.Pow(r, 6)
			s.A, s.B = append(s.A, ε*r6*r6), append(s.B, 2*ε*r6)
		}
	}
	s.assemble(table(alanineStretch), table(alanineBend), table(alanineTwist))
	s.Torsions = append(s.Torsions, alanineImpropers...)
	return s
}

// assemble adds the terms of all bonds, angles and dihedrals of the molecule by their types,
// and what comes of them: excluded pairs, and pairs three bonds apart.
func (s *System) assemble(stretch, bend, twist [][]string) {
	find := func(rows [][]string, atoms ...int) []string {
		types := make([]string, len(atoms))
		for k, i := range atoms {
			types[k] = s.Atoms[i].Type
		}
		there := strings.Join(types, "-")
		slices.Reverse(types)
		back := strings.Join(types, "-")
		for _, r := range rows {
			if r[0] == there || r[0] == back {
				return r[1:]
			}
		}
		return nil
	}
	must := func(v []string, atoms ...int) []string {
		if v == nil {
			panic(fmt.Sprintf("amber: no parameters of atoms %v", atoms))
		}
		return v
	}
	closer := map[[2]int]bool{} // one or two bonds apart
	for _, b := range s.Molecule.Bonds {
		v := must(find(stretch, b[0], b[1]), b[0], b[1])
		s.Bonds = append(s.Bonds, Bond{b[0], b[1], number(v[0]), number(v[1])})
		closer[ordered(b[0], b[1])] = true
	}
	for _, a := range s.Molecule.Angles() {
		v := must(find(bend, a[0], a[1], a[2]), a[0], a[1], a[2])
		s.Angles = append(s.Angles, Angle{a[0], a[1], a[2], number(v[0]), number(v[1]) * math.Pi / 180})
		closer[ordered(a[0], a[2])] = true
	}
	far := map[[2]int]bool{}
	for _, t := range s.Molecule.Torsions() {
		v := find(twist, t[0], t[1], t[2], t[3])
		for ; len(v) > 0; v = v[3:] {
			s.Torsions = append(s.Torsions, Torsion{t[0], t[1], t[2], t[3], int(number(v[1])), number(v[0]),
				number(v[2]) * math.Pi / 180, false})
		}
		if pair := ordered(t[0], t[3]); !closer[pair] && !far[pair] {
			far[pair] = true
			s.OneFour = append(s.OneFour, OneFour{pair[0], pair[1], defaultSCEE, defaultSCNB})
		}
	}
	for i := range s.Atoms {
		for j := i + 1; j < len(s.Atoms); j++ {
			if pair := [2]int{i, j}; closer[pair] || far[pair] {
				s.Excluded = append(s.Excluded, pair)
			}
		}
	}
}

func table(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			rows = append(rows, words)
		}
	}
	return rows
}

// number reads one of the tables above: 1.5 or 1.4/9.
func number(text string) float64 {
	over, under, quotient := strings.Cut(text, "/")
	v, err := real64(over)
	if err == nil && quotient {
		var d float64
		d, err = real64(under)
		v /= d
	}
	if err != nil {
		panic("amber: " + err.Error())
	}
	return v
}
