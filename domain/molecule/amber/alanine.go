package amber

import (
	_ "embed" // for alanine.txt
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
)

//go:embed alanine.txt
var alanine string

// AlanineStart returns a conformation of AlanineDipeptide near φ = −70° and ψ = 150°.
func AlanineStart() (x []float64) {
	for _, r := range table("start") {
		x = append(x, number(r[0]), number(r[1]), number(r[2]))
	}
	return x
}

// AlanineDipeptide returns the built-in molecule: see alanine.txt.
func AlanineDipeptide() *System {
	s := &System{Molecule: &molecule.Molecule{Name: "alanine dipeptide"},
		Origin: "ff14SB (Maier et al. 2015), mbondi2 radii"}
	kinds := table("kinds")
	for _, r := range table("atoms") {
		k := slices.IndexFunc(kinds, func(kind []string) bool { return kind[0] == r[2] })
		v := kinds[k]
		s.Molecule.Atoms = append(s.Molecule.Atoms, molecule.Atom{
			Name: r[1], Element: r[1][:1], Residue: r[0][:3], ResidueNumber: int(r[0][3] - '0'),
		})
		s.Atoms = append(s.Atoms, Atom{Type: r[2], Charge: number(r[3]), Mass: number(v[1]), Kind: k,
			Radius: number(v[4]), Screen: number(v[5])})
	}
	var bonds []molecule.Bond
	for _, r := range table("bonds") {
		bonds = append(bonds, molecule.Bond{int(number(r[0])), int(number(r[1]))})
	}
	if err := s.Molecule.SetBonds(bonds); err != nil {
		panic("amber: " + err.Error())
	}
	s.Kinds = len(kinds)
	for _, a := range kinds {
		for _, b := range kinds { // R = (R_min/2)_a + (R_min/2)_b, ε = √(ε_aε_b)
			r, ε := number(a[2])+number(b[2]), math.Sqrt(number(a[3])*number(b[3]))
			r6 := math.Pow(r, 6)
			s.A, s.B = append(s.A, ε*r6*r6), append(s.B, 2*ε*r6)
		}
	}
	s.assemble(table("stretch"), table("bend"), table("twist"))
	for _, r := range table("impropers") {
		s.Torsions = append(s.Torsions, Torsion{int(number(r[0])), int(number(r[1])), int(number(r[2])),
			int(number(r[3])), 2, number(r[4]), math.Pi, true})
	}
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

// table returns the rows of a table of alanine.txt, by words.
func table(name string) (rows [][]string) {
	_, text, _ := strings.Cut(alanine, "\n["+name+"]\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			rows = append(rows, strings.Fields(line))
		}
	}
	return rows
}

// number reads 1.5 or 1.4/9.
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
