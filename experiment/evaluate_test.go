package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Each figure of an evaluation is that of package metric on the samples that were
// not lost, against the rows that its name says.
func TestEvaluationByParts(t *testing.T) {
	e := begin(t)
	const n = 1100 // more than a block of uniform samples
	s := &judge.Samples{X: make([]float64, 3*n), Dim: 3, Lost: make([]bool, n), Wrong: 1}
	for i := range n {
		e.Process.Set.Capabilities().SampleUniform(s.X[3*i:3*i+3], keyed.New(1, keyed.Probe, 0), uint64(i))
	}
	s.Lost[0], s.Lost[7] = true, true
	s.X[0] = 5 // lost: not seen
	good := append(append([]float64(nil), s.X[3:21]...), s.X[24:]...)
	uniform := make([]float64, len(good))
	for i := range len(good) / 3 {
		e.Process.Set.Capabilities().SampleUniform(uniform[3*i:3*i+3],
			keyed.New(e.Problem.Seed, keyed.Evaluation, 1<<33),
			uint64(i))
	}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{Epoch: 4}, nil))
	floor := func(data []float64) metric.Floor {
		return metric.NoiseFloor(e.TrainRows, 3, n-2, 20, e.Problem.Seed,
			func(y []float64) float64 { return metric.EarthJSD(y, data) })
	}
	copies := metric.CountCopies(good, e.HeldOutRows, e.TrainRows, 3)
	test := metric.EnergyTest(good, e.HeldOutRows, 3, settle.TestPoints, settle.Permutations, e.Problem.Seed)
	all := metric.EnergyTest(good, e.Data.X, 3, settle.TestPoints, settle.Permutations, e.Problem.Seed)
	mean := 0.0
	for i := 0; i < len(good); i += 3 {
		mean += math.Abs(math.Sqrt(good[i]*good[i]+good[i+1]*good[i+1]+good[i+2]*good[i+2])-1) / float64(n-2)
	}
	for name, c := range map[string][2]float64{
		"distance":            {float64(v.JSD.Full), metric.EarthJSD(good, e.Data.X)},
		"held-out distance":   {float64(v.JSD.HeldOut), metric.EarthJSD(good, e.HeldOutRows)},
		"floor":               {float64(v.JSD.Mean), float64(floor(e.Data.X).Mean)},
		"its deviation":       {float64(v.JSD.SD), float64(floor(e.Data.X).SD)},
		"held-out floor":      {float64(v.JSD.HeldOutFloor), float64(floor(e.HeldOutRows).Mean)},
		"uniform":             {float64(v.JSD.Uniform), metric.EarthJSD(uniform, e.Data.X)},
		"nearest of samples":  {float64(v.Nearest.Samples), float64(copies.Samples)},
		"nearest of held-out": {float64(v.Nearest.HeldOut), float64(copies.HeldOut)},
		"repeated":            {float64(v.Nearest.Repeated), float64(copies.Repeated)},
		"statistic":           {float64(v.TwoSample.Statistic), float64(test.Statistic)},
		"p-value":             {float64(v.TwoSample.PValue), float64(test.PValue)},
		"against all rows":    {float64(v.AllRows.Statistic), float64(all.Statistic)},
		"its p-value":         {float64(v.AllRows.PValue), float64(all.PValue)},
		"mean violation":      {float64(v.Violation.Mean), mean},
		"samples":             {float64(v.Samples), n},
		"failed":              {float64(v.Failed), 2},
		"wrong":               {float64(v.Wrong), 1},
		"epoch":               {float64(v.Epoch), 4},
	} {
		testkit.Near(t, c[0], c[1], 1e-16, "%s", name)
	}
}

