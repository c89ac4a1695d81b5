package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const draws = `name: draws
problems: [demo]
seeds: [5]
budget: {epochs: 2}
samples: 40
draws:
  - {name: as trained, set: {}}
  - {name: short, set: {process: {steps: 9}}}
  - {name: projected, set: {process.method: ULLA-P}}
set:
  process: {steps: 10}
  network: {width: 8, layers: 1}
  train: {times_per_path: 2}
`

// trainings counts the epochs of a call.
func trainings(epochs *int) Observer {
	return Observer{Train: experiment.Observer{Epoch: func(train.Epoch) { *epochs++ }}}
}

func states(o *Outcome) (out []work.State) {
	for _, c := range o.Cells {
		out = append(out, c.State)
	}
	return out
}

// Cells that differ in how they draw share one training and its run folder, where each has samples of its own; those
// that draw as the network was trained have the bytes of a cell without draws.
func TestDraws(t *testing.T) {
	pool := testkit.Pool(t, 2)
	p := planned(t, draws, Options{})
	if got := strings.Join(names(p), " "); got != "demo-2epochs-s5-as-trained demo-2epochs-s5-short "+
		"demo-2epochs-s5-projected" {
		t.Fatalf("cells %s", got)
	}
	dir, epochs := filepath.Join(t.TempDir(), "d"), 0
	out, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool, Observer: trainings(&epochs)})
	if err != nil || !out.Complete || failedOf(out) > 0 || epochs != 2 {
		t.Fatalf("%v, %d epochs, %v", err, epochs, out)
	}
	runs, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil || len(runs) != 1 || runs[0].Name() != "demo-2epochs-s5" {
		t.Errorf("run folders %v, %v", runs, err)
	}
	entries, err := (&compare.Reader{Pool: pool}).Read(t.Context(), []string{dir})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	var hashes []string
	for i, e := range entries {
		file := filepath.Join(e.Folder, e.Drawn, run.SamplesFile)
		data, err := os.ReadFile(file)
		if err != nil || run.Hash(data) != e.Row.SampleSHA || slices.Contains(hashes, e.Row.SampleSHA) {
			t.Errorf("%s: samples of another cell, or none: %v", e.Row.Name, err)
		}
		hashes = append(hashes, e.Row.SampleSHA)
		if want := []metricCase{{10, "as trained"}, {9, "short"}, {10, "projected"}}[i]; float64(e.Row.Network) !=
			want.steps || e.Row.Draw != want.draw || !strings.Contains(e.Row.Line(), want.draw) {
			t.Errorf("%s: %v evaluations of the network, drawn %q", e.Row.Name, e.Row.Network, e.Row.Draw)
		}
	}
	plain := planned(t, strings.Split(draws, "draws:")[0]+"set:"+strings.Split(draws, "\nset:")[1], Options{})
	alone, err := plain.Run(t.Context(), Runner{Dir: filepath.Join(t.TempDir(), "p"), Pool: pool})
	if err != nil || alone.Entries()[0].Row.SampleSHA != hashes[0] {
		t.Errorf("without draws other samples: %v", err)
	}
}

type metricCase struct {
	steps float64
	draw  string
}

