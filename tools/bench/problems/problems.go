// Package problems is a suite of problems with data of known law: what a person with
// rows in a file and a set in formulas may bring. Each has a generator of rows, its set as
// one would write it in a problem file, and numbers of a point whose laws say whether
// samples are right.
//
// Rows are exact draws where the law has an exact sampler. The others are draws of
// constrained Hamiltonian Monte Carlo, whose law is exact at any step, from chains that
// must have mixed. The package trains nothing: tools/bench/suite does.
package problems

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
)

// A Problem is rows of a known law on a set.
type Problem struct {
	Name  string
	About string // the law, in a line
	Dim   int    // coordinates of a row
	Rows  int    // of the data

	like    string // another problem, whose random numbers this one has; its own if empty
	set     string // the value of set in a problem file
	formula string // where that is no formula: the same set by formulas; "" if it has none
	observe string // that of observe

	// One of the two. row writes a row, a function of the dice alone.
	row    func(x []float64, d *dice)
	chains *chains

	of   *Problem // a view of this one; nil of a problem itself
	view View
}

// All returns the problems, in the order of the suite.
func All() []Problem {
	var all []Problem
	for _, some := range [][]Problem{planes(), tori(), spheres(), matrices(), flats(), arms(), rings(),
		compounds()} {
		all = append(all, some...)
	}
	return append(all, units()...)
}

// An UnknownError says that there is no problem of a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("there is no problem %q; expected names of %s", e.Name, strings.Join(names, ", "))
}

// Named returns the problems of these names, in the order of the suite; all of none. The
// error is an *UnknownError.
func Named(names []string) ([]Problem, error) {
	if len(names) == 0 {
		return All(), nil
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var out []Problem
	for _, p := range All() {
		if wanted[p.Name] {
			out = append(out, p)
			delete(wanted, p.Name)
		}
	}
	for _, n := range names {
		if wanted[n] {
			return nil, &UnknownError{n}
		}
	}
	return out, nil
}

// Draw returns n rows, n×Dim, of a batch: batch 0 is the data, the others are further draws
// of its law, independent of it. Row i of an exact sampler is a function of (seed, batch, i).
// Errors are a *MixingError and those of langevin.Chains.
func (p *Problem) Draw(ctx context.Context, pool *parallel.Pool, seed, batch uint64, n int) ([]float64, error) {
	if p.of != nil {
		return p.seen(ctx, pool, seed, batch, n)
	}
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

// Source returns the problem file: data and set alone, as a new user writes them.
func (p *Problem) Source() []byte {
	return fmt.Appendf(nil, "name: %s\ndata: {kind: points, path: %s}\nset:%s", p.Name, p.DataFile(), indented(p.set))
}

// Observed returns the problem file with the numbers that the suite compares.
func (p *Problem) Observed() []byte {
	return fmt.Appendf(p.Source(), "observe:%s", indented(p.observe))
}

// indented returns a value of YAML below its key: what begins with a bracket beside it, the
// rest on lines of its own, two spaces further in.
func indented(value string) string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "{") {
		return " " + value + "\n"
	}
	return "\n  " + strings.ReplaceAll(value, "\n", "\n  ") + "\n"
}

// Load returns the problem as its file says it, and its set.
func (p *Problem) Load() (*problem.Problem, *langevin.Process, error) {
	loaded, err := problem.Load(p.Source(), p.Name, "", nil)
	if err != nil {
		return nil, nil, err
	}
	proc, err := loaded.Build()
	return loaded, proc, err
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

// literal writes a vector as formulas do.
func literal(v []float64) string {
	parts := make([]string, len(v))
	for i, e := range v {
		parts[i] = strconv.FormatFloat(e, 'g', -1, 64)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
