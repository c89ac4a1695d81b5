package draft

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/discover"
)

// An Observed is an entry of observe: numbers of a point whose laws are to be compared.
type Observed struct {
	Name     string `json:"name"`
	For      string `json:"for,omitempty"`
	Expr     string `json:"expr"`
	Unit     string `json:"unit,omitempty"`
	Circular bool   `json:"circular,omitempty"`
	Turn     bool   `json:"degrees,omitempty"` // a circle of 360
}

// mostObserved is how many numbers are proposed: each is a histogram that somebody looks at.
const mostObserved = 8

// observing gathers proposals until there are enough.
type observing struct {
	list    []Observed
	left    int
	columns []discover.Column
	seen    map[int]bool // coordinates that some proposed number is a function of
}

// look records the coordinates of a proposed number.
func (w *observing) look(at ...int) {
	for _, j := range at {
		w.seen[j] = true
	}
}

// add adds numbers of one form, families as such, as far as there is room.
func (w *observing) add(like Observed, numbers ...discover.Relation) {
	numbers = numbers[:min(len(numbers), w.left)]
	w.left -= len(numbers)
	for _, f := range discover.Families(numbers) {
		o := like
		o.Name, o.For, o.Expr = f.Name, f.For, f.Expr
		stem, rest, _ := strings.Cut(f.Name, "[")
		for n := 2; slices.ContainsFunc(w.list, func(q Observed) bool { return collide(q, o) }); n++ {
			if o.Name = fmt.Sprintf("%s %d", stem, n); rest != "" {
				o.Name += "[" + rest
			}
		}
		w.list = append(w.list, o)
	}
}

// collide reports whether two entries have a name in common, or may have: a family has all of a stem.
func collide(a, b Observed) bool {
	if a.For == "" && b.For == "" {
		return a.Name == b.Name
	}
	stem, _, _ := strings.Cut(a.Name, "[")
	other, _, _ := strings.Cut(b.Name, "[")
	return stem == other
}

// observe proposes numbers that mean something on the set found: the energy test in raw coordinates hardly sees
// torsions, angles between parts, or shares. Kinds of data that have numbers of their own get none.
func (l *loaded) observe(d *Draft, r *discover.Report) []Observed {
	if l.kind != "points" || l.molecule != nil || r.Dim < 2 {
		return nil
	}
	w := &observing{left: mostObserved, columns: l.columns, seen: map[int]bool{}}
	exact := r.Exact()
	if n := symmetric(exact, r.Dim); n > 0 {
		w.symmetric(n)
	}
	w.matrices(r)
	w.points(exact, r.Dim)
	w.circles(exact)
	for _, q := range exact {
		at := slices.Min(append(slices.Clone(q.Columns), r.Dim))
		switch {
		case q.Kind == discover.Torus:
			w.add(Observed{Unit: "rad", Circular: true},
				discover.Written("atan2(x[@0+1], x[@0])", "around the hole", at),
				discover.Written(fmt.Sprintf("atan2(x[@0+2], norm(x[@0:@0+2]) - %s)", number(q.Terms[0].Coefficient)),
					"around the tube", at))
			w.look(q.Columns...)
		case q.Kind == discover.Ellipsoid && len(q.Columns) == 2 && q.Columns[1] == at+1 && !w.seen[at]:
			w.add(Observed{Unit: "rad", Circular: true}, discover.Written("atan2(x[@0+1], x[@0])", "angle", at))
			w.look(q.Columns...)
		case (q.Kind == discover.Norm || q.Kind == discover.Ellipsoid) && len(q.Columns) == 3 &&
			q.Columns[2] == at+2 && !w.seen[at]:
			w.add(Observed{Unit: "rad", Circular: true}, discover.Written("atan2(x[@0+1], x[@0])", "longitude", at))
			w.add(Observed{}, discover.Written("x[@0+2]", "height", at))
			w.look(q.Columns...)
		case q.Kind == discover.Linear && shares(q, 3, l.columns):
			w.shares(q)
			w.look(q.Columns...)
		}
	}
	w.units(exact)
	for k := range l.coordinate {
		if l.seam[k] && !w.seen[k] {
			o := Observed{Unit: "rad", Circular: true}
			if c := l.columns[k]; c.Max-c.Min > 2*math.Pi+0.1 {
				o.Unit, o.Turn = "°", true
			}
			w.add(o, discover.Written("x[@0]", "angle", k))
			w.look(k)
		}
	}
	if len(w.list) == 0 { // principal components do as well, and need no words
		return nil
	}
	for k, c := range l.columns { // what the numbers above do not tell of
		bound := slices.ContainsFunc(exact, func(q discover.Relation) bool { return slices.Contains(q.Columns, k) })
		if !w.seen[k] && !bound && !c.Constant() {
			w.add(Observed{}, discover.Written("x[@0]", "coordinate", k))
		}
	}
	return l.finite(d, w.list)
}

