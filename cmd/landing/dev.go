package main

import "github.com/spf13/cobra"

// devVerb is the parent of the verbs for developers of the program and of programs around it. Help does not list it.
func devVerb(a *app) *cobra.Command {
	cmd := parent("dev", "Verbs for developers", "  landing dev schema problem",
		benchVerb(a), forwardVerb(a), schemaVerb(a), manVerb(a))
	cmd.Hidden = true
	return cmd
}
