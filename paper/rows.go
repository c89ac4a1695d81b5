package paper

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/run"
)

// A Row is a finished cell: what one seed gave within one budget, when and where.
type Row struct {
	Cell     string  `json:"cell"`
	Recipe   string  `json:"recipe"`
	Variants string  `json:"variants,omitempty"`
	Settings string  `json:"settings,omitempty"` // of training, key=value with spaces between
	Draw     string  `json:"draw,omitempty"`     // of generation, alike
	Budget   float64 `json:"budget_seconds"`     // of training; 0: the recipe's own epochs
	Seed     uint64  `json:"seed"`
	Commit   string  `json:"commit,omitempty"`        // of the program
	Config   string  `json:"config_sha256,omitempty"` // of the run's config.yaml
	Machine  string  `json:"machine,omitempty"`
	Day      string  `json:"day,omitempty"`
	Note     string  `json:"note,omitempty"`  // such as: beside other work
	Failure  string  `json:"error,omitempty"` // why there are no samples; there are no figures then

	Figures map[string]float64 `json:"figures,omitempty"` // by the names of Columns; what was not measured is not there
}

// Names of figures that rows of any cell may have. Parts of a distance have their own names beside them.
const (
	Distance     = "distance" // to all data, as docs/conventions.md says
	Floor        = "floor"    // of draws from the training rows
	FloorSD      = "floor sd"
	HeldOut      = "held-out distance"
	HeldOutFloor = "held-out floor"
	Copies       = "copies"              // median distance to the nearest training row, over that of held-out rows
	MMD          = "MMD"                 // to held-out rows, of a Gaussian kernel (metric.MMDTest)
	Evaluations  = "network evaluations" // a sample
	AbsH         = "|h|"                 // mean over samples of Σ|h_i|
	SquareH      = "Σh²"                 // mean over samples of Σ h_i²
	GPlus        = "g⁺"                  // mean over samples of Σ max(g_j, 0)
	Failed       = "failed"              // share of the samples
	FailedPaths  = "failed paths"
	Train        = "training s" // simulation included
	Simulate     = "simulation s"
	Generate     = "generation s"
	Epochs       = "epochs"
	Samples      = "samples"
	AreaH        = "area |h|" // under the mean over samples of Σ|h_i| along t
	AreaG        = "area g⁺"
	Milliseconds = "ms" // of processor time a sample
	Projection   = "of it projection"
	Share        = "share %" // of projection
	JacobianNear = "‖∇s‖ at Δt"
	JacobianMid  = "‖∇s‖, median"
	Psi          = "ψ"
	RMSD         = "RMSD"
)

// columns are the figures in the order of a file of rows.
var columns = []string{
	Distance, Floor, FloorSD, Psi, RMSD, HeldOut, HeldOutFloor, Copies, MMD, Evaluations,
	AbsH, SquareH, GPlus, AreaH, AreaG, Failed, FailedPaths, Samples, Epochs, Train, Simulate, Generate,
	Milliseconds, Projection, Share, JacobianNear, JacobianMid,
}

var identity = []string{"cell", "recipe", "variants", "settings", "draw", "budget s", "seed", "commit", "config",
	"machine", "day", "note", "failure"}

// A RowsError is a file of rows that cannot be one.
type RowsError struct {
	File   string
	Line   int // 0: the file
	Column string
	Fault  string
}

func (e *RowsError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Column != "" {
		s += fmt.Sprintf(": column %q", e.Column)
	}
	return s + ": " + e.Fault
}

