// Package paper is the paper's tables and figures: the numbers that it prints, and ours in the same places.
//
// An exhibit is a table or a figure. exhibits.yaml says which cells' numbers stand where. The cells are those
// of the sweep files paper-…, run by package sweep. A row is the result of one cell with one seed and budget. Tables
// consist of rows alone, so that a cell without a run has no number.
package paper

import (
	"bytes"
	_ "embed" // for the exhibits, and the numbers that the paper prints
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
)

// A Printed is a number that the paper prints. It is NaN where the paper has that for a method that
// failed. SE is its standard error over five runs; NaN where none is printed.
type Printed struct {
	Exhibit, Row, Column string
	Value, SE            float64
}

//go:embed printed.csv
var printedCSV []byte

// printed are all numbers, by exhibit, row and column.
var printed = func() map[[3]string]Printed {
	r := csv.NewReader(bytes.NewReader(printedCSV))
	r.Comment = '#'
	records, err := r.ReadAll()
	if err != nil {
		panic("paper: printed.csv: " + err.Error()) // the file is in the binary
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && text != "" {
			panic("paper: printed.csv: " + err.Error())
		}
		if text == "" {
			return math.NaN()
		}
		return v
	}
	out := map[[3]string]Printed{}
	for _, f := range records[1:] {
		out[[3]string(f[:3])] = Printed{f[0], f[1], f[2], number(f[3]), number(f[4])}
	}
	if len(out) != len(records)-1 {
		panic("paper: a number is printed twice in printed.csv")
	}
	return out
}()

// paperRuns is the number of runs behind a number of the paper.
const paperRuns = 5

// A Mark says how a number of ours stands to the paper's. Lower is better.
type Mark string

const (
	NoMark Mark = ""       // too near to tell, or the paper prints no error, or either has no number
	Better Mark = "better" // by more than two standard errors of the difference
	Worse  Mark = "worse"
)

// compare marks the mean m of n runs with standard deviation sd (of one run; NaN for n = 1).
//
// The error of the difference is √(s² + s'²): s is the paper's, at least the half unit of its last digit,
// and s' is sd/√n, or for a single run √5 s, as if it scattered like one of the paper's five.
func (p Printed) compare(m, sd float64, n int) Mark {
	if n == 0 || math.IsNaN(m) || math.IsNaN(p.Value) || math.IsNaN(p.SE) {
		return NoMark
	}
	const half = 0.0005 // the paper's standard errors have three decimals
	theirs := max(p.SE, half)
	ours := math.Sqrt(paperRuns) * theirs
	if n > 1 {
		ours = sd / math.Sqrt(float64(n))
	}
	switch d := (m - p.Value) / math.Hypot(theirs, ours); {
	case d < -2:
		return Better
	case d > 2:
		return Worse
	}
	return NoMark
}

// An Exhibit is a table or a figure of the paper, as exhibits.yaml describes it.
type Exhibit struct {
	Name    string
	Alias   string // another name: overhead
	Title   string
	Says    string // what its numbers are, and how ours are made where that is not as in the paper
	More    string // continues Says
	Corner  string // what rows are
	Rows    []Line
	Columns []Column
	Cells   []string // of columns that have none of their own
	Figures []string // likewise
	Marked  bool     // ours and the paper's are compared
	Beside  *Exhibit // a table of ours to read with it, such as that of held-out distances
	Extra   bool     // not the paper's: left out of "all"
}

// A Line is a row of an exhibit.
type Line struct {
	Name    string
	Cell    string            // stands for ROW in Cells
	Instead map[string]string // figures that replace a column's; "": the place is empty
}

// A Column is a column of an exhibit.
type Column struct {
	Name           string
	Cells, Figures []string
}

// UnmarshalYAML reads a name, or a mapping.
func (l *Line) UnmarshalYAML(read func(any) error) error {
	type whole Line
	if read(&l.Name) == nil {
		return nil
	}
	return read((*whole)(l))
}

// UnmarshalYAML reads a name, or a mapping.
func (c *Column) UnmarshalYAML(read func(any) error) error {
	type whole Column
	if read(&c.Name) == nil {
		return nil
	}
	return read((*whole)(c))
}

//go:embed exhibits.yaml
var exhibitsYAML []byte

