package experiment

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
)

// sampled runs the chains of a problem.
func sampled(t *testing.T, text string, settings ...string) (*SampleReport, error) {
	t.Helper()
	p, err := problem.Load([]byte(text), "chains.yaml", "", settings)
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	defer pool.Close()
	return Sample(context.Background(), p, pool, nil)
}

const (
	thinEllipsoid = "name: e\nset: {kind: ellipsoid, axes: [1, 0.6, 0.2]}\n" +
		"sample: {chains: 16, burn: 200, draws: 500, thin: 4}\n"
	linearTorus = "name: t\nset: {kind: torus, major: 2, minor: 0.6}\n" +
		"potential: {kind: formula, expr: \"-1.5*x[0] - 0.5*x[1] + x[2]\"}\n" +
		"sample: {chains: 16, burn: 200, draws: 500, thin: 4}\n"
)

// At a step of 0.1 more than a hundredth of the projections on a thin ellipsoid fail,
// which biases the law: refused, but not of chmc, which checks its flights. The step
// that auto finds fails hardly ever, and is the same again.
func TestFailedProjectionsAreLimited(t *testing.T) {
	var e *ChainsError
	_, err := sampled(t, thinEllipsoid, "sample.step=0.1")
	if !errors.As(err, &e) || e.Key != "sample.max_failed" || e.Value < 0.01 {
		t.Errorf("step 0.1: %v", err)
	}
	if _, err := sampled(t, thinEllipsoid, "sample.step=0.1", "sample.max_failed=0.05"); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if _, err := sampled(t, thinEllipsoid, "sample.step=0.1", "sample.method=chmc"); err != nil {
		t.Errorf("chmc: %v", err)
	}
	a, err := sampled(t, thinEllipsoid, "sample.max_rhat=1.5")
	if err != nil || a.FailedShare > 2e-3 || a.Step > 0.05 || a.Step < 0.005 {
		t.Errorf("auto: step %v, %v failed, %v", a.Step, a.FailedShare, err)
	}
	b, _ := sampled(t, thinEllipsoid, "sample.max_rhat=1.5", "sample.step=auto")
	if a.Step != b.Step || a.Coordinates[0] != b.Coordinates[0] {
		t.Errorf("auto gives %v and %v", a.Step, b.Step)
	}
}

// Chains that never move, or have not mixed, are an error with what to change.
func TestFrozenChains(t *testing.T) {
	for _, method := range []string{"splitting", "chmc", "ULLA"} {
		var e *ChainsError
		_, err := sampled(t, linearTorus, "sample.step=1e6", "sample.method="+method)
		if !errors.As(err, &e) || e.Cure == "" {
			t.Errorf("%s with a step of 10⁶: %v", method, err)
		}
	}
	var e *ChainsError
	if _, err := sampled(t, linearTorus, "sample.step=0.001"); !errors.As(err, &e) || e.Key != "sample.max_rhat" {
		t.Errorf("chains that have not mixed: %v", err)
	}
}

// A potential that is stiff breaks no chain and makes no error: auto shortens the step
// to what its energy bears, and chmc gives the same law. On a circle with f = 200 x₁²
// x₁ has nearly variance 1/400; by quadrature over the angle.
func TestStiffPotential(t *testing.T) {
	const stiff = "name: c\nset: {kind: sphere, dim: 2}\npotential: {kind: formula, expr: \"200*x[1]^2\"}\n" +
		"sample: {chains: 32, burn: 300, draws: 500, thin: 3, max_rhat: 100}\n"
	sum, all := 0.0, 0.0
	for i := range 100_000 {
		s := math.Sin(2 * math.Pi * (float64(i) + 0.5) / 100_000)
		w := math.Exp(-200 * s * s)
		sum, all = sum+s*s*w, all+w
	}
	for _, method := range []string{"splitting", "chmc"} {
		r, err := sampled(t, stiff, "sample.method="+method)
		if err != nil {
			t.Fatal(err)
		}
		// 16 000 draws, most of them independent: a standard error of 2 % at 4000 effective ones.
		v := float64(r.Coordinates[1].SD * r.Coordinates[1].SD)
		if math.Abs(v/(sum/all)-1) > 0.12 || r.Step > 0.2 {
			t.Errorf("%s: variance %v with step %v, want %v", method, v, r.Step, sum/all)
		}
	}
}
