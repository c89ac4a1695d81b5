// Command cmd measures runs and defaults, for those who work on landing:
//
//	go run ./tools/bench/cmd generate RUN -n 1,64 -cores 1,2
//	go run ./tools/bench/cmd problems -only torus,arm5 -for 1m
//
// With -json each prints one JSON object.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/bench"
)

// A call is a verb, with its flags and where it writes.
type call struct {
	*flag.FlagSet
	stdout, stderr io.Writer
	json           bool
}

var verbs = map[string]func(ctx context.Context, c *call, args []string) error{
	"generate": generate, "problems": suiteOf,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := do(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return errors.New("expected what to measure: generate or problems")
	}
	c := &call{flag.NewFlagSet(args[0], flag.ContinueOnError), stdout, stderr, false}
	c.SetOutput(stderr)
	c.BoolVar(&c.json, "json", false, "print one JSON object")
	return verbs[args[0]](ctx, c, args[1:])
}

// parse reads flags, which may stand between arguments, and returns the arguments.
func (c *call) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		if err := c.Parse(args); err != nil {
			return nil, err
		}
		if args = c.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// result prints v as JSON, or as print does behind a line on the machine.
func (c *call) result(v any, print func(t io.Writer)) error {
	if c.json {
		return json.NewEncoder(c.stdout).Encode(v)
	}
	m := run.ThisMachine()
	fmt.Fprintf(c.stdout, "%s, %s, %s kernels, %s\n\n",
		m.CPU, text.Plural(m.Cores, "core"), m.Kernel, runtime.Version())
	t := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	print(t)
	return t.Flush()
}

func (c *call) say(format string, v ...any) { fmt.Fprintf(c.stderr, format+"\n", v...) }

// ints is a flag of numbers from 1 on, apart by commas.
func (c *call) ints(name, value, usage string) *[]int {
	var v []int
	set := func(s string) error {
		v = nil
		for part := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > 100_000 {
				return fmt.Errorf("expected numbers of 1 to 100000")
			}
			v = append(v, n)
		}
		return nil
	}
	if err := set(value); err != nil {
		panic(err)
	}
	c.Func(name, usage+" (default "+value+")", set)
	return &v
}

// A wait is how long a program that has a run open waits for samples.
type wait struct {
	Samples int `json:"samples"`
	Cores   int `json:"cores"`
	bench.Times
	Failed int `json:"failed"` // samples of all calls
}

// fewestWaits is how often a wait is measured at least: what a 99 % quantile needs.
const fewestWaits = 100

// generate measures how long samples of a run take. Reading the run and making its prior do not count.
func generate(ctx context.Context, c *call, args []string) error {
	counts := c.ints("n", "1,64", "numbers of samples of a call")
	cores := c.ints("cores", fmt.Sprintf("1,%d", runtime.GOMAXPROCS(0)), "workers")
	seconds := c.Float64("seconds", 5, "time to spend on each; at least 100 calls are timed")
	var settings []string
	c.Func("set", "draw by another value of a key, as in process.steps=50 (repeatable)", func(s string) error {
		settings = append(settings, s)
		return nil
	})
	args, err := c.parse(args)
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return errors.New("expected a run folder")
	}
	pool := parallel.New(slices.Max(*cores))
	defer pool.Close()
	r, err := experiment.Open(ctx, args[0], "", pool, nil)
	if err != nil {
		return err
	}
	if r, err = r.Redraw(ctx, problem.ParseSettings(settings...), nil); err != nil {
		return err
	}
	network, err := r.Trained("")
	if err != nil {
		return err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return err
	}
	var waits []wait
	for _, n := range *counts {
		for _, cores := range *cores {
			own := *r.Loaded
			own.Pool = parallel.New(cores)
			w := wait{Samples: n, Cores: cores}
			first := uint64(0)
			w.Times, err = bench.Time(ctx, *seconds, fewestWaits, func() error {
				s, err := own.Generate(ctx, network, prior, n, first, r.Problem.Seed, nil)
				if s != nil {
					w.Failed += s.Failed()
				}
				if first += uint64(n); errors.As(err, new(*judge.FailedError)) {
					return nil
				}
				return err
			})
			own.Pool.Close()
			if err != nil {
				return err
			}
			waits = append(waits, w)
		}
	}
	return c.result(struct {
		Machine run.Machine `json:"machine"`
		Run     string      `json:"run"`
		Waits   []wait      `json:"waits"`
	}{run.ThisMachine(), r.Folder.Dir, waits}, func(t io.Writer) {
		fmt.Fprintln(t, "samples\tcores\tcalls\tbest\tp50\tp99\tfailed")
		for _, w := range waits {
			fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t%s\t%d\n", w.Samples, w.Cores, w.Runs,
				duration(w.Best), duration(w.P50), duration(w.P99), w.Failed)
		}
	})
}

// duration writes seconds with three digits.
func duration(seconds float64) string {
	d := time.Duration(seconds * 1e9)
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
