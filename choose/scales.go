package choose

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
)

// The smallest scale of a law, from how many rows N(r) lie within r of a row. Where the density is
// even, N ∝ r^m, m = Dim; beyond the width of a mode N stops growing, until other modes come within
// reach. Of two points of a Gaussian with standard deviation σ, |x − y|²/2σ² is χ² of m degrees of
// freedom: N ∝ P(m/2, y) with y = r²/4σ², P the regularised incomplete gamma function. So at each of
// some rows: of the radii r_k that hold k = 16, 32, 64, … rows, the first from which N doubles with a
// slope ln 2/ln(r_2k/r_k) of at most m/2. There σ = r_k/2√y, from
//
//	P(m/2, (r_2k/r_k)² y) = 2 P(m/2, y),
//
// whatever share of the rows the mode has. Where nothing is near the mode and r_2k is far off, y tends
// to the median, and σ to that of a mode that holds k to 2k rows.
//
// Of an even law ln r_2k/r_k has the mean ln 2/m and 1/√(2k) of 1/m for a standard deviation, 26 % of
// the mean where k = 16: a slope halved by chance is four of them away, one in a thousand. A quantile
// over rows sees a mode of 7 % of the rows or more. In many dimensions r hardly grows from r_k to r_2k
// and slopes are small from the beginning; the same equation holds.
const (
	fewest  = 16      // k of the first radius
	between = 512     // rows whose neighbours are looked at
	ladder  = 1 << 16 // rows among which neighbours are counted
	pairing = 1e9     // operations that distances may take
)

// scales measures distances between rows.
func (m *Measures) scales(t *table, pool *parallel.Pool) {
	f := len(t.free)
	m.Narrow = m.Spread / math.Sqrt(float64(max(m.Dim, 1)))
	if f == 0 {
		return
	}
	work := float64(f + 8)
	all := t.distinct(max(between, int(pairing/(between/4*work))))
	n := len(all) / f
	queries := max(min(n, between/4), min(n, between, int(pairing/(float64(n)*work))))
	total := n
	if n < len(t.order) {
		total = t.count()
	}
	if n < total {
		m.note("neighbours are looked for among %d of %d rows; their distances are scaled by (%d/%d)^(1/%d)", n, total, n,
			total, m.Dim)
	}
	near := one * m.Spread / t.size
	nearest, narrow := make([]float64, queries), make([]float64, queries)
	scratch := make([][]float64, pool.Workers())
	pool.Do(queries, func(worker, q int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float64, 0, min(n, ladder))
		}
		x, best, away := all[q*f:(q+1)*f], inf, scratch[worker]
		for i := range n {
			s := 0.0
			for j, v := range all[i*f : (i+1)*f] {
				s += (v - x[j]) * (v - x[j])
			}
			if s > near*near {
				best = min(best, s)
				if i < ladder {
					away = append(away, s)
				}
			}
		}
		nearest[q], narrow[q] = math.Sqrt(best), width(away, m.Dim)
	})
	m.Nearest, m.NearestMedian = metric.Quantile(nearest, low)*t.size, metric.Median(nearest)*t.size
	if shrunk := math.Pow(float64(n)/float64(total), 1/float64(max(m.Dim, 1))); shrunk < 1 {
		m.Nearest, m.NearestMedian = m.Nearest*shrunk, m.NearestMedian*shrunk
	}
	if math.IsInf(m.Nearest, 1) {
		m.Nearest, m.NearestMedian = 0, 0
		m.note("all rows are one point: there is no other row")
	}
	if n <= 2*fewest {
		m.note("%d rows are too few to tell a scale below their spread", n)
	}
	m.Narrow = min(m.Narrow, metric.Quantile(narrow, low)*t.size)
}

// count returns how many rows are distinct.
func (t *table) count() (n int) {
	for k, i := range t.order {
		row := t.at(i)
		if k == 0 || slices.ContainsFunc(t.free, func(j int) bool { return row[j] != t.at(t.order[k-1])[j] }) {
			n++
		}
	}
	return n
}

// width returns σ of the part of the law about a row, +Inf if its rows are even, from the squared
// distances of the other rows, which it reorders.
func width(s []float64, dim int) float64 {
	if dim == 0 {
		return inf
	}
	var kth [48]float64 // r_k² of k = 16, 32, 64, …
	steps := 0
	for fewest<<steps <= len(s) {
		steps++
	}
	for i := steps - 1; i >= 0; i-- { // the largest first: those below it hold the rest
		k := fewest << i
		kth[i] = selected(s, k-1)
		s = s[:k]
	}
	m := float64(dim)
	for i := range steps - 1 {
		grown := 0.5 * math.Log(kth[i+1]/kth[i]) // ln r_2k/r_k
		if slope := math.Ln2 / grown; slope <= m/2 {
			return math.Sqrt(kth[i]) / (2 * math.Sqrt(doubling(m/2, kth[i+1]/kth[i])))
		}
	}
	return inf
}

// doubling returns the y at which P(a, qy) = 2 P(a, y), for q^a > 2: there is one, since the logarithm
// of P(a, qy)/P(a, y) falls from a ln q to 0.
func doubling(a, q float64) float64 {
	lo, hi := 0.0, a+1 // beyond the median, where P(a, y) = 1/2
	for range 60 {
		if mid := (lo + hi) / 2; logGamma(a, q*mid)-logGamma(a, mid) > math.Ln2 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// logGamma returns ln P(a, y), by P(a, y) = e^−y y^a/Γ(a+1) Σ_k y^k/((a+1)(a+2) … (a+k)).
func logGamma(a, y float64) float64 {
	if y > a+10*math.Sqrt(a)+50 {
		return 0
	}
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-17*sum; k++ {
		term *= y / (a + k)
		sum += term
	}
	whole, _ := math.Lgamma(a + 1)
	return a*math.Log(y) - y - whole + math.Log(sum)
}

// selected reorders x so that none before number n is larger than it and none behind it smaller, and
// returns it (Hoare's FIND).
func selected(x []float64, n int) float64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := x[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
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
	return x[n]
}
