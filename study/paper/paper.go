// Package paper is the paper's tables and figures: the numbers that it prints, and ours in the same places.
//
// An exhibit is a table or a figure. exhibits.yaml says which cells' numbers stand where. The cells are those
// of the sweep files paper-…, run by package sweep. A row is the result of one cell with one seed and budget. Tables
// consist of rows alone, so that a cell without a run has no number.
package paper

import (
	"bytes"
	_ "embed" // for the numbers that the paper prints
	"encoding/csv"
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
