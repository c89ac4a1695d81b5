package paper

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
)

// A Table is an exhibit made of rows.
type Table struct {
	Exhibit string   `json:"exhibit"`
	Title   string   `json:"title"`
	Says    string   `json:"says,omitempty"`
	Corner  string   `json:"corner"`
	Columns []string `json:"columns"`
	Rows    []Places `json:"rows"`
	Notes   []string `json:"notes,omitempty"` // why cells failed; how long those that were run were trained
}

// Places are a row of a Table, one for each of its columns.
type Places struct {
	Name   string  `json:"row"`
	Places []Place `json:"places"`
}

// A Place is what stands in one place: the paper's number, and ours.
type Place struct {
	Paper   *Number  `json:"paper,omitempty"`
	Ours    []Number `json:"ours,omitempty"` // one, or where several figures stand in a place all of them
	Mark    Mark     `json:"mark,omitempty"`
	Failure string   `json:"failure,omitempty"` // of a cell that was run and gave nothing
	Asked   bool     `json:"asked"`             // whether there is a cell
}

// A Number is a mean with its standard error; NaN where one run says nothing of that.
type Number struct {
	Figure string       `json:"figure,omitempty"`
	Mean   metric.Float `json:"mean"`
	SE     metric.Float `json:"standard_error"`
	Runs   int          `json:"runs,omitempty"`
	Budget float64      `json:"budget_seconds,omitempty"`
}

// Tables makes the tables of exhibits of rows, each followed by those that are to be read beside it.
func Tables(exhibits []*Exhibit, rows []compare.Entry) (out []Table) {
	own := best(rows)
	for _, e := range exhibits {
		out = append(out, e.table(own))
		if e.Beside != nil {
			b := e.Beside.table(own)
			b.Notes = nil // the same again
			out = append(out, b)
		}
	}
	return out
}

func (e *Exhibit) table(own map[string][]compare.Entry) Table {
	t := Table{Exhibit: e.Name, Title: e.Title, Says: e.Says, Corner: e.Corner}
	for _, c := range e.Columns {
		t.Columns = append(t.Columns, c.Name)
	}
	budgets := map[float64][]float64{} // seconds of each training
	for _, row := range e.Rows {
		line := Places{Name: row.Name}
		for _, column := range e.Columns {
			var p Place
			var mean, sd float64
			for _, entry := range row.entries(&column) {
				p.Asked = true
				n := entry.number(own)
				if n.failure != "" && p.Failure == "" {
					p.Failure = n.failure
					note := fmt.Sprintf("%s: %s", row.Name, strings.ReplaceAll(n.failure, "\n", "; "))
					if !slices.Contains(t.Notes, note) {
						t.Notes = append(t.Notes, note)
					}
				}
				if n.Runs > 0 {
					n.Figure, mean, sd = entry.figure, float64(n.Mean), n.sd
					p.Ours = append(p.Ours, n.Number)
					budgets[n.Budget] = append(budgets[n.Budget], n.seconds...)
				}
			}
			if printed, ok := printed[[3]string{e.Name, row.Name, column.Name}]; ok {
				p.Paper = &Number{Mean: metric.Float(printed.Value), SE: metric.Float(printed.SE)}
				if e.Marked && len(p.Ours) == 1 {
					p.Mark = printed.compare(mean, sd, p.Ours[0].Runs)
				}
			}
			line.Places = append(line.Places, p)
		}
		t.Rows = append(t.Rows, line)
	}
	if note := trained(budgets); note != "" {
		t.Notes = append([]string{note}, t.Notes...)
	}
	return t
}

// trained says how long the networks behind a table were trained, by their budgets.
func trained(budgets map[float64][]float64) string {
	var says []string
	for _, b := range slices.Sorted(maps.Keys(budgets)) {
		switch took := budgets[b]; {
		case b > 0:
			says = append(says, fmt.Sprintf("%.4g s", b))
		case took == nil:
			says = append(says, "the recipe's own epochs")
		default:
			from, to := fmt.Sprintf("%.0f", slices.Min(took)), fmt.Sprintf("%.0f s", slices.Max(took))
			if from+" s" != to {
				to = from + " to " + to
			}
			says = append(says, "the recipe's own epochs, "+to)
		}
	}
	if says == nil {
		return ""
	}
	return "Training of each network: " + strings.Join(says, "; ") + "."
}

