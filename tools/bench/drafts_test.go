package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/draft"
	"github.com/landing-diffusion/landing/tools/bench/problems"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// What landing init drafts is a problem that loads, that the doctor fails in nothing, that trains and whose samples
// are finite and within their limits: of each problem of the suite, and of each published file that holds rows. What
// is no table of rows is refused in words. (A training of one epoch of a small network: it need not be good.)
// All of them with LANDING_LONG=all, else some.
func TestDraftsTrain(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes: doctors and trainings")
	}
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	all := testkit.Longest() // a quarter of an hour
	for _, p := range problems.All() {
		if !all && !slices.Contains([]string{"torus", "components", "so3", "simplex", "redundant"}, p.Name) {
			continue
		}
		if p.Name == "rows-200000" || p.Name == "ring8" || p.Name == "ball-chain" {
			continue // as s2 and ring6, with rows that take long
		}
		t.Run(p.Name, func(t *testing.T) {
			dir := t.TempDir()
			testkit.OK(t, p.Write(t.Context(), pool, 1, dir))
			drafted(t, filepath.Join(dir, p.DataFile()), "", pool)
		})
	}
	const flat, network = "an array of shape [", "it holds the arrays"
	refused := map[string]string{
		"robot/L10_labels.npy": flat, "robot/L20_labels.npy": flat, "robot/L30_labels.npy": flat,
		"robot/L40_labels.npy": flat, "mesh/bunny_sdf.npz": network, "mesh/spot_sdf.npz": network,
	}
	files := testkit.Must(filepath.Glob(filepath.Join(testkit.Shared(t, "data"), "*", "*")))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		if ext := filepath.Ext(name); ext == ".obj" || ext == ".ply" || strings.Contains(name, "README") {
			continue // surfaces
		}
		if !all && refused[name] == "" && !strings.HasPrefix(name, "earth/v") &&
			(!strings.HasPrefix(name, "alanine/") || strings.Contains(name, "refined")) {
			continue // the refined conformations take as long as all others
		}
		t.Run(name, func(t *testing.T) { drafted(t, file, refused[name], pool) })
	}
}

// drafted drafts a problem for a data file and carries it through, or wants it refused in words with one of them.
func drafted(t *testing.T, file, refused string, pool *parallel.Pool) {
	t.Helper()
	d, err := draft.New(draft.Options{Path: file})
	if refused != "" {
		testkit.Refused(t, err, refused)
		return
	}
	testkit.OK(t, err)
	small := []string{"data.path=" + file, "train.epochs=1", "train.times_per_path=1", "network.width=8",
		"network.layers=1", "generate.max_failed=1"}
	p, err := problem.Load([]byte(d.YAML), "problem.yaml", "", problem.ParseSettings(small...))
	if err != nil {
		t.Fatalf("%v\n%s", err, d.YAML)
	}
	r, err := experiment.Examine(t.Context(), p, pool, nil)
	if r == nil || err != nil {
		t.Errorf("the doctor: %v", err)
		for i := 0; r != nil && i < len(r.Findings); i++ {
			if f := r.Findings[i]; f.Status == check.Fail {
				t.Errorf("%s %s: %s", f.Check, f.Component, f.Message)
			}
		}
	}
	run := job.New[*experiment.Run](t, experiment.Load, []byte(d.YAML), "problem.yaml", small...)
	testkit.OK(t, run.Train(t.Context(), "", experiment.Observer{}))
	net := testkit.Must(run.Trained(""))
	prior := testkit.Must(run.Prior(t.Context(), nil))
	s := testkit.Must(run.Generate(t.Context(), net, prior, 20, 0, 1, nil))
	var off *judge.ViolationError
	if _, err := judge.CheckViolation(run.Process.Set, s, run.Reference().Limit()); errors.As(err, &off) {
		t.Error(err)
	}
	if s.Failed() > 10 {
		t.Errorf("%d of 20 samples failed", s.Failed())
	}
	t.Logf("%s; %d of 20 failed", d.Set, s.Failed())
}
