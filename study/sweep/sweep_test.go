package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
	_ "github.com/landing-diffusion/landing/tools/testkit/trained" // what is trained is small
)

func planned(t *testing.T, file string, o Options) *Plan {
	t.Helper()
	f := testkit.Must(Parse([]byte(file), "s.yaml"))
	return testkit.Must(f.Plan(o))
}

func names(p *Plan) (out []string) {
	for _, c := range p.Cells {
		name := c.Name
		if c.Skipped != "" {
			name = "(" + name + ": " + c.Skipped + ")"
		}
		out = append(out, name)
	}
	return out
}

const grid = `
problems:
  - demo
  - {problem: demo, name: wide, methods: [OLLA], settings: [{name: plain}], set: {network.width: 200}, seeds: [9],
     budget: {epochs: 7}}
methods: [ULLA, {name: slow one, method: OLLA, set: {process: {steps: 200}}}]
settings: [{name: a, set: {network: {layers: 3}}}, {name: b, set: {network: {layers: 2}}}]
budget: [{epochs: 5}, {rows: 1e4}]
seeds: [1, 2]
set: {network.width: 100, train.learning_rate: 1e-3, network.output: plain}
cells:
  - {method: slow one, settings: a, skip: too long}
  - {method: slow one, seed: [2], budget: {rows: 10000}, set: {network.width: 50}}
  - {problem: wide, train: {seconds: 90}}
`

// The grid is problems by variants by methods by settings by budgets by seeds, in the order of the file; a problem
// may have parts of its own, rules change the cells that they match, and what is said last holds.
func TestGrid(t *testing.T) {
	p := planned(t, grid, Options{})
	want := []string{
		"demo-ULLA-a-5epochs-s1", "demo-ULLA-a-5epochs-s2", "demo-ULLA-a-10000rows-s1", "demo-ULLA-a-10000rows-s2",
		"demo-ULLA-b-5epochs-s1", "demo-ULLA-b-5epochs-s2", "demo-ULLA-b-10000rows-s1", "demo-ULLA-b-10000rows-s2",
		"(demo-slow-one-a-5epochs-s1: too long)", "(demo-slow-one-a-5epochs-s2: too long)",
		"(demo-slow-one-a-10000rows-s1: too long)", "(demo-slow-one-a-10000rows-s2: too long)",
		"demo-slow-one-b-5epochs-s1", "demo-slow-one-b-5epochs-s2", "demo-slow-one-b-10000rows-s1",
		"demo-slow-one-b-10000rows-s2", "wide-OLLA-plain-90s-s9",
	}
	if got := names(p); !slices.Equal(got, want) {
		t.Fatalf("got %q\nwant %q", got, want)
	}
	for name, want := range map[string]struct {
		method        string
		steps         int
		width, layers int
		epochs        int
		seconds       float64
		seed          uint64
	}{
		"demo-ULLA-a-5epochs-s2":       {"ULLA", 50, 100, 3, 5, 0, 2},
		"demo-slow-one-b-5epochs-s2":   {"OLLA", 200, 100, 2, 5, 0, 2},
		"demo-slow-one-b-10000rows-s2": {"OLLA", 200, 50, 2, 500, 0, 2}, // epochs of the rows: when they are known
		"wide-OLLA-plain-90s-s9":       {"OLLA", 50, 200, 4, 0, 90, 9},
	} {
		at := slices.IndexFunc(p.Cells, func(c *Cell) bool { return c.Name == name })
		q := testkit.Must(p.Cells[at].load())
		if q.Process.Method != want.method || q.Process.Steps != want.steps || q.Network.Width != want.width ||
			q.Network.Layers != want.layers || q.Train.Epochs != want.epochs || q.Train.MaxSeconds != want.seconds ||
			q.Seed != want.seed || q.Train.LearningRate != 1e-3 {
			t.Errorf("%s: %+v, %+v, %+v, seed %d", name, q.Process, q.Network, q.Train, q.Seed)
		}
	}
	all := planned(t, grid, Options{Set: []string{"network.width=16"}})
	for _, c := range all.Cells {
		if c.Skipped != "" {
			continue
		}
		q, err := c.load()
		if err != nil || q.Network.Width != 16 {
			t.Errorf("%s: %v, %+v", c.Name, err, q)
		}
	}
	f := testkit.Must(Parse([]byte("problems: [demo, {problem: demo, name: again}]"), "s.yaml"))
	testkit.Refused(t, testkit.Err(f.Plan(Options{})), "are the same work twice", "one cell under two names")
}

