package draft

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
)

// write writes the file, reads it back, and holds all rows against its set. Where they are
// further from it than data may be unless data.tolerance says so, that is put in.
func (l *loaded) write(o Options, d *Draft, set []string) error {
	d.YAML = l.yaml(o, d, set, 0)
	tolerance, err := l.built([]byte(d.YAML))
	if at := slices.Index(set, internal); err != nil && at >= 0 { // points are positions instead
		d.note("internal coordinates do not serve: %v", err)
		set = slices.Delete(set, at, at+1)
		d.YAML = l.yaml(o, d, set, 0)
		tolerance, err = l.built([]byte(d.YAML))
	}
	if err != nil && len(d.Observe) > 0 { // what is compared is no reason to write nothing
		d.note("numbers to be compared are not proposed: %v", err)
		d.Observe = nil
		d.YAML = l.yaml(o, d, set, 0)
		tolerance, err = l.built([]byte(d.YAML))
	}
	if err != nil {
		return fmt.Errorf("draft: the problem file that was written is refused: %w\n%s", err, d.YAML)
	}
	const most = 1e15 // of data.tolerance
	if tolerance > most/4 {
		return o.unfit("rows are off their own set by %.2g; bring the numbers to a unit in which they are about 1",
			tolerance)
	}
	if tolerance > 0 {
		d.YAML = l.yaml(o, d, set, up(2*tolerance))
		if _, err := l.built([]byte(d.YAML)); err != nil {
			return fmt.Errorf("draft: the problem file that was written is refused: %w\n%s", err, d.YAML)
		}
	}
	return nil
}

// up rounds to one digit, upwards.
func up(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	w, _ := strconv.ParseFloat(fmt.Sprintf("%.0e", math.Ceil(v/p)*p), 64)
	return w
}

// comment breaks text into lines of comments.
func comment(indent, format string, v ...any) string {
	const width = 110
	words := strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, v...)))
	var b strings.Builder
	line := indent + "#"
	for _, w := range words {
		if len([]rune(line))+1+len([]rune(w)) > width && line != indent+"#" {
			b.WriteString(line + "\n")
			line = indent + "#  "
		}
		line += " " + w
	}
	return b.String() + line + "\n"
}

