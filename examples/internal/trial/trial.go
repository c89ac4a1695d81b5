// Package trial runs the problem file of an example at small size, for its test.
package trial

import (
	"os"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

func init() { pathmatch.FitNumbers, experiment.PriorEnds = 1<<13, 1000 } // what is trained is small

// Small are the settings that make a run of seconds; everything else is as the problem file says.
var Small = []string{"train.epochs=2", "train.batch=64", "network.width=16", "network.layers=1"}

// Tolerances of samples.
const (
	Equality   = 1e-10
	Inequality = 1e-9
	Samples    = 200
)

// Run trains the problem on the data at path, generates 200 samples and fails the test if one that is not marked as
// lost is off Σ, or if more are lost than generate.max_failed allows.
func Run(t *testing.T, file, path string) *judge.Samples {
	t.Helper()
	source := testkit.Must(os.ReadFile(file))
	r := job.New[*experiment.Run](t, experiment.Load, source, file, append(Small, "data.path="+path)...)
	testkit.OK(t, r.Train(t.Context(), "", experiment.Observer{}))
	network, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
	s := testkit.Must(r.Generate(t.Context(), network, prior, Samples, 0, r.Problem.Seed, nil))
	Feasible(t, r.Process.Set, s.Good())
	return s
}

// Feasible fails the test if a row of x is off the set.
func Feasible(t *testing.T, set constraint.Set, x []float64) {
	t.Helper()
	names, m := constraint.Components(set), len(set.Equalities())
	if len(x) == 0 {
		t.Fatal("there are no samples")
	}
	for i, v := range constraint.Values(set, x) {
		a := i % len(names)
		if a < m && !(v >= -Equality && v <= Equality) || a >= m && !(v <= Inequality) {
			t.Errorf("sample %d: %s is %g", i/len(names), names[a], v)
		}
	}
}
