package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain/dataset"
)

// soStory is what make so prints.
type soStory struct {
	File  string  `json:"file"`
	N     int     `json:"n"`
	Modes int     `json:"modes"`
	SD    float64 `json:"sd"`
	Count int     `json:"count"`
	Seed  uint64  `json:"seed"`
	Sizes []int   `json:"mode_sizes"`
}

// soOptions are the flags of make so.
type soOptions struct {
	mix   dataset.RotationMixture
	out   string
	force bool
}

func (o *soOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.mix.N, "size", 10, "rows of a matrix")
	f.IntVar(&o.mix.Modes, "modes", 3, "modes, with centres by Haar measure")
	f.Float64Var(&o.mix.SD, "sd", 0.1, "standard deviation of the entries above the diagonal of A in C exp(A)")
	f.IntVarP(&o.mix.Count, "number", "n", 10_000, "number of matrices")
	f.Uint64Var(&o.mix.Seed, "seed", 1, "seed of all random numbers")
	f.StringVarP(&o.out, "output", "o", "", "file to write (default soSIZE-MODES.npy)")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
}

// check looks at the flags, and completes them.
func (o *soOptions) check() error {
	if err := bounds(positive("size", o.mix.N), positive("modes", o.mix.Modes), positive("sd", o.mix.SD),
		positive("number", o.mix.Count)); err != nil { // zero stands for a default in the library
		return err
	}
	if o.out == "" {
		o.out = fmt.Sprintf("so%d-%d.npy", o.mix.N, o.mix.Modes)
	}
	return output(o.out, ".npy", o.force)
}

// fault makes a usage error of one about a field of the mixture.
func (o *soOptions) fault(err error) error {
	if e := new(dataset.Error); errors.As(err, &e) {
		flag := map[string]string{"n": "size", "count": "number"}[e.Column]
		return &usageError{fmt.Errorf("%s is %s; expected %s", dashed(cmp.Or(flag, e.Column)), e.Value, e.Want)}
	}
	return err
}

func makeSOVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "so",
		Short: "Make rotation matrices in modes: the paper's SO(10) data",
		Long: `so draws rotation matrices from a mixture, in equal parts, of wrapped normal laws around random
centres of SO(n), and writes them to an NPY file (matrices × n × n). The recipes so10-3 and so10-5
train on such files.`,
		Example: "  landing make so --modes 3 -o so10-3.npy\n  landing train so10-3 --data so10-3.npy",
		Args:    args(0, "no arguments"),
	}, new(soOptions), runMakeSO)
}

func runMakeSO(ctx context.Context, a *app, o *soOptions, _ []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	p, modes, err := o.mix.Generate(ctx)
	if err != nil {
		return answer{}, o.fault(err)
	}
	if _, err := saveNPY(o.out, []int{p.N, o.mix.N, o.mix.N}, p.X, o.force); err != nil {
		return answer{}, err
	}
	s := soStory{o.out, o.mix.N, o.mix.Modes, o.mix.SD, o.mix.Count, o.mix.Seed, make([]int, o.mix.Modes)}
	for _, j := range modes {
		s.Sizes[j]++
	}
	return answer{s, func(w io.Writer) {
		fmt.Fprintf(w, "%d matrices of SO(%d) in %d modes %v, written to %s\n", p.N, s.N, s.Modes, s.Sizes, o.out)
	}}, nil
}