// A unit is what is done on which bytes: where files lie does not count, what is in them does.
func TestUnits(t *testing.T) {
	rows := "1,0,0\n0,1,0\n0,0,1\n-1,0,0\n0,-1,0\n0,0,-1\n"
	at := func(rows string) *work.Unit {
		dir := t.TempDir()
		for name, data := range map[string]string{"rows.csv": rows,
			"p.yaml": "data: {path: rows.csv}\nset: {kind: sphere, dim: 3}\n"} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666))
		}
		return planned(t, "problems: [p.yaml]\nbudget: {epochs: 3}", Options{Base: dir}).Cells[0].Unit
	}
	a, b, c := at(rows), at(rows), at(rows+"0.6,0.8,0\n")
	if a.Content() != b.Content() {
		t.Errorf("the same in two folders: %s", a.Differs(b))
	}
	if a.Content() == c.Content() || a.Differs(c) != "other bytes of data.path" {
		t.Errorf("other rows: %q", a.Differs(c))
	}
	said := planned(t, "problems: [demo]\nset: {train.epochs: 500}", Options{}).Cells[0].Unit
	unsaid := planned(t, "problems: [demo]", Options{}).Cells[0].Unit
	if said.Content() != unsaid.Content() { // the recipe says 500
		t.Error("a key that is said twice makes another unit")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("data: {kind: demo}\nset: {kind: sphere, dim: 3}\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	free := planned(t, "problems: [p.yaml]", Options{Base: dir}).Cells[0].Unit
	fixed := planned(t, "problems: [p.yaml]\nset: {network.width: 128}", Options{Base: dir}).Cells[0].Unit
	if free.Content() == fixed.Content() { // of the first the width follows from the data
		t.Error("a default and a key that is written are one unit")
	}
}

const one = `name: one
problems: [demo]
seeds: [5]
budget: {epochs: 4}
samples: 50
report: true
set:
  process: {steps: 10}
  network: {width: 8, layers: 1}
  train: {times_per_path: 2, checkpoint_every: 0.001}
`

// A process may be killed between any two files that it writes. What it leaves at each of these moments is made
// by hand; the sweep goes on from there to the same rows, samples and weights.
func TestMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a dozen cells")
	}
	pool := testkit.Pool(t, 2)
	p := planned(t, one, Options{})
	cell := p.Cells[0].Name
	whole := filepath.Join(t.TempDir(), "whole")
	testkit.Must(p.Run(t.Context(), Runner{Dir: whole, Pool: pool}))
	read := func(dir string) (out [][]byte) {
		for _, name := range []string{"rows.json", "runs/" + cell + "/samples.npy",
			"runs/" + cell + "/checkpoints/00000004/weights.safetensors"} {
			data := testkit.Must(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))
			out = append(out, data)
		}
		return out
	}
	want := read(whole)
	drop := func(files ...string) func(string) error {
		return func(dir string) (err error) {
			for _, f := range files {
				f = strings.ReplaceAll(strings.ReplaceAll(f, "RUN", "runs/"+cell), "UNIT", "units/"+cell)
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, filepath.FromSlash(f))))
			}
			return err
		}
	}
	after := func(dir string, files map[string]string) (err error) {
		for f, data := range files {
			f = strings.ReplaceAll(strings.ReplaceAll(f, "RUN", "runs/"+cell), "UNIT", "units/"+cell)
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.FromSlash(f)), []byte(data), 0o666))
		}
		return err
	}
	and := func(files []string, more ...string) []string { return slices.Concat(files, more) }
	ended := []string{"rows.json", "UNIT/result.json"}
	judged := and(ended, "RUN/report.html", "RUN/figures", "RUN/evaluation.json")
	drawn := and(judged, "RUN/samples.npy.json", "RUN/samples.npy")
	trained := and(drawn, "RUN/checkpoints", "RUN/metrics.jsonl", "RUN/status.json", "RUN/ends.npy")
	for name, leave := range map[string]func(dir string) error{
		"before the rows":            drop("rows.json"),
		"before the result":          drop(ended...),
		"in the report":              drop(and(ended, "RUN/report.html", "RUN/figures/map.svg")...),
		"before the evaluation":      drop(judged...),
		"before the samples' record": drop(and(judged, "RUN/samples.npy.json")...),
		"before the samples":         drop(drawn...),
		"in a write": func(dir string) error {
			return errors.Join(drop(drawn...)(dir), after(dir, map[string]string{
				"RUN/.samples.npy.tmp-123": "half", "UNIT/.result.json.tmp-9": "{"}))
		},
		"before the first checkpoint": drop(trained...),
		"with a line of metrics": func(dir string) error {
			return errors.Join(drop(trained...)(dir),
				after(dir, map[string]string{"RUN/metrics.jsonl": `{"kind":"epo`}))
		},
		"in the last epoch":   drop(and(drawn, "RUN/checkpoints/00000004")...),
		"before the manifest": drop(and(trained, "RUN/manifest.json")...),
		"before the problem":  drop(and(trained, "RUN/manifest.json", "RUN/problem.yaml", "RUN/config.yaml")...),
		"in an empty folder": func(dir string) error {
			return errors.Join(drop(and(trained, "RUN")...)(dir), os.Mkdir(filepath.Join(dir, "runs", cell), 0o777))
		},
		"before the run":   drop(and(ended, "RUN")...),
		"before the claim": drop("rows.json", "RUN", "UNIT"),
		"of another version": func(dir string) error { // its weights are not gone on with
			path := filepath.Join(dir, "units", cell, "unit.json")
			data, err := os.ReadFile(path)
			other := bytes.Replace(data, []byte(`"version": "`), []byte(`"version": "not `), 1)
			spoilt := filepath.Join(dir, "runs", cell, "status.json")
			return errors.Join(err, drop(and(drawn, "RUN/checkpoints/00000004")...)(dir),
				os.WriteFile(path, other, 0o666), os.WriteFile(spoilt, []byte("{}"), 0o666))
		},
	} {
		dir := filepath.Join(t.TempDir(), "copy")
		testkit.OK(t, os.CopyFS(dir, os.DirFS(whole)))
		if err := leave(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool})
		if err != nil || !out.Complete || out.Cells[0].State != work.Done {
			t.Errorf("%s: %v, %+v", name, err, out)
			continue
		}
		for k, data := range read(dir) {
			testkit.EqualSlices(t, data, want[k], "%s: file %d has other bytes", name, k)
		}
		_, aside := os.Stat(filepath.Join(dir, "runs", cell+".old-001"))
		if other := name == "of another version"; other != (aside == nil) {
			t.Errorf("%s: the run that was there is moved aside: %v", name, aside == nil)
		}
		if _, err := os.Stat(filepath.Join(dir, "runs", cell, "report.html")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "runs", cell, ".samples.npy.tmp-123")); err == nil {
			t.Errorf("%s: the half-written file is left", name)
		}
	}
	// what is done stands: it is not even read
	dir := filepath.Join(t.TempDir(), "copy")
	testkit.OK(t, os.CopyFS(dir, os.DirFS(whole)))
	testkit.OK(t, os.RemoveAll(filepath.Join(dir, "runs")))
	begun := 0
	if _, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool,
		Observer: Observer{Begin: func(*Cell, Progress) { begun++ }}}); err != nil || begun > 0 {
		t.Errorf("%v, %d cells were run again", err, begun)
	}
}

