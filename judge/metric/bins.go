package metric

import (
	"fmt"
	"math"
)

// Bins are the bins of a number's histogram: N of equal width over [Lo, Hi]. A bin
// holds its lower edge, the last one both.
type Bins struct {
	Lo, Hi float64 // equal: from the smallest to the largest value of all that is compared
	N      int

	// Circular numbers are the same after Hi − Lo, one period, and are moved into
	// the range by it. Others outside the range count in the first and last bin.
	Circular bool

	// Empty is added to the density of each bin, so that bins that one side leaves empty weigh little more than others.
	Empty float64
}

// JSD returns the JSDistance (the root of the divergence, natural logarithm) between the histograms of the numbers a
// and b, as densities raised by Empty. Values that are not finite have one more bin, of the same width. It is NaN if
// either side is empty.
func (h Bins) JSD(a, b []float64) float64 {
	if h.N < 1 || h.Hi < h.Lo {
		panic(fmt.Sprintf("metric: %d bins over [%g, %g]", h.N, h.Lo, h.Hi))
	}
	if len(a) == 0 || len(b) == 0 {
		return math.NaN()
	}
	h = h.Over(a, b)
	lost := !finite(a) || !finite(b)
	if h.Lo == h.Hi && !lost {
		return 0
	}
	return JSDistance(h.density(a, lost), h.density(b, lost))
}

// Over returns the bins with a range: their own, or that of the finite values.
func (h Bins) Over(values ...[]float64) Bins {
	if h.Lo < h.Hi {
		return h
	}
	h.Lo, h.Hi = math.Inf(1), math.Inf(-1)
	for _, x := range values {
		for _, v := range x {
			if v-v == 0 {
				h.Lo, h.Hi = min(h.Lo, v), max(h.Hi, v)
			}
		}
	}
	if h.Lo > h.Hi {
		h.Lo, h.Hi = 0, 0
	}
	return h
}

// Bin returns the bin of a finite value, for bins that have a range.
func (h Bins) Bin(v float64) int {
	if h.Circular {
		v = h.Wrap(v)
	}
	if v <= h.Lo { // and all of an empty range
		return 0
	}
	if v >= h.Hi {
		return h.N - 1
	}
	return min(int((v-h.Lo)/(h.Hi-h.Lo)*float64(h.N)), h.N-1)
}

// Wrap moves a value into [Lo, Hi) by whole periods.
func (h Bins) Wrap(v float64) float64 {
	if v >= h.Lo && v < h.Hi {
		return v
	}
	period := h.Hi - h.Lo
	if v -= period * math.Floor((v-h.Lo)/period); v < h.Lo || v >= h.Hi { // by round-off
		return h.Lo
	}
	return v
}

// Shares returns the share of the values in each bin, for bins that have a range.
// Values that are not finite are in none.
func (h Bins) Shares(values []float64) []float64 {
	out := make([]float64, h.N)
	for _, v := range values {
		if v-v == 0 {
			out[h.Bin(v)] += 1 / float64(len(values))
		}
	}
	return out
}

// density counts the values, and in one more bin those that are not finite if lost.
func (h Bins) density(values []float64, lost bool) []float64 {
	n := h.N
	if lost {
		n++
	}
	out := make([]float64, n)
	width := h.Hi - h.Lo
	if width == 0 {
		width = 1
	}
	weight := float64(h.N) / (float64(len(values)) * width)
	for _, v := range values {
		if v-v != 0 {
			out[h.N] += weight
			continue
		}
		out[h.Bin(v)] += weight
	}
	for i := range out {
		out[i] += h.Empty
	}
	return out
}
