package paper

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
)

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

// value returns a figure of a row, if it has it.
func value(e *compare.Entry, figure string) (float64, bool) {
	if v, ok := e.Figures[figure]; ok {
		return v, true
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