// An interruption ends the sweep and leaves the cell to be gone on with; a process that holds a cell is left to it,
// and a folder of something else is left alone.
func TestInterrupted(t *testing.T) {
	pool := testkit.Pool(t, 2)
	p := planned(t, strings.Replace(one, "report: true", "", 1), Options{})
	dir := filepath.Join(t.TempDir(), "x")
	ctx, stop := context.WithCancel(t.Context())
	out, err := p.Run(ctx, Runner{Dir: dir, Pool: pool,
		Observer: Observer{Train: experiment.Observer{Epoch: func(train.Epoch) { stop() }}}})
	if !errors.Is(err, context.Canceled) || out.Complete || out.Cells[0].State != work.Begun && out.Cells[0].State !=
		work.Waiting {
		t.Fatalf("%v, %+v", err, out)
	}
	store := &work.Store{Dir: filepath.Join(dir, "units")}
	c, _, err := store.Claim(p.Cells[0].Unit, false, func() error { return nil })
	if err != nil || !c.Resumes {
		t.Fatalf("%+v, %v", c, err)
	}
	out, err = p.Run(t.Context(), Runner{Dir: dir, Pool: pool})
	if err != nil || out.Complete || out.Cells[0].State != work.Running {
		t.Errorf("beside another process: %v, %+v", err, out)
	}
	c.Release()
	held := testkit.Must(run.Open(filepath.Join(dir, "runs", p.Cells[0].Name)))
	testkit.OK(t, held.Lock())
	out, err = p.Run(t.Context(), Runner{Dir: dir, Pool: pool})
	if err != nil || out.Complete || out.Cells[0].State != work.Running {
		t.Errorf("beside landing train: %v, %+v", err, out)
	}
	held.Unlock()
	full := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(full, "letter"), nil, 0o666))
	if _, err := p.Run(t.Context(), Runner{Dir: full, Pool: pool}); fault.KindOf(err) != fault.Run {
		t.Errorf("a folder of something else: %v", err)
	}
	other := planned(t, strings.Replace(one, "name: one", "name: two", 1), Options{})
	if _, err := other.Run(t.Context(), Runner{Dir: dir, Pool: pool}); fault.KindOf(err) != fault.Run {
		t.Errorf("the folder of another sweep: %v", err)
	}
}