func (l *loaded) yaml(o Options, d *Draft, set []string, tolerance float64) string {
	var b strings.Builder
	b.WriteString(problem.SchemaLine + "\n")
	b.WriteString(comment("", "Drafted from %s: %s.", d.Data, d.Size()))
	if d.Molecule != nil {
		b.WriteString(comment("", "What is kept below is what all conformations have. Look it over, then: landing "+
			"check, landing train."))
	}
	holdsTo := "What is active below holds on all rows to round-off. What they nearly keep is commented out, with " +
		"its residual: how far rows are from it, in units of their spread (1: it says nothing). "
	if d.Kind == "trajectory" {
		holdsTo = "What is active below holds on all rows to what is said beside it. "
	}
	if d.Molecule == nil {
		b.WriteString(comment("", "%sLook it over, then: landing check, landing train.", holdsTo))
	}
	fmt.Fprintf(&b, "name: %s\n\n", strconv.Quote(d.Name))
	b.WriteString("data:\n")
	fmt.Fprintf(&b, "  kind: %s%s\n", d.Kind, map[string]string{"earth": "  # latitude, longitude in degrees",
		"molecule": "  # x, y, z of each atom in Å"}[d.Kind])
	path := o.Path
	if o.Clean != "" {
		path = o.Clean
	}
	fmt.Fprintf(&b, "  path: %s\n", strconv.Quote(pathFrom(l.folder, path)))
	if tolerance > 0 {
		why := "rows are far from the set"
		if d.Molecule != nil {
			why = "bonds of the rows vary by so much"
		}
		fmt.Fprintf(&b, "  tolerance: %s  # of a constraint, in its unit: %s\n", number(tolerance), why)
	}
	for _, c := range l.columnLines(d) {
		b.WriteString(comment("  ", "%s", c))
	}
	if len(l.condition) > 0 {
		b.WriteString("\n" + comment("", "These numbers are given with each point: samples are drawn for any of "+
			"their values. To leave them out instead: landing init --drop NAME."))
		quoted := make([]string, len(l.given))
		for k, name := range l.given {
			quoted[k] = strconv.Quote(name)
		}
		fmt.Fprintf(&b, "condition: {columns: [%s]}\n", strings.Join(quoted, ", "))
	}
	b.WriteString("\n")
	if t := d.dimensions(); t != "" {
		b.WriteString(comment("", "%s", t))
	}
	holds := len(d.Holds) > 0 && d.report != nil && len(set) > 0 && !strings.Contains(strings.Join(set, "\n"),
		"equality:") && d.Kind != "molecule"
	if holds {
		b.WriteString(comment("", "Ready-made, of these relations, which hold to round-off:"))
		for _, p := range d.Holds {
			fmt.Fprintf(&b, "#   - %s  # %s\n", p.flow(), p.residual())
		}
	}
	b.WriteString("set:")
	for i, line := range set {
		if i == 0 && line != "" {
			b.WriteString(" ")
		}
		b.WriteString(line + "\n")
	}
	for _, p := range d.Given {
		if !strings.Contains(b.String(), d.named(strconv.Quote(p.Expr))) {
			fmt.Fprintf(&b, "  # given:\n  #   - %s  # %s; %s\n", p.flow(), p.Note, p.residual())
		}
	}
	if len(d.Nearly) > 0 {
		b.WriteString(comment("  ", "Nearly kept, and not assumed. To ask for one, put it under equality (with a "+
			"ready-made set: set: {all: [that set, {dim: %d, equality: [it]}]}), and bring the data to it: landing "+
			"refine.", len(l.coordinate)))
		for _, p := range d.Nearly {
			note := ""
			if p.Note != "" {
				note = "; " + p.Note
			}
			if len(p.Rows) > 0 {
				note += ", but for " + strings.Join(p.Rows, ", ")
			}
			fmt.Fprintf(&b, "  #   - %s  # %s%s\n", d.named(p.flow()), p.residual(), note)
		}
	}
	if len(d.Bounds) > 0 {
		how := "put it under set.inequality"
		if ready := len(set) > 0 && !strings.Contains(set[min(1, len(set)-1)], "dim: "); ready || len(set) == 1 {
			how = fmt.Sprintf("set: {all: [that set, {dim: %d, inequality: [it]}]}", len(l.coordinate))
		}
		if l.molecule != nil {
			how = "put it where its line says"
		}
		b.WriteString(comment("  ", "Where the data ends suddenly, or keeps a sign: walls perhaps, and not assumed. "+
			"To ask for one, %s:", how))
		for _, p := range d.Bounds {
			fmt.Fprintf(&b, "  #   - %s  # %s\n", d.named(p.flow()), p.Note)
		}
	}
	if len(d.Observe) > 0 {
		b.WriteString("\n" + comment("", "Numbers of a point whose laws are compared between data and samples: the "+
			"energy test in coordinates hardly sees some of them. Change them as you like."))
		b.WriteString("observe:\n")
		for _, q := range d.Observe {
			b.WriteString("  - " + q.flow() + "\n")
		}
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n")
		for _, n := range d.Notes {
			b.WriteString(comment("", "Note: %s.", strings.TrimSuffix(n, ".")))
		}
	}
	return b.String()
}

// Size says how much there is, and of what.
func (d *Draft) Size() string {
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Shape), "[]"), " ", "×")
	return fmt.Sprintf("%d rows of %s numbers (%s)", d.Rows, cmp.Or(shape, "1"), d.Format)
}

// columnLines tells which column is which coordinate, and what is odd about rows.
func (t *sheet) columnLines(d *Draft) (out []string) {
	const most = 40
	if d.Kind != "earth" && t.survey.Header != nil && len(t.coordinate) <= most {
		var names []string
		for k, j := range t.coordinate {
			names = append(names, fmt.Sprintf("x[%d] is %s", k, t.names[j]))
		}
		out = append(out, strings.Join(names, ", "))
	}
	for _, c := range d.Columns {
		if c.Role == "condition" {
			out = append(out, fmt.Sprintf("%s is a condition: %s", c.Name, c.Why))
		}
	}
	return append(out, d.odd()...)
}

// odd tells what is odd about rows.
func (d *Draft) odd() (out []string) {
	if n := d.Repeats.Count; n > 0 {
		out = append(out, fmt.Sprintf("%d rows equal an earlier one (%s): held-out rows may be copies of training rows",
			n, sequence(d.Repeats.First, n)))
	}
	if n := len(d.Outlier); n > 0 {
		var list []string
		for _, q := range d.Outlier[:min(n, listed)] {
			list = append(list, fmt.Sprintf("%s: %s = %.6g", q.Row, q.Column, q.Value))
		}
		more := ""
		if d.report != nil && d.report.OutlierCount > len(list) {
			more = fmt.Sprintf(", in %d rows", d.report.OutlierCount)
		}
		out = append(out, fmt.Sprintf("numbers far from the rest of their column%s: %s", more, strings.Join(list,
			"; ")))
	}
	return out
}

