package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment/run"
)

// versionAnswer is what version prints.
type versionAnswer struct {
	run.Build
	Machine run.Machine `json:"machine"`
	Workers int         `json:"workers"`
}

func versionVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:        "version",
		SuggestFor: []string{"env"},
		Short:      "Show the version, the commit that it was built from, and the machine",
		Example:    "  landing version --json",
	}, noFlags{}, runVersion)
}

func runVersion(_ context.Context, a *app, _ noFlags, _ []string) (answer, error) {
	v := versionAnswer{run.ThisBuild(), run.ThisMachine(), a.workersPool().Workers()}
	return answer{v, func(w io.Writer) {
		fmt.Fprintf(w, "landing version %s\n", v.Version)
		if v.Commit != "" {
			fmt.Fprintf(w, "commit %s", v.Commit)
			if v.Time != "" {
				fmt.Fprintf(w, " of %s", v.Time)
			}
			if v.Modified {
				fmt.Fprint(w, ", with changes")
			}
			fmt.Fprintln(w)
		}
		m := v.Machine
		fmt.Fprintf(w, "%s %s/%s\n%s, %d cores, %d workers, %s kernels\n", v.Go, v.OS, v.Arch, m.CPU, m.Cores,
			v.Workers, m.Kernel)
		for _, p := range slices.Sorted(maps.Keys(m.Products)) {
			fmt.Fprintf(w, "products in %s run in %s\n", p, m.Products[p])
		}
	}}, nil
}
