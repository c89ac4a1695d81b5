package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/grid"
)

// gridStory is what make grid prints.
type gridStory struct {
	File     string         `json:"file"`
	Case     string         `json:"case"`
	Rows     int            `json:"rows"`
	Columns  []string       `json:"columns"`
	Flows    int            `json:"load_flows"`
	Violated map[string]int `json:"violated"`   // load flows that were not kept, by the worst component
	Loads    float64        `json:"load_share"` // of the file's loads, that rows are drawn about
	Notes    []string       `json:"notes"`
	Seconds  float64        `json:"seconds"`
}

func (s gridStory) print(w io.Writer) {
	fmt.Fprintf(w, "%s of %d numbers in %s; %.3g %% of %d load flows are kept\n", plural(s.Rows, "state"),
		len(s.Columns), s.File, 100*float64(s.Rows)/float64(s.Flows), s.Flows)
	if s.Loads < 1 {
		fmt.Fprintf(w, "loads are drawn about %.0f %% of the file's, since no state was found beyond\n", 100*s.Loads)
	}
	worst := slices.SortedFunc(maps.Keys(s.Violated), func(a, b string) int {
		return cmp.Or(s.Violated[b]-s.Violated[a], strings.Compare(a, b))
	})
	for _, name := range worst[:min(3, len(worst))] {
		fmt.Fprintf(w, "%d violated %q most\n", s.Violated[name], name)
	}
}

// gridOptions are the flags of make grid.
type gridOptions struct {
	grid.Draw
	outFile
}

func (o *gridOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "grid.npy", "file to write: .npy, or .csv with the names of the columns")
	f.IntVarP(&o.Count, "number", "n", 2000, "number of states")
	f.Float64Var(&o.Loads, "loads", 0.1, "relative spread of the loads; 0: those of the file, for loads: fixed")
	f.Float64Var(&o.Generation, "generation", 0.05, "spread of generation, as a share of a bus's range")
	f.Float64Var(&o.Voltage, "voltage", 0.003, "spread of the voltages, per unit")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
}

func (o *gridOptions) check(func(flag string) bool, []string) error {
	spread := func(flag string, v float64) bound { return bound{flag, v >= 0 && v <= 1, v, "0 to 1"} }
	err := bounds(spread("loads", o.Loads), spread("generation", o.Generation), spread("voltage", o.Voltage),
		bound{"number", o.Count > 0 && o.Count <= 1_000_000, o.Count, "1 to 1,000,000"})
	if err == nil {
		_, err = o.ready(".npy", ".csv")
	}
	return err
}

func makeGridVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "grid CASE",
		Short: "Make states of a power grid by load flows",
		Long: `grid reads a MATPOWER case file and writes states of its grid, which are points of the set
{kind: grid, case: CASE}. Each row is a load flow of drawn loads, generation and voltages. A load flow
that has no solution, or violates a limit, is drawn again; the share that is kept is printed.

The rows are the same for a seed, whatever the number of workers.`,
		Example: "  landing make grid case14.m -n 2000 -o grid.csv",
	}, new(gridOptions), runMakeGrid)
}

func runMakeGrid(ctx context.Context, a *app, o *gridOptions, args []string) (answer, error) {
	began := time.Now()
	var err error
	if o.Grid, err = grid.Read(args[0]); err != nil {
		return answer{}, err
	}
	for _, note := range o.Grid.Notes {
		a.out.say("note: %s", note)
	}
	if n := len(o.Grid.Buses); o.Count > maxNumbers/(6*n) {
		return answer{}, badFlag("number", o.Count, fmt.Sprintf("at most %d rows of %d buses", maxNumbers/(6*n), n))
	}
	tick, end := counting[int](&a.out, "state")
	o.Report = tick
	drawn, err := o.Run(ctx, a.workersPool())
	end()
	if err != nil {
		return answer{}, err
	}
	set := drawn.Set
	if ext, _ := o.extension(".npy", ".csv"); ext == ".npy" {
		_, err = o.saveNPY(drawn.X, o.Count, set.Dim())
	} else {
		_, err = o.save(func(w io.Writer) error {
			return (&domain.Table{Header: set.Names}).Write(w, arrayfile.RowsOf(drawn.X, set.Dim()))
		})
	}
	s := gridStory{o.path, args[0], o.Count, set.Names, drawn.Flows, drawn.Violated, drawn.Loads,
		append([]string{}, o.Grid.Notes...), time.Since(began).Seconds()}
	return answer{s, s.print}.unless(err)
}
