package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/discover"
)

// remedy is what brings data to Σ.
const remedy = "landing refine brings rows that are near the set to it"

// checkFeasible refuses data that is not feasible, and remarks on what is hardly.
func checkFeasible(ctx context.Context, p *problem.Problem, set constraint.Set, data *dataset.Points,
	pool *parallel.Pool) (remark string, err error) {
	name := dataName(p, data)
	fault, remark := offSet(ctx, p, set, data, pool)
	if i := unselected(set, data.X); fault == "" && i >= 0 {
		fault = fmt.Sprintf("row %d (from 0) is not in %s, where %s", i, constraint.Name(set),
			set.Capabilities().Selection)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if fault != "" {
		return "", badData(name, "%s", fault)
	}
	if remark != "" {
		remark = name + ": " + remark
	}
	return remark, nil
}

// remarks says what of data that can be learned is odd, after what was remarked of its rows.
func remarks(p *problem.Problem, proc *langevin.Process, data *dataset.Points, rows string) (out []string) {
	if k, ok := kinds.WithEnds(proc.Set); ok && k.Data != p.Data.Kind {
		out = append(out, fmt.Sprintf("data.kind is %s, so that samples are compared, drawn "+
			"and written as plain numbers; data.kind=%s knows what the set's are", p.Data.Kind, k.Data))
	}
	if rows != "" {
		out = append(out, rows)
	}
	_, angles := seams(p, proc.Set, data)
	for _, remark := range []string{onEdges(proc.Walked(), data), atOnePoint(data), angles} {
		if remark != "" {
			out = append(out, dataName(p, data)+": "+remark)
		}
	}
	return out
}

// offSet says which row is the first that is further from Σ than data.tolerance, in the
// components' own units, or where that is auto than a share of the data's spread; or else what
// is to be remarked of rows that are nearer, but not there to rounding.
func offSet(ctx context.Context, p *problem.Problem, set constraint.Set, data *dataset.Points,
	pool *parallel.Pool) (fault, remark string) {
	if p.Data.Tolerance.IsAuto() {
		return apart(ctx, set, data, pool)
	}
	return checkTolerance(set, data, float64(p.Data.Tolerance)), ""
}

// checkTolerance says which rows violate a component by more than tol, "" if none does.
func checkTolerance(set constraint.Set, data *dataset.Points, tol float64) string {
	names, values := constraint.Components(set), constraint.Values(set, data.X)
	rows, first, worst := 0, metric.Violation{}, metric.Violation{}
	for i := range data.N {
		v := judge.Largest(metric.Violations(names, values[i*len(names):(i+1)*len(names)], 1, len(set.Equalities())))
		if v.WorstSample = i; !(float64(v.Worst) > tol) {
			continue
		}
		if rows++; rows == 1 {
			first = v
		}
		if v.Worst > worst.Worst {
			worst = v
		}
	}
	if rows == 0 {
		return ""
	}
	if fault := undefined(set, data, first.WorstSample, float64(first.Worst)); fault != "" {
		return fault
	}
	fault := fmt.Sprintf("row %d (from 0) violates %q by %.3g; expected at most data.tolerance = %g",
		first.WorstSample, first.Component, first.Worst, tol)
	if rows > 1 {
		fault += fmt.Sprintf(". Of %d rows %d do, row %d the most, %q by %.3g", data.N, rows, worst.WorstSample,
			worst.Component, worst.Worst)
	}
	return fault + "; " + remedy
}

// apart says which rows are further from Σ than evidence.Far of their spread, or else how far
// those are that rounding does not explain; "" if none is.
func apart(ctx context.Context, set constraint.Set, data *dataset.Points, pool *parallel.Pool) (fault, remark string) {
	f, names := evidence.Feasible(ctx, set, data.X, pool), constraint.Components(set)
	first, worst, rows := f.Beyond(evidence.Far)
	if rows == 0 {
		if _, worst, rows = f.Beyond(f.Rounded()); rows > 0 {
			remark = fmt.Sprintf("%d of %d rows are further from the set than double precision explains; row %d "+
				"(from 0) the most, %q by %.3g: %s. Samples will lie on it; %s", rows, data.N, worst,
				names[f.Gaps[worst].Component], f.Gaps[worst].Excess, f.Tell(worst), remedy)
		}
		return "", remark
	}
	g := f.Gaps[first]
	if fault := undefined(set, data, first, g.Excess); fault != "" {
		return fault, ""
	}
	what := fmt.Sprintf("violates %q by %.3g", names[g.Component], g.Excess)
	if g.Excess == 0 {
		what = fmt.Sprintf("is where %q cannot be followed", names[g.Component])
	}
	fault = fmt.Sprintf("row %d (from 0) %s: %s; expected at most %g %%", first, what, f.Tell(first), 100*evidence.Far)
	if rows > 1 {
		w := f.Gaps[worst]
		fault += fmt.Sprintf(". Of %d rows %d are further, row %d the most, %q by %.3g: %s", data.N, rows, worst,
			names[w.Component], w.Excess, f.Tell(worst))
	}
	return fault + ". Are the set's numbers in the data's unit, and its coordinates in the order of the columns? " +
		remedy + "; a data.tolerance, in the unit of the constraint, allows more", ""
}

// atOnePoint returns a warning if one row is so frequent in the data that the law has mass at one point, else "".
func atOnePoint(data *dataset.Points) string {
	const share, fewest = 20, 5                        // one row in share, and at least fewest rows
	count, first := map[uint64]int{}, map[uint64]int{} // of rows that are equal, by their hash
	for i := range data.N {
		h := discover.Hash(data.X[i*data.D : (i+1)*data.D])
		if count[h]++; count[h] == 1 {
			first[h] = i
		}
	}
	worst, most := -1, max(fewest, data.N/share)
	for h, n := range count {
		if n > most || n == most && worst >= 0 && first[h] < worst {
			worst, most = first[h], n
		}
	}
	if worst < 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rows are one and the same point (row %d, from 0, is one). Samples have a density and "+
		"will lie near this point, not on it; training does not change that. If it stands for something else, such as "+
		"a missing value, leave these rows out", most, data.N, worst)
}

