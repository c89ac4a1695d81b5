package problems

import (
	"cmp"
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
		source, err := files.ReadFile("files/" + e.Name())
		var f struct{ Law *written }
		expect(e.Name(), err, yaml.Unmarshal(source, &f))
		if w := f.Law; w != nil {
			p := Problem{Name: e.Name()[:len(e.Name())-len(".yaml")], About: w.About, Rows: w.Rows, like: w.Like}
			if w.X != "" {
				w.law(&p)
			}
			all = append(all, p)
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

// expect panics with the first error: files are a part of the program.
func expect(name string, errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic("problems: " + name + ": " + err.Error())
		}
	}
}

// law sets the dimension and the law of rows.
func (w *written) law(p *Problem) {
	g := expr.NewGraph(w.Uniforms + w.Normals)
	s := expr.NewScope(g)
	expect(p.Name, s.Define("u", g.X().Slice(0, w.Uniforms)), s.Define("z", g.X().Slice(w.Uniforms, g.Dim())),
		s.Let("below(v, p)", "(1 + (p - v)/abs(p - v))/2"))
	for _, d := range w.Let {
		expect(p.Name, s.Let(fmt.Sprint(d.Key), fmt.Sprint(d.Value)))
	}
	point, err := s.Parse(w.X)
	keep, failed := s.Parse(cmp.Or(w.Keep, "1"))
	expect(p.Name, err, failed)
	law, err := g.Compile(point, keep)
	expect(p.Name, err)
	p.Dim = point.Size()
	p.row = func(x []float64, d *dice) {
		from, out := make([]float64, g.Dim()), make([]float64, p.Dim+1)
		for out[p.Dim] = -1; out[p.Dim] < 0; law.Values(out, from, 1) {
			for i := range w.Uniforms {
				from[i] = d.uniform()
			}
			d.normals(from[w.Uniforms:])
		}
		copy(x, out)
	}
}
