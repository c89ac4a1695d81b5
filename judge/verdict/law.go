package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
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
	t.Statistic /= metric.Float(1 + j.inflation)
	if Within(t) || !(float64(t.PValue) <= levels[AnotherLaw]) {
		level, n, m := levels[Observables]/float64(max(len(j.Numbers), 1)), int(j.effX), int(j.effR)
		if seen := visible(level, n, m); seen > mostUnseen && !j.lawFound() {
			j.skip(AnotherLaw, "%s", unseen(level, n, m))
		}
		return
	}
	left := apart(rest(j.Samples, j.Dim, j.outX), rest(j.Rows, j.Dim, j.outR), j.Dim) - j.law
	small := ""
	if left <= 0 {
		left, small = math.NaN(), "; the difference is small: no single direction shows it"
		if j.lawFound() {
			small = "; the other findings say where"
		}
	}
	j.add(AnotherLaw, left, float64(t.PValue), "samples have another law: energy distance to the rows %.1f × its "+
		"floor, %.1f sd above it (p = %.3f)%s", float64(t.Statistic/t.Mean), float64((t.Statistic-t.Mean)/t.SD),
		float64(t.PValue), small)
}

// condition tells where samples under a condition are not as rows with it.
func (j *judge) condition() {
	g := j.Given
	if g == nil {
		return
	}
	if g.Test.PValue.IsNaN() {
		j.undecided(Condition, "no sample was drawn under the condition of a held-out row")
		return
	}
	if n := g.Test.N; visible(levels[Condition], n, n) > mostUnseen {
		j.undecided(Condition, "%s", unseen(levels[Condition], n, n))
	}
	if float64(g.Test.PValue) <= levels[Condition] {
		j.add(Condition, apart(g.Samples, g.Held, g.Dim), float64(g.Test.PValue), "samples do not have the law of "+
			"held-out rows with the same condition: energy distance %.1f × its floor (p = %.3f)",
			float64(g.Test.Statistic/g.Test.Mean), float64(g.Test.PValue))
	}
	if n := g.Nearby; n != nil && n.PValue <= levels[Nearby] {
		times := float64(g.Test.Statistic) / n.Distance
		j.add(Nearby, times, n.PValue, "samples are %.3g times as far from the law given the condition as training "+
			"rows with the %s nearest conditions are: energy distances to held-out rows with the same conditions are "+
			"%s and %s (p = %.4f)", times, text.Count(n.Rows), text.Number(float64(g.Test.Statistic)),
			text.Number(n.Distance), n.PValue)
	}
}