// undefined says what a set of formulas cannot compute at row i, whose excess is infinite.
func undefined(set constraint.Set, data *dataset.Points, i int, excess float64) string {
	fault := set.Capabilities().Fault
	if fault == nil || !math.IsInf(excess, 1) {
		return ""
	}
	if err := fault(data.X[i*data.D : (i+1)*data.D]); err != nil {
		return fmt.Sprintf("row %d (from 0): %v", i, err)
	}
	return ""
}

// unselected returns the first row of x that the set does not select, or −1.
func unselected(set constraint.Set, x []float64) int {
	selects := set.Capabilities().Selects
	if selects == nil {
		return -1
	}
	d := set.Dim()
	for i := range len(x) / d {
		if !selects(x[i*d : (i+1)*d]) {
			return i
		}
	}
	return -1
}

// onEdges returns a warning if rows of the data lie on the edges of inequalities, else "". The law then has a part
// without a density, and samples smear this part.
func onEdges(set constraint.Set, data *dataset.Points) string {
	const nearly = 0.9 // share of rows from which landing check reports that the inequality acts as an equality
	names, worst, many, most := set.Inequalities(), -1, 0, 0
	all, n := evidence.OnWalls(set, data.X)
	for j, on := range all {
		if !evidence.Walled(on, n) || float64(on) > nearly*float64(n) {
			continue
		}
		if many++; on > most {
			worst, most = j, on
		}
	}
	if worst < 0 {
		return ""
	}
	more := ""
	if many > 1 {
		more = fmt.Sprintf(", and rows on those of %d more", many-1)
	}
	return fmt.Sprintf("%s of the rows lie exactly on the edge of %q%s: samples have a density and will lie beside "+
		"it. Where that matters, learn such rows apart, on the set with an equality in its place",
		text.Percent(float64(most)/float64(n)), names[worst], more)
}

// seams returns the coordinates of plain points that take all angles of a circle, and a warning with the command that
// turns these coordinates into circles. The model does not know that such a coordinate comes round. A coordinate of an
// equality does not count: Σ determines where it lies.
func seams(p *problem.Problem, set constraint.Set, data *dataset.Points) (coordinates []int, says string) {
	if p.Data.Kind != "points" || len(set.Equalities()) > 0 || len(p.Condition.Columns) > 0 || p.Data.Path == "" {
		return nil, ""
	}
	var names, columns []string
	unit := ""
	for _, s := range discover.Seams(data.X, data.N, data.D) {
		coordinates = append(coordinates, s.Column)
		names = append(names, fmt.Sprintf("x[%d]", s.Column))
		columns = append(columns, fmt.Sprint(s.Column))
		unit = s.Unit
	}
	if coordinates == nil {
		return nil, ""
	}
	const shown = 4
	if more := len(names) - shown; more > 0 {
		names = append(slices.Clone(names[:shown]), fmt.Sprintf("%d more", more))
	}
	are, they := "take", "they come"
	if len(coordinates) == 1 {
		are, they = "takes", "it comes"
	}
	base := strings.TrimSuffix(filepath.Base(p.Data.Path), filepath.Ext(p.Data.Path)) + "-angles"
	return coordinates, fmt.Sprintf("%s %s all angles of a circle, in %s, and the set does not know that %s round: "+
		"what lies across the seam is far apart. If they are angles: landing init %s --angles %s --clean %s -o %s",
		strings.Join(names, ", "), are, unit, they, text.Shell(p.Data.Path), strings.Join(columns, ","),
		text.Shell(base+".csv"), text.Shell(base+".yaml"))
}

