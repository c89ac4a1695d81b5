package experiment

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// begun returns a small run on the demo's data, not trained yet, that trains so long; with what it is made of.
func begun(t *testing.T, long string) (*Run, *Loaded, *run.Folder) {
	t.Helper()
	p, err := problem.Load([]byte("data: {kind: demo}\nset: {kind: sphere, dim: 3}\ndefaults: fixed\nprior: uniform\n"+
		"network: {width: 4, layers: 1}\ntrain: {"+long+", times_per_path: 1, batch: 2048}"), "p.yaml", "", nil)
	testkit.OK(t, err)
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	l := testkit.Must(Load(t.Context(), p, pool, nil))
	f := testkit.Must(run.Create(t.TempDir()+"/r", false))
	r := testkit.Must(l.Begin(f, nil, nil))
	return r, l, f
}

// An evaluation that a folder keeps is read back with what it is of; one of other weights or of another problem is
// told as such, and none is written over.
func TestKeptEvaluation(t *testing.T) {
	r, _, f := begun(t, "epochs: 1")
	testkit.OK(t, r.Train(t.Context(), "", Observer{}))
	if k, stale, err := KeptEvaluation(r); k != nil || stale != "" || err != nil {
		t.Fatalf("before any: %+v, %q, %v", k, stale, err)
	}
	trained := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(t.Context(), nil))
	s := testkit.Must(r.Generate(t.Context(), trained, prior, 40, 0, 1, nil))
	v := testkit.Must(r.Evaluate(t.Context(), s, trained.State, nil))
	if v.Network != 50 || v.MMD.N != 40 || !(v.MMD.Statistic > v.MMD.Mean) {
		t.Errorf("%v evaluations a sample of 50 steps; MMD %+v", v.Network, v.MMD)
	}
	testkit.OK(t, KeepEvaluation(r, v, trained.State, 1, errors.New("something")))
	k, stale, err := KeptEvaluation(r)
	if err != nil || stale != "" || k.Fault != "something" || k.Samples != 40 || k.JSD.Full != v.JSD.Full ||
		k.JSD.Mean != v.JSD.Mean || k.Seed != 1 || k.MMD.Statistic != v.MMD.Statistic || k.MMD.PValue != v.MMD.PValue ||
		k.Network != 50 || k.Component[0] != v.Component[0] || k.Verdict.Title() != v.Verdict.Title() {
		t.Errorf("read back %+v, %q, %v", k, stale, err)
	}
	if err := KeepEvaluation(r, v, trained.State, 1, nil); !errors.As(err, new(*run.ExistsError)) {
		t.Errorf("written over: %v", err)
	}
	if says := Standing(r, trained); v.Verdict.Grade != verdict.NotGood || len(says) != 1 ||
		!strings.Contains(says[0], "not good (") {
		t.Errorf("samples of one update: %+v, %q", v.Verdict, says)
	}
	testkit.OK(t, f.SetStatus(run.Status{State: "interrupted"}))
	if says := Standing(r, trained); len(says) != 2 || !strings.Contains(says[0], "interrupted: these are weights of "+
		"epoch 1") {
		t.Errorf("a training that was stopped: %q", says)
	}
	path := f.Path(run.EvaluationFile)
	whole := testkit.Must(os.ReadFile(path))
	for change, want := range map[string]string{
		`"updates": 1|"updates": 7`:                     "of weights after 7 updates, the newest have 1",
		`"config_sha256": "|"config_sha256": "another `: "of another problem",
	} {
		from, to, _ := strings.Cut(change, "|")
		if !strings.Contains(string(whole), from) {
			t.Fatalf("no %s in the file", from)
		}
		testkit.OK(t, os.WriteFile(path, []byte(strings.Replace(string(whole), from, to, 1)), 0o666))
		if _, stale, err := KeptEvaluation(r); err != nil || !strings.Contains(stale, want) {
			t.Errorf("%s: %q, %v", to, stale, err)
		}
	}
	testkit.OK(t, os.WriteFile(path, whole[:len(whole)/2], 0o666))
	if _, _, err := KeptEvaluation(r); fault.KindOf(err) != fault.Run {
		t.Errorf("half a file: %v", err)
	}
}

// Weights that nothing was learned by draw no samples.
func TestNothingTrained(t *testing.T) {
	r, l, f := begun(t, "max_seconds: 1")
	l.loading = 2 * time.Second // all of the budget
	if err := r.Train(t.Context(), "", Observer{}); err == nil || !strings.Contains(err.Error(), "the budget") {
		t.Fatalf("%v; expected that the budget is spent", err)
	}
	if names, err := f.Checkpoints(); err != nil || len(names) != 1 {
		t.Fatalf("checkpoints %q, %v; expected one", names, err)
	}
	if _, err := r.Trained(""); fault.KindOf(err) != fault.Run {
		t.Errorf("%v; expected that there is nothing to draw by", err)
	}
}
