package experiment

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Each figure of an evaluation is that of package metric on the samples that were
// not lost, against the rows that its name says.
func TestEvaluationByParts(t *testing.T) {
	e := begin(t)
	const n = 1100 // more than a block of uniform samples
	s := &judge.Samples{X: make([]float64, 3*n), Dim: 3, Lost: make([]bool, n), Wrong: 1}
	for i := range n {
		e.Process.Set.Capabilities().SampleUniform(s.X[3*i:3*i+3], keyed.New(1, keyed.Probe, 0), uint64(i))
	}
	s.Lost[0], s.Lost[7] = true, true
	s.X[0] = 5 // lost: not seen
	good := append(append([]float64(nil), s.X[3:21]...), s.X[24:]...)
	uniform := make([]float64, len(good))
	for i := range len(good) / 3 {
		e.Process.Set.Capabilities().SampleUniform(uniform[3*i:3*i+3],
			keyed.New(e.Problem.Seed, keyed.Evaluation, 1<<33),
			uint64(i))
	}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{Epoch: 4}, nil))
	floor := func(data []float64) metric.Floor {
		return metric.NoiseFloor(e.TrainRows, 3, n-2, 20, e.Problem.Seed,
			func(y []float64) float64 { return metric.EarthJSD(y, data) })
	}
	copies := metric.CountCopies(good, e.HeldOutRows, e.TrainRows, 3)
	test := metric.EnergyTest(good, e.HeldOutRows, 3, settle.TestPoints, settle.Permutations, e.Problem.Seed)
	all := metric.EnergyTest(good, e.Data.X, 3, settle.TestPoints, settle.Permutations, e.Problem.Seed)
	mean := 0.0
	for i := 0; i < len(good); i += 3 {
		mean += math.Abs(math.Sqrt(good[i]*good[i]+good[i+1]*good[i+1]+good[i+2]*good[i+2])-1) / float64(n-2)
	}
	for name, c := range map[string][2]float64{
		"distance":            {float64(v.JSD.Full), metric.EarthJSD(good, e.Data.X)},
		"held-out distance":   {float64(v.JSD.HeldOut), metric.EarthJSD(good, e.HeldOutRows)},
		"floor":               {float64(v.JSD.Mean), float64(floor(e.Data.X).Mean)},
		"its deviation":       {float64(v.JSD.SD), float64(floor(e.Data.X).SD)},
		"held-out floor":      {float64(v.JSD.HeldOutFloor), float64(floor(e.HeldOutRows).Mean)},
		"uniform":             {float64(v.JSD.Uniform), metric.EarthJSD(uniform, e.Data.X)},
		"nearest of samples":  {float64(v.Nearest.Samples), float64(copies.Samples)},
		"nearest of held-out": {float64(v.Nearest.HeldOut), float64(copies.HeldOut)},
		"repeated":            {float64(v.Nearest.Repeated), float64(copies.Repeated)},
		"statistic":           {float64(v.TwoSample.Statistic), float64(test.Statistic)},
		"p-value":             {float64(v.TwoSample.PValue), float64(test.PValue)},
		"against all rows":    {float64(v.AllRows.Statistic), float64(all.Statistic)},
		"its p-value":         {float64(v.AllRows.PValue), float64(all.PValue)},
		"mean violation":      {float64(v.Violation.Mean), mean},
		"samples":             {float64(v.Samples), n},
		"failed":              {float64(v.Failed), 2},
		"wrong":               {float64(v.Wrong), 1},
		"epoch":               {float64(v.Epoch), 4},
	} {
		testkit.Near(t, c[0], c[1], 1e-16, "%s", name)
	}
}

// A sample's violation is its largest |h| or max(g, 0); the summary has the largest
// over components, whichever that is, and the mean over samples.
func TestViolationOfSeveral(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1}))
	if got := metric.MeanLargest(judge.Excess(box, []float64{0.5, 2, -0.25, 0.5, 0.5, 0.5})); got != 0.5 { // 1 and 0
		t.Errorf("mean violation %v, want 0.5", got)
	}
	simplex := testkit.Must(zoo.NewSimplex(3))
	// both the sum
	testkit.Equal(t, metric.MeanLargest(judge.Excess(simplex, []float64{0.25, 0.25, 0, 1.5, -0.25, 0.25})), 0.5,
		"mean violation")
	pool := testkit.Pool(t, 1)
	l := testkit.Must(rotations(t, pool, func([]float64) {}))
	r := &Run{Loaded: l, Folder: begin(t).Folder}
	s := &judge.Samples{X: append([]float64(nil), r.Data.X...), Dim: 9, Lost: make([]bool, 40)}
	for j := range 3 { // the first column of sample 5 is a tenth too long: 0.21 in gram[0,0], the first of six
		s.X[9*5+3*j] *= 1.1
	}
	v, err := r.Evaluate(t.Context(), s, train.State{}, nil)
	var bad *judge.ViolationError
	if !errors.As(err, &bad) || bad.Sample != 5 || math.Abs(float64(v.Violation.Worst)-0.21) > 1e-12 ||
		math.Abs(float64(v.Violation.Mean)-0.21/40) > 1e-12 {
		t.Errorf("%+v, %v", v.Violation, err)
	}
	// The bound itself is allowed, and without projection there is none.
	r.Problem.Generate.MaxViolation = float64(v.Violation.Worst)
	testkit.OK(t, testkit.Err(judge.CheckViolation(r.Process.Set, s, r.Reference().Limit())))
	r.Problem.Generate.MaxViolation = 1e-9
	if _, err := judge.CheckViolation(r.Process.Set, s, r.Reference().Limit()); err == nil {
		t.Error("a violation above the bound passes")
	}
	r.Process.NoTerminal = true
	if _, err := judge.CheckViolation(r.Process.Set, s, r.Reference().Limit()); err != nil {
		t.Errorf("without projection: %v", err)
	}
}

// Copies and the two-sample test are of points as their domain lays them: there the two hemispheres are one.
func TestLaid(t *testing.T) {
	e := begin(t)
	n := len(e.HeldOutRows) / 3
	mirrored := slices.Clone(e.TrainRows[:3*n])
	for i := range mirrored {
		mirrored[i] *= -1
	}
	s := &judge.Samples{X: mirrored, Dim: 3, Lost: make([]bool, n)}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Nearest.Copied > 0.1 || v.TwoSample.PValue > 0.01 {
		t.Fatalf("as they are: %+v, %+v, %v", v.Nearest, v.TwoSample, err)
	}
	e.Domain.Lay = func(x []float64) []float64 {
		out := slices.Clone(x)
		for i := 0; i < len(x); i += 3 {
			if x[i] < 0 {
				for j := range 3 {
					out[i+j] *= -1
				}
			}
		}
		return out
	}
	v, err = e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Nearest.Copied != 1 || v.TwoSample.PValue < 0.01 {
		t.Errorf("laid: %+v, %+v, %v", v.Nearest, v.TwoSample, err)
	}
}
