package metric

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A MeansTest is the outcome of a test of two means.
type MeansTest struct {
	Difference Float `json:"difference"` // mean of a − mean of b
	SE         Float `json:"se"`         // √(s_a²/n + s_b²/m); null with fewer than two values on a side
	PValue     Float `json:"p_value"`    // null without a value on each side
	Least      Float `json:"least"`      // the smallest p that this number of values can have
	Ways       int   `json:"ways"`       // relabellings looked at, the given one among them
}

// maxWays bounds the relabellings that are looked at one by one; of more, as many random ones are.
const maxWays = 100_000

// CompareMeans asks whether the values a and b are of one law, by the permutation test of the difference of their
// means (Fisher, The Design of Experiments, 1935, section 21): p is the share of all ways to call n of the n + m
// values a that give a difference at least as large, on either side. It is exact at any size and supposes no form
// of the law, only that under the hypothesis the values can be exchanged.
//
// With few values it can say little: of n = m = 3 there are 20 ways, and p is never below 2/20. Least tells.
func CompareMeans(a, b []float64) MeansTest {
	n, m := len(a), len(b)
	t := MeansTest{NaN, NaN, NaN, NaN, 0}
	if n == 0 || m == 0 {
		return t
	}
	all := append(append([]float64(nil), a...), b...)
	var meanA, meanB, total, scale float64
	for i, v := range all {
		total += v
		scale += math.Abs(v)
		if i < n {
			meanA += v / float64(n)
		} else {
			meanB += v / float64(m)
		}
	}
	t.Difference = Float(meanA - meanB)
	if t.Difference-t.Difference != 0 {
		return t
	}
	if n > 1 && m > 1 {
		t.SE = Float(math.Sqrt(squares(a, meanA)/float64(n*(n-1)) + squares(b, meanB)/float64(m*(m-1))))
	}
	bar := math.Abs(float64(t.Difference)) - 1e-12*scale/float64(n+m) // ways that tie in exact arithmetic are ties
	extreme := 0
	look := func(sum float64) {
		t.Ways++
		if math.Abs(sum/float64(n)-(total-sum)/float64(m)) >= bar {
			extreme++
		}
	}
	if ways := math.Round(combin.GeneralizedBinomial(float64(n+m), float64(n))); ways <= maxWays {
		combinations(all, n, 0, look)
		t.Least = 1 / Float(ways)
		if n == m { // each way has a mirror image
			t.Least *= 2
		}
		t.Least = min(1, t.Least)
	} else {
		look(floats.Sum(a))
		order := make([]int, n+m)
		stream := keyed.Relabelling.Stream(1, 0)
		for k := range maxWays - 1 {
			stream.Permutation(order, uint64(k), 0)
			sum := 0.0
			for _, i := range order[:n] {
				sum += all[i]
			}
			look(sum)
		}
		t.Least = 1 / Float(maxWays)
	}
	t.PValue = Float(extreme) / Float(t.Ways)
	return t
}

