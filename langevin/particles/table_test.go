package particles_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/bench/problems"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A reference is points of a law, and Δ = E|Y − Y'|.
type reference struct {
	y []float64
	d int
	Δ float64
}

func newReference(y []float64, d int) *reference {
	m := min(len(y)/d, 6000)
	r := &reference{y[:m*d], d, 0}
	r.Δ = distances(r.y, r.y, d) * float64(m) / float64(m-1)
	return r
}

// distances is the mean distance over all pairs of points.
func distances(x, y []float64, d int) float64 {
	sum := 0.0
	for i := 0; i < len(x); i += d {
		for j := 0; j < len(y); j += d {
			s := 0.0
			for a, v := range x[i : i+d] {
				v -= y[j+a]
				s += v * v
			}
			sum += math.Sqrt(s)
		}
	}
	return sum / float64(len(x)/d) / float64(len(y)/d)
}

// floors is the energy distance of n points to n independent points of the law, on average over these, in units of
// what it is on average where both are draws of the law: (1/n + 1/n)Δ.
func (r *reference) floors(x []float64) float64 {
	if len(x) == 0 || len(r.y) < 100*r.d {
		return math.NaN()
	}
	n := float64(len(x) / r.d)
	return (2*distances(x, r.y, r.d) - distances(x, x, r.d) - r.Δ + r.Δ/n) / (2 * r.Δ / n)
}

// bias is what is left of the floors of independent sets of one law when they have no end of points: pairs of points of
// one set, which may be copies of each other, do not count.
func (r *reference) bias(sets [][]float64) float64 {
	across, within, pairs, n := 0.0, 0.0, 0.0, 0.0
	for i, x := range sets {
		n = float64(len(x) / r.d)
		across += distances(x, r.y, r.d) / float64(len(sets))
		for _, y := range sets[:i] {
			within, pairs = within+distances(x, y, r.d), pairs+1
		}
	}
	return (2*across - within/pairs - r.Δ) / (2 * r.Δ / n)
}

// drawn draws n samples of a run under a text.
func drawn(t *testing.T, r *experiment.Run, text string, n int, seed uint64) ([]float64, *experiment.GivenReport,
	error) {
	t.Helper()
	trained, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
	g := testkit.Must(r.Given([]byte(text), "given.yaml"))
	d, err := g.NewDrawer(t.Context(), trained, prior, n, 0, seed)
	x := make([]float64, n*r.Process.Set.Dim())
	if err == nil {
		_, err = d.Draw(t.Context(), x, nil)
	}
	if err != nil {
		return nil, &experiment.GivenReport{}, err
	}
	return x, &d.Report, d.Report.Err()
}

