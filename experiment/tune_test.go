package experiment

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// tuned loads 60 rows on a circle of radius c in the plane z = c, with no more said than settings do.
func tuned(t *testing.T, c float64, settings ...string) *Loaded {
	t.Helper()
	rows := make([][]float64, 60)
	for i := range rows {
		sin, cos := math.Sincos(float64(i*i) / 20)
		rows[i] = []float64{c * cos, c * sin, c}
	}
	l := testkit.Must(ofRows(t, fmt.Sprintf("set: {dim: 3, equality: [{name: round, expr: \"norm(x) = %.17g\"}, "+
		"{name: flat, expr: \"x[2] = %.17g\"}]}\n", c*math.Sqrt2, c), rows, settings...))
	return l
}

// value returns what a key was chosen to be.
func value(t *testing.T, chosen []choose.Choice, key string) any {
	t.Helper()
	i := slices.IndexFunc(chosen, func(c choose.Choice) bool { return c.Key == key })
	if i < 0 || chosen[i].Reason == "" {
		t.Fatalf("%s is not chosen with a reason: %+v", key, chosen)
	}
	return chosen[i].Value
}

// What nobody said is chosen, in config.yaml as in the manifest; a folder is opened with the
// same numbers and chooses nothing.
func TestTuneIsRecorded(t *testing.T) {
	l := tuned(t, 1)
	e := job.Begin[*Run](t, l, []byte("set: {}"))
	p := e.Problem
	if σ := value(t, l.Chosen, "process.sigma.max"); σ != p.Process.Sigma.Max || e.Process.Schedule.SigmaMax != σ {
		t.Errorf("σ_max is %v, chosen %v", p.Process.Sigma.Max, σ)
	}
	if γ := value(t, l.Chosen, "process.friction"); γ != e.Process.Friction {
		t.Errorf("γ is %v, chosen %v", e.Process.Friction, γ)
	}
	if c := value(t, l.Chosen, "network.center").([]float64); len(c) != 3 || math.Abs(c[2]-1) > 1e-12 {
		t.Errorf("the centre is %v", c)
	}
	if p.Train.Optimizer != "muon" || p.Network.Unit != value(t, l.Chosen, "network.unit") {
		t.Errorf("%+v %+v", p.Train, p.Network)
	}
	again := testkit.Must(Open(t.Context(), e.Folder.Dir, "", e.Pool, nil))
	again.Problem.Data.Path = p.Data.Path
	if len(again.Chosen) != 0 || !bytes.Equal(again.Problem.Resolved(), p.Resolved()) {
		t.Errorf("opened, it chooses %+v:\n%s", again.Chosen, again.Problem.Resolved())
	}
	fixed := tuned(t, 1, "defaults=fixed")
	was := problem.Defaults()
	if fixed.Problem.Process.Sigma != was.Process.Sigma || fixed.Problem.Network.Unit != 0 ||
		fixed.Problem.Train.Window != 0 || len(fixed.Chosen) != 1 { // the prior
		t.Errorf("fixed: %+v", fixed.Chosen)
	}
}

// What is said stays, and the rest follows from it: with a friction of 1 a path takes less time for its way.
func TestTuneKeeps(t *testing.T) {
	l := tuned(t, 1, "process.friction=1", "process.steps=30", "network.width=16", "train.window=0.2",
		"process.horizon=3")
	p := l.Problem
	if p.Process.Friction != 1 || p.Process.Steps != 30 || p.Network.Width != 16 || p.Train.Window != 0.2 ||
		p.Process.Horizon != 3 {
		t.Errorf("%+v %+v", p.Process, p.Network)
	}
	for _, c := range l.Chosen {
		if slices.Contains([]string{"process.friction", "process.steps", "network.width", "train.window",
			"process.horizon"}, c.Key) {
			t.Errorf("%s was said, and is chosen", c.Key)
		}
	}
	time := func(l *Loaded) (S float64) {
		for k := range l.Process.Schedule.N {
			S += l.Process.Schedule.Tau(k)
		}
		return S
	}
	if free := tuned(t, 1); !(time(l) < 0.7*time(free)) {
		t.Errorf("%v with friction 1, %v", time(l), time(free))
	}
}

