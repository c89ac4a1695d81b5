package experiment

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// compareStart is CompareStart with the problem's prior.
func compareStart(t *testing.T, e *Run, n int) (*judge.Start, error) {
	t.Helper()
	prior := testkit.Must(e.Prior(context.Background(), nil))
	return e.CompareStart(context.Background(), prior, n)
}

// A process that hardly moves is far from the uniform prior; one that forgets the data is at the floor: its energy test
// passes at the level 0.001, which is its false-alarm rate. Nothing depends on the call before.
func TestStart(t *testing.T) {
	compare := func(settings ...string) *judge.Start {
		e := begin(t, settings...)
		s := testkit.Must(compareStart(t, e, 800))
		again, err := compareStart(t, e, 800)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v, then %+v, %v", s, again, err)
		}
		return s
	}
	s := compare("process.horizon=0.01")
	if s.Prior != "uniform" || s.Metric != "Jensen–Shannon distance" || s.Paths != 2000 || s.PValue > 0.001 ||
		s.Distance < s.Floor+5*s.FloorSD || !strings.Contains(s.Warning, "prior=empirical") {
		t.Errorf("paths that stay: %+v", s)
	}
	s = compare("process.friction=1.5")
	if s.PValue <= 0.001 || s.Warning != "" || math.Abs(float64(s.Distance-s.Floor)) > 0.1*float64(s.Floor) {
		t.Errorf("paths that forget: %+v", s)
	}
}

// An empirical prior is made of such ends: there is nothing to compare.
func TestStartEmpirical(t *testing.T) {
	s, err := compareStart(t, begin(t, "prior=empirical"), 100)
	if err != nil || s.Prior != "empirical" || s.Paths != 0 || s.Warning != "" || !math.IsNaN(float64(s.Distance)) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Where chains make the uniform law, their draws are what is compared.
func TestStartChains(t *testing.T) {
	e := begin(t, "set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`, "process.friction=1.5")
	s, err := compareStart(t, e, 300)
	if err != nil || s.Prior != "chains" || s.Paths != 2000 || math.IsNaN(float64(s.Distance)) || s.PValue <= 0.001 {
		t.Errorf("%+v, %v", s, err)
	}
}

// There are as many paths as samples. There are at least 2000 if that is cheap, and fewer if that many would be
// expensive.
func TestStartCount(t *testing.T) {
	e := begin(t)
	for _, c := range []struct{ steps, samples, want int }{
		{50, 200, 2000}, {50, 20_000, 2000},
		{9999, 200, 333},      // 30 000 numbers a path
		{9999, 5000, 2000},    // 6e7 in all
		{999_999, 200, 33},    // 1e8 in all
		{99_999_999, 5000, 1}, // one is more than that
	} {
		proc := *e.Process
		proc.Schedule.N = c.steps
		testkit.Equal(t, settle.PathCount(&proc, c.samples), c.want, "%d steps, %d samples", c.steps, c.samples)
	}
}
