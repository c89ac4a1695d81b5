package experiment

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

const circle = "name: circle\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) - 1\"}]}\nprior: empirical\n"

// around are points of the circle at multiples of an angle.
func around(n int, by float64) (rows [][]float64) {
	for i := range n {
		rows = append(rows, []float64{math.Cos(by * float64(i)), math.Sin(by * float64(i))})
	}
	return rows
}

func flat(rows [][]float64) *judge.Samples {
	return &judge.Samples{X: slices.Concat(rows...), Dim: len(rows[0]), Lost: make([]bool, len(rows))}
}

// What a problem observes is the distance of a run without a published one: each number
// by its histograms, wrapped where it is circular.
func TestObservedDistance(t *testing.T) {
	const text = circle + "observe:\n  - {name: turned, expr: \"atan2(x[1], x[0]) + 3\", circular: true, bins: 12}\n" +
		"  - {name: height, expr: \"x[1]\", range: [-0.5, 0.5], bins: 5}\n"
	l := testkit.Must(written(t, text, around(50, 0.4)))
	r := job.Begin[*Run](t, l, []byte(text))
	s := flat(around(30, 0.1))
	v := testkit.Must(r.Evaluate(t.Context(), s, train.State{}, nil))
	angle := func(x []float64) (out []float64) {
		for i := 0; i < len(x); i += 2 {
			if a := math.Atan2(x[i+1], x[i]) + 3; a >= math.Pi {
				out = append(out, a-2*math.Pi)
			} else {
				out = append(out, a)
			}
		}
		return out
	}
	turned := metric.Bins{Lo: -math.Pi, Hi: math.Pi, N: 12, Empty: 1e-6 / (2 * math.Pi)}.JSD(angle(s.X),
		angle(l.Data.X))
	clipped := func(x []float64) (out []float64) {
		for _, y := range metric.Column(x, 1, 2) {
			out = append(out, min(max(y, -0.5), 0.5))
		}
		return out
	}
	height := metric.Bins{Lo: -0.5, Hi: 0.5, N: 5, Empty: 1e-6}.JSD(clipped(s.X), clipped(l.Data.X))
	j := v.JSD
	if j == nil || len(j.Parts) != 2 || v.Observed != nil {
		t.Fatalf("%+v", v)
	}
	for k, want := range []float64{turned, height} {
		if math.Abs(float64(j.Parts[k].Full)-want) > 1e-14 || j.Parts[k].Mean <= 0 || j.Parts[k].HeldOutFloor.IsNaN() {
			t.Errorf("%s: %+v, want %v", j.Parts[k].Name, j.Parts[k], want)
		}
	}
	testkit.Near(t, float64(j.Full), (turned+height)/2, 1e-14,
		"the distance %v is not the mean of %v and %v", j.Full, turned, height)
	keptReport(t, r, s, v)
	for _, name := range []string{"observe-1-turned.png", "observe-2-height.svg", "points.png"} {
		if _, err := os.Stat(r.Folder.Path("figures/" + name)); err != nil {
			t.Error(err)
		}
	}
}

// Without observe plain points are compared by their principal components.
func TestComponentsByDefault(t *testing.T) {
	l := testkit.Must(written(t, circle, around(50, 0.4)))
	r := job.Begin[*Run](t, l, []byte(circle))
	s := flat(around(50, 0.4))
	v := testkit.Must(r.Evaluate(t.Context(), s, train.State{}, nil))
	if v.JSD == nil || len(v.JSD.Parts) != 2 || v.JSD.Full != 0 || v.JSD.Parts[1].Name != "principal component 2" ||
		v.JSD.Uniform.IsNaN() != true {
		t.Errorf("%+v", v.JSD)
	}
	keptReport(t, r, s, v)
}

// Beside a published distance what is observed changes nothing of it; where the problem
// observes nothing, it is latitude and longitude.
func TestObservedBesidePublished(t *testing.T) {
	plain, more := begin(t), begin(t, `observe=[{name: height, expr: "x[2]"}]`)
	s := &judge.Samples{X: plain.Data.X[:300], Dim: 3, Lost: make([]bool, 100)}
	var got [2]*judge.Evaluation
	for i, r := range []*Run{plain, more} {
		v := testkit.Must(r.Evaluate(t.Context(), s, train.State{}, nil))
		got[i] = v
	}
	a, b := got[0], got[1]
	if a.Observed == nil || b.Observed == nil || len(b.Observed.Parts) != 1 || a.JSD.Full != b.JSD.Full ||
		a.JSD.Floor != b.JSD.Floor || b.Observed.Full != b.Observed.Parts[0].Full {
		t.Errorf("%+v\n%+v", a, b)
	}
	if p := a.Observed.Parts; len(p) != 2 || p[0].Name != "latitude" || p[1].Name != "longitude" ||
		p[1].Histogram == nil || a.JSD.Parts != nil {
		t.Errorf("%+v", a.Observed)
	}
	keptReport(t, more, s, b)
}

