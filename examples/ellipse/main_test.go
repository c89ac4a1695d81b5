package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Points are on their ellipse and above their floor, and functions of the seed and their
// number; of one condition their angles have the density that is written: the share within a
// right angle of the greater bump (5 standard errors of 4000 draws, false alarm 6e-7).
func TestPoints(t *testing.T) {
	x := points(500, 1)
	if !slices.Equal(x[:40], points(10, 1)) || slices.Equal(x[:40], points(10, 2)) {
		t.Error("a point is no function of the seed and its number")
	}
	for i := 0; i < len(x); i += 4 {
		if h := math.Abs(x[i]*x[i]/(x[i+2]*x[i+2]) + x[i+1]*x[i+1] - 1); h > 1e-15 || x[i+1] < x[i+3] {
			t.Fatalf("point %d is off its set: %v", i/4, x[i:i+4])
		}
	}
	const n, a, floor = 4000, 0.9, -0.6
	turn, in := math.Pi*(a-0.5), 0.0
	row := make([]float64, 4)
	for i := range n {
		if point(row, a, floor, 3, i); math.Cos(angles(row)[0]-turn) > 0 {
			in++
		}
	}
	share, all := 0.0, 0.0
	for i := range 100_000 {
		θ := 2 * math.Pi * (float64(i) + 0.5) / 100_000
		if math.Sin(θ) < floor {
			continue
		}
		all += density(θ, a)
		if math.Cos(θ-turn) > 0 {
			share += density(θ, a)
		}
	}
	share /= all
	if math.Abs(in/n-share) > 5*math.Sqrt(share*(1-share)/n) {
		t.Errorf("a share of %.4f is near the greater bump, want %.4f", in/n, share)
	}
}

// The problem file trains on the program's data, and samples are on the sets of held-out conditions.
func TestTrial(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, example.Run(dir, "", 300, 1))
	s := trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy"))
	if s.Dim != 4 || s.N() != trial.Samples {
		t.Errorf("%d samples of %d numbers", s.N(), s.Dim)
	}
}

// Samples are drawn beside new draws under their own conditions.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	for _, draw := range []string{"", filepath.Join(dir, "data.npy")} {
		testkit.OK(t, example.Run(dir, draw, 40, 1))
	}
	if f, err := os.Stat(filepath.Join(dir, "picture.png")); err != nil || f.Size() < 1000 {
		t.Errorf("%v, %v", f, err)
	}
}
