package problem

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/mesh"
)

// Files returns pointers to the paths in the problem, by key; they may be empty.
func (p *Problem) Files() map[string]*string {
	return map[string]*string{"data.path": &p.Data.Path, "set.weights": &p.Set.Weights, "set.mesh": &p.Set.Mesh}
}

// levelSet reads the network of a level set, and its mesh if there is one.
func (p *Problem) levelSet() (constraint.Set, error) {
	s := p.Set
	if s.Weights == "" {
		return nil, p.key("set.weights", nil, "an NPZ file with the network's layers, as landing data level-set writes")
	}
	fault := func(key string, err error) (constraint.Set, error) {
		return nil, &KeyError{Origin: p.origin[key], Key: key, Fault: err.Error()}
	}
	net, err := levelset.ReadNetwork(s.Weights)
	if err != nil {
		return fault("set.weights", err)
	}
	if s.Mesh == "" {
		return levelset.New(net), nil
	}
	m, err := mesh.Read(s.Mesh)
	if err != nil {
		return fault("set.mesh", err)
	}
	surface, err := levelset.NewSurface(net, m)
	if err != nil {
		return fault("set.mesh", fmt.Errorf("%s: %w", s.Mesh, err))
	}
	return surface, nil
}
