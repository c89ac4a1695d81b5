package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

// normals returns n standard normal numbers of the test's own stream.
func normals(n int, seed uint64) []float64 {
	x := make([]float64, n)
	keyed.New(seed, keyed.Probe, 0).Normals(x, 0, 0)
	return x
}

// uniforms returns n numbers uniform on [0, 1).
func uniforms(n int, seed uint64) []float64 {
	x := make([]float64, n)
	keyed.New(seed, keyed.Probe, 1).Uniforms(x, 0, 0)
	return x
}

func near[F ~float64](t *testing.T, what string, f F, want, tol float64) {
	t.Helper()
	got := float64(f)
	if !(math.Abs(got-want) <= tol) && got != want {
		t.Errorf("%s = %.17g, want %.17g ± %.2g", what, got, want, tol)
	}
}

func isNaN[F ~float64](t *testing.T, what string, f F) {
	t.Helper()
	got := float64(f)
	if !math.IsNaN(got) {
		t.Errorf("%s = %v, want NaN", what, got)
	}
}

func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		if r == nil {
			t.Errorf("%s did not panic", what)
			return
		}
		if s, ok := r.(string); !ok || len(s) < 7 || s[:7] != "metric:" {
			t.Errorf("%s panicked with %v", what, r)
		}
	}()
	f()
}

func TestShapesPanic(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	for what, f := range map[string]func(){
		"JSDivergence of unequal lengths":  func() { JSDivergence(x, x[1:]) },
		"JSDistance of unequal lengths":    func() { JSDistance(x, x[1:]) },
		"EarthHistogram of a broken row":   func() { EarthHistogram(x[1:]) },
		"NoiseFloor of no rows":            func() { NoiseFloor(nil, 3, 5, 5, 0, nil) },
		"NoiseFloor of one draw":           func() { NoiseFloor(x, 3, 5, 1, 0, nil) },
		"EnergyTest of no points":          func() { EnergyTest(x, nil, 3, 5, 5, 0) },
		"EnergyTest of dimension 0":        func() { EnergyTest(x, x, 0, 5, 5, 0) },
		"EnergyTest with no permutation":   func() { EnergyTest(x, x, 3, 5, 0, 0) },
		"NearestDistances to no points":    func() { NearestDistances(x, nil, 3) },
		"Violations of no samples":         func() { Violations([]string{"h"}, nil, 0, 1) },
		"Violations of a broken row":       func() { Violations([]string{"h", "g"}, x[1:], 3, 1) },
		"Violations with many equalities":  func() { Violations([]string{"h", "g"}, x, 3, 3) },
		"SplitRhat of no chains":           func() { SplitRhat(nil) },
		"ESS of chains of unequal lengths": func() { ESS([][]float64{x, x[1:]}) },
	} {
		panics(t, what, f)
	}
}
