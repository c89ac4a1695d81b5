package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// data is the parent of the verbs that make data sets and feasible sets.
func (a *app) data() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Make data sets and feasible sets",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("there is no verb %q under data", args[0])}
			}
			return nil
		},
	}
	cmd.AddCommand(a.dataSO(), a.dataLevelSet(), a.dataEigenfunction(), a.dataAlanine(), a.dataArm(), a.dataRefine())
	return cmd
}
