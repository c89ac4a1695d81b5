package compare

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A part of a group's columns, which a page has as a table.
type part int

const (
	distances part = iota
	quality        // of samples beside the distance
	costs
	remarks
)

// A column of a group's table.
type column struct {
	part part
	head string
	cell func(g *Group, l *Line) string
}

// dash stands for what is not known.
const dash = "–"

// number writes a value in a fixed number of significant digits, or a dash.
func number(v metric.Float, digits int) string {
	if v-v != 0 {
		return dash
	}
	return strconv.FormatFloat(float64(v), 'g', digits, 64)
}

// fixed writes a distance.
func fixed(v metric.Float) string {
	switch {
	case v-v != 0:
		return dash
	case v != 0 && v < 0.001 && v > -0.001:
		return fmt.Sprintf("%.2e", float64(v))
	}
	return fmt.Sprintf("%.4f", float64(v))
}

// withError writes a mean with its standard error.
func withError(s Stat) string {
	if s.SE.IsNaN() {
		return fixed(s.Mean)
	}
	if m := math.Abs(float64(s.Mean)); m >= 0.001 && float64(s.SE) < 0.001 { // as many digits
		return fmt.Sprintf("%s ± %.4f", fixed(s.Mean), float64(s.SE))
	}
	return fixed(s.Mean) + " ± " + fixed(s.SE)
}

func mean(s Stat) string { return fixed(s.Mean) }

// over is the cell of a number of entries.
func over(of func(e *Entry) metric.Float, write func(Stat) string) func(*Group, *Line) string {
	return func(_ *Group, l *Line) string { return write(l.Over(of)) }
}

func seconds(s Stat) string {
	if s.Mean < 10 {
		return number(s.Mean, 2)
	}
	if s.Mean.IsNaN() {
		return dash
	}
	return fmt.Sprintf("%.0f", float64(s.Mean))
}

