// Package examples_test runs the examples that consist of a problem file and its data.
package examples_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The data are on the set, with its number of rows. A small training gives feasible samples, none is lost, and the same
// run twice gives the same bytes.
func TestExamples(t *testing.T) {
	for name, rows := range map[string]int{"torus-hole": 8000, "stiefel": 6000, "ellipse": 6000} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(name, "problem.yaml")
			data := testkit.Must(dataset.ReadPoints(filepath.Join(name, "data.npy")))
			testkit.Equal(t, data.N, rows, "rows")
			p := testkit.Must(problem.Load(testkit.Must(os.ReadFile(file)), file, "", nil))
			process := testkit.Must(p.Build())
			trial.Feasible(t, process.Set, data.X)
			few := filepath.Join(t.TempDir(), "data.npy")
			f := testkit.Must(os.Create(few))
			testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Array{Shape: []int{200, data.D},
				Float64: data.X[:200*data.D]}))
			testkit.OK(t, f.Close())
			a := trial.Run(t, file, few)
			testkit.Equal(t, a.Failed(), 0, "failed samples")
			if b := trial.Run(t, file, few); !slices.Equal(a.X, b.X) {
				t.Error("two runs differ")
			}
		})
	}
}
