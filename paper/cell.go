package paper

import (
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/problem"
)

// A Training is a network to train: a recipe with variants and settings over them. A budget and a seed
// come with the run.
type Training struct {
	Recipe   string
	Variants string   // as of --variant: "olla,fast"; or alone
	Settings []string // key=value
}

// alone, in place of variants, says that of the recipe only data and set are kept: all else follows from the rows, as
// for any problem that a user writes down.
const alone = "alone"

// source returns the text of the problem and its variants.
func (t *Training) source() (text []byte, variants string, err error) {
	text, _, err = problem.Source(t.Recipe)
	if err != nil || t.Variants != alone {
		return text, t.Variants, err
	}
	var keys yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &keys, yaml.UseOrderedMap()); err != nil {
		return nil, "", err
	}
	keys = slices.DeleteFunc(keys, func(k yaml.MapItem) bool {
		return !slices.Contains([]any{"name", "title", "data", "set"}, k.Key)
	})
	text, err = yaml.Marshal(keys)
	return text, "", err
}

// A Cell is what a row is measured of: samples of a trained network. Cells of the same Training share it.
type Cell struct {
	Name string // of the catalogue: volcano/ULLA
	Training
	Method string   // that draws, as package methods names it
	Draw   []string // keys of generation, key=value, where samples are not drawn as the network was trained
	Seeds  int      // trainings, with seeds 1, 2, …; 0: one

	Diagnose bool     // with the areas under violations on the way
	Jacobian bool     // with the norm of the score's Jacobian on the way
	Timed    []string // in turn with draws by these keys: with the processor time of both; nil: it is not
}
