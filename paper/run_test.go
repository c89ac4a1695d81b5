package paper

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/testkit"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/sweep"
	"github.com/landing-diffusion/landing/train"
)

// Cells of one training train once, each has its row, one that fails has its reason; rows that are lost come again
// from the folder without any training, and a training that somebody holds is left to them.
func TestRun(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	own := *cells["demo/ULLA/N=20"]
	short, none := own, own
	short.Name, short.Draw, short.Jacobian = "demo/short", []string{"process.steps=9"}, true
	none.Name, none.Draw = "demo/none", []string{"process.method=MALA"}
	left := []Due{{&own, 2}, {&short, 2}, {&none, 2}}
	c := Config{Out: filepath.Join(t.TempDir(), "p"), Note: "a test", Settings: []string{"network.width=8",
		"network.layers=1", "train.epochs=2", "train.times_per_path=2"}}
	trained := 0
	by := sweep.Runner{Pool: pool, Observer: sweep.Observer{Train: experiment.Observer{Epoch: func(train.Epoch) {
		trained++
	}}}}
	file := filepath.Join(c.Out, "rows.csv")
	rows, err := c.Run(t.Context(), left, file, by)
	if err != nil || len(rows) != 3 || trained != 2 {
		t.Fatalf("%v, %d rows, %d epochs", err, len(rows), trained)
	}
	figures := map[string]map[string]float64{}
	for _, r := range rows {
		if r.Seed != 2 || r.Note != "a test" || r.Budget != 0 || r.Commit == "" || r.Machine == "" || len(r.Day) != 10 {
			t.Errorf("%+v", r)
		}
		figures[r.Cell] = r.Figures
		if r.Cell == none.Name {
			if !strings.Contains(r.Failure, `process.method is "MALA"`) || len(r.Figures) > 0 {
				t.Errorf("failed: %q, figures %v", r.Failure, r.Figures)
			}
			continue
		}
		if want := map[string]float64{own.Name: 20, short.Name: 9}[r.Cell]; r.Failure != "" || len(r.Config) != 64 ||
			r.Figures[Evaluations] != want || r.Figures[Epochs] != 2 || r.Figures[Distance] <= 0 ||
			r.Figures[AbsH] > 1e-12 {
			t.Errorf("%s: %s, %v", r.Cell, r.Failure, r.Figures)
		}
		if _, ok := r.Figures[JacobianNear]; ok != (r.Cell == short.Name) {
			t.Errorf("%s: its Jacobian %v", r.Cell, ok)
		}
	}
	if figures[own.Name][Distance] == figures[short.Name][Distance] {
		t.Error("both have the same samples")
	}
	for _, d := range left[:2] {
		if drawn, err := os.ReadDir(c.shown(d)); err != nil || len(drawn) == 0 {
			t.Errorf("%s: pictures %v, %v", d, drawn, err)
		}
	}

	c.Note = "another" // of what is measured, not of what is found
	again, err := c.Run(t.Context(), left, filepath.Join(c.Out, "other.csv"), by)
	if err != nil || trained != 2 || len(again) != 3 {
		t.Fatalf("again: %v, %d rows, %d epochs", err, len(again), trained)
	}
	a, errA := os.ReadFile(file)
	b, errB := os.ReadFile(filepath.Join(c.Out, "other.csv"))
	b = bytes.Replace(b, []byte(",another,"), []byte(",a test,"), 1) // of the one that failed
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("other rows from the folder:\n%s\n%s", a, b)
	}

	c.Note = "a test"

	// An older program's folder has runs and no units.
	if err := os.RemoveAll(filepath.Join(c.Out, "units")); err != nil {
		t.Fatal(err)
	}
	held := &run.Folder{Dir: c.Folder(left[0])}
	if err := held.Lock(); err != nil {
		t.Fatal(err)
	}
	if rows, err := c.Run(t.Context(), left, filepath.Join(c.Out, "third.csv"), by); err != nil || len(rows) != 0 {
		t.Errorf("of a training that is held: %v, %d rows", err, len(rows))
	}
	held.Unlock()
	for name, change := range map[string][2]string{"status.json": {`"trained"`, `"training"`},
		"manifest.json": {`"version": "`, `"version": "not `}} { // it was killed by its end: it is gone on with
		path := held.Path(name)
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), change[0]) {
			t.Fatalf("%s: %v", name, err)
		}
		data = bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	third, err := c.Run(t.Context(), left, filepath.Join(c.Out, "third.csv"), by)
	if err != nil || trained != 2 || len(third) != 3 {
		t.Fatalf("without units: %v, %d rows, %d epochs", err, len(third), trained)
	}
	if _, err := os.Stat(held.Dir + ".old-001"); err == nil {
		t.Error("a training of another version is begun anew")
	}
	for _, r := range third {
		clocks := []string{Train, Simulate, Generate}
		got, want := maps.Clone(r.Figures), maps.Clone(figures[r.Cell])
		for _, name := range clocks {
			delete(got, name)
			delete(want, name)
		}
		if !maps.Equal(rounded(got), rounded(want)) {
			t.Errorf("%s: other figures\n%v\n%v", r.Cell, got, want)
		}
	}

	// A folder that is damaged is no failure of a method: no row says so.
	damaged := os.WriteFile(held.Path("config.yaml"), []byte("process: {"), 0o666)
	if err := errors.Join(damaged, os.RemoveAll(filepath.Join(c.Out, "units"))); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(c.Out, "fourth.csv")
	if _, err := c.Run(t.Context(), left, file, by); !errors.As(err, new(*run.FolderError)) {
		t.Errorf("of a damaged folder: %v", err)
	}
	if rows, err := ReadRows(file); err != nil || len(rows) > 0 {
		t.Errorf("of a damaged folder %d rows, %v", len(rows), err)
	}
}

// rounded are figures as a file of rows has them.
func rounded(f map[string]float64) map[string]string {
	out := map[string]string{}
	for name, v := range f {
		out[name] = number(v)
	}
	return out
}

// Draws of the catalogue are keys of generation that can be, but for those of a landing that diverges, as in the paper.
func TestDraws(t *testing.T) {
	c := Config{Data: filepath.Dir(filepath.Dir(testkit.Shared(t, "data/earth/volcano.csv"))), Out: t.TempDir()}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		if cell := cells[name]; cell.Draw != nil {
			made, err := c.cell(Due{cell, 1}, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := made.Drawable(); err != nil {
				refused = append(refused, name)
			}
		}
	}
	if !slices.Equal(refused, []string{"alanine/α=400"}) {
		t.Errorf("refused are %q", refused)
	}
}
