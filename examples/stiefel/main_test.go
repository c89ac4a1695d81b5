package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The data is on V(5, 2), and its share in each cluster and mean overlap with the centre are those of the mixture. The
// mean overlap of the matrix Langevin law is computed from uniform points weighted by exp(κ tr CᵀX).
func TestData(t *testing.T) {
	const n = 300
	x, centres, err := pairs(n, 1)
	testkit.OK(t, err)
	if again, _, _ := pairs(5, 1); !slices.Equal(x[:5*dim], again) {
		t.Error("point i is not a function of the seed and i")
	}
	set := testkit.Must(zoo.NewStiefel(rows, cols))
	trial.Feasible(t, set, x)

	var weight, first, second float64
	y, s := make([]float64, dim), keyed.New(7, keyed.Probe, 0)
	for i := range uint64(200_000) {
		set.SampleUniform(y, s, i)
		o := overlap(centres[0], y)
		w := math.Exp(κ * (o - cols))
		weight, first, second = weight+w, first+w*o, second+w*o*o
	}
	mean := first / weight
	sd := math.Sqrt(second/weight - mean*mean)

	var count [3]int
	var sum [3]float64
	u := make([]float64, 1)
	for i := range n {
		keyed.New(1, keyed.Synthetic, 1).Uniforms(u, uint64(i), 0)
		j := cluster(u[0])
		count[j]++
		sum[j] += overlap(centres[j], x[i*dim:(i+1)*dim])
	}
	for j, w := range weights {
		// Six bounds of 5 standard errors, false alarm 3e-6 in all.
		if d := float64(count[j])/n - w; math.Abs(d) > 5*math.Sqrt(w*(1-w)/n) {
			t.Errorf("share %d is off by %g", j, d)
		}
		if d := sum[j]/float64(count[j]) - mean; math.Abs(d) > 5*sd/math.Sqrt(float64(count[j])) {
			t.Errorf("mean overlap %d is off by %g, standard deviation %g", j, d, sd)
		}
	}
}

// The whole way of the commands, small: samples are feasible, none is lost, and
// the same run twice gives the same bytes.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, example().Run(dir, "", 200, 1))
	a := trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy"))
	if b := trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy")); !slices.Equal(a.X, b.X) {
		t.Error("two runs differ")
	}
	if a.Failed() != 0 {
		t.Errorf("%d samples failed", a.Failed())
	}
	path := trial.Save(t, a)
	testkit.OK(t, example().Run(dir, path, 200, 1))
	png, err := os.ReadFile(filepath.Join(dir, "picture.png"))
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("no picture: %v", err)
	}
}
