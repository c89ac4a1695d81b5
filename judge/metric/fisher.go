package metric

import "math"

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
	choose := func(n, k int) float64 {
		p, _ := math.Lgamma(float64(n + 1))
		q, _ := math.Lgamma(float64(k + 1))
		r, _ := math.Lgamma(float64(n - k + 1))
		return p - q - r
	}
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
