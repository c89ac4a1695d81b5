package draft

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem/discover"
)

// compose says in lines of YAML which set the rows lie on: a ready-made one, a product of such,
// or formulas. The first line follows the key set.
func (l *loaded) compose(o Options, d *Draft, r *discover.Report) []string {
	exact := r.Exact()
	d.SetDim = len(l.coordinate) - len(exact)
	for _, f := range discover.Families(exact) {
		d.Holds = append(d.Holds, l.proposal(f, exact))
	}
	given := l.onCondition(o, d, r)
	if d.Holds, d.SetDim = append(d.Holds, given...), d.SetDim-len(given); len(given) > 0 {
		d.Fills = nil // that of all values of the condition together
	}
	var near []discover.Relation
	for _, q := range r.Relations {
		if !q.Exact {
			near = append(near, q)
		}
	}
	families := discover.Families(near)
	for _, f := range families[:min(len(families), maxNearly)] {
		d.Nearly = append(d.Nearly, l.proposal(f, near))
	}
	slices.SortStableFunc(d.Nearly, func(a, b Proposal) int { return cmp.Compare(a.RMS, b.RMS) })
	if n := len(families); n > maxNearly && l.molecule == nil {
		d.note("%d more relations are nearly kept", n-maxNearly)
	}
	for _, q := range r.Given {
		d.Given = append(d.Given, l.measured(q))
	}
	if l.molecule != nil {
		return l.moleculeSet(o, d)
	}
	l.bounds(d, r)
	if len(d.Holds) == 0 && len(r.Inequalities) == 0 {
		d.Set = fmt.Sprintf("R^%d: no relation holds to round-off", r.Dim)
		return []string{fmt.Sprintf("{kind: euclidean, dim: %d}", r.Dim)}
	}
	if len(r.Inequalities)+len(given) == 0 {
		if word, yaml := chain(exact, 0, r.Dim); yaml != "" {
			return product(d, []part{{0, r.Dim, yaml, word}})
		}
		if parts, ok := ready(exact, r.Dim, l.columns); ok {
			return product(d, parts)
		}
	}
	return l.formulas(d, r)
}

// measured says how well the rows keep a formula of the user.
func (l *loaded) measured(q discover.Relation) Proposal {
	p := Proposal{Name: q.Name, Expr: q.Expr, Max: q.Max, RMS: q.RMS, Rows: l.used(q.Exceptions)}
	if p.Note = "holds to round-off"; q.Rounded {
		p.Note = decimals
	} else if !q.Exact {
		p.Note = fmt.Sprintf("does not hold to round-off: |h| is %.3g at most", q.Violation)
	}
	return p
}

// ofCondition returns a formula with numbers of rows for the names of a condition, and whether it has any.
func (l *loaded) ofCondition(text string) (string, bool) {
	inner := words.ReplaceAllStringFunc(text, func(name string) string {
		if k := slices.Index(l.given, name); k >= 0 {
			return fmt.Sprintf("x[%d]", len(l.coordinate)+k)
		}
		return name
	})
	return inner, inner != text
}

// ofColumns returns a formula with coordinates for the names of the file's columns, if formulas can use all of these.
func (l *loaded) ofColumns(text string) string {
	names := l.symbols()
	return words.ReplaceAllStringFunc(text, func(name string) string {
		if k := slices.Index(names, name); k >= 0 {
			return fmt.Sprintf("x[%d]", k)
		}
		return name
	})
}