// TestTable prints how far samples under cuts of problems of the suite are from exact conditional draws: of the known
// law, and of the law of the run, from many plain samples. docs/history/given.md says how to make the folder.
func TestTable(t *testing.T) {
	folder := os.Getenv("GIVEN_TABLE")
	if folder == "" {
		t.Skip("GIVEN_TABLE=FOLDER makes the table of docs/history/given.md")
	}
	const n, many, seeds = 1000, 1_500_000, 3
	names := strings.FieldsFunc(os.Getenv("GIVEN_ONLY"), func(c rune) bool { return c == ',' })
	for _, l := range testkit.Must(problems.Named(names)) {
		at := filepath.Join(folder, l.Name)
		var own []float64
		once := map[string]bool{} // a row that two files have counts once
		for _, file := range testkit.Must(filepath.Glob(filepath.Join(at, "plain*.npy"))) {
			for row := range slices.Chunk(testkit.Must(arrayfile.ReadNPY(file)).Float64, l.Dim) {
				if key := fmt.Sprint(row); !once[key] {
					once[key], own = true, append(own, row...)
				}
			}
		}
		if own == nil {
			continue
		}
		pool := testkit.Pool(t, 1)
		r := testkit.Must(experiment.Open(t.Context(), filepath.Join(at, "run"), "", pool, nil))
		trained, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
		d, exact := l.Dim, testkit.Must(l.Draw(t.Context(), pool, 1, 1, many))
		first := make([]float64, many)
		for i := range first {
			first[i] = exact[i*d]
		}
		slices.Sort(first)
		plain := testkit.Must(r.Generate(t.Context(), trained, prior, n, 0, 99, nil))
		start := processor.Seconds()
		for range 3 {
			testkit.Must(r.Generate(t.Context(), trained, prior, n, 0, 99, nil))
		}
		plainTime := (processor.Seconds() - start) / 3
		fmt.Printf("%s: plain samples are at %.2f floors\n", l.Name, newReference(exact, d).floors(plain.X))
		for _, c := range []struct {
			name  string
			share float64
		}{{"50 %", 0.5}, {"10 %", 0.1}, {"1 %", 0.01}, {"0.1 %", 0.001}, {"equality", 0}} {
			if only := os.Getenv("GIVEN_CUT"); only != "" && only != c.name {
				continue
			}
			at := first[int(float64(many)*(1-c.share))%many]
			text := fmt.Sprintf("inequality: [{name: cut, expr: 'x[0] >= %v'}]\n", at)
			half := math.Inf(1)
			if c.share == 0 {
				at = first[many*6/10]
				half = (first[many*6/10+many/200] - first[many*6/10-many/200]) / 2
				text = fmt.Sprintf("equality: [{name: cut, expr: 'x[0] = %v'}]\n", at)
			}
			cut := testkit.Must(testkit.Must(problem.LoadAdded([]byte(text), "given.yaml")).Build(r.Problem,
				r.Process.Set, nil))
			whole := testkit.Must(problem.LoadAdded([]byte(text), "given.yaml")).Whole(r.Process.Set, cut)
			conditional := func(x []float64) *reference {
				var good []float64
				s := geometry.NewSolver(whole, 0)
				for i := 0; i < len(x); i += d {
					row := slices.Clone(x[i : i+d])
					if c.share > 0 && row[0] >= at ||
						c.share == 0 && math.Abs(row[0]-at) < half && s.Project(row, 0) {
						good = append(good, row...)
					}
				}
				return newReference(good, d)
			}
			truth, ours := conditional(exact), conditional(own)
			// means over seeds; honesty: the spread of the samples' means, beside what the effective sample size says
			var means, sets [][]float64
			var toTruth, toOwn, told, effective, distinct, variance, took, worst, low float64
			for seed := range uint64(seeds) {
				start := processor.Seconds()
				y, rep, err := drawn(t, r, text+"draw: particles\n", n, 10+seed)
				took += (processor.Seconds() - start) / plainTime / seeds
				if err != nil {
					low++
				}
				if y == nil {
					fmt.Println(err)
					continue
				}
				sets = append(sets, y)
				toTruth, toOwn = toTruth+truth.floors(y), toOwn+ours.floors(y)
				for i := 0; i < len(y); i += d {
					e, _ := constraint.Worst(constraint.Values(whole, y[i:i+d]), len(whole.Equalities()))
					worst = max(worst, e)
				}
				m, s := metric.Spread(y, d)
				means, variance = append(means, m), variance+s*s
				p := rep.Particles
				told += 1/p.Effective + 1/float64(n)
				effective, distinct = effective+p.Effective, distinct+float64(p.Distinct)
			}
			k, spread := float64(len(means)), 0.0
			for j := range d {
				mean, sq := 0.0, 0.0
				for _, m := range means {
					mean += m[j] / k
				}
				for _, m := range means {
					sq += (m[j] - mean) * (m[j] - mean)
				}
				spread += sq / (k - 1)
			}
			spread /= variance / k * told / k
			fields := experiment.Fields(r.Loaded, trained, 128, r.Pool.Workers())
			o := particles.Options{Process: r.Process, Cut: cut, Whole: whole, Pool: r.Pool, Seed: 5,
				Scores: func(w int) langevin.Score { return fields[w] },
				Begin:  func(uint64, uint64, []bool) langevin.Prior { return prior.Prior }}
			rivals := ""
			if os.Getenv("GIVEN_RIVALS") != "" {
				projected := slices.Clone(plain.X)
				particles.Onto(o, projected)
				guided := testkit.Must(particles.Guided(t.Context(), o, n))
				corrected := testkit.Must(particles.Corrected(t.Context(), o, n))
				rivals = fmt.Sprintf(" %.3g | %.3g | %.3g |", ours.floors(projected), ours.floors(guided),
					ours.floors(corrected))
			}
			fmt.Printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f |%s %.1f | %.0f | %.0f | %.2f | %.0e | %.0f low, "+
				"%d of own\n", l.Name, c.name, toOwn/k, ours.bias(sets), toTruth/k, (k*n/effective+1)/2,
				truth.floors(ours.y[:min(n*d, len(ours.y))]), rivals, took, effective/k, distinct/k, spread, worst, low,
				len(ours.y)/d)
		}
	}
}
