package check

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/levelset/fit"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
	testball "github.com/landing-diffusion/landing/tools/testkit/ball"
)

// Chosen keys have a line for each part of the problem file, with values in few digits; what needs a person,
// and keys of no part, have their own. Why gives each its line and reason, as JSON does.
func TestChosenKeys(t *testing.T) {
	r := &Report{Set: "a set", Dim: 3, Findings: []Finding{
		{Check: "rank", Message: "fine"},
		{Check: "auto", Status: Warn, Message: "few rows"},
		{Check: "auto", Message: "process.friction: auto is 2.66: far", Key: "process.friction", Value: 2.6598},
		{Check: "auto", Message: "network.center: auto is [1 2]: mean", Key: "network.center", Value: []float64{1, 2}},
		{Check: "auto", Message: "process.sigma.min: auto is 0.1: fine", Key: "process.sigma.min", Value: 0.1},
		{Check: "auto", Message: "prior: auto is uniform: it mixes", Key: "prior", Value: "uniform"},
	}}
	var b strings.Builder
	testkit.OK(t, r.Write(&b, false))
	want := `a set: d = 3, 0 equalities, 0 inequalities, 0 data points

PASS  rank           fine
WARN  auto           few rows
PASS  auto  process  friction 2.66, sigma.min 0.1
PASS  auto  network  center (2 numbers)
PASS  auto           prior: auto is uniform: it mixes

0 FAIL, 1 WARN, 5 PASS
Why keys have these values: --why
`
	testkit.Equal(t, b.String(), want)
	b.Reset()
	r.Why = true
	if err := r.Write(&b, false); err != nil || !strings.Contains(b.String(), "sigma.min: auto is 0.1: fine\n") ||
		!strings.Contains(b.String(), "center: auto is [1 2]: mean\n") || strings.Contains(b.String(), "--why") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The text is aligned, counts what is alike, keeps every status apart and is
// coloured only when asked; JSON holds everything, with null for NaN.
func TestReport(t *testing.T) {
	r := &Report{Set: "a set", Dim: 3, Equalities: 1, Findings: []Finding{
		{Check: "rank", Component: "a", Message: "fine"}, {Check: "rank", Component: "a", Message: "fine too"},
		{Check: "rank", Component: "bb", Message: "fine"},
		{Check: "rank", Component: "c", Status: Warn, Message: "near", Numbers: Numbers{"x": math.NaN(), "y": 2}},
		{Check: "rank", Message: "whole"},
		{Check: "data", Component: "d1", Status: Fail, Message: "bad"},
		{Check: "data", Component: "d2", Status: Fail, Message: "bad"},
		{Check: "data", Component: "d3", Status: Fail, Message: "bad"},
		{Check: "data", Component: "d4", Status: Fail, Message: "bad"},
		{Check: "data", Component: "d5", Status: Fail, Message: "bad"},
		{Check: "data", Component: "d6", Status: Fail, Message: "bad"},
	}}
	var b strings.Builder
	testkit.OK(t, r.Write(&b, false))
	want := `a set: d = 3, 1 equality, 0 inequalities, 0 data points

WARN  rank  c   near
PASS  rank      whole
PASS  rank  a   fine
PASS  rank  a   fine too (and 1 other alike)
FAIL  data  d1  bad
FAIL  data  d2  bad
FAIL  data  d3  bad
FAIL  data  d4  bad (and 2 others alike)

6 FAIL, 1 WARN, 4 PASS
`
	testkit.Equal(t, b.String(), want)
	b.Reset()
	if err := r.Write(&b, true); err != nil || strings.Count(b.String(), "\x1b[31mFAIL\x1b[0m") != 4 {
		t.Errorf("colours: %q", b.String())
	}
	data := testkit.Must(json.Marshal(r))
	if s := string(data); !strings.Contains(s, `"numbers":{"x":null,"y":2}`) ||
		!strings.Contains(s, `"status":"FAIL"`) {
		t.Errorf("got %s", s)
	}
	testkit.Equal(t, r.Status(), Fail, "status")
}

// What is found does not depend on the number of workers, times apart.
func TestWorkers(t *testing.T) {
	s := arm(3, false)
	findings := func(workers int) []Finding {
		pool := testkit.Pool(t, workers)
		r := testkit.Must(Run(context.Background(), Input{Process: gentle(s), Tolerance: 1e-3, Seed: 3}, pool))
		var out []Finding
		for _, f := range r.Findings {
			if f.Check != "forecast" {
				for k, v := range f.Numbers { // NaN is not equal to itself
					if math.IsNaN(v) {
						f.Numbers[k] = -1
					}
				}
				out = append(out, f)
			}
		}
		return out
	}
	if a, b := findings(1), findings(5); !reflect.DeepEqual(a, b) {
		t.Error("findings depend on the number of workers")
	}
}

// The forecast counts rows and bytes exactly and measures times.
func TestForecast(t *testing.T) {
	p := gentle(equality(3).equal("h", ball(1)))
	in := Input{Process: p, Training: &Training{
		Config:  train.Config{Epochs: 100, Batch: 32, Refresh: 10, LearningRate: 1e-3, Average: 0.9},
		Learned: langevin.Starts([]float64{0, 0, 1, 1, 0, 0}, 3, 1000), Before: 500,
		Method:  pathmatch.New(p, pathmatch.Options{}),
		Network: score.Config{Dim: 3, Momentum: true, Width: 16, Layers: 1},
	}}
	f := find(run(t, in), "forecast", "")[0]
	n := f.Numbers
	if n["rows"] != 992*20*100 || n["bytes_per_path"] != 21*3*8 || n["train_bytes"] != 1000*21*3*8+32*(8*16+17*3) {
		t.Errorf("got %v", n)
	}
	if n["seconds_per_row"] <= 0 || n["train_seconds"] <= n["rows"]*n["seconds_per_row"] {
		t.Errorf("got %v", n)
	}
	// A batch of more rows than there are is of all; rows may take turns.
	for _, c := range []struct {
		batch, paths int
		rows, items  float64
	}{{2048, 0, 1000, 1000}, {1000, 0, 1000, 1000}, {600, 0, 600, 1000}, {32, 100, 96, 100}, {512, 100, 100, 100}} {
		in := in
		training := *in.Training
		training.Config.Batch, in.Training = c.batch, &training
		training.Method = pathmatch.New(p, pathmatch.Options{Paths: c.paths})
		cost := testkit.Must(training.Cost(context.Background(), p.Set, testkit.Pool(t, 2)))
		if cost.Rows != c.rows*20*100 || cost.Items != c.items || !(cost.Row > 0) || !(cost.Seconds > cost.Simulated) {
			t.Errorf("batches of %d, %d paths: %+v", c.batch, c.paths, cost)
		}
		training.Budget = 1e-3 * cost.Seconds
		less := testkit.Must(training.Cost(context.Background(), p.Set, testkit.Pool(t, 2)))
		if less.Rows > 0.1*cost.Rows {
			t.Errorf("a thousandth of the time: %+v, of %+v", less, cost)
		}
	}
	p.Method = langevin.ULLAP
	if m := find(run(t, in), "forecast", "")[0].Numbers; m["rows"] != n["rows"] {
		t.Errorf("got %v", m)
	}
}

// docs/check.md has a row for every check.
func TestDocs(t *testing.T) {
	page := string(testkit.Must(os.ReadFile("../../docs/check.md")))
	for _, c := range checks {
		testkit.Contains(t, page, "\n| `"+c.name+"` |", "docs/check.md")
	}
}

// Check reports what is wrong with the mesh of a level set, and its effect; the level set itself is sound in all cases.
func TestMesh(t *testing.T) {
	pool, sphere := parallel.New(2), testball.Mesh
	defer pool.Close()
	o := fit.Defaults()
	o.Width, o.Layers, o.Steps, o.Batch, o.Rate = 16, 2, 300, 256, 0.01
	net := testkit.Must(fit.Fit(context.Background(), sphere(3), o, pool, nil))
	far := func(m *mesh.Mesh) *mesh.Mesh { // a strip that reaches to where Newton's method is not let
		m.Vertices = append(m.Vertices, 1, 0, 0, 3, 0, 0, 3, 0.01, 0)
		n := int32(len(m.Vertices) / 3)
		m.Faces = append(m.Faces, n-3, n-2, n-1)
		return m
	}
	for name, c := range map[string]struct {
		mesh   *mesh.Mesh
		status Status
		words  []string
	}{
		"good":   {sphere(3), Pass, []string{"512 faces, closed and oriented alike, in 1 part"}},
		"near":   {sphere(3), Pass, []string{"away from points of it (mean)"}},
		"covers": {sphere(3), Pass, []string{"points of Σ the worst is"}},
		"hole": {&mesh.Mesh{Vertices: sphere(3).Vertices, Faces: sphere(3).Faces[3:]}, Warn,
			[]string{"holes: 3 edges", "uniform points are missing"}},
		"half": {&mesh.Mesh{Vertices: sphere(3).Vertices, Faces: sphere(3).Faces[:768]}, Warn,
			[]string{"points of Σ the worst is", "parts of Σ that the mesh has not"}},
		"unused": {&mesh.Mesh{Vertices: append(sphere(3).Vertices, 0, 0, 0), Faces: sphere(3).Faces}, Pass,
			[]string{"1 vertex belongs to no face"}},
		"large": {sphere(3).Scaled([3]float64{}, 1.2), Warn,
			[]string{"is it the mesh that the network was fitted to?"}},
		"strip": {far(sphere(3)), Warn, []string{"of 2000 points of the mesh cannot be moved"}},
	} {
		s, err := levelset.NewSurface(net, c.mesh)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := examine(t, s)
		says(t, r, "mesh", "", c.status, c.words...)
		if slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Status > Pass && f.Check != "mesh" && f.Check != "data" && f.Check != "offset"
		}) {
			t.Errorf("%s: something else than the mesh is told: %v", name, r.Findings)
		}
		if worst := slices.MaxFunc(find(r, "mesh", ""),
			func(a, b Finding) int { return int(a.Status) - int(b.Status) }).Status; worst != c.status {
			t.Errorf("%s: the worst finding about the mesh is %v, want %v", name, worst, c.status)
		}
	}
	says(t, examine(t, levelset.New(net)), "mesh", "", Pass, "none", "from chains")
}
