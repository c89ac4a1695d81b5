package sets

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/mesh"
)

// LevelSet is the zero level set of a network.
type LevelSet struct {
	Weights File `yaml:"weights,omitempty" doc:"NPZ file of the network"`
	Mesh    File `yaml:"mesh,omitempty" doc:"PLY or OBJ mesh near it, for the uniform prior and the distance on faces"`
}

func levelSet(k LevelSet) (constraint.Set, error) {
	if k.Weights == "" {
		return nil, Bad("weights", nil, "an NPZ file with the network's layers, as landing make level-set writes")
	}
	fault := func(key string, err error) (constraint.Set, error) {
		return nil, &Error{Key: key, Fault: err.Error()}
	}
	net, err := levelset.ReadNetwork(string(k.Weights))
	if err != nil {
		return fault("weights", err)
	}
	if k.Mesh == "" {
		return levelset.New(net), nil
	}
	m, err := mesh.Read(string(k.Mesh))
	if err != nil {
		return fault("mesh", err)
	}
	surface, err := levelset.NewSurface(net, m)
	if err != nil {
		return fault("mesh", fmt.Errorf("%s: %w", k.Mesh, err))
	}
	return surface, nil
}
