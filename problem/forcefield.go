package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	molecules "github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/langevin"
)

// Keys of the files that a force field is read from.
const (
	prmtopKey      = "potential.prmtop"
	coordinatesKey = "potential.coordinates"

	builtIn = "alanine-dipeptide"
	kelvin  = 300 // default of potential.temperature
)

// forceField returns f = U/kT of kind amber; the error is a *KeyError.
func (f Potential) forceField(o origins, d int) (langevin.Potential, error) {
	fault := func(key string, err error) error {
		if errors.As(err, new(*fs.PathError)) {
			return err // a file's, told as other files are
		}
		return o.fault(key, "%v", err)
	}
	if (f.Molecule == "") == (f.Prmtop == "") {
		return nil, o.key(prmtopKey, f.Prmtop, "either a prmtop file, or potential.molecule: "+builtIn)
	}
	solvent, err := amber.ParseSolvent(cmp.Or(f.Solvent, amber.OBC2.String()))
	if err != nil {
		return nil, err // it is one of its words
	}
	system, start, source := amber.AlanineDipeptide(), amber.AlanineStart(), "potential.molecule"
	if f.Prmtop != "" {
		source, start = prmtopKey, nil
		if system, err = amber.ReadPrmtop(f.Prmtop); err != nil {
			return nil, fault(source, err)
		}
	}
	if n := len(system.Atoms); 3*n != d {
		return nil, o.key(source, cmp.Or(f.Prmtop, f.Molecule), fmt.Sprintf("a molecule of %v atoms, since points of "+
			"the set have %d coordinates, and not of %d", float64(d)/3, d, n))
	}
	if f.Coordinates != "" {
		if start, err = amber.ReadCoordinates(f.Coordinates, len(system.Atoms)); err == nil {
			err = system.Plausible(start)
		}
		if err != nil {
			return nil, fault(coordinatesKey, err)
		}
	}
	energy, err := amber.NewPotential(system, solvent, cmp.Or(f.Temperature, kelvin), start)
	if err != nil {
		return nil, fault(source, err)
	}
	return energy, nil
}

const referenceKey = "network.reference"

// Reference reads the conformation that network.reference names, for points in R^d; nil if
// there is none. Of a file with several frames it is the first. The error is a *KeyError.
func (p *Problem) Reference(d int) ([]float64, error) {
	path := p.Network.Reference
	if path == "" {
		return nil, nil
	}
	frames, err := molecules.Read(path)
	if err != nil {
		return nil, p.fault(referenceKey, "%v", err)
	}
	if n := frames.Molecule.Dim(); n != d {
		return nil, p.fault(referenceKey, "%s: a frame has %d atoms; expected %d, as the set has", path, n/3, d/3)
	}
	if _, err := superpose.New(frames.Frame(0)); err != nil {
		return nil, p.fault(referenceKey, "%s: %v", path, err)
	}
	return frames.Frame(0), nil
}
