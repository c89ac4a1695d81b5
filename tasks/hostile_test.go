package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// sent is the inputs of a unit in a folder, as a worker keeps them, and the unit of what they are after a change.
func sent(t *testing.T, u *work.Unit, from Inputs, change func(dir string)) (*work.Unit, Inputs) {
	t.Helper()
	dir := t.TempDir()
	in := At(dir, u)
	for name, path := range from {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(in[name]), 0o777)
		}
		if err == nil {
			err = os.WriteFile(in[name], data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(dir)
	hostile := *u
	hostile.Inputs = map[string]string{}
	for name, path := range in {
		hash, err := hashOf(path)
		if err != nil {
			t.Fatal(err)
		}
		hostile.Inputs[name] = hash
	}
	return &hostile, in
}

// rewrite changes a file.
func rewrite(t *testing.T, path string, change func(text string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A unit reads its inputs and no other file of the machine: neither data that lies where the run's did and is another,
// nor files that a configuration, a condition or a manifest names.
func TestUnitsReadTheirInputsAlone(t *testing.T) {
	data := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(data, []byte(strings.Repeat("1,0,0\n0,1,0\n0,0,1\n0.6,0.8,0\n0,0.6,0.8\n", 8)),
		0o666); err != nil {
		t.Fatal(err)
	}
	r := trained(t, "demo", "data.kind=points", "data.path="+data, "prior=uniform")
	list, err := Generation(r, GenerateOptions{Count: 5})
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := Forward(r, ForwardOptions{Count: 5})
	if err != nil {
		t.Fatal(err)
	}
	x := drawn(t, r, 5, 0, r.Problem.Seed)
	secret := "a secret of this machine\n"
	if err := os.WriteFile(data, []byte(secret), 0o666); err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(1)
	t.Cleanup(pool.Close)
	do := func(u *work.Unit, in Inputs) (string, error) {
		dir := t.TempDir()
		_, err := (&Doer{Pool: pool}).Do(t.Context(), u, in, dir)
		return dir, err
	}
	u, in := sent(t, list.Unit(0, 5), list.Inputs, func(string) {})
	if dir, err := do(u, in); err != nil {
		t.Errorf("other data lies where the run's did: %v", err)
	} else if !slices.Equal(readRows(t, dir).Float64, x) {
		t.Error("other data lies where the run's did, and other samples are drawn")
	}
	named := func(key string) func(dir string) { // the configuration names a file
		return func(dir string) {
			config := filepath.Join(dir, "run", run.ConfigFile)
			rewrite(t, config, func(text string) string { return text + key + ": {path: " + data + "}\n" })
			now, err := hashOf(config)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, filepath.Join(dir, "run", run.ManifestFile), func(text string) string {
				return strings.ReplaceAll(text, u.Inputs["run/"+run.ConfigFile], now)
			})
		}
	}
	asks := func(text string) json.RawMessage {
		return json.RawMessage(strings.Replace(string(list.Unit(0, 5).Task), `"seed"`, text+`,"seed"`, 1))
	}
	for what, c := range map[string]struct {
		unit   *work.Unit
		change func(dir string)
		task   json.RawMessage
		want   string
	}{
		"a configuration":        {list.Unit(0, 5), named("condition"), nil, "for condition.path and does not keep it"},
		"a condition":            {list.Unit(0, 5), nil, asks(`"condition":"` + data + `"`), "expected name=value"},
		"data that was not sent": {list.Unit(0, 5), nil, asks(`"data":true`), "whether it needs the data"},
		"paths of no rows":       {ahead.Unit(0, 5), nil, nil, "the data is not among its inputs"},
	} {
		if c.change == nil {
			c.change = func(string) {}
		}
		if c.task != nil {
			c.unit.Task = c.task
		}
		from := list.Inputs // none of which is the data
		c.unit.Inputs = list.Unit(0, 5).Inputs
		u, in := sent(t, c.unit, from, c.change)
		if _, err := do(u, in); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: want %q, got %v", what, c.want, err)
		}
	}
}

// A run folder whose manifest names files elsewhere hands none of them over.
func TestKeptFilesAreTheRuns(t *testing.T) {
	r := trained(t, "demo", "prior=uniform")
	if err := r.Folder.AmendManifest(func(m *run.Manifest) {
		m.Kept = map[string]string{"set.mesh": "../../id_rsa"}
	}); err != nil {
		t.Fatal(err)
	}
	var bad *run.FolderError
	if _, err := Generation(r, GenerateOptions{Count: 1}); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), "id_rsa") {
		t.Errorf("samples: %v", err)
	}
	if _, err := Forward(r, ForwardOptions{Count: 1}); !errors.As(err, &bad) {
		t.Errorf("paths: %v", err)
	}
}

// Rows that are said to be wider than their file is long are damage, before memory is taken for them.
func TestMergeOfWideRows(t *testing.T) {
	numbersKind(t)
	parts, err := Parts([]string{makeParts(t, &List{Kind: "numbers", Count: 10}, 2, nil)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		parts[i].rows.Dim = 1 << 40
	}
	_, err = Merge(t.Context(), parts, filepath.Join(t.TempDir(), "x.npy"), MergeOptions{})
	if !errors.As(err, new(*work.DamagedError)) || !strings.Contains(err.Error(), "too few for 5 rows") {
		t.Errorf("got %v", err)
	}
}

// What a call left that was killed is removed by the next one.
func TestOnceTidies(t *testing.T) {
	numbersKind(t)
	dir := t.TempDir()
	left := filepath.Join(dir, ".x.npy.parts-123", "numbers-0-10")
	if err := os.MkdirAll(left, 0o777); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Dir(left), then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := Once(t.Context(), &List{Kind: "numbers", Count: 10}, filepath.Join(dir, "x.npy"),
		MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A unit says that it gets on where rows that were told before are told again, as after a training.
func TestStepsAreTold(t *testing.T) {
	All = append(All, Kind{Name: "steps", Do: func(_ context.Context, j *Job) (any, error) {
		j.Tick(5, 0)
		j.Tick(2, 9)
		j.Step()
		return nil, nil
	}})
	t.Cleanup(func() { All = All[:len(All)-1] })
	steps, ticks := 0, 0
	d := &Doer{Step: func() { steps++ }, Tick: func(uint64, uint64) { ticks++ }}
	u := (&List{Kind: "steps", Count: 1}).Unit(0, 1)
	if _, err := d.Do(t.Context(), u, nil, t.TempDir()); err != nil || steps != 3 || ticks != 1 {
		t.Errorf("%d steps, %d ticks, %v", steps, ticks, err)
	}
}
