package particles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// calibrations are measurements of points, and the numbers whose ranks are looked at beside their likelihood.
var calibrations = []struct {
	run      string
	observe  []string
	sd       float64
	quantity []string
}{
	{"torus", []string{"x[2]", "x[0] + 0.5*x[1]"}, 0.2, []string{"x[0]", "x[1]", "x[2]", "norm(x[0:2])"}},
	{"earthquake", []string{"x[0]", "x[1]*x[2]"}, 0.1, []string{"x[0]", "x[1]", "x[2]", "x[0]*x[1]"}},
	{"arm", []string{"x[15]", "x[30]"}, 0.05, []string{"x[14]", "x[15]", "x[22]", "x[29]", "x[30]", "x[37]"}},
}

// observations writes the text of a file of observations.
func observations(expr []string, value []float64, sd float64) string {
	var b strings.Builder
	b.WriteString("draw: particles\nobserve:\n")
	for i, e := range expr {
		fmt.Fprintf(&b, "- {expr: '%s', value: %v, sd: %v}\n", e, value[i], sd)
	}
	return b.String()
}

// TestCalibration draws a truth, measures it with noise, and ranks it among samples given the measurement (Talts et al.
// 2018). If samples have the right law, ranks are uniform: the test looks at the largest distance of their
// distribution function, and at χ² of ten bins. Truths are samples of the run, or held-out rows, whose ranks hold the
// error of the model too. Runs are in a folder, by name; it takes minutes for each.
//
//	GIVEN_TABLE=FOLDER GIVEN_ONLY=torus go test ./langevin/particles -run TestCalibration -v -timeout 2h
func TestCalibration(t *testing.T) {
	folder := os.Getenv("GIVEN_TABLE")
	if folder == "" {
		t.Skip("GIVEN_TABLE=FOLDER has the runs of docs/history/given.md")
	}
	truths, err := strconv.Atoi(os.Getenv("GIVEN_TRUTHS"))
	if err != nil {
		truths = 200
	}
	const n, bins = 99, 10 // ranks 0 to 99
	for _, c := range calibrations {
		if only := os.Getenv("GIVEN_ONLY"); only != "" && only != c.run {
			continue
		}
		r, err := experiment.Open(t.Context(), filepath.Join(folder, c.run), "", testkit.Pool(t, 1), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		trained, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
		built := func(expr []string, value []float64) *particles.Cut {
			a := testkit.Must(problem.LoadAdded([]byte(observations(expr, value, c.sd)), "given.yaml"))
			return testkit.Must(a.Build(r.Problem, r.Process.Set, nil))
		}
		measured := built(c.observe, make([]float64, len(c.observe))).Set
		numbers := built(c.quantity, make([]float64, len(c.quantity))).Set
		d, names := r.Process.Set.Dim(), append(slices.Clone(c.quantity), "likelihood")
		plain := experiment.NewDrawer(r.Loaded, trained, truths)
		own := testkit.Must(plain.Draw(t.Context(), prior, truths, 0, 77, nil))
		for _, from := range []struct {
			name string
			x    []float64
		}{{"samples of the run", own.Good()}, {"held-out rows", r.HeldOutRows}} {
			start, few, found := processor.Seconds(), 0, [][]float64{}
			effective := 0.0
			for i := range min(truths, len(from.x)/d) {
				truth := from.x[i*d : (i+1)*d]
				noise, value := make([]float64, len(c.observe)), constraint.Values(measured, truth)
				keyed.OwnData.Stream(5, 8).Normals(noise, uint64(i), 0)
				for j := range value {
					value[j] += c.sd * noise[j]
				}
				x, report, err := drawn(t, r, observations(c.observe, value, c.sd), n, 1000+uint64(i))
				if x == nil {
					t.Fatal(err)
				}
				if err != nil {
					few++
				}
				effective += report.Particles.Effective
				likely := built(c.observe, value).Likelihood()
				all := func(x []float64) []float64 { return append(constraint.Values(numbers, x), likely(x)) }
				rank, at := make([]float64, len(names)), all(truth)
				for k := range n {
					for j, v := range all(x[k*d : (k+1)*d]) {
						switch {
						case v < at[j]:
							rank[j]++
						case v == at[j]:
							rank[j] += 0.5
						}
					}
				}
				found = append(found, rank)
			}
			N := float64(len(found))
			fmt.Printf("%s, %s: %.0f truths, %d with few samples, %.0f of %d effective, %.0f s\n", c.run, from.name, N,
				few, effective/N, n, processor.Seconds()-start)
			for j, name := range names {
				var rank, count, even []float64
				count = make([]float64, bins)
				for i, row := range found {
					rank, even = append(rank, row[j]+0.5), append(even, (float64(i)+0.5)*(n+1)/N)
					count[int(row[j]*bins/(n+1))]++
				}
				D, _ := metric.KolmogorovTest(rank, even)
				χ := 0.0
				for _, k := range count {
					χ += (k - N/bins) * (k - N/bins) / (N / bins)
				}
				p, q := metric.KolmogorovChance(D, N, 1e12), distuv.ChiSquared{K: bins - 1}.Survival(χ)
				fmt.Printf("| %s | %s | %s | %.3f | %.3f | %v |\n", c.run, from.name, name, p, q, count)
				if least := 0.01 / float64(2*len(names)); !(min(p, q) >= least) && from.name != "held-out rows" {
					t.Errorf("%s: ranks of %s are not uniform: p = %.2g, %.2g; expected at least %.2g", c.run, name,
						p, q, least)
				}
			}
		}
	}
}