func (*RowsError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

const maxRows = 1 << 24 // bytes of a file of rows

// ReadRows reads a file of rows; none where there is no file. Errors are *RowsError and those of the file
// system.
func ReadRows(file string) ([]Row, error) {
	data, err := input.Read(file, maxRows)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRows(file, data)
}

func parseRows(file string, data []byte) ([]Row, error) {
	r := csv.NewReader(bytes.NewReader(data))
	head, err := r.Read()
	if err != nil {
		return nil, &RowsError{File: file, Fault: fmt.Sprintf("has no header of rows of cells (%v)", err)}
	}
	for _, name := range identity {
		if !slices.Contains(head, name) {
			return nil, &RowsError{File: file, Line: 1, Fault: fmt.Sprintf("has no column %q", name)}
		}
	}
	for i, name := range head {
		switch {
		case slices.Contains(head[:i], name):
			return nil, &RowsError{File: file, Line: 1, Column: name, Fault: "is there twice"}
		case !slices.Contains(identity, name) && !slices.Contains(columns, name):
			return nil, &RowsError{File: file, Line: 1, Column: name,
				Fault: "is no figure of a cell; expected some of " + strings.Join(columns, ", ")}
		}
	}
	var rows []Row
	for {
		f, err := r.Read()
		if err != nil {
			if errors.Is(err, csv.ErrFieldCount) {
				line, _ := r.FieldPos(0)
				return nil, &RowsError{File: file, Line: line, Fault: fmt.Sprintf("has %d columns; expected %d", len(f),
					len(head))}
			}
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				return nil, &RowsError{File: file, Line: bad.Line, Fault: bad.Err.Error()}
			}
			break
		}
		line, _ := r.FieldPos(0)
		row := Row{Figures: map[string]float64{}}
		for i, text := range f {
			if err := row.set(head[i], text); err != nil {
				return nil, &RowsError{File: file, Line: line, Column: head[i], Fault: err.Error()}
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *Row) set(column, text string) error {
	words := map[string]*string{"cell": &r.Cell, "recipe": &r.Recipe, "variants": &r.Variants,
		"settings": &r.Settings, "draw": &r.Draw, "commit": &r.Commit, "config": &r.Config, "machine": &r.Machine,
		"day": &r.Day, "note": &r.Note, "failure": &r.Failure}
	if w, ok := words[column]; ok {
		*w = text
		return nil
	}
	if column == "seed" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("is %q; expected a seed, a whole number", text)
		}
		r.Seed = seed
		return nil
	}
	if text == "" && column != "budget s" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || column == "budget s" && v < 0 {
		return fmt.Errorf("is %q; expected a number", text)
	}
	if column == "budget s" {
		r.Budget = v
	} else {
		r.Figures[column] = v
	}
	return nil
}

// WriteRows writes rows to a file, whole or not at all, in the order of their cells, budgets and seeds.
func WriteRows(file string, rows []Row) error {
	data, err := formatRows(rows)
	if err != nil {
		return err
	}
	return run.WriteFile(file, data, true)
}

// How often, and after which pause, Keep asks for a file that another process may be writing.
const (
	keepTries = 200
	keepPause = 20 * time.Millisecond
)

// Keep puts a row into a file of rows, beside what other processes have put there.
func Keep(file string, r Row) error {
	f := &run.Folder{Dir: filepath.Dir(file)}
	err := f.Lock()
	for try := 1; is[*run.FolderError](err) && try < keepTries; try++ {
		time.Sleep(keepPause)
		err = f.Lock()
	}
	if err != nil {
		return err
	}
	defer f.Unlock()
	rows, err := ReadRows(file)
	if err != nil {
		return err
	}
	return WriteRows(file, Add(rows, r))
}

func formatRows(rows []Row) ([]byte, error) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return strings.Compare(fmt.Sprintf("%s\x00%s\x00%s\x00%012.1f\x00%020d", a.Cell, a.Settings, a.Draw, a.Budget,
			a.Seed), fmt.Sprintf("%s\x00%s\x00%s\x00%012.1f\x00%020d", b.Cell, b.Settings, b.Draw, b.Budget, b.Seed))
	})
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := slices.Concat(identity, columns)
	if err := w.Write(head); err != nil {
		return nil, err
	}
	for _, r := range rows {
		f := []string{r.Cell, r.Recipe, r.Variants, r.Settings, r.Draw, number(r.Budget),
			strconv.FormatUint(r.Seed, 10), r.Commit, r.Config, r.Machine, r.Day, r.Note, r.Failure}
		for _, name := range slices.Collect(maps.Keys(r.Figures)) {
			if !slices.Contains(columns, name) {
				return nil, fmt.Errorf("paper: rows have no column for the figure %q", name)
			}
		}
		for _, name := range columns {
			v, ok := r.Figures[name]
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				f = append(f, "")
				continue
			}
			f = append(f, number(v))
		}
		if err := w.Write(f); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// number writes six digits: rows are figures, not checkpoints.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// of reports whether the row is of the cell as the catalogue has it today, with these settings besides: a
// cell that was defined otherwise has no row.
func (r *Row) of(c *Cell, extra []string) bool {
	return r.Cell == c.Name && r.Recipe == c.Recipe && r.Variants == c.Variants &&
		r.Settings == joined(c.Settings, extra) && r.Draw == joined(c.Draw, nil)
}

func joined(settings, extra []string) string {
	return strings.Join(slices.Concat(settings, extra), " ")
}

// Done reports whether a cell has a row of the seed with at least this budget; one that failed counts unless
// retry is set.
func Done(rows []Row, c *Cell, extra []string, budget float64, seed uint64, retry bool) bool {
	return slices.ContainsFunc(rows, func(r Row) bool {
		return r.of(c, extra) && !(retry && r.Failure != "") && r.Seed == seed && r.Budget >= budget &&
			(budget > 0 || r.Budget == 0)
	})
}

// Add puts a row among rows, in place of one of the same cell, budget and seed.
func Add(rows []Row, r Row) []Row {
	rows = slices.DeleteFunc(slices.Clone(rows), func(o Row) bool {
		return o.Cell == r.Cell && o.Recipe == r.Recipe && o.Variants == r.Variants && o.Settings == r.Settings &&
			o.Draw == r.Draw && o.Budget == r.Budget && o.Seed == r.Seed
	})
	return append(rows, r)
}

// best returns the rows of a cell by which it is shown: those of its largest budget, one a seed.
func best(rows []Row, c *Cell, extra []string) []Row {
	var out []Row
	for _, r := range rows {
		if !r.of(c, extra) {
			continue
		}
		if len(out) > 0 && r.Budget < out[0].Budget {
			continue
		}
		if len(out) > 0 && r.Budget > out[0].Budget {
			out = nil
		}
		out = append(out, r)
	}
	return out
}
