// Package discover looks at rows of numbers for what they all keep: constant columns, linear and quadratic relations,
// unit vectors and circles, distances between points, orthonormal matrices, sums. What it finds are proposals, each a
// formula with its residual on the rows; nothing is assumed.
//
// It works without units: a column that is multiplied by a number, or moved, has the same relations with the same
// residuals. It is deterministic, and its work is bounded whatever the table.
//
// It does not search for relations of high degree in many coordinates, nor for inequalities (it reports only the bounds
// of the data), nor for laws: densities and correlations are no relations.
package discover

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/text"
)

// A Table is N rows of D finite numbers, row-major: the coordinates of points.
type Table struct {
	X    []float64
	N, D int
	// Shape is that of a row, whose product is D, such as {10, 3} of ten atoms; nil: D numbers.
	Shape []int
	Names []string // of columns, where the file has them
	// Molecule is whose conformations the rows are, three coordinates an atom; nil: no molecule's.
	Molecule *molecule.Molecule
}

// Bounds of the search. A larger table is refused, or its rows are thinned.
const (
	FewestRows = 2 * spare // distinct ones without outliers, below which relations are not looked for
	MaxDim     = 5000      // coordinates in which relations are looked for
	maxRows    = 100_000   // rows that quartiles of columns and relations are estimated from
	// Terms of a nearly kept relation that is still reported: as many as a quadratic one of four coordinates has.
	longestNear = 14
	// Relations that are measured and taken at a time.
	maxCandidates = 2048
	// Relations that are nearly kept, above which no more polynomials of that sort are proposed.
	maxNear = 100
)

// Largest is the size of numbers, and its inverse the least one, among which relations are looked for.
const Largest = 1e20

// What counts as what.
const (
	// Near is the largest residual of a reported relation (root mean square, of rows that were not fitted to): rows lie
	// within a fiftieth of their spread of it.
	Near = 0.02
	// Roundoff is the residual below which a relation holds to round-off in numbers of
	// double precision: what iterations to a tolerance leave counts too.
	Roundoff = 1e-8
	// Steady is the range of a column, beside the spread of the others (100 at most), up to which it is constant.
	Steady = 1e-10
	// slack is how many times the last place of a file's numbers the residual of a relation
	// that holds to round-off may be.
	slack = 4
	// informative is the largest round-off, relative to the rows' spread, at which a relation
	// may be said to hold to it: two decimals of a number between 0 and 1 prove nothing.
	informative = 1e-3
	// spare is how many distinct rows beyond the parameters a fit needs, and how many that were not fitted to it is
	// held against. Rows of independent Gaussian numbers then have no relation, but with a chance below 10⁻⁹: the
	// residual of one fixed combination has a χ² law, P(χ²_m ≤ m·Near²) < 10⁻²⁵ for the m ≥ 18 rows that are left of
	// spare by trimming, and there are at most 10⁷ combinations of fixed form.
	spare = 20
)

// A Relation is a formula h(x) = 0 that rows keep, or nearly.
type Relation struct {
	Kind    string // one of the Kind constants
	Name    string // for messages
	Expr    string // in the language of sets of formulas, over x
	Columns []int  // which it is about, ascending

	// Residuals are distances to {h = 0} in units of the rows' spread, to first order:
	// |h(x)| / (Σ_j (∂h/∂x_j s_j)²)^½, s_j being the standard deviation of column j, or the size
	// of its numbers where it does not vary. Violation is the largest |h(x)| itself.
	Max, RMS, Violation float64
	// Roundoff is the residual that rounding explains.
	Roundoff float64
	// Exact relations hold on all rows to round-off.
	Exact bool
	// Rounded ones are exact as far as the decimals of the numbers tell, which are too few to tell it by themselves:
	// plain numbers stand in them, and rows are off them as rounding would have it.
	Rounded bool
	// Exceptions are the rows, from 0, in which one does not that holds in at least 99 % of them; the first of them.
	Exceptions     []int
	ExceptionCount int

	Value   float64     // the constant: a radius, a distance, a sum
	Terms   []Term      // of polynomials: Σ c x^a = 0; of a torus its larger radius alone
	Matrix  *Orthogonal // of what relation belongs to a matrix
	form    form
	vague   bool      // of many fits alike: it is not said to hold, whatever its residual
	settled bool      // its gradients are among those of the span
	only    bool      // report it only if it is exact, or rounded
	few     bool      // of a formula, or a distance from a centre: its numbers have few digits
	alt     *Relation // the same with less round numbers, for where these do not do
	// Gradients at the rows of the span, in units of the rows' spread: rows × Columns.
	gradient []float64
	near     float64 // root mean square of rows that were not fitted to, without the worst 1 %
}