// dimensions compares the set's dimension with the one that the rows fill.
func (d *Draft) dimensions() string {
	if d.Fills == nil || d.report == nil || d.Molecule != nil {
		return ""
	}
	s := fmt.Sprintf("Near a row the others fill about %.1f dimensions; the set has %d", *d.Fills, d.SetDim)
	switch {
	case *d.Fills >= 0.75*float64(d.SetDim)-0.25 || d.SetDim > 10:
	case len(d.Nearly)+len(d.Given) > 0:
		s += ": the law is a narrow one, or a relation is missing. The file shows how to add one that the rows " +
			"nearly keep; landing refine then brings the rows to it"
	default:
		s += ": the law is a narrow one, or a relation is missing that was not found. A formula of yours can " +
			"be tried (landing init --formula), and for a closed surface in R³ a level set (landing make level-set)"
	}
	return s
}

// Lines tells what was seen in some ten lines.
func (d *Draft) Lines() (out []string) {
	add := func(label, format string, v ...any) {
		out = append(out, fmt.Sprintf("%-11s", label)+fmt.Sprintf(format, v...))
	}
	for _, line := range d.Robot {
		add(line[:11], "%s", line[11:])
	}
	if d.Robot != nil {
		for _, n := range d.Notes {
			add("note", "%s", n)
		}
		return out
	}
	add("data", "%s: %s", d.Data, d.Size())
	if d.Read != "" {
		add("read as", "%s", d.Read)
	}
	if d.Faulty.Count > 0 {
		add("faulty", "%d rows: %s", d.Faulty.Count, sequence(d.Faulty.First, d.Faulty.Count))
	}
	var roles []string
	for _, c := range d.Columns {
		if c.Role != "coordinate" {
			roles = append(roles, fmt.Sprintf("%s %s (%s)", c.Name, c.Role, c.Why))
		}
	}
	if len(roles) > 0 {
		add("columns", "%s", strings.Join(roles, "; "))
	}
	for _, s := range d.odd() {
		add("rows", "%s", s)
	}
	tell := func(label string, of []Proposal, residual bool) {
		const most = 3
		for k, p := range of {
			if k == most {
				add(label, "and %d more: see the file", len(of)-most)
				return
			}
			s := d.named(p.Expr)
			if p.yaml != "" && d.Kind == "molecule" {
				s = p.yaml
			}
			if p.For != "" {
				s += "  for " + p.For
			}
			if residual {
				s += "  (" + p.residual() + ")"
			}
			if p.Note != "" && label == "formula" {
				s += "  " + p.Note
			}
			if len(p.Rows) > 0 {
				s += "  but for " + strings.Join(p.Rows, ", ")
			}
			add(label, "%s", s)
		}
	}
	tell("formula", d.Given, false)
	tell("holds", d.Holds, true)
	tell("nearly", d.Nearly, true)
	var bounds []string
	for _, p := range d.Bounds {
		bounds = append(bounds, strings.TrimSuffix(d.named(p.Expr)+" for "+p.For, " for "))
	}
	if len(bounds) > 0 {
		add("ends at", "%s", strings.Join(bounds, "; "))
	}
	if len(d.Observe) > 0 {
		var names []string
		for _, q := range d.Observe {
			names = append(names, q.Name)
		}
		add("observe", "%s", strings.Join(names, ", "))
	}
	set := d.Set
	if d.Kind == "earth" {
		set = "places on Earth: " + set
	}
	if m := d.Molecule; m != nil {
		left := ""
		if m.LeftOut > 0 {
			left = ", without " + text.Plural(m.LeftOut, "hydrogen")
		}
		add("molecule", "%s%s: %d conformations", m.Formula, left, d.Rows)
		for _, said := range m.kept() {
			add("kept", "%s", said)
		}
		for _, said := range m.free() {
			add("free", "%s", said)
		}
	} else {
		add("set", "%s", set)
	}
	if t := d.dimensions(); t != "" {
		add("dimension", "%s", t)
	}
	shown := 0
	for _, n := range d.Notes {
		if strings.Contains(n, notCoordinate) { // as the line of columns says
			continue
		}
		if shown++; shown <= mostNotes {
			add("note", "%s", n)
		}
	}
	if shown > mostNotes {
		add("note", "and %d more: see the file", shown-mostNotes)
	}
	return out
}
