package discover

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Bound is an end of a number's values that looks like a wall: as many rows lie within a hundredth of the range of
// it as would if there were no edge, and the set found does not itself end there, as a sphere does at its poles.
type Bound struct {
	Column int    // of a coordinate; −1: of another number
	Expr   string // the number
	// Form and At are Expr with places for indices, as of Written.
	Form    string
	At      []int
	Degrees bool // Value and Data are in degrees, Expr in radians
	Upper   bool
	Value   float64 // the wall proposed: a round number just beyond the data's end, or that end
	Data    float64 // the data's end
	Share   float64 // of rows within a hundredth of the range
}

// Written returns a relation of a text in which @0, @1, … stand for indices, for Families.
func Written(text, name string, at ...int) Relation {
	r := *relation("", 0, text, name, at...)
	r.Exact = true
	return r
}

// At returns the indices that a relation was written with.
func (r *Relation) At() []int { return r.form.at }

// An end looks like a wall where wallShare of the rows, wallRows at least, lie within wallWidth of the range, that of
// the middle 96 % over 0.96, of it. A uniform law has 0.01 there, a Gaussian of 1000 rows or more 0.001 and less.
const (
	wallWidth = 0.01
	wallShare = 0.004
	wallRows  = 5
)

// walls tells walls from ends of Σ, the set that exact relations describe.
type walls struct {
	*survey
	exact   []*Relation
	normals *formula.Set // of exact; nil: there are none
	rows    []int        // that were looked at
}

// bounds finds ends of coordinates, and of norms, distances and angles of points that the relations
// tell of, where the data stops suddenly.
func (s *search) bounds() (out []Bound) {
	const rowsAtMost, most = 100_000, 24
	if len(s.first) < 100 { // a row that stands in the data many times is no edge
		return nil
	}
	matrix := map[int]bool{}
	for _, r := range s.exact {
		if r.Kind == Orthonormal {
			for _, j := range r.Columns {
				matrix[j] = true
			}
		}
	}
	rows := some(s.first, rowsAtMost)
	var ends []end
	for _, j := range s.varies {
		if c := s.columns[j]; c.Distinct >= 50 && !matrix[j] {
			v := make([]float64, len(rows))
			for k, i := range rows {
				v[k] = s.X[i*s.D+j]
			}
			ends = append(ends, wallsOf(Bound{Column: j, Form: "x[@0]", At: []int{j}}, v)...)
		}
		if len(ends) > 4*most { // scratch is bounded
			ends = sharpest(ends, 2*most)
		}
	}
	for _, b := range s.derivedNumbers() {
		v := s.evaluate(b.Form, b.At, rows, b.Degrees)
		ends = append(ends, wallsOf(b, v)...)
	}
	looked := sharpest(ends, most)
	if len(looked) < len(ends) {
		s.addRemark("of the ends at which the data stops suddenly the %d sharpest were looked at", most)
	}
	if len(looked) == 0 {
		return nil
	}
	w := &walls{s.survey, s.exact, nil, rows}
	if len(s.exact) > 0 {
		w.normals = s.compile(s.exact)
	}
	for _, e := range looked {
		if w.normals == nil || !w.extreme(e) {
			e.Expr = Written(e.Form, "", e.At...).Expr
			out = append(out, e.Bound)
		}
	}
	return out
}

// An end is a bound with the values that it ends, at the rows looked at.
type end struct {
	Bound
	values []float64
}

func sharpest(ends []end, most int) []end {
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(b.Share, a.Share) })
	return slices.Clone(ends[:min(len(ends), most)])
}

// wallsOf returns the ends of values that look like walls. A number that hardly varies beside its
// size has none: a relation nearly holds.
func wallsOf(b Bound, v []float64) (out []end) {
	least, most := slices.Min(v), slices.Max(v)
	var sorted []float64
	for k := 0; k < len(v); k += max(1, len(v)/2000) {
		sorted = append(sorted, v[k])
	}
	slices.Sort(sorted)
	// Of a law with a long tail the range says little of its other end.
	reach := wallWidth * (quantile(sorted, 0.98) - quantile(sorted, 0.02)) / 0.96
	if !(reach > 1e-4*max(math.Abs(least), math.Abs(most))) || math.IsInf(reach, 0) {
		return nil
	}
	low, high := 0, 0
	for _, u := range v {
		switch {
		case u <= least+reach:
			low++
		case u >= most-reach:
			high++
		}
	}
	for _, e := range []struct {
		upper bool
		at    float64
		count int
	}{{false, least, low}, {true, most, high}} {
		if share := float64(e.count) / float64(len(v)); share >= wallShare && e.count >= wallRows {
			b.Upper, b.Data, b.Share = e.upper, e.at, share
			b.Value = roundBeyond(e.at, reach, e.upper)
			out = append(out, end{b, v})
		}
	}
	return out
}