// A sample's violation is its largest |h| or max(g, 0); the summary has the largest
// over components, whichever that is, and the mean over samples.
func TestViolationOfSeveral(t *testing.T) {
	box := testkit.Must(zoo.NewBox([]float64{0, 0, 0}, []float64{1, 1, 1}))
	if got := metric.MeanLargest(judge.Excess(box, []float64{0.5, 2, -0.25, 0.5, 0.5, 0.5})); got != 0.5 { // 1 and 0
		t.Errorf("mean violation %v, want 0.5", got)
	}
	simplex := testkit.Must(zoo.NewSimplex(3))
	// both the sum
	testkit.Equal(t, metric.MeanLargest(judge.Excess(simplex, []float64{0.25, 0.25, 0, 1.5, -0.25, 0.25})), 0.5,
		"mean violation")
	pool := testkit.Pool(t, 1)
	l := testkit.Must(rotations(t, pool, func([]float64) {}))
	r := &Run{Loaded: l, Folder: begin(t).Folder}
	s := &judge.Samples{X: append([]float64(nil), r.Data.X...), Dim: 9, Lost: make([]bool, 40)}
	for j := range 3 { // the first column of sample 5 is a tenth too long: 0.21 in gram[0,0], the first of six
		s.X[9*5+3*j] *= 1.1
	}
	v, err := r.Evaluate(t.Context(), s, train.State{}, nil)
	var bad *judge.ViolationError
	if !errors.As(err, &bad) || bad.Sample != 5 || math.Abs(float64(v.Violation.Worst)-0.21) > 1e-12 ||
		math.Abs(float64(v.Violation.Mean)-0.21/40) > 1e-12 {
		t.Errorf("%+v, %v", v.Violation, err)
	}
	// The bound itself is allowed, and without projection there is none.
	r.Problem.Generate.MaxViolation = float64(v.Violation.Worst)
	testkit.OK(t, testkit.Err(judge.CheckViolation(r.Process.Set, s, r.Reference().Limit())))
	r.Problem.Generate.MaxViolation = 1e-9
	if _, err := judge.CheckViolation(r.Process.Set, s, r.Reference().Limit()); err == nil {
		t.Error("a violation above the bound passes")
	}
	r.Process.NoTerminal = true
	if _, err := judge.CheckViolation(r.Process.Set, s, r.Reference().Limit()); err != nil {
		t.Errorf("without projection: %v", err)
	}
}

// Copies and the two-sample test are of points as their domain lays them: there the two hemispheres are one.
func TestLaid(t *testing.T) {
	e := begin(t)
	n := len(e.HeldOutRows) / 3
	mirrored := slices.Clone(e.TrainRows[:3*n])
	for i := range mirrored {
		mirrored[i] *= -1
	}
	s := &judge.Samples{X: mirrored, Dim: 3, Lost: make([]bool, n)}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Nearest.Copied > 0.1 || v.TwoSample.PValue > 0.01 {
		t.Fatalf("as they are: %+v, %+v, %v", v.Nearest, v.TwoSample, err)
	}
	e.Domain.Lay = func(x []float64) []float64 {
		out := slices.Clone(x)
		for i := 0; i < len(x); i += 3 {
			if x[i] < 0 {
				for j := range 3 {
					out[i+j] *= -1
				}
			}
		}
		return out
	}
	v, err = e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Nearest.Copied != 1 || v.TwoSample.PValue < 0.01 {
		t.Errorf("laid: %+v, %+v, %v", v.Nearest, v.TwoSample, err)
	}
}

// A report of samples that are all lost claims no violation.
func TestReportOfNothing(t *testing.T) {
	e := begin(t)
	s := &judge.Samples{X: make([]float64, 6), Dim: 3, Lost: []bool{true, true}}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || !math.IsNaN(float64(v.Violation.Worst)) || !math.IsNaN(float64(v.Violation.Mean)) {
		t.Fatalf("%+v, %v", v, err)
	}
	keptReport(t, e, s, v)
}

// The report gives the violation that was measured.
func TestReportOfViolation(t *testing.T) {
	e := begin(t, "process.terminal_projection=false")
	s := &judge.Samples{X: []float64{0, 0, 1, 0, 0, 1.25}, Dim: 3, Lost: make([]bool, 2)}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{}, nil))
	testkit.Contains(t, keptReport(t, e, s, v), "The worst violation of a sample is 0.25.")
}

func reportOf(t *testing.T, e *Run, s *judge.Samples, v *judge.Evaluation) string {
	t.Helper()
	path := testkit.Must(e.Report(s, v, nil))
	page := testkit.Must(os.ReadFile(path))
	return string(page)
}

