// Package metric scores samples: how far their law is from that of the data, how far they are from the constraint set,
// whether they copy the training rows, and whether the chains that made them have mixed.
//
// A score alone says little. NoiseFloor gives the value that a perfect memoriser of the training rows would get from as
// many samples, EnergyTest says whether two clouds of points can be told apart at all, and CountCopies whether a good
// score was earned by repeating what was seen.
//
// Points are row-major, n×d. Functions panic on shapes that do not fit, which are mistakes of the program; values that
// are not finite never panic, and each function says what they do to its result. The package reads no files and draws
// no figures.
package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
)

// rowsOf returns the number of points in x, and panics if it is not whole.
func rowsOf(name string, x []float64, d int) int {
	if d < 1 {
		panic(fmt.Sprintf("metric: %s: dimension %d", name, d))
	}
	if len(x)%d != 0 {
		panic(fmt.Sprintf("metric: %s: %d numbers are not points of dimension %d", name, len(x), d))
	}
	return len(x) / d
}

// A Score is a distance of samples to the data, what perfect copies of the training rows would score, and what a
// perfect model would.
type Score struct {
	Full         Float `json:"full"`     // against all data, training rows included, as the paper does
	HeldOut      Float `json:"held_out"` // against validation and test rows
	Floor              // as many draws from the training rows, against all data
	HeldOutFloor Float `json:"held_out_floor"` // the same draws against the held-out rows: mean
	Law          Float `json:"law"`            // as many new draws of the law, against all data: NewDraws; 0: not known
}

// A Float is a number in JSON, or null where it is not finite: JSON has no NaN.
type Float float64

func (f Float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler; null is NaN.
func (f *Float) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = NaN
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// NaN stands for what was not measured.
var NaN = Float(math.NaN())

// IsNaN reports whether nothing was measured.
func (f Float) IsNaN() bool { return f != f }

// Median returns the median of x, which it sorts; NaN if x is empty.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Quantile returns the p-quantile of x, which it sorts: linear between the order statistics. x may
// hold +Inf, but neither −Inf nor NaN; NaN if x is empty.
func Quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return quantile(x, p)
}

// Spread returns the mean of the rows of x (n×d) and their root mean square distance from it.
func Spread(x []float64, d int) (mean []float64, distance float64) {
	mean = make([]float64, d)
	sum, n := 0.0, float64(len(x)/d)
	for i, v := range x {
		mean[i%d] += v / n
	}
	for i, v := range x {
		sum += (v - mean[i%d]) * (v - mean[i%d]) / n
	}
	return mean, math.Sqrt(sum)
}

// Slope returns the least-squares slope of y on x. It is not for fewer than two values, or for x all alike.
func Slope(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my, sxx, sxy float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	return sxy / sxx
}

// KolmogorovTest returns the largest distance D of the distribution functions of a and b, which it sorts, and a bound
// of its p-value, 2 exp(−2D² nm/(n+m)): the first term of Kolmogorov's alternating series. D is at most the total
// variation distance of the laws.
func KolmogorovTest(a, b []float64) (D, p float64) {
	slices.Sort(a)
	slices.Sort(b)
	D = stat.KolmogorovSmirnov(a, nil, b, nil)
	return D, KolmogorovChance(D, float64(len(a)), float64(len(b)))
}

// KolmogorovBeyond is the distance D of KolmogorovTest where values that differ by less than δ count as equal:
//
//	D(δ) = max(0, sup_t F_a(t) − F_b(t + δ), sup_t F_b(t) − F_a(t + δ)) ≤ D
//
// It sorts a and b.
func KolmogorovBeyond(a, b []float64, δ float64) float64 {
	slices.Sort(a)
	slices.Sort(b)
	most := 0.0
	for _, s := range [2][2][]float64{{a, b}, {b, a}} {
		k := 0
		for i, t := range s[0] {
			for k < len(s[1]) && s[1][k] <= t+δ {
				k++
			}
			most = max(most, float64(i+1)/float64(len(s[0]))-float64(k)/float64(len(s[1])))
		}
	}
	return most
}

