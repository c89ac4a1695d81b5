package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A disc whose radius is the condition, and a line on it that turns with it: the data are
// on {x_0 sin c + x_1 cos c = 0.1} in {‖x‖ ≤ r}.
const disc = `name: disc
condition: {columns: [r, c], drop: 0.2}
set:
  dim: 3
  let: {turn: "c - 1"}
  equality: [{name: line, expr: "x[0]*sin(turn) + x[1]*cos(turn) = 0.1*r"}]
  inequality: [{name: disc, expr: "norm(x) <= r"}]
process: {steps: 20, horizon: 1}
`

// discs are points of it, r from 1 to 2.
func discs(n int) (rows [][]float64) {
	u := make([]float64, 4)
	for i := range n {
		keyed.OwnData.Stream(1, 0).Uniforms(u, uint64(i), 0)
		r, c := 1+u[0], 2*u[1]
		at, high := r*(u[2]-0.5), 0.5*r*(u[3]-0.5)
		sin, cos := math.Sincos(c - 1)
		rows = append(rows, []float64{at*cos + 0.1*r*sin, -at*sin + 0.1*r*cos, high, r, c})
	}
	return rows
}

// Samples under conditions that training has not seen are on Σ(c) to round-off, inside its
// walls, keep their condition bit for bit, and are functions of seed and number, for each method.
func TestUnseenConditions(t *testing.T) {
	for _, m := range []string{"ULLA", "OLLA", "ULLA-P", "OLLA-P"} {
		l := testkit.Must(written(t, disc+"train: {window: 0.2}\n", discs(150)))
		if m != "ULLA" {
			l = testkit.Must(written(t, strings.Replace(disc, "{steps", "{method: "+m+", steps", 1), discs(150)))
		}
		r := job.Begin[*Run](t, l, []byte(disc))
		net, prior := learned(t, r)
		asked := []float64{1.234, 0.5, 1.9, 1.77, 2.05, 0.1}
		prior = prior.Under(asked, 30)
		draw := func(n int, first uint64) *judge.Samples {
			s, err := r.Generate(context.Background(), net, prior, n, first, 5, nil)
			if err != nil {
				t.Fatal(m, err)
			}
			return s
		}
		s := draw(90, 0)
		for i := range s.N() {
			row, c := s.X[i*5:(i+1)*5], asked[i/30*2:i/30*2+2]
			if math.Float64bits(row[3]) != math.Float64bits(c[0]) ||
				math.Float64bits(row[4]) != math.Float64bits(c[1]) {
				t.Fatalf("%s: sample %d has the condition %v, asked %v", m, i, row[3:], c)
			}
		}
		if v := judge.Largest(judge.Violations(r.Process.Set, s.X)); s.Failed() > 0 || v.Worst > 1e-12 {
			t.Errorf("%s: %d failed, %q is violated by %v", m, s.Failed(), v.Component, v.Worst)
		}
		if part := draw(17, 40); !slices.Equal(part.X, s.X[40*5:57*5]) {
			t.Errorf("%s: samples 40 to 56 alone are others", m)
		}
		q := testkit.Must(r.Redraw(t.Context(), problem.ParseSettings("generate.guidance=2")))
		g, err := q.Generate(context.Background(), net, prior, 90, 0, 5, nil)
		if err != nil || slices.Equal(g.X, s.X) {
			t.Errorf("%s: guidance changes nothing (%v)", m, err)
		}
		if v := judge.Largest(judge.Violations(r.Process.Set, g.X)); v.Worst > 1e-12 {
			t.Errorf("%s: guided samples violate %q by %v", m, v.Component, v.Worst)
		}
	}
}

// learned trains a run, and returns what draws from it.
func learned(t *testing.T, r *Run) (*Trained, *Prior) {
	t.Helper()
	testkit.OK(t, r.Train(t.Context(), "", Observer{}))
	net := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(t.Context(), nil))
	return net, prior
}

