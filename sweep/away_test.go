package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/compare"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/work"
)

const ringProblem = `
name: ring
data: {kind: points, path: ring.csv}
set: {kind: sphere, dim: 2}
process: {method: OLLA, steps: 10}
defaults: fixed
`

const awaySweep = `
problems: [ring.yaml]
methods: [OLLA, ULLA]
budget: {epochs: 2}
seeds: [1, 2]
samples: 40
set: {network: {width: 8, layers: 1}, train: {times_per_path: 2, batch: 64}}
cells:
  - {method: ULLA, seed: [2], skip: enough}
  - {method: OLLA, seed: [1], train: {rows: 2000}}
  - {method: ULLA, seed: [1], train: {epochs: 1}, set: {train.learning_rate: 1e15, train.clip: 1e15, train.batch: 8}}
`

// Cells that were done on other machines, whose files lie elsewhere, leave the rows, samples, weights and
// configurations of cells that were done here; they are taken up once.
func TestAway(t *testing.T) {
	home := t.TempDir()
	var rows strings.Builder
	for i := range 200 {
		a := 0.3*math.Sin(float64(i)) + float64(i%2)
		fmt.Fprintf(&rows, "%.9f,%.9f\n", math.Cos(a), math.Sin(a))
	}
	for name, text := range map[string]string{"ring.yaml": ringProblem, "ring.csv": rows.String(),
		"s.yaml": awaySweep} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Parse([]byte(awaySweep), filepath.Join(home, "s.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	defer pool.Close()
	here, there := filepath.Join(home, "here"), filepath.Join(home, "there")
	want, err := p.Run(t.Context(), Runner{Dir: here, Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	if want.Failed() != 1 {
		t.Fatalf("%d cells fail; the test wants one", want.Failed())
	}

	units, err := p.Away()
	if err != nil || len(units) != 3 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	old := slices.Clone(tasks.All)
	tasks.All = append(tasks.All, Tasks())
	defer func() { tasks.All = old }()
	if err := os.Rename(filepath.Join(home, "ring.csv"), filepath.Join(home, "moved.csv")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []compare.Row{{Name: units[0].Cells[0].Name, Key: "another"},
		{Name: "another", Key: units[0].Cells[0].Unit.Key()}} {
		detail, err := json.Marshal([]done{{Entry: &compare.Entry{Row: row}}})
		if err != nil {
			t.Fatal(err)
		}
		wrong := func(AwayUnit, string) (*tasks.Result, string, error) { return &tasks.Result{Detail: detail}, "", nil }
		_, err = p.Take(Runner{Dir: filepath.Join(home, "wrong")}, wrong)
		if !errors.As(err, new(*work.DamagedError)) {
			t.Errorf("the result of another cell: %v", err)
		}
	}
	gotten, kept := 0, []string(nil)
	get := func(u AwayUnit, dir string) (*tasks.Result, string, error) {
		gotten++
		at := t.TempDir()
		kept = append(kept, at)
		in, err := sent(at, u, filepath.Join(home, "moved.csv"))
		if err != nil {
			return nil, "", err
		}
		d := &tasks.Doer{Pool: parallel.New(1)}
		defer d.Pool.Close()
		r, err := d.Do(t.Context(), u.Unit, in, dir)
		return r, "", err
	}
	// the plan reads no data, so a fetch needs what a plan needs: the file where it was
	if err := os.Symlink(filepath.Join(home, "moved.csv"), filepath.Join(home, "ring.csv")); err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		if k == 1 { // a process that was killed left this
			if err := os.MkdirAll(filepath.Join(there, ".taken-"+units[0].Unit.Name, "runs"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.Take(Runner{Dir: there}, get)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Complete || got.SHA256 != want.SHA256 {
			a, _ := os.ReadFile(filepath.Join(here, rowsFile))
			b, _ := os.ReadFile(filepath.Join(there, rowsFile))
			t.Errorf("rows differ:\n%s\n%s", a, b)
		}
	}
	if gotten != 4 { // of the one that failed again: it may have been tried again meanwhile
		t.Errorf("%d results were asked for", gotten)
	}
	same := []string{"config.yaml", "problem.yaml", "samples.npy"}
	for _, c := range want.Cells {
		if c.State != work.Done {
			continue
		}
		names, _ := filepath.Glob(filepath.Join(here, "runs", c.Name, "checkpoints", "*", "weights.safetensors"))
		if len(names) < 1 {
			t.Errorf("%s has no weights", c.Name)
		}
		for _, name := range names {
			rel, _ := filepath.Rel(here, name)
			compareFiles(t, here, there, rel)
		}
		for _, name := range same {
			compareFiles(t, here, there, filepath.Join("runs", c.Name, name))
		}
	}
	// where a machine kept what it was sent, and what it made, is told nowhere
	err = filepath.WalkDir(there, func(path string, e os.DirEntry, err error) error {
		if strings.Contains(path, "taken") {
			t.Errorf("%s is left", path)
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, scratch := range append(kept, ".taken-") {
			if bytes.Contains(text, []byte(scratch)) {
				t.Errorf("%s tells of %s", path, scratch)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	rec, err := experiment.ReadRecord(filepath.Join(there, "runs", want.Cells[0].Name, "samples.npy"))
	if err != nil || rec == nil || rec.Run != "runs/"+want.Cells[0].Name {
		t.Errorf("samples are of the run %+v, %v", rec, err)
	}
	r, err := experiment.Open(filepath.Join(there, "runs", want.Cells[0].Name), "", pool)
	if err != nil || r.Warning != "" {
		t.Errorf("a run that was taken: %v, %+v", err, r)
	}
}

// A cell whose problem names a file that did not come with it is refused: it would be one of the machine's own.
func TestAwayReadsItsInputsAlone(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(secret, []byte("sesame\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	old := slices.Clone(tasks.All)
	tasks.All = append(tasks.All, Tasks())
	defer func() { tasks.All = old }()
	pool := parallel.New(1)
	defer pool.Close()
	for key, source := range map[string]string{"data.path": strings.ReplaceAll(ringProblem, "ring.csv", secret),
		"set.weights": "name: ring\ndata: {kind: demo}\nset: {kind: level-set, weights: " + secret + "}\n"} {
		raw, err := json.Marshal(away{Cells: []awayCell{{Unit: &work.Unit{Name: "c", Task: []byte("1")}}},
			Source: []byte(source), Origin: "p.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		u := &work.Unit{Name: "c", Kind: AwayKind, Task: raw, Version: run.Version()}
		_, err = (&tasks.Doer{Pool: pool}).Do(t.Context(), u, tasks.Inputs{}, t.TempDir())
		if !errors.As(err, new(*tasks.TaskError)) || !strings.Contains(err.Error(), "for "+key) ||
			strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func compareFiles(t *testing.T, a, b, name string) {
	t.Helper()
	x, err := os.ReadFile(filepath.Join(a, name))
	if err != nil {
		t.Error(err)
		return
	}
	if y, err := os.ReadFile(filepath.Join(b, name)); err != nil || !bytes.Equal(x, y) {
		t.Errorf("%s differs: %v\n%.2000s\n%.2000s", name, err, x, y)
	}
}

// sent puts the inputs of a unit where another machine would have them.
func sent(dir string, u AwayUnit, data string) (tasks.Inputs, error) {
	in := tasks.At(dir, u.Unit)
	for _, path := range in {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		from, err := os.Open(data)
		if err != nil {
			return nil, err
		}
		to, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(to, from)
			to.Close()
		}
		from.Close()
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Cells of one training are one unit, which trains once; what comes back is what a sweep here leaves.
func TestAwayDraws(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	p := planned(t, draws, Options{})
	home := t.TempDir()
	want, err := p.Run(t.Context(), Runner{Dir: filepath.Join(home, "here"), Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	units, err := p.Away()
	if err != nil || len(units) != 1 || len(units[0].Cells) != 3 || units[0].Unit.Name != p.Cells[0].Training {
		t.Fatalf("%v, %v", units, err)
	}
	old := slices.Clone(tasks.All)
	tasks.All = append(tasks.All, Tasks())
	defer func() { tasks.All = old }()
	asked, recorded := 0, 0
	get := func(u AwayUnit, dir string) (*tasks.Result, string, error) {
		asked++
		d := &tasks.Doer{Pool: pool}
		r, err := d.Do(t.Context(), u.Unit, nil, dir)
		return r, "", err
	}
	there := filepath.Join(home, "there")
	by := Runner{Dir: there, Record: func(*Cell, CellStatus) error { recorded++; return nil }}
	for range 2 {
		got, err := p.Take(by, get)
		if err != nil || !got.Complete || got.SHA256 != want.SHA256 {
			t.Errorf("%v, %v", err, states(got))
		}
	}
	if asked != 1 || recorded != 6 {
		t.Errorf("asked %d times, %d records", asked, recorded)
	}
	for _, c := range want.Cells {
		rel := filepath.Join("runs", p.Cells[0].Training, c.Drawn, "samples.npy")
		compareFiles(t, filepath.Join(home, "here"), there, rel)
	}

	// Of a training that was drawn from here, the rest is left to this machine.
	if err := os.RemoveAll(filepath.Join(home, "here", "units", p.Cells[1].Name)); err != nil {
		t.Fatal(err)
	}
	got, err := p.Take(Runner{Dir: filepath.Join(home, "here")}, get)
	if err != nil || asked != 1 || got.Complete || got.Cells[1].State != work.Waiting {
		t.Errorf("%v, %v, asked %d times", err, states(got), asked)
	}
	lost := func(AwayUnit, string) (*tasks.Result, string, error) { return nil, "five tries", nil }
	if got, err = p.Take(Runner{Dir: filepath.Join(home, "lost")}, lost); err != nil || got.Failed() != 3 ||
		got.Cells[2].Reason != "five tries" {
		t.Errorf("given up: %v, %v", err, states(got))
	}
}
