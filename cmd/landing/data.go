package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// data makes data sets; its sub-verbs have files of their own.
func (a *app) data() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Make data sets",
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return &usageError{fmt.Errorf("there is no data set %q", given[0])}
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.dataSO())
	return cmd
}
