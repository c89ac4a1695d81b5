package uniform

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/parallel"
)

// draw runs the chains and returns the rows of their states.
func draw(t *testing.T, set constraint.Set, starts []float64) (*Draws, [][]float64) {
	t.Helper()
	pool := parallel.New(2)
	defer pool.Close()
	out, err := Draw(context.Background(), Config{Set: set, Starts: starts, Seed: 1, MaxSteps: 100_000, Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	if out.Rhat > 1.05 || out.ESS < mixedESS || out.Lost != 0 || len(out.States) != out.Kept*set.Dim() {
		t.Fatalf("%d numbers, split-R̂ %v, %v effective draws, %d of %d lost", len(out.States), out.Rhat, out.ESS,
			out.Lost, out.Kept)
	}
	var rows [][]float64
	for i := 0; i < len(out.States); i += set.Dim() {
		rows = append(rows, out.States[i:i+set.Dim()])
	}
	return out, rows
}

// The chains find the uniform law of the torus, whose angle φ of the tube has
// density ∝ R + r cos φ, so E cos φ = r/(2R) = 0.15, and not a flat φ; from points
// that lie in one quarter. The mean of cos φ has standard error about
// 0.7/√400 = 0.035 by the effective draws asked for; the limit is 4 of them (a false alarm
// rate below 1e-4, at fixed seeds).
func TestTorus(t *testing.T) {
	var starts []float64
	u := make([]float64, 2)
	for i := range 100 {
		keyed.New(1, keyed.Probe, 5).Uniforms(u, uint64(i), 0)
		a, b := u[0]*math.Pi/2, u[1]
		starts = append(starts, (2+0.6*math.Cos(b))*math.Cos(a), (2+0.6*math.Cos(b))*math.Sin(a), 0.6*math.Sin(b))
	}
	out, rows := draw(t, zoo.Torus{Major: 2, Minor: 0.6}, starts)
	if !out.Mixed() {
		t.Errorf("split-R̂ %v, %v effective draws", out.Rhat, out.ESS)
	}
	var cos, x []float64
	for _, s := range rows {
		ρ := math.Hypot(s[0], s[1])
		cos, x = append(cos, (ρ-2)/0.6), append(x, s[0])
		if h := math.Hypot(ρ-2, s[2]) - 0.6; math.Abs(h) > 1e-12 {
			t.Fatalf("a state has h = %g", h)
		}
	}
	if got := stat.Mean(cos, nil); math.Abs(got-0.15) > 0.14 {
		t.Errorf("E cos φ = %.3f, want 0.15", got)
	}
	if got := stat.Mean(x, nil); math.Abs(got) > 4*1.5/math.Sqrt(out.ESS) {
		t.Errorf("E x = %.3f, want 0", got)
	}
}

// With inequalities: a spherical cap, whose height is uniform on [0.2, 1].
func TestCap(t *testing.T) {
	set, err := zoo.NewCap([]float64{0, 0, 1}, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	out, rows := draw(t, set, []float64{0, 0, 1, 0.6, 0, 0.8, 0, 0.6, 0.8, 0, -0.6, 0.8})
	var z []float64
	for _, s := range rows {
		z = append(z, s[2])
		if s[2] < 0.2-1e-12 || math.Abs(math.Hypot(math.Hypot(s[0], s[1]), s[2])-1) > 1e-12 {
			t.Fatalf("state %v is not on the cap", s)
		}
	}
	// Standard deviation 0.8/√12, 400 effective draws: 4 standard errors are 0.046.
	if got := stat.Mean(z, nil); math.Abs(got-0.6) > 0.046 {
		t.Errorf("mean height %.3f, want 0.6; split-R̂ %v", got, out.Rhat)
	}
	if got := stat.StdDev(z, nil); math.Abs(got-0.8/math.Sqrt(12)) > 0.04 {
		t.Errorf("standard deviation of the height %.3f, want 0.231", got)
	}
}

// Starts in a narrow part of Σ, far from its edge: an arc of ±120°, and points
// within 6° of its middle. The first rounds choose the step and ε of those that
// count.
func TestNarrowStarts(t *testing.T) {
	set, err := zoo.NewCap([]float64{1, 0}, -0.5)
	if err != nil {
		t.Fatal(err)
	}
	var starts []float64
	for i := range 20 {
		θ := 0.01 * float64(i-10)
		starts = append(starts, math.Cos(θ), math.Sin(θ))
	}
	_, rows := draw(t, set, starts)
	var angle []float64
	for _, s := range rows {
		angle = append(angle, math.Atan2(s[1], s[0]))
	}
	// θ is uniform on ±2π/3, of standard deviation 1.209. Four standard errors of
	// the mean at 400 effective draws are 0.24; of the standard deviation,
	// 4·1.209·√(0.8/4/400) = 0.11. At fixed seeds a false alarm has odds below 1e-3.
	if got := stat.Mean(angle, nil); math.Abs(got) > 0.24 {
		t.Errorf("mean angle %.3f, want 0", got)
	}
	if got := stat.StdDev(angle, nil); math.Abs(got-2*math.Pi/math.Sqrt(27)) > 0.11 {
		t.Errorf("standard deviation of the angle %.3f, want 1.209", got)
	}
}

// Draws that cannot be projected are left out and counted; a coordinate that Σ
// holds constant does not count for mixing.
func TestLostAndConstant(t *testing.T) {
	circle, err := zoo.NewCurve([]zoo.Term{{Coefficient: 1, X: 2}, {Coefficient: 1, Y: 2}, {Coefficient: -1}})
	if err != nil {
		t.Fatal(err)
	}
	x, n := projected(circle, []float64{3, 0, 0, 0, 0, -0.5, math.NaN(), 1}) // the gradient vanishes at 0
	if n != 2 || len(x) != 4 || math.Abs(x[0]-1) > 1e-12 || math.Abs(x[3]+1) > 1e-12 {
		t.Errorf("%d lost, left are %v", n, x)
	}
	if !constant([][]float64{{2, 2 + 1e-15}, {2, 2}}) || constant([][]float64{{2, 2}, {2, 2.1}}) {
		t.Error("what is constant to round-off, and what is not")
	}
}