// KolmogorovChance is the bound of KolmogorovTest for n and m independent numbers.
func KolmogorovChance(D, n, m float64) float64 { return min(1, 2*math.Exp(-2*D*D*n*m/(n+m))) }

// quantile returns the p-quantile of s, sorted, not empty and above −Inf: linear between the order statistics, the
// smallest at p = 0 and the largest at 1. This is the default of numpy.quantile, type 7 of Hyndman and Fan (1996).
func quantile(s []float64, p float64) float64 {
	at := p * float64(len(s)-1)
	i := int(at)
	t := at - float64(i)
	if t == 0 || s[i] == s[i+1] { // also keeps Inf − Inf away
		return s[i]
	}
	return s[i] + t*(s[i+1]-s[i])
}

// Select reorders x so that none before number n is larger than it and none behind it smaller, and returns it.
func Select(x []float64, n int) float64 { return find(x, n, func(v float64) float64 { return v }) }

// find is Select of things by a number of theirs (Hoare's FIND).
func find[T any](x []T, n int, of func(T) float64) float64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := of(x[lo+(hi-lo)/2])
		i, j := lo, hi
		for i <= j {
			for of(x[i]) < pivot {
				i++
			}
			for of(x[j]) > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return pivot
		}
	}
	return of(x[n])
}

// Violation says how far n samples are from satisfying one component of a constraint, in the units of its values.
// WorstSample is the first sample that attains Worst.
type Violation struct {
	Component   string `json:"name"`
	Worst       Float  `json:"worst"`
	WorstSample int    `json:"worst_sample"`
	Mean        Float  `json:"mean"`
	Median      Float  `json:"median"`
	Q90         Float  `json:"q90"`
	Q99         Float  `json:"q99"`
}

// Violations measures constraint values, row-major n×len(names) with one row for each sample. The first equality
// columns are components of h = 0, whose violation is |h|; the others are components of g ≤ 0, with violation max(g,
// 0). A value that is NaN is violated by +Inf. There must be at least one sample.
func Violations(names []string, values []float64, n int, equality int) []Violation {
	c := len(names)
	if n < 1 || len(values) != n*c {
		panic(fmt.Sprintf("metric: %d constraint values for %d samples of %d components", len(values), n, c))
	}
	excess := slices.Clone(values)
	Excess(excess, c, equality)
	out := make([]Violation, c)
	v := make([]float64, n)
	for j, name := range names {
		worst := 0
		for i := range v {
			v[i] = excess[i*c+j]
			if v[i] > v[worst] {
				worst = i
			}
		}
		out[j] = Violation{Component: name, Worst: Float(v[worst]), WorstSample: worst}
		slices.Sort(v)
		out[j].Mean = Float(floats.Sum(v) / float64(n))
		out[j].Median = Float(quantile(v, 0.5))
		out[j].Q90 = Float(quantile(v, 0.9))
		out[j].Q99 = Float(quantile(v, 0.99))
	}
	return out
}

// Excess replaces constraint values, row-major in rows of c, by how far each is from satisfying its constraint
// (constraint.Excess); the first equality columns are components of h = 0, the others of g ≤ 0.
func Excess(values []float64, c, equality int) {
	if equality < 0 || equality > c || c > 0 && len(values)%c != 0 || c == 0 && len(values) > 0 {
		panic(fmt.Sprintf("metric: %d constraint values of %d components, %d of them equalities",
			len(values), c, equality))
	}
	for i, v := range values {
		values[i] = constraint.Excess(v, i%c < equality)
	}
}

// MeanLargest returns the mean over rows of c numbers of each row's largest; NaN
// without rows, and 0 without numbers in them: a set without components asks nothing.
func MeanLargest(x []float64, c int) float64 {
	if c == 0 {
		return 0
	}
	sum, n := 0.0, rowsOf("MeanLargest", x, c)
	for i := range n {
		sum += slices.Max(x[i*c : (i+1)*c])
	}
	return sum / float64(n)
}

// Floor is the mean and standard deviation of a score over Draws repetitions.
type Floor struct {
	Mean  Float `json:"floor"`
	SD    Float `json:"floor_sd"`
	Draws int   `json:"-"`
}

