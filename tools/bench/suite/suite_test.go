package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/bench/problems"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func init() { pathmatch.FitNumbers, experiment.PriorEnds = 1<<13, 1000 } // what is trained is small

func named(t *testing.T, name string) *problems.Problem {
	t.Helper()
	some := testkit.Must(problems.Named([]string{name}))
	return &some[0]
}

// heldOut returns the rows of data that training sees, and the others.
func heldOut(data []float64, d int) (train, held []float64) {
	points := dataset.Points{N: len(data) / d, D: d, X: data}
	split := dataset.RandomSplit(points.N, problem.Defaults().Data.SplitSeed)
	return points.Rows(split.Train), points.Rows(append(append([]int(nil), split.Val...), split.Test...))
}

func config(t *testing.T) *Config {
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	return &Config{Out: filepath.Join(t.TempDir(), "problems"), For: time.Hour, Seed: 1, Pool: pool,
		Settings: []string{"train.epochs=2", "train.times_per_path=2", "network.width=8", "network.layers=1"}}
}

// A problem goes from its files to a row with all numbers; the folder holds a run that can be
// opened, and is not written over.
func TestMeasure(t *testing.T) {
	c, p := config(t), named(t, "rows-200")
	r := testkit.Must(c.Measure(t.Context(), p, func(string) {}))
	if r.Epochs != 2 || r.Samples != 200 || r.Failed != 0 || !(r.Violation < 1e-9) || r.Error != "" {
		t.Errorf("%+v", r)
	}
	e := r.Energy
	if l := r.EnergyLaw; !(e.Statistic > e.Mean && e.SD > 0 && l.Statistic < e.Statistic && l.SD > 0) || e.M != 20 ||
		e.N != 200 { // half of the held-out rows end a training, with a time, and are no judges
		t.Errorf("energy %+v", e)
	}
	if o := r.Observed; !(o.Value > o.Mean && o.Mean > 0 && o.Law > 0 && o.Law < o.Value) || len(r.Numbers) != 3 ||
		r.Numbers[2].Name != "across the band" {
		t.Errorf("observables %+v, %+v", o, r.Numbers)
	}
	if r.Start == "" || r.Verdict == "good" || r.Seconds.All < r.Seconds.Train {
		t.Errorf("start %q, verdict %q, seconds %+v", r.Start, r.Verdict, r.Seconds)
	}
	testkit.OK(t, testkit.Err(json.Marshal(r)))
	again := testkit.Must(experiment.Open(t.Context(), filepath.Join(r.Folder, "run"), "", c.Pool, nil))
	if again.Problem.Observe != nil || again.Data.N != 200 {
		t.Error("the run is not of data and set alone")
	}
	before, _ := os.ReadFile(filepath.Join(r.Folder, "data.csv"))
	c.Seed = 2
	var exists *run.ExistsError
	if _, err := c.Measure(t.Context(), p, func(string) {}); !errors.As(err, &exists) {
		t.Errorf("a second time: %v", err)
	}
	if after, _ := os.ReadFile(filepath.Join(r.Folder, "data.csv")); !bytes.Equal(before, after) {
		t.Error("the data was written over")
	}
}

