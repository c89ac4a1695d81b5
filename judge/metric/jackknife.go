package metric

import (
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

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

// Numbered returns the estimate of samples of which some are lost, so that each stands at its number.
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