// A Term is Coefficient · Π_k x[Columns[k]]^Powers[k]; the constant one has no columns.
type Term struct {
	Coefficient float64
	Columns     []int
	Powers      []int
}

// Kinds of relations.
const (
	Constant    = "constant"    // a column
	Linear      = "linear"      // in the coordinates
	Circle      = "circle"      // two coordinates at a constant distance from 0
	Norm        = "norm"        // several neighbours likewise
	Distance    = "distance"    // between two blocks of coordinates
	Orthonormal = "orthonormal" // rows or columns of a matrix
	Torus       = "torus"
	Ellipsoid   = "ellipsoid" // semi-axes are coefficients of Terms
	Quadratic   = "quadratic"
	Polynomial  = "polynomial" // of higher degree
	Formula     = "formula"    // linear in cosines and sines, or in products of complex numbers
)

// Orthogonal is a matrix whose rows, or columns, are orthonormal but for a factor.
type Orthogonal struct {
	At, N, P int     // its first coordinate; rows and columns
	Stride   int     // from a row to the next
	Columns  bool    // the columns are orthonormal, not the rows
	Scale    float64 // their length
	// Of square matrices: how many have a positive determinant, and a negative one.
	Positive, Negative int
}

// A Report is what a table keeps.
type Report struct {
	Rows, Dim, Distinct int
	Relations           []Relation // independent ones: exact ones first, then by residual
	// Follow is how many others were found that follow from those.
	Follow   int
	Matrices []*Orthogonal // of exact relations
	// Given are the formulas that were given, and Inequalities what of them are such.
	Given        []Relation
	Inequalities []Inequality
	Bounds       []Bound
	// Of a molecule: its bonds, angles and dihedrals.
	Outliers []Outlier
	// OutlierCount is how many rows have one.
	OutlierCount int
	// Fills is how many dimensions the rows fill near a row, by distances to the nearest two
	// others; NaN where there are too few.
	Fills   float64
	Remarks []string // what was not looked for, and why
}

// Exact returns the relations that hold to round-off.
func (r *Report) Exact() []Relation {
	return slices.DeleteFunc(slices.Clone(r.Relations), func(q Relation) bool { return !q.Exact })
}

// An Error says why a table is not looked at.
type Error struct{ Fault string }

func (e *Error) Error() string { return "discover: " + e.Fault }

// Look looks for relations in a table. It measures the given formulas, "left = right" over x, first. It reports no
// relation that follows from them, and compares the inequalities among them with the rows. The error is an *Error, or a
// *GivenError about one of the formulas.
func Look(t Table, given ...string) (*Report, error) {
	switch size := product(t.Shape); {
	case t.N < 1 || t.D < 1 || len(t.X) != t.N*t.D:
		return nil, &Error{fmt.Sprintf("%d numbers; expected %d rows of %d", len(t.X), t.N, t.D)}
	case t.Shape != nil && size != t.D:
		return nil, &Error{fmt.Sprintf("rows of shape %d have %d numbers; expected %d", t.Shape, size, t.D)}
	case t.Molecule != nil && t.Molecule.Dim() != t.D:
		return nil, &Error{fmt.Sprintf("rows of %d numbers; expected %d, of %d atoms", t.D, t.Molecule.Dim(),
			t.Molecule.N())}
	case t.D > MaxDim:
		return nil, &Error{fmt.Sprintf("%d coordinates; expected at most %d", t.D, MaxDim)}
	}
	for _, v := range t.X {
		if v-v != 0 {
			return nil, &Error{"a number is not finite"}
		}
	}
	known := newSurvey(t)
	s := &search{survey: known, span: newSpan(known)}
	for _, text := range given {
		if err := s.given(text); err != nil {
			return nil, err
		}
	}
	s.run()
	return s.report(), nil
}