// NewFloor returns the floor of scores.
func NewFloor(scores []float64) Floor {
	mean, sd := stat.MeanStdDev(scores, nil)
	return Floor{Float(mean), Float(sd), len(scores)}
}

// NoiseFloor returns what a perfect memoriser would score: it draws n rows uniformly with replacement from the points
// train of dimension d, scores them, and repeats this draws times, at least twice. A model that scores clearly above
// the floor misses something; one at the floor cannot be told from the training rows by this score.
//
// The slice given to score is n×d and is overwritten by the next draw. Draw k depends on seed and k only.
func NoiseFloor(train []float64, d, n, draws int, seed uint64, score func(sample []float64) float64) Floor {
	rows := rowsOf("NoiseFloor", train, d)
	if rows == 0 || n < 1 || draws < 2 {
		panic(fmt.Sprintf("metric: noise floor from %d draws of %d of %d rows", draws, n, rows))
	}
	sample := make([]float64, n*d)
	scores := make([]float64, draws)
	for k := range scores {
		stream := keyed.FloorDraws.Stream(seed, uint64(k))
		for i := range n {
			r := stream.Index(rows, uint64(i), 0)
			copy(sample[i*d:(i+1)*d], train[r*d:(r+1)*d])
		}
		scores[k] = score(sample)
	}
	return NewFloor(scores)
}

// Rows that NewDraws needs, and in how many orders it takes them.
const (
	leastHalved = 32
	halvings    = 20
)

// NewDraws estimates what a perfect model would score: n new draws of the law that the m rows, of dimension d, are
// draws of, against those rows, and so for each part of a score. Unlike copies of rows (NoiseFloor) they share none
// with the rows, which are draws too. So are a = min(n, m/2) of the rows in a random order and the m − a others. A
// distance between sets of p and q draws falls as h^−b, h = 2/(1/p + 1/q), b from 0 to 1 (½ where it is a root and
// cells hold many), so with D of these two sets and D₂ of half of each
//
//	D (h/h₀)^−b,   b = log₂(D₂/D),   h₀ = 2/(1/a + 1/(m − a)),   h = 2/(1/n + 1/m).
//
// Means are over 20 orders of the rows, a function of the seed. Of up to as many draws as rows it is within a tenth
// of the truth of multinomial laws from 20 to 20 000 cells; of ten times as many up to a sixth above it where most
// cells are empty. Rows that repeat others, as of a slow chain, make both sets too alike, and it too low. It is NaN of
// fewer than 32 rows, or where a score is not finite.
func NewDraws(rows []float64, d, n int, seed uint64, score func(x, y []float64) []float64) []Float {
	m := rowsOf("NewDraws", rows, d)
	a := min(n, m/2)
	order, mixed := make([]int, m), make([]float64, len(rows))
	var whole, half []float64
	add := func(sum *[]float64, p, q int) {
		scores := score(mixed[:p*d], mixed[p*d:(p+q)*d])
		if *sum == nil {
			*sum = make([]float64, len(scores))
		}
		for k, v := range scores {
			(*sum)[k] += v / halvings
		}
	}
	known := m >= leastHalved && n >= 2
	times := halvings
	if !known { // score says how many parts there are
		times = 1
	}
	for k := range times {
		keyed.HalvedRows.Stream(seed, 0).Permutation(order, uint64(k), 0)
		for i, row := range order {
			copy(mixed[i*d:(i+1)*d], rows[row*d:(row+1)*d])
		}
		add(&whole, a, m-a)
		add(&half, a/2, (m-a)/2)
	}
	harmonic := func(p, q int) float64 { return 2 / (1/float64(p) + 1/float64(q)) }
	out := make([]Float, len(whole))
	for k, D := range whole {
		b := min(max(math.Log2(half[k]/D), 0), 1)
		out[k] = Float(D * math.Pow(harmonic(n, m)/harmonic(a, m-a), -b))
		if D == 0 {
			out[k] = 0
		}
		if !known || math.IsInf(float64(out[k]), 0) {
			out[k] = NaN
		}
	}
	return out
}