// A training that cells share is gone on with after a kill, made anew where another version left it unfinished, and
// taken as it is where that ended it. One that fails is not tried for each of its cells.
func TestSharedTraining(t *testing.T) {
	pool := testkit.Pool(t, 2)
	p := planned(t, draws, Options{})
	whole := filepath.Join(t.TempDir(), "whole")
	out := testkit.Must(p.Run(t.Context(), Runner{Dir: whole, Pool: pool}))
	name := filepath.Join("runs", p.Cells[0].Training)
	replace := func(dir, file, old, now string) {
		t.Helper()
		path := filepath.Join(dir, name, file)
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("%s has no %s: %v", file, old, err)
		}
		testkit.OK(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, now, 1)), 0o666))
	}
	other := func(dir string) { replace(dir, "manifest.json", `"version": "`, `"version": "not `) }
	bare := func(dir string) { os.Remove(filepath.Join(dir, name, "manifest.json")) }
	unfinished := func(dir string) {
		replace(dir, "status.json", `"trained"`, `"training"`)
		testkit.OK(t, os.RemoveAll(filepath.Join(dir, name, "checkpoints", "00000002")))
	}
	for what, c := range map[string]struct {
		leave  func(dir string)
		epochs int
	}{
		"trained":                     {func(string) {}, 0},
		"trained by another version":  {other, 0},
		"unfinished":                  {unfinished, 1},
		"unfinished by another":       {func(dir string) { other(dir); unfinished(dir) }, 2},
		"begun, and without manifest": {bare, 2},
	} {
		dir, epochs := filepath.Join(t.TempDir(), "copy"), 0
		testkit.OK(t, os.CopyFS(dir, os.DirFS(whole)))
		testkit.OK(t, os.RemoveAll(filepath.Join(dir, "units", p.Cells[2].Name)))
		c.leave(dir)
		again, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool, Observer: trainings(&epochs)})
		if err != nil || !again.Complete || epochs != c.epochs {
			t.Errorf("%s: %v, %d epochs, want %d", what, err, epochs, c.epochs)
			continue
		}
		testkit.Equal(t, again.SHA256, out.SHA256, "%s: other rows", what)
		_, err = os.Stat(filepath.Join(dir, name+".old-001"))
		if anew := what == "unfinished by another"; anew != (err == nil) {
			t.Errorf("%s: moved aside: %v", what, err == nil)
		}
	}

	failing := planned(t, draws, Options{Set: []string{"train.learning_rate=1e15", "train.clip=1e15", "train.batch=8"}})
	for _, retry := range []bool{false, true} { // a second time by a retry of all three
		epochs := 0
		dir := filepath.Join(filepath.Dir(whole), "failing")
		begun := 0
		by := trainings(&epochs)
		by.Train.Begin = func(int) { begun++ }
		out, err := failing.Run(t.Context(), Runner{Dir: dir, Pool: pool, Retry: retry, Observer: by})
		if err != nil || failedOf(out) != 3 || begun != 1 {
			t.Errorf("%v, %v, trained %d times", err, states(out), begun)
		}
	}
}

// A process that is at a training keeps others from it, and from its cells alone.
func TestSharedTrainingIsHeld(t *testing.T) {
	pool := testkit.Pool(t, 2)
	p := planned(t, strings.Replace(draws, "seeds: [5]", "seeds: [5, 6]", 1), Options{})
	dir := filepath.Join(t.TempDir(), "d")
	lock := &run.Folder{Dir: filepath.Join(dir, "units", p.Cells[0].Training)}
	testkit.OK(t, errors.Join(os.MkdirAll(lock.Dir, 0o777), lock.Lock()))
	out, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool})
	want := []work.State{work.Running, work.Running, work.Running, work.Done, work.Done, work.Done}
	if err != nil || !slices.Equal(states(out), want) {
		t.Errorf("%v, %v", err, states(out))
	}
	lock.Unlock()
	if out, err = p.Run(t.Context(), Runner{Dir: dir, Pool: pool}); err != nil || !out.Complete || failedOf(out) > 0 {
		t.Errorf("afterwards: %v, %v", err, states(out))
	}
}

