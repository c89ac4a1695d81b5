package problems

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
)

// A written law is the section "law" of a problem's file: a point x as formulas of independent numbers, u uniform on
// [0, 1) and z standard normal. Points where Keep is negative are drawn again.
type written struct {
	About, Like       string // Like: another file, whose random numbers these are, and law without X
	Rows              int
	Uniforms, Normals int
	Let               yaml.MapSlice // names and formulas; below(v, p) is 1 where v < p, else 0
	X, Keep           string
}

// The problems whose files have a law come behind the others, by name.
func init() {
	entries, _ := files.ReadDir("files")
	for _, e := range entries {
		source, _ := files.ReadFile("files/" + e.Name())
		var f struct {
			Name string
			Law  *written
		}
		if err := yaml.Unmarshal(source, &f); err != nil {
			panic("problems: " + e.Name() + ": " + err.Error())
		} else if f.Law != nil {
			all = append(all, f.Law.problem(f.Name))
		}
	}
	for i, p := range all {
		for _, q := range all {
			if p.row == nil && p.like == q.Name {
				all[i].row, all[i].Dim, all[i].Rows = q.row, q.Dim, q.Rows
			}
		}
	}
}

func (w *written) problem(name string) Problem {
	p := Problem{Name: name, About: w.About, Rows: w.Rows, like: w.Like}
	if w.X == "" {
		return p
	}
	g := expr.NewGraph(w.Uniforms + w.Normals)
	s := expr.NewScope(g)
	let := func(name, formula string) {
		if err := s.Let(name, formula); err != nil {
			panic("problems: " + p.Name + ": " + err.Error())
		}
	}
	let("u", fmt.Sprintf("x[0:%d]", w.Uniforms))
	let("z", fmt.Sprintf("x[%d:%d]", w.Uniforms, g.Dim()))
	let("below(v, p)", "(1 + (p - v)/abs(p - v))/2")
	for _, d := range w.Let {
		let(fmt.Sprint(d.Key), fmt.Sprint(d.Value))
	}
	let("point", w.X)
	if w.Keep == "" {
		w.Keep = "1"
	}
	let("keep", w.Keep)
	point, _ := s.Parse("point")
	keep, _ := s.Parse("keep")
	law, err := g.Compile(point, keep)
	if err != nil {
		panic("problems: " + p.Name + ": " + err.Error())
	}
	p.Dim = point.Size()
	p.row = func(x []float64, d *dice) {
		from, out := make([]float64, g.Dim()), make([]float64, p.Dim+1)
		for out[p.Dim] = -1; out[p.Dim] < 0; {
			for i := range w.Uniforms {
				from[i] = d.uniform()
			}
			d.normals(from[w.Uniforms:])
			law.Values(out, from, 1)
		}
		copy(x, out)
	}
	return p
}
