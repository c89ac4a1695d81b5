package molecule

import (
	"math"
	"slices"
	"strings"
)

// Covalent radii in Å (Cordero et al., Dalton Trans. 2008, 2832): sp³ carbon, and the larger of low and high spin.
var radius = map[string]float64{
	"H": 0.31, "D": 0.31, "He": 0.28, "Li": 1.28, "Be": 0.96, "B": 0.84, "C": 0.76, "N": 0.71, "O": 0.66, "F": 0.57,
	"Ne": 0.58, "Na": 1.66, "Mg": 1.41, "Al": 1.21, "Si": 1.11, "P": 1.07, "S": 1.05, "Cl": 1.02, "Ar": 1.06,
	"K": 2.03, "Ca": 1.76, "Sc": 1.70, "Ti": 1.60, "V": 1.53, "Cr": 1.39, "Mn": 1.61, "Fe": 1.52, "Co": 1.50,
	"Ni": 1.24, "Cu": 1.32, "Zn": 1.22, "Ga": 1.22, "Ge": 1.20, "As": 1.19, "Se": 1.20, "Br": 1.20, "Kr": 1.16,
	"Rb": 2.20, "Sr": 1.95, "Y": 1.90, "Zr": 1.75, "Nb": 1.64, "Mo": 1.54, "Tc": 1.47, "Ru": 1.46, "Rh": 1.42,
	"Pd": 1.39, "Ag": 1.45, "Cd": 1.44, "In": 1.42, "Sn": 1.39, "Sb": 1.39, "Te": 1.38, "I": 1.39, "Xe": 1.40,
	"Cs": 2.44, "Ba": 2.15, "Pt": 1.36, "Au": 1.36, "Hg": 1.32, "Tl": 1.45, "Pb": 1.46, "Bi": 1.48,
}

// heavy is the radius of an atom whose element is not known: carbon's, which is near those of N and O.
const heavy = 0.76

// Two atoms are taken to be bonded if they are apart by more than shortest and at most
// the sum of their radii and slack.
const (
	shortest = 0.4  // Å
	slack    = 0.45 // Å
)

// Radius returns the covalent radius of an element in Å, and that of carbon for one that is not known.
func Radius(element string) float64 {
	if r, ok := radius[Symbol(element)]; ok {
		return r
	}
	return heavy
}

// Known reports whether s is the symbol of an element; D, deuterium, is one.
func Known(s string) bool {
	return s != "" && (slices.Contains(symbols, Symbol(s)) || Symbol(s) == "D")
}

// symbols are those of the elements, in the order of their numbers, from 1.
var symbols = strings.Fields(`H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As
Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta
W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh
Fl Mc Lv Ts Og`)

// Numbered returns the symbol of the element of a number, and "" if there is none.
func Numbered(z int) string {
	if z < 1 || z > len(symbols) {
		return ""
	}
	return symbols[z-1]
}

// Symbol writes an element's symbol as it should be: CL and cl are Cl.
func Symbol(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
}

// LongestBond returns how far apart two atoms are at most that GuessBonds joins, in Å.
func (m *Molecule) LongestBond(i, j int) float64 {
	return Radius(m.Atoms[i].Element) + Radius(m.Atoms[j].Element) + slack
}

// GuessBonds returns the pairs of atoms of a conformation x that are closer than the sum of their covalent radii and
// 0.45 Å, and farther than 0.4 Å. A hydrogen keeps its nearest partner alone. x has three numbers an atom.
func (m *Molecule) GuessBonds(x []float64) []Bond {
	n := len(m.Atoms)
	r, widest := make([]float64, n), 0.0
	for i, a := range m.Atoms {
		r[i] = Radius(a.Element)
		widest = max(widest, r[i])
	}
	var out []Bond
	nearest := make([]float64, n) // partner's distance less the radii
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	pairs(x, n, 2*widest+slack, func(i, j int, d float64) {
		if d > shortest && d <= r[i]+r[j]+slack {
			out = append(out, Bond{i, j})
			nearest[i] = min(nearest[i], d-r[i]-r[j])
			nearest[j] = min(nearest[j], d-r[i]-r[j])
		}
	})
	out = slices.DeleteFunc(out, func(b Bond) bool {
		excess := Distance(x, b[0], b[1]) - r[b[0]] - r[b[1]]
		return m.hydrogen(b[0]) && excess > nearest[b[0]] || m.hydrogen(b[1]) && excess > nearest[b[1]]
	})
	slices.SortFunc(out, compareBonds)
	return out
}

func (m *Molecule) hydrogen(i int) bool {
	e := Symbol(m.Atoms[i].Element)
	return e == "H" || e == "D"
}

// pairs calls f on all pairs i < j of atoms that are at most reach apart, found by cells of that width.
func pairs(x []float64, n int, reach float64, f func(i, j int, d float64)) {
	type cell [3]int
	of := func(i int) (c cell) {
		for k := range 3 {
			c[k] = int(math.Floor(x[3*i+k] / reach))
		}
		return c
	}
	cells := make(map[cell][]int, n)
	for i := range n {
		c := of(i)
		for a := -1; a <= 1; a++ {
			for b := -1; b <= 1; b++ {
				for e := -1; e <= 1; e++ {
					for _, j := range cells[cell{c[0] + a, c[1] + b, c[2] + e}] {
						if d := Distance(x, j, i); d <= reach {
							f(j, i, d)
						}
					}
				}
			}
		}
		cells[c] = append(cells[c], i)
	}
}
