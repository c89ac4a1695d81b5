package problems

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A View is another way to write down the rows of a problem: a model of it should be the same, to
// the noise of its training. Rows are x = c Q y of the problem's y: Q turns about the origin, c is
// how many times larger lengths are. The zero value is the problem itself.
type View struct {
	Name     string
	Unit     float64 // c; 1 if 0
	Turned   bool    // by a rotation Q of all coordinates, the problem's own; else Q = I
	Shuffled bool    // rows in another order, so that others are held out
}

// Views returns the views, in the order of a table.
func Views() []View {
	return []View{{Name: "itself"}, {Name: "larger", Unit: 1000}, {Name: "smaller", Unit: 0.001},
		{Name: "turned", Turned: true}, {Name: "shuffled", Shuffled: true}}
}

// A ViewError says that a problem cannot be seen so, or that there is no such view.
type ViewError struct{ View, Problem string }

func (e *ViewError) Error() string {
	if e.Problem == "" {
		var names []string
		for _, v := range Views() {
			names = append(names, v.Name)
		}
		return fmt.Sprintf("there is no view %q; expected names of %s", e.View, strings.Join(names, ", "))
	}
	var names []string
	for _, p := range All() {
		if p.formulas() != "" {
			names = append(names, p.Name)
		}
	}
	return fmt.Sprintf("the set of %s has no formulas, so that it cannot be seen %s; expected some of %s", e.Problem,
		e.View, strings.Join(names, ", "))
}

// Seen returns the problems, each in these views; none is the problem itself. The error is a *ViewError.
func Seen(some []Problem, names []string) ([]Problem, error) {
	if len(names) == 0 {
		return some, nil
	}
	var out []Problem
	for _, p := range some {
		for _, name := range names {
			all := Views()
			k := slices.IndexFunc(all, func(v View) bool { return v.Name == name })
			if k < 0 {
				return nil, &ViewError{View: name}
			}
			q, err := p.In(all[k])
			if err != nil {
				return nil, err
			}
			out = append(out, q)
		}
	}
	return out, nil
}

// formulas returns the set by formula, "" if it has none.
func (p *Problem) formulas() string {
	if strings.HasPrefix(strings.TrimSpace(p.set), "dim:") {
		return p.set
	}
	return p.formula
}

// coordinates are what formulas call the point: x, but as a word of its own.
var coordinates = regexp.MustCompile(`\bx\b`)

// In returns the problem in a view. Where it is moved its formulas are of y = Qᵀx/c. The error is
// a *ViewError.
func (p *Problem) In(v View) (Problem, error) {
	if v == (View{Name: v.Name}) {
		return *p, nil
	}
	q := *p
	q.Name, q.of, q.view = p.Name+"-"+v.Name, p, v
	q.About = p.About + ", " + v.Name
	if v.Unit == 0 && !v.Turned {
		return q, nil
	}
	set := p.formulas()
	if set == "" {
		return Problem{}, &ViewError{v.Name, p.Name}
	}
	set, q.observe = coordinates.ReplaceAllString(set, "y"), coordinates.ReplaceAllString(p.observe, "y")
	y := fmt.Sprintf("x/%v", v.unit())
	if v.Turned {
		var rows []string
		turn := p.turn()
		for j := range p.Dim { // of Qᵀ
			row := make([]float64, p.Dim)
			for i := range row {
				row[i] = turn[i*p.Dim+j]
			}
			rows = append(rows, literal(row))
		}
		y = fmt.Sprintf("([%s]*x)/%v", strings.Join(rows, ", "), v.unit())
	}
	if head, rest, has := strings.Cut(set, "\nlet: {"); has {
		q.set = fmt.Sprintf("%s\nlet: {y: %q, %s", head, y, rest)
	} else {
		line := fmt.Sprintf("dim: %d\n", p.Dim)
		q.set = strings.Replace(set, line, fmt.Sprintf("%slet: {y: %q}\n", line, y), 1)
	}
	return q, nil
}

func (v View) unit() float64 {
	if v.Unit == 0 {
		return 1
	}
	return v.Unit
}

// turn returns Q, Dim×Dim and row-major, a function of the problem's name: rows of independent
// normal numbers, made orthonormal in turn, which has Haar's law. It may mirror.
func (p *Problem) turn() []float64 {
	q, d := make([]float64, p.Dim*p.Dim), p.Dim
	s := p.stream(0, 0)
	for i := range d {
		row := q[i*d : (i+1)*d]
		s.Normals(row, uint64(i), 0)
		for range 2 { // twice is enough
			for k := range i {
				dense.Axpy(row, -dense.Dot(row, q[k*d:(k+1)*d]), q[k*d:(k+1)*d])
			}
			scale(row, 1/dense.Norm(row))
		}
	}
	return q
}

// seen draws rows of the problem that p is a view of, and moves them.
func (p *Problem) seen(ctx context.Context, pool *parallel.Pool, seed, batch uint64, n int) ([]float64, error) {
	y, err := p.of.Draw(ctx, pool, seed, batch, n)
	if err != nil {
		return nil, err
	}
	d := p.Dim
	if p.view.Shuffled {
		order := make([]int, n)
		p.stream(seed, batch).Permutation(order, 0, 0)
		x := make([]float64, 0, len(y))
		for _, i := range order {
			x = append(x, y[i*d:(i+1)*d]...)
		}
		y = x
	}
	if p.view.Turned {
		q, row := p.of.turn(), make([]float64, d)
		for i := range n {
			x := y[i*d : (i+1)*d]
			copy(row, x)
			for j := range x {
				x[j] = dense.Dot(q[j*d:(j+1)*d], row)
			}
		}
	}
	if c := p.view.unit(); c != 1 {
		scale(y, c)
	}
	return y, nil
}
