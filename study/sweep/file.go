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
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
)

// MaxCells bounds the cells of a sweep.
const MaxCells = 10_000

// A File is a sweep file. The tags of fields name its keys (docs/sweeps.md). After a comma they tell the reader how to
// read them. A needed key must be there. With single, one entry may replace a list. With plain, text may replace a
// mapping: it is the value of this key.
type File struct {
	Name     string    `key:"name"`
	Title    string    `key:"title"`
	Problems []Problem `key:"problems,needed"`
	Grid
	Set     []Setting `key:"set"`   // of all cells
	Rules   []Rule    `key:"cells"` // in order
	Samples int       `key:"samples" bounds:"[1,1e9]"`
	Report  bool      `key:"report"`  // figures and a page of each cell
	Measure string    `key:"measure"` // by the registry Measures; "": what a row has

	origin string
	source []byte
}

// A Grid is what a problem is combined with. A part that is nil is not said.
type Grid struct {
	Variants []string   `key:"variants"` // "" is a problem as it is
	Methods  []Method   `key:"methods"`
	Settings []Settings `key:"settings"`
	Draws    []Draw     `key:"draws"` // cells that differ in these alone share a training
	Budgets  []Budget   `key:"budget,single"`
	Seeds    []uint64   `key:"seeds"`
}

// A Problem is a recipe or a problem file, with the parts of the grid that are other than the sweep's for it.
type Problem struct {
	Problem string    `key:"problem,needed,plain"` // recipe, or path from the sweep file's folder
	Name    string    `key:"name"`                 // in the table
	Data    string    `key:"data"`                 // path from the data folder; "": what the problem says
	Set     []Setting `key:"set"`
	Grid
	Line int
}

// A Method is a name of process.method, a variant, or both, and keys.
type Method struct {
	Name    string    `key:"name"`         // in the table
	Method  string    `key:"method,plain"` // process.method; "": the problem's
	Variant string    `key:"variant"`      // after that of the grid
	Alone   bool      `key:"alone"`        // of the problem only name, data and set
	Set     []Setting `key:"set"`
	Draws   []Draw    `key:"draws"` // nil: the problem's, or the sweep's
	Seeds   []uint64  `key:"seeds"` // likewise
	Line    int
}

// Settings are keys under a name.
type Settings struct {
	Name string    `key:"name,needed"`
	Set  []Setting `key:"set"`
}

// A Draw is a way to draw samples: keys of generation under a name.
type Draw struct {
	Name     string    `key:"name,needed"`
	Set      []Setting `key:"set"`
	Problems []string  `key:"problem,single"` // the problems that it applies to; nil: all
	Measure  string    `key:"measure"`        // replaces the file's
}

// A Budget says how long a cell trains: one of the three, or as the problem says.
type Budget struct {
	Seconds float64 `key:"seconds" bounds:"[1,3.6e6]"`
	Epochs  int     `key:"epochs" bounds:"[1,1e9]"`
	Rows    int64   `key:"rows" bounds:"[1,1e15]"` // that the network sees in training, to a whole number of epochs
	Line    int
}

// mostEpochs bounds the epochs of a budget.
const mostEpochs = 1e9

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
	Problems []string `key:"problem,single"` // by names in the table, as the next three
	Variants []string `key:"variant,single"`
	Methods  []string `key:"method,single"`
	Settings []string `key:"settings,single"`
	Budgets  []Budget `key:"budget,single"`
	Seeds    []uint64 `key:"seed,single"`

	Set     []Setting `key:"set"`
	Budget  *Budget   `key:"train"`
	Measure string    `key:"measure"` // replaces the file's
	Skip    string    `key:"skip"`    // why these cells are left out; "": they are not
	Line    int
}

// A RefusedError says which cells of a sweep cannot be, and why. Nothing was run.
type RefusedError struct {
	Origin  string
	Refused []Refusal
}

// A Refusal is a reason and the cells that it holds for.
type Refusal struct {
	Cells []string `json:"cells"`
	Why   string   `json:"why"`
	err   error
}

// add notes why a cell is refused.
func (e *RefusedError) add(cell string, err error) {
	i := slices.IndexFunc(e.Refused, func(r Refusal) bool { return r.Why == err.Error() })
	if i < 0 {
		i = len(e.Refused)
		e.Refused = append(e.Refused, Refusal{Why: err.Error(), err: err})
	}
	e.Refused[i].Cells = append(e.Refused[i].Cells, cell)
}

// maxNamed bounds the cells that a line of a message names.
const maxNamed = 5

// Error has a line for each refusal.
func (e *RefusedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns what Error has lines of: how many cells, and the refusals with their reasons.
func (e *RefusedError) Unwrap() []error {
	n, lines := 0, make([]error, 1+len(e.Refused))
	for i, r := range e.Refused {
		n += len(r.Cells)
		named := r.Cells[:min(len(r.Cells), maxNamed)]
		more := ""
		if left := len(r.Cells) - len(named); left > 0 {
			more = fmt.Sprintf(" and %d more", left)
		}
		lines[1+i] = fmt.Errorf("%s%s: %w", strings.Join(named, ", "), more, r.err)
	}
	lines[0] = fmt.Errorf("%s: %s cannot run; nothing was run", e.Origin, text.Plural(n, "cell"))
	return lines
}

// bad makes a *problem.KeyError of a line of the file.
func (f *File) bad(line int, key string, value any, want string) error {
	return &problem.KeyError{Origin: f.where(line), Key: key, Value: value, Want: want}
}

// fault likewise.
func (f *File) fault(line int, key, format string, v ...any) error {
	return &problem.KeyError{Origin: f.where(line), Key: key, Fault: fmt.Sprintf(format, v...)}
}

func (f *File) where(line int) string { return fmt.Sprintf("%s:%d", f.origin, line) }
