// Package sweep trains a grid of problems, variants, methods, settings, budgets and seeds, each cell as an ordinary
// run, and makes a row of each.
//
//	file, err := sweep.Parse(data, "table.yaml")          // keys and types, by line
//	plan, err := file.Plan(sweep.Options{Dir: "."})       // cells; *RefusedError names those that cannot be
//	out, err := plan.Run(ctx, sweep.Runner{Dir: "sweeps/table", Pool: pool})
//	for _, e := range out.Entries { … e.Row, e.Cost … }   // compare.Entry
//
// A cell is a unit of work (package work): it is done once, by whichever process claims it; a process that is killed
// leaves it to be gone on with from its last checkpoint, to the same bytes unless a clock ends the training. The
// sweep's folder has units/NAME (what a cell is, and its result) and runs/NAME (its run folder).
package sweep

import (
	"errors"
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/problem"
)

// MaxCells bounds the cells of a sweep.
const MaxCells = 10_000

// A File is a sweep file: docs/sweeps.md has its keys.
type File struct {
	Name     string
	Title    string
	Problems []Problem
	Variants []string // "" is a problem as it is; nil is that alone
	Methods  []Method
	Settings []Settings
	Draws    []Settings // keys of generation: cells that differ in these alone share a training
	Budgets  []Budget
	Seeds    []uint64
	Set      []Setting // of all cells
	Rules    []Rule    // in order
	Samples  int       // of each cell; 0: as many as an evaluation takes
	Report   bool      // figures and a page of each cell
	Measure  string    // by the registry Measures; "": what a row has

	origin string
	source []byte
}

// A Problem is a recipe or a problem file, with the parts of the grid that are other than the sweep's for it.
type Problem struct {
	Name    string // in the table
	Problem string // recipe, or path from the sweep file's folder
	Data    string // path from the data folder; "": what the problem says
	Set     []Setting

	Variants []string // nil: the sweep's
	Methods  []Method
	Settings []Settings
	Draws    []Settings
	Budgets  []Budget
	Seeds    []uint64
	line     int
	dataLine int
}

// A Method is an entry of methods: a name of process.method, a variant, or both, and keys.
type Method struct {
	Name    string // in the table
	Method  string // process.method; "": the problem's
	Variant string // after that of the grid
	Set     []Setting
	Draws   []Settings // nil: the problem's, or the sweep's
	Seeds   []uint64   // likewise
	Alone   bool       // of the problem only name, data and set
	line    int
}

// Settings are keys under a name, a part of the grid.
type Settings struct {
	Name     string
	Set      []Setting
	Problems []string // of draws: of which problems; nil: all
	Measure  string   // of draws: in place of the file's
	line     int
}

// A Budget says how long a cell trains: one of the three, or as the problem says.
type Budget struct {
	Seconds float64
	Epochs  int
	Rows    int64 // network rows in training, to a whole number of epochs
	line    int
}

// String is the budget as names of cells have it; empty where the problem says.
func (b Budget) String() string {
	switch {
	case b.Seconds > 0:
		return fmt.Sprintf("%gs", b.Seconds)
	case b.Epochs > 0:
		return fmt.Sprintf("%depochs", b.Epochs)
	case b.Rows > 0:
		return fmt.Sprintf("%drows", b.Rows)
	}
	return ""
}

// A Setting is key=value, as --set takes it, and the line it is written on.
type Setting struct {
	Text string
	Line int
}

// A Rule changes the cells that it matches: those of any of its problems, and so on; a part that is nil matches all.
type Rule struct {
	Problems, Variants, Methods, Settings []string // names in the table
	Budgets                               []string // Budget.String
	Seeds                                 []uint64
	Set                                   []Setting
	Budget                                *Budget
	Skip                                  string // why these cells are left out; "": they are not
	Measure                               string // in place of the file's
	line                                  int
}

// A RefusedError says which cells of a sweep cannot be, and why. Nothing was run.
type RefusedError struct {
	Origin  string
	Refused []Refusal
}

// A Refusal is a reason and the cells that it holds for.
type Refusal struct {
	Cells []string `json:"cells"`
	Err   error    `json:"-"`
	Why   string   `json:"why"`
}

// maxNamed bounds the cells that a message names.
const maxNamed = 5

// Error names some of the cells.
func (r *Refusal) Error() string {
	named := r.Cells[:min(len(r.Cells), maxNamed)]
	s := strings.Join(named, ", ")
	if n := len(r.Cells) - len(named); n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s + ": " + r.Why
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Error has a line for each refusal.
func (e *RefusedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns what Error has lines of: how many, and the refusals.
func (e *RefusedError) Unwrap() []error {
	n := 0
	for _, r := range e.Refused {
		n += len(r.Cells)
	}
	what := "1 cell"
	if n != 1 {
		what = fmt.Sprintf("%d cells", n)
	}
	all := []error{fmt.Errorf("%s: %s cannot be, and nothing was run", e.Origin, what)}
	for i := range e.Refused {
		all = append(all, &e.Refused[i])
	}
	return all
}

// key makes a *problem.KeyError of a line of the file.
func (f *File) key(line int, key string, value any, want string) error {
	return &problem.KeyError{Origin: f.where(line), Key: key, Value: value, Want: want}
}

func (f *File) where(line int) string { return fmt.Sprintf("%s:%d", f.origin, line) }