// columns are those of a group's table: what no line has is left out.
func (g *Group) columns() []column {
	floor := func(e *Entry) metric.Float { _, _, f := e.Row.Main(); return f.Mean }
	all := []column{
		{distances, "line", func(_ *Group, l *Line) string { return l.Name }},
		{distances, "seeds", func(_ *Group, l *Line) string {
			if l.Failed > 0 {
				return fmt.Sprintf("%d of %d", len(l.Entries)-l.Failed, len(l.Entries))
			}
			return fmt.Sprint(len(l.Entries))
		}},
		{distances, "distance", func(_ *Group, l *Line) string { return withError(l.Distance) }},
		{distances, "floor", func(_ *Group, l *Line) string {
			sd := l.Over(func(e *Entry) metric.Float { _, _, f := e.Row.Main(); return f.SD })
			return withError(Stat{Mean: l.Over(floor).Mean, SE: sd.Mean})
		}},
		{distances, "new draws", over(func(e *Entry) metric.Float { return e.Row.law() }, mean)},
		{distances, "held-out", over(func(e *Entry) metric.Float { return e.Row.Distance.score().HeldOut }, withError)},
		{distances, "held-out floor",
			over(func(e *Entry) metric.Float { return e.Row.Distance.score().HeldOutFloor }, mean)},
		{distances, "difference", func(_ *Group, l *Line) string {
			if l.Test == nil {
				return dash
			}
			s := fmt.Sprintf("%+.4f", float64(l.Test.Difference))
			if !l.Test.SE.IsNaN() {
				s += fmt.Sprintf(" ± %.4f", float64(l.Test.SE))
			}
			return s
		}},
		{distances, "p", func(_ *Group, l *Line) string {
			if l.Test == nil || l.Test.Least >= 1 {
				return dash
			}
			return number(l.Test.PValue, 2)
		}},
		{quality, "observables", over(func(e *Entry) metric.Float { return e.Row.Observed.score().Full }, withError)},
		{quality, "MMD", over(func(e *Entry) metric.Float { return e.Row.MMD.Statistic }, withError)},
		{quality, "MMD floor", over(func(e *Entry) metric.Float { return e.Row.MMD.Mean }, mean)},
		{quality, "worst violation", func(_ *Group, l *Line) string {
			worst := metric.NaN
			for _, e := range l.Entries {
				worst = larger(worst, e.Row.Worst)
			}
			return number(worst, 2)
		}},
		{quality, "failed", func(_ *Group, l *Line) string {
			failed, samples := 0, 0
			for _, e := range l.Entries {
				failed, samples = failed+e.Row.Failed, samples+e.Row.Samples
			}
			return fmt.Sprintf("%d of %d", failed, samples)
		}},
		{quality, "copies", func(_ *Group, l *Line) string {
			copied := l.Over(func(e *Entry) metric.Float { return e.Row.Copies.Copied })
			repeated := l.Over(func(e *Entry) metric.Float { return e.Row.Copies.Repeated })
			if copied.Mean.IsNaN() {
				return dash
			}
			return fmt.Sprintf("%.1f %% (%.1f %%)", 100*float64(copied.Mean), 100*float64(repeated.Mean))
		}},
		{costs, "evaluations", over(func(e *Entry) metric.Float { return e.Row.Network },
			func(s Stat) string { return number(s.Mean, 4) })},
		{costs, "program steps (failed)", func(_ *Group, l *Line) string {
			steps, samples, failed := 0, 0, 0
			for _, e := range l.Entries {
				if p := e.Row.Programs; p != nil {
					steps, samples, failed = steps+p.Iterations, samples+e.Row.Samples, failed+p.Failed
				}
			}
			if samples == 0 {
				return dash
			}
			return fmt.Sprintf("%.1f (%d)", float64(steps)/float64(samples), failed)
		}},
		{costs, "simulation, s", over(func(e *Entry) metric.Float { return e.Cost.Simulate }, seconds)},
		{costs, "training, s", over(func(e *Entry) metric.Float { return e.Cost.All() }, seconds)},
		{costs, "to these weights, s", over(func(e *Entry) metric.Float { return e.Cost.Train }, seconds)},
		{costs, "generation, s", over(func(e *Entry) metric.Float { return e.Cost.Generate }, seconds)},
		{remarks, "remark", func(g *Group, l *Line) string {
			var said []string
			if len(g.Lines) > 1 && g.To >= 0 && &g.Lines[g.To] == l {
				said = append(said, "compared with")
			}
			said = append(said, l.Verdict())
			for _, e := range l.Entries {
				switch {
				case e.Row.Failure != "":
					said = append(said, fmt.Sprintf("seed %d failed: %s", e.Row.Seed, short(e.Row.Failure)))
				case e.Row.Fault != "":
					said = append(said, fmt.Sprintf("seed %d: %s", e.Row.Seed, short(e.Row.Fault)))
				}
			}
			return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
		}},
	}
	return slices.DeleteFunc(all, func(c column) bool {
		if slices.Contains([]string{"line", "seeds", "distance"}, c.head) {
			return false
		}
		for i := range g.Lines {
			if s := c.cell(g, &g.Lines[i]); s != dash && s != "" {
				return false
			}
		}
		return true
	})
}

// short is the first line of a message, and not all of a long one.
func short(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}

// table returns a group's table of a part, each line with its name before; no header if there is nothing in the part.
func (g *Group) table(of part) (t Table) {
	for k, c := range g.columns() {
		if k == 0 || c.part == of {
			t.Header = append(t.Header, c.head)
			for i := range g.Lines {
				if k == 0 {
					t.Rows = append(t.Rows, nil)
				}
				t.Rows[i] = append(t.Rows[i], c.cell(g, &g.Lines[i]))
			}
		}
	}
	if len(t.Header) == 1 {
		return Table{}
	}
	return t
}

// maxComponents bounds the constraints that a table lists.
const maxComponents = 12