func product(shape []int) int {
	p := 1
	for _, n := range shape {
		p *= n
	}
	return p
}

// A survey is a table with what stages need to know of its columns and rows.
type survey struct {
	Table
	columns  []Column
	scale    []float64 // s_j: standard deviations, or the size of numbers that do not vary
	last     []float64 // half of the last place of each column's numbers
	fine     float64   // relative tolerance within which a plain number may stand for a fitted one
	varies   []int     // columns that are not constant
	outliers []Outlier
	odd      map[int]bool // rows that have an outlier
	first    []int        // distinct rows: those that equal no earlier one
	fit      []int        // rows that relations are fitted to
	held     []int        // rows that they are held against
	all      []int        // 0, 1, …
	scratch  *scratch
}

// A search goes through the kinds of relations, from those of fixed form to those with many parameters. It measures
// what its stages offer, and has what was taken.
type search struct {
	*survey
	span *span // gradients of what was accepted

	exact, near []*Relation
	almost      []*Relation // at most twice as far as is near
	powers      []*Relation // near ones that are powers of something simpler
	asked       []*Relation
	follow      int
	remarks     []string
	crowded     bool // more polynomials are nearly kept than were measured
	matrices    []*Orthogonal
	unequal     []Inequality
}

func newSurvey(t Table) *survey {
	s := &survey{Table: t, odd: map[int]bool{}, scratch: newScratch(t.D)}
	for i := range t.N {
		s.all = append(s.all, i)
	}
	s.columns = Columns(t.X, t.N, t.D)
	for j, c := range s.columns {
		s.last = append(s.last, c.Last)
		if c.Constant() {
			s.scale = append(s.scale, max(math.Abs(c.Max), math.Abs(c.Min)))
			if c.Zero {
				s.scale[j] = typicalSpread(s.columns, j)
			}
			if s.scale[j] == 0 {
				s.scale[j] = 1
			}
			continue
		}
		s.scale, s.varies = append(s.scale, c.SD), append(s.varies, j)
	}
	s.fine = min(1e-6, max(1e-9, 10*s.rounding(s.varies)))
	s.findOutliers()
	s.choose()
	return s
}

// run goes through the stages. Each offers relations; those that hold to round-off and do not
// follow from others are taken at once, and the nearly kept wait until all of those are known.
func (s *search) run() {
	if s.Molecule == nil { // where a conformation lies is no relation of it
		s.constants()
	}
	if len(s.varies) == 0 {
		return
	}
	for j, c := range s.columns {
		if size := max(math.Abs(c.Min), math.Abs(c.Max)); size > Largest || size > 0 && size < 1/Largest {
			s.addRemark("x[%d] is up to %.2g in size, and powers of it leave what numbers can be: relations were not "+
				"looked for. Bring it to a unit in which it is about 1", j, size)
			return
		}
	}
	if len(s.fit) < spare || len(s.held) < spare {
		s.addRemark("%d distinct rows are too few to look for relations: expected at least %d", len(s.first), 2*spare)
		return
	}
	if s.Molecule != nil {
		return
	}
	s.wholeMatrices()
	s.matrixBlocks()
	s.circles()
	s.norms()
	s.distances()
	s.tori()
	s.linear()
	s.phasors()
	s.balls()
	s.polynomials()
	s.settle()
}

func (s *search) addRemark(format string, v ...any) {
	s.remarks = append(s.remarks, fmt.Sprintf(format, v...))
}

// offer measures relations on all rows and takes, in their order, those that hold to
// round-off and do not follow from what was taken before.
func (s *search) offer(all []*Relation) (taken int) {
	for candidates := range slices.Chunk(all, maxCandidates) {
		taken += s.sift(candidates)
	}
	return taken
}