// derivedNumbers are those, beside the coordinates, whose ends are looked at: the norm of few coordinates, and
// where distances hold the norms of the points, their distances, and angles along what is fixed.
func (s *search) derivedNumbers() (out []Bound) {
	const points = 10
	if s.D < 2 || s.D > 6*points || len(s.matrices) > 0 {
		return nil
	}
	add := func(form string, degrees bool, at ...int) {
		out = append(out, Bound{Column: -1, Form: form, At: at, Degrees: degrees})
	}
	if !slices.ContainsFunc(s.columns, func(c Column) bool { return c.Circle() != "" }) { // no angles
		add("norm(x)", false)
	}
	b := 0
	fixed := map[[2]int]bool{}
	for _, r := range s.exact {
		if r.Kind == Distance && len(r.form.at) == 2 {
			b = len(r.Columns) / 2
			fixed[[2]int{r.form.at[0] / b, r.form.at[1] / b}] = true
		}
	}
	if n := len(s.Shape); b == 0 && n == 2 && (s.Shape[1] == 2 || s.Shape[1] == 3) {
		b = s.Shape[1]
	}
	if b == 0 || s.D/b > points || s.D%b != 0 {
		return out
	}
	n := s.D / b
	for i := range n {
		add(fmt.Sprintf("norm(x[@0:@0+%d])", b), false, b*i)
	}
	bonded := func(i, j int) bool { return fixed[[2]int{min(i, j), max(i, j)}] }
	angled := func(i, j int) bool { // their distance follows an angle
		return slices.ContainsFunc(s.all[:n], func(k int) bool { return bonded(i, k) && bonded(k, j) })
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			if !bonded(i, j) && !angled(i, j) {
				add(fmt.Sprintf("distance(x[@0:@0+%d], x[@1:@1+%[1]d])", b), false, b*i, b*j)
			}
		}
	}
	for j := range n {
		for i := range n {
			for k := i + 1; k < n; k++ {
				if i != j && k != j && bonded(i, j) && bonded(j, k) {
					add(fmt.Sprintf("angle(x[@0:@0+%d], x[@1:@1+%[1]d], x[@2:@2+%[1]d])", b), true, b*i, b*j, b*k)
				}
			}
		}
	}
	return out
}

// evaluate returns a number at rows; 0 where it has no value.
func (s *survey) evaluate(form string, at []int, rows []int, degrees bool) []float64 {
	q := Written(form, "", at...)
	set := s.compile([]*Relation{&q})
	e, out, h := set.NewEvaluator(1), make([]float64, len(rows)), make([]float64, 1)
	for k, i := range rows {
		if e.Values(h, s.row(i), 1); h[0]-h[0] == 0 {
			out[k] = h[0]
		}
		if degrees {
			out[k] *= 180 / math.Pi
		}
	}
	return out
}

// extreme reports whether an end of a number q is one of the set found and no wall: whether Σ ends less than six
// spacings of rows beyond the last one. Of rows that are even up to an extreme the last leaves more with odds of e⁻⁶.
// Of a set with very many equations, where a step to another value of q takes long, it is not known: false.
func (w *walls) extreme(e end) bool {
	const nearest, zone, beyond = 5, 0.1, 6
	const passable = 1e6 // multiply-adds of a step, beside those of the values
	if m, d := float64(len(w.normals.Equalities())), float64(w.D); m*m*(m+d) >= passable {
		return false
	}
	order := slices.Clone(w.all[:len(w.rows)])
	v := func(k int) float64 {
		if e.Upper {
			return -e.values[k]
		}
		return e.values[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v(a), v(b)) })
	first := v(order[0])
	width := zone * math.Abs(v(order[len(order)-1])-first)
	in := nearest
	for in < len(order) && v(order[in]) <= first+width {
		in++
	}
	if in < 2*nearest {
		return false
	}
	at := make([]int, nearest)
	for i, k := range order[:nearest] {
		at[i] = w.rows[k]
	}
	return !w.passes(e, at, beyond*width/float64(in))
}

