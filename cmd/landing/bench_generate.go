package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/bench"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
)

// A wait is how long one makes for samples.
type wait struct {
	Samples int `json:"samples"`
	Cores   int `json:"cores"`
	bench.Times
	Failed int `json:"failed"` // samples of all runs
}

// fewestWaits is how often a wait is measured at least: what a 99 % quantile needs.
const fewestWaits = 100

func (a *app) benchGenerate() *cobra.Command {
	var counts, cores []int
	var seconds float64
	var checkpoint, data string
	var settings []string
	cmd := &cobra.Command{
		Use:   "generate RUN",
		Short: "Measure how long one waits for samples of a run",
		Long: `generate measures how long a program that has a run open waits for a number of
samples: the median and the 99 % quantile over calls, each with other samples. What is
done once, reading the run and making its prior, does not count.

Other programs at work on the machine disturb it, the quantile most.`,
		Example: "  landing bench generate runs/arm-001 -n 1,64 --cores 1,2 --set process.steps=50",
		Args:    args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cores == nil {
				cores = []int{1, a.workersPool().Workers()}
			}
			if err := checkWaits(counts, cores, seconds); err != nil {
				return &usageError{err}
			}
			r, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			if r, err = r.Redraw(settings); err != nil {
				return err
			}
			t, err := r.Trained(checkpoint)
			if err != nil {
				return err
			}
			prior, err := r.Prior(cmd.Context(), nil)
			if err != nil {
				return err
			}
			bar := a.progress()
			var waits []wait
			for _, n := range counts {
				if float64(n)*float64(r.Data.D) > maxNumbers {
					return &usageError{fmt.Errorf("-n is %d; expected at most %.0g numbers in all samples", n,
						float64(maxNumbers))}
				}
				for _, c := range cores {
					w, err := measureWait(cmd, r.Loaded, t, prior, n, c, seconds)
					if err != nil {
						return err
					}
					waits = append(waits, w)
					bar.line(fmt.Sprintf("%s on %s: %s", plural(n, "sample"), plural(c, "core"), duration(w.P50)))
				}
			}
			return a.result(waited{run.ThisMachine(), r.Folder.Dir, waits},
				func(w io.Writer) { printWaits(w, waits) })
		},
	}
	cmd.Flags().IntSliceVarP(&counts, "number", "n", []int{1, 64}, "numbers of samples of a call")
	cmd.Flags().IntSliceVar(&cores, "cores", nil, "workers (default: 1 and as many as --workers)")
	cmd.Flags().Float64Var(&seconds, "seconds", 5, "time to spend on each; at least 100 calls are timed")
	checkpointFlag(cmd, &checkpoint)
	movedFlag(cmd, &data)
	cmd.Flags().StringArrayVar(&settings, "set", nil,
		"draw by another value of a key that needs no training, as in process.landing.rate=50 (repeatable)")
	return cmd
}

// waited is what bench generate prints.
type waited struct {
	Machine run.Machine `json:"machine"`
	Run     string      `json:"run"`
	Waits   []wait      `json:"waits"`
}

func checkWaits(counts, cores []int, seconds float64) error {
	for _, n := range counts {
		if n < 1 || n > maxNumbers {
			return fmt.Errorf("-n is %d; expected numbers of samples above 0", n)
		}
	}
	for _, n := range cores {
		if n < 1 || n > parallel.MaxWorkers {
			return fmt.Errorf("--cores is %d; expected numbers of 1 to %d", n, parallel.MaxWorkers)
		}
	}
	if !(seconds >= 0 && seconds <= 3600) {
		return fmt.Errorf("--seconds is %v; expected a number in [0, 3600]", seconds)
	}
	return nil
}

// measureWait times calls for n samples on so many cores; call i draws the samples
// in, in+1, …. Lost samples are counted, not an error.
func measureWait(cmd *cobra.Command, l *experiment.Loaded, t *experiment.Trained, prior *experiment.Prior,
	n, cores int, seconds float64) (w wait, err error) {
	own := *l
	own.Pool = parallel.New(cores)
	defer own.Pool.Close()
	w = wait{Samples: n, Cores: cores}
	first := uint64(0)
	w.Times, err = bench.Time(cmd.Context(), seconds, fewestWaits, func() error {
		s, err := own.Generate(cmd.Context(), t, prior, n, first, l.Problem.Seed, nil)
		if errors.As(err, new(*judge.FailedError)) {
			err = nil
		}
		if s != nil {
			w.Failed += s.Failed()
		}
		first += uint64(n)
		return err
	})
	return w, err
}

func printWaits(w io.Writer, waits []wait) {
	m := run.ThisMachine()
	fmt.Fprintf(w, "%s, %s, %s kernels, %s\n\n", m.CPU, plural(m.Cores, "core"), m.Kernel, runtime.Version())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "samples\tcores\tcalls\tbest\tp50\tp99\tfailed")
	for _, r := range waits {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t%s\t%d\n", r.Samples, r.Cores, r.Runs,
			duration(r.Best), duration(r.P50), duration(r.P99), r.Failed)
	}
	t.Flush()
}