// A condition under which there is no point of the set costs its samples, and says so.
func TestUnreachableCondition(t *testing.T) {
	l := testkit.Must(written(t, strings.Replace(disc, "norm(x) <= r", "norm(x) <= r - c", 1), few(discs(400))))
	r := job.Begin[*Run](t, l, []byte(disc))
	net, prior := learned(t, r)
	s, err := r.Generate(context.Background(), net, prior.Under([]float64{1, 3, 1.5, 0.1}, 10), 20, 0, 5, nil)
	var failed *judge.FailedError
	if !errors.As(err, &failed) || failed.Begun != 10 || s.Begun != 10 || s.Failed() != 10 || !s.Lost[3] ||
		s.Lost[13] || !strings.Contains(err.Error(), "no point of the set under their condition") {
		t.Fatalf("%+v, %v", s, err)
	}
}

// few are the rows that keep ‖x‖ ≤ r − c.
func few(rows [][]float64) (kept [][]float64) {
	for _, r := range rows {
		if math.Sqrt(r[0]*r[0]+r[1]*r[1]+r[2]*r[2]) <= r[3]-r[4] {
			kept = append(kept, r)
		}
	}
	return kept
}

// In R with x | c ~ N(0.8c, 0.16) and c ~ N(0, 1) scores are known at all times, with and
// without the condition: trained ones draw as they do, under conditions between and beyond
// the data's, guided and not. Samples of both have the same noise, so what is left is training's.
func TestGaussianGivenCondition(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	const text = `name: gauss
condition: {columns: [c], drop: 0.25}
set: {kind: euclidean, dim: 1}
process: {method: OLLA, steps: 30, horizon: 3, sigma: {min: 0.3, max: 1.2}}
network: {output: balanced, time_octaves: 3}
`
	rows := make([][]float64, 3000)
	for i := range rows {
		z := make([]float64, 2)
		keyed.OwnData.Stream(2, 0).Normals(z, uint64(i), 0)
		rows[i] = []float64{0.8*z[0] + 0.4*z[1], z[0]}
	}
	path := filepath.Join(t.TempDir(), "gauss.csv")
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%.17g,%.17g\n", r[0], r[1])
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	r := job.New[*Run](t, Load, []byte(text), "gauss.yaml", "data.path="+path, "train.epochs=60", "network.width=32",
		"network.layers=2", "train.batch=300", "train.times_per_path=10", "train.optimizer=muon",
		"train.learning_rate=0.02", "train.anneal=0.8", "train.window=0.5", "train.average=0.98")
	testkit.OK(t, r.Train(context.Background(), "", Observer{}))
	net := testkit.Must(r.Trained(""))
	pool := testkit.Pool(t, 2)
	const n = 4000
	for _, c := range []float64{-1.3, 0.4, 1.1} {
		for _, w := range []float64{0, 1} {
			states := make([]float64, 2*n)
			for i := range n { // N(0.8c, 0.16 + Στ), where paths end
				keyed.OwnData.Stream(3, 0).Normals(states[2*i:2*i+1], uint64(i), 0)
				states[2*i] = 0.8*c + math.Sqrt(0.16+noised(r.Process, r.Process.Schedule.N))*states[2*i]
				states[2*i+1] = c
			}
			moments := func(scores func(int) method.Score) (mean, sd float64) {
				x, failed := make([]float64, 2*n), make([]bool, n)
				testkit.Must(r.Method.Sampler(64, pool).Generate(context.Background(), x, failed, 0, 1,
					numbered{states, 0}, scores))
				for i := range n {
					mean += x[2*i] / n
				}
				for i := range n {
					sd += (x[2*i] - mean) * (x[2*i] - mean) / n
				}
				return mean, math.Sqrt(sd)
			}
			fields := score.NewGuided(net.Model, net.Model.Pack(false), 64, 2, w)
			mean, sd := moments(func(worker int) method.Score { return fields[worker] })
			wantMean, wantSD := moments(func(int) method.Score { return exactGiven{r.Process, w} })
			t.Logf("c = %v, w = %v: mean %.4f, sd %.4f; exact %.4f, %.4f", c, w, mean, sd, wantMean, wantSD)
			if math.Abs(mean-wantMean) > 0.04 || math.Abs(sd-wantSD) > 0.03 {
				t.Errorf("c = %v, w = %v: mean %.4f and sd %.4f, with the exact score %.4f and %.4f", c, w, mean, sd,
					wantMean, wantSD)
			}
			if w == 0 && (math.Abs(wantMean-0.8*c) > 0.03 || math.Abs(wantSD-0.4) > 0.03) {
				t.Errorf("c = %v: the exact score draws mean %.4f and sd %.4f", c, wantMean, wantSD)
			}
		}
	}
}

