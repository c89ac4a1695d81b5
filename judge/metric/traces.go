package metric

import (
	"fmt"
	"math"
)

// TracePowers are the k of PowerTraces, those of the paper's SO(10) experiment.
var TracePowers = [4]int{1, 2, 4, 5}

// TraceBinning are the bins of TraceJSD: the density that empty ones are given is that of the published evaluation.
var TraceBinning = Bins{N: 100, Empty: 1e-10}

// PowerTraces writes tr S^k for k = 1, 2, 4, 5 of each of the row-major n×n matrices x: rows×4. A nil dst is allocated.
func PowerTraces(dst, x []float64, n int) []float64 {
	rows := rowsOf("PowerTraces", x, n*n)
	if dst == nil {
		dst = make([]float64, rows*len(TracePowers))
	}
	if len(dst) != rows*len(TracePowers) {
		panic(fmt.Sprintf("metric: room for %d power traces of %d matrices, want %d", len(dst), rows,
			rows*len(TracePowers)))
	}
	s2, s4 := make([]float64, n*n), make([]float64, n*n)
	for r := range rows {
		s, t := x[r*n*n:(r+1)*n*n], dst[r*len(TracePowers):(r+1)*len(TracePowers)]
		square(s2, s, n)
		square(s4, s2, n)
		clear(t)
		for i := range n {
			t[0] += s[i*n+i]
			t[1] += s2[i*n+i]
			t[2] += s4[i*n+i]
			for j := range n {
				t[3] += s4[i*n+j] * s[j*n+i]
			}
		}
	}
	return dst
}

// square writes S·S.
func square(dst, s []float64, n int) {
	clear(dst)
	for i := range n {
		for k := range n {
			w := s[i*n+k]
			for j, v := range s[k*n : (k+1)*n] {
				dst[i*n+j] += w * v
			}
		}
	}
}

// TraceJSD returns the JSDistance between the histograms of each power trace of two sets of matrices, given by their
// PowerTraces, and the mean of the four. A histogram has 100 equal bins between the smallest and the largest value of
// both sides, as a density, raised by 1e-10 in every bin. All are NaN if either side is empty or has a value that is
// not finite.
func TraceJSD(a, b []float64) (each [4]float64, mean float64) {
	rowsOf("TraceJSD", a, len(each))
	rowsOf("TraceJSD", b, len(each))
	for k := range each {
		each[k] = traceJSD(a, b, k)
		mean += each[k] / float64(len(each))
	}
	return each, mean
}

func traceJSD(ta, tb []float64, k int) float64 {
	if !finite(ta) || !finite(tb) {
		return math.NaN()
	}
	const powers = len(TracePowers)
	return TraceBinning.JSD(Column(ta, k, powers), Column(tb, k, powers))
}

// Column returns numbers k, k+d, k+2d … of x: the k-th of each row of d.
func Column(x []float64, k, d int) []float64 {
	out := make([]float64, 0, len(x)/d)
	for i := k; i < len(x); i += d {
		out = append(out, x[i])
	}
	return out
}