var (
	drawings = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	styles   = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|base64,[^"]*|\d{4}-\d\d-\d\d[^" <,;]*`)
)

// keptReport is reportOf, and keeps what evaluation and page say, with a hash of each drawing. No network may have a
// part in it: its numbers would be those of one kernel.
func keptReport(t *testing.T, e *Run, s *judge.Samples, v *judge.Evaluation) string {
	t.Helper()
	page := reportOf(t, e, s, v)
	b := bytes.NewBuffer(testkit.Must(json.MarshalIndent(v, "", "")))
	b.WriteString(drawings.ReplaceAllStringFunc(styles.ReplaceAllString(page, ""), func(svg string) string {
		return run.Hash([]byte(svg))
	}))
	report.WriteText(b, v)
	report.WriteBrief(b, v, "page")
	testkit.KeepValue(t, b.String())
	return page
}

// keepFindings keeps what a check says, the forecast of times left out.
func keepFindings(t *testing.T, r *check.Report) {
	copied := *r
	copied.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f check.Finding) bool {
		return f.Check == "forecast"
	})
	testkit.KeepValue(t, copied)
}

// Rotations are shown by their power traces, each with its distance and floor.
func TestReportOfRotations(t *testing.T) {
	pool := testkit.Pool(t, 1)
	l := testkit.Must(rotations(t, pool, func([]float64) {}))
	e := &Run{Loaded: l, Folder: begin(t).Folder}
	s := &judge.Samples{X: slices.Clone(e.Data.X), Dim: 9, Lost: make([]bool, 40)}
	v := testkit.Must(e.Evaluate(t.Context(), s, train.State{}, nil))
	keptReport(t, e, s, v)
	for _, name := range []string{"trace-1.png", "trace-2.png", "trace-4.png", "trace-5.svg"} {
		if _, err := os.Stat(e.Folder.Path("figures/" + name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(e.Folder.Path("figures/points.png")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("three of the coordinates are drawn: %v", err)
	}
}

// Up to eight components have a column each; of more, the largest equality and the

// What did not help is not offered again: more training where held-out rows chose an earlier epoch or the run went on
// before, a width that was given no second time, and nothing after two remedies. The verdict then says what limits the
// result.
func TestRemedyAfterRemedy(t *testing.T) {
	r, older := begin(t), begin(t)
	ended := &verdict.Course{Epochs: 9, Chosen: true}
	on, wider := "go_on", "train network.width=16"
	for _, c := range []struct {
		extended int
		from     string // folder of the run whose file was trained anew
		course   *verdict.Course
		short    bool
		want     string
	}{
		{0, "", nil, false, on}, {0, "", ended, false, wider}, {1, "", nil, false, wider}, {1, "", nil, true, on},
		{0, older.Folder.Dir, nil, false, ""}, {1, older.Folder.Dir, nil, true, ""}, {2, "", nil, true, ""},
	} {
		testkit.OK(t, r.Folder.AmendManifest(func(m *run.Manifest) {
			m.Extensions, m.Command = make([]run.Extension, c.extended), []string{"landing", "train", "x.yaml"}
			if c.from != "" {
				m.Command[2] = c.from + "/" + run.ProblemFile
			}
		}))
		m := newRemedies(t.Context(), r, history{course: c.course})
		remedy, got := m.learn(c.short), ""
		if remedy != nil {
			got = string(remedy.Verb)
			if n := len(remedy.Settings); n > 0 {
				got += " " + remedy.Settings[n-1]
			}
		}
		testkit.Equal(t, got, c.want, "%+v", c)
		says := m.limits(&verdict.Verdict{Findings: []verdict.Finding{{Code: verdict.Blur, Remedy: remedy}}})
		if (says == "") != (c.want != "") || says != "" && !strings.Contains(says, "training rows limit the result") {
			t.Errorf("%+v: %q", c, says)
		}
	}
}

// A wider temporal network has more channels: with network.width it would be an MLP.
func TestWider(t *testing.T) {
	p := testkit.Must(problem.Load([]byte("network: {kind: temporal}"), "f", "", nil))
	m := &remedies{run: &Run{Loaded: &Loaded{Settled: settle.Settled{Problem: p}}}}
	_, setting := m.wider()
	testkit.Equal(t, setting, "network.options.channels=128")
	p.Network.Options = map[string]float64{"channels": 48}
	_, setting = m.wider()
	testkit.Equal(t, setting, "network.options.channels=96")
}
