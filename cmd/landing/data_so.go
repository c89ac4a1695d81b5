package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/work"
)

// soStory is what data so prints.
type soStory struct {
	File  string  `json:"file"`
	N     int     `json:"n"`
	Modes int     `json:"modes"`
	SD    float64 `json:"sd"`
	Count int     `json:"count"`
	Seed  uint64  `json:"seed"`
	Sizes []int   `json:"mode_sizes"`
}

func (a *app) dataSO() *cobra.Command {
	var mix dataset.RotationMixture
	var out, share string
	var force bool
	cmd := &cobra.Command{
		Use:   "so",
		Short: "Make rotation matrices in modes: the paper's SO(10) data",
		Long: `so draws rotation matrices from a mixture, in equal parts, of wrapped normal laws
around random centres of SO(n), and writes them to an NPY file (matrices × n × n).
The recipes so10-3 and so10-5 train on such files. --shard 2/8 makes the second of eight parts, in
FILE.parts; landing merge joins them to the bytes of one call.`,
		Example: "  landing data so --modes 3 -o so10-3.npy\n  landing train so10-3 --data so10-3.npy",
		Args:    args(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range []struct {
				name  string
				given float64
			}{{"n", float64(mix.N)}, {"modes", float64(mix.Modes)}, {"sd", mix.SD}, {"count", float64(mix.Count)}} {
				if !(f.given > 0) { // zero stands for a default in the library
					return &usageError{fmt.Errorf("--%s is %v; expected a number above 0", f.name, f.given)}
				}
			}
			if out == "" {
				out = fmt.Sprintf("so%d-%d.npy", mix.N, mix.Modes)
			}
			part, err := shard(share)
			if err != nil {
				return err
			}
			if err := output(out, ".npy", force || part != (work.Shard{})); err != nil {
				return err
			}
			if part != (work.Shard{}) {
				if err := noPart(cmd, "force"); err != nil {
					return err
				}
				l, err := tasks.Rotations(mix, uint64(mix.Count))
				if e := new(dataset.Error); errors.As(err, &e) {
					return &usageError{fmt.Errorf("--%s is %s; expected %s", e.Column, e.Value, e.Want)}
				}
				if err != nil {
					return &usageError{err}
				}
				return a.makePart(cmd, l, part, out, nil)
			}
			p, modes, err := mix.Generate()
			if e := new(dataset.Error); errors.As(err, &e) {
				return &usageError{fmt.Errorf("--%s is %s; expected %s", e.Column, e.Value, e.Want)}
			}
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{p.N, mix.N, mix.N},
				Float64: p.X}); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			sizes := make([]int, mix.Modes)
			for _, j := range modes {
				sizes[j]++
			}
			return a.result(soStory{out, mix.N, mix.Modes, mix.SD, mix.Count, mix.Seed, sizes}, func(w io.Writer) {
				fmt.Fprintf(w, "%d matrices of SO(%d) in %d modes %v, written to %s\n", p.N, mix.N,
					mix.Modes, sizes, out)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&mix.N, "n", 10, "rows of a matrix")
	f.IntVar(&mix.Modes, "modes", 3, "modes, with centres by Haar measure")
	f.Float64Var(&mix.SD, "sd", 0.1, "standard deviation of the entries above the diagonal of A in C exp(A)")
	f.IntVar(&mix.Count, "count", 10_000, "matrices")
	f.Uint64Var(&mix.Seed, "seed", 1, "all random numbers are a function of it")
	f.StringVarP(&out, "output", "o", "", "file to write (default soN-MODES.npy)")
	shardFlag(cmd, &share, "make part i of n of the matrices")
	f.BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}