// Evaluations change nothing of what is trained, nor of what is trained after a stop in
// one, and are recorded with each number.
func TestEvaluationsLeaveTrainingAlone(t *testing.T) {
	weights := func(text string, settings ...string) []float32 {
		l := testkit.Must(written(t, text, around(50, 0.4)))
		for _, s := range settings {
			if s == "evaluate" {
				l.Problem.Train.EvaluateEvery = 1
			}
		}
		r := job.Begin[*Run](t, l, []byte(text))
		if slices.Contains(settings, "stop") {
			ctx, cancel := context.WithCancel(context.Background())
			err := r.Train(ctx, "", Observer{Evaluation: func(judge.Progress) { cancel() }})
			if !train.Interrupted(err) {
				t.Fatalf("got %v", err)
			}
		}
		testkit.OK(t, r.Train(context.Background(), "", Observer{}))
		records := testkit.Must(r.Folder.Metrics())
		if evaluations := run.Decode[judge.Progress](records, "evaluation"); len(settings) > 0 {
			if len(evaluations) != 2 || len(evaluations[1].Observables) != 2 || evaluations[1].JSD.IsNaN() {
				t.Errorf("%+v", evaluations)
			}
		}
		trained := testkit.Must(r.Trained(""))
		return trained.Model.Parameters()
	}
	want := weights(circle)
	const each = "observe: [{name: \"x[j]\", for: \"j in 0..1\", expr: \"x[j]\"}]\n"
	if !slices.Equal(weights(circle, "evaluate"), want) || !slices.Equal(weights(circle, "evaluate", "stop"), want) ||
		!slices.Equal(weights(circle+each, "evaluate"), want) {
		t.Error("evaluations change the weights")
	}
}

// A number that the data gives no value is refused by its name.
func TestObservableWithoutValue(t *testing.T) {
	_, err := written(t, circle+"observe: [{name: root, expr: \"sqrt(x[0] - 5)\"}]\n", around(50, 0.4))
	if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), `"root" is finite at no row`) {
		t.Errorf("got %v", err)
	}
}

// Parts of a published distance that compares observables have their histograms too, and the page shows each once.
func TestHistogramsOfAPublishedDistance(t *testing.T) {
	const text = "name: r\ndata: {kind: points}\nset: {kind: special_orthogonal, n: 3}\n"
	rotations := func(n int, by float64) (rows [][]float64) {
		for i := range n {
			c, s := math.Cos(by*float64(i)), math.Sin(by*float64(i))
			rows = append(rows, []float64{c, -s, 0, s, c, 0, 0, 0, 1})
		}
		return rows
	}
	l := testkit.Must(written(t, text, rotations(50, 0.4)))
	r := job.Begin[*Run](t, l, []byte(text))
	s := flat(rotations(30, 0.1))
	v := testkit.Must(r.Evaluate(t.Context(), s, train.State{}, nil))
	if v.JSD == nil || len(v.JSD.Parts) != 4 {
		t.Fatalf("%+v", v.JSD)
	}
	h := v.JSD.Parts[0].Histogram // of the trace, 1 + 2 cos
	if h == nil {
		t.Fatal("no histogram")
	}
	want := make([]float64, len(h.Samples))
	for i := range 30 {
		at := int((1 + 2*math.Cos(0.1*float64(i)) - h.Lo) / (h.Hi - h.Lo) * float64(len(want)))
		want[min(at, len(want)-1)] += 1. / 30
	}
	for k, share := range want {
		testkit.Near(t, h.Samples[k], share, 1e-12, "bin %d", k)
	}
	title := "<h2>" + v.JSD.Parts[0].Name + "</h2>"
	testkit.Equal(t, strings.Count(keptReport(t, r, s, v), title), 1, "%s", title)
}
