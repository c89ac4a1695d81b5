package expr

import (
	"maps"
	"slices"
)

// Functions returns the names of the functions that formulas can call, sorted, each with an example.
func Functions() (names, forms []string) {
	names = slices.Sorted(maps.Keys(functions))
	for _, n := range names {
		forms = append(forms, functions[n].form)
	}
	return names, forms
}

// Components returns the number of components.
func (p *Program) Components() int { return len(p.roots) }
