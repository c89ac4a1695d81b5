package experiment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A scaled problem is one that can be written in any unit. Of its texts <v^p> is the number v·cᵖ where lengths
// are c times as large.
type scaled struct {
	set  string
	keys []string
	rows func(i int) []float64
	// sigma and horizon make τ = σ²Δt, the length of a step of ULLA, or τ = σ√Δt, that of one of OLLA.
	sigma, horizon string
	projected      bool // by Newton's method at each step, which ends where it is near enough
	silent         bool // all that is a length follows from the rows
	both           bool // in a smaller and a larger unit; of others only with LANDING_LONG=all
}

// in writes a text in a unit.
func in(text string, c float64) string {
	for {
		from := strings.IndexByte(text, '<')
		if from < 0 {
			return text
		}
		to := from + strings.IndexByte(text[from:], '>')
		var v, power float64
		if n, _ := fmt.Sscanf(text[from+1:to], "%g^%g", &v, &power); n != 2 {
			panic(text[from:to])
		}
		text = fmt.Sprintf("%s%v%s", text[:from], v*math.Pow(c, power), text[to+1:])
	}
}

// onTorus is row i of points on a torus, onHalf on the half of it with x[0] ≥ 0.
func onTorus(i int) []float64 {
	θ, φ := 0.7*float64(i), math.Sin(float64(i))
	ρ := 2 + 0.5*math.Cos(φ)
	return []float64{ρ * math.Cos(θ), ρ * math.Sin(θ), 0.5 * math.Sin(φ)}
}

func onHalf(i int) []float64 {
	x := onTorus(i)
	x[0] = math.Abs(x[0])
	return x
}

// What a problem of another unit learns and draws is that unit's: with keys that are lengths in it too, or silent,
// the network's parameters have the same bits, and samples are the same but for where Newton's method ends and the
// round-off of h, which are no power of two; they keep their constraints, and none is a copy because it is small.
func TestAnotherUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings: seconds, and minutes under the race detector")
	}
	const (
		torus = "{kind: torus, major: <2^1>, minor: <0.5^1>}"
		half  = `{dim: 3, equality: [{name: h, expr: "(norm(x[0:2]) - <2^1>)^2 + x[2]^2 = <0.25^2>"}], ` +
			`inequality: [{name: g, expr: "x[0] >= 0"}]}`
		under, over = "{min: <0.1^0.5>, max: <1^0.5>}", "{min: <0.1^1>, max: <1^1>}"
	)
	for name, c := range map[string]scaled{
		"torus":      {set: torus, rows: onTorus, sigma: under, horizon: "1", both: true},
		"by horizon": {set: torus, rows: onTorus, sigma: "{min: 0.1, max: 1}", horizon: "<1^1>"},
		"explicit": {set: torus, keys: []string{"process.landing={mode: explicit, rate: <3^-1>}"}, rows: onTorus,
			sigma: under, horizon: "1"},
		"projected": {set: torus, keys: []string{"process.method=ULLA-P"}, rows: onTorus, sigma: under, horizon: "1",
			projected: true},
		"overdamped": {set: torus, keys: []string{"process.method=OLLA"}, rows: onTorus, sigma: over, horizon: "1"},
		"walls":      {set: half, rows: onHalf, sigma: under, horizon: "1", both: true},
		"walls of the paper": {set: half, keys: []string{"process.walls=paper", "process.repulsion=<0.01^1>"},
			rows: onHalf, sigma: under, horizon: "1"},
		"silent keys":       {set: torus, rows: onTorus, silent: true},
		"silent walls":      {set: half, rows: onHalf, silent: true, both: true},
		"silent overdamped": {set: torus, keys: []string{"process.method=OLLA"}, rows: onTorus, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.run(t, 1)
			exponents := []int{-30, 30}
			if c.silent { // whose prior takes chains
				exponents = []int{-10, 30}
			}
			if !c.both && !testkit.Longest() {
				exponents = exponents[:1]
			}
			for _, exponent := range exponents {
				unit := math.Ldexp(1, exponent)
				got, far := c.run(t, unit), 0.0
				for i, v := range got.x {
					far = max(far, math.Abs(v/unit-want.x[i]))
				}
				if same := slices.Equal(got.θ, want.θ); !same && !c.projected {
					t.Errorf("2^%d: other parameters are learned", exponent)
				}
				// A coordinate that rounds to another float32 moves the score by 10⁻⁷ of itself.
				if !(far <= 1e-6) || len(got.x) != len(want.x) {
					t.Errorf("2^%d: %d numbers are drawn, want %d, off by %.3g", exponent, len(got.x), len(want.x), far)
				}
				v, w := got.v, want.v
				if v.TwoSample.PValue != w.TwoSample.PValue || v.Nearest.Copied != w.Nearest.Copied ||
					v.Failed != w.Failed {
					t.Errorf("2^%d: p %v, %v copied, %d failed; want %v, %v, %d", exponent, v.TwoSample.PValue,
						v.Nearest.Copied, v.Failed, w.TwoSample.PValue, w.Nearest.Copied, w.Failed)
				}
			}
		})
	}
}

// An outcome is what a training in a unit comes to.
type outcome struct {
	x []float64
	θ []float32
	v *judge.Evaluation
}

func (c *scaled) run(t *testing.T, unit float64) outcome {
	t.Helper()
	var b bytes.Buffer
	for i := range 60 {
		x := c.rows(i)
		fmt.Fprintf(&b, "%.17g,%.17g,%.17g\n", unit*x[0], unit*x[1], unit*x[2])
	}
	data := filepath.Join(t.TempDir(), "rows.csv")
	testkit.OK(t, os.WriteFile(data, b.Bytes(), 0o666))
	text := "defaults: fixed\nprior: empirical\ndata: {path: " + data + ", tolerance: <1e-3^1>}\nset: " + c.set + "\n" +
		"network: {width: 16, layers: 2, octaves: 3, octaves_of: start, wavelength: <4^1>, time_octaves: 2, " +
		"time: share, output: balanced, center: [<0.5^1>, 0, <-0.25^1>], unit: <1.5^1>}\n" +
		"train: {epochs: 2, times_per_path: 4, window: <0.3^1>}\n" +
		"process: {steps: 12, friction: <5^-1>, horizon: " + c.horizon + ", sigma: " + c.sigma + "}\n"
	if c.silent { // but for the size of it all
		text = "data: {path: " + data + "}\nset: " + c.set + "\n" +
			"network: {width: 16, layers: 2}\ntrain: {epochs: 2, refresh: 1}\nprocess: {steps: 50}\n"
	}
	settings := slices.Clone(c.keys)
	for i, s := range settings {
		settings[i] = in(s, unit)
	}
	e := job.New[*Run](t, Load, []byte(in(text, unit)), "p.yaml", settings...)
	trainTo(t, e, Observer{})
	trained := testkit.Must(e.Trained(""))
	prior := testkit.Must(e.Prior(context.Background(), nil))
	s := testkit.Must(e.Generate(context.Background(), trained, prior, 80, 0, 7, nil))
	v, err := e.Evaluate(t.Context(), s, trained.State, nil)
	if err != nil {
		t.Errorf("in a unit of %v: %v", 1/unit, err)
	}
	return outcome{s.X, trained.Model.Parameters(), v}
}