// noised is the variance that k steps add.
func noised(p *langevin.Process, k int) (v float64) {
	for i := range k {
		v += p.Schedule.Tau(i)
	}
	return v
}

// exactGiven is (1+w) s(x|c) − w s(x) of that law: 2∇ln q at the time of x_k is −2(x − 0.8c)/(0.16 + Στ),
// and without c, −2x/(0.8 + Στ).
type exactGiven struct {
	p *langevin.Process
	w float64
}

func (e exactGiven) Eval(dst, x, _ []float64, n int, t float64) {
	v := noised(e.p, int(math.Round(t/e.p.Schedule.Dt())))
	for i := range n {
		dst[2*i] = -2*(1+e.w)*(x[2*i]-0.8*x[2*i+1])/(0.16+v) + 2*e.w*x[2*i]/(0.8+v)
		dst[2*i+1] = 99 // what is held does not hear it
	}
}

// A run that stops and goes on is the run that did not stop, bit for bit.
func TestResumeUnderCondition(t *testing.T) {
	train := func(stops ...int) []float32 {
		l := testkit.Must(written(t, disc, discs(60)))
		l.Problem.Train.Epochs = 4
		r := job.Begin[*Run](t, l, []byte(disc))
		for _, epochs := range append(stops, 4) {
			ctx, stop := context.WithCancel(context.Background())
			err := r.Train(ctx, "", Observer{Epoch: func(e train.Epoch) {
				if e.Epoch == epochs && epochs < 4 {
					stop()
				}
			}})
			if stop(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		net := testkit.Must(r.Trained(""))
		return net.Model.Parameters()
	}
	testkit.EqualSlices(t, train(), train(1, 3), "a run that stopped has other parameters")
}

// An error of given conditions names the fault.
func TestConditionsAsked(t *testing.T) {
	l := testkit.Must(written(t, disc, discs(60)))
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	for given, want := range map[string]string{
		"r=1.5":                       "c is missing; the condition is r, c",
		"r=1,c=2,radius=3":            `"radius=3" names nothing that the run was trained on; its condition is r, c`,
		"r=1,r=2,c=1":                 "r is given twice",
		"r=NaN,c=1":                   `r is "NaN"; expected a finite number`,
		"r=big,c=1":                   `r is "big"; expected a finite number`,
		"r=1,c=":                      `c is ""; expected a finite number`,
		file("a.csv", "r,d\n1,2\n"):   `expected a column "c"`,
		file("b.csv", "1,2,3\n"):      "3 columns, expected 2: r,c",
		file("c.csv", "r,c\n1,NaN\n"): "column 2 is NaN, expected a finite number",
		"nowhere.csv":                 "no such file",
	} {
		testkit.Refused(t, testkit.Err(l.Conditions(given)), want, given)
	}
	asked, err := l.Conditions(file("d.csv", "c,other,r\n0.5,7,1.25\n1,8,1.5\n"))
	if err != nil || !slices.Equal(asked.Rows, []float64{1.25, 0.5, 1.5, 1}) || asked.Warning != "" {
		t.Errorf("%+v, %v", asked, err)
	}
	asked, err = l.Conditions(" c = 0.5 , r=4")
	if err != nil || !slices.Equal(asked.Rows, []float64{4, 0.5}) ||
		!strings.Contains(asked.Warning, "r is 4, outside the training rows' [1.") || strings.Contains(asked.Warning,
		"c is") {
		t.Errorf("%+v, %v", asked, err)
	}
	plain := testkit.Must(written(t, circle, around(20, 0.4)))
	testkit.Refused(t, testkit.Err(plain.Conditions("r=1")), "the run has no condition")
}

// Keys of a condition that cannot be are named.
func TestConditionKeys(t *testing.T) {
	for change, want := range map[string]string{
		"columns: [r, c]→columns: [r]":                     "unknown name \"c\"",
		"columns: [r, c]→columns: [r, c, c]":               "the name is defined twice",
		"columns: [r, c]→columns: [r, c, x]":               "the name is part of the language of formulas",
		"columns: [r, c]→columns: [r, 'c d']":              "a name consists of letters",
		"columns: [r, c], drop: 0.2→drop: 0.2":             "unknown name",
		"drop: 0.2→drop: 1":                                "condition.drop is 1; expected a number in [0, 1)",
		"norm(x) <= r→r <= 3":                              `the constraint "disc" is about the condition alone`,
		"name: disc→prior: uniform\nname: disc":            "prior is \"uniform\"; expected empirical or auto",
		"name: disc→generate: {guidance: 1e9}\nname: disc": "generate.guidance is 1e+09",
		"drop: 0.2→drop: 0":                                "",
		"drop: 0.2}→drop: 0}\ngenerate: {guidance: 1}":     "it has not learned\nto do without",
	} {
		from, to, _ := strings.Cut(change, "→")
		_, err := written(t, strings.Replace(disc, from, to, 1), discs(30))
		var key *problem.KeyError
		want = strings.ReplaceAll(want, "it has not learned\nto do without",
			"this network has not learned to do without the condition")
		if want == "" && err != nil || want != "" && (!errors.As(err, &key) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", change, err, want)
		}
	}
	rows := discs(30)
	for i := range rows {
		rows[i] = rows[i][:4]
	}
	if _, err := written(t, disc, rows); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(),
		"2 coordinates; expected 3") {
		t.Errorf("a column too few: %v", err)
	}
}

// Data of any kind may have its condition in a file of its own, or in columns of its own file: one way is the other.
func TestConditionFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	both := write("both.csv", "latitude,longitude,month\n10,20,1\n-30,40,2\n50,-60,3\n0,0,4\n")
	places := write("places.csv", "10,20\n-30,40\n50,-60\n0,0\n")
	months := write("months.csv", "year,month\n1,1\n1,2\n1,3\n1,4\n")
	load := func(settings ...string) (*Loaded, error) {
		p := testkit.Must(problem.Load([]byte("data: {kind: earth}\nset: {kind: sphere, dim: 3}\ncondition: {columns: "+
			"[month]}\n"), "test.yaml", "", problem.ParseSettings(settings...)))
		pool := parallel.New(1)
		t.Cleanup(pool.Close)
		return Load(t.Context(), p, pool, nil)
	}
	a := testkit.Must(load("data.path=" + both))
	b, err := load("data.path="+places, "condition.path="+months)
	if err != nil || !slices.Equal(a.Data.X, b.Data.X) || a.Data.D != 4 || a.Data.X[7] != 2 {
		t.Errorf("%v, %v and %v", err, a.Data, b.Data)
	}
	if h := a.Process.Set.Capabilities().Held; len(h) != 1 || h[0] != 3 ||
		a.Process.Set.NewEvaluator(1).Geodesic == nil {
		t.Errorf("the set holds %v, and lost what it knows in closed form", h)
	}
	if _, ok := constraint.Free(a.Process.Set); !ok {
		t.Error("a sphere knows of its condition")
	}
	var file *dataset.Error
	for given, want := range map[string]string{
		write("few.csv", "1\n2\n3\n"): "3 rows, expected 4, one a point", write("no.csv",
			"year\n1\n2\n3\n4\n"): `a column "month"`,
	} {
		if _, err := load("data.path="+places, "condition.path="+given); !errors.As(err, &file) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for text, want := range map[string]string{
		"latitude,longitude,moon\n1,2,3\n4,5,6\n": "column 3 is \"moon\", expected month",
		"1,2\n3,4\n":      "expected 3: latitude,longitude,month",
		"95,2,3\n3,4,5\n": "latitude 95 is outside",
	} {
		if _, err := load("data.path=" + write("bad.csv", text)); !errors.As(err, &file) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Evaluation draws under held-out conditions, tells the law given the condition from
// another, and writes and reads files with it.
func TestEvaluateUnderCondition(t *testing.T) {
	l := testkit.Must(written(t, disc, discs(1000)))
	r := job.Begin[*Run](t, l, []byte(disc))
	right := &judge.Samples{X: slices.Clone(l.HeldOutRows), Dim: 5, Lost: make([]bool, len(l.HeldOutRows)/5)}
	// Others of the same law given the condition: the data's own way to draw, with new numbers.
	for i := range right.N() {
		row := right.X[i*5 : (i+1)*5]
		u := make([]float64, 2)
		keyed.OwnData.Stream(4, 0).Uniforms(u, uint64(i), 0)
		sin, cos := math.Sincos(row[4] - 1)
		at := row[3] * (u[0] - 0.5)
		row[0], row[1], row[2] = at*cos+0.1*row[3]*sin, -at*sin+0.1*row[3]*cos, 0.5*row[3]*(u[1]-0.5)
	}
	v, err := r.Evaluate(t.Context(), right, train.State{}, nil)
	if err != nil || v.Given == nil || v.Given.Pairs.N != 200 || v.Given.Pairs.PValue < 0.001 ||
		v.Given.Warning != "" ||
		len(v.Given.Bins) == 0 {
		t.Fatalf("%+v, %v", v.Given, err)
	}
	for _, b := range v.Given.Bins {
		if b.Samples < 20 || b.Rows < 80 || !(b.Full < 3*b.Mean) {
			t.Errorf("%s: %+v", b, b)
		}
	}
	wrong := &judge.Samples{X: slices.Clone(right.X), Dim: 5, Lost: make([]bool, right.N())}
	for i := range right.N() { // a quarter turn off
		wrong.X[i*5], wrong.X[i*5+1] = right.X[i*5+1], -right.X[i*5]
	}
	if g := r.Reference().Conditional(wrong); g.Pairs.PValue > 0.001 || g.Warning == "" {
		t.Errorf("samples of another law given the condition: %+v", g.Pairs)
	} else if near := g.Nearby; near.Rows != 80 || near.PValue > 0.001 || !(near.Farther > 0) ||
		math.Abs(float64(g.Pairs.Statistic-near.Distance-near.Farther)) > 1e-12 {
		t.Errorf("samples of another law beside rows with near conditions: %+v", near)
	}
	if near := v.Given.Nearby; near.PValue < 0.01 || near.Distance < v.Given.Pairs.Statistic {
		t.Errorf("samples of the law beside rows with near conditions: %+v", near)
	}
	right.Lost[3] = true
	if g := r.Reference().Conditional(right); g.Pairs.N != 199 {
		t.Errorf("with one lost there are %d pairs", g.Pairs.N)
	}
	page := keptReport(t, r, right, v)
	testkit.Contains(t, page, "r from 1", "the report says nothing of the condition")
	for _, ext := range []string{".csv", ".npy"} {
		testkit.InBlocks(t, ext, r.Domain.Writer(ext), right.X, 5)
		var b strings.Builder
		testkit.OK(t, r.Domain.Writer(ext)(&b, arrayfile.RowsOf(right.X, 5)))
		path := filepath.Join(t.TempDir(), "s"+ext)
		testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
		s, _, err := r.ReadSamples(path)
		if err != nil || !slices.Equal(s.X, right.X) {
			t.Errorf("%s: read back with %v", ext, err)
		}
		if ext == ".csv" && !strings.HasPrefix(b.String(), "x0,x1,x2,r,c\n") {
			t.Errorf("%q", b.String()[:20])
		}
	}
}
