package choose

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

// The smallest scale of a law, from how many rows N(r) lie within r of a row. Where the density is even, N ∝ r^m, m =
// Dim; beyond the width of a mode N stops growing, until other modes come within reach. Of two points of a Gaussian
// with standard deviation σ, |x − y|²/2σ² is χ² of m degrees of freedom: N ∝ P(m/2, y) with y = r²/4σ², P the
// regularised incomplete gamma function. So at each of some rows: of the radii r_k that hold k = 16, 32, 64, … rows,
// the first from which N doubles with a slope ln 2/ln(r_2k/r_k) of at most m/2. There σ = r_k/2√y, from
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

	members   = 256 // rows of a part whose covariance is taken, or
	enough    = 4   // times the dimension
	direction = 1e9 // operations that covariances may take
)

// scales measures distances between rows.
func (m *Measures) scales(s *survey, t *table) error {
	f := len(t.free)
	whole := m.Spread / math.Sqrt(float64(max(m.Dim, 1)))
	m.Narrow, m.Mode = whole, whole
	if f == 0 {
		return nil
	}
	work := float64(f + 8)
	all, rows := t.distinct(max(between, int(pairing/(between/4*work))))
	n := len(all) / f
	queries := max(min(n, between/4), min(n, between, int(pairing/(float64(n)*work))))
	near := one * m.Spread / t.size
	nearest, parts := make([]float64, queries), make([]part, queries)
	scratch := make([][]float64, s.pool.Workers())
	err := s.pool.DoUntil(s.ctx, queries, func(worker, q int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float64, 0, min(n, ladder))
		}
		x, best, away := all[q*f:(q+1)*f], inf, scratch[worker]
		for i := range n {
			r := dense.SquaredDistance(x, all[i*f:(i+1)*f])
			if r > near*near {
				best = min(best, r)
				if i < ladder {
					away = append(away, r)
				}
			}
		}
		nearest[q], parts[q] = math.Sqrt(best), partAbout(away, m.Dim)
	})
	if err != nil {
		return err
	}
	if math.IsInf(metric.Quantile(nearest, low), 1) {
		m.note("all rows are one point: there is no other row")
	}
	if 1 < n && n <= 2*fewest {
		m.note("%d different rows are too few to tell a scale below their spread", n)
	}
	narrow := make([]float64, queries)
	for q, p := range parts {
		narrow[q] = min(p.σ, whole/t.size)
	}
	thin := m.thinness(s, t, all[:min(n, ladder)*f], rows, parts)
	for q, σ := range thin {
		thin[q] = min(σ, narrow[q])
	}
	m.Mode = metric.Quantile(narrow, low) * t.size
	m.Narrow = m.Mode
	if len(thin) > 0 {
		m.Narrow = min(m.Mode, metric.Quantile(thin, low)*t.size)
	}
	return s.ctx.Err()
}

// A part of a law, about a row: its standard deviation σ, +Inf if all rows are even, and the squared radius r² of rows
// to take a covariance of. They are those that gave σ, unless there are too few for it and it is of more.
type part struct {
	σ, r2 float64
	more  bool
}

// partAbout returns the part about a row, from the squared distances of the other rows, which it reorders.
func partAbout(s []float64, dim int) part {
	if dim == 0 {
		return part{σ: inf, r2: inf}
	}
	var kth [48]float64 // r_k² of k = 16, 32, 64, …
	steps := 0
	for fewest<<steps <= len(s) {
		steps++
	}
	for i := steps - 1; i >= 0; i-- { // the largest first: those below it hold the rest
		k := fewest << i
		kth[i] = metric.Select(s, k-1)
		s = s[:k]
	}
	m := float64(dim)
	for i := range steps - 1 {
		grown := 0.5 * math.Log(kth[i+1]/kth[i]) // ln r_2k/r_k
		if slope := math.Ln2 / grown; slope <= m/2 {
			p := part{σ: math.Sqrt(kth[i]) / (2 * math.Sqrt(doubling(m/2, kth[i+1]/kth[i]))), r2: kth[i]}
			for ; i < steps && fewest<<i < enough*dim; i++ {
				p.r2, p.more = inf, true
				if i+1 < steps {
					p.r2 = kth[i+1]
				}
			}
			return p
		}
	}
	return part{σ: inf, r2: inf}
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

// A part may be thin: wide along some tangents and narrow along others, where counts see little but
// the geometric mean. thinness returns σ√(λ_min/λ_mean) of the first of the parts, in units of size, λ the
// eigenvalues of the covariance of their rows along the tangent space at the row that they are about: the
// least of the standard deviations. Where the covariance is of more rows than gave σ it is √λ_min.
//
// Of K rows of an even part in m dimensions λ_min/λ_mean is about (1 − √(m/K))² (Marchenko and Pastur
// 1967), which is taken out.
func (m *Measures) thinness(s *survey, t *table, all []float64, rows []int32, parts []part) []float64 {
	f := len(t.free)
	most := max(members, enough*m.Dim)
	work := float64(min(most, len(all)/f)*f*f + f*f*f)
	count := min(len(parts), int(direction/work))
	if m.Dim < 2 || count < 4 {
		return nil
	}
	thin := make([]float64, count)
	_ = s.pool.DoUntil(s.ctx, count, func(worker, q int) {
		w := s.surveyor(worker)
		thin[q] = inf
		copy(w.x, t.at(rows[q]))
		if !w.land() || w.smooth.At(w.x, 1) != nil {
			return
		}
		x := all[q*f : (q+1)*f]
		sums, products, k := make([]float64, f), mat.NewSymDense(f, nil), 0.0
		y := mat.NewVecDense(f, nil)
		for i := 0; i < len(all) && int(k) < most; i += f {
			if dense.SquaredDistance(x, all[i:i+f]) > parts[q].r2 {
				continue
			}
			for a, j := range t.free {
				w.v[j] = all[i+a] - x[a]
			}
			w.smooth.Tangent(w.v, w.v)
			for a, j := range t.free {
				y.SetVec(a, w.v[j])
			}
			dense.Axpy(sums, 1, y.RawVector().Data)
			products.SymRankOne(products, 1, y)
			k++
		}
		if k < 2*float64(m.Dim) {
			return
		}
		products.SymRankOne(products, -1/k, mat.NewVecDense(f, sums))
		least, mean, ok := m.eigenvalues(products)
		if !ok {
			return
		}
		few := 1 - math.Sqrt(float64(m.Dim)/k)
		if p := parts[q]; p.more {
			thin[q] = math.Sqrt(least/k) / few
		} else {
			thin[q] = min(p.σ, m.Spread/math.Sqrt(float64(m.Dim))/t.size) * math.Sqrt(least/mean) / few
		}
	})
	return thin
}

// eigenvalues returns the least of the Dim largest eigenvalues of a matrix, and their mean; it reports false
// if the matrix is 0 or has none.
func (m *Measures) eigenvalues(a *mat.SymDense) (least, mean float64, ok bool) {
	var eigen mat.EigenSym
	if !eigen.Factorize(a, false) {
		return 0, 0, false
	}
	λ := eigen.Values(nil) // ascending
	λ = λ[len(λ)-m.Dim:]
	for _, v := range λ {
		mean += v / float64(m.Dim)
	}
	return max(λ[0], 0), mean, mean > 0
}