// Exhibits are the tables and figures, in the paper's order.
var Exhibits = func() (all []*Exhibit) {
	if err := yaml.UnmarshalWithOptions(exhibitsYAML, &all, yaml.Strict()); err != nil {
		panic("paper: " + err.Error()) // the file is in the binary
	}
	for _, e := range all {
		e.fill()
	}
	return all
}()

// fill makes what follows from the rest.
func (e *Exhibit) fill() {
	e.Says = strings.TrimSpace(e.Says + " " + e.More)
	e.Rows, e.Columns = slices.Clone(e.Rows), slices.Clone(e.Columns) // which others may have too, by an alias
	for i := range e.Rows {
		if l := &e.Rows[i]; l.Cell == "" {
			l.Cell = strings.ReplaceAll(l.Name, " = ", "=")
		}
	}
	for i := range e.Columns {
		c := &e.Columns[i]
		if c.Cells == nil {
			c.Cells = e.Cells
		}
		if c.Figures == nil {
			c.Figures = e.Figures
		}
		if c.Figures == nil {
			c.Figures = []string{c.Name}
		}
	}
	if e.Beside != nil {
		e.Beside.fill()
	}
}

// An entry is what stands in a place: the mean of a figure over cells.
type entry struct {
	cells  []string
	figure string
}

// entries are those of a place.
func (l *Line) entries(c *Column) (out []entry) {
	names := strings.NewReplacer("ROW", l.Cell, "COL", c.Name)
	for _, figure := range c.Figures {
		if other, ok := l.Instead[figure]; ok {
			figure = other
		}
		if figure == "" {
			continue
		}
		e := entry{figure: figure}
		for _, cell := range c.Cells {
			e.cells = append(e.cells, names.Replace(cell))
		}
		out = append(out, e)
	}
	return out
}

// Named returns exhibits by names or aliases, in the paper's order and once each; "all" are those of the
// paper. The error is one of usage.
func Named(names []string) (out []*Exhibit, err error) {
	is := func(e *Exhibit) func(string) bool {
		return func(n string) bool { return n == e.Name || n == e.Alias && n != "" }
	}
	for _, n := range names {
		if n != "all" && !slices.ContainsFunc(Exhibits, func(e *Exhibit) bool { return is(e)(n) }) {
			var known []string
			for _, e := range Exhibits {
				known = append(known, e.Name)
			}
			return nil, fault.Errorf(fault.Usage, "", "the paper has no %q here; expected all or some of %s", n,
				strings.Join(known, ", "))
		}
	}
	for _, e := range Exhibits {
		if slices.ContainsFunc(names, is(e)) || !e.Extra && slices.Contains(names, "all") {
			out = append(out, e)
		}
	}
	return out, nil
}

// CellsOf returns the names of the cells behind exhibits, once each, in the order of their places.
func CellsOf(exhibits []*Exhibit) (out []string) {
	for _, e := range exhibits {
		for _, l := range e.Rows {
			for _, c := range e.Columns {
				for _, entry := range l.entries(&c) {
					for _, cell := range entry.cells {
						if !slices.Contains(out, cell) {
							out = append(out, cell)
						}
					}
				}
			}
		}
	}
	return out
}

// sweeps are the sweep files of the binary that have the cells of the exhibits.
var sweeps = []string{"paper-earth", "paper-mesh", "paper-arm", "paper-alanine", "paper-flood", "paper-so10",
	"paper-demo"}