// onCondition returns relations between coordinates and a condition, whose numbers formulas call by name. It measures
// the formulas of the user that have such names.
func (l *loaded) onCondition(o Options, d *Draft, coordinates *discover.Report) (out []Proposal) {
	x, n, dim := l.everything()
	own := len(l.coordinate)
	if own == dim || dim > discover.MaxDim {
		return nil
	}
	texts := map[string]string{}
	var asked []string
	for _, text := range o.Formulas {
		if inner, is := l.ofCondition(text); is {
			inner = l.ofColumns(inner)
			texts[inner], asked = text, append(asked, inner)
		}
	}
	r, err := discover.Look(discover.Table{X: x, N: n, D: dim}, asked...)
	if err != nil {
		if len(asked) > 0 {
			d.note("--formula: %v", err)
		}
		return nil
	}
	for _, q := range r.Given {
		q.Expr = texts[q.Expr]
		if p := l.measured(q); q.Exact {
			out = append(out, p)
		} else {
			d.Given = append(d.Given, p)
		}
	}
	for _, q := range r.Inequalities {
		q.Expr = texts[q.Expr]
		coordinates.Inequalities = append(coordinates.Inequalities, q)
	}
	var symbols []string
	for k := range own {
		symbols = append(symbols, fmt.Sprintf("x[%d]", k))
	}
	for _, q := range r.Exact() {
		if q.Kind != discover.Given && q.Columns[0] < own && q.Columns[len(q.Columns)-1] >= own {
			expr := allOfRow.ReplaceAllString(q.Expr, fmt.Sprintf("x[0:%d]$1", dim))
			out = append(out, Proposal{Name: q.Name, Expr: named(expr, append(symbols, l.given...), own), Max: q.Max,
				RMS: q.RMS})
		}
	}
	return out
}

// roundOff is a residual, in spreads of the rows, that double precision explains.
const roundOff = 1e-12

