// Package problems is a suite of problems with data of known law: what a person with
// rows in a file and a set in formulas may bring. Each has a generator of rows, and a problem
// file with its set as one would write it and numbers of a point whose laws say whether
// samples are right.
//
// Rows are exact draws where the law has an exact sampler. The others are draws of
// constrained Hamiltonian Monte Carlo, whose law is exact at any step, from chains that
// must have mixed. The package trains nothing.
package problems

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/problem"
)

// A Problem is rows of a known law on a set.
type Problem struct {
	Name  string
	About string // the law, in a line
	Dim   int    // coordinates of a row
	Rows  int    // of the data

	like string // another problem, whose random numbers this one has; its own if empty

	// One of the two. row writes a row, a function of the dice alone.
	row    func(x []float64, d *dice)
	chains *chains
}

// files holds each problem's file, with the numbers that the suite compares.
//
//go:embed files
var files embed.FS

// all are the problems, in the order of the suite.
var all = []Problem{
	{Name: "s9", Dim: 10, Rows: 4000, row: mixture(lobes9), About: "sphere S⁹, five modes"},
	{Name: "d300", Dim: 300, Rows: 4000, row: mixture(lobes300), About: "sphere in R^300, four modes"},
	{Name: "stiefel", Dim: 10, Rows: 4000, row: frames,
		About: "frames of two vectors in R⁵: the first in three modes, the second near ± one direction"},
	{Name: "simplex", Dim: 5, Rows: 4000, row: parts,
		About: "compositions of five parts, a mixture of three Dirichlet laws, some parts often near 0"},
	{Name: "arm3", Dim: 6, Rows: 4000, row: arm(1.3),
		About: "planar arm of 3 links with its tip at height 1.3, two postures"},
	{Name: "arm5", Dim: 10, Rows: 4000, row: arm(1.5),
		About: "planar arm of 5 links with its tip at height 1.5, two postures"},
	{Name: "arm9", Dim: 18, Rows: 4000, row: arm(2),
		About: "planar arm of 9 links with its tip at height 2, two postures"},
	{Name: "ring6", Dim: 18, Rows: 4000, chains: ring(6, 0.4),
		About: "ring of 6 atoms with fixed bonds, angles of 95 to 130 degrees, centred, turned anyhow"},
	{Name: "ring8", Dim: 24, Rows: 4000, chains: ring(8, 0.2),
		About: "ring of 8 atoms with fixed bonds, angles of 95 to 135 degrees, centred, turned anyhow"},
	{Name: "ball-chain", Dim: 18, Rows: 4000,
		chains: &chains{f: "4*distance(bead[5], [2, 0, 0])", step: 0.1, burn: 200, thin: 15, turn: aside},
		About:  "chain of six bonds around a ball, its end pulled to the other side; three sides to pass on"},
	{Name: "product", Dim: 8, Rows: 4000, row: product,
		About: "product of a sphere, a torus and a square; three classes tie the factors together"},
}

// Named returns the problems of these names, in the order of the suite; all of none.
func Named(names []string) ([]Problem, error) {
	var out []Problem
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
		if len(names) == 0 || slices.Contains(names, p.Name) {
			out = append(out, p)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("there is no problem %q; expected names of %s", n, strings.Join(known, ", "))
		}
	}
	return out, nil
}

// Draw returns n rows, n×Dim, of a batch: batch 0 is the data, the others are further draws
// of its law, independent of it. Row i of an exact sampler is a function of (seed, batch, i).
// Errors are of chains that have not mixed, and those of langevin.Chains.
func (p *Problem) Draw(ctx context.Context, pool *parallel.Pool, seed, batch uint64, n int) ([]float64, error) {
	if p.chains != nil {
		return p.chains.draw(ctx, pool, p, seed, batch, n)
	}
	x, s := make([]float64, n*p.Dim), p.stream(seed, batch)
	domain.EachBlock(pool, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.row(x[i*p.Dim:(i+1)*p.Dim], &dice{stream: s, sample: uint64(i)})
		}
	})
	return x, ctx.Err()
}

// stream returns the random numbers of a batch. Each problem has its own: with those of another its
// held-out rows would have the same luck, and problems would fail together.
func (p *Problem) stream(seed, batch uint64) keyed.Stream {
	h := fnv.New64a()
	h.Write([]byte(cmp.Or(p.like, p.Name)))
	return keyed.SuiteRows.Stream(seed, batch).Part(h.Sum64())
}

// most is how many numbers data has that is written as text.
const most = 400_000

// DataFile is the name of the data's file.
func (p *Problem) DataFile() string {
	if p.Rows*p.Dim > most {
		return "data.npy"
	}
	return "data.csv"
}

// Data returns the bytes of the data's file: a table with a header, or of long data an NPY
// array. Text holds all digits.
func (p *Problem) Data(x []float64) ([]byte, error) {
	var b bytes.Buffer
	n := len(x) / p.Dim
	if p.DataFile() == "data.npy" {
		err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{n, p.Dim}, Float64: x})
		return b.Bytes(), err
	}
	for j := range p.Dim {
		fmt.Fprintf(&b, "x%d%c", j, ",\n"[end(j, p.Dim)])
	}
	var number []byte
	for i, v := range x {
		number = strconv.AppendFloat(number[:0], v, 'g', -1, 64)
		b.Write(append(number, ",\n"[end(i%p.Dim, p.Dim)]))
	}
	return b.Bytes(), nil
}

// end is 1 for the last of d columns, else 0.
func end(j, d int) int {
	if j == d-1 {
		return 1
	}
	return 0
}

// Write makes a folder with the problem file and its data: batch 0 with a seed.
func (p *Problem) Write(ctx context.Context, pool *parallel.Pool, seed uint64, dir string) error {
	x, err := p.Draw(ctx, pool, seed, 0, p.Rows)
	if err != nil {
		return err
	}
	data, err := p.Data(x)
	return errors.Join(err, os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, p.DataFile()), data, 0o666),
		os.WriteFile(filepath.Join(dir, "problem.yaml"), p.Observed(), 0o666))
}

// Source returns the problem file: data and set alone, as a new user writes them.
func (p *Problem) Source() []byte {
	source, _, _ := bytes.Cut(p.Observed(), []byte("observe:"))
	return source
}

// Observed returns the problem file with the numbers that the suite compares.
func (p *Problem) Observed() []byte {
	b, err := files.ReadFile("files/" + p.Name + ".yaml")
	if err != nil {
		panic("problems: " + err.Error())
	}
	b, _, _ = bytes.Cut(b, []byte("law:"))
	return b
}

// Observables returns the numbers that the suite compares; those without a range have none
// yet.
func (p *Problem) Observables() (*domain.Observables, error) {
	loaded, err := problem.Load(p.Observed(), p.Name, "", nil)
	if err != nil {
		return nil, err
	}
	return loaded.Observables(p.Dim)
}

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
