package problem

import (
	"github.com/landing-diffusion/landing/base/superpose"
	molecules "github.com/landing-diffusion/landing/domain/molecule/files"
)

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
