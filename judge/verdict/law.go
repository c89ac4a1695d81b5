package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// lookPoints bounds the points that distribution functions are taken of along directions.
const lookPoints = 4000

// Apart returns the largest distance of distribution functions of points of dimension d along the
// directions in which they differ (metric.Directions). These are found from the points themselves:
// it is no test, and above 0 for points of one law too.
func Apart(x, y []float64, d int) float64 {
	x, y = few(x, d, lookPoints), few(y, d, lookPoints)
	worst := 0.0
	for _, u := range metric.Directions(x, y, d) {
		along := func(points []float64) []float64 {
			out := make([]float64, len(points)/d)
			for i := range out {
				for k, w := range u {
					out[i] += w * points[i*d+k]
				}
			}
			return out
		}
		D, _ := metric.KolmogorovTest(along(x), along(y))
		worst = max(worst, D)
	}
	return worst
}

// apart is the excess of Apart; 0 without points.
func apart(x, y []float64, d int) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	return excess(Apart(x, y, d), min(len(x)/d, lookPoints), min(len(y)/d, lookPoints))
}

// anotherLaw tells where the energy test rejects. Its effect is what findings before it
// do not say. Where nothing is found, and too little could have been, the law counts as not judged.
func (j *judge) anotherLaw() {
	t := j.Energy
	if Within(t) || !(float64(t.PValue) <= levels[AnotherLaw]) {
		level, n, m := levels[Observables]/float64(max(len(j.Numbers), 1)), len(j.outX), len(j.outR)
		if seen := visible(level, n, m); seen > Undecided && !j.lawFound() {
			j.skip(AnotherLaw, "%s", unseen(level, n, m))
		}
		return
	}
	left := apart(rest(j.Samples, j.Dim, j.outX), rest(j.Rows, j.Dim, j.outR), j.Dim) - j.law
	j.tell(AnotherLaw, left, "samples have another law: energy distance to the rows %.1f × its floor, %.1f sd "+
		"above it (p = %.3f)", float64(t.Statistic/t.Mean), float64((t.Statistic-t.Mean)/t.SD), float64(t.PValue))
}

// condition tells where samples under a condition are not as rows with it.
func (j *judge) condition() {
	g := j.Given
	if g == nil {
		return
	}
	if g.Test.PValue.IsNaN() {
		j.skip(Condition, "no sample was drawn under the condition of a held-out row")
		return
	}
	if float64(g.Test.PValue) <= levels[Condition] {
		j.tell(Condition, apart(g.Samples, g.Held, g.Dim), "samples do not have the law of held-out rows with the "+
			"same condition: energy distance %.1f × its floor (p = %.3f)", float64(g.Test.Statistic/g.Test.Mean),
			float64(g.Test.PValue))
	}
}

// observables tells of the one whose law differs most, by Kolmogorov's test against rows; with K of
// them each has the level over K.
func (j *judge) observables() {
	if len(j.Numbers) == 0 {
		j.skip(Observables, "there are none")
		return
	}
	names := []string{}
	worst, told, most, seen := 0.0, "", 0.0, 0.0
	level, n, m := levels[Observables]/float64(len(j.Numbers)), 0, 0
	for _, k := range j.Numbers {
		x, h := finite(k.Samples), finite(k.Rows)
		if len(x) == 0 || len(h) < FewestHeld {
			j.skip(Observables, "%q is finite at too few samples or rows", k.Name)
			continue
		}
		D, p := metric.KolmogorovTest(x, h)
		if v := visible(level, len(x), len(h)); v > seen {
			seen, n, m = v, len(x), len(h)
		}
		if !(p <= level) {
			continue
		}
		names = append(names, k.Name)
		x = finite(rest(k.Samples, 1, part(j.outX, len(k.Samples))))
		h = finite(rest(k.Rows, 1, part(j.outR, len(k.Rows))))
		if len(x) > 0 && len(h) > 0 {
			left, _ := metric.KolmogorovTest(x, h)
			worst = max(worst, excess(left, len(x), len(h)))
		}
		if D > most {
			most = D
			told = fmt.Sprintf("%q has another law: distribution functions of samples and rows are %.2f "+
				"apart (p = %.1g)", k.Name, D, p)
			if k.Times > 0 && k.Times < math.Inf(1) { // rows that are all alike have no floor
				told += fmt.Sprintf(", histograms %.1f × their floor", k.Times)
			}
		}
	}
	if told == "" {
		if seen > worthTelling {
			j.skip(Observables, "%s", unseen(level, n, m))
		}
		return
	}
	if len(names) > 1 {
		told += fmt.Sprintf("; so have %d more of %d observables", len(names)-1, len(j.Numbers))
	}
	j.tell(Observables, worst-j.law, "%s", told)
	j.law = max(j.law, worst)
}

// unseen says how far apart laws may be and look alike, of n samples and m rows at a level.
func unseen(level float64, n, m int) string {
	seen, most := visible(level, n, m), visible(level, math.MaxInt, m)
	why := fmt.Sprintf("with %s rows and %s samples distribution functions less than %.2f apart are not seen",
		text.Count(m), text.Count(n), min(seen, 1))
	if seen > Undecided && most <= Undecided {
		why += fmt.Sprintf(", with far more samples (-n) %.2f", most)
	}
	return why
}

// worthTelling is a distance of distribution functions that a verdict should see: of normal laws, means 0.38 standard
// deviations apart.
const worthTelling = 0.15

// visible is the distance from which on distribution functions of n and m numbers differ at a level, by the limit
// law of Kolmogorov's distance, P(D > λ√(1/n + 1/m)) ≈ 2 exp(−2λ²).
func visible(level float64, n, m int) float64 {
	return math.Sqrt(math.Log(2/level) / 2 * (1/float64(n) + 1/float64(m)))
}

// part returns out, if it marks so many rows; else rows of which nothing is known.
func part(out []bool, n int) []bool {
	if len(out) != n {
		return slices.Repeat([]bool{false}, n)
	}
	return out
}