// In a unit 2¹⁰ times smaller all lengths are 2¹⁰ times larger, and what has no unit is the same.
func TestTuneScales(t *testing.T) {
	const c = 1024
	a, b := tuned(t, 1).Problem, tuned(t, c).Problem
	close := func(name string, got, want float64) {
		testkit.Near(t, got, want, 1e-6*math.Abs(want), "%s", name)
	}
	close("σ²", b.Process.Sigma.Max*b.Process.Sigma.Max, c*a.Process.Sigma.Max*a.Process.Sigma.Max)
	close("friction", b.Process.Friction, a.Process.Friction/c)
	close("unit", b.Network.Unit, c*a.Network.Unit)
	close("window", b.Train.Window, c*a.Train.Window)
	close("wavelength", b.Network.Wavelength, c*a.Network.Wavelength)
	if a.Process.Steps != b.Process.Steps || a.Network.Octaves != b.Network.Octaves || a.Train.Batch != b.Train.Batch {
		t.Errorf("%+v and %+v", a, b)
	}
}

// The doctor looks at the process that training would choose.
func TestTuneIsChecked(t *testing.T) {
	l := tuned(t, 1)
	p := testkit.Must(problem.Load(l.Problem.Resolved(), "", "", problem.ParseSettings("defaults=auto")))
	if !p.Leaves() || p.Left("process.friction") { // a resolved file says everything
		t.Errorf("%v", p.Left("process.friction"))
	}
	text := "set: {dim: 3, equality: [{name: round, expr: \"norm(x)^2 = 2\"}, {name: flat, expr: \"x[2] = 1\"}]}\n"
	p = testkit.Must(problem.Load([]byte(text), "", "", problem.ParseSettings("data.path="+l.Problem.Data.Path)))
	r := testkit.Must(Examine(t.Context(), p, l.Pool, nil))
	keepFindings(t, r)
}

// Training and check report what could not be measured.
func TestTuneNotes(t *testing.T) {
	rows := make([][]float64, 30)
	for i := range rows {
		rows[i] = []float64{1, 0}
	}
	const text = "set: {kind: sphere, dim: 2}\n"
	l := testkit.Must(written(t, text, rows))
	told := func(s string) bool { return strings.Contains(s, "all rows are one point") }
	if !slices.ContainsFunc(l.Domain.Faults, told) {
		t.Errorf("training says %q", l.Domain.Faults)
	}
	p := testkit.Must(problem.Load([]byte(text), "", "", problem.ParseSettings("data.path="+l.Problem.Data.Path)))
	r, err := Examine(t.Context(), p, l.Pool, nil)
	if keepFindings(t, r); r == nil || !slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
		return f.Status == check.Warn && told(f.Message)
	}) {
		t.Errorf("the doctor says %+v, %v", r, err)
	}
}

// Held-out losses end a training with a budget, and one without epochs; what is said stays.
func TestTuneStops(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{nil, "held_out_loss"}, {[]string{"train.max_seconds=60"}, "held_out_loss"}, {[]string{"train.epochs=7"}, ""},
		{[]string{"train.max_seconds=60", "train.stop=epochs"}, "epochs"},
	} {
		p := testkit.Must(problem.Load([]byte("set: {kind: sphere, dim: 3}\n"), "", "",
			problem.ParseSettings(append(c.settings, "prior=empirical")...)))
		proc := testkit.Must(p.Build())
		pool := parallel.New(1)
		t.Cleanup(pool.Close)
		rows := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, 0.6, 0.8, 0}
		q, err := settle.Settle(t.Context(), settle.Case{Problem: p, Process: proc,
			Rows: &settle.Rows{All: rows, Train: rows, Learned: rows, Validation: train.FewestJudged}}, pool, nil)
		if err != nil || q.Problem.Train.Stop != c.want {
			t.Errorf("%v: train.stop is %q, want %q; %v", c.settings, q.Problem.Train.Stop, c.want, err)
		}
	}
}

