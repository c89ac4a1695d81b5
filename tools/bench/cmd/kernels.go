package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/bench"
)

// kernels measures the machine's rate of float32 multiply-adds in registers, then matrix products, whole training steps
// and inference with the networks of the paper's volcano and arm, in every precision that the processor has
// instructions for. Each row is the best of its runs, with its share of that peak. "other" is the share of a step that
// is not its matrix products.
func kernels(ctx context.Context, c *call, args []string) error {
	cores := c.ints("cores", fmt.Sprintf("1,%d", runtime.GOMAXPROCS(0)), "workers of each row")
	only := c.String("only", "", "measure only rows whose \"NAME PRECISION\" matches this regular expression")
	seconds := c.Float64("seconds", 2, "time to spend on each row; at least three runs are timed")
	divide := c.Int("divide", 1, "divide the rows of products and steps by this, for a quick look")
	rest, err := c.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || !(*seconds >= 0) || *divide < 1 {
		return errors.New("expected no arguments, -seconds of 0 or more and -divide of 1 or more")
	}
	o := bench.Options{Cores: *cores, Seconds: *seconds, Divide: *divide}
	if o.Only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if titles := bench.Titles(); !slices.ContainsFunc(titles, o.Only.MatchString) {
		return fmt.Errorf("-only %q matches no row; they are %s", *only, strings.Join(titles, ", "))
	}
	peaks, rows, err := bench.Measure(ctx, o, func(r bench.Row) {
		c.say("%s %v on %d cores: %.4g GFLOP/s", r.Name, r.Precision, r.Cores, r.GFLOPS)
	})
	if err != nil {
		return err
	}
	return c.result(struct {
		Machine run.Machine  `json:"machine"`
		Peaks   []bench.Peak `json:"peaks"`
		Rows    []bench.Row  `json:"rows"`
	}{run.ThisMachine(), peaks, rows}, func(t io.Writer) {
		for _, p := range peaks {
			fmt.Fprintf(t, "peak of float32 multiply-adds on %d cores: %.1f GFLOP/s\n", p.Cores, p.GFLOPS)
		}
		fmt.Fprintln(t, "\nrow\tcores\tprecision\tGFLOP/s\tof peak\tbest\tp50\tp99\tother")
		for _, r := range rows {
			other := ""
			if r.Other != nil {
				other = fmt.Sprintf("%.0f %%", 100**r.Other)
			}
			fmt.Fprintf(t, "%s\t%d\t%v\t%.1f\t%.0f %%\t%s\t%s\t%s\t%s\n", r.Name, r.Cores, r.Precision, r.GFLOPS,
				100*r.Share, duration(r.Best), duration(r.P50), duration(r.P99), other)
		}
	})
}
