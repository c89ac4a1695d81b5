package sets

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/grid"
)

// Grid is the steady states of a power grid.
type Grid struct {
	Case  File   `yaml:"case,omitempty" doc:"MATPOWER case file: buses, branches, generators and their limits"`
	Loads string `yaml:"loads,omitempty" words:"free,fixed,condition" doc:"coordinates, the file's, or given; free"`
}

func grids(k Grid) (constraint.Set, error) {
	if k.Case == "" {
		return nil, Bad("case", nil, "a MATPOWER case file, such as case14.m")
	}
	g, err := grid.Read(string(k.Case))
	if err != nil {
		return nil, &Error{Key: "case", Fault: err.Error()}
	}
	set, err := grid.NewSet(g, k.Loads == "fixed")
	if err != nil {
		return nil, &Error{Key: "case", Fault: err.Error()}
	}
	if k.Loads == condition {
		return set.GivenLoads(), nil
	}
	return set, nil
}
