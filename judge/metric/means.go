package metric

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
)

// A MeansTest is the outcome of a test of two means.
type MeansTest struct {
	Difference Float `json:"difference"` // mean of a − mean of b
	SE         Float `json:"se"`         // √(s_a²/n + s_b²/m); null with fewer than two values on a side
	PValue     Float `json:"p_value"`    // null without a value on each side
	Least      Float `json:"least"`      // the smallest p that values so many can have
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
func CompareMeans(a, b []float64, seed uint64) MeansTest {
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
	if ways := choose(n+m, n); ways <= maxWays {
		combinations(all, n, 0, look)
		t.Least = 1 / Float(ways)
		if n == m { // each way has a mirror image
			t.Least *= 2
		}
		t.Least = min(1, t.Least)
	} else {
		var first float64
		for _, v := range a {
			first += v
		}
		look(first)
		order := make([]int, n+m)
		stream := keyed.Relabelling.Stream(seed, 0)
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

func (t MeansTest) String() string {
	return fmt.Sprintf("%+.4g ± %.2g, p = %.3g", float64(t.Difference), float64(t.SE), float64(t.PValue))
}

func squares(x []float64, mean float64) (sum float64) {
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// choose returns how many ways there are to choose k of n, as a float64: it may be large.
func choose(n, k int) float64 {
	out := 1.0
	for i := range min(k, n-k) {
		out = out * float64(n-i) / float64(i+1)
	}
	return math.Round(out)
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
