package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The data stays out of the hole and follows its density: the mean of cos(3θ − 2φ)
// is that of uniform points outside the hole, weighted by the density.
func TestData(t *testing.T) {
	const n = 2000
	x := points(n, 1)
	if !slices.Equal(x[:30], points(10, 1)) {
		t.Error("point i is not a function of the seed and i")
	}
	if slices.Equal(x[:30], points(10, 2)) {
		t.Error("the seed changes nothing")
	}
	wave := func(x []float64) float64 {
		mean, _ := stripe(x)
		return mean
	}
	var weight, first, second float64
	y, s := make([]float64, 3), keyed.New(7, keyed.Probe, 0)
	for i := range uint64(100_000) {
		torus.SampleUniform(y, s, i)
		if !inHole(y) {
			w, c := density(y), wave(y)
			weight, first, second = weight+w, first+w*c, second+w*c*c
		}
	}
	mean := first / weight
	sd := math.Sqrt(second/weight - mean*mean)
	for i := 0; i < len(x); i += 3 {
		if inHole(x[i : i+3]) {
			t.Fatalf("point %d is in the hole", i/3)
		}
	}
	got, standardError := stripe(x)
	if r := standardError * math.Sqrt(n) / sd; math.Abs(r-1) > 0.2 {
		t.Errorf("standard error %g, want %g", standardError, sd/math.Sqrt(n))
	}
	// Five standard errors of 2000 draws, false alarm 6e-7; the reference's own error is a sixth of one.
	if math.Abs(got-mean) > 5*sd/math.Sqrt(n) {
		t.Errorf("mean of cos(3θ − 2φ) is %g, want %g", got, mean)
	}
}

// On the stripe's axis the density is 1, and everywhere at most 1.
func TestDensity(t *testing.T) {
	θ, φ := 0.8, 1.2
	ρ := torus.Major + torus.Minor*math.Cos(φ)
	x := []float64{ρ * math.Cos(θ), ρ * math.Sin(θ), torus.Minor * math.Sin(φ)}
	if p := density(x); math.Abs(p-1) > 1e-12 {
		t.Errorf("density %g where 3θ = 2φ, want 1", p)
	}
	if p := density([]float64{torus.Major + torus.Minor, 1e-9, 0}); math.Abs(p-1) > 1e-6 {
		t.Errorf("density %g at θ = φ = 0, want 1", p)
	}
	if p := density([]float64{torus.Major - torus.Minor, 0, 0}); math.Abs(p-1) > 1e-6 { // φ = π: 2φ = 2π
		t.Errorf("density %g at φ = π, want 1", p)
	}
	if p := density([]float64{torus.Major, 0, torus.Minor}); math.Abs(p-0.15-0.85*math.Exp(-8)) > 1e-12 { // φ = π/2
		t.Errorf("density %g at φ = π/2", p)
	}
}

// The whole way of the commands, small: samples are feasible, none is lost, and
// the same run twice gives the same bytes.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, example.Run(dir, "", 300, 1))
	a := trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy"))
	if b := trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy")); !slices.Equal(a.X, b.X) {
		t.Error("two runs differ")
	}
	if a.Failed() != 0 {
		t.Errorf("%d samples failed", a.Failed())
	}
	for i := 0; i < len(a.X); i += 3 {
		if x := a.X[i : i+3]; math.Hypot(math.Hypot(x[0]-center[0], x[1]-center[1]), x[2]-center[2]) < radius-1e-9 {
			t.Errorf("sample %d is in the hole", i/3)
		}
	}
	path := trial.Save(t, a)
	testkit.OK(t, example.Run(dir, path, 300, 1))
	png, err := os.ReadFile(filepath.Join(dir, "picture.png"))
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("no picture: %v", err)
	}
}
