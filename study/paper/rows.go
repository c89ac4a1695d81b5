package paper

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/study/compare"
)

// A Row is a cell that has ended: what one seed gave within one budget, when and where.
type Row struct {
	Cell       string `json:"cell"`             // volcano/ULLA
	Definition string `json:"definition"`       // sweep.Cell.Definition
	Folder     string `json:"folder,omitempty"` // of the run, in the folder of the paper's runs
	compare.Entry
}

// budget returns the seconds of training; 0: the recipe's own epochs.
func (r *Row) budget() float64 {
	s, err := strconv.ParseFloat(strings.TrimSuffix(r.Row.Budget, "s"), 64)
	if err != nil {
		return 0
	}
	return s
}

// maxRows bounds a file of rows in bytes.
const maxRows = 1 << 26

// ReadRows reads a file of rows; none where there is no file.
func ReadRows(file string) (rows []Row, err error) {
	data, err := input.Read(file, maxRows)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fault.Errorf(fault.Config, file, "it is no file of rows: %v (an earlier version wrote CSV)", err)
	}
	for i := range rows {
		if rows[i].Cell == "" || rows[i].Row.Verdict == "" && len(rows[i].Figures) == 0 {
			return nil, fault.Errorf(fault.Config, file, "row %d names no cell, or has no numbers", i+1)
		}
	}
	return rows, nil
}

// WriteRows writes rows to a file, whole or not at all, in the order of their cells, budgets and seeds, each on a line.
func WriteRows(file string, rows []Row) error {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Definition, b.Definition),
			cmp.Compare(a.budget(), b.budget()), cmp.Compare(a.Row.Seed, b.Row.Seed))
	})
	var lines []string
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return run.WriteFile(file, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), true)
}

// How often, and after which pause, Keep asks for a file that another process may be writing.
const (
	keepTries = 200
	keepPause = 20 * time.Millisecond
)

// Keep puts rows into a file of rows, beside what other processes have put there, in place of those of the same cell,
// definition, budget and seed.
func Keep(file string, rows ...Row) error {
	f := &run.Folder{Dir: filepath.Dir(file)}
	err := f.Lock()
	for try := 1; fault.KindOf(err) == fault.Run && try < keepTries; try++ {
		time.Sleep(keepPause)
		err = f.Lock()
	}
	if err != nil {
		return err
	}
	defer f.Unlock()
	all, err := ReadRows(file)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o Row) bool {
		return slices.ContainsFunc(rows, func(r Row) bool {
			return o.Cell == r.Cell && o.Definition == r.Definition && o.Row.Budget == r.Row.Budget &&
				o.Row.Seed == r.Row.Seed
		})
	})
	return WriteRows(file, append(all, rows...))
}

// best returns the rows of a cell by which it is shown: those of its largest budget, one a seed. A row of another
// definition is not the cell's.
func best(rows []Row, cell, definition string) (out []Row) {
	for _, r := range rows {
		if r.Cell != cell || r.Definition != definition || len(out) > 0 && r.budget() < out[0].budget() {
			continue
		}
		if len(out) > 0 && r.budget() > out[0].budget() {
			out = nil
		}
		out = append(out, r)
	}
	return out
}
