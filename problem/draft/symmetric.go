package draft

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/problem/discover"
)

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
