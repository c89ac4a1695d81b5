// Command tables measures the tables of docs/benchmarks.md and docs/data.md that
// take too long for a test, and prints their numbers.
//
//	go run ./bench/tables [-small] [-data FOLDER] NAME...
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/parallel"
)

// A table prints its rows. Small ones have the same rows of numbers that say
// nothing, for a test.
type table struct {
	name, what string
	print      func(ctx context.Context, w io.Writer, o options) error
}

type options struct {
	small bool
	data  string // the folder of docs/data.md
	pool  *parallel.Pool
}

// pick returns small in small tables.
func (o options) pick(full, small int) int {
	if o.small {
		return small
	}
	return full
}

var tables = []table{
	{"boundary", "mass near the boundary against ε (6 minutes)", boundary},
	{"repulsion", "distance to the uniform law on an interval against ε (a minute)", repulsion},
	{"walls", "laws next to elastic walls and the paper's (5 minutes)", walls},
	{"offsets", "offsets from SO(10) by landing rate", offsets},
	{"laws", "what draws of the law itself score on SO(10) and surfaces (needs -data; a minute)", laws},
}

func main() {
	var o options
	flag.BoolVar(&o.small, "small", false, "as few draws as print the same rows: their numbers say nothing")
	flag.StringVar(&o.data, "data", "../shared/data", "the folder of docs/data.md")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(),
			"usage: go run ./bench/tables [-small] [-data FOLDER] NAME...")
		for _, t := range tables {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-10s %s\n", t.name, t.what)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.pool = parallel.New(0)
	defer o.pool.Close()
	if err := show(ctx, os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func show(ctx context.Context, w io.Writer, o options, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no table named; expected one of %s", known())
	}
	for _, name := range names {
		i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
		if i < 0 {
			return fmt.Errorf("there is no table %q; expected one of %s", name, known())
		}
		if err := tables[i].print(ctx, w, o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func known() string {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}
