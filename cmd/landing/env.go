package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/run"
)

// environment is what env prints.
type environment struct {
	Version string      `json:"version"`
	Go      string      `json:"go"`
	Machine run.Machine `json:"machine"`
	Workers int         `json:"workers"`
}

func (a *app) env() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Show version and machine, for bug reports",
		Args:  args(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			out := environment{run.Version(), runtime.Version(), run.ThisMachine(), a.workersPool().Workers()}
			return a.result(out, func(w io.Writer) {
				m := out.Machine
				fmt.Fprintf(w, "landing %s, %s %s/%s\n%s, %d cores, %d workers, %s kernels\n", out.Version,
					out.Go, m.OS, m.Arch,
					m.CPU, m.Cores, out.Workers, m.Kernel)
				for _, p := range slices.Sorted(maps.Keys(m.Products)) {
					fmt.Fprintf(w, "products in %s run in %s\n", p, m.Products[p])
				}
			})
		},
	}
}
