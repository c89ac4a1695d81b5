package experiment

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

func init() { // what is trained is small
	PriorEnds, report.PictureWidth = 1000, 100
	job.DemoRows(5)
}

// wholeDemo lets a test have all rows of the data in the binary.
func wholeDemo(t *testing.T) {
	job.DemoRows(1)
	t.Cleanup(func() { job.DemoRows(5) })
}

// begin starts a tiny experiment on the data in the binary.
func begin(t *testing.T, settings ...string) *Run {
	t.Helper()
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	settings = append([]string{"train.epochs=2", "network.width=8", "network.layers=1", "train.times_per_path=2",
		"prior=uniform", "process.sigma={min: 0.1, max: 2.5}"}, settings...)
	p := testkit.Must(problem.Load(data, origin, "fixed", problem.ParseSettings(settings...)))
	return job.Begin[*Run](t, testkit.Must(Load(t.Context(), p, testkit.Pool(t, 2), nil)), data)
}

// drawn are samples of a model, with the problem's prior.
func drawn(t *testing.T, e *Run, model *Trained, n int) (*judge.Samples, error) {
	t.Helper()
	prior := testkit.Must(e.Prior(context.Background(), nil))
	return e.Generate(context.Background(), model, prior, n, 0, 1, nil)
}

// A memoriser scores the floor against all data, and shows as one.
func TestMemoriserShows(t *testing.T) {
	e := begin(t)
	x := append([]float64(nil), e.TrainRows...)
	v, err := e.Evaluate(t.Context(), &judge.Samples{X: x, Dim: 3, Lost: make([]bool, len(x)/3)}, train.State{}, nil)
	testkit.OK(t, err)
	if testkit.KeepValue(t, v); v.Nearest.Copied != 1 || v.Nearest.Ratio != 0 {
		t.Errorf("copied share %v, ratio %v", v.Nearest.Copied, v.Nearest.Ratio)
	}
	if f := v.Verdict.Findings; len(f) == 0 || f[0].Code != verdict.Copies {
		t.Errorf("no word of it: %+v", f)
	}
	s := &judge.Samples{X: e.HeldOutRows, Dim: 3, Lost: make([]bool, len(e.HeldOutRows)/3)}
	if held, err := e.Evaluate(t.Context(), s, train.State{}, nil); err != nil || held.Verdict.Has(verdict.Copies) {
		t.Errorf("of held-out rows: %+v, %v", held.Verdict, err)
	}
	// The training rows themselves are closer to the data than draws from them.
	if v.JSD.Full > v.JSD.Floor.Mean || v.JSD.Full <= 0 || v.JSD.Uniform < 5*v.JSD.Floor.Mean {
		t.Errorf("distances %+v", v.JSD)
	}
}

// The sphere written as a formula trains to the same weights as the zoo's, up to the round-off of the projections, in
// float32. One-step targets: windows on the zoo's sphere use its geodesics.
func TestFormulaTrainsAsZoo(t *testing.T) {
	weights := func(settings ...string) []float32 {
		e := begin(t, append([]string{"prior=empirical", "process.terminal_projection=false", "train.window=0"},
			settings...)...)
		testkit.OK(t, e.Train(context.Background(), "", Observer{}))
		trained := testkit.Must(e.Trained(""))
		return trained.Model.Parameters()
	}
	zoo, formula := weights(), weights("set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`)
	for i := range zoo {
		if math.Abs(float64(zoo[i]-formula[i])) > 1e-4 {
			t.Fatalf("weight %d is %v with the zoo's sphere, %v with the formula's", i, zoo[i], formula[i])
		}
	}
}

// Data at which a formula has no value is refused with the operation and its place.
func TestFormulaWithoutValueAtData(t *testing.T) {
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	p := testkit.Must(problem.Load(data, origin, "fixed", problem.ParseSettings("prior=empirical", "set.kind=formula",
		`set.equality=[{name: "root", expr: "sqrt(x[0] - 5)"}]`, "process.terminal_projection=false")))
	pool := testkit.Pool(t, 1)
	_, err = Load(t.Context(), p, pool, nil)
	if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), `row 0 (from 0): constraint "root": sqrt(-`) ||
		!strings.Contains(err.Error(), `is NaN, at column 1 of "sqrt(x[0] - 5)"`) {
		t.Errorf("got %v", err)
	}
}