// matrices proposes numbers of rotations, and of two rotations the angle between them by its cosine.
func (w *observing) matrices(r *discover.Report) {
	for i, m := range r.Matrices {
		for a := range m.N {
			for b := range m.P {
				w.look(m.At + a*m.Stride + b)
			}
		}
		if m.N != m.P || m.Scale != 1 {
			continue
		}
		diagonal := make([]string, m.N)
		for a := range diagonal {
			diagonal[a] = fmt.Sprintf("x[@0+%d]", a*(m.Stride+1))
		}
		w.add(Observed{}, discover.Written(strings.Join(diagonal, " + "), "trace", m.At))
		if m.N == 3 {
			w.add(Observed{Unit: "rad", Circular: true},
				discover.Written(fmt.Sprintf("atan2(x[@0+%d], x[@0])", m.Stride), "heading", m.At))
			w.add(Observed{}, discover.Written(fmt.Sprintf("x[@0+%d]", 2*(m.Stride+1)), "tilt", m.At))
		} else if m.N > 3 && m.Stride == m.P && m.N*m.P == r.Dim {
			for _, k := range metric.TracePowers[1:] { // those of the paper; k = 1 stands above
				w.add(Observed{}, discover.Written(fmt.Sprintf("let A = reshape(x, %d, %[1]d); trace(%s)", m.N,
					strings.Repeat("*A", k)[1:]), fmt.Sprintf("trace of power %d", k)))
			}
		}
		if i > 0 && r.Matrices[i-1].N == m.N && m.Stride == m.P && r.Matrices[i-1].Stride == m.P {
			w.add(Observed{}, discover.Written(fmt.Sprintf("dot(x[@0:@0+%d], x[@1:@1+%[1]d])", m.N*m.P),
				"trace of one turned back by the other", r.Matrices[i-1].At, m.At))
		}
	}
}

