package problem

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/molecule/superpose"
)

const referenceKey = "network.reference"

// maxReference bounds the bytes of a file with a reference.
const maxReference = 64 << 20

// Reference reads the conformation that network.reference names, for points in R^d; nil if
// there is none. Of a file with several frames it is the first. The error is a *KeyError.
func (p *Problem) Reference(d int) ([]float64, error) {
	path := p.Network.Reference
	if path == "" {
		return nil, nil
	}
	fault := func(err error) error {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = fmt.Errorf("%s: %w", path.Path, path.Err)
		}
		return &KeyError{Origin: p.where(referenceKey), Key: referenceKey, Fault: err.Error()}
	}
	data, err := input.Read(path, maxReference)
	if err != nil {
		return nil, fault(err)
	}
	a, err := arrayfile.DecodeNPY(bytes.NewReader(data))
	if err != nil {
		return nil, fault(fmt.Errorf("%s: %w", path, err))
	}
	y := a.AsFloat64()
	if d == 0 || len(y) < d || len(y)%d != 0 {
		return nil, fault(fmt.Errorf("%s has shape %v; expected frames of %d×3 coordinates", path, a.Shape, d/3))
	}
	if _, err := superpose.New(y[:d]); err != nil {
		return nil, fault(fmt.Errorf("%s: %w", path, err))
	}
	return y[:d], nil
}
