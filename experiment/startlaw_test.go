package experiment

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// prior: auto is the uniform law where paths end in it, and else the ends of paths, with
// the reason in the manifest; a folder opens with what was chosen. Where auto takes the
// uniform law the evaluation does not reject it: both make the same test. Its level,
// 0.05, is the chance that a law in which paths do end is not taken.
func TestPriorIsAuto(t *testing.T) {
	for _, c := range []struct {
		settings     []string
		want, reason string
	}{
		{[]string{"process.horizon=0.01"}, "empirical", "do not end in the uniform law (energy test, p = 0.001"},
		{[]string{"process.friction=1.5"}, "uniform", "cannot be told"},
		{[]string{"set.kind=formula", `set.equality=[{name: radius, expr: "norm(x) = 1"}]`}, "empirical",
			"no closed form"},
		{[]string{"potential.kind=linear", "potential.b=[0, 0, 1]", "train.window=0"}, "empirical", "exp(−f)"},
	} {
		e := begin(t, append(c.settings, "prior=auto")...)
		var m run.Manifest
		testkit.OK(t, e.Folder.ReadJSON(run.ManifestFile, &m))
		if len(m.Chosen) != 1 || m.Chosen[0].Key != "prior" || m.Chosen[0].Value != c.want ||
			!strings.Contains(m.Chosen[0].Reason, c.reason) || e.Problem.Prior != c.want {
			t.Errorf("%v: chosen %+v, prior %q; want %s: %s", c.settings, m.Chosen, e.Problem.Prior, c.want, c.reason)
		}
		again, err := Open(t.Context(), e.Folder.Dir, "", e.Pool, nil)
		if err != nil || again.Problem.Prior != c.want || len(again.Chosen) != 0 {
			t.Errorf("%v: opened with %+v, %v", c.settings, again, err)
		}
		if s, err := compareStart(t, e, e.SampleCount()); err != nil || s.Warning != "" {
			t.Errorf("%v: %+v, %v", c.settings, s, err)
		}
	}
}

// On a set without end there is no uniform law to take; a prior that is written stays, and fails there.
func TestPriorWithoutEnd(t *testing.T) {
	const line = "name: line\ndefaults: fixed\nset: {kind: affine, a: [[1, 1]], b: [1]}\n"
	rows := [][]float64{{0, 1}, {1, 0}, {0.5, 0.5}, {2, -1}, {0.25, 0.75}, {-1, 2}}
	l, err := written(t, line, rows)
	if err != nil || l.Problem.Prior != "empirical" || !strings.Contains(l.Chosen[0].Reason, "unbounded") {
		t.Errorf("%+v, %v", l, err)
	}
	testkit.Refused(t, testkit.Err(written(t, line+"prior: uniform\n", rows)), "auto", "uniform")
}

// The choice is a function of the problem and its data, not of the workers.
func TestPriorByWorkers(t *testing.T) {
	var first []choose.Choice
	for _, workers := range []int{1, 3} {
		pool := testkit.Pool(t, workers)
		data, origin, err := problem.Source("demo")
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(data, origin, "fixed", problem.ParseSettings("prior=auto",
			"process.friction=1.5")))
		l := testkit.Must(Load(t.Context(), p, pool, nil))
		if first == nil {
			first = l.Chosen
		}
		if len(first) != 1 || !slices.Equal(first, l.Chosen) {
			t.Errorf("%d workers: %+v, first %+v", workers, l.Chosen, first)
		}
	}
}

// The doctor says what auto takes, and compares paths with the uniform law only where generation begins with it.
func TestExamineAutoPrior(t *testing.T) {
	if testing.Short() {
		t.Skip("two tests of a thousand points")
	}
	pool := testkit.Pool(t, 2)
	for _, c := range []struct{ horizon, says, terminal string }{
		{"0.01", "prior: auto is empirical: forward paths do not end in the uniform law", "nothing to compare"},
		{"40", "prior: auto is uniform: forward paths cannot be told", "paths end in the prior"},
	} {
		data, origin, err := problem.Source("demo")
		testkit.OK(t, err)
		p, err := problem.Load(data, origin, "fixed", problem.ParseSettings("prior=auto", "process.horizon="+c.horizon))
		testkit.OK(t, err)
		r := testkit.Must(Examine(context.Background(), p, pool, nil))
		var all strings.Builder
		for _, f := range r.Findings {
			all.WriteString(f.Check + ": " + f.Message + "\n")
		}
		if !strings.Contains(all.String(), c.says) || !strings.Contains(all.String(), c.terminal) {
			t.Errorf("horizon %s:\n%s", c.horizon, all.String())
		}
	}
}
