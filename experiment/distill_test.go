package experiment

import (
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
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// small are the keys of a student that trains in a moment.
var small = []string{"train.epochs=3", "train.batch=8", "network.width=8", "network.layers=2", "network.octaves=0",
	"network.octaves_of=point", "train.precision=float32"}

// lesson is what a run teaches a small student.
func lesson(t *testing.T, r *Run, s Student) *Lesson {
	t.Helper()
	s.Settings = append(slices.Clone(small), s.Settings...)
	l := testkit.Must(Teach(context.Background(), r, s, "", nil))
	t.Cleanup(l.Remove)
	return l
}

// enrol begins the run of a student.
func enrol(t *testing.T, l *Lesson, r *Run) *Run {
	t.Helper()
	loaded := testkit.Must(Load(t.Context(), l.Problem, r.Pool, nil))
	return job.Begin[*Run](t, loaded, l.Problem.Resolved())
}

// A student learns only the samples that its teacher draws. It makes samples on Σ in each requested number of
// evaluations. Training can resume from the folder alone.
func TestDistill(t *testing.T) {
	wholeDemo(t)
	r, teacher := trainedRun(t)
	l := lesson(t, r, Student{Steps: []int{4, 1}, Samples: 60})
	if p := l.Problem; p.Process.Method != "few-ULLA" || p.Generate.Evaluations != 4 ||
		p.Process.Options["levels"] != 3 || p.Name != "demo-few" {
		t.Errorf("the student's problem is %s, %s, %v, %d evaluations", p.Name, p.Process.Method, p.Process.Options,
			p.Generate.Evaluations)
	}
	prior := testkit.Must(r.Prior(context.Background(), nil))
	from := l.Teacher
	again := testkit.Must(r.Generate(context.Background(), teacher, prior, from.Samples, from.First, from.Seed, nil))
	if from.Samples != 60 || from.Each != 50 || from.Method != "ULLA" || from.Config != r.Config ||
		from.Checkpoint != run.CheckpointName(teacher.State.Updates) || len(from.Weights) != 64 {
		t.Errorf("taught by %+v", from)
	}
	if o := lesson(t, r, Student{Steps: []int{9}, Samples: 20}).Problem.Process.Options; o["levels"] != 8 ||
		math.Abs(o["fine"]/o["coarse"]-0.12) > 1e-3 {
		t.Errorf("in 9 evaluations: %v", o)
	}
	student := enrol(t, l, r)
	testkit.EqualSlices(t, student.Learned, again.Good(), "the student learns other points than its teacher draws")
	testkit.EqualSlices(t, student.TrainRows, r.TrainRows, "the student is judged by other rows")
	l.Remove()
	testkit.OK(t, student.Train(context.Background(), "", Observer{}))
	student.Folder.Unlock()
	opened := testkit.Must(Open(t.Context(), student.Folder.Dir, "", r.Pool, nil))
	model := testkit.Must(opened.Trained(""))
	const n = 50
	for evaluations := 1; evaluations <= 4; evaluations++ {
		setting := "generate.evaluations=" + string('0'+rune(evaluations))
		q := testkit.Must(opened.Redraw(t.Context(), problem.ParseSettings(setting)))
		s, err := drawn(t, q, model, n)
		if err != nil || s.Failed() != 0 {
			t.Fatalf("%v, %d failed", err, s.Failed())
		}
		if s.Evaluated != int64(n*evaluations) {
			t.Errorf("%d evaluations a sample: the network saw %d rows of %d samples", evaluations, s.Evaluated, n)
		}
		for i := range n {
			if v := constraint.Values(q.Process.Set, s.X[3*i:3*i+3])[0]; !(math.Abs(v) <= 1e-12) {
				t.Fatalf("sample %d has h = %.3g", i, v)
			}
		}
		if s2, _ := drawn(t, q, model, 7); !slices.Equal(s2.X, s.X[:21]) {
			t.Error("the first samples depend on how many are asked for")
		}
	}
	for setting, key := range map[string]string{
		"generate.evaluations=5": "generate.evaluations", "process.steps=40": "process.steps",
	} {
		var e *problem.KeyError
		if _, err := opened.Redraw(t.Context(), problem.ParseSettings(setting)); !errors.As(err, &e) ||
			e.Key != key {
			t.Errorf("%s: %v", setting, err)
		}
	}
	var e *problem.KeyError
	if _, err := r.Redraw(t.Context(), problem.ParseSettings("generate.evaluations=2")); !errors.As(err, &e) ||
		e.Key != "generate.evaluations" {
		t.Errorf("the teacher in 2 evaluations: %v", err)
	}
}

// A student of a run with a condition learns samples under the conditions of the training rows, and draws under any
// others: on their Σ(c), and with their bits.
func TestDistillUnderCondition(t *testing.T) {
	r := job.Begin[*Run](t, testkit.Must(written(t, disc+"train: {window: 0.2}\n", discs(150))), []byte(disc))
	learned(t, r)
	student := enrol(t, lesson(t, r, Student{Steps: []int{2}, Samples: 200}), r)
	rows, taught := r.Condition.Of(r.TrainRows), r.Condition.Of(student.Learned)
	at := lessons % (len(rows) / 2) * 2 // of the first sample
	testkit.EqualSlices(t, taught[:len(rows)], slices.Concat(rows[at:], rows[:at]), "it learns under other conditions")
	net, prior := learned(t, student)
	given := []float64{1.234, 0.5, 1.9, 1.77}
	s, err := student.Generate(t.Context(), net, prior.Under(given, 30), 60, 0, 5, nil)
	if testkit.OK(t, err); s.Failed() > 0 || s.Evaluated != 2*60 {
		t.Errorf("%d failed, %d rows evaluated", s.Failed(), s.Evaluated)
	}
	for i := range s.N() {
		testkit.EqualSlices(t, s.X[i*5+3:i*5+5], given[i/30*2:i/30*2+2], "sample ", i)
	}
	if v := judge.Largest(judge.Violations(student.Process.Set, s.X)); v.Worst > 1e-12 {
		t.Errorf("%q is violated by %v", v.Component, v.Worst)
	}
	if c := student.Problem.Condition; c.Drop != 0 {
		t.Errorf("the student hides %v of the conditions", c.Drop)
	}
}

// A student of a network with a Gaussian score has none.
func TestStudentOfGaussian(t *testing.T) {
	r := begin(t, "network.kind=gaussian", "train.epochs=1")
	learned(t, r)
	testkit.Equal(t, lesson(t, r, Student{Steps: []int{2}, Samples: 20}).Problem.Network.Kind, "mlp")
}

// A student that is interrupted and goes on in another process ends with the weights of one that is not.
func TestDistillResumes(t *testing.T) {
	r, _ := trainedRun(t)
	l := lesson(t, r, Student{Samples: 60})
	whole := enrol(t, l, r)
	testkit.OK(t, whole.Train(context.Background(), "", Observer{}))
	parts := enrol(t, l, r)
	ctx, stop := context.WithCancel(context.Background())
	err := parts.Train(ctx, "", Observer{Checkpoint: func(int) { stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v; want an interruption", err)
	}
	parts.Folder.Unlock()
	parts = testkit.Must(Open(t.Context(), parts.Folder.Dir, "", r.Pool, nil))
	testkit.OK(t, parts.Train(context.Background(), "", Observer{}))
	var weights [2][]float32
	for i, r := range []*Run{whole, parts} {
		m := testkit.Must(r.Trained(""))
		weights[i] = m.Model.Parameters()
	}
	testkit.EqualSlices(t, weights[0], weights[1], "the weights are others")
}

// Runs that cannot be distilled say why, before anything is drawn.
func TestNoStudent(t *testing.T) {
	r, _ := trainedRun(t)
	other := *r
	student := enrol(t, lesson(t, r, Student{Samples: 20}), r)
	m := *r.Loaded
	p := *r.Problem
	p.Process.Method = "denoising"
	m.Problem = &p
	other.Loaded = &m
	for name, r := range map[string]*Run{"student": student, "method": &other} {
		testkit.Refused(t, testkit.Err(Teach(context.Background(), r, Student{}, "", nil)),
			" cannot be distilled: ", name)
	}
	if _, err := Teach(context.Background(), begin(t), Student{}, "", nil); err == nil {
		t.Error("a run without a checkpoint has a student")
	}
	var e *problem.KeyError
	_, err := Teach(context.Background(), r, Student{Samples: 20, Settings: []string{"train.window=0.1"}}, "", nil)
	if !errors.As(err, &e) || e.Key != "train.window" {
		t.Errorf("a student with windows: %v", err)
	}
}

// Rows of data.train must be points of Σ.
func TestTaughtRows(t *testing.T) {
	for name, a := range map[string]arrayfile.Array{
		"off Σ":             {Shape: []int{2, 3}, Float64: []float64{1, 0, 0, 2, 0, 0}},
		"another dimension": {Shape: []int{2, 2}, Float64: []float64{1, 0, 0, 1}},
	} {
		path := filepath.Join(t.TempDir(), "rows.npy")
		f := testkit.Must(os.Create(path))
		testkit.OK(t, arrayfile.EncodeNPY(f, a))
		f.Close()
		data, origin, err := problem.Source("demo")
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(data, origin, "fixed", problem.ParseSettings("data.train="+path)))
		if _, err := Load(t.Context(), p, begin(t).Pool, nil); fault.KindOf(err) != fault.Data ||
			fault.Of(err).File != path {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In many directions, where states of fine levels tell which sample they are of, validation rows end a student's
// training; in few it has all of its updates.
func TestStudentOfManyDirections(t *testing.T) {
	for dim, want := range map[int]string{3: "epochs", 7: "epochs", 8: "held_out_loss"} {
		rows := make([][]float64, 40)
		for i := range rows {
			rows[i] = make([]float64, dim)
			rows[i][i%dim] = 1
		}
		l := testkit.Must(ofRows(t, fmt.Sprintf("name: s\nset: {kind: sphere, dim: %d}\n", dim), rows, "train.epochs=1",
			"network.width=8", "network.layers=1"))
		r := job.Begin[*Run](t, l, l.Problem.Resolved())
		stop := ""
		for _, key := range (Student{Steps: []int{4}, Samples: 1000}).keys(r, "rows.npy") {
			if v, ok := strings.CutPrefix(key, "train.stop="); ok {
				stop = v
			}
		}
		if stop != want {
			t.Errorf("%d directions: train.stop=%s, want %s", dim-1, stop, want)
		}
	}
}

// A student is good within one and a half of its teacher's distance, with no more failures and violation; else
// there are words, and a remedy that trains three times as long.
func TestDistilledVerdict(t *testing.T) {
	teacher := Counted{Evaluations: 50, Distance: 0.1, Ratio: 1, Violation: 1e-13}
	good := Counted{Evaluations: 4, Distance: 0.15, Ratio: 1.5, Violation: 1e-12}
	with := func(change func(*Counted)) Counted {
		c := good
		change(&c)
		return c
	}
	epochs, clock := &problem.Problem{}, &problem.Problem{}
	epochs.Train.Epochs, clock.Train.MaxSeconds = 20, 30.5
	epochs.Generate.MaxViolation, clock.Generate.MaxViolation = 1e-9, 1e-9
	longer := fmt.Sprint(verdict.GoOn, "s", []string{"train.epochs=60"}, 0)
	for name, c := range map[string]struct {
		of            Counted
		p             *problem.Problem
		words, remedy string
	}{
		"good": {good, epochs, "1.50 times", ""},
		"far":  {with(func(c *Counted) { c.Ratio = 1.51 }), epochs, "training may bring", longer},
		"clock": {with(func(c *Counted) { c.Ratio = 2 }), clock, "2.00 times",
			fmt.Sprint(verdict.GoOn, "s", []string(nil), 61)},
		"fails": {with(func(c *Counted) { c.Failed = 1 }), epochs, "1 failed", longer},
		"off":   {with(func(c *Counted) { c.Violation = 2e-9 }), epochs, "violate", longer},
		"fewer": {with(func(c *Counted) { c.Ratio = 2 }), epochs, "take 2, whose samples are 1.25 times",
			fmt.Sprint(verdict.Generate, "s", []string{"generate.evaluations=2"}, 0)},
		"ended": {with(func(c *Counted) { c.Ratio = 2 }), epochs, "shorter training may",
			fmt.Sprint(verdict.Distill, "r", []string{"train.stop=epochs", "train.epochs=14"}, 0)},
		"none": {with(func(c *Counted) { c.Ratio = metric.NaN }), epochs, "no distance",
			fmt.Sprint(verdict.Evaluate, "s", []string(nil), 0)},
	} {
		d := StudentReport{Of: teacher, Samples: []Counted{c.of}}
		switch name { // those that are no better, and are not named: of a failure, too far
		case "fewer":
			d.Samples = append(d.Samples, with(func(c *Counted) { c.Evaluations, c.Ratio = 2, 1.25 }),
				with(func(c *Counted) { c.Evaluations, c.Ratio, c.Failed = 1, 1.125, 1 }))
		case "far":
			d.Samples = append(d.Samples, with(func(c *Counted) { c.Evaluations, c.Ratio = 2, 1.505 }))
		}
		d.judge(c.p, "s", "r", 28, name == "ended")
		command := ""
		if d.Remedy != nil {
			command = fmt.Sprint(d.Remedy.Verb, d.Remedy.Run, d.Remedy.Settings, d.Remedy.Seconds)
		}
		if d.Good != (name == "good") || !strings.Contains(d.Verdict, c.words) ||
			command != c.remedy {
			t.Errorf("%s: good %v, %q, %q", name, d.Good, d.Verdict, command)
		}
	}
}
