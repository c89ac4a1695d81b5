package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/bench"
)

// benchOptions are the flags of dev bench.
type benchOptions struct {
	bench.Options
	only string
}

func (o *benchOptions) flags(f *pflag.FlagSet) {
	f.IntSliceVar(&o.Cores, "cores", nil, "workers of each row (default: 1 and as many as --workers)")
	f.StringVar(&o.only, "only", "", "measure only rows whose \"NAME PRECISION\" matches this regular expression")
	f.Float64Var(&o.Seconds, "seconds", 2, "time to spend on each row; at least three runs are timed")
	f.IntVar(&o.Divide, "divide", 1, "divide the rows of products and steps by this, for a quick look")
}

func (o *benchOptions) check(func(flag string) bool, []string) (err error) {
	for _, n := range o.Cores {
		if n < 1 || n > parallel.MaxWorkers {
			return badFlag("cores", n, fmt.Sprintf("numbers of 1 to %d", parallel.MaxWorkers))
		}
	}
	if err := bounds(bound{"seconds", o.Seconds >= 0 && o.Seconds <= 3600, o.Seconds, "a number in [0, 3600]"},
		positive("divide", o.Divide)); err != nil {
		return err
	}
	if o.Only, err = regexp.Compile(o.only); err != nil {
		return usage("--only: %w", err)
	}
	if titles := bench.Titles(); !slices.ContainsFunc(titles, o.Only.MatchString) {
		return usage("--only %q matches no row; they are %s", o.only, strings.Join(titles, ", "))
	}
	return nil
}

// speeds are what dev bench prints.
type speeds struct {
	Machine run.Machine  `json:"machine"`
	Peaks   []bench.Peak `json:"peaks"`
	Rows    []bench.Row  `json:"rows"`
}

func benchVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "bench",
		Short: "Measure products, training steps and inference beside the machine's peak",
		Long: `bench measures the rate of float32 multiply-adds in registers, then matrix products, whole training
steps and inference with the networks of the paper's volcano and arm, in every precision that this
processor has instructions for. Each row is the best of its runs, with its share of that peak. "other" is
the share of a step that is not its matrix products.`,
		Example: "  landing dev bench --only step --cores 1",
	}, new(benchOptions), runBench)
}

func runBench(ctx context.Context, a *app, o *benchOptions, _ []string) (answer, error) {
	if o.Cores == nil {
		o.Cores = []int{1, a.workersPool().Workers()}
	}
	bar := a.out.progress()
	peaks, rows, err := bench.Measure(ctx, o.Options, func(r bench.Row) {
		bar.line(fmt.Sprintf("%s %v on %s: %.4g GFLOP/s", r.Name, r.Precision, plural(r.Cores, "core"), r.GFLOPS))
	})
	m := run.ThisMachine()
	return answer{speeds{m, peaks, rows}, func(w io.Writer) {
		fmt.Fprintf(w, "%s, %s, %s kernels, %s\n", m.CPU, plural(m.Cores, "core"), m.Kernel, runtime.Version())
		for _, p := range peaks {
			fmt.Fprintf(w, "peak of float32 multiply-adds on %s: %.1f GFLOP/s\n", plural(p.Cores, "core"), p.GFLOPS)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\nrow\tcores\tprecision\tGFLOP/s\tof peak\tbest\tp50\tp99\tother")
		for _, r := range rows {
			other := ""
			if r.Other != nil {
				other = fmt.Sprintf("%.0f %%", 100**r.Other)
			}
			fmt.Fprintf(t, "%s\t%d\t%v\t%.1f\t%.0f %%\t%s\t%s\t%s\t%s\n", r.Name, r.Cores, r.Precision, r.GFLOPS,
				100*r.Share, duration(r.Best), duration(r.P50), duration(r.P99), other)
		}
		t.Flush()
	}}.unless(err)
}

// duration writes seconds with three digits and a unit.
func duration(seconds float64) string {
	switch d := time.Duration(seconds * 1e9); {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", seconds*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", seconds*1e3)
	}
	return fmt.Sprintf("%.3g s", seconds)
}