// A mean is a number of ours.
type mean struct {
	Number
	sd      float64   // of a run
	seconds []float64 // of each training
	failure string
}

// number is the mean of an entry over its cells, and of each over seeds; without runs where one of them has no row.
func (e *entry) number(own map[string][]compare.Entry) mean {
	m := mean{Number: Number{Mean: metric.NaN, SE: metric.NaN}, sd: math.NaN()}
	sum, runs := 0.0, math.MaxInt
	var budget float64
	for _, name := range e.cells {
		var values []float64
		for _, r := range own[name] {
			if r.Row.Failure != "" {
				m.failure, _, _ = strings.Cut(r.Row.Failure, "\ngoroutine ") // of a panic all but its stack
				continue
			}
			if v, ok := value(&r, e.figure); ok {
				values = append(values, v)
				if s, ok := value(&r, training); ok && s > 0 {
					m.seconds = append(m.seconds, s)
				}
				budget = max(budget, seconds(&r))
			}
		}
		if len(values) == 0 {
			return m
		}
		floor := metric.NewFloor(values) // mean and standard deviation
		sum += float64(floor.Mean)
		if len(e.cells) == 1 {
			m.sd = float64(floor.SD)
		}
		runs = min(runs, len(values))
	}
	m.failure = ""
	m.Mean, m.Runs, m.Budget = metric.Float(sum/float64(len(e.cells))), runs, budget
	if runs > 1 {
		m.SE = metric.Float(m.sd / math.Sqrt(float64(runs)))
	}
	return m
}

// Signs of marks, and of what there is not.
const (
	betterSign = "✓"
	worseSign  = "✗"
	notRun     = "–"
)

// Legend says how a place is read.
const Legend = "Ours / the paper's, ± standard error. ✓: ours is better by more than two standard errors of the " +
	"difference, ✗: worse; a single run of ours is taken to scatter like one of the paper's. –: not run. No sign: " +
	"too near to tell, or the paper prints no error."

// text writes a place.
func (p Place) text() string {
	ours := notRun
	switch {
	case len(p.Ours) > 0:
		var parts []string
		for _, n := range p.Ours {
			parts = append(parts, n.text())
		}
		ours = strings.Join(parts, ", ")
	case p.Failure != "":
		ours = "failed"
	case !p.Asked && p.Paper == nil:
		return ""
	}
	if sign := map[Mark]string{Better: betterSign, Worse: worseSign}[p.Mark]; sign != "" {
		ours += " " + sign
	}
	if p.Paper == nil {
		return ours
	}
	return ours + " / " + p.Paper.printed()
}

// text writes a number of ours: a distance with four decimals, and as package text does what says little so.
func (n Number) text() string {
	v := float64(n.Mean)
	s := fmt.Sprintf("%.4f", v)
	switch {
	case n.Figure == copies:
		return fmt.Sprintf("×%.2f", v)
	case n.Figure == heldOutFloor:
		return "floor " + s
	case v == 0:
		s = "0"
	case v >= 1000:
		s = text.Count(int(math.Round(v)))
	case v < 0.01 || v >= 1:
		s = text.Number(v)
	}
	if !n.SE.IsNaN() {
		s += " ± " + fmt.Sprintf("%.4f", float64(n.SE))
	}
	return s
}

// printed writes a number with the digits that the paper prints: three decimals where it has an error.
func (n Number) printed() string {
	v := float64(n.Mean)
	switch {
	case math.IsNaN(v):
		return "NaN"
	case !n.SE.IsNaN():
		return fmt.Sprintf("%.3f ± %.3f", v, float64(n.SE))
	case v >= 1000:
		return text.Count(int(v))
	case v >= 0.01 || v == 0:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e-")
	power, err := strconv.Atoi(exponent)
	if err != nil {
		panic("paper: " + err.Error()) // %e always has a whole exponent
	}
	return mantissa + "×10" + text.Superscript(-power)
}

// Written returns the table in words.
func (t *Table) Written() compare.Table {
	out := compare.Table{Table: figure.Table{Title: t.Title, Header: append([]string{t.Corner}, t.Columns...),
		Note: t.Says}, Notes: t.Notes}
	for _, line := range t.Rows {
		cells := []string{line.Name}
		for _, p := range line.Places {
			cells = append(cells, p.text())
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
