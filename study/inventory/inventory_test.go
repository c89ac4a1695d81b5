package inventory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/inventory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// begin makes a run folder as experiment does, with a status, and with checkpoints; updates are their numbers.
func begin(t *testing.T, dir, state string, epoch int, updates ...string) *run.Folder {
	t.Helper()
	f := testkit.Must(run.Create(dir, false))
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	p := testkit.Must(problem.Load(data, origin, "fixed", nil))
	config := p.Resolved()
	write(t, f.Path(run.ConfigFile), config)
	testkit.OK(t, f.WriteJSON(run.ManifestFile, run.Manifest{Config: run.Hash(config), Seed: 7,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}))
	if state != "" {
		testkit.OK(t, f.SetStatus(run.Status{State: state, Epoch: epoch, Epochs: 9}))
	}
	for _, n := range updates {
		for _, file := range []string{"state.json", "weights.safetensors"} {
			write(t, f.Path("checkpoints/"+n+"/"+file), []byte("x"))
		}
	}
	return f
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	testkit.OK(t, os.WriteFile(path, data, 0o666))
}

func find(t *testing.T, depth int, dirs ...string) *inventory.List {
	t.Helper()
	return testkit.Must(inventory.Find(dirs, depth))
}

// Every way in which a run may have ended has its state, and what is broken has its reason.
func TestStates(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	begin(t, at("finished"), "trained", 9, "00000002", "00000009")
	begin(t, at("interrupted"), "interrupted", 3, "00000003")
	begin(t, at("killed"), "training", 3, "00000003")
	if busy := begin(t, at("busy"), "training", 3, "00000003"); busy.Lock() != nil {
		t.Fatal("no lock")
	} else {
		defer busy.Unlock()
		write(t, busy.Path("checkpoints/00000004/state.json"), nil) // which it is about to write
	}
	if young := begin(t, at("young"), "", 0); young.Lock() != nil {
		t.Fatal("no lock")
	} else {
		defer young.Unlock()
	}
	begin(t, at("unbegun"), "", 0)
	begin(t, at("other"), "sleeping", 1)
	begin(t, at("empty"), "trained", 9)
	f := begin(t, at("hollow"), "interrupted", 3, "00000003")
	write(t, f.Path("checkpoints/00000003/weights.safetensors"), nil)
	f = begin(t, at("failed"), "trained", 9, "00000009")
	testkit.OK(t, f.SetStatus(run.Status{State: "failed", Epoch: 4, Epochs: 9, Message: "it diverged"}))
	f = begin(t, at("changed"), "trained", 9, "00000009")
	write(t, f.Path(run.ConfigFile), append([]byte("# mine\n"), read(t, f.Path(run.ConfigFile))...))
	f = begin(t, at("torn"), "trained", 9, "00000009")
	write(t, f.Path(run.StatusFile), []byte(`{"state": "tra`))
	f = begin(t, at("headless"), "trained", 9, "00000009")
	testkit.OK(t, os.Remove(f.Path(run.ManifestFile)))
	write(t, at("noise/config.yaml"), []byte("of something else"))

	want := map[string][2]string{
		"finished": {"finished", ""}, "interrupted": {"stopped", ""}, "killed": {"stopped", "was killed"},
		"busy": {"training", ""}, "young": {"training", ""}, "unbegun": {"stopped", "did not begin"},
		"other": {"damaged", `says "sleeping"`}, "empty": {"damaged", "has no checkpoint"},
		"hollow": {"damaged", "weights.safetensors: is missing or empty"}, "failed": {"failed", "it diverged"},
		"changed": {"damaged", "config.yaml is not that of"}, "torn": {"damaged", "status.json is damaged"},
		"headless": {"damaged", "has no manifest.json"},
	}
	list := find(t, inventory.DefaultDepth, dir)
	for _, e := range list.Runs {
		w, ok := want[filepath.Base(e.Run)]
		if !ok || string(e.State) != w[0] || !strings.Contains(e.Why, w[1]) || w[1] == "" && e.Why != "" {
			t.Errorf("%s: %s, %q; want %v", e.Run, e.State, e.Why, w)
		}
		if e.Bytes == 0 {
			t.Errorf("%s has no size", e.Run)
		}
		delete(want, filepath.Base(e.Run))
	}
	if len(want) > 0 || len(list.Notes) > 0 {
		t.Errorf("not found: %v; notes %v", want, list.Notes)
	}
	for _, e := range list.Runs {
		if e.State != inventory.Damaged && (e.Problem != "demo" || e.Method != "ULLA" || e.Seed != 7) {
			t.Errorf("%s: %+v", e.Run, e)
		}
	}
	// Looking takes no lock away, and leaves none.
	g, err := run.Open(at("killed"))
	if err == nil {
		err = g.Lock()
	}
	if err != nil {
		t.Error(err)
	} else if g.Unlock(); g.Busy() != run.NotHeld {
		t.Error("a lock that was given back is held")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return testkit.Must(os.ReadFile(path))
}

// The distance is that of the kept evaluation, which is stale if it is of other weights than samples are drawn with; or
// else that of the last evaluation of training.
func TestDistance(t *testing.T) {
	dir := t.TempDir()
	kept := func(f *run.Folder, updates int, of ...string) {
		var m run.Manifest
		testkit.OK(t, f.ReadJSON(run.ManifestFile, &m))
		v := map[string]any{"config_sha256": strings.Join(append(of, m.Config)[:1], ""), "updates": updates, "epoch": 5,
			"observed": map[string]any{"metric": "of numbers", "full": 0.75, "floor": 0.5},
			"verdict":  verdict.Verdict{Grade: verdict.Good},
			"jsd":      map[string]any{"metric": "JSD", "full": 0.25, "floor": 0.125}}
		if updates != 9 {
			v["verdict"] = verdict.Verdict{Grade: verdict.NotGood, Findings: []verdict.Finding{
				{Code: "walls", Severity: verdict.Fault, Says: "too few there"}}}
		}
		data := testkit.Must(json.Marshal(v))
		write(t, f.Path(run.EvaluationFile), data)
	}
	kept(begin(t, filepath.Join(dir, "a-newest"), "trained", 9, "00000002", "00000009"), 9)
	kept(begin(t, filepath.Join(dir, "b-older"), "trained", 9, "00000002", "00000009"), 2)
	f := begin(t, filepath.Join(dir, "c-chosen"), "trained", 9, "00000002", "00000009")
	testkit.OK(t, f.AmendManifest(func(m *run.Manifest) { m.Weights = &run.Weights{Checkpoint: "00000002"} }))
	kept(f, 2)
	f = begin(t, filepath.Join(dir, "d-course"), "interrupted", 3, "00000003")
	for epoch, jsd := range []float64{0.5, 0.375} {
		testkit.Must(f.AppendMetric("evaluation", epoch+1, map[string]any{"epoch": epoch + 1, "jsd": jsd}))
	}
	write(t, f.Path(run.EvaluationFile), []byte(`{"verdict": {"findings": [{"remedy": "landing train r"}]}}`))
	testkit.Must(f.AppendMetric("epoch", 3, map[string]any{"loss": 1}))
	write(t, f.Path(run.MetricsFile), append(read(t, f.Path(run.MetricsFile)), `{"kind": "evaluation", "ep`...))
	kept(begin(t, filepath.Join(dir, "b-other"), "trained", 9, "00000009"), 9, "of another config.yaml")
	f = begin(t, filepath.Join(dir, "c-gone"), "trained", 9, "00000009")
	testkit.OK(t, f.AmendManifest(func(m *run.Manifest) { m.Weights = &run.Weights{Checkpoint: "00000002"} }))
	kept(f, 9) // the chosen weights are not there any more: the newest draw
	begin(t, filepath.Join(dir, "e-none"), "interrupted", 3, "00000003")
	write(t, filepath.Join(dir, "f-torn", run.EvaluationFile), []byte("{}"))
	begin(t, filepath.Join(dir, "f-torn", "inner"), "trained", 9, "00000009")

	runs := find(t, inventory.DefaultDepth, dir).Runs
	if len(runs) != 8 {
		t.Fatalf("%d runs", len(runs))
	}
	for i, want := range []inventory.Source{inventory.Evaluated, inventory.Stale, inventory.Stale, inventory.Evaluated,
		inventory.Evaluated, inventory.InCourse} {
		d := runs[i].Distance
		if d == nil || d.From != want {
			t.Errorf("%s: %+v, want one of %s", runs[i].Run, d, want)
			continue
		}
		if want == inventory.InCourse {
			if d.Value != 0.375 || d.Epoch != 2 || d.Grade != "" || !d.Floor.IsNaN() ||
				runs[i].Note != experiment.ErrEarlier.Error() {
				t.Errorf("%s: %+v", runs[i].Run, d)
			}
			continue
		}
		grade, wrong := verdict.Good, []string(nil)
		if name := filepath.Base(runs[i].Run); name == "b-older" || name == "c-chosen" { // by other weights
			grade, wrong = verdict.NotGood, []string{"walls: too few there"}
		}
		if d.Value != 0.25 || d.Floor != 0.125 || d.Grade != grade || !slices.Equal(d.Wrong, wrong) ||
			!strings.HasPrefix(d.Verdict, string(grade)) {
			t.Errorf("%s: %+v", runs[i].Run, d)
		}
		if of := inventory.Of(runs[i].Run); of.Bytes != 0 || of.State != runs[i].State || of.Distance == nil ||
			of.Distance.Verdict != d.Verdict {
			t.Errorf("%s by itself: %+v", runs[i].Run, of)
		}
	}
	if runs[6].Distance != nil || runs[7].Distance != nil {
		t.Errorf("a distance of %+v, %+v", runs[6].Distance, runs[7].Distance)
	}
}

// The walk has bounds, enters no run, no link and no units of a sweep, and lists a run once.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	begin(t, at("a"), "interrupted", 1, "00000001")
	begin(t, at("a", "inner"), "interrupted", 1, "00000001")
	begin(t, at(".hidden", "b"), "interrupted", 1, "00000001")
	begin(t, at("1", "2", "c"), "interrupted", 1, "00000001")
	begin(t, at("1", "2", "3", "d"), "interrupted", 1, "00000001")
	write(t, at("sweep", compare.ListFile), []byte("{}"))
	begin(t, at("sweep", compare.RunsDir, "cell"), "interrupted", 1, "00000001")
	begin(t, at("sweep", compare.UnitsDir, "unit"), "interrupted", 1, "00000001")
	testkit.OK(t, os.Symlink(dir, at("1", "loop")))
	names := func(l *inventory.List) (out []string) {
		for _, e := range l.Runs {
			name, _ := filepath.Rel(dir, e.Run)
			out = append(out, filepath.ToSlash(name))
		}
		return out
	}
	l := find(t, inventory.DefaultDepth, dir)
	testkit.EqualSlices(t, names(l), []string{"1/2/c", "a", "sweep/runs/cell"}, "found")
	if len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "--depth goes further than 3") {
		t.Errorf("notes %v", l.Notes)
	}
	l = find(t, 4, dir, at("a"), at("1"))
	if got, want := names(l), []string{"1/2/3/d", "1/2/c", "a", "sweep/runs/cell"}; !slices.Equal(got, want) ||
		len(l.Notes) > 0 {
		t.Errorf("found %v, want %v; notes %v", got, want, l.Notes)
	}
	if _, err := inventory.Find([]string{at("nowhere")}, 1); err == nil {
		t.Error("a folder that is not there has no error")
	}
}

func TestSort(t *testing.T) {
	now := time.Now()
	d := func(v float64) *inventory.Distance { return &inventory.Distance{Value: metric.Float(v)} }
	runs := []inventory.Entry{
		{Run: "b", State: inventory.Failed, Problem: "x", Updated: now.Add(-time.Hour), Bytes: 5, Distance: d(0.2)},
		{Run: "c", State: inventory.Training, Problem: "y", Updated: now, Bytes: 7},
		{Run: "a", State: inventory.Finished, Problem: "x", Updated: now.Add(-2 * time.Hour), Bytes: 6,
			Distance: d(0.1)},
	}
	for order, want := range map[string]string{"name": "abc", "state": "cab", "problem": "abc", "distance": "abc",
		"age": "cba", "size": "cab"} {
		got := ""
		inventory.Sort(runs, order)
		for _, e := range runs {
			got += e.Run
		}
		testkit.Equal(t, got, want, "by %s", order)
	}
	testkit.Equal(t, len(inventory.Orders()), 6, "an order is not tested")
}
