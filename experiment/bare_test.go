package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// circles writes points on circles around the origin to a CSV file.
func circles(t *testing.T, given bool) string {
	t.Helper()
	var b bytes.Buffer
	head := "x0,x1\n"
	if given {
		head = "x0,x1,radius\n"
	}
	b.WriteString(head)
	for i := range 60 {
		φ, r := 0.05*float64(i), 1.0
		if given {
			r = 1 + 0.01*float64(i%7)
		}
		fmt.Fprintf(&b, "%.17g,%.17g", r*math.Cos(φ), r*math.Sin(φ))
		if given {
			fmt.Fprintf(&b, ",%v", r)
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "circles.csv")
	testkit.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path
}

const bareText = "network: {width: 8, layers: 1}\ntrain: {epochs: 2, times_per_path: 2}\nprocess: {steps: 6}\n"

// Without its data a run draws the same samples, bit by bit, by its own keys and by others, where the prior has a
// closed form or lies in the folder; else the error says what needs the data, and names --data.
func TestGenerateWithoutData(t *testing.T) {
	for name, c := range map[string]struct {
		text, kept, why string
		given           bool
	}{
		"closed form": {"prior: uniform\nset: {kind: sphere, dim: 2}\n", "", "", false},
		"ends": {"prior: empirical\nset: {kind: sphere, dim: 2}\n", run.EndsFile, "states that generation " +
			"begins with", false},
		"chains": {
			"prior: uniform\nuniform: {max_rhat: 3}\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) = 1\"}]}\n",
			run.PriorFile, "states that generation begins with", false},
		"condition": {
			"condition: {columns: [radius]}\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) = radius\"}]}\n",
			run.EndsFile, "states that generation begins with", true},
		"unit": {
			"prior: empirical\nset: {kind: sphere, dim: 2}\n", run.EndsFile, "states that generation begins with",
			false},
		"unit and condition": {
			"condition: {columns: [radius]}\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) = radius\"}]}\n",
			run.EndsFile, "states that generation begins with", true},
		"seen of the condition": {
			"condition: {columns: [radius]}\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) = radius\"}]}\n",
			run.ConditionFile, "what was seen of the condition", true},
	} {
		t.Run(name, func(t *testing.T) {
			data, settings := circles(t, c.given), []string(nil)
			if strings.HasPrefix(name, "unit") {
				settings = []string{"network.center=[0.25, -1]", "network.unit=0.7", "network.time=share"}
			}
			e := job.New[*Run](t, Load, []byte(c.text+bareText+"data: {path: "+data+"}\n"), "p.yaml", settings...)
			trainTo(t, e, Observer{})
			draw := func(r *Run) []float64 {
				t.Helper()
				r = testkit.Must(r.Redraw(t.Context(), problem.ParseSettings("process.steps=3")))
				prior := testkit.Must(r.Prior(context.Background(), nil))
				if c.given {
					prior = prior.Under([]float64{1.02, 1.05}, 20)
				}
				trained := testkit.Must(r.Trained(""))
				s := testkit.Must(r.Generate(context.Background(), trained, prior, 40, 3, 7, nil))
				var b bytes.Buffer
				testkit.OK(t, r.Domain.Writer(".csv")(&b, arrayfile.RowsOf(s.Good(), s.Dim)))
				if head := b.String(); c.given && !strings.Contains(head[:strings.IndexByte(head, '\n')], "radius") {
					t.Errorf("the file begins %q", head[:40])
				}
				return s.X
			}
			want := draw(e)
			if c.kept == run.EndsFile { // what is kept is what the data gives
				made := testkit.Must(e.Loaded.Prior(context.Background(), nil))
				kept, err := e.Prior(context.Background(), nil)
				if err != nil || !slices.Equal(kept.states(), made.states()) {
					t.Errorf("other ends are kept: %v", err)
				}
			}
			testkit.OK(t, os.Rename(data, data+".moved"))
			bare := testkit.Must(OpenToDraw(t.Context(), e.Folder.Dir, "", e.Pool, nil))
			if got := draw(bare); !bare.Bare || !slices.Equal(got, want) {
				t.Error("other samples than with the data")
			}
			var absent *AbsentError
			if _, err := bare.Redraw(t.Context(), problem.ParseSettings("prior=auto")); !errors.As(err, &absent) {
				t.Errorf("prior: auto: %v", err)
			}
			if _, err := Open(t.Context(), e.Folder.Dir, "", e.Pool, nil); !errors.As(err, &absent) ||
				absent.Path != data || !strings.Contains(err.Error(), "--data FILE") {
				t.Errorf("all of the run: %v", err)
			}
			there, err := OpenToDraw(t.Context(), e.Folder.Dir, data+".moved", e.Pool, nil)
			if err == nil || there != nil { // no CSV by its name
				t.Error("a file of another kind was read")
			}
			if c.kept == "" {
				return
			}
			testkit.OK(t, os.Remove(e.Folder.Path(c.kept)))
			if _, err := OpenToDraw(t.Context(), e.Folder.Dir, "", e.Pool, nil); !errors.As(err, &absent) ||
				!strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "--data FILE") {
				t.Errorf("without %s: %v", c.kept, err)
			}
		})
	}
}

// Files of a folder that are damaged are named.
func TestDamagedEndsAndCondition(t *testing.T) {
	data := circles(t, true)
	e := job.New[*Run](t, Load, []byte("condition: {columns: [radius]}\nset: {dim: 2, equality: [{name: r, expr: "+
		"\"norm(x) = radius\"}]}\n"+bareText+"data: {path: "+data+"}\n"), "p.yaml")
	trainTo(t, e, Observer{})
	testkit.OK(t, os.Remove(data))
	for _, name := range []string{run.EndsFile, run.ConditionFile} {
		good := testkit.Must(e.Folder.Read(name))
		bad := []byte(`{"Names": ["radius"], "At": 2}`)
		testkit.OK(t, os.WriteFile(e.Folder.Path(name), bad, 0o666))
		if _, err := OpenToDraw(t.Context(), e.Folder.Dir, "", e.Pool, nil); fault.KindOf(err) != fault.Run ||
			!strings.Contains(err.Error(), name+": is damaged") {
			t.Errorf("%s: %v", name, err)
		}
		testkit.OK(t, os.WriteFile(e.Folder.Path(name), good, 0o666))
	}
}
