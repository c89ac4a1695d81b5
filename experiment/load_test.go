package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A budget ends the loading when it is spent and names what was going on. An interruption ends it with the context's
// error. Without either every step is reported.
func TestLoadEnds(t *testing.T) {
	pool := testkit.Pool(t, 1)
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	load := func(ctx context.Context, settings ...string) (said []string, err error) {
		p, err := problem.Load(data, origin, "fixed", problem.ParseSettings(append(settings, "prior=auto",
			"process.horizon=0.01")...))
		testkit.OK(t, err)
		_, err = Load(ctx, p, pool, func(doing string) {
			if said = append(said, doing); len(said) == 1 && p.Train.MaxSeconds == 1 {
				time.Sleep(1100 * time.Millisecond)
			}
		})
		return said, err
	}
	said, err := load(t.Context(), "train.max_seconds=1")
	testkit.Refused(t, err, "before the training, while "+said[len(said)-1]+"; a larger", "a budget that is spent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, settings := range [][]string{nil, {"train.max_seconds=60"}} {
		if _, err := load(ctx, settings...); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted, with %v: %v", settings, err)
		}
	}
	said, err = load(t.Context())
	if all := strings.Join(said, "; "); err != nil || !strings.HasPrefix(all, "reading the data; ") ||
		!strings.Contains(all, "simulating 2000 paths") {
		t.Errorf("%v, %v", said, err)
	}
}

// The doctor tells meshes of a robot's file, which its set leaves out; of the Panda in the
// binary, which has none, it says nothing.
func TestExamineTellsMeshes(t *testing.T) {
	urdf := testkit.Must(filepath.Abs("../domain/robot/urdf/testdata/panda.urdf"))
	pool := testkit.Pool(t, 1)
	for robot, meshes := range testkit.Ordered(map[string]bool{"urdf: " + urdf + ", tip: panda_link8": true,
		"robot: panda": false}) {
		text := "set: {kind: arm, " + robot + ", waypoints: 1}\nprocess: {steps: 5, horizon: 0.01}\n"
		p := testkit.Must(problem.Load([]byte(text), "p.yaml", "", nil))
		r, err := Examine(t.Context(), p, pool, nil)
		if r == nil {
			t.Fatal(err)
		}
		keepFindings(t, r)
		told := warned(r, "robot")
		if meshes != strings.Contains(told, "mesh") || !meshes && told != "" {
			t.Errorf("%s: %q", robot, told)
		}
	}
}

// warned returns the warnings of a check.
func warned(r *check.Report, name string) (told string) {
	for _, f := range r.Findings {
		if f.Check == name && f.Status == check.Warn {
			told += f.Message
		}
	}
	return told
}

