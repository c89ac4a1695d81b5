package draft

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem/discover"
)

// moleculeSet writes what a chemist would ask of a molecule: bonds, angles, rings, hands and sides of double bonds as
// the rows have them. Turns about single bonds are free.
func (l *loaded) moleculeSet(o Options, d *Draft) []string {
	c := look(l.molecule, l.x)
	d.Holds, d.Nearly, d.Molecule = []Proposal{}, []Proposal{}, &c.Chemistry
	d.Molecule.Formula, d.Molecule.LeftOut, d.Molecule.Apart = l.formula, l.hydrogens, c.apart()
	if gap := c.gap(); gap < minima {
		d.note("half of the conformations repeat another within %.1g Å: they were relaxed to minima, so samples can "+
			"only repeat these. For shapes at a temperature use frames of dynamics (docs/tutorial-conformers.md)", gap)
	}
	path := cmp.Or(o.Template, o.Clean, l.data)
	lines := []string{"", "  kind: molecule", "  template: " + strconv.Quote(pathFrom(l.folder, path))}
	if l.hydrogens > 0 {
		lines = append(lines, fmt.Sprintf("  heavy: true  # without %s; atoms are counted from 0 among the others "+
			"(landing init --atoms all keeps them)", text.Plural(l.hydrogens, "hydrogen")))
	}
	lines = append(lines, internal, "  bonds: template")
	if o.Template != "" { // its bonds may lie outside of the ranges of the rows
		delete(c.lines, "distances")
	}
	for _, key := range []string{"rigid", "chirality", "distances", "angles", "dihedrals"} {
		if of := c.lines[key]; len(of) > 0 {
			lines = append(lines, "  "+key+":")
			for _, line := range of {
				lines = append(lines, "    - "+line)
			}
		}
	}
	d.Set = fmt.Sprintf("a molecule of %d atoms: %s", l.molecule.N(), strings.Join(c.Chemistry.kept(), "; "))
	free := comment("  ", "Left free: %s.", strings.Join(c.Chemistry.free(), "; "))
	return append(lines, strings.TrimSuffix(free, "\n"))
}

const internal = `  coordinates: internal  # torsions and angles; bonds and rigid groups by construction
  angle_unit: 12  # degrees of an angle that count as much as 1 rad of a torsion
  tilt: true  # one angle tilts a rigid group as a whole`

// kept says what the set keeps.
func (c *Chemistry) kept() []string {
	return append(append(append([]string{"bond lengths"}, counted("flat ring", c.Rings)...),
		counted("stereocentre", c.Centres)...), counted("stiff bond", c.Windows)...)
}

// free says what it leaves free.
func (c *Chemistry) free() []string {
	said := append(counted("rotor", c.Rotors), counted("flexible ring", c.Loose)...)
	if said == nil {
		said = []string{"no bond turns"}
	}
	return append(said, c.Ambiguous...)
}

// counted says how many there are, and names the first.
func counted(what string, of []string) []string {
	const most = 12
	if len(of) == 0 {
		return nil
	}
	return []string{text.Plural(len(of), what) + ": " + sequence(of[:min(len(of), most)], len(of))}
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
func (t *sheet) semidefinite(d *Draft, n int) {
	const most = 6
	if n > most {
		return
	}
	least := make([]float64, n+1)
	for k := 2; k <= n; k++ {
		least[k] = math.Inf(1)
		a := make([]float64, k*k)
		for r := range t.n {
			for i := range k {
				copy(a[i*k:(i+1)*k], t.x[r*n*n+i*n:])
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
