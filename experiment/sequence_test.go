package experiment

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A cart goes from a place to 0, at a speed of at most 2, in five steps of 1/5.
const cart = `name: cart
data: {path: data.npy}
set:
  steps: 6
  state: [x, v]
  first: [{name: from, expr: "x = 1"}]
  between: [{name: motion, expr: "next(x) - x = (v + next(v))/10"}]
  within: [{name: speed, expr: "v^2 <= 4"}]
  last: [{name: to, expr: "x = 0"}]
network: {options: {channels: 4}}
train: {epochs: 2}
`

// carts are rows of it from 1, or from a place that follows the coordinates.
func carts(n int, given bool) (rows []float64) {
	z := make([]float64, 7)
	for i := range n {
		keyed.OwnData.Stream(2, 0).Uniforms(z, uint64(i), 0)
		from := 1.0
		if given {
			from += 0.2 * z[6]
		}
		v, way := make([]float64, 6), 0.0
		for l := range v {
			v[l] = 0.4 * z[l]
		}
		for l := range 5 {
			way += (v[l] + v[l+1]) / 10
		}
		for l := range v { // the trapezia of a constant are exact
			v[l] -= from + way
		}
		x := from
		for l := range v {
			rows = append(rows, x, v[l])
			if l < 5 {
				x += (v[l] + v[l+1]) / 10
			}
		}
		if given {
			rows = append(rows, from)
		}
	}
	return rows
}

// Data of a sequence are steps by coordinates; samples keep both ends, the motion and the limit,
// also under a condition that training has not seen, and files have the shape and the names of the steps.
func TestSequences(t *testing.T) {
	const n = 60
	folder := t.TempDir()
	load := func(text string, x []float64, shape ...int) (*Loaded, error) {
		t.Helper()
		var npy bytes.Buffer
		testkit.OK(t, arrayfile.EncodeNPY(&npy, arrayfile.Array{Shape: shape, Float64: x}))
		testkit.OK(t, os.WriteFile(filepath.Join(folder, "data.npy"), npy.Bytes(), 0o666))
		p := testkit.Must(problem.Load([]byte(text), "cart.yaml", "",
			problem.ParseSettings("data.path="+filepath.Join(folder, "data.npy"))))
		pool := parallel.New(1)
		t.Cleanup(pool.Close)
		return Load(t.Context(), p, pool, nil)
	}
	_, err := load(cart, carts(n, false), n, 2, 6)
	testkit.Refused(t, err, "an array of shape [60 2 6]; expected [n 6 2], for sequence of 6 steps of 2 coordinates")
	_, err = load(cart, carts(n, false)[:n*10], n, 10)
	testkit.Refused(t, err, "its points have 10 coordinates; expected 12, for sequence of 6 steps of 2 coordinates")

	open := "condition: {columns: [begin]}\n" + strings.Replace(cart, "x = 1", "x = begin", 1)
	for _, c := range []struct {
		text  string
		given bool
		shape []int
	}{{cart, false, []int{n, 6, 2}}, {open, true, []int{n, 13}}} {
		l := testkit.Must(load(c.text, carts(n, c.given), c.shape...))
		if kind := l.Problem.Network.Kind; kind != "temporal" || l.Problem.Network.Unit <= 0 {
			t.Errorf("network %q, unit %v", kind, l.Problem.Network.Unit)
		}
		r := job.Begin[*Run](t, l, []byte(c.text))
		net, prior := learned(t, r)
		if c.given {
			prior = prior.Under([]float64{1.07, 1.15}, 10)
		}
		s := testkit.Must(r.Generate(t.Context(), net, prior, 20, 0, 5, nil))
		if v := judge.Largest(judge.Violations(r.Process.Set, s.X)); s.Failed() > 0 || v.Worst > 1e-12 {
			t.Errorf("%d failed, %q is violated by %v", s.Failed(), v.Component, v.Worst)
		}
		d := r.Process.Set.Dim()
		for i := range s.N() { // by hand
			row := s.X[i*d : (i+1)*d]
			from := 1.0
			if c.given {
				from = []float64{1.07, 1.15}[i/10]
			}
			worst := max(math.Abs(row[0]-from), math.Abs(row[10]))
			for k := 2; k < 12; k += 2 {
				worst = max(worst, math.Abs(row[k]-row[k-2]-(row[k+1]+row[k-1])/10), math.Abs(row[k+1])-2)
			}
			if worst > 1e-12 {
				t.Errorf("sample %d is off by %v", i, worst)
			}
		}
		var csv, npy bytes.Buffer
		testkit.OK(t, r.Domain.Writer(".csv")(&csv, arrayfile.RowsOf(s.X, d)))
		header, _, _ := strings.Cut(csv.String(), "\n")
		want := "x[0],v[0],x[1],v[1],x[2],v[2],x[3],v[3],x[4],v[4],x[5],v[5]"
		shape := "(20, 6, 2)"
		if c.given {
			want, shape = want+",begin", "(20, 13)"
		}
		testkit.OK(t, r.Domain.Writer(".npy")(&npy, arrayfile.RowsOf(s.X, d)))
		if header != want || !strings.Contains(npy.String()[:128], shape) {
			t.Errorf("%s\n%s, want %s", header, npy.String()[:128], shape)
		}
	}
}
