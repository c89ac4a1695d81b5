package draft

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/problem/discover"
)

// moleculeSet writes conditions on a molecule: those that hold to round-off, and as comments what
// is nearly kept and where dihedrals stop suddenly.
func (l *loaded) moleculeSet(d *Draft, r *discover.Report) []string {
	lines := []string{"", "  kind: molecule"}
	if l.template {
		lines = append(lines, "  template: "+strconv.Quote(pathFrom(l.folder, l.data)))
	} else {
		lines = append(lines, fmt.Sprintf("  atoms: %d", l.molecule.N()))
	}
	keys := map[string]string{discover.Distance: "distances", discover.Angle: "angles", discover.Dihedral: "dihedrals"}
	entry := func(q discover.Relation) string {
		list := fmt.Sprint(q.Atoms())
		return fmt.Sprintf("{name: %s, atoms: %s, value: %s}", strconv.Quote(q.Kind+strings.ReplaceAll(list, " ", ",")),
			strings.ReplaceAll(list, " ", ", "), number(q.Value))
	}
	d.Holds, d.Nearly = []Proposal{}, []Proposal{}
	conditions := 0
	for _, key := range []string{"distances", "angles", "dihedrals"} {
		var own []string
		for _, q := range r.Relations {
			if keys[q.Kind] != key {
				continue
			}
			text := entry(q)
			p := Proposal{Name: q.Name, Expr: q.Expr, Max: q.Max, RMS: q.RMS, yaml: text}
			if q.Exact {
				own = append(own, "    - "+text+"  # round-off: "+p.residual())
				d.Holds = append(d.Holds, p)
				conditions++
				continue
			}
			p.Note = "under set." + key
			d.Nearly = append(d.Nearly, p)
		}
		if len(own) > 0 {
			lines = append(append(lines, "  "+key+":"), own...)
		}
	}
	slices.SortStableFunc(d.Nearly, func(a, b Proposal) int { return cmp.Compare(a.RMS, b.RMS) })
	var bonds, angles [2]float64
	for _, q := range r.Internals {
		switch len(q.Atoms) {
		case 2:
			bonds[0], bonds[1] = bonds[0]+q.SD, bonds[1]+1
		case 3:
			angles[0], angles[1] = angles[0]+q.SD, angles[1]+1
		case 4:
			if q.Wall && q.Most-q.Least > 1e-2 {
				low, high := roundDown(q.Least, q.Most-q.Least), -roundDown(-q.Most, q.Most-q.Least)
				d.Bounds = append(d.Bounds, Proposal{Name: fmt.Sprint("dihedral", q.Atoms),
					Expr: fmt.Sprintf("%g to %g°", low, high),
					Note: fmt.Sprintf("the data ends suddenly at %.4f and %.4f; under set.dihedrals", q.Least, q.Most),
					yaml: fmt.Sprintf("{atoms: %s, range: [%g, %g]}", strings.ReplaceAll(fmt.Sprint(q.Atoms), " ",
						", "), low,
						high)})
			}
		}
	}
	if bonds[1] > 0 && angles[1] > 0 {
		d.note("%.0f bonds vary by %.2g Å, %.0f angles between them by %.2g° (mean "+
			"standard deviations)", bonds[1], bonds[0]/bonds[1], angles[1], angles[0]/angles[1])
	}
	d.Set = fmt.Sprintf("a molecule of %d atoms with %d conditions", l.molecule.N(), conditions)
	return lines
}

// roundDown returns the roundest number at most a hundredth of a width below v.
func roundDown(v, width float64) float64 {
	for _, unit := range []float64{10, 5, 1, 0.5, 0.1} {
		if w := math.Floor(v/unit) * unit; v-w <= width/100 {
			return w
		}
	}
	return v
}

// pathFrom writes a path as a problem file in the folder means it.
func pathFrom(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(folder, abs)
	if err != nil {
		return abs
	}
	return filepath.ToSlash(rel)
}

// symmetric returns n where points are n×n matrices that are symmetric to round-off; 0 where not.
func symmetric(exact []discover.Relation, dim int) int {
	n := int(math.Round(math.Sqrt(float64(dim))))
	if n < 2 || n*n != dim {
		return 0
	}
	equal := map[[2]int]bool{}
	constant := map[int]float64{}
	for _, q := range exact {
		switch {
		case q.Kind == discover.Constant:
			constant[q.Columns[0]] = q.Value
		case q.Kind == discover.Linear && len(q.Columns) == 2 && q.Value == 0 &&
			q.Terms[0].Coefficient == -q.Terms[1].Coefficient:
			equal[[2]int{q.Columns[0], q.Columns[1]}] = true
		}
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			a, fixed := constant[n*i+j]
			b, also := constant[n*j+i]
			if !equal[[2]int{n*i + j, n*j + i}] && !(fixed && also && a == b) {
				return 0
			}
		}
	}
	return n
}

// minor writes the determinant of the first k rows and columns of an n×n matrix.
func minor(n, k int) string {
	rows := make([]string, k)
	for i := range rows {
		row := make([]string, k)
		for j := range row {
			row[j] = fmt.Sprintf("x[%d]", n*i+j)
		}
		rows[i] = "[" + strings.Join(row, ", ") + "]"
	}
	return "det([" + strings.Join(rows, ", ") + "]) >= 0"
}

// semidefinite proposes that symmetric matrices have no negative eigenvalue, where none of the rows'
// leading minors is negative.
func (l *loaded) semidefinite(d *Draft, n int) {
	const most = 6
	if n > most {
		return
	}
	least := make([]float64, n+1)
	for k := 2; k <= n; k++ {
		least[k] = math.Inf(1)
		a := make([]float64, k*k)
		for r := range l.n {
			for i := range k {
				copy(a[i*k:(i+1)*k], l.x[r*n*n+i*n:])
			}
			least[k] = min(least[k], dense.Eliminate(a, nil, k))
		}
		if !(least[k] >= 0) {
			return
		}
	}
	for k := 2; k <= n; k++ {
		d.Bounds = append(d.Bounds, Proposal{Name: fmt.Sprintf("minor %d", k), Expr: minor(n, k),
			Note: fmt.Sprintf("no row has a negative one, the least is %.3g: all of them make the matrices positive "+
				"semidefinite", least[k])})
	}
}

// symmetric proposes entries above the diagonal that vary, and the determinant.
func (w *observing) symmetric(n int) {
	const most = 6
	for j := range n * n {
		w.look(j)
	}
	var entries []discover.Relation
	for i := range n {
		for j := i + 1; j < n; j++ {
			if !w.columns[n*i+j].Constant() {
				entries = append(entries, discover.Written("x[@0]", "entry", n*i+j))
			}
		}
	}
	w.add(Observed{}, entries[:min(len(entries), most)]...)
	if n <= most {
		w.add(Observed{}, discover.Written(fmt.Sprintf("det(reshape(x, %d, %[1]d))", n), "determinant"))
	}
}