// violations returns the table of a group's violations by constraint, the worst first: the largest of a line's seeds,
// and the mean.
func (g *Group) violations() (t Table) {
	type violated struct {
		name        string
		worst, mean []metric.Float // by line
		largest     metric.Float
	}
	var all []*violated
	by := map[string]*violated{}
	for i, l := range g.Lines {
		for _, e := range l.Entries {
			for _, c := range e.Row.Component {
				v := by[c.Name]
				if v == nil {
					none := slices.Repeat([]metric.Float{metric.NaN}, len(g.Lines))
					v = &violated{c.Name, none, slices.Clone(none), 0}
					by[c.Name], all = v, append(all, v)
				}
				v.worst[i], v.mean[i] = larger(v.worst[i], c.Worst), larger(v.mean[i], c.Mean)
				v.largest = larger(v.largest, c.Worst)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *violated) int { return cmp.Compare(b.largest, a.largest) })
	t.Header = []string{"constraint"}
	for _, l := range g.Lines {
		t.Header = append(t.Header, l.Name)
	}
	t.Title = "Worst violation (mean) by constraint: " + g.Title
	if n := len(all); n > maxComponents {
		t.Title += fmt.Sprintf(", the worst %d of %d", maxComponents, n)
		all = all[:maxComponents]
	}
	for _, v := range all {
		row := []string{v.name}
		for i := range g.Lines {
			s := dash
			if !v.worst[i].IsNaN() {
				s = number(v.worst[i], 2) + " (" + number(v.mean[i], 2) + ")"
			}
			row = append(row, s)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// larger returns the larger of two numbers, NaN counting as none.
func larger(a, b metric.Float) metric.Float {
	if a.IsNaN() || b > a {
		return b
	}
	return a
}

// Tables are those of each group, with what explains them: distances and their test, what else is known of the samples,
// costs, remarks, and violations by constraint.
func (c *Comparison) Tables() (out []Table) {
	for i := range c.Groups {
		g := &c.Groups[i]
		for k, title := range []string{g.subject(), "Samples: " + g.Title, "Cost: " + g.Title, "Remarks: " + g.Title} {
			t := g.table(part(k))
			if t.Header == nil {
				continue
			}
			if t.Title = title; part(k) == distances && g.Metric != "" {
				t.Notes = g.legend()
			}
			out = append(out, t)
		}
		if t := g.violations(); t.Rows != nil {
			out = append(out, t)
		}
	}
	return out
}

// subject says what a group compares.
func (g *Group) subject() string {
	if g.Metric == "" {
		return g.Title + ": no line has samples to compare"
	}
	s := fmt.Sprintf("%s: %s, %d points in R^%d (%.8s…)", g.Title, g.Data.Name, g.Data.Points, g.Data.Dim,
		g.Data.SHA256)
	if g.Data.Set != "" {
		s += ", on " + g.Data.Set
	}
	return s
}

// legend explains the columns.
func (g *Group) legend() []string {
	out := []string{fmt.Sprintf("Distance: %s to all data; ± is the standard error over seeds. Floor: what as many "+
		"draws from the training rows score, ± their standard deviation; held-out: to %s. Copies: share of samples on "+
		"a training row (and of held-out rows). Evaluations: of the network, a sample.", g.Metric, g.Data.HeldOut)}
	if slices.ContainsFunc(g.Lines, func(l Line) bool { return l.Entries[0].Row.Programs != nil }) {
		out[0] += " Program steps: of optimisation within steps, a sample, and how many found no point."
	}
	if g.Metric == EnergyName {
		out[0] = fmt.Sprintf("Distance: %s (%s), with the mean of its relabellings as floor.", g.Metric,
			g.Data.HeldOut)
	}
	tested, most := false, metric.Float(0)
	for _, l := range g.Lines {
		if l.Test != nil {
			tested = true
			most = max(most, l.Test.Least)
		}
	}
	if !tested {
		return append(out, g.Notes...)
	}
	s := fmt.Sprintf("Difference of the mean distance from that of %q, ± its standard error. p: permutation test of "+
		"the difference over seeds: the share of ways to hand the seeds' distances to the two lines that differ as "+
		"much.", g.Lines[g.To].Name)
	if most > Alpha {
		s += fmt.Sprintf(" With so few seeds the smallest p that some lines can have is %.2g: there the test cannot "+
			"tell a difference at %g, whatever its size; four seeds on each side can (2 of 70 ways).", float64(most),
			Alpha)
	}
	s += " The test knows of no noise but that between seeds: all share the data and its split. Each line is tested " +
		"alone: of many, some have a small p by chance."
	return append(append(out, s), g.Notes...)
}

// WriteText writes the comparison for a terminal. Tabs separate the cells of tables.
func (c *Comparison) WriteText(w io.Writer) error {
	for _, t := range c.Tables() {
		if err := t.WriteText(w); err != nil {
			return err
		}
		if t.Notes != nil { // a table itself ends with an empty line
			fmt.Fprintln(w)
		}
	}
	for _, s := range c.Notes {
		fmt.Fprintln(w, s)
	}
	return nil
}

// WriteMarkdown writes the comparison as tables of Markdown.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	for _, t := range c.Tables() {
		if err := t.WriteMarkdown(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, s := range c.Notes {
		fmt.Fprintln(w, escape.Replace(s))
	}
	return nil
}

// header puts a table's header before its rows.
func header(head []string, rows [][]string) [][]string { return append([][]string{head}, rows...) }

// A Table is a table with remarks below it.
type Table struct {
	figure.Table
	Notes []string
}

// WriteText writes the table for a terminal. Tabs separate its cells.
func (t *Table) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", t.Title)
	for _, row := range header(t.Header, t.Rows) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_, err := fmt.Fprintln(w)
	for _, n := range t.Notes {
		fmt.Fprintln(w, n)
	}
	return err
}

// WriteMarkdown writes the table as one of Markdown, its title as a heading of level 2.
func (t *Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", escape.Replace(t.Title))
	if t.Note != "" {
		fmt.Fprintf(&b, "%s\n", t.Note)
	}
	b.WriteString("\n")
	for k, row := range header(t.Header, t.Rows) {
		for _, cell := range row {
			b.WriteString("| " + escape.Replace(cell) + " ")
		}
		b.WriteString("|\n")
		if k == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", escape.Replace(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escape keeps what would end a cell of a table of Markdown, or be no text in it.
var escape = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'")

// WriteJSON writes the comparison as one JSON object.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// WriteCSV writes a row of numbers for each entry; what is not known is empty.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"group", "line", "problem", "variant", "method", "settings", "draw", "budget", "seed", "name",
		"key",
		"data_sha256", "metric", "distance", "floor", "floor_sd", "held_out", "held_out_floor", "law", "observables",
		"energy", "energy_floor", "energy_p", "mmd", "mmd_floor", "violation", "violation_mean", "samples", "failed",
		"copied", "held_out_repeated", "network_evaluations", "epochs", "updates", "trained_rows", "seconds_train",
		"seconds_simulate", "seconds_generate", "seconds_cell", "version", "kernel", "good",
		"trained_epochs", "trained_seconds", "failure"}
	if err := out.Write(head); err != nil {
		return err
	}
	num := func(v metric.Float) string {
		if v-v != 0 {
			return ""
		}
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	}
	for g := range c.Groups {
		for _, l := range c.Groups[g].Lines {
			for _, e := range l.Entries {
				r, k := e.Row, e.Cost
				name, d, floor := r.Main()
				held := r.Distance.score()
				epochs := ""
				if k.Trained != nil {
					epochs = fmt.Sprint(k.Trained.Epochs)
				}
				if err := out.Write([]string{fmt.Sprint(g + 1), l.Name, r.Problem, r.Variant, r.Method, r.Settings,
					r.Draw, r.Budget, fmt.Sprint(r.Seed), r.Name, r.Key, r.Data.SHA256, name, num(d), num(floor.Mean),
					num(floor.SD), num(held.HeldOut), num(held.HeldOutFloor), num(r.law()),
					num(r.Observed.score().Full), num(r.Energy.Statistic), num(r.Energy.Mean),
					num(r.Energy.PValue), num(r.MMD.Statistic), num(r.MMD.Mean), num(r.Worst),
					num(r.Mean), fmt.Sprint(r.Samples), fmt.Sprint(r.Failed), num(r.Copies.Copied),
					num(r.Copies.Repeated), num(r.Network), fmt.Sprint(r.Epochs), fmt.Sprint(r.Updates),
					fmt.Sprint(r.TrainedRows), num(k.Train), num(k.Simulate), num(k.Generate), num(k.Cell), r.Version,
					k.Kernel, fmt.Sprint(r.Good), epochs, num(k.All()), r.Failure}); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
