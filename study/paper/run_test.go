package paper

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func init() { pathmatch.FitNumbers, experiment.PriorEnds = 1<<13, 1000 } // what is trained is small

// Cells of one training train once, each has its row and pictures, one that fails has its reason; rows that are lost
// come again from the folder without any training; a folder that is damaged is no failure of a method.
func TestRun(t *testing.T) {
	pool := testkit.Pool(t, 2)
	file := testkit.Must(sweep.Parse([]byte(`{problems: [demo], methods: [{name: ULLA, method: ULLA, draws: [
		{name: own, set: {}}, {name: short, set: {process.steps: 9}, measure: jacobian},
		{name: timed, set: {}, measure: processor-time},
		{name: none, set: {process.method: MALA}}]}], seeds: [2], report: true, measure: paper,
		set: {process.steps: 20, network: {width: 8, layers: 1}, train: {epochs: 2, times_per_path: 2}}}`), "p.yaml"))
	p := testkit.Must(file.Plan(sweep.Options{}))
	trained := 0
	by := sweep.Runner{Pool: pool, Observer: sweep.Observer{Train: experiment.Observer{Epoch: func(train.Epoch) {
		trained++
	}}}}
	c := Config{Out: t.TempDir(), Note: "a test"}
	plans := []*Plan{{p, map[string]string{"demo-ULLA-s2-own": "own"}}}
	run := func(name string) []Row {
		t.Helper()
		c.File = filepath.Join(c.Out, name)
		testkit.OK(t, c.Run(t.Context(), plans, by))
		rows, err := ReadRows(c.File)
		if err != nil || len(rows) != 4 || trained != 2 {
			t.Fatalf("%v, %d rows, %d epochs", err, len(rows), trained)
		}
		return rows
	}
	distance := map[string]float64{}
	for _, r := range run("rows.json") {
		if r.Row.Seed != 2 || r.Note != "a test" || r.budget() != 0 || r.Row.Version == "" || r.Cost.CPU == "" ||
			(r.Cell == "demo/own") != (r.Definition == "own") {
			t.Errorf("%+v", r)
		}
		_, jacobian := r.value(JacobianNear)
		_, ms := r.value(Milliseconds)
		if jacobian != (r.Cell == "demo/short") || ms != (r.Cell == "demo/timed") {
			t.Errorf("%s: its figures are %v", r.Cell, r.Figures)
		}
		switch r.Cell {
		case "demo/none":
			if !strings.Contains(r.Row.Failure, `process.method is "MALA"`) || r.Figures != nil {
				t.Errorf("failed: %q, figures %v", r.Row.Failure, r.Figures)
			}
		case "demo/own", "demo/short":
			if r.Row.Failure != "" || len(r.Row.Config) != 64 || r.Row.Epochs != 2 || r.Figures[AbsH] > 1e-12 ||
				float64(r.Row.Network) != map[string]float64{"demo/own": 20, "demo/short": 9}[r.Cell] {
				t.Errorf("%s: %+v", r.Cell, r)
			}
			distance[r.Cell], _ = r.value(Distance)
			folder := filepath.Join(c.Out, filepath.FromSlash(r.Folder))
			if len(compare.Figures(folder, r.Drawn)) == 0 {
				t.Errorf("%s: no pictures in %s", r.Cell, folder)
			}
		}
	}
	if distance["demo/own"] <= 0 || distance["demo/own"] == distance["demo/short"] {
		t.Errorf("distances are %v", distance)
	}

	before := testkit.Must(os.ReadFile(c.File))
	run("other.json")
	if after, err := os.ReadFile(c.File); err != nil || !bytes.Equal(withoutEnds(after), withoutEnds(before)) {
		t.Errorf("other rows from the folder:\n%s\n%s", before, after)
	}
	folder := filepath.Join(c.Out, "p")
	testkit.OK(t, os.RemoveAll(filepath.Join(folder, "units")))
	testkit.OK(t, os.WriteFile(filepath.Join(folder, "runs", "demo-ULLA-s2", "config.yaml"), []byte("process: {"),
		0o666))
	c.File = filepath.Join(c.Out, "third.json")
	testkit.Refused(t, c.Run(t.Context(), plans, by), "config.yaml", "a damaged folder")
	if rows, err := ReadRows(c.File); err != nil || len(rows) > 0 {
		t.Errorf("of a damaged folder %d rows, %v", len(rows), err)
	}
}

// withoutEnds are rows without the time at which they ended, which of a cell that failed is that of the call.
func withoutEnds(data []byte) []byte {
	var out [][]byte
	for _, line := range bytes.Split(data, []byte("\n")) {
		i := bytes.Index(line, []byte(`"ended":`))
		if i >= 0 {
			line = append(bytes.Clone(line[:i]), line[i+len(`"ended":"2026-11-26T00:00:00Z"`):]...)
		}
		out = append(out, line)
	}
	return bytes.Join(out, []byte("\n"))
}
