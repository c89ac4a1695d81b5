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

// A flow learns a law that is known: its heights are those of uniform points that the rotation of the data moved.
// Samples are on Σ and followed by other steps too.
func TestFlowLearns(t *testing.T) {
	const a = 1.2
	r := flowing(t, a)
	testkit.OK(t, r.Train(context.Background(), "", Observer{}))
	trained := testkit.Must(r.Trained(""))
	// Its times run to 1, whatever process.horizon is.
	if n, err := Describe(r, ""); err != nil || len(n.Times) != 40 || math.Abs(n.Times[39]-1) > 1e-12 {
		t.Errorf("other programs are told of times %v, %v", n.Times, err)
	}
	prior, err := r.Prior(context.Background(), nil)
	if err != nil || prior.Kind != "flow" {
		t.Fatal(prior, err)
	}
	s := testkit.Must(r.Generate(context.Background(), trained, prior, 300, 0, 3, nil))
	mean, square := 0.0, 0.0 // of z_0: uniform on [−1, 1], and about −0.6 for samples that the network left uniform
	for i := 2; i < len(s.X); i += 3 {
		z0 := math.Tanh(math.Atanh(s.X[i]) - a)
		mean, square = mean+z0/300, square+z0*z0/300
	}
	if !(math.Abs(mean) < 0.15 && math.Abs(square-1./3) < 0.08) {
		t.Errorf("z_0 has the mean %.3f and the mean square %.3f", mean, square)
	}
	v, err := r.Evaluate(t.Context(), s, trained.State, nil)
	if err != nil || !(v.Violation.Worst < 1e-12) || v.Failed > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if page := reportOf(t, r, s, v); !strings.Contains(page, ">flow on ") {
		t.Error("the report does not name the method")
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
	keepFindings(t, report)
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
