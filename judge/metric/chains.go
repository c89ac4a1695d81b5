package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The diagnostics in this file are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization,
// folding, and localization: an improved R̂ for assessing convergence of MCMC", Bayesian Analysis 16 (2021). They look
// at one scalar at a time: chains[c][l] is its value in state l of chain c. Chains have equal length; each is cut into
// two halves (the middle draw of an odd length is not looked at), so that a drifting chain disagrees with itself. A
// result is NaN if a chain has fewer than 10 draws, a draw is not finite, or all draws are equal.

// SplitRhat returns the rank-normalised split-R̂: the larger of the R̂ of the draws (which sees chains in different
// places) and that of their distances from the median (which sees chains of different widths). It is near 1 for chains
// that have mixed; the paper asks for less than 1.01. It is +Inf if no chain moves and they differ.
func SplitRhat(chains [][]float64) float64 {
	if !usable(chains) {
		return math.NaN()
	}
	bulk := rhat(rankNormalise(split(chains)))
	folded := rhat(rankNormalise(split(fold(chains))))
	if math.IsNaN(folded) { // draws take two values at equal shares
		return bulk
	}
	return max(bulk, folded)
}

// ESS returns the bulk effective sample size: how many independent draws would fix the centre of the law as well as
// these do. It is ESSMean of the rank-normalised draws, and so is finite for laws without moments too.
func ESS(chains [][]float64) float64 {
	if !usable(chains) {
		return math.NaN()
	}
	return effective(rankNormalise(split(chains)))
}

// ESSMean returns the effective sample size of the mean of the draws as they are, S/τ for S draws of integrated
// autocorrelation time τ = 1 + 2 Σ_{t≥1} ρ_t, whose sum is cut and smoothed by Geyer's initial monotone sequence.
func ESSMean(chains [][]float64) float64 {
	if !usable(chains) {
		return math.NaN()
	}
	return effective(split(chains))
}

// MCSE returns the Monte Carlo standard error of the mean of all draws: their standard deviation over √ESSMean.
func MCSE(chains [][]float64) float64 {
	if !usable(chains) {
		return math.NaN()
	}
	return stat.StdDev(slices.Concat(chains...), nil) / math.Sqrt(ESSMean(chains))
}

// usable reports whether the diagnostics of the chains are defined. It panics
// if there are no chains, or their lengths differ.
func usable(chains [][]float64) bool {
	if len(chains) == 0 {
		panic("metric: no chains")
	}
	n := len(chains[0])
	for _, c := range chains {
		if len(c) != n {
			panic(fmt.Sprintf("metric: chains of %d and %d draws", n, len(c)))
		}
	}
	if n < 10 {
		return false
	}
	for _, c := range chains {
		if !dense.Finite(c) {
			return false
		}
	}
	for _, c := range split(chains) {
		for _, v := range c {
			if v != chains[0][0] {
				return true
			}
		}
	}
	return false
}

func split(chains [][]float64) [][]float64 {
	out := make([][]float64, 0, 2*len(chains))
	for _, c := range chains {
		h := len(c) / 2
		out = append(out, c[:h], c[len(c)-h:])
	}
	return out
}

// fold returns the distances of the draws from the median of all of them.
func fold(chains [][]float64) [][]float64 {
	s := slices.Concat(chains...)
	slices.Sort(s)
	centre := quantile(s, 0.5)
	out := make([][]float64, len(chains))
	for i, c := range chains {
		out[i] = make([]float64, len(c))
		for j, v := range c {
			out[i][j] = math.Abs(v - centre)
		}
	}
	return out
}

// rankNormalise replaces each of the S draws by Φ⁻¹((r − 3/8)/(S + 1/4)), where r is its rank among all of them from 1,
// the mean rank if there are ties.
func rankNormalise(chains [][]float64) [][]float64 {
	n := len(chains[0])
	pool := slices.Concat(chains...)
	order := make([]int, len(pool))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(pool[a], pool[b]) })
	z := make([]float64, len(pool))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && pool[order[hi]] == pool[order[lo]] {
			hi++
		}
		r := float64(lo+1+hi) / 2
		v := distuv.UnitNormal.Quantile((r - 0.375) / (float64(len(pool)) + 0.25))
		for _, i := range order[lo:hi] {
			z[i] = v
		}
		lo = hi
	}
	out := make([][]float64, len(chains))
	for i := range out {
		out[i] = z[i*n : (i+1)*n]
	}
	return out
}

// rhat returns √((n−1)/n + B/W), where W is the mean variance within chains of
// n draws and B the variance of their means. It is NaN if both are zero.
func rhat(chains [][]float64) float64 {
	n := float64(len(chains[0]))
	within, means := moments(chains)
	return math.Sqrt((n-1)/n + stat.Variance(means, nil)/within)
}

// moments returns the mean variance within chains and the mean of each.
func moments(chains [][]float64) (within float64, means []float64) {
	means = make([]float64, len(chains))
	for i, c := range chains {
		mean, variance := stat.MeanVariance(c, nil) // exactly 0 for equal numbers
		means[i] = mean
		within += variance / float64(len(chains))
	}
	return within, means
}

// effective returns the effective sample size of the mean of all chains.
//
// The autocorrelation at lag t is ρ_t = 1 − (W − γ_t)/V, where W is the mean variance within chains, γ_t their mean
// autocovariance and V = W (n−1)/n + B with B that of the means. Sums P_k = ρ_2k + ρ_2k+1 of a reversible chain are
// positive and decreasing (Geyer 1992), so the sum of ρ ends before the first P_k ≤ 0, or with the lags, and each P_k
// is bounded by the one before.
func effective(chains [][]float64) float64 {
	n := len(chains[0])
	draws := float64(n * len(chains))
	within, means := moments(chains)
	total := within*float64(n-1)/float64(n) + stat.Variance(means, nil)
	gamma := autocovariance(chains, means)
	rho := func(t int) float64 { return 1 - (within-gamma[t])/total }

	// ρ_0 is 1 by definition; the formula's has an error of order 1/n. Of the first pair left out, the even term is
	// kept, which makes the estimate better for chains whose ρ alternates in sign.
	even, odd := 1.0, rho(1)
	tau, bound := -1.0, math.Inf(1)
	for t := 2; even+odd > 0 && t < n-2; t += 2 {
		bound = min(bound, even+odd)
		tau += 2 * bound
		even, odd = rho(t), rho(t+1)
	}
	tau += max(even, 0)
	// Antithetic chains can do better than independent draws, but a τ near zero
	// or below is an accident of the estimate.
	return draws / max(tau, 1/math.Log10(draws))
}

// autocovariance returns the mean over chains of Σ_i (x_i − x̄)(x_{i+t} − x̄)/n
// for the lags t = 0 … n−1, by Fourier transforms padded with n zeros or more.
func autocovariance(chains [][]float64, means []float64) []float64 {
	n := len(chains[0])
	size := 1
	for size < 2*n {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	buf := make([]float64, size)
	coef := make([]complex128, size/2+1)
	power := make([]complex128, size/2+1)
	for i, c := range chains {
		clear(buf[n:])
		for j, v := range c {
			buf[j] = v - means[i]
		}
		for j, v := range fft.Coefficients(coef, buf) {
			power[j] += complex(real(v)*real(v)+imag(v)*imag(v), 0)
		}
	}
	gamma := fft.Sequence(buf, power)[:n]
	scale := 1 / (float64(size) * float64(n) * float64(len(chains)))
	for t := range gamma {
		gamma[t] *= scale
	}
	return gamma
}