// observables reports the observable whose law differs most, by Kolmogorov's test against rows; each of K observables
// has the level over K.
func (j *judge) observables() {
	if len(j.Numbers) == 0 {
		j.skip(Observables, "there are none")
		return
	}
	names := []string{}
	worst, told, most, seen, least := 0.0, "", 0.0, 0.0, 1.0
	level, n, m := levels[Observables]/float64(len(j.Numbers)), 0, 0
	for _, k := range j.Numbers {
		x, h := finite(k.Samples), finite(k.Rows)
		if len(x) == 0 || len(h) < FewestHeld {
			j.skip(Observables, "%q is finite at too few samples or rows", k.Name)
			continue
		}
		D := metric.KolmogorovBeyond(x, h, k.Close)
		a, b := j.effective(len(x), len(h))
		p := metric.KolmogorovChance(D, a, b)
		if v := visible(level, int(a), int(b)); v > seen {
			seen, n, m = v, int(a), int(b)
		}
		if !(p <= level) {
			continue
		}
		names, least = append(names, k.Name), min(least, p*float64(len(j.Numbers)))
		x = finite(rest(k.Samples, 1, part(j.outX, len(k.Samples))))
		h = finite(rest(k.Rows, 1, part(j.outR, len(k.Rows))))
		if len(x) > 0 && len(h) > 0 {
			left := metric.KolmogorovBeyond(x, h, k.Close)
			a, b := j.effective(len(x), len(h))
			worst = max(worst, excess(left, int(a), int(b)))
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
	j.add(Observables, worst-j.law, least, "%s", told)
	j.law = max(j.law, worst)
}

// unseen says how far apart laws may be and look alike, of n samples and m rows at a level.
func unseen(level float64, n, m int) string {
	seen, most := visible(level, n, m), visible(level, math.MaxInt, m)
	why := fmt.Sprintf("with %s rows and %s samples distribution functions less than %.2f apart are not seen",
		text.Count(m), text.Count(n), min(seen, 1))
	if seen > mostUnseen && most <= mostUnseen {
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

// part returns out if it has n entries, else n times false: nothing is known of such rows.
func part(out []bool, n int) []bool {
	if len(out) != n {
		return slices.Repeat([]bool{false}, n)
	}
	return out
}

const (
	spreadAxes    = 5    // principal directions
	spreadPoints  = 4000 // at most, on each side
	relabellings  = 1999
	leastVariance = 1e-12 // of an axis, of the largest's
)

// spread reports where samples lie further from their mean than rows from theirs, or nearer: in all, or along a
// principal direction of both together. (Along the rows' own directions, rows would have the largest spread by choice.)
// For points z about their own mean it compares the means of |z|² and ⟨u, z⟩². The statistic is the largest of these
// differences, each in its standard deviations. Relabellings give its law, so that the level is that of all differences
// together. Only points that no finding covers count.
func (j *judge) spread() {
	d := j.Dim
	most := spreadPoints
	if j.unitR != nil {
		most = metric.UnitRows(d)
	}
	x, h := few(rest(j.Samples, d, j.outX), d, most), few(rest(j.Rows, d, j.outR), d, most)
	n, m := len(x)/d, len(h)/d
	if n < FewestHeld || m < FewestHeld {
		j.skip(Spread, "too few points are left beside what is found above")
		return
	}
	_, axes, _ := metric.Principal(slices.Concat(x, h), d, spreadAxes)
	columns := 1 + len(axes)
	z := squares(make([]float64, 0, (n+m)*columns), x, d, axes)
	z = squares(z, h, d, axes)
	mean, sd := make([]float64, columns), make([]float64, columns)
	for k := range columns {
		mean[k], sd[k] = stat.PopMeanStdDev(metric.Column(z, k, columns), nil)
	}
	// The sum over one side says what that over the other is.
	side := min(n, m)
	sums := make([]float64, columns)
	largest := func(index func(i int) int) (most float64, at int) {
		clear(sums)
		for i := range side {
			for k, v := range z[index(i)*columns : (index(i)+1)*columns] {
				sums[k] += v
			}
		}
		for k, s := range sums {
			// Rows beside the set, such as rounded ones, spread across it as samples cannot.
			if mean[k] <= max(leastVariance*mean[0], 4*j.Off*j.Off) || sd[k] == 0 {
				continue
			}
			if t := math.Abs(s/float64(side)-mean[k]) / sd[k]; t > most {
				most, at = t, k
			}
		}
		return most, at
	}
	first := 0
	if m < n {
		first = n
	}
	given, at := largest(func(i int) int { return first + i })
	if given /= math.Sqrt(1 + j.inflation); given == 0 {
		return
	}
	extreme := 1
	var unitX, unitR []int
	if j.unitR != nil {
		unitX, unitR = metric.Clusters(x, h, d)
	}
	relabel, order := metric.NewRelabelling(unitX, unitR, n, m, keyed.SpreadLabels.Stream(j.Seed, 0)), make([]int, n+m)
	for r := range relabellings {
		relabel.Fill(order, r)
		if t, _ := largest(func(i int) int { return order[i] }); t >= given*(1-1e-12) {
			if extreme++; float64(extreme) > levels[Spread]*(relabellings+1) {
				return
			}
		}
	}
	p := float64(extreme) / (relabellings + 1)
	along := "in all"
	if at > 0 {
		along = fmt.Sprintf("along principal direction %d", at)
	}
	a, b := metric.Column(z[:n*columns], at, columns), metric.Column(z[n*columns:], at, columns)
	own, rows := stat.Mean(a, nil), stat.Mean(b, nil)
	D, _ := metric.KolmogorovTest(a, b)
	how := "too far apart"
	if own < rows {
		how = "too close together"
	}
	effect := max(0, excess(D, n, m)-j.law)
	j.law += effect
	if far := max(floats.Max(j.Rows), -floats.Min(j.Rows)); !(math.Sqrt(rows) > 1e-12*far) { // round-off
		same := "rows are all the same"
		if at > 0 {
			same = "rows do not differ " + along
		}
		j.add(Spread, effect, p, "samples are %s: %s (p = %.4f)", how, same, p)
		return
	}
	j.add(Spread, effect, p, "samples are %s: their spread (rms about the mean) is %.3g times that of the rows %s "+
		"(p = %.4f)", how, math.Sqrt(own/rows), along, p)
}

// squares appends |z|² and ⟨u, z⟩² of rows z about their mean, of n−1 degrees of freedom.
func squares(dst, x []float64, d int, axes [][]float64) []float64 {
	n := len(x) / d
	mean, _ := metric.Spread(x, d)
	free := float64(n) / float64(max(n-1, 1))
	for i := range n {
		row := x[i*d : (i+1)*d]
		dst = append(dst, free*dense.SquaredDistance(row, mean))
		for _, u := range axes {
			s := metric.Project(row, mean, u)
			dst = append(dst, free*s*s)
		}
	}
	return dst
}

// Course is how training went.
type Course struct {
	Epochs, Planned int       // trained, and to be trained; Planned is 0 if it is not known
	Rate, Highest   float64   // learning rate: of the last epoch, and of that where it was highest
	Distances       []float64 // to the data, of evaluations in their order; NaN: none

	Chosen bool // held-out rows took these weights, of all epochs: neither rate nor distances say more
	Open   bool // it was stopped before held-out rows had ended it
}

const (
	annealed     = 0.1  // of the highest learning rate: up to it, it has fallen,
	lastEpochs   = 3    // or to the rate lastEpochs before the end of a fall over all epochs
	trendLeast   = 6    // evaluations
	trendLevel   = 0.05 // of a trend by chance
	trendSmaller = 0.02 // relative fall that is none
)

// course tells that training ended early, where the law of samples is off: it is no test, for a good law needs no
// longer training.
func (j *judge) course() {
	c := j.Course
	if c == nil || c.Epochs == 0 {
		j.skip(TooShort, "how training went is not known")
		return
	}
	if !j.lawFound() {
		return
	}
	var why []string
	if c.Planned > c.Epochs {
		why = append(why, fmt.Sprintf("it was stopped after %d of %d epochs", c.Epochs, c.Planned))
	}
	if c.Open {
		why = append(why, fmt.Sprintf("it was stopped after %d epochs, before held-out rows ended it", c.Epochs))
	}
	if !c.Chosen && c.Rate > max(annealed, lastEpochs/float64(c.Epochs))*c.Highest {
		why = append(why, fmt.Sprintf("the learning rate was not brought down: it ended at %.2g of its highest",
			c.Rate/c.Highest))
	}
	if fall, p := c.Trend(); !c.Chosen && fall > trendSmaller && p <= trendLevel {
		why = append(why, fmt.Sprintf("distances to the data still fell, by %.0f %% over the later half of evaluations",
			100*fall))
	}
	if why == nil {
		return
	}
	j.add(TooShort, math.NaN(), math.NaN(), "training was too short: %s", strings.Join(why, "; "))
}

func (j *judge) lawFound() bool {
	return slices.ContainsFunc(j.found, func(f Finding) bool { return slices.Contains(ofLaw, f.Code) })
}

// Trend returns by which part of themselves distances fell over the later half of evaluations, and the p-value of a
// fall by chance (Mann's test: Kendall's S against the normal law). The fall is NaN of fewer than six.
func (c *Course) Trend() (fall, p float64) {
	v := finite(c.Distances[len(c.Distances)/2:])
	n := len(v)
	if n < trendLeast {
		return math.NaN(), math.NaN()
	}
	s := 0.0
	for i := range v {
		for k := range i {
			s += float64(cmp.Compare(v[k], v[i]))
		}
	}
	k := float64(n)
	z := (s - 1) / math.Sqrt(k*(k-1)*(2*k+5)/18)
	third := max(1, n/3)
	early, late := 0.0, 0.0
	for i := range third {
		early, late = early+v[i], late+v[n-1-i]
	}
	return 1 - late/early, math.Erfc(z/math.Sqrt2) / 2
}
