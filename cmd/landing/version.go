package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/run"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and the commit that it was built from",
		Args:  args(0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return a.tellVersion() },
	}
}

func (a *app) tellVersion() error {
	b := run.ThisBuild()
	return a.result(b, func(w io.Writer) {
		fmt.Fprintf(w, "landing version %s\n", b.Version)
		if b.Commit != "" {
			fmt.Fprintf(w, "commit %s", b.Commit)
			if b.Time != "" {
				fmt.Fprintf(w, " of %s", b.Time)
			}
			if b.Modified {
				fmt.Fprint(w, ", with changes")
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s/%s\n", b.Go, b.OS, b.Arch)
	})
}
