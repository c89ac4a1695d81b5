package main

import "github.com/spf13/cobra"

// makeVerb is the parent of the verbs that make data sets and feasible sets.
func makeVerb(a *app) *cobra.Command {
	return parent("make", "Make data sets and feasible sets", "  landing make so --modes 3 -o so10-3.npy",
		makeSOVerb(a), makeAlanineVerb(a), makeArmVerb(a), makeLevelSetVerb(a), makeEigenfunctionVerb(a))
}