// Keys of a draw that take another training, or that are none, are refused by their line.
func TestDrawsRefused(t *testing.T) {
	for set, want := range map[string]string{
		"network.width: 9":        "it takes another training",
		"process.stepps: 9":       "there is no such key",
		"process.method: OLLA":    "the score of ULLA was learned",
		"process.steps: 0":        "process.steps is 0",
		"generate.max_failed: 20": "generate.max_failed is 20",
	} {
		file := "problems: [demo]\nseeds: [1, 2]\ndraws:\n  - {name: a, set: {}}\n  - name: b\n    set:\n      " + set
		f, err := Parse([]byte(file), "s.yaml")
		testkit.OK(t, err)
		_, err = f.Plan(Options{})
		var e *RefusedError
		if !errors.As(err, &e) || len(e.Refused) != 1 || !slices.Equal(e.Refused[0].Cells, []string{"demo-s1-b",
			"demo-s2-b"}) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.yaml:7: ") {
			t.Errorf("%s: %v; want %q at line 7", set, err, want)
		}
	}
	testkit.Refused(t, testkit.Err(Parse([]byte("problems: [demo]\ndraws: [{set: {}}]"), "s.yaml")),
		"draws[0].name: the key is missing", "a draw without a name")
}

// A method that is alone keeps name, data and set of a recipe, and nothing of how it learns.
func TestAlone(t *testing.T) {
	for _, recipe := range []string{"volcano", "bunny100", "so10-3", "alanine", "arm"} {
		whole, _, err := problem.Source(recipe)
		testkit.OK(t, err)
		text := testkit.Must(alone(whole))
		p := testkit.Must(problem.Load(text, recipe, "", nil))
		full := testkit.Must(problem.Load(whole, recipe, "", nil))
		written := func(p *problem.Problem) string {
			text := testkit.Must(yaml.Marshal([]any{p.Title, p.Data, p.Set}))
			return string(text)
		}
		testkit.Equal(t, written(p), written(full), "%s alone has set and data", recipe)
		for _, key := range []string{"process.steps", "network.width", "train.epochs", "train.learning_rate", "prior"} {
			if !p.Left(key) {
				t.Errorf("%s alone still says %s", recipe, key)
			}
		}
		if full.Left("process.steps") {
			t.Errorf("%s leaves process.steps open: nothing was tested", recipe)
		}
	}
}

// A method may have seeds of its own, a draw its problems and its measure, and a rule a measure. Options.Keep leaves
// cells to another plan, and the sweep is complete when these have ended too.
func TestCellsOfTheirOwn(t *testing.T) {
	measures["own"], measures["other"] = measures[""], measures[""]
	defer func() { delete(measures, "own"); delete(measures, "other") }()
	f := testkit.Must(Parse([]byte(`
problems: [demo, {problem: demo, name: again, set: {network.width: 8}}]
methods:
  - name: A/1
    method: ULLA
    seeds: [1, 2]
    draws: [{name: a, set: {}}, {name: b, set: {}, problem: again, measure: other}]
  - {name: B, alone: true}
measure: own
cells: [{method: B, measure: other}]
`), "s.yaml"))
	p := testkit.Must(f.Plan(Options{Keep: func(c *Cell) bool { return c.Label.Method == "B" }}))
	var got []string
	for _, c := range p.Cells {
		got = append(got, fmt.Sprintf("%s %s %t", c.Name, c.Measure, c.Unit != nil))
	}
	want := []string{"demo-A-1-s1-a own false", "demo-A-1-s2-a own false", "demo-B-s1 other true",
		"again-A-1-s1-a own false", "again-A-1-s1-b other false", "again-A-1-s2-a own false",
		"again-A-1-s2-b other false", "again-B-s1 other true"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	out, err := p.Run(t.Context(), Runner{Dir: t.TempDir(), Shard: work.Shard{I: 9, N: 9}})
	if err != nil || out.Complete || out.Cells[0].State != work.Waiting {
		t.Errorf("%v, %+v", err, out)
	}
	f = testkit.Must(Parse([]byte("problems: [demo]\nmeasure: none"), "s.yaml"))
	testkit.Refused(t, testkit.Err(f.Plan(Options{})),
		`measure is "none"; expected one of jacobian, other, own, paper, processor-time`, "a measure that there is not")
}

// failedOf returns how many cells failed.
func failedOf(o *Outcome) (n int) {
	for _, c := range o.Cells {
		if c.State == work.Failed {
			n++
		}
	}
	return n
}