// Training sees the training rows and nothing else.
func TestHeldOutRowsAreHeldOut(t *testing.T) {
	e := begin(t)
	seen := make([]int, e.Data.N)
	for _, part := range [][]int{e.Split.Train, e.Split.Val, e.Split.Test} {
		for _, i := range part {
			seen[i]++
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Fatalf("row %d is in %d parts", i, n)
		}
	}
	for a, i := range e.Split.Train {
		for j := range 3 {
			if e.TrainRows[3*a+j] != e.Data.X[3*i+j] {
				t.Fatal("the training rows are not those of the split")
			}
		}
	}
	testkit.Equal(t, len(e.TrainRows)+len(e.HeldOutRows), len(e.Data.X), "rows are missing")
}

// Training does not read the held-out rows: others in their place give the same
// weights. And the seed of the split counts.
func TestTrainingIgnoresHeldOut(t *testing.T) {
	if testing.Short() {
		t.Skip("trains three times")
	}
	weights := func(spoil bool, settings ...string) []float32 {
		e := begin(t, settings...)
		if spoil {
			for _, i := range append(append([]int(nil), e.Split.Val...), e.Split.Test...) {
				copy(e.Data.X[3*i:3*i+3], []float64{0, 0, 1})
			}
			for i := range e.HeldOutRows {
				e.HeldOutRows[i] = 0
			}
		}
		testkit.OK(t, e.Train(context.Background(), "", Observer{}))
		trained := testkit.Must(e.Trained(""))
		return trained.Model.Parameters()
	}
	a, b := weights(false), weights(true)
	for i := range a {
		if a[i] != b[i] {
			t.Fatal("held-out rows changed the weights")
		}
	}
	same := true
	for i, v := range weights(false, "data.split_seed=2") {
		same = same && v == a[i]
	}
	if same {
		t.Error("data.split_seed changes nothing")
	}
}

// A share of lost samples above generate.max_failed is an error beside the samples.
func TestTooManyLost(t *testing.T) {
	e := begin(t, "process.method=OLLA-P", "process.steps=4", "process.horizon=4", "process.sigma={min: 1, max: 2}")
	var bad *judge.FailedError
	model := testkit.Must(e.model())
	s, err := drawn(t, e, &Trained{Model: model}, 50)
	if !errors.As(err, &bad) || s == nil || s.Failed() != bad.Failed || bad.Failed == 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// The floor is that of draws from the training rows.
func TestFloor(t *testing.T) {
	e := begin(t)
	n := 300
	s := &judge.Samples{X: e.Data.X[:3*n], Dim: 3, Lost: make([]bool, n)}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	testkit.OK(t, err)
	want := metric.NoiseFloor(e.TrainRows, 3, n, 20, e.Problem.Seed,
		func(y []float64) float64 { return metric.EarthJSD(y, e.Data.X) })
	testkit.KeepValue(t, v)
	testkit.Equal(t, v.JSD.Floor.Mean, want.Mean, "floor %v", v.JSD.Floor)
}

// Samples off the set by more than generate.max_violation fail the check, by the
// number they were generated under; lost samples are not scored.
func TestChecks(t *testing.T) {
	e := begin(t)
	x := append([]float64(nil), e.TrainRows[:30]...)
	x[9] += 1e-6
	s := &judge.Samples{X: x, Dim: 3, Lost: make([]bool, 10)}
	var bad *judge.ViolationError
	if _, err := e.Evaluate(t.Context(), s, train.State{}, nil); !errors.As(err, &bad) || bad.Sample != 3 ||
		bad.Component != "radius" {
		t.Errorf("got %v", err)
	}
	s.Lost[0] = true
	if _, err := e.Evaluate(t.Context(), s, train.State{}, nil); !errors.As(err, &bad) || bad.Sample != 3 {
		t.Errorf("with a lost sample before it: %v", err)
	}
	s.Lost[0], s.Lost[3] = false, true
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Failed != 1 || v.Samples != 10 {
		t.Errorf("%+v, %v", v, err)
	}
	s.Lost = []bool{true, true, true, true, true, true, true, true, true, true}
	if v, err := e.Evaluate(t.Context(), s, train.State{}, nil); err != nil || v.Failed != 10 {
		t.Errorf("%+v, %v", v, err)
	}
}