func squares(x []float64, mean float64) (sum float64) {
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// combinations calls look with the sum of each way to choose k of x.
func combinations(x []float64, k int, sum float64, look func(sum float64)) {
	if k == 0 {
		look(sum)
		return
	}
	for i := 0; i+k <= len(x); i++ {
		combinations(x[i+1:], k-1, sum+x[i], look)
	}
}

// FisherTest returns the p-value of a successes in n trials and b in m having one chance of success: Fisher's exact
// test, two-sided. With K = a + b successes in all, a is hypergeometric; its p-value is the chance of all outcomes that
// are no more likely than a. False alarms are no more frequent than the p-value says, for any sizes. It is 1 without
// trials or successes.
func FisherTest(a, n, b, m int) float64 {
	k := a + b
	lo, hi := max(0, k-m), min(k, n)
	if n == 0 || m == 0 || lo == hi {
		return 1
	}
	choose := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	all := choose(n+m, k)
	chance := func(i int) float64 { return choose(n, i) + choose(m, k-i) - all }
	// Round-off in a difference of logarithms of factorials: outcomes as likely as a must count.
	limit := chance(a) + 1e-7
	p := 0.0
	for i := lo; i <= hi; i++ {
		if c := chance(i); c <= limit {
			p += math.Exp(c)
		}
	}
	return min(p, 1)
}

// An Estimate is an energy distance of samples to rows, and how much each of them moves it, by the jackknife: so the
// noise of it is known, and of its difference from that of other samples for the same noise and the same rows.
type Estimate struct {
	Value   float64
	Samples []float64 // (n − 1)(D − D without sample i) of n samples; NaN: the sample is lost
	Rows    []float64 // (m − 1)(D − D without row j) of m rows
}

// NoEstimate is one that was not made.
func NoEstimate() Estimate { return Estimate{Value: math.NaN()} }

// MeanOf returns the mean of values, one of each row, as an Estimate: no samples have a part in it. NaN: the
// row has none.
func MeanOf(values []float64) Estimate {
	e, n := Estimate{Rows: values}, 0.0
	for _, v := range values {
		if v-v == 0 {
			n++
			e.Value += (v - e.Value) / n
		}
	}
	if n == 0 {
		return NoEstimate()
	}
	return e
}

// Known reports whether there is a value.
func (e Estimate) Known() bool { return e.Value-e.Value == 0 }

// Noise returns the standard error of the value:
//
//	SE² = Σ u_i²/(n(n − 1)) + Σ v_j²/(m(m − 1)),
//
// u and v being what n samples and m rows add. For samples of the rows' own law, where only what
// two points do together is left, it is √2 of the standard deviation: the jackknife counts that twice
// (Efron and Stein, Annals of Statistics 9, 1981).
func (e Estimate) Noise() float64 {
	_, noise := e.Minus(Estimate{Samples: make([]float64, len(e.Samples)), Rows: make([]float64, len(e.Rows))})
	return noise
}

// Minus returns how much larger a value is than that of other, and the standard error of this.
// Samples with the same number are a pair, and the same rows stand behind both: what they have in
// common does not count. Estimates of other numbers of them are taken for independent.
func (e Estimate) Minus(other Estimate) (difference, noise float64) {
	difference = e.Value - other.Value
	if len(e.Samples) != len(other.Samples) || len(e.Rows) != len(other.Rows) {
		return difference, math.Hypot(e.Noise(), other.Noise())
	}
	noise = spread(e.Rows, other.Rows)
	if len(e.Samples) > 0 || len(e.Rows) == 0 { // a mean of rows has no samples
		noise += spread(e.Samples, other.Samples)
	}
	return difference, math.Sqrt(noise)
}

// spread returns Σ (u_i − u'_i)²/(n(n − 1)) about the mean over those that are known. It is NaN for fewer than two.
func spread(u, other []float64) float64 {
	var n, mean, squares float64
	for i, v := range u {
		if v -= other[i]; v-v != 0 {
			continue
		}
		n++
		step := v - mean
		mean += step / n
		squares += step * (v - mean)
	}
	if n < 2 {
		return math.NaN()
	}
	return squares / (n * (n - 1))
}

// EnergyTo holds rows that many sets of samples are compared with.
type EnergyTo struct {
	d    int
	rows []float64
	own  []float64 // mean distance of each row to the others
	mean float64   // of them
}

// NewEnergyTo prepares m rows of dimension d, at least 3.
func NewEnergyTo(rows []float64, d int) *EnergyTo {
	rowsOf("NewEnergyTo", rows, d)
	e := &EnergyTo{d: d, rows: rows}
	e.own, e.mean = meanDistances(rows, d)
	return e
}

// Of estimates the energy distance of n samples x to the rows, without bias:
//
//	D = 2 mean|x_i − y_j| − mean_{i≠i'}|x_i − x_i'| − mean_{j≠j'}|y_j − y_j'|,
//
// about 0, and below it as often as above, where both are of one law. EnergyTest's statistic, which
// counts each point with itself, is larger by about (1/n + 1/m) times the mean distance. There is no
// estimate of fewer than 3 samples or rows, nor of points that are not finite.
//
// Leaving sample i out moves D by its mean distances a_i to the rows and b_i to the other
// samples, whose means are A and B:
//
//	u_i = 2(a_i − A) − 2(n − 1)/(n − 2) (b_i − B).
func (e *EnergyTo) Of(x []float64) Estimate {
	n, m := rowsOf("EnergyTo.Of", x, e.d), len(e.rows)/e.d
	if n < 3 || m < 3 {
		return NoEstimate()
	}
	out := Estimate{Samples: make([]float64, n), Rows: make([]float64, m)}
	b, B := meanDistances(x, e.d)
	A := 0.0
	for i := range n {
		for j := range m {
			r := math.Sqrt(dense.SquaredDistance(x[i*e.d:(i+1)*e.d], e.rows[j*e.d:(j+1)*e.d]))
			out.Samples[i] += r / float64(m)
			out.Rows[j] += r / float64(n)
		}
		A += out.Samples[i] / float64(n)
	}
	if out.Value = 2*A - B - e.mean; !out.Known() {
		return NoEstimate()
	}
	moved := func(a, b []float64, B float64) {
		n := float64(len(a))
		for i := range a {
			a[i] = 2*(a[i]-A) - 2*(n-1)/(n-2)*(b[i]-B)
		}
	}
	moved(out.Samples, b, B)
	moved(out.Rows, e.own, e.mean)
	return out
}

// Numbered returns the estimate with each sample at its number, where some samples are lost.
func (e Estimate) Numbered(lost []bool) Estimate {
	if !e.Known() {
		return e
	}
	all, next := make([]float64, len(lost)), 0
	for i, gone := range lost {
		if all[i] = math.NaN(); !gone {
			all[i] = e.Samples[next]
			next++
		}
	}
	e.Samples = all
	return e
}

// meanDistances returns the mean distance of each of n points to the others, and the mean of
// these; NaN of a single one.
func meanDistances(x []float64, d int) (of []float64, mean float64) {
	n := len(x) / d
	of = make([]float64, n)
	for i := range n {
		for j := range i {
			r := math.Sqrt(dense.SquaredDistance(x[i*d:(i+1)*d], x[j*d:(j+1)*d]))
			of[i] += r
			of[j] += r
		}
	}
	for i := range of {
		of[i] /= float64(n - 1)
		mean += of[i] / float64(n)
	}
	return of, mean
}