// roundedNote says how rows whose numbers are rounded get onto the set.
func roundedNote(r *discover.Report) string {
	worst := 0.0
	for _, q := range r.Exact() {
		if q.Rounded && q.Max > roundOff {
			worst = max(worst, q.Violation)
		}
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf("the numbers are rounded: rows are off the set by up to %.2g, and training takes them so. To "+
		"bring them to the set: landing refine PROBLEM --within %s -o refined.csv, and data.path: refined.csv", worst,
		number(up(2*worst)))
}

// decimals says of a relation that its residual is that of rounded numbers.
const decimals = "holds to the decimals of the numbers"

// Proposals that are written.
const (
	maxNearly = 20
	maxBounds = 12
)

// bounds proposes the ends of numbers that look like walls, those alike as families.
func (l *loaded) bounds(d *Draft, r *discover.Report) {
	simplex := map[int]bool{} // whose numbers the set keeps from being negative
	for _, j := range l.nonnegative(r) {
		simplex[j] = true
	}
	var walls []discover.Relation
	var of []discover.Bound
	for _, b := range r.Bounds {
		if b.Column >= 0 && (l.seam[b.Column] || simplex[b.Column] && !b.Upper && b.Value == 0) {
			continue
		}
		sign, name, value := ">=", "least", number(b.Value)
		if b.Upper {
			sign, name = "<=", "most"
		}
		if b.Degrees {
			value = "radians(" + value + ")"
		}
		if kind, _, call := strings.Cut(b.Form, "("); call {
			name += " " + kind
		}
		walls, of = append(walls, discover.Written(b.Form+" "+sign+" "+value, name, b.At...)), append(of, b)
	}
	for _, f := range discover.Families(walls) {
		if len(d.Bounds) == maxBounds {
			d.note("the data stops suddenly at more ends; these are the %d sharpest", maxBounds)
			break
		}
		first := of[f.Members[0]]
		share, least, most := 1.0, math.Inf(1), math.Inf(-1)
		for _, k := range f.Members {
			share, least, most = min(share, of[k].Share), min(least, of[k].Data), max(most, of[k].Data)
		}
		at := fmt.Sprintf("at %.6g", first.Data)
		if len(f.Members) > 1 {
			at = fmt.Sprintf("between %.6g and %.6g", least, most)
		}
		if first.Degrees {
			at += "°"
		}
		d.Bounds = append(d.Bounds, Proposal{Name: f.Name, For: f.For, Expr: f.Expr, Note: fmt.Sprintf("the data ends "+
			"%s, with %.1f %% of the rows within a hundredth of its range", at, 100*share)})
	}
	if n := symmetric(r.Exact(), r.Dim); n > 0 {
		l.semidefinite(d, n)
	}
	var signs []discover.Relation
	for k, c := range l.columns {
		if c.Min >= 0 && !c.Constant() && c.Min < c.SD && l.molecule == nil && !simplex[k] &&
			!slices.ContainsFunc(r.Bounds, func(b discover.Bound) bool { return b.Column == k && !b.Upper }) {
			signs = append(signs, discover.Written("x[@0] >= 0", "sign", k))
		}
	}
	for _, f := range discover.Families(signs) {
		least := math.Inf(1)
		for _, k := range f.Members {
			least = min(least, l.columns[signs[k].At()[0]].Min)
		}
		d.Bounds = append(d.Bounds, Proposal{Name: f.Name, For: f.For, Expr: f.Expr,
			Note: fmt.Sprintf("no number is negative; the least is %.3g", least)})
	}
}

// parts reports whether a relation is about parts of a whole, shares or percentages.
func parts(q discover.Relation, columns []discover.Column) bool {
	return q.Kind == discover.Linear && (q.Value == 1 || q.Value == 100) && shares(q, 3, columns)
}

// nonnegative returns the coordinates that are parts of a whole.
func (t *sheet) nonnegative(r *discover.Report) (columns []int) {
	for _, q := range r.Exact() {
		if q.Kind == discover.Given {
			q = t.sum(q, r.Dim)
		}
		if parts(q, t.columns) {
			columns = append(columns, q.Columns...)
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// sum gives a formula of the user that says what coordinates add up to, Σ x_j = V, its terms and value.
func (t *sheet) sum(q discover.Relation, dim int) discover.Relation {
	set, err := formula.New(formula.Spec{Dim: dim, Equality: []formula.Component{{Name: q.Name, Expr: q.Expr}}})
	if err != nil {
		return q
	}
	e, h, gradient, first := set.NewEvaluator(1), make([]float64, 1), make([]float64, dim), []float64(nil)
	of := discover.Relation{Kind: discover.Linear}
	for _, i := range []int{0, t.n / 2, t.n - 1} {
		x := t.x[i*dim : (i+1)*dim]
		if e.Jacobians(h, gradient, x, 1); first == nil {
			first = slices.Clone(gradient)
		} else if !slices.Equal(gradient, first) {
			return q
		}
		of.Columns, of.Terms, of.Value = nil, nil, 0
		c := slices.MaxFunc(gradient, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		for j, g := range gradient {
			if g != 0 {
				of.Columns, of.Value = append(of.Columns, j), of.Value+g/c*x[j]
				of.Terms = append(of.Terms, discover.Term{Columns: []int{j}, Coefficient: g / c})
			}
		}
		of.Value = math.Round((of.Value-h[0]/c)*1e9) / 1e9
	}
	return of
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func list(v []float64) string {
	out := make([]string, len(v))
	for k := range v {
		out[k] = number(v[k])
	}
	return strings.Join(out, ", ")
}

func (l *loaded) proposal(f discover.Family, of []discover.Relation) Proposal {
	p := Proposal{Name: f.Name, For: f.For, Expr: f.Expr}
	var rows []int
	sum := 0.0
	for _, k := range f.Members {
		q := of[k]
		p.Max, sum = max(p.Max, q.Max), sum+q.RMS*q.RMS
		for _, i := range q.Exceptions {
			if !slices.Contains(rows, i) && len(rows) < listed {
				rows = append(rows, i)
			}
		}
	}
	if of[f.Members[0]].Rounded {
		p.Note = decimals
	}
	p.RMS, p.Rows = math.Sqrt(sum/float64(len(f.Members))), l.used(rows)
	if len(rows) > 0 {
		p.Note = "to round-off in the other rows"
	}
	return p
}

// A part is a ready-made set of neighbouring coordinates.
type part struct {
	at, dim int
	yaml    string
	word    string
}

const maxParts = 32 // of a product that is written out

// ready parts the coordinates into neighbours that relations join, and tells the ready-made set
// of each; false if one has none.
func ready(exact []discover.Relation, dim int, columns []discover.Column) ([]part, bool) {
	group := make([]int, dim) // of each coordinate: the first one that it is joined to
	for j := range group {
		group[j] = j
	}
	for _, q := range exact {
		least := slices.MinFunc(q.Columns, func(a, b int) int { return group[a] - group[b] })
		to := group[least]
		for _, j := range q.Columns {
			if old := group[j]; old != to {
				for k := range group {
					if group[k] == old {
						group[k] = to
					}
				}
			}
		}
	}
	var parts []part
	for at := 0; at < dim; {
		end := at + 1
		for end < dim && group[end] == group[at] {
			end++
		}
		if group[at] != at { // it is joined to one before its neighbours
			return nil, false
		}
		if slices.Contains(group[end:], group[at]) {
			return nil, false
		}
		var own []discover.Relation
		for _, q := range exact {
			if group[q.Columns[0]] == group[at] {
				own = append(own, q)
			}
		}
		word, yaml := one(own, at, end-at, columns)
		if yaml == "" {
			return nil, false
		}
		if n := len(parts); n > 0 && word == "free" && parts[n-1].word == "free" {
			parts[n-1].dim += end - at
			parts[n-1].yaml = fmt.Sprintf("{kind: euclidean, dim: %d}", parts[n-1].dim)
		} else {
			parts = append(parts, part{at, end - at, yaml, word})
		}
		at = end
	}
	return parts, len(parts) <= maxParts
}

// one tells the ready-made set of coordinates at to at+dim−1 that these relations are about, in a word and as YAML;
// both are empty if there is none.
func one(own []discover.Relation, at, dim int, columns []discover.Column) (word, yaml string) {
	if len(own) == 0 {
		return "free", fmt.Sprintf("{kind: euclidean, dim: %d}", dim)
	}
	first := own[0]
	all := func(kinds ...string) bool {
		return !slices.ContainsFunc(own, func(q discover.Relation) bool { return !slices.Contains(kinds, q.Kind) })
	}
	alone := len(own) == 1 && len(first.Columns) == dim
	switch {
	case first.Kind == discover.Orthonormal:
		return matrix(own, at, dim)
	case alone && all(discover.Circle, discover.Norm):
		word, radius := "sphere", ""
		if dim == 2 {
			word = "circle"
		}
		if first.Value != 1 {
			radius = ", radius: " + number(first.Value)
		}
		return word, fmt.Sprintf("{kind: sphere, dim: %d%s}", dim, radius)
	case alone && all(discover.Ellipsoid):
		axes := make([]float64, dim)
		for k, t := range first.Terms {
			axes[k] = t.Coefficient
		}
		return "ellipsoid", fmt.Sprintf("{kind: ellipsoid, axes: [%s]}", list(axes))
	case alone && all(discover.Torus) && dim == 3:
		return "torus", fmt.Sprintf("{kind: torus, major: %s, minor: %s}", number(first.Terms[0].Coefficient),
			number(first.Value))
	case alone && dim == 2 && all(discover.Quadratic, discover.Polynomial) && first.Terms != nil:
		var terms []string
		for _, t := range first.Terms {
			powers := [2]int{}
			for k, j := range t.Columns {
				powers[j-at] = t.Powers[k]
			}
			if t.Coefficient != 0 {
				terms = append(terms, fmt.Sprintf("[%s, %d, %d]", number(t.Coefficient), powers[0], powers[1]))
			}
		}
		return "plane curve", fmt.Sprintf("{kind: curve, terms: [%s]}", strings.Join(terms, ", "))
	case alone && dim > 1 && all(discover.Linear) && first.Value == 1 && shares(first, 2, columns):
		return "simplex", fmt.Sprintf("{kind: simplex, dim: %d}", dim)
	case all(discover.Linear, discover.Constant):
		if slices.ContainsFunc(own, func(q discover.Relation) bool { return parts(q, columns) }) {
			return "", "" // an affine set does not keep its numbers from being negative
		}
		return affine(own, at, dim)
	case slices.ContainsFunc(own, func(q discover.Relation) bool { return q.Kind == discover.Distance }):
		return chain(own, at, dim)
	}
	return "", ""
}

func matrix(own []discover.Relation, at, dim int) (word, yaml string) {
	m := own[0].Matrix
	if m == nil || slices.ContainsFunc(own, func(q discover.Relation) bool { return q.Matrix != m }) ||
		m.Scale != 1 || m.Stride != m.P || m.At != at || m.N*m.P != dim {
		return "", ""
	}
	switch {
	case m.N == m.P && m.Negative == 0:
		return "rotation", fmt.Sprintf("{kind: special_orthogonal, n: %d}", m.N)
	case m.N == m.P:
		return "orthogonal matrix", fmt.Sprintf("{kind: orthogonal, n: %d}", m.N)
	case m.Columns:
		return "matrix with orthonormal columns", fmt.Sprintf("{kind: stiefel, n: %d, p: %d}", m.N, m.P)
	}
	return "", ""
}

func affine(own []discover.Relation, at, dim int) (word, yaml string) {
	var a []string
	var b []float64
	for _, q := range own {
		row := make([]float64, dim)
		if q.Kind == discover.Constant {
			row[q.Columns[0]-at] = 1
		}
		for _, t := range q.Terms {
			if len(t.Columns) == 1 {
				row[t.Columns[0]-at] = t.Coefficient
			}
		}
		a, b = append(a, "["+list(row)+"]"), append(b, q.Value)
	}
	if word = "plane"; dim == 1 {
		word = "constant"
	}
	return word, fmt.Sprintf("{kind: affine, a: [%s], b: [%s]}", strings.Join(a, ", "), list(b))
}

// chain tells whether distances are those of a chain of points, one after the other.
func chain(own []discover.Relation, at, dim int) (word, yaml string) {
sizes:
	for _, b := range []int{3, 2} {
		if dim%b != 0 || dim < 2*b {
			continue
		}
		bonds, zero := make([]float64, dim/b-1), 0
		for _, q := range own {
			k := (q.Columns[len(q.Columns)-1] - at) / b
			switch {
			case q.Kind == discover.Constant && q.Value == 0 && q.Columns[0] < at+b:
				zero++
			case q.Kind == discover.Distance && len(q.Columns) == 2*b && q.Columns[0] == at+(k-1)*b:
				bonds[k-1] = q.Value
			case (q.Kind == discover.Norm || q.Kind == discover.Circle) && len(q.Columns) == b && q.Columns[0] == at+b:
				bonds[0] = q.Value
			default:
				continue sizes
			}
		}
		if slices.Contains(bonds, 0) || zero != 0 && zero != b {
			continue
		}
		yaml = "{kind: chain"
		if b != 3 {
			yaml += fmt.Sprintf(", dim: %d", b)
		}
		if yaml += ", bonds: [" + list(bonds) + "]"; zero > 0 {
			yaml += ", anchored: true"
		}
		return "chain", yaml + "}"
	}
	return "", ""
}

func product(d *Draft, parts []part) []string {
	count, order := map[string]int{}, []string{}
	for _, p := range parts {
		if count[p.word] == 0 {
			order = append(order, p.word)
		}
		count[p.word]++
	}
	var words []string
	for _, w := range order {
		if n := count[w]; n > 1 {
			w = fmt.Sprintf("%d × %s", n, w)
		}
		words = append(words, w)
	}
	d.Set = strings.Join(words, ", ")
	if len(parts) == 1 {
		return []string{parts[0].yaml}
	}
	d.Set = "a product: " + d.Set
	lines := []string{"", "  product:"}
	for _, p := range parts {
		lines = append(lines, fmt.Sprintf("    - %s  # %s", p.yaml, span(p.at, p.dim)))
	}
	return lines
}

func span(at, dim int) string {
	if dim == 1 {
		return fmt.Sprintf("x[%d]", at)
	}
	return fmt.Sprintf("x[%d] to x[%d]", at, at+dim-1)
}

// formulas writes the set as formulas.
func (l *loaded) formulas(d *Draft, r *discover.Report) []string {
	lines := []string{"", fmt.Sprintf("  dim: %d", r.Dim)}
	if len(d.Holds) > 0 {
		lines = append(lines, "  equality:")
	}
	for _, p := range d.Holds {
		lines = append(lines, "    - "+p.flow()+"  # "+cmp.Or(p.Note, "round-off")+": "+p.residual())
	}
	var kept []string
	var signs []discover.Relation
	for _, j := range l.nonnegative(r) {
		signs = append(signs, discover.Written("x[@0] >= 0", "share", j))
	}
	for _, f := range discover.Families(signs) {
		kept = append(kept, "    - "+flow(f.Name, f.For, f.Expr)+"}  # parts of a whole")
	}
	held := len(signs)
	for _, q := range r.Inequalities {
		p := Proposal{Name: q.Name, Expr: q.Expr, Note: fmt.Sprintf("all rows keep it, the nearest by %.3g", q.Least+0)}
		if q.Outside > 0 {
			p.Note = fmt.Sprintf("%d rows do not keep it, by %.3g at most", q.Outside, q.Worst)
			p.Rows = l.used(q.First[:min(len(q.First), listed)])
		}
		d.Given = append(d.Given, p)
		line := "    - " + p.flow() + "  # " + p.Note
		if q.Outside > 0 {
			line = "  # " + line
		} else {
			held++
		}
		kept = append(kept, line)
	}
	active := slices.ContainsFunc(kept, func(s string) bool { return !strings.HasPrefix(s, "  #") })
	if active {
		lines = append(lines, "  inequality:")
	} else if len(kept) > 0 {
		lines = append(lines, "  # inequality:")
	}
	lines = append(lines, kept...)
	l.name(d, lines)
	d.Set = "formulas: " + text.Plural(r.Dim-d.SetDim, "equation")
	if held > 0 {
		d.Set += ", " + text.Counted(held, "inequality", "inequalities")
	}
	if len(d.Holds) == 0 && !active {
		d.Set = fmt.Sprintf("R^%d: no relation holds to round-off", r.Dim)
		return append([]string{fmt.Sprintf("{kind: euclidean, dim: %d}", r.Dim)}, lines[2:]...)
	}
	return lines
}

var (
	coordinates = regexp.MustCompile(`\bx\[(\d+)(?::(\d+))?\]`) // one, or some neighbours, in a formula
	words       = regexp.MustCompile(`[\p{L}\p{Nd}_]+`)
	allOfRow    = regexp.MustCompile(`\bx\b([^\[]|$)`)
)

// symbols returns the names of the coordinates' columns, without units and with _ for spaces, if the file has a header
// and formulas can use all of these.
func (l *loaded) symbols() (names []string) {
	const most = 60
	for _, j := range l.coordinate {
		name, _, _ := strings.Cut(strings.ReplaceAll(l.names[j], "[", "("), "(")
		names = append(names, strings.Join(strings.Fields(name), "_"))
	}
	if l.survey.Header == nil || len(names) > most || !usable(slices.Concat(names, l.given, []string{"i", "j"})) {
		return nil
	}
	return names
}

// name lets the formulas of a set, which are lines after the first two, call coordinates by their symbols.
func (l *loaded) name(d *Draft, lines []string) {
	var let []string
	if d.symbols = l.symbols(); d.symbols == nil {
		return
	}
	for k, name := range d.symbols {
		let = append(let, fmt.Sprintf("%q: \"x[%d]\"", name, k))
	}
	for k := range lines[2:] {
		lines[2+k] = d.named(lines[2+k])
	}
	lines[1] += "\n  let: {" + strings.Join(let, ", ") + "}"
}

// named puts names of columns into formulas: for runs of neighbours that are short, too.
func (d *Draft) named(text string) string {
	if d.symbols == nil {
		return text
	}
	return named(text, d.symbols, len(d.symbols))
}

// named puts symbols into a formula. Longer runs stay as they are if they end before column own.
func named(text string, symbols []string, own int) string {
	return coordinates.ReplaceAllStringFunc(text, func(place string) string {
		const longest = 3
		m := coordinates.FindStringSubmatch(place)
		from, _ := strconv.Atoi(m[1])
		to, err := strconv.Atoi(m[2])
		if err != nil {
			return symbols[from]
		}
		if to-from > longest && to <= own {
			return place
		}
		return "[" + strings.Join(symbols[from:to], ", ") + "]"
	})
}

// flow writes a proposal as YAML does a component.
func (p Proposal) flow() string {
	if p.yaml != "" {
		return p.yaml
	}
	return flow(p.Name, p.For, p.Expr) + "}"
}

// flow begins an entry of a list of formulas.
func flow(name, family, expr string) string {
	s := "{name: " + strconv.Quote(name)
	if family != "" {
		s += ", for: " + strconv.Quote(family)
	}
	return s + ", expr: " + strconv.Quote(expr)
}

func (p Proposal) residual() string { return fmt.Sprintf("max %.2g, rms %.2g", p.Max, p.RMS) }