// seamFindings is what the doctor says of them.
func seamFindings(p *problem.Problem, set constraint.Set, data *dataset.Points) []check.Finding {
	coordinates, says := seams(p, set, data)
	if coordinates == nil {
		return nil
	}
	return []check.Finding{{Check: "angles", Status: check.Warn, Message: says,
		Numbers: check.Numbers{"columns": float64(len(coordinates))}}}
}

// Refined is data that was brought to Σ: rows near it, moved to it.
type Refined struct {
	Data   string `json:"data"`
	Points int    `json:"points"` // that there were
	Kept   int    `json:"kept"`
	Stuck  int    `json:"stuck"` // rows from which Σ was not reached

	// Left are the rows that were left out, by the component that was violated most.
	Left []Left `json:"left"`

	Moved struct {
		Median metric.Float `json:"median"`
		Worst  metric.Float `json:"worst"`
		Row    int          `json:"row"`  // of the data, that moved furthest
		Unit   string       `json:"unit"` // Domain.Unit; "": that of the data
	} `json:"moved"` // ‖Δx‖ of the rows that were kept, of molecules the root mean square over atoms
	Violation metric.Float `json:"violation"` // the worst after it

	Dim    int            `json:"dim"`
	X      []float64      `json:"-"` // the rows that were kept, in the data's order
	Domain *domain.Domain `json:"-"`
}

// Left is how many rows were left out for a component.
type Left struct {
	Component string       `json:"component"`
	Rows      int          `json:"rows"`
	Worst     metric.Float `json:"worst"`
}

