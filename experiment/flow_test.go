package experiment

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// flowing returns a run of a flow to points of the sphere whose heights are z = tanh(atanh z_0 + a) of
// uniform z_0, of density (1 − z_0²)/(1 − z²)/4π.
func flowing(t *testing.T, a float64, settings ...string) *Run {
	t.Helper()
	dir, pool := t.TempDir(), parallel.New(2)
	t.Cleanup(pool.Close)
	var csv strings.Builder
	csv.WriteString("x,y,z\n")
	x := make([]float64, 3)
	for i := range uint64(1500) {
		zoo.Sphere{D: 3}.SampleUniform(x, keyed.OwnData.Stream(2, 0), i)
		z := math.Tanh(math.Atanh(x[2]) + a)
		ρ := math.Sqrt((1 - z*z) / (x[0]*x[0] + x[1]*x[1]))
		fmt.Fprintf(&csv, "%v,%v,%v\n", ρ*x[0], ρ*x[1], z)
	}
	path := filepath.Join(dir, "data.csv")
	testkit.OK(t, os.WriteFile(path, []byte(csv.String()), 0o600))
	text := []byte(`name: flowing
defaults: fixed
set: {kind: sphere, dim: 3}
process: {steps: 40, friction: 2}
network: {width: 48, layers: 3, time_octaves: 2}
train: {epochs: 40, batch: 200, times_per_path: 8, learning_rate: 5e-3, anneal: 0.5, average: 0.99, optimizer: muon}
`)
	load := func(ctx context.Context, p *problem.Problem, _ *parallel.Pool, report func(string)) (*Loaded, error) {
		return Load(ctx, p, pool, report)
	}
	return job.New[*Run](t, load, text, "flowing.yaml", append([]string{"data.path=" + path,
		"process={method: flow, options: {order: 4}}"}, settings...)...)
}

// known is a method with a density that the test chooses.
type known struct {
	method.Method
	log func(row, steps int) float64
}

func (k known) Capabilities() method.Capabilities {
	return method.Capabilities{Density: &method.Density{Log: func(_ context.Context, dst, _ []float64, _, steps int,
		_ *parallel.Pool, _ func(int) method.Along) (bool, error) {
		for i := range dst {
			dst[i] = k.log(i, steps)
		}
		return true, nil
	}}}
}

// Row i has log density 1.5/steps − i: mean, standard error and change with the steps follow exactly.
func TestLikelihood(t *testing.T) {
	r := flowing(t, 0)
	untrained := &Trained{Model: testkit.Must(networks.New(r.network()))}
	likelihood := func(log func(row, steps int) float64) *judge.Likelihood {
		r.Loaded.Method = known{r.Method, log}
		return testkit.Must(Likelihood(t.Context(), r.Loaded, untrained))
	}
	l := likelihood(func(row, steps int) float64 { return 1.5/float64(steps) - float64(row) })
	n := float64(len(r.Split.Test)) // the variance of 0 … n−1 is n(n+1)/12
	for _, c := range []struct{ got, want float64 }{{float64(l.NLL), (n-1)/2 - 1.5/400},
		{float64(l.SE), math.Sqrt((n + 1) / 12)}, {float64(l.Change), 1.5/200 - 1.5/400}, {float64(l.Steps), 400}} {
		if math.Abs(c.got-c.want) > 1e-11*n {
			t.Errorf("got %v, want %v: %+v", c.got, c.want, *l)
		}
	}
	if l.Rows != int(n) || l.Lost != 0 {
		t.Errorf("%+v", *l)
	}
	l = likelihood(func(row, _ int) float64 { return math.Log(float64(row) - 1) })
	if l.Lost != 2 || l.NLL == l.NLL || l.SE == l.SE || l.Change == l.Change {
		t.Errorf("rows without a density: %+v", *l)
	}
}

