package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/method/methods"
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

// A CellError is a cell that cannot be run, whatever the data.
type CellError struct {
	Cell   string
	Reason string
}

func (e *CellError) Error() string { return fmt.Sprintf("cell %s: %s", e.Cell, e.Reason) }

// Check says what keeps a cell from being run: a recipe, variant, method or key that does not exist,
// among those of settings extra too. It is a *CellError, or nil.
func (c *Cell) Check(extra []string) error {
	fail := func(format string, v ...any) error { return &CellError{c.Name, fmt.Sprintf(format, v...)} }
	if !slices.Contains(problem.Recipes(), c.Recipe) {
		return fail("there is no recipe %q; expected one of %s", c.Recipe, strings.Join(problem.Recipes(), ", "))
	}
	source, variants, err := c.source()
	if err != nil {
		return fail("%v", err)
	}
	known, err := problem.Variants(source, c.Recipe)
	if err != nil {
		return fail("%v", err)
	}
	for _, v := range strings.Split(variants, ",") {
		if v != "" && !slices.Contains(known, v) {
			return fail("recipe %s has no variant %q; expected %s", c.Recipe, v, strings.Join(known, ", "))
		}
	}
	if _, ok := methods.Of(c.Method); !ok {
		return fail("there is no method %q in this version; expected %s", c.Method, methods.Names())
	}
	p, err := problem.Load(source, c.Recipe, variants, slices.Concat(c.Settings, extra))
	if err != nil {
		return fail("%v", err)
	}
	drawn := p.Process.Method
	for _, s := range c.Draw {
		if m, ok := strings.CutPrefix(s, "process.method="); ok {
			drawn = m
		}
	}
	asked, _ := methods.Of(c.Method)
	if got, ok := methods.Of(drawn); !ok || got.Name != asked.Name {
		return fail("it draws by %s, and the catalogue says %s", drawn, c.Method)
	}
	return nil
}
