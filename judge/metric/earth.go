package metric

import (
	"fmt"
	"math"
)

// EarthBins is the number of bins of EarthHistogram along the latitude, and along the longitude.
const EarthBins = 30

// earthEmpty is added to each bin of a normalised Earth histogram before two
// of them are compared, as in the published evaluation.
const earthEmpty = 1e-10

// EarthHistogram counts points on the sphere in EarthBins × EarthBins equal cells of latitude in [−90°, 90°] and
// longitude in [−180°, 180°], and returns the counts: latitude i, longitude j at EarthBins·i + j, both growing. Points
// are rows (x, y, z) with z along the north pole and longitude 0 on the x axis; only their direction counts. A bin
// holds its lower edge, the last one both. Rows with a coordinate that is not finite are left out.
//
// An edge takes in what lies within 1e-10 of a bin below it. Catalogues of whole degrees put many places on edges,
// where the last bit of a sine would otherwise choose the bin.
//
// The counts go to dst, which is overwritten; a nil dst is allocated.
func EarthHistogram(dst, x []float64) []float64 {
	rowsOf("EarthHistogram", x, 3)
	if dst == nil {
		dst = make([]float64, EarthBins*EarthBins)
	}
	if len(dst) != EarthBins*EarthBins {
		panic(fmt.Sprintf("metric: Earth histogram of %d bins, want %d", len(dst), EarthBins*EarthBins))
	}
	clear(dst)
	for ; len(x) > 0; x = x[3:] {
		if !finite(x[:3]) {
			continue
		}
		lat := math.Atan2(x[2], math.Hypot(x[0], x[1]))
		lon := math.Atan2(x[1], x[0])
		i := earthBin(lat/math.Pi + 0.5)
		j := earthBin(lon/(2*math.Pi) + 0.5)
		dst[EarthBins*i+j]++
	}
	return dst
}

// earthBin returns the bin of the share u ∈ [0, 1] of an axis.
func earthBin(u float64) int { return min(int(u*EarthBins+1e-10), EarthBins-1) }

// EarthJSD returns the JSDistance between the Earth histograms of the points a and b, each normalised to sum 1 and then
// raised by 1e-10 in every bin. It is NaN if either has no finite row. Empty cells make it depend on the number of
// points: compare it with the NoiseFloor of the same number.
func EarthJSD(a, b []float64) float64 {
	p, q := EarthHistogram(nil, a), EarthHistogram(nil, b)
	raise(p)
	raise(q)
	return JSDistance(p, q)
}

// raise normalises the counts h and adds earthEmpty to each.
func raise(h []float64) {
	sum := mass(h)
	for i := range h {
		h[i] = h[i]/sum + earthEmpty
	}
}

// finite reports whether no element of x is infinite or NaN.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return false
		}
	}
	return true
}
