package metric

import (
	"fmt"
	"math"
)

// TracePowers are the k of PowerTraces, those of the paper's SO(10) experiment.
var TracePowers = [4]int{1, 2, 4, 5}

const traceEmpty = 1e-10 // added to each bin's density, as in the published evaluation

// PowerTraces writes tr S^k for k = 1, 2, 4, 5 of each of the row-major n×n
// matrices x: rows×4. A nil dst is allocated.
func PowerTraces(dst, x []float64, n int) []float64 {
	rows := rowsOf("PowerTraces", x, n*n)
	if dst == nil {
		dst = make([]float64, rows*len(TracePowers))
	}
	if len(dst) != rows*len(TracePowers) {
		panic(fmt.Sprintf("metric: room for %d power traces of %d matrices, want %d", len(dst), rows, rows*len(TracePowers)))
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

// PowerTraceJSD returns TraceJSD of the power traces of the n×n matrices a and b.
func PowerTraceJSD(a, b []float64, n int) (each [4]float64, mean float64) {
	return TraceJSD(PowerTraces(nil, a, n), PowerTraces(nil, b, n))
}

// TraceBins is the number of bins of TraceJSD.
const TraceBins = 100

// TraceJSD returns the JSDistance between the histograms of each power trace of
// two sets of matrices, given by their PowerTraces, and the mean of the four. A
// histogram has 100 equal bins between the smallest and the largest value of both
// sides, as a density, raised by 1e-10 in every bin. All are NaN if either side is
// empty or has a value that is not finite.
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
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, t := range [][]float64{ta, tb} {
		if len(t) == 0 || !finite(t) {
			return math.NaN()
		}
		for i := k; i < len(t); i += len(TracePowers) {
			lo, hi = min(lo, t[i]), max(hi, t[i])
		}
	}
	if lo == hi {
		return 0
	}
	return JSDistance(traceDensity(ta, k, lo, hi), traceDensity(tb, k, lo, hi))
}

// traceDensity bins [lo, hi]; a bin holds its lower edge, the last one both.
func traceDensity(t []float64, k int, lo, hi float64) []float64 {
	h := make([]float64, TraceBins)
	count := len(t) / len(TracePowers)
	weight := TraceBins / (float64(count) * (hi - lo))
	for i := k; i < len(t); i += len(TracePowers) {
		h[min(int((t[i]-lo)/(hi-lo)*TraceBins), TraceBins-1)] += weight
	}
	for i := range h {
		h[i] += traceEmpty
	}
	return h
}