// points proposes internal coordinates of points that fixed distances join: torsions, angles,
// how far its ends are from each other; in the plane directions of bonds, and by what angle the next one turns, which
// is of a sign: one that is not takes a linkage for its mirror image.
func (w *observing) points(exact []discover.Relation, dim int) {
	b := 0
	fixed := map[[2]int]bool{}
	for _, q := range exact {
		if q.Kind == discover.Distance {
			b = len(q.Columns) / 2
			fixed[[2]int{q.Columns[0] / b, q.Columns[b] / b}] = true
		}
	}
	if b != 2 && b != 3 || dim%b != 0 {
		return
	}
	n := dim / b
	near := make([][]int, n)
	for i := range n {
		for j := range n {
			if fixed[[2]int{min(i, j), max(i, j)}] {
				near[i] = append(near[i], j)
			}
		}
	}
	var torsions, angles []discover.Relation
	place := func(k int) string { return fmt.Sprintf("x[@%d:@%[1]d+%d]", k, b) }
	for i := range n { // paths of three bonds and of two, from every point
		for _, j := range near[i] {
			for _, k := range near[j] {
				if k == i {
					continue
				}
				if i < k && len(angles) < 64 && !fixed[[2]int{i, k}] {
					angles = append(angles, discover.Written(fmt.Sprintf("angle(%s, %s, %s)", place(0), place(1),
						place(2)), "angle", b*i, b*j, b*k))
				}
				for _, m := range near[k] {
					if m != j && m != i && j < k && len(torsions) < 64 {
						torsions = append(torsions, discover.Written(fmt.Sprintf("dihedral(%s, %s, %s, %s)", place(0),
							place(1), place(2), place(3)), "torsion", b*i, b*j, b*k, b*m))
					}
				}
			}
		}
	}
	if b == 2 {
		w.plane(near)
	}
	if len(angles) == 0 {
		return
	}
	for j := range dim {
		w.look(j)
	}
	// The two points that the most bonds are between.
	far, from, to := 0, 0, 0
	for i := range n {
		bonds := bondsFrom(i, near)
		for j := range n {
			if bonds[j] > far {
				far, from, to = bonds[j], i, j
			}
		}
	}
	if b == 3 {
		w.add(Observed{Unit: "rad", Circular: true}, torsions[:min(len(torsions), 6)]...)
	}
	if far > 1 {
		w.add(Observed{}, discover.Written(fmt.Sprintf("distance(%s, %s)", place(0), place(1)), "across", b*from, b*to))
	}
	if b == 3 {
		w.add(Observed{Unit: "rad"}, angles[:min(len(angles), max(1, w.left-1))]...)
	}
}

// plane proposes directions of bonds between points of the plane, of each point's neighbours, and angles
// between bonds that follow each other.
func (w *observing) plane(near [][]int) {
	const turn = "let u = x[@1:@1+2] - x[@0:@0+2]; let v = x[@2:@2+2] - x[@1:@1+2]; " +
		"atan2(u[0]*v[1] - u[1]*v[0], dot(u, v))"
	var directions, turns []discover.Relation
	for i := range near {
		for _, j := range near[i] {
			w.look(2*i, 2*i+1, 2*j, 2*j+1)
			if i < j {
				directions = append(directions, discover.Written("let u = x[@1:@1+2] - x[@0:@0+2]; atan2(u[1], u[0])",
					"direction", 2*i, 2*j))
			}
			for _, k := range near[j] {
				if i < k && len(turns) < 64 {
					turns = append(turns, discover.Written(turn, "turn", 2*i, 2*j, 2*k))
				}
			}
		}
	}
	w.add(Observed{Unit: "rad", Circular: true}, turns[:min(len(turns), 4)]...)
	w.add(Observed{Unit: "rad", Circular: true}, directions[:min(len(directions), 3)]...)
}

// circles proposes the angles of cosines and sines, and where a sum over one of the two is
// fixed, as of an arm whose tip keeps a height, that over the other.
func (w *observing) circles(exact []discover.Relation) {
	partner := map[int]int{}
	var angles []discover.Relation
	for _, q := range exact {
		if q.Kind != discover.Circle || len(q.Columns) != 2 {
			continue
		}
		i, j := q.Columns[0], q.Columns[1]
		partner[i], partner[j] = j, i
		w.look(i, j)
		if j == i+1 {
			angles = append(angles, discover.Written("atan2(x[@0+1], x[@0])", "angle", i))
		} else {
			angles = append(angles, discover.Written("atan2(x[@1], x[@0])", "angle", i, j))
		}
	}
	var sums []discover.Relation
	for _, q := range exact {
		if q.Kind != discover.Linear || len(q.Columns) < 2 {
			continue
		}
		var parts []string
		for _, t := range q.Terms {
			if len(t.Columns) != 1 {
				continue
			}
			j, is := partner[t.Columns[0]]
			if !is {
				parts = nil
				break
			}
			term := fmt.Sprintf("x[%d]", j)
			if t.Coefficient != 1 {
				term = number(t.Coefficient) + "*" + term
			}
			parts = append(parts, term)
		}
		if len(parts) > 1 {
			sums = append(sums, discover.Written(strings.ReplaceAll(strings.Join(parts, " + "), "+ -", "- "), "reach"))
		}
	}
	room := max(0, w.left-min(len(sums), 2))
	w.add(Observed{Unit: "rad", Circular: true}, angles[:min(len(angles), room)]...)
	w.add(Observed{}, sums[:min(len(sums), 2)]...)
}

