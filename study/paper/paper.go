// Package paper is the paper's tables and figures: the numbers that it prints, and ours in the same places.
//
// An exhibit is a table or a figure. exhibits.yaml says which numbers of which cells stand where; the cells are those
// of the sweep files paper-… of package sweep. A row is what one cell gave with one seed and budget. Tables are made of
// rows and of nothing else, so what was not run has no number.
//
// The measures of this package take what the paper prints and a sweep's row does not have.
package paper

import (
	"bytes"
	_ "embed" // for the numbers that the paper prints
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
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
	all, err := readPrinted(printedCSV)
	if err != nil {
		panic("paper: " + err.Error()) // the file is in the binary
	}
	out := map[[3]string]Printed{}
	for _, p := range all {
		out[[3]string{p.Exhibit, p.Row, p.Column}] = p
	}
	if len(out) != len(all) {
		panic("paper: a number is printed twice in printed.csv")
	}
	return out
}()

func readPrinted(data []byte) ([]Printed, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	var out []Printed
	for _, f := range records[1:] {
		p := Printed{Exhibit: f[0], Row: f[1], Column: f[2], SE: math.NaN()}
		if p.Value, err = strconv.ParseFloat(f[3], 64); err != nil {
			return nil, fmt.Errorf("printed.csv: %s, %s, %s: %w", f[0], f[1], f[2], err)
		}
		if f[4] != "" {
			if p.SE, err = strconv.ParseFloat(f[4], 64); err != nil {
				return nil, fmt.Errorf("printed.csv: %s, %s, %s: %w", f[0], f[1], f[2], err)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// PrintedAt returns what the paper prints in a place of an exhibit, if it prints something.
func PrintedAt(exhibit, row, column string) (Printed, bool) {
	p, ok := printed[[3]string{exhibit, row, column}]
	return p, ok
}

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