// Files returns the sweep files that have the cells of the exhibits.
func Files() (files []*sweep.File, err error) {
	for _, name := range sweeps {
		f, err := sweep.Read(name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Name is the name of a cell of the paper's sweeps, as exhibits have it: volcano/ULLA.
func Name(l compare.Label) string {
	name := l.Problem + "/" + l.Method
	if l.Draw != "" {
		name = l.Problem + "/" + l.Draw
	}
	if l.Settings != "" {
		name += "/" + l.Settings
	}
	return name
}

// Wanted returns which cells are to be run for exhibits: those that only names and that have no row yet with at least
// their budget. only has beginnings of cells' names, or whole names with a $ at the end; nil: all. The error says that
// one of them names nothing.
func Wanted(exhibits []*Exhibit, only []string, rows []compare.Entry) (func(*sweep.Cell) bool, error) {
	names := CellsOf(exhibits)
	for _, o := range only {
		if !slices.ContainsFunc(names, func(name string) bool { return begins(name, o) }) {
			return nil, fault.Errorf(fault.Usage, "", "--only: no cell of these tables and figures is called %q; "+
				"expected beginnings of names such as %s%s", o, names[0], text.Suggest(o, names))
		}
	}
	return func(c *sweep.Cell) bool {
		name, budget := Name(c.Label), c.Budget.Seconds
		named := only == nil || slices.ContainsFunc(only, func(o string) bool { return begins(name, o) })
		return named && slices.Contains(names, name) && !slices.ContainsFunc(rows, func(e compare.Entry) bool {
			return Name(e.Row.Label) == name && e.Row.Seed == c.Label.Seed && seconds(&e) >= budget &&
				(budget > 0 || seconds(&e) == 0)
		})
	}, nil
}

// begins reports whether a cell's name is the given one or goes on below it; name$ is the one alone.
func begins(cell, name string) bool {
	if whole, ok := strings.CutSuffix(name, "$"); ok {
		return cell == whole
	}
	rest, ok := strings.CutPrefix(cell, name)
	return ok && (rest == "" || rest[0] == '/')
}

// seconds returns the budget of a row's training; 0: the recipe's own epochs.
func seconds(e *compare.Entry) float64 {
	s, err := strconv.ParseFloat(strings.TrimSuffix(e.Row.Budget, "s"), 64)
	if err != nil {
		return 0
	}
	return s
}

// Finished returns the rows that the folders of the paper's sweeps in a folder hold.
func Finished(folder string) (rows []compare.Entry, err error) {
	for _, name := range sweeps {
		dir := filepath.Join(folder, name)
		list, err := compare.ReadList(dir)
		if err != nil {
			return nil, err
		}
		if list == nil {
			continue
		}
		some, err := (&compare.Reader{}).Sweep(dir, list)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

// maxRows bounds a file of rows in bytes.
const maxRows = 1 << 26

// ReadRows reads a file of rows.
func ReadRows(file string) (rows []compare.Entry, err error) {
	data, err := input.Read(file, maxRows)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fault.Errorf(fault.Config, file, "it is no file of rows: %v", err)
	}
	for i := range rows {
		if rows[i].Row.Problem == "" || rows[i].Row.Verdict == "" && len(rows[i].Figures) == 0 {
			return nil, fault.Errorf(fault.Config, file, "row %d names no cell, or has no numbers", i+1)
		}
	}
	return rows, nil
}

// best returns the rows by which each cell is shown, by its name: those of its largest budget, the first of each seed.
func best(rows []compare.Entry) map[string][]compare.Entry {
	out := map[string][]compare.Entry{}
	for _, e := range rows {
		name := Name(e.Row.Label)
		was := out[name]
		if len(was) > 0 && seconds(&e) > seconds(&was[0]) {
			was = nil
		}
		known := func(o compare.Entry) bool { return o.Row.Seed == e.Row.Seed }
		if len(was) == 0 || seconds(&e) == seconds(&was[0]) && !slices.ContainsFunc(was, known) {
			out[name] = append(was, e)
		}
	}
	return out
}

// Names of figures that a table shows in a way of their own.
const (
	heldOutFloor = "held-out floor"
	copies       = "copies"     // median distance to the nearest training row, over that of held-out rows
	training     = "training s" // simulation included
)

// value returns a figure of a row, if it has it; of one whose name ends with % it may have the share.
func value(e *compare.Entry, figure string) (float64, bool) {
	if v, ok := e.Figures[figure]; ok {
		return v, true
	}
	if share, ok := strings.CutSuffix(figure, " %"); ok {
		v, ok := value(e, share)
		return 100 * v, ok
	}
	x := metric.NaN
	switch d := e.Row.Distance; {
	case figure == copies:
		x = e.Row.Copies.Ratio
	case figure == training:
		x = e.Cost.Train
	case figure == "simulation s":
		x = e.Cost.Simulate
	case figure == "failed" && e.Row.Samples > 0:
		x = metric.Float(e.Row.Failed) / metric.Float(e.Row.Samples)
	case d == nil:
	case figure == "distance": // to all data, as docs/conventions.md says
		x = d.Full
	case figure == "floor": // of draws from the training rows
		x = d.Mean
	case figure == "held-out distance":
		x = d.HeldOut
	case figure == heldOutFloor:
		x = d.HeldOutFloor
	}
	return float64(x), x-x == 0
}
