// Command bench writes problems of known law as a new user has them, data and set alone, and a sweep of them all. The
// sweep trains each problem for the same time, draws samples and judges them by the problem's observables:
//
//	go run ./tools/bench -only torus,arm5 -for 1m -out runs/suite
//	landing sweep runs/suite/sweep.yaml && landing compare sweeps/suite -o suite.csv
//
// The benchmarks beside it measure how fast this machine does the parts that decide the time of training and of
// generation: products of matrices, whole training steps, inference, samples of a run.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/bench/problems"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := write(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "names of the problems to take, apart by commas; empty: all")
	rows := flags.Int("rows", 0, "rows of the data of each problem; 0: the problem's own number")
	budget := flags.Duration("for", 3*time.Minute, "training of each problem; 0: until held-out losses end it")
	seed := flags.Uint64("seed", 1, "of data and training, above 0")
	out := flags.String("out", "runs/suite", "folder to make")
	list := flags.Bool("list", false, "list the problems, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	some, err := problems.Named(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }))
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return errors.New("expected no arguments")
	case *budget != 0 && *budget < time.Second || *budget > 24*time.Hour || *seed == 0 || *rows < 0 ||
		*rows > 1_000_000:
		return errors.New("expected -for of 0 or 1s to 24h, -seed above 0 and -rows of 0 to 1000000")
	case *list:
		for _, p := range some {
			fmt.Fprintf(stdout, "%s: %d rows, d = %d: %s\n", p.Name, p.Rows, p.Dim, p.About)
		}
		return nil
	}
	folder, err := run.Create(*out, false)
	if err != nil {
		return err
	}
	pool := parallel.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	var sweep bytes.Buffer
	fmt.Fprintf(&sweep, "name: suite\nseeds: [%d]\n", *seed)
	if *budget > 0 {
		fmt.Fprintf(&sweep, "budget: {seconds: %v}\n", budget.Seconds())
	}
	sweep.WriteString("problems:\n")
	for i := range some {
		p := &some[i]
		p.Rows = cmp.Or(*rows, p.Rows)
		if err := p.Write(ctx, pool, *seed, folder.Path(p.Name)); err != nil {
			return err
		}
		fmt.Fprintf(&sweep, "  - {name: %s, problem: %[1]s/problem.yaml, data: %[1]s/%s}\n", p.Name, p.DataFile())
	}
	file := folder.Path("sweep.yaml")
	if err := run.WriteFile(file, sweep.Bytes(), false); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "next:  landing sweep", filepath.ToSlash(file))
	return nil
}
