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

	"gonum.org/v1/gonum/stat"
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
	n, m := float64(len(a)), float64(len(b))
	return D, min(1, 2*math.Exp(-2*D*D*n*m/(n+m)))
}

// median returns the median of x, which may hold +Inf but neither −Inf nor NaN. It
// leaves x as it is, and panics if x is empty.
func median(x []float64) float64 {
	if len(x) == 0 {
		panic("metric: the median of no numbers")
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return quantile(s, 0.5)
}

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