// sift is offer of at most maxCandidates relations.
func (s *search) sift(candidates []*Relation) (taken int) {
	const longest = 12000 // bytes of a formula: package expr takes 16 KiB, and refined numbers are longer
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(r *Relation) bool {
		if len(r.Expr) > longest {
			s.addRemark("a %s relation of %d bytes is too long for a formula", r.Kind, len(r.Expr))
		}
		return len(r.Expr) > longest
	})
	s.measure(candidates)
	s.refine(candidates)
	for _, r := range candidates {
		switch {
		case r.Exact && s.span.add(r, min(dependent, max(1e-4, 1e4*r.Roundoff))): // of fine numbers gradients are fine
			s.exact = append(s.exact, r)
			taken++
		case r.Exact:
			s.follow++
		case r.ExceptionCount > 0 && s.span.add(r, dependent): // h·(x − its x) vanishes on a bad row, too
			r.settled = true
			s.near = append(s.near, r)
		case r.near > 2*Near || r.only && !r.Rounded:
		case r.near > Near:
			s.almost = append(s.almost, r)
		case s.span.power(r):
			s.powers = append(s.powers, r)
		default:
			s.near = append(s.near, r)
		}
	}
	return taken
}

// refine replaces relations by the same with less round numbers where that is much better.
func (s *search) refine(candidates []*Relation) {
	for {
		var alts []*Relation
		var at []int
		for k, r := range candidates {
			if !r.Exact && r.alt != nil {
				alts, at = append(alts, r.alt), append(at, k)
			}
		}
		if len(alts) == 0 {
			return
		}
		s.measure(alts)
		for k, alt := range alts {
			old := candidates[at[k]]
			if alt.Exact || alt.near < 0.8*old.near {
				candidates[at[k]] = alt
				continue
			}
			old.alt = alt.alt
		}
	}
}

// settle takes of the relations that are nearly kept those that do not nearly follow from others, the best first.
func (s *search) settle() {
	s.roots()
	// A power h^k of a relation is a k-th of its distance off: more parameters must do much better.
	bucket := func(r *Relation) int {
		cost := 1.0
		switch r.Kind {
		case Quadratic, Ellipsoid:
			cost = 10
		case Polynomial:
			cost = 100
		}
		return int(math.Floor(2 * math.Log10(cost*r.near+1e-300)))
	}
	slices.SortStableFunc(s.near, func(a, b *Relation) int { return bucket(a) - bucket(b) })
	for _, r := range s.asked {
		if !r.Exact && r.near <= Near {
			s.span.add(r, nearlyDependent)
		}
	}
	var kept []*Relation
	long := 0
	for _, r := range s.near {
		switch {
		case !r.settled && !s.span.add(r, nearlyDependent):
			s.follow++
		case len(r.Terms) > longestNear+1:
			long++
		case r.Rounded:
			r.Exact = true
			s.exact = append(s.exact, r)
		default:
			kept = append(kept, r)
		}
	}
	if s.crowded {
		s.addRemark("rows are near very many polynomials: after %d relations only exact ones were looked for", maxNear)
	}
	if long > 0 {
		s.addRemark("%s of more than %d terms, nearly kept, not listed", text.Plural(long, "relation"), longestNear)
	}
	s.near = kept
}

func (s *search) report() *Report {
	r := &Report{Rows: s.N, Dim: s.D, Distinct: len(s.first), Follow: s.follow, Matrices: s.matrices,
		Outliers: s.outliers, OutlierCount: len(s.odd), Remarks: s.remarks}
	if s.Molecule == nil {
		r.Bounds = s.bounds()
	}
	for _, q := range append(slices.Clone(s.exact), s.near...) {
		r.Relations = append(r.Relations, *q)
	}
	for _, q := range s.asked {
		r.Given = append(r.Given, *q)
	}
	r.Fills, r.Inequalities = s.fills(), s.unequal
	return r
}
