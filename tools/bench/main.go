// Command bench trains problems of known law by data and set alone, as a new user would, and judges the samples:
//
//	go run ./tools/bench -only torus,arm5 -for 1m
//
// The folder (-out) has one for each problem: problem.yaml, observed.yaml (the same with observables), the data and
// the run. With -json it prints one JSON object.
//
// The benchmarks beside it measure how fast this machine does the parts that decide the time of training and of
// generation: products of matrices, whole training steps, inference, samples of a run.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/bench/problems"
	"github.com/landing-diffusion/landing/tools/bench/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An answer is what -json prints.
type answer struct {
	Machine  run.Machine     `json:"machine"`
	Folder   string          `json:"folder"`
	For      float64         `json:"for_seconds"`
	Seed     uint64          `json:"seed"`
	Settings []string        `json:"settings"`
	Problems []*suite.Result `json:"problems"`
	Bars     []suite.Bar     `json:"bars"`
	Complete bool            `json:"complete"`
}

func measure(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := suite.Config{Command: append([]string{"tools/bench"}, args...)}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON object")
	only := flags.String("only", "", "names of the problems to take, apart by commas; empty: all")
	rows := flags.Int("rows", 0, "rows of the data of each problem; 0: the problem's own number")
	flags.DurationVar(&s.For, "for", 3*time.Minute, "training of each problem; 0: until held-out losses end it")
	flags.Uint64Var(&s.Seed, "seed", 1, "of data and training, above 0")
	flags.StringVar(&s.Out, "out", "", "folder to make; empty: the first free runs/problems-001 …")
	flags.Func("set", "replace one key in all problems, as in process.friction=2 (repeatable)", func(v string) error {
		s.Settings = append(s.Settings, v)
		return nil
	})
	list := flags.Bool("list", false, "list the problems, and do nothing else")
	files := flags.Bool("files-only", false, "write data and problem files, and train nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	some, err := problems.Named(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }))
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return errors.New("expected no arguments")
	case s.For != 0 && s.For < time.Second || s.For > 24*time.Hour || s.Seed == 0 || *rows < 0 || *rows > 1_000_000:
		return errors.New("expected -for of 0 or 1s to 24h, -seed above 0 and -rows of 0 to 1000000")
	case *list:
		for _, p := range some {
			fmt.Fprintf(stdout, "%s: %d rows, d = %d: %s\n", p.Name, p.Rows, p.Dim, p.About)
		}
		return nil
	}
	folder, err := run.CreateNumbered("runs", "problems")
	if s.Out != "" {
		folder, err = run.Create(s.Out, false)
	}
	if err != nil {
		return err
	}
	s.Out, s.Pool = folder.Dir, parallel.New(runtime.GOMAXPROCS(0))
	defer s.Pool.Close()
	var results []*suite.Result
	var stopped error
	for i := range some {
		some[i].Rows = cmp.Or(*rows, some[i].Rows)
		if *files {
			dir, _, err := s.Write(ctx, &some[i])
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, dir)
			continue
		}
		r, err := s.Measure(ctx, &some[i], func(said string) { fmt.Fprintf(stderr, "%s: %s\n", some[i].Name, said) })
		if err != nil {
			stopped = err // the others are printed all the same
			break
		}
		results = append(results, r)
		fmt.Fprintf(stderr, "%s: %s\n", r.Problem, r.Verdict)
	}
	if len(results) == 0 {
		return stopped
	}
	a := answer{run.ThisMachine(), s.Out, s.For.Seconds(), s.Seed, s.Settings, results, suite.Bars(results),
		stopped == nil}
	if *asJSON {
		return errors.Join(stopped, json.NewEncoder(stdout).Encode(a))
	}
	m := a.Machine
	fmt.Fprintf(stdout, "%s, %s, %s kernels, %s\n\n", m.CPU, text.Plural(m.Cores, "core"), m.Kernel, runtime.Version())
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	printProblems(t, results, a.Bars)
	return errors.Join(stopped, t.Flush())
}

// printProblems prints energy distances of samples to held-out rows, and of observables to all data, over the mean of
// their floors; sd is the floor's, law what new draws of the law itself score.
func printProblems(t io.Writer, results []*suite.Result, bars []suite.Bar) {
	over := func(v, floor metric.Float) string {
		q := float64(v / floor)
		if math.IsNaN(q) {
			return "–"
		}
		return fmt.Sprintf("%.3g", q)
	}
	fmt.Fprintln(t, "problem\td\trows\tenergy/floor\tsd\tlaw\tobserved/floor\tsd\tlaw\tstart\tfailed\tnearest\t"+
		"epochs\ttrained\tseconds\tof CPU\tverdict")
	for _, r := range results {
		e, o, start := r.Energy, r.Observed, r.Start
		if !r.StartP.IsNaN() {
			start += fmt.Sprintf(" p = %.3f", r.StartP)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%d\t%d\t%.0f\t%.0f\t%s\n", r.Problem,
			r.Dim, r.Rows, over(e.Statistic, e.Mean), over(e.SD, e.Mean), over(r.EnergyLaw.Statistic, r.EnergyLaw.Mean),
			over(o.Value, o.Mean), over(o.SD, o.Mean), over(o.Law, o.Mean), start, r.Failed, r.Samples,
			over(r.Nearest.Ratio, 1), r.Epochs, r.Trained, r.Seconds.Train, r.Seconds.CPU, r.Verdict)
	}
	fmt.Fprintln(t)
	for _, b := range bars {
		fmt.Fprintf(t, "%s: %d of %d", b.What, b.Passed, b.Of)
		if b.Law != nil {
			fmt.Fprintf(t, ", new draws of the law %d", *b.Law)
		}
		fmt.Fprintf(t, "; wanted %.0f %%: met %v\n", 100*b.Wanted, b.Met)
	}
}