// passes reports whether Σ goes on beyond an end, by a margin: whether landing brings a row there to where h = 0 and q
// is that far, without leaving the rows' neighbourhood.
func (w *walls) passes(e end, rows []int, margin float64) bool {
	const near, tolerance = 0.2, 1e-9
	to := e.Data - margin
	if e.Upper {
		to = e.Data + margin
	}
	if e.Degrees {
		to *= math.Pi / 180
	}
	q := Written(fmt.Sprintf("(%s) - (%v)", e.Form, to), "", e.At...)
	solver := geometry.NewSolver(w.compile(append(slices.Clone(w.exact), &q)), 0)
	y := make([]float64, w.D)
	for _, i := range rows {
		x := w.X[i*w.D : (i+1)*w.D]
		copy(y, x)
		if !solver.Descend(y, tolerance) {
			continue
		}
		far, of := 0.0, 0.0
		for _, j := range w.varies {
			far += (y[j] - x[j]) * (y[j] - x[j])
			of += w.scale[j] * w.scale[j]
		}
		if far <= near*near*of {
			return true
		}
	}
	return false
}

// An Inequality is g(x) ≤ 0 that was given, on the rows.
type Inequality struct {
	Name, Expr string
	Outside    int     // rows that violate it
	Worst      float64 // by how much at most
	Least      float64 // how far inside the nearest row is that does not
	First      []int   // the first rows that violate it
}

// Given says of a kind that the user gave the formula.
const Given = "given"

// A GivenError says that a formula that was given is none, or has no value on a row.
type GivenError struct {
	Formula string
	Row     int // −1: it is about no row
	Err     error
}

func (e *GivenError) Error() string {
	if e.Row >= 0 {
		return fmt.Sprintf("formula %q at row %d (from 0): %v", e.Formula, e.Row, e.Err)
	}
	return fmt.Sprintf("formula %q: %v", e.Formula, e.Err)
}

func (*GivenError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

func (e *GivenError) Unwrap() error { return e.Err }

// given measures a formula: an equality becomes a relation, which is taken if it holds.
func (s *search) given(text string) error {
	name := fmt.Sprintf("given_%d", len(s.asked)+len(s.unequal)+1)
	spec := formula.Spec{Dim: s.D, Equality: []formula.Component{{Name: name, Expr: text}}}
	set, err := formula.New(spec)
	unequal := false
	if err != nil {
		spec.Equality, spec.Inequality = nil, spec.Equality
		other, also := formula.New(spec)
		if also != nil {
			return &GivenError{text, -1, err}
		}
		set, unequal = other, true
	}
	if n := len(set.Equalities()) + len(set.Inequalities()); n != 1 {
		return &GivenError{text, -1, fmt.Errorf("it stands for %d numbers; expected one", n)}
	}
	h := make([]float64, 1)
	e := set.NewEvaluator(1)
	q := Inequality{Name: name, Expr: text, Least: math.Inf(1)}
	for i := range s.N {
		x := s.row(i)
		e.Values(h, x, 1)
		switch v := h[0]; {
		case v-v != 0:
			if err := set.Fault(x); err != nil {
				return &GivenError{text, i, err}
			}
			return &GivenError{text, i, fmt.Errorf("its value is %v; expected a finite one", v)}
		case v > 0:
			if q.Outside++; len(q.First) < maxExceptions {
				q.First = append(q.First, i)
			}
			q.Worst = max(q.Worst, v)
		default:
			q.Least = min(q.Least, -v)
		}
	}
	if unequal {
		s.unequal = append(s.unequal, q)
		return nil
	}
	r := &Relation{Kind: Given, Name: name, Expr: text}
	part := []*Relation{r}
	own := s.compile(part)
	s.measureOn(part, own, s.all, s.held)
	s.span.gradients(part, own)
	s.asked = append(s.asked, r)
	r.Exact = r.Exact || r.Rounded
	if r.Exact && s.span.add(r, dependent) {
		s.exact = append(s.exact, r)
	} else if r.Exact {
		s.follow++
	}
	return nil
}
