package main

import "github.com/spf13/cobra"

// make is the parent of the verbs that make data sets and feasible sets.
func (a *app) make() *cobra.Command {
	return parent("make", "Make data sets and feasible sets", "  landing make so --modes 3 -o so10-3.npy",
		a.makeSO(), a.makeAlanine(), a.makeArm(), a.makeLevelSet(), a.makeEigenfunction())
}