// A training ends by its clock, and is judged; an interruption ends all. On a busy machine a short time ends
// before the first batch, so it gets longer until one fits.
func TestTime(t *testing.T) {
	c := config(t)
	out := c.Out
	c.Settings[0] = "train.epochs=1000000"
	var r *Result
	for c.For = 2 * time.Second; ; c.For *= 2 {
		c.Out = fmt.Sprint(out, c.For)
		r = testkit.Must(c.Measure(t.Context(), named(t, "rows-200"), func(string) {}))
		if !strings.Contains(r.Error, "the budget of") {
			break
		}
	}
	if r.Error != "" || r.Epochs < 1 || r.Epochs == 1000000 || r.Samples != 200 {
		t.Errorf("%+v", r)
	}
	var m run.Manifest
	if err := (&run.Folder{Dir: filepath.Join(r.Folder, runDir)}).ReadJSON(run.ManifestFile, &m); err != nil ||
		len(m.Clock) == 0 || m.Clock[len(m.Clock)-1].Key != "train.epochs" {
		t.Errorf("no clock ended it: %+v, %v", m.Clock, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c.Out += "-stopped"
	c.For = time.Hour // only the interruption ends it, however busy the machine is
	if _, err := c.Measure(ctx, named(t, "rows-200"), func(string) { stop() }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// What goes wrong with a problem is its verdict.
func TestMeasureFaults(t *testing.T) {
	c := config(t)
	c.Settings = append(c.Settings, "process.friction=-1")
	r, err := c.Measure(t.Context(), named(t, "rows-200"), func(string) {})
	if err != nil || !strings.Contains(r.Verdict, "process.friction") || r.Passed != (Passed{}) {
		t.Errorf("%+v, %v", r, err)
	}
	testkit.OK(t, testkit.Err(json.Marshal(r)))
}

// Draws of the law itself are good by the bars, and one point again and again is not: what the suite measures is what
// training does. Draws of the law are not called good with a chance of at most 1 %, so that more than two of 22
// problems have one of 0.2 %; observables at 1.5 × their floor have none worth counting.
func TestLawsAreGood(t *testing.T) {
	all := testkit.Must(problems.Named(nil))
	pool := testkit.Pool(t, 2)
	alarms := 0
	for _, p := range all {
		switch p.Name {
		case "ring6", "ring8", "ball-chain", "rows-200000", "d300":
			continue // take long
		}
		n, points := p.Rows, testPoints
		if !testkit.Long() { // a third of a minute
			n, points = min(n, 1000), 400
		}
		x := testkit.Must(p.Draw(t.Context(), pool, 1, 0, n))
		samples := testkit.Must(p.Draw(t.Context(), pool, 1, 1, n))
		law := testkit.Must(p.Draw(t.Context(), pool, 1, 2, n))
		train, held := heldOut(x, p.Dim)
		judge := func(samples []float64, points, relabelled int) *Result {
			r := &Result{Problem: p.Name, Start: "empirical", StartP: metric.NaN, Samples: n,
				Energy: metric.EnergyTest(samples, held, p.Dim, points, relabelled, 1)}
			e := verdict.Evidence{Asked: n, Samples: samples, Rows: x, Held: held, Train: train, Dim: p.Dim,
				Energy:        metric.EnergyTest(samples, x, p.Dim, points, relabelled, 1),
				SampleNearest: metric.NearestDistances(samples, train, p.Dim),
				HeldNearest:   metric.NearestDistances(held, train, p.Dim),
				Start:         &verdict.Start{Prior: "empirical"}, Seed: 1}
			e.Numbers = testkit.Must(r.observe(&p, x, train, samples, law, 1, pool))
			v := verdict.Of(e)
			r.Judged = &v
			r.judge()
			return r
		}
		if r := judge(samples, points, 999); !r.Passed.Observed {
			t.Errorf("%s: %s", p.Name, r.Verdict)
		} else if r.Verdict != "good" {
			t.Logf("%s: %s", p.Name, r.Verdict)
			alarms++
		}
		for i := range samples {
			samples[i] = x[i%p.Dim]
		}
		if r := judge(samples, 200, 999); r.Passed.Wide || r.Passed.Energy || !r.Judged.Has(verdict.MissedMode) ||
			!r.Judged.Has(verdict.AnotherLaw) {
			t.Errorf("%s: one point again and again is %q", p.Name, r.Verdict)
		}
	}
	if alarms > 2 {
		t.Errorf("%d of the laws are not good by their own draws", alarms)
	}
}

// Each bar, at its edge and beyond; the verdict is that of the run's samples.
func TestVerdict(t *testing.T) {
	good := func() *Result {
		return &Result{Samples: 100, Start: "uniform", StartP: 0.011, Judged: &verdict.Verdict{Grade: verdict.Good},
			Energy:   metric.TwoSample{Statistic: 1.599, Floor: metric.Floor{Mean: 1, SD: 0.2}},
			Observed: Distance{Value: 1.5, Floor: metric.Floor{Mean: 1}}}
	}
	all := Passed{true, true, true, true, true}
	off := &verdict.Verdict{Findings: []verdict.Finding{{Code: verdict.Failed, Says: "half is lost"}}}
	for name, c := range map[string]struct {
		change func(r *Result)
		passed func(p *Passed)
		want   string
	}{
		"good":   {func(*Result) {}, func(*Passed) {}, "good"},
		"energy": {func(r *Result) { r.Energy.Statistic = 1.7 }, func(p *Passed) { p.Energy = false }, "good"},
		"far energy": {func(r *Result) { r.Energy.Statistic = 3.1 },
			func(p *Passed) { p.Energy, p.Wide = false, false }, "good"},
		"observables": {func(r *Result) { r.Observed.Value = 1.6 }, func(p *Passed) { p.Observed = false }, "good"},
		"start":       {func(r *Result) { r.StartP = 0.01 }, func(p *Passed) { p.Start = false }, "good"},
		"no samples":  {func(r *Result) { r.Samples = 0 }, func(p *Passed) { p.Feasible = false }, "good"},
		"no room": {func(r *Result) { r.Judged, r.Error = nil, "no room" }, func(p *Passed) { p.Feasible = false },
			"no room"},
		"lost": {func(r *Result) { r.Judged, r.Error = off, "50 failed" }, func(p *Passed) { p.Feasible = false },
			"failed: half is lost"},
		"another error": {func(r *Result) { r.Error = "no room" }, func(p *Passed) { p.Feasible = false },
			"no room; good"},
		"nothing": {func(r *Result) { *r = Result{} }, func(p *Passed) { p.Start, p.Feasible = false, false },
			"not measured"},
	} {
		r, want := good(), all
		c.change(r)
		c.passed(&want)
		if r.judge(); r.Passed != want || r.Verdict != c.want {
			t.Errorf("%s: %+v, %q", name, r.Passed, r.Verdict)
		}
	}
	empirical := good()
	empirical.Start, empirical.StartP = "empirical", metric.NaN
	if empirical.judge(); empirical.Passed != all {
		t.Errorf("%+v", empirical.Passed)
	}
}

// Bars count by problem; those of all problems are met by all alone. Draws of the law count by their own floor.
func TestBars(t *testing.T) {
	var results []*Result
	for k := range 5 {
		results = append(results, &Result{
			EnergyLaw: metric.TwoSample{Statistic: metric.Float(k), Floor: metric.Floor{Mean: 1, SD: 0.5}},
			Passed:    Passed{Energy: k > 0, Wide: k > 0, Observed: k > 1, Start: true, Feasible: true},
		})
	}
	var got []string
	for i, b := range Bars(results) {
		if b.Of != 5 || i < 2 && *b.Law != 3+i || i > 2 && b.Law != nil {
			t.Errorf("%+v", b)
		}
		if b.Met {
			got = append(got, b.What)
		}
	}
	if strings.Join(got, "; ") != "energy distance within mean + 3 sd of its floor; failed samples and violations "+
		"within their limits; start law not told from where paths end (p > 0.01)" {
		t.Error(got)
	}
}
