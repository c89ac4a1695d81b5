package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// affine is the score s = A x + B p, whose Jacobians are A and B.
type affine struct{ a, b [4]float64 }

func (s affine) Eval(dst, x, p []float64, n int, _ float64) {
	for i := range n {
		for j := range 2 {
			dst[2*i+j] = s.a[2*j]*x[2*i] + s.a[2*j+1]*x[2*i+1] + s.b[2*j]*p[2*i] + s.b[2*j+1]*p[2*i+1]
		}
	}
}

// The norm is that of A without momentum and of B with it. The probe changes neither the score nor its arguments.
func TestProbe(t *testing.T) {
	s := affine{[4]float64{1, -2, 0.5, 4}, [4]float64{0, 3, -6, 2}}
	x, p := []float64{0.3, -1, 2, 0.7, 5, 5}, []float64{1, 1, -0.2, 0.4, 0, 0}
	for _, c := range []struct {
		momentum bool
		want     float64
	}{{false, math.Sqrt(1 + 4 + 0.25 + 16)}, {true, math.Sqrt(9 + 36 + 4)}} {
		q := &probe{Score: s, d: 2, momentum: c.momentum, at: map[float64]*moment{}, a: make([]float64, 6),
			b: make([]float64, 6)}
		got, plain := make([]float64, 6), make([]float64, 6)
		xs, ps := append([]float64{}, x...), append([]float64{}, p...)
		q.Eval(got, xs, ps, 3, 0.5)
		q.Eval(got, xs, ps, 2, 0.5)
		s.Eval(plain, x, p, 3, 0.5)
		for i := range got {
			if got[i] != plain[i] || xs[i] != x[i] || ps[i] != p[i] {
				t.Fatalf("number %d: score %v, want %v; at %v, %v", i, got[i], plain[i], xs[i], ps[i])
			}
		}
		m := q.at[0.5]
		if norm := math.Sqrt(m.sum / float64(m.n)); m.n != 5 || math.Abs(norm-c.want) > 1e-9 {
			t.Errorf("momentum %v: %v of %d rows, want %v", c.momentum, norm, m.n, c.want)
		}
	}
}

// Failed paths are counted once for each refresh, of epochs that repeat the count.
func TestFailedPaths(t *testing.T) {
	var records []run.Record
	for epoch, failed := range []int{3, 3, 3, 0, 0, 0, 5} {
		data := fmt.Sprintf(`{"epoch": %d, "failed": %d}`, epoch+1, failed)
		records = append(records, run.Record{Kind: "epoch", Data: json.RawMessage(data)},
			run.Record{Kind: "evaluation", Data: json.RawMessage(`{"epoch": 1, "failed": 100}`)})
	}
	if failed, refreshes := failedPaths(records, 3); failed != 8 || refreshes != 3 {
		t.Errorf("%d failed in %d refreshes; want 8 in 3", failed, refreshes)
	}
}

// Violations are sums over constraints and means over points: the unit sphere in R³ and walls at ±0.5.
func TestViolations(t *testing.T) {
	wall := testkit.Must(zoo.NewBox([]float64{-0.5, -0.5, -0.5}, []float64{0.5, 0.5, 0.5}))
	ball := zoo.Sphere{D: 3}
	set := constraint.All(ball, wall)
	x := []float64{1, 0, 0, 0, 2, 1, 0.1, -0.1, 0}
	e, values := set.NewEvaluator(1), make([]float64, len(constraint.Components(set)))
	var abs, square float64
	for i := range 3 {
		e.Values(values, x[3*i:3*i+3], 1)
		abs, square = abs+math.Abs(values[0])/3, square+values[0]*values[0]/3
	}
	f := map[string]float64{}
	violations(f, set, x)
	// Beyond the walls are 0.5; 1.5 and 0.5; nothing.
	testkit.Near(t, f["g⁺"], 2.5/3, 1e-15, "g⁺")
	if math.Abs(f["|h|"]-abs) > 1e-15 || math.Abs(f["Σh²"]-square) > 1e-14 || abs < 0.1 ||
		math.Abs(square-abs*abs) < 0.1 {
		t.Errorf("|h| is %v, want %v; Σh² %v, want %v", f["|h|"], abs, f["Σh²"], square)
	}
	f = map[string]float64{}
	violations(f, ball, x)
	if _, ok := f["g⁺"]; ok {
		t.Error("a set without inequalities has a figure of them")
	}
}

