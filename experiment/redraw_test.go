package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/examples/newmethod"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// trainedRun is a run with two epochs behind it, and its network.
func trainedRun(t *testing.T, settings ...string) (*Run, *Trained) {
	t.Helper()
	r := begin(t, settings...)
	testkit.OK(t, r.Train(context.Background(), "", Observer{}))
	trained := testkit.Must(r.Trained(""))
	return r, trained
}

// A key at the run's own value draws the same bytes, at another value others; the law
// that an empirical prior is made of stays that of training.
func TestRedraw(t *testing.T) {
	if testing.Short() {
		t.Skip("draws by seventeen keys")
	}
	r, model := trainedRun(t, "process.landing={mode: explicit, rate: 2}", "prior=empirical")
	draw := func(r *Run) []float64 {
		t.Helper()
		s := testkit.Must(drawn(t, r, model, 40))
		return s.X
	}
	own, ends := draw(r), priorStates(t, r)
	for setting, same := range map[string]bool{
		"process.steps=50": true, "process.method=ULLA": true, "process.landing={mode: explicit, rate: 2}": true,
		"process.terminal_projection=true": true, "process.curvature=false": true, "prior=empirical": true,
		"generate.max_failed=0.5": true,
		"process.steps=49":        false, "process.method=ULLA-P": false, "process.landing.rate=2.5": false,
		"process.landing.mode=implicit": false, "process.terminal_projection=false": false,
		"process.curvature=true": false, "prior=uniform": false, "prior=auto": true,
	} {
		q := testkit.Must(r.Redraw(t.Context(), problem.ParseSettings(setting)))
		if got := draw(q); slices.Equal(got, own) != same {
			t.Errorf("%s draws the same samples: %v, want %v", setting, !same, same)
		}
		if setting != "prior=uniform" && !slices.Equal(priorStates(t, q), ends) {
			t.Errorf("%s: the prior is another", setting)
		}
		if len(q.Drawn) == 0 || (len(problem.Changed(q.Drawn)) == 0) != (same && setting != "generate.max_failed=0.5") {
			t.Errorf("%s: drawn by %v", setting, q.Drawn)
		}
	}
	testkit.EqualSlices(t, draw(r), own, "the run draws other samples after others were drawn")
}

func priorStates(t *testing.T, r *Run) []float64 {
	t.Helper()
	p := testkit.Must(r.Prior(context.Background(), nil))
	return p.states()
}

// Without settings a run is itself; a method with no ways to draw but one says so.
func TestRedrawOfOnesOwnMethod(t *testing.T) {
	r := denoised(t)
	if q, err := r.Redraw(t.Context(), nil); q != r || err != nil {
		t.Errorf("%v, %v", q, err)
	}
	var e *problem.KeyError
	if _, err := r.Redraw(t.Context(), problem.ParseSettings("process.steps=60")); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "the method "+newmethod.Kind.Name+" draws samples in one way only") {
		t.Errorf("%v", err)
	}
}

// Diagnosing changes no sample; the curves begin with the prior, have the area of their
// trapezoids, and end in the samples. Without it there is nothing.
func TestDiagnose(t *testing.T) {
	r, model := trainedRun(t, "process.landing={mode: explicit, rate: 0.5}", "process.steps=7")
	plain, err := drawn(t, r, model, 40)
	if err != nil || plain.Steps != nil {
		t.Fatalf("%v, %v", plain, err)
	}
	prior := testkit.Must(r.Prior(context.Background(), nil))
	d := NewDrawer(r.Loaded, model, 40)
	d.Diagnose()
	s, err := d.Draw(context.Background(), prior, 40, 0, 1, nil)
	if err != nil || !slices.Equal(s.X, plain.X) {
		t.Fatalf("watched samples are others: %v", err)
	}
	v, err := r.Evaluate(t.Context(), s, model.State, nil)
	if err != nil || v.Steps == nil || len(v.Steps.Component) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	c := v.Steps.Component[0]
	if len(c.Mean) != 8 || len(v.Steps.Times) != 8 || v.Steps.Times[0] != 2 || v.Steps.Times[7] != 0 {
		t.Fatalf("%d states at %v", len(c.Mean), v.Steps.Times)
	}
	area := 0.0
	for i := range 7 {
		area += float64(c.Mean[i]+c.Mean[i+1]) / 7 // Δt = 2/7
	}
	if c.Component != "radius" || c.Mean[0] > 1e-15 || !(c.Mean[7] > 1e-4) || c.Final > 1e-15 ||
		abs(float64(c.Area)-area) > 1e-12 || v.Steps.Equalities != c.Area || v.Steps.Inequalities != 0 {
		t.Errorf("%+v, area %v", c, area)
	}
	testkit.Contains(t, reportOf(t, r, s, v), "Constraint violation on the way", "the report lacks the curves")
}

// Folders of samples are named by what changed, and differ where it differs, however many keys that are.
func TestOut(t *testing.T) {
	r := &Run{}
	testkit.Equal(t, r.Out("a"), "a", "own samples")
	r.Drawn = []problem.Drawn{{Key: "process.steps", Value: 4., Own: 4.}}
	testkit.Equal(t, r.Out("a"), "a", "samples by the run's own keys")
	r.Drawn = append(r.Drawn, problem.Drawn{Key: "process.landing.rate", Value: 0.5, Own: 0.},
		problem.Drawn{Key: "prior", Value: "uniform", Own: "empirical"})
	testkit.Equal(t, r.Out("figures/a.png"), "drawn/landing.rate=0.5,prior=uniform/figures/a.png")
	seen := map[string]bool{}
	for i := range 3 {
		long := problem.Drawn{Key: "process." + strings.Repeat("k", 300), Value: i, Own: -1}
		r.Drawn = []problem.Drawn{long}
		folder := strings.Split(r.Out("a"), "/")[1]
		if seen[folder] || len(folder) > 200 {
			t.Errorf("folder %s", folder)
		}
		seen[folder] = true
	}
}

func abs(v float64) float64 { return max(v, -v) }
