package main

import "github.com/spf13/cobra"

// dev is the parent of the verbs for developers of the program and of programs around it. Help does not list it.
func (a *app) dev() *cobra.Command {
	cmd := parent("dev", "Verbs for developers", "  landing dev schema problem",
		a.bench(), a.forward(), a.schema(), a.man())
	cmd.Hidden = true
	return cmd
}