// Cells of one training train once and have figures and pictures by their measures; one that fails has its reason.
func TestMeasures(t *testing.T) {
	file := testkit.Must(Parse([]byte(`{problems: [demo], methods: [{name: ULLA, method: ULLA, draws: [
		{name: own, set: {}}, {name: short, set: {process.steps: 9}, measure: jacobian},
		{name: timed, set: {}, measure: processor-time},
		{name: none, set: {process.method: MALA}}]}], seeds: [2], report: true, measure: paper,
		set: {process.steps: 20, network: {width: 8, layers: 1}, train: {epochs: 2, times_per_path: 2}}}`), "p.yaml"))
	p := testkit.Must(file.Plan(Options{}))
	trained := 0
	by := Runner{Dir: t.TempDir(), Pool: testkit.Pool(t, 2), Observer: Observer{Train: experiment.Observer{
		Epoch: func(train.Epoch) { trained++ }}}}
	out := testkit.Must(p.Run(t.Context(), by))
	entries := out.Entries()
	if len(entries) != 4 || trained != 2 {
		t.Fatalf("%d rows, %d epochs", len(entries), trained)
	}
	distance := map[string]float64{}
	for _, e := range entries {
		_, jacobian := e.Figures["‖∇s‖ at Δt"]
		_, ms := e.Figures["ms"]
		if e.Row.Seed != 2 || jacobian != (e.Row.Draw == "short") || ms != (e.Row.Draw == "timed") {
			t.Errorf("%s: its figures are %v", e.Row.Draw, e.Figures)
		}
		switch e.Row.Draw {
		case "none":
			if !strings.Contains(e.Row.Failure, `process.method is "MALA"`) || e.Figures != nil {
				t.Errorf("failed: %q, figures %v", e.Row.Failure, e.Figures)
			}
		case "own", "short":
			if e.Row.Failure != "" || len(e.Row.Config) != 64 || e.Row.Epochs != 2 || e.Figures["|h|"] > 1e-12 ||
				float64(e.Row.Network) != map[string]float64{"own": 20, "short": 9}[e.Row.Draw] {
				t.Errorf("%s: %+v", e.Row.Draw, e)
			}
			distance[e.Row.Draw] = float64(e.Row.Distance.Full)
			if len(compare.Figures(e.Folder, e.Drawn)) == 0 {
				t.Errorf("%s: no pictures in %s", e.Row.Draw, e.Folder)
			}
		}
	}
	if distance["own"] <= 0 || distance["own"] == distance["short"] {
		t.Errorf("distances are %v", distance)
	}
}

// The time that is left is that of the cells that ended, for each one that is open; where none has ended the budgets
// of their trainings in seconds, else it is not known.
func TestTimeLeft(t *testing.T) {
	s := &session{plan: &Plan{}}
	training := 0
	add := func(b Budget, state work.State, seconds float64) {
		training++
		s.mine = append(s.mine, len(s.state))
		s.plan.Cells = append(s.plan.Cells, &Cell{Budget: b, Training: fmt.Sprint(training)})
		s.state = append(s.state, CellStatus{State: state,
			Entry: &compare.Entry{Cost: compare.Cost{Cell: metric.Float(seconds)}}})
	}
	add(Budget{Seconds: 90}, work.Waiting, 0)
	add(Budget{Seconds: 60}, work.Begun, 0)
	training-- // the next cell shares it
	add(Budget{Seconds: 60}, work.Waiting, 0)
	testkit.Equal(t, s.secondsLeft(), 150)
	add(Budget{Epochs: 5}, work.Waiting, 0)
	if got := s.secondsLeft(); !got.IsNaN() {
		t.Errorf("without a clock it is %v", got)
	}
	add(Budget{Epochs: 5}, work.Done, 10)
	add(Budget{Epochs: 5}, work.Done, 30)
	add(Budget{Epochs: 5}, work.Failed, 0)
	testkit.Equal(t, s.secondsLeft(), 80)
	if p := s.progress(1); p.Failed != 1 || p.Cell != 2 || p.Of != 7 || p.Left != 80 {
		t.Errorf("%+v", p)
	}
}