// A flow learns a law that is known: test rows are as likely as under it, to 0.05 nats (the uniform law
// is 0.6 off), the likelihood needs no more steps, samples are on Σ and followed by other steps too.
func TestFlowLearns(t *testing.T) {
	const a = 1.2
	r := flowing(t, a)
	testkit.OK(t, r.Train(context.Background(), "", Observer{}))
	trained := testkit.Must(r.Trained(""))
	l, err := Likelihood(context.Background(), r.Loaded, trained)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	// Its times run to 1, whatever process.horizon is.
	if n, err := Describe(r, ""); err != nil || len(n.Times) != 40 || math.Abs(n.Times[39]-1) > 1e-12 {
		t.Errorf("other programs are told of times %v, %v", n.Times, err)
	}
	want, test := 0.0, r.Data.Rows(r.Split.Test)
	for i := 2; i < len(test); i += 3 {
		z := test[i]
		z0 := math.Tanh(math.Atanh(z) - a)
		want -= math.Log((1-z0*z0)/(1-z*z)/(4*math.Pi)) / float64(len(test)/3)
	}
	if math.Abs(float64(l.NLL)-want) > 0.05 || l.Rows != len(test)/3 || l.Lost != 0 ||
		math.Abs(float64(l.Change)) > judge.LikelihoodChange ||
		math.Abs(float64(l.Uniform)-math.Log(4*math.Pi)) > 1e-12 {
		t.Errorf("%+v, want %v", *l, want)
	}
	if told := l.String(); !strings.Contains(told, "nats") || strings.Contains(told, "WARN") {
		t.Error(told)
	}
	prior, err := r.Prior(context.Background(), nil)
	if err != nil || prior.Kind != "flow" {
		t.Fatal(prior, err)
	}
	s := testkit.Must(r.Generate(context.Background(), trained, prior, 300, 0, 3, nil))
	s.Likelihood = l
	v, err := r.Evaluate(t.Context(), s, trained.State, nil)
	if err != nil || v.NLL != l || !(v.Violation.Worst < 1e-12) || v.Failed > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if page := reportOf(t, r, s, v); !strings.Contains(page, ">flow on ") || !strings.Contains(page, "log-likelihood") {
		t.Error("the report names neither method nor likelihood")
	}
	few := testkit.Must(r.Redraw(t.Context(), problem.ParseSettings("process.steps=8")))
	other := testkit.Must(few.Generate(context.Background(), trained, prior, 300, 0, 3, nil))
	far := 0.0
	for i, x := range s.X {
		far = max(far, math.Abs(x-other.X[i]))
	}
	if far == 0 || far > 0.05 {
		t.Errorf("by 8 steps samples are %v from those by 40", far)
	}
	corrected, err := r.Redraw(t.Context(), problem.ParseSettings("process.options={order: 1, correct: 1}"))
	testkit.OK(t, err)
	o, err := corrected.Generate(context.Background(), trained, prior, 20, 0, 3, nil)
	if err != nil || o.Newton < 20*40 {
		t.Errorf("corrected: %+v, %v", o, err)
	}
	for _, c := range []struct{ setting, want string }{
		{"process.options.path_steps=7", "it is of training"},
		{"process.method=ULLA", "ULLA"}, {"prior=empirical", "it changes nothing"},
		{"process.repulsion=0.1", "it changes nothing"},
	} {
		testkit.Refused(t, testkit.Err(r.Redraw(t.Context(), problem.ParseSettings(c.setting))), c.want, c.setting)
	}
}

// The doctor names keys that mean nothing to a flow, and refuses a set that it has no paths on, with
// data and without; what a file leaves open follows from the data, without what is of noise.
func TestFlowExamined(t *testing.T) {
	r := flowing(t, 1)
	report := testkit.Must(Examine(context.Background(), r.Problem, r.Pool, nil))
	told := false
	for _, f := range report.Findings {
		told = told || strings.Contains(f.Message, "process.friction means nothing to the method flow")
	}
	if !told {
		t.Errorf("%+v", report.Findings)
	}
	torus := "name: f\nset: {kind: torus, major: 2, minor: 1}\nprocess: {method: flow}\n"
	p := testkit.Must(problem.Load([]byte(torus), "f.yaml", "", nil))
	testkit.Refused(t, testkit.Err(Examine(context.Background(), p, r.Pool, nil)), "geodesics", "a torus without data")
	open := flowing(t, 1, "defaults=auto")
	var keys []string
	for _, c := range open.Chosen {
		keys = append(keys, c.Key)
	}
	for _, key := range []string{"network.unit", "train.refresh"} {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is not chosen: %v", key, keys)
		}
	}
	for _, key := range []string{"train.window", "network.output", "network.octaves_of", "process.sigma.max"} {
		if slices.Contains(keys, key) {
			t.Errorf("%s is chosen", key)
		}
	}
}