// A run keeps the files of its formulas, and names of coordinates are the columns of its files. Columns of the data in
// another order than the names are refused.
func TestRunOfFormulasWithFiles(t *testing.T) {
	dir := t.TempDir()
	rows := func(header string) string {
		text := header + "\n"
		for i := range 40 {
			text += fmt.Sprintf("%.17g,%.17g\n", 2*math.Cos(float64(i)), math.Sin(float64(i)))
		}
		path := filepath.Join(dir, strings.ReplaceAll(header, ",", "")+".csv")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	form := filepath.Join(dir, "form.csv")
	testkit.OK(t, os.WriteFile(form, []byte("0.25,0\n0,1\n"), 0o666))
	text := []byte(fmt.Sprintf("set: {names: [u, v], let: {A: {file: %q}}, equality: [{name: ellipse, "+
		"expr: 'dot(x, A*x) = 1'}], inequality: [{name: cut, expr: u <= 3}]}\n", form) + bareText)
	r := job.New[*Run](t, Load, text, "e.yaml", "data.path="+rows("p,q"))
	testkit.OK(t, os.Remove(form))
	again := testkit.Must(Open(t.Context(), r.Folder.Dir, "", r.Pool, nil))
	testkit.Equal(t, again.Problem.Files()["set.let.A"], again.Folder.Path("set.let.A.csv"), "A is read from")
	testkit.Equal(t, fmt.Sprint(again.Data.Names), "[u v]", "columns")
	testkit.OK(t, os.WriteFile(form, []byte("0.25,0\n0,1\n"), 0o666))
	p := testkit.Must(problem.Load(text, "e.yaml", "", problem.ParseSettings("data.path="+rows("v,u"))))
	testkit.Refused(t, testkit.Err(Load(t.Context(), p, r.Pool, nil)),
		"column 0 (from 0) is v, which is coordinate 1 of the set;", "columns in another order")
}

// A run of a version without one of today's keys opens with a note, and learns the same. A run with all keys opens
// without a note.
func TestRunOfAnotherVersion(t *testing.T) {
	text := []byte("set: {kind: sphere, dim: 2}\n" + bareText + "data: {path: " + circles(t, false) + "}\n")
	config := func(r *Run) string {
		t.Helper()
		data := testkit.Must(os.ReadFile(r.Folder.Path(run.ConfigFile)))
		return string(data)
	}
	// rewritten opens a run that has not begun, after its config.yaml was changed.
	rewritten := func(old, new string) (*Run, error) {
		t.Helper()
		e := job.New[*Run](t, Load, text, "p.yaml")
		e.Folder.Unlock()
		was := config(e)
		is := strings.Replace(was, old, new, 1)
		if is == was && old != new {
			t.Fatalf("no %q in\n%s", old, was)
		}
		manifest := testkit.Must(os.ReadFile(e.Folder.Path(run.ManifestFile)))
		manifest = bytes.Replace(manifest, []byte(run.Hash([]byte(was))), []byte(run.Hash([]byte(is))), 1)
		for file, data := range map[string][]byte{run.ManifestFile: manifest, run.ConfigFile: []byte(is)} {
			testkit.OK(t, os.WriteFile(e.Folder.Path(file), data, 0o666))
		}
		return Open(t.Context(), e.Folder.Dir, "", e.Pool, nil)
	}
	learned := func(r *Run) []arrayfile.Named {
		t.Helper()
		trainTo(t, r, Observer{})
		var state train.State
		return testkit.Must(r.Folder.Checkpoints().Load("", r.Config, &state))
	}
	same, err := rewritten("", "")
	if err != nil || same.Warning != "" {
		t.Fatalf("a run of this version: %v, %q", err, same.Warning)
	}
	older := testkit.Must(rewritten("  terminal_projection: true\n", ""))
	testkit.Contains(t, older.Warning, "did not know process.terminal_projection (true);", "the warning")
	if !reflect.DeepEqual(learned(same), learned(older)) {
		t.Error("without a key that has its default other parameters are learned")
	}
}

// Data of a set of its own unit trains in every unit, and data of another unit in none: the
// default asks for nearness in spreads of the data. The error names row, component, value,
// distance in the data's unit and share; data.tolerance is in the component's unit.
func TestDataOfAnyUnit(t *testing.T) {
	circle := func(r, at, off float64) [][]float64 { // the last of 100 rows is off by a share of r
		rows := [][]float64{}
		for i := range 100 {
			s, c := math.Sincos(2 * math.Pi * float64(i) / 100)
			if i == 99 {
				s, c = s*(1+off), c*(1+off)
			}
			rows = append(rows, []float64{float64(float32(at + r*c)), float64(float32(at + r*s))})
		}
		return rows
	}
	set := func(r, at float64) string {
		return fmt.Sprintf("set: {dim: 2, equality: [{name: round, expr: \"(x[0]-%g)^2 + (x[1]-%g)^2 = %g\"}]}\n",
			at, at, r*r)
	}
	for _, c := range []struct {
		name, set, key string
		rows           [][]float64
		fault, remark  string
	}{
		{"one", set(1, 0), "", circle(1, 0, 0), "", ""},
		{"thousand", set(1e3, 0), "", circle(1e3, 0, 0), "", ""},
		{"thousandth", set(1e-3, 0), "", circle(1e-3, 0, 0), "", ""},
		{"shifted", set(1, 1e3), "", circle(1, 1e3, 0), "", ""},
		{"a thousand in a set of one", set(1, 0), "", circle(1e3, 0, 0), "row 0 (from 0) violates \"round\" by " +
			"1e+06: about 500 from it, 70.7 % of the spread of a coordinate (707); expected at most 1 %. Of 100 rows " +
			"100 are further, row ", ""},
		{"a thousandth in a set of one", set(1, 0), "", circle(1e-3, 0, 0), "row 0 (from 0) violates \"round\" by 1: " +
			"about 500 from it, 7.07e+05 times the spread of a coordinate (0.000707); expected at most 1 %. Of 100 ",
			""},
		{"shifted, in a set that is not", set(1, 0), "", circle(1, 1e3, 0), "times the spread of a coordinate (0.707)",
			""},
		{"a row off", set(1e3, 0), "", circle(1e3, 0, 0.02), "row 99 (from 0) violates \"round\" by 4.04e+04: about " +
			"19.8 from it, 2.8 % of the spread of a coordinate (707); expected at most 1 %. Are the set's numbers " +
			"in the data's unit, and its coordinates in the order of the columns? landing refine brings rows that " +
			"are near the set to it; a data.tolerance, in the unit of the constraint, allows more", ""},
		{"a row hardly off", set(1e-3, 0), "", circle(1e-3, 0, 1e-3), "", "1 of 100 rows are further from the set " +
			"than double precision explains; row 99 (from 0) the most, \"round\" by 2e-09: about 9.99e-07 from it, " +
			"0.141 % of the spread of a coordinate (0.000707). Samples will lie on it; landing refine brings rows"},
		{"a tolerance is absolute", set(1e-3, 0), "data: {tolerance: 1e-8}\n", circle(1e-3, 0, 0.1),
			"row 99 (from 0) violates \"round\" by 2.1e-07; expected at most data.tolerance = 1e-08; landing", ""},
		{"a tolerance allows", set(1e-3, 0), "data: {tolerance: 1e-3}\n", circle(1e-3, 0, 0.1), "", ""},
		{"auto is the default", set(1e-3, 0), "data: {tolerance: auto}\n", circle(1e-3, 0, 0.02), "2.8 %", ""},
	} {
		l, err := written(t, c.key+c.set, c.rows)
		switch {
		case c.fault == "" && err != nil, c.fault != "" && (fault.KindOf(err) != fault.Data ||
			!strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v", c.name, err)
		case err == nil:
			got := strings.Join(l.Domain.Faults, "\n")
			if c.remark == "" && got != "" || !strings.Contains(got, c.remark) {
				t.Errorf("%s: remarks %q", c.name, got)
			}
		}
	}
}

// A frequent point gives a warning, wherever its rows stand. Rows that repeat in pairs, and few rows, give none.
func TestAtOnePoint(t *testing.T) {
	for _, c := range []struct {
		n, every int
		want     string
	}{
		{1000, 3, "334 of 1000 rows are one and the same point (row 0"},
		{1000, 15, "67 of 1000 rows are one and the same point (row 0"},
		{1000, 30, ""},
		{20, 7, ""},
	} {
		d := &dataset.Points{N: c.n, D: 2}
		for i := range c.n {
			x := []float64{float64(i / 2), 1}
			if i%c.every == 0 {
				x = []float64{-7, 0}
			}
			d.X = append(d.X, x...)
		}
		if got := atOnePoint(d); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("every %d: %q, want %q", c.every, got, c.want)
		}
	}
}
