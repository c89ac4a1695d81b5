package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// bowlSet is the set that bowl's points are on.
const bowlSet = `{kind: formula, dim: 3, equality: [{name: bowl, expr: "x[2] = 0.5*(x[0]^2 + x[1]^2)"}],
  inequality: [{name: rim, expr: "x[2] <= 0.7"}, {name: left, expr: "x[0] >= -0.4"}]}`

// bowl is a problem by data and set alone: 90 points of z = ½(x² + y²) with x ≥ −0.4 and z ≤ 0.7,
// learned for an epoch by a small network.
func bowl(t *testing.T, set string, settings ...string) *Run {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("x,y,z\n")
	z := make([]float64, 2)
	for i, rows := uint64(0), 0; rows < 90; i++ {
		keyed.OwnData.Stream(5, 0).Normals(z, i, 0)
		x, y := 0.2+0.3*z[0], 0.3*z[1]
		if h := (x*x + y*y) / 2; x >= -0.4 && h <= 0.7 {
			fmt.Fprintf(&csv, "%v,%v,%v\n", x, y, h)
			rows++
		}
	}
	path := filepath.Join(t.TempDir(), "bowl.csv")
	testkit.OK(t, os.WriteFile(path, []byte(csv.String()), 0o600))
	text := []byte("name: bowl\nset: " + set + "\nnetwork: {width: 16, layers: 1}\ntrain: {epochs: 1}\n")
	return job.New[*Run](t, Load, text, "bowl.yaml", append([]string{"data.path=" + path}, settings...)...)
}

// chosenOf returns the value that was chosen for a key, nil if it was not.
func chosenOf(chosen []choose.Choice, key string) any {
	i := slices.IndexFunc(chosen, func(c choose.Choice) bool { return c.Key == key })
	if i < 0 {
		return nil
	}
	return chosen[i].Value
}

// Rivals that know of Σ only when they generate go through a run folder by data and set alone: their schedule follows
// from the data as that of OLLA does in R^d, they begin where paths end, what programs did is counted, and samples off
// the set are judged as what they are. The network of one serves the others.
func TestRivals(t *testing.T) {
	r := bowl(t, bowlSet, "process.method=euclidean")
	free := bowl(t, "{kind: euclidean, dim: 3}", "process.method=OLLA")
	for _, key := range []string{"process.steps", "process.sigma.min", "process.sigma.max", "process.horizon",
		"network.unit", "train.window"} {
		if got, want := chosenOf(r.Chosen, key), chosenOf(free.Chosen, key); got == nil || got != want {
			t.Errorf("%s is %v, of OLLA in R^3 %v", key, got, want)
		}
	}
	if got := chosenOf(r.Chosen, "prior"); got != "empirical" || r.Problem.Prior != "empirical" {
		t.Errorf("the prior is %v", got)
	}
	testkit.OK(t, r.Train(context.Background(), "", Observer{}))
	model := testkit.Must(r.Trained(""))
	const n = 60
	for _, c := range []struct {
		method   string
		on       bool
		programs int
	}{
		{"euclidean", false, 0}, {"projected", true, n * r.Process.Schedule.N},
		{"lagrangian", true, n * r.Process.Schedule.N}, {"guided", false, 0},
		{"corrected", true, n * (r.Process.Schedule.N + 1)},
	} {
		q := testkit.Must(r.Redraw(t.Context(), problem.ParseSettings("process.method="+c.method)))
		prior, err := q.Prior(context.Background(), nil)
		if err != nil || prior.Kind != "empirical" {
			t.Fatalf("%+v, %v", prior, err)
		}
		s, err := q.Generate(context.Background(), model, prior, n, 0, 3, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.method, err)
		}
		v, err := q.Evaluate(t.Context(), s, model.State, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.method, err)
		}
		if on := float64(v.Violation.Worst) <= 1e-11; on != c.on || v.Verdict.Has(verdict.Violation) == c.on {
			t.Errorf("%s: off the set by %v; the verdict says %+v", c.method, v.Violation.Worst, v.Verdict.Findings)
		}
		p := v.Programs
		if (p == nil) != (c.programs == 0) || p != nil && (p.Points != c.programs || p.Iterations == 0) {
			t.Errorf("%s: programs %+v, want %d points", c.method, p, c.programs)
		}
		if v.Bounces != nil {
			t.Errorf("%s: steps at walls that it does not see", c.method)
		}
		page := reportOf(t, q, s, v)
		testkit.Equal(t, strings.Contains(page, "Programs of optimisation"), c.programs > 0,
			"%s: the report and programs", c.method)
		for _, f := range v.Verdict.Findings {
			if f.Code == verdict.Violation && !slices.Contains(f.Remedy.Settings, "process.method=ULLA") {
				t.Errorf("%s: remedy %+v", c.method, f.Remedy)
			}
		}
	}
}

// The doctor says of these methods what it can, and uniform priors are refused.
func TestExamineRivals(t *testing.T) {
	r := bowl(t, bowlSet, "process.method=projected")
	report := testkit.Must(Examine(context.Background(), r.Problem, r.Pool, nil))
	keepFindings(t, report)
	at := slices.IndexFunc(report.Findings, func(f check.Finding) bool { return f.Check == "forecast" })
	testkit.Contains(t, report.Findings[at].Message, "training takes")
	for settings, want := range map[string]string{
		"process.method=projected prior=uniform":              "empirical or auto",
		"process.method=guided process.options.iterations=3":  "no such option",
		"process.method=lagrangian process.options.penalty=0": "process.options.penalty",
		"sample.method=projected":                             "sample.method",
	} {
		p, err := problem.Load([]byte("set: {kind: sphere, dim: 3}\nname: s\n"), "f.yaml", "",
			problem.ParseSettings(strings.Fields(settings)...))
		testkit.OK(t, err)
		if strings.HasPrefix(settings, "sample") {
			_, err = p.BuildChains()
		} else {
			_, err = p.Build()
		}
		var e *problem.KeyError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}
