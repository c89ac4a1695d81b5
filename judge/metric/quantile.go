package metric

import "slices"

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
