package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

const (
	spreadAxes    = 5    // principal directions
	spreadPoints  = 4000 // at most, on each side
	relabellings  = 1999
	leastVariance = 1e-12 // of an axis, of the largest's
)

// spread tells where samples lie further from their mean than rows from theirs, or nearer: in all, or
// along a principal direction of both together (of the rows' own directions, rows would have the
// largest spread by choice). Of points z about their own mean it compares the means of |z|² and ⟨u, z⟩²;
// the largest difference over all of these, each in its standard deviations, is held against as many
// relabellings, so that the level is that of all together. It is of the points that no finding has told of.
func (j *judge) spread() {
	d := j.Dim
	x, h := few(rest(j.Samples, d, j.outX), d, spreadPoints), few(rest(j.Rows, d, j.outR), d, spreadPoints)
	n, m := len(x)/d, len(h)/d
	if n < FewestHeld || m < FewestHeld {
		j.skip(Spread, "too few points are left beside what is found above")
		return
	}
	_, axes, _ := metric.Principal(slices.Concat(x, h), d, spreadAxes)
	columns := 1 + len(axes)
	z := squares(make([]float64, 0, (n+m)*columns), x, d, axes)
	z = squares(z, h, d, axes)
	mean, sd := make([]float64, columns), make([]float64, columns)
	for k := range columns {
		var sum, sum2 float64
		for i := range n + m {
			sum += z[i*columns+k]
		}
		mean[k] = sum / float64(n+m)
		for i := range n + m {
			sum2 += (z[i*columns+k] - mean[k]) * (z[i*columns+k] - mean[k])
		}
		sd[k] = math.Sqrt(sum2 / float64(n+m))
	}
	// The sum over one side says what that over the other is.
	side := min(n, m)
	sums := make([]float64, columns)
	largest := func(index func(i int) int) (most float64, at int) {
		clear(sums)
		for i := range side {
			for k, v := range z[index(i)*columns : (index(i)+1)*columns] {
				sums[k] += v
			}
		}
		for k, s := range sums {
			if mean[k] <= leastVariance*mean[0] || sd[k] == 0 {
				continue
			}
			if t := math.Abs(s/float64(side)-mean[k]) / sd[k]; t > most {
				most, at = t, k
			}
		}
		return most, at
	}
	first := 0
	if m < n {
		first = n
	}
	given, at := largest(func(i int) int { return first + i })
	if given == 0 {
		return
	}
	extreme := 1
	st, order := keyed.SpreadLabels.Stream(j.Seed, 0), make([]int, n+m)
	for r := range relabellings {
		st.Permutation(order, uint64(r), 0)
		if t, _ := largest(func(i int) int { return order[i] }); t >= given*(1-1e-12) {
			if extreme++; float64(extreme) > levels[Spread]*(relabellings+1) {
				return
			}
		}
	}
	p := float64(extreme) / (relabellings + 1)
	along := "in all"
	if at > 0 {
		along = fmt.Sprintf("along principal direction %d", at)
	}
	column := func(lo, hi int) (out []float64, mean float64) {
		for i := lo; i < hi; i++ {
			out = append(out, z[i*columns+at])
			mean += z[i*columns+at] / float64(hi-lo)
		}
		return out, mean
	}
	a, own := column(0, n)
	b, rows := column(n, n+m)
	D, _ := metric.KolmogorovTest(a, b)
	how := "too far apart"
	if own < rows {
		how = "too close together"
	}
	effect := max(0, excess(D, n, m)-j.law)
	j.law += effect
	if far := max(floats.Max(j.Rows), -floats.Min(j.Rows)); !(math.Sqrt(rows) > 1e-12*far) { // round-off
		same := "rows are all the same"
		if at > 0 {
			same = "rows do not differ " + along
		}
		j.tell(Spread, effect, "samples are %s: %s (p = %.4f)", how, same, p)
		return
	}
	j.tell(Spread, effect, "samples are %s: their spread (rms about the mean) is %.3g times that of the rows %s "+
		"(p = %.4f)", how, math.Sqrt(own/rows), along, p)
}

// squares appends |z|² and ⟨u, z⟩² of rows z about their mean, of n−1 degrees of freedom.
func squares(dst, x []float64, d int, axes [][]float64) []float64 {
	n := len(x) / d
	mean, _ := metric.Spread(x, d)
	free := float64(n) / float64(max(n-1, 1))
	for i := range n {
		row := x[i*d : (i+1)*d]
		dst = append(dst, free*dense.SquaredDistance(row, mean))
		for _, u := range axes {
			s := metric.Project(row, mean, u)
			dst = append(dst, free*s*s)
		}
	}
	return dst
}
