package amber

import (
	_ "embed" // for the files
	"math"
	"slices"
)

var (
	//go:embed alanine.prmtop
	alanine []byte
	//go:embed alanine.rst7
	alanineStart []byte
)

// AlanineStart returns a conformation of AlanineDipeptide near φ = −70° and ψ = 150°: that of least energy in implicit
// water with both held there.
func AlanineStart() []float64 {
	x, err := DecodeCoordinates("alanine.rst7", alanineStart, 22)
	if err != nil {
		panic("amber: " + err.Error())
	}
	return x
}

// AlanineDipeptide returns the built-in molecule: see alanine.prmtop.
func AlanineDipeptide() *System {
	s, err := DecodePrmtop("alanine.prmtop", alanine)
	if err != nil {
		panic("amber: " + err.Error())
	}
	for i := range s.Atoms { // charges of four decimals, which the file's unit rounds
		s.Atoms[i].Charge = math.Round(1e4*s.Atoms[i].Charge) / 1e4
	}
	s.Torsions = slices.DeleteFunc(s.Torsions, func(t Torsion) bool { return t.Barrier == 0 })
	s.Molecule.Name, s.Origin = "alanine dipeptide", "ff14SB (Maier et al. 2015), mbondi2 radii"
	return s
}