// Refine brings the rows of the problem's data to Σ that violate no equality by more than within, and no inequality by
// more than data.tolerance, or where that is auto by more than the share of their spread that data may be off: rows
// outside would all come to the edge, where the data has none. Errors are those of Load, but for data that is not
// feasible, one of data where no row is left, and one that names a row that would move beyond the bounds.
func Refine(ctx context.Context, p *problem.Problem, within, move float64, pool *parallel.Pool) (*Refined,
	error) {
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	set := proc.Set
	data, err := readData(ctx, p, p.DataKind, set)
	if err != nil {
		return nil, err
	}
	r := &Refined{Data: dataName(p, data), Points: data.N, Dim: data.D}
	near := r.near(p, set, data.X, within)
	x := data.Rows(near)
	far, err := descend(ctx, set, x, pool)
	if err != nil {
		return nil, err
	}
	var moved, from []float64
	var rows []int
	for i, row := range near {
		if math.IsInf(far[i], 1) {
			r.Stuck++
			continue
		}
		moved, rows = append(moved, far[i]), append(rows, row)
		r.X = append(r.X, x[i*r.Dim:(i+1)*r.Dim]...)
		from = append(from, data.X[row*r.Dim:(row+1)*r.Dim]...)
	}
	if r.Kept = len(moved); r.Kept == 0 {
		return nil, badData(r.Data, "none of %d rows can be brought to Σ: %s", r.Points, r.Losses())
	}
	names, v := constraint.Components(set), constraint.Values(set, r.X)
	r.Violation = judge.Largest(metric.Violations(names, v, r.Kept, len(set.Equalities()))).Worst
	brought := &dataset.Points{X: r.X, N: r.Kept, D: r.Dim}
	if fault, _ := offSet(ctx, p, set, brought, pool); fault != "" {
		return nil, badData(r.Data, "of the rows that were brought to Σ, %s", fault)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	in := domain.Input{Set: set, Data: r.X, Train: r.X, Files: p.Files(), Pool: pool, Molecule: data.Molecule,
		Remarks: data.Remarks}
	given := newCondition(p.Condition.Columns, r.X, r.Dim)
	if data.Molecule != nil {
		in.Set, in.Data = withoutCondition(set, given.Names), given.points(r.X)
		in.Train = in.Data
	}
	if r.Domain, err = p.DataKind.New(in); err != nil {
		return nil, err
	}
	if data.Molecule != nil && given.Names != nil {
		r.Domain = given.domain(r.Domain, r.X)
	}
	r.Moved.Unit = r.Domain.Unit
	for i := range moved {
		moved[i] *= cmp.Or(r.Domain.PerUnit, 1)
	}
	r.Moved.Median, r.Moved.Worst = metric.Float(metric.Median(slices.Clone(moved))), metric.Float(slices.Max(moved))
	r.Moved.Row = rows[slices.Index(moved, float64(r.Moved.Worst))]
	if m := data.Molecule; m != nil && m.Dim() == in.Set.Dim() && move > 0 {
		err = r.bounded(move, m, moved, from, rows)
	}
	return r, err
}

// mostTurn is how far a torsion may turn, in radians: conformers lie further apart.
const mostTurn = math.Pi / 3

// bounded returns an error that names the row that would move furthest to another conformer: by more than move, the
// root mean square over atoms in Å, or a torsion by more than mostTurn.
func (r *Refined) bounded(move float64, m *molecule.Molecule, moved, from []float64, rows []int) error {
	most, says, many := 0.0, "", 0
	for i, far := range moved {
		t, by := m.Turned(from[i*r.Dim:(i+1)*r.Dim], r.X[i*r.Dim:(i+1)*r.Dim])
		beyond := max(far/move, by/mostTurn)
		if beyond > 1 {
			many++
		}
		if beyond > most {
			most, says = beyond, fmt.Sprintf("row %d (from 0) would move by %.3g %s and turn the torsion "+
				"%s–%s–%s–%s by %.0f°", rows[i], far, r.Domain.Unit, m.Label(t[0]), m.Label(t[1]), m.Label(t[2]),
				m.Label(t[3]), by*180/math.Pi)
		}
	}
	if many == 0 {
		return nil
	}
	return badData(r.Data, "%s; %d of %d rows would move by more than %g Å or turn a torsion by more than 60°, to "+
		"other conformers. The set asks for values, such as those of one template, that these rows do not have: "+
		"ranges in their place keep rows where they are; --move 0 allows any", says, many, len(moved), move)
}

// descend brings points to Σ by Newton steps, and returns ‖Δx‖ of each, ∞ where Σ is not reached.
func descend(ctx context.Context, set constraint.Set, x []float64, pool *parallel.Pool) ([]float64, error) {
	d, selects, was := set.Dim(), set.Capabilities().Selects, slices.Clone(x)
	moved, solvers := make([]float64, len(x)/d), make([]*geometry.Solver, pool.Workers())
	return moved, pool.DoUntil(ctx, len(moved), func(worker, i int) {
		if solvers[worker] == nil {
			solvers[worker] = geometry.NewSolver(set, 0).Until(ctx)
		}
		xi := x[i*d : (i+1)*d]
		moved[i] = math.Inf(1)
		if solvers[worker].Descend(xi, evidence.Tolerance) && (selects == nil || selects(xi)) {
			moved[i] = math.Sqrt(dense.SquaredDistance(was[i*d:(i+1)*d], xi))
		}
	})
}

// near returns the rows that are to be brought to Σ, and counts the others.
func (r *Refined) near(p *problem.Problem, set constraint.Set, x []float64, within float64) (rows []int) {
	names, v := constraint.Components(set), constraint.Values(set, x)
	m, c := len(set.Equalities()), len(names)
	auto, ruler, far := p.Data.Tolerance.IsAuto(), geometry.NewRuler(set), evidence.FarOf(set, x)
	left := map[int]*Left{}
	for i := range r.Points {
		worst, at := 0.0, -1
		var singles []float64
		if auto {
			singles = ruler.Singles(x[i*r.Dim : (i+1)*r.Dim])
		}
		for k, value := range v[i*c : (i+1)*c] {
			e := constraint.Excess(value, k < m)
			ok := e <= within
			switch {
			case k >= m && auto:
				ok = singles[k] <= far
			case k >= m:
				ok = e <= float64(p.Data.Tolerance)
			}
			if !ok && !(e <= worst) {
				worst, at = e, k
			}
		}
		if at < 0 {
			rows = append(rows, i)
			continue
		}
		if left[at] == nil {
			left[at] = &Left{Component: names[at]}
		}
		left[at].Rows++
		left[at].Worst = max(left[at].Worst, metric.Float(worst))
	}
	for k := range names {
		if l := left[k]; l != nil {
			r.Left = append(r.Left, *l)
		}
	}
	return rows
}

// Losses says which rows were left out, and why.
func (r *Refined) Losses() string {
	var out []string
	for _, l := range r.Left {
		out = append(out, fmt.Sprintf("%d violate %q too much, by up to %.3g", l.Rows, l.Component, l.Worst))
	}
	if r.Stuck > 0 {
		out = append(out, fmt.Sprintf("from %d the way to Σ is not found", r.Stuck))
	}
	if out == nil {
		return "no row is left out"
	}
	return strings.Join(out, "; ")
}