// shares reports whether a relation says that least numbers or more, which are not negative, sum up to a constant.
func shares(q discover.Relation, least int, columns []discover.Column) bool {
	n := 0
	for _, t := range q.Terms {
		if len(t.Columns) == 1 {
			if t.Coefficient != 1 || columns[t.Columns[0]].Min < 0 {
				return false
			}
			n++
		}
	}
	return n >= least
}

// shares proposes parts of a whole, and the logarithms of their ratios where none is 0.
func (w *observing) shares(q discover.Relation) {
	var parts, ratios []discover.Relation
	for k, j := range q.Columns {
		parts = append(parts, discover.Written("x[@0]", "share", j))
		if k > 0 && w.columns[j].Min > 0 && w.columns[q.Columns[k-1]].Min > 0 {
			ratios = append(ratios, discover.Written("log(x[@1]/x[@0])", "log-ratio", q.Columns[k-1], j))
		}
	}
	w.add(Observed{}, parts[:min(len(parts), 5)]...)
	w.add(Observed{}, ratios[:min(len(ratios), 3)]...)
}

// units proposes the angle between vectors of constant norm and one length, by its cosine.
func (w *observing) units(exact []discover.Relation) {
	var units []discover.Relation
	for _, q := range exact {
		if n := len(q.Columns); q.Kind == discover.Norm && n >= 2 && q.Columns[n-1] == q.Columns[0]+n-1 {
			units = append(units, q)
		}
	}
	var out []discover.Relation
	for k := 1; k < len(units); k++ {
		if a, b := units[k-1], units[k]; len(a.Columns) == len(b.Columns) {
			out = append(out, discover.Written(fmt.Sprintf("dot(x[@0:@0+%d], x[@1:@1+%[1]d])", len(a.Columns)), "along",
				a.Columns[0], b.Columns[0]))
		}
	}
	w.add(Observed{}, out[:min(len(out), 3)]...)
}

// finite leaves out what has no value at some row, or only one.
func (t *sheet) finite(d *Draft, list []Observed) (out []Observed) {
	const rows = 500
	dim := len(t.coordinate)
	var x []float64
	step := max(1, t.n/rows)
	n := 0
	for i := 0; i < t.n; i += step {
		x, n = append(x, t.x[i*dim:(i+1)*dim]...), n+1
	}
	for _, o := range list {
		text := fmt.Sprintf("set: {kind: euclidean, dim: %d}\nobserve:\n  - %s\n", dim, o.flow())
		p, err := problem.Load([]byte(text), "the draft", "", nil)
		if err != nil {
			d.note("the number %s is not proposed: %v", o.Expr, err)
			continue
		}
		numbers, err := p.Observables(dim)
		if err != nil {
			d.note("the number %s is not proposed: %v", o.Expr, err)
			continue
		}
		width := len(numbers.List)
		v := make([]float64, n*width)
		numbers.Values(v, x, n)
		serves := true
		for k := range width {
			least, most := math.Inf(1), math.Inf(-1)
			for i := range n {
				u := v[i*width+k]
				serves = serves && u-u == 0
				least, most = min(least, u), max(most, u)
			}
			serves = serves && most-least > 1e-9*max(math.Abs(least), math.Abs(most))
		}
		if serves {
			out = append(out, o)
		}
	}
	return out
}

// flow writes an entry as YAML does.
func (o Observed) flow() string {
	s := flow(o.Name, o.For, o.Expr)
	if o.Unit != "" {
		s += ", unit: " + strconv.Quote(o.Unit)
	}
	if o.Circular {
		s += ", circular: true"
	}
	if o.Turn {
		s += ", range: [0, 360]"
	}
	return s + "}"
}