// By data and set alone every method trains until held-out losses have been heard, with the keys that it takes, and
// draws samples on the set.
func TestTuneServesMethods(t *testing.T) {
	rows := make([][]float64, 200)
	for i := range rows {
		sin, cos := math.Sincos(float64(i*i%97) / 30)
		z := 0.3 * math.Sin(float64(i))
		r := math.Sqrt(1 - z*z)
		rows[i] = []float64{r * cos, r * sin, z}
	}
	for _, k := range methods.All {
		if k.Forward == nil && !k.Velocity { // of a program's own
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			start := "empirical"
			if k.Velocity { // which has one of its own
				start = "auto"
			}
			l, err := ofRows(t, "set: {kind: sphere, dim: 3}\nprocess: {method: "+k.Name+"}\n", rows,
				"train.epochs=2", "train.stop=held_out_loss", "network.width=8", "network.layers=1", "prior="+start)
			testkit.OK(t, err)
			p := l.Problem
			if p.Network.Octaves == 0 || p.Network.TimeOctaves != 4 || p.Train.Optimizer != "muon" {
				t.Errorf("nothing follows from the data: %+v %+v", p.Network, p.Train)
			}
			r := job.Begin[*Run](t, l, []byte("set: {}"))
			heard := 0
			err = r.Train(t.Context(), "", Observer{HeldOut: func(m train.Measured, fault string) {
				if heard++; m.Distance.IsNaN() {
					t.Errorf("epoch %d has no held-out loss: %s", m.Epoch, fault)
				}
			}})
			if err != nil || heard == 0 {
				t.Fatalf("heard %d losses: %v", heard, err)
			}
			of := testkit.Must(r.Trained(""))
			prior := testkit.Must(r.Prior(t.Context(), nil))
			s, err := r.Generate(t.Context(), of, prior, 20, 0, 1, nil)
			if err != nil || len(s.Good()) == 0 {
				t.Fatalf("no samples: %v", err)
			}
			if !k.Draws {
				return
			}
			_, ℓ := metric.Spread(r.TrainRows, r.Data.D)
			ℓ /= math.Sqrt(float64(directions(r)))
			for option, want := range map[string]float64{"coarse": 0.16 * ℓ, "fine": 0.045 * ℓ} {
				got, _ := value(t, l.Chosen, "process.options."+option).(float64)
				if math.Abs(got-want) > 1e-9*want || p.Process.Options[option] != got {
					t.Errorf("%s is %v, %v in the problem; want %v", option, got, p.Process.Options[option], want)
				}
			}
		})
	}
}

// Rows that are too few to hold others out end a training after one update a row, at least fifty, and the run says so;
// 200 rows have the judges. One row is refused; two and more train, draw on the set, and no law is judged.
func TestTuneFewRows(t *testing.T) {
	circle := func(n int) [][]float64 {
		rows := make([][]float64, n)
		for i := range rows {
			sin, cos := math.Sincos(float64(i*i%89) / 20)
			rows[i] = []float64{cos, sin}
		}
		return rows
	}
	const set = "prior: empirical\nset: {kind: sphere, dim: 2}\n" // which takes no test
	testkit.Refused(t, testkit.Err(ofRows(t, set, circle(1))), "it has 1 point; expected at least 2", "one row")
	for _, c := range []struct {
		rows, epochs int
		stop         string
	}{
		{2, 50, "epochs"}, {3, 50, "epochs"}, {7, 50, "epochs"}, {62, 50, "epochs"}, {64, 52, "epochs"},
		{199, 161, "epochs"}, {200, train.MostJudged, "held_out_loss"},
	} {
		l := testkit.Must(ofRows(t, set, circle(c.rows)))
		k := l.Problem.Train
		if k.Stop != c.stop || k.Epochs != c.epochs || k.Anneal != 0.5 {
			t.Errorf("%d rows: %s after %d epochs, anneal %v; want %s, %d", c.rows, k.Stop, k.Epochs, k.Anneal, c.stop,
				c.epochs)
		}
		if value(t, l.Chosen, "train.stop") != c.stop || value(t, l.Chosen, "train.epochs") != c.epochs {
			t.Errorf("%d rows: %+v", c.rows, l.Chosen)
		}
		for _, settings := range [][]string{{"train.epochs=7"}, {"train.stop=epochs"}, {"defaults=fixed"}} {
			if c.rows != 7 && c.rows != 200 {
				break
			}
			l := testkit.Must(ofRows(t, set, circle(c.rows), settings...))
			if n := l.Problem.Train.Epochs; n != 7 && n != problem.Defaults().Train.Epochs {
				t.Errorf("%d rows, %v: %d epochs", c.rows, settings, n)
			}
		}
		timed := testkit.Must(ofRows(t, set, circle(c.rows), "train.max_seconds=60", "train.epochs=0"))
		heart := func(s string) bool { return strings.Contains(s, "overfit") }
		warned := slices.ContainsFunc(timed.Domain.Faults, heart)
		if few := c.stop == "epochs"; warned != few || timed.Problem.Train.Epochs != 0 {
			t.Errorf("%d rows for a time: %+v, told %q", c.rows, timed.Problem.Train, timed.Domain.Faults)
		}
		if c.rows > 7 {
			continue
		}
		l = testkit.Must(ofRows(t, set, circle(c.rows), "network.width=8", "network.layers=1"))
		r := job.Begin[*Run](t, l, []byte("set: {}"))
		of, prior := learned(t, r)
		if of.State.Epoch != c.epochs || of.State.Updates != c.epochs {
			t.Fatalf("%d rows: %+v", c.rows, of.State)
		}
		s, err := r.Generate(t.Context(), of, prior, 30, 0, 1, nil)
		if err != nil || len(s.Good()) != 60 {
			t.Fatalf("%d rows: %v", c.rows, err)
		}
	}
}
