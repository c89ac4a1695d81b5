package experiment

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const capProblem = `name: cap
set: {kind: cap, axis: [0, 0, 1], height: 0.2}
process: {steps: 20, friction: 5, walls: paper, sigma: {min: 0.1, max: 1}}
network: {width: 8, layers: 1}
train: {epochs: 1}
prior: uniform
sample: {method: ULLA, step: 0.1, chains: 8, burn: 200, draws: 400, thin: 5}
`

// capRun loads the cap with uniform data.
func capRun(t *testing.T, settings ...string) *Loaded {
	t.Helper()
	x := capDraws(1000)
	rows := make([][]float64, 0, 1000)
	for i := 0; i < len(x); i += 3 {
		rows = append(rows, x[i:i+3])
	}
	return testkit.Must(ofRows(t, capProblem, rows, append(settings, "defaults=fixed")...))
}

// capDraws are uniform on the cap: its height is.
func capDraws(n int) []float64 {
	out := make([]float64, 0, 3*n)
	u := make([]float64, 2)
	for i := range n {
		keyed.New(2, keyed.Probe, 9).Uniforms(u, uint64(i), 0)
		z := 0.2 + 0.8*u[0]
		r, a := math.Sqrt(1-z*z), 2*math.Pi*u[1]
		out = append(out, r*math.Cos(a), r*math.Sin(a), z)
	}
	return out
}

// Rows on the edges of walls give a warning, with the share on the first wall and the number of other walls.
func TestOnEdges(t *testing.T) {
	set := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{9, 9}))
	for _, c := range []struct {
		onX, onY int
		want     string
	}{
		{0, 0, ""},
		{30, 0, `30.0 % of the rows lie exactly on the edge of "lower[0]": `},
		{10, 30, `30.0 % of the rows lie exactly on the edge of "lower[1]", and rows on those of 1 more: `},
	} {
		data := &dataset.Points{N: 100, D: 2}
		for i := range 100 {
			row := []float64{0.01 * float64(i+1), 0.02 * float64(i+1)}
			if i < c.onX {
				row[0] = 0
			} else if i < c.onX+c.onY {
				row[1] = 0
			}
			data.X = append(data.X, row...)
		}
		if got := onEdges(set, data); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d and %d rows: %q, want %q", c.onX, c.onY, got, c.want)
		}
	}
}

// What nobody wrote is auto with walls that repel, and stays 0 elsewhere; a number that is written stays.
func TestRepulsionIsAuto(t *testing.T) {
	if l := capRun(t); l.Process.Repulsion <= 0 || len(l.Chosen) != 1 || l.Chosen[0].Key != "process.repulsion" {
		t.Errorf("ε = %v, chosen %v; want a number above 0, chosen", l.Process.Repulsion, l.Chosen)
	}
	if l := capRun(t, "process.walls=elastic"); l.Process.Repulsion != 0 || len(l.Chosen) != 0 {
		t.Errorf("elastic: ε = %v, chosen %v", l.Process.Repulsion, l.Chosen)
	}
	for _, ε := range []float64{0, 0.01} {
		l := capRun(t, "process.repulsion="+fmt.Sprint(ε))
		if l.Process.Repulsion != ε || len(l.Chosen) != 0 {
			t.Errorf("ε = %v, chosen %v; want %v as written", l.Process.Repulsion, l.Chosen, ε)
		}
	}
}

// Samples with 14.5 % on the rim give a warning with a remedy; samples of the data's own law do not. By Fisher's test
// at 1e-3 the latter is a false alarm with odds below 1e-3; the shares are exact.
func TestWallsOfSamples(t *testing.T) {
	stuck := func(l *Loaded, share int) []judge.Wall {
		x := append([]float64(nil), l.Data.X...)
		for i := range share {
			row := x[3*i : 3*i+3]
			r := math.Hypot(row[0], row[1])
			row[0], row[1], row[2] = row[0]/r*math.Sqrt(0.96), row[1]/r*math.Sqrt(0.96), 0.2
		}
		return l.Reference().Walls(x)
	}
	l := capRun(t, "process.repulsion=0")
	w := stuck(l, 0)
	if len(w) != 1 || w[0].Warning != "" || w[0].PValue < 0.999999 || w[0].Judged() != "alike" {
		t.Fatalf("the data itself: %+v", w)
	}
	// A step of the last step of generation: τ_0 of an underdamped method, times ‖Π∇g‖ = √(1 − 0.2²) at the rim.
	if want := l.Process.BackTau(0) * math.Sqrt(0.96); math.Abs(float64(w[0].Step)-want) > 0.01*want {
		t.Errorf("a step is %v, want %v", w[0].Step, want)
	}
	w = stuck(l, 145)
	if s := float64(w[0].Samples); s < 0.145 || s > 0.16 ||
		!strings.Contains(w[0].Warning, "stick") || !strings.Contains(w[0].Warning, "--set process.repulsion=auto") {
		t.Errorf("145 of 1000 on the rim: %+v", w[0])
	}
	if w = stuck(capRun(t, "process.repulsion=0.01"), 145); strings.Contains(w[0].Warning, "repulsion=auto") {
		t.Errorf("auto is no cure where ε is above 0: %v", w[0].Warning)
	}
	if w = stuck(capRun(t, "process.walls=elastic"), 145); strings.Contains(w[0].Warning, "repulsion") ||
		!strings.Contains(w[0].Warning, "longer training") {
		t.Errorf("elastic: %v", w[0].Warning)
	}
}

// ULLA without repulsion puts every draw on the rim of a cap, where E z is 0.6: the
// draws are warned of. The splitting is not held against itself.
func TestWallsOfChains(t *testing.T) {
	pool := testkit.Pool(t, 2)
	run := func(settings ...string) *SampleReport {
		p := testkit.Must(problem.Load([]byte(capProblem), "cap.yaml", "", problem.ParseSettings(settings...)))
		return testkit.Must(Sample(context.Background(), p, pool, nil))
	}
	r := run("process.repulsion=0")
	if z := float64(r.Coordinates[2].Mean); math.Abs(z-0.2) > 0.01 {
		t.Errorf("E z = %v without repulsion: the fault is gone, and so is the need for this test", z)
	}
	w := r.Walls[0]
	if w.Samples < 0.99 || w.Reference > 0.2 || !strings.Contains(w.Warning, "process.repulsion=auto") {
		t.Errorf("all draws lie on the rim: %+v", w)
	}
	r = run()
	if z := float64(r.Coordinates[2].Mean); math.Abs(z-0.6) > 0.06 {
		t.Errorf("E z = %v by default, want 0.6 to within ULLA's error", z)
	}
	r = run("process.walls=elastic")
	if z := float64(r.Coordinates[2].Mean); math.Abs(z-0.6) > 0.03 || r.Walls[0].Warning != "" {
		t.Errorf("E z = %v with elastic walls, want 0.6: %v", z, r.Walls[0])
	}
	r = run("sample.method=splitting")
	if w := r.Walls[0]; w.Warning != "" || !w.Reference.IsNaN() || math.Abs(float64(w.Samples)-0.12) > 0.03 {
		t.Errorf("the splitting: %+v", w)
	}
}