// A full disk is no fault of a cell: the sweep ends, and resumes with the cell when there is room.
func TestFullDisk(t *testing.T) {
	pool := testkit.Pool(t, 2)
	p := planned(t, strings.Replace(one, "report: true", "", 1), Options{})
	room := false
	measures["a test's"] = func(ctx context.Context, d *drawing) (*compare.Entry, error) {
		if !room {
			return nil, fmt.Errorf("samples: %w", &fs.PathError{Op: "write", Path: "samples.npy", Err: syscall.ENOSPC})
		}
		return measures[""](ctx, d)
	}
	defer delete(measures, "a test's")
	p.Cells[0].Measure = "a test's"
	dir := filepath.Join(t.TempDir(), "x")
	out, err := p.Run(t.Context(), Runner{Dir: dir, Pool: pool})
	if !errors.Is(err, syscall.ENOSPC) || out != nil && (out.Complete || out.Cells[0].State == work.Failed) {
		t.Fatalf("%v, %+v", err, out)
	}
	room = true
	if out, err = p.Run(t.Context(), Runner{Dir: dir, Pool: pool}); err != nil || !out.Complete ||
		out.Cells[0].State != work.Done {
		t.Errorf("with room again: %v, %+v", err, out)
	}
}

// Epochs of a budget of rows are those nearest to it, and at least one.
func TestEpochsOf(t *testing.T) {
	for _, c := range []struct{ rows, each, want int64 }{
		{1, 2048, 1}, {2048, 2048, 1}, {3071, 2048, 1}, {3073, 2048, 2}, {1e15, 1, mostEpochs}, {100, 7, 14},
		{math.MaxInt64, 1, mostEpochs},
	} {
		testkit.Equal(t, epochsOf(c.rows, c.each), c.want, "%d rows of %d an epoch", c.rows, c.each)
	}
	pool := testkit.Pool(t, 1)
	job.DemoRows(1)
	defer job.DemoRows(5)
	for _, c := range []struct {
		set  string
		want int64
	}{ // 1345 rows train
		{"train.times_per_path: 3, train.batch: 1024", 3 * 1024},
		{"train.times_per_path: 0, train.batch: 1344", 50 * 1344}, {"train.times_per_path: 1, train.batch: 5000", 1345},
	} {
		cell := planned(t, "problems: [demo]\nset: {"+c.set+"}", Options{}).Cells[0]
		p := testkit.Must(cell.load())
		l := testkit.Must(experiment.Load(t.Context(), p, pool, nil))
		if got := epochRows(l); got != c.want || len(l.Split.Train) != 1345 {
			t.Errorf("%s: %d rows an epoch, want %d (%d train)", c.set, got, c.want, len(l.Split.Train))
		}
	}
}

// Whatever a file says, it is read or refused with a line of it, and a grid that is read is bounded.
func FuzzParse(f *testing.F) {
	f.Add([]byte(grid))
	f.Add([]byte(one))
	f.Add([]byte("problems: [demo]\nset: {a: {b: [1, {c: d}], e: 'x'}}"))
	f.Add([]byte("problems: [demo]\nbudget: {rows: 0x10}\nseeds: [18446744073709551615]"))
	f.Add([]byte("problems: [demo]\nset: {a: ~, b: !!int 3, c: *x}"))
	f.Add([]byte("{problems: [{problem: x, set: {: 1}}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "s.yaml")
		if err != nil {
			var key *problem.KeyError
			var syntax *problem.SyntaxError
			if !errors.As(err, &key) && !errors.As(err, &syntax) || !strings.Contains(err.Error(), "s.yaml:") {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		cells, err := file.Cells(Options{})
		if err == nil && (len(cells) == 0 || len(cells) > MaxCells) {
			t.Fatalf("%d cells", len(cells))
		}
	})
}
