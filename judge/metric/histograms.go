package metric

import (
	"cmp"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/dense"
)

// JSDivergence returns the Jensen–Shannon divergence of two histograms,
//
//	½ Σ p ln(p/m) + ½ Σ q ln(q/m),   m = (p + q)/2,
//
// in nats, between 0 and ln 2. The histograms are sets of non-negative weights of equal length and are normalised to
// sum 1 here. The result is NaN if a histogram sums to zero or a weight is negative or not finite.
func JSDivergence(p, q []float64) float64 {
	if len(p) != len(q) {
		panic(fmt.Sprintf("metric: histograms of %d and %d bins", len(p), len(q)))
	}
	sumP, sumQ := mass(p), mass(q)
	if math.IsNaN(sumP + sumQ) {
		return math.NaN()
	}
	var sum float64
	for i := range p {
		sum += jsTerm(p[i]/sumP, q[i]/sumQ)
	}
	return min(sum/2, math.Ln2)
}

// JSDistance returns the square root of JSDivergence: a metric on histograms, between 0 and √ln 2 ≈ 0.8326. It is the
// quantity that scipy.spatial.distance.jensenshannon returns by default.
func JSDistance(p, q []float64) float64 { return math.Sqrt(JSDivergence(p, q)) }

// mass returns the sum of the weights w, NaN where they are no histogram.
func mass(w []float64) float64 {
	var sum float64
	for _, v := range w {
		if !(v >= 0) {
			return math.NaN()
		}
		sum += v
	}
	if sum == 0 || math.IsInf(sum, 1) {
		return math.NaN()
	}
	return sum
}

// jsTerm returns p ln(p/m) + q ln(q/m) with m = (p + q)/2. The two terms nearly cancel where p ≈ q; with δ =
// (p−q)/(p+q) their sum is m (ln(1−δ²) + 2δ artanh δ) = m (δ² + O(δ⁴)), which does not.
func jsTerm(p, q float64) float64 {
	m := (p + q) / 2
	if m == 0 {
		return 0
	}
	if d := (p - q) / (p + q); math.Abs(d) < 0.5 {
		return m * (math.Log1p(-d*d) + 2*d*math.Atanh(d))
	}
	return xlog(p, p/m) + xlog(q, q/m)
}

// xlog returns x ln y, and 0 at x = 0.
func xlog(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

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
	lost := !dense.Finite(a) || !dense.Finite(b)
	if h.Lo == h.Hi && !lost {
		return 0
	}
	return JSDistance(h.density(a, lost), h.density(b, lost))
}

// largest bounds the ends of a range that follows from values, so that its span does not overflow. Values beyond count
// in the bins at its ends.
const largest = 1e300

// widened returns the range [lo, hi] that holds v too, within ±largest.
func widened(lo, hi, v float64) (float64, float64) {
	v = min(max(v, -largest), largest)
	return min(lo, v), max(hi, v)
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
				h.Lo, h.Hi = widened(h.Lo, h.Hi, v)
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
	return min(int((v/2-h.Lo/2)/(h.Hi/2-h.Lo/2)*float64(h.N)), h.N-1) // no span overflows
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
	width := cmp.Or(h.Hi-h.Lo, 1)
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

// planeEmpty is added to the density of each cell of a Plane before two histograms are
// compared, as in the published evaluation.
const planeEmpty = 1e-12

// A Plane is N × N equal cells over [Lo, Hi] of two numbers. A cell holds its lower edges,
// the last ones both; points outside count in the cells at the edge.
type Plane struct {
	Lo, Hi [2]float64
	N      int
}

// Around returns the plane over the range of points (n×2), widened on both sides by share of it. A number that does not
// vary has a range of 1. Points with a coordinate that is not finite are left out; without others it is [0, 1]².
func Around(points []float64, n int, share float64) Plane {
	p := Plane{N: n}
	for k := range 2 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := 0; i < len(points); i += 2 {
			if dense.Finite(points[i : i+2]) {
				lo, hi = widened(lo, hi, points[i+k])
			}
		}
		switch span := hi - lo; {
		case lo > hi:
			lo, hi = 0, 1
		case span == 0:
			lo, hi = lo-0.5, hi+0.5
		default:
			lo, hi = lo-share*span, hi+share*span
		}
		p.Lo[k], p.Hi[k] = lo, hi
	}
	return p
}

// JSD returns the JSDistance of the histograms of two sets of points (n×2), as densities raised by 1e-12. Points with a
// coordinate that is not finite have one more cell, of the same size. It is NaN if a set is empty. Empty cells make it
// depend on the number of points: compare it with the NoiseFloor of the same number.
func (p Plane) JSD(a, b []float64) float64 {
	if p.N < 1 || !(p.Lo[0] < p.Hi[0]) || !(p.Lo[1] < p.Hi[1]) {
		panic(fmt.Sprintf("metric: %d cells over %v to %v", p.N, p.Lo, p.Hi))
	}
	if rowsOf("Plane.JSD", a, 2) == 0 || rowsOf("Plane.JSD", b, 2) == 0 {
		return math.NaN()
	}
	return JSDistance(p.density(a), p.density(b))
}

func (p Plane) density(x []float64) []float64 {
	out := make([]float64, p.N*p.N+1)
	cell := (p.Hi[0] - p.Lo[0]) / float64(p.N) * (p.Hi[1] - p.Lo[1]) / float64(p.N)
	weight := 1 / (float64(len(x)/2) * cell)
	var axes [2]Bins
	for k := range axes {
		axes[k] = Bins{Lo: p.Lo[k], Hi: p.Hi[k], N: p.N}
	}
	for i := 0; i < len(x); i += 2 {
		at := p.N * p.N
		if dense.Finite(x[i : i+2]) {
			at = axes[0].Bin(x[i])*p.N + axes[1].Bin(x[i+1])
		}
		out[at] += weight
	}
	for i := range p.N * p.N { // the cell of what is not finite is there only if it is needed
		out[i] += planeEmpty
	}
	return out
}

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
func EarthHistogram(x []float64) []float64 {
	rowsOf("EarthHistogram", x, 3)
	counts := make([]float64, EarthBins*EarthBins)
	for ; len(x) > 0; x = x[3:] {
		if !dense.Finite(x[:3]) {
			continue
		}
		lat := math.Atan2(x[2], math.Hypot(x[0], x[1]))
		lon := math.Atan2(x[1], x[0])
		i := earthBin(lat/math.Pi + 0.5)
		j := earthBin(lon/(2*math.Pi) + 0.5)
		counts[EarthBins*i+j]++
	}
	return counts
}

// earthBin returns the bin of the share u ∈ [0, 1] of an axis.
func earthBin(u float64) int { return min(int(u*EarthBins+1e-10), EarthBins-1) }

// EarthJSD returns the JSDistance between the Earth histograms of the points a and b, each normalised to sum 1 and then
// raised by 1e-10 in every bin. It is NaN if either has no finite row. Empty cells make it depend on the number of
// points: compare it with the NoiseFloor of the same number.
func EarthJSD(a, b []float64) float64 {
	return JSDistance(raised(EarthHistogram(a), earthEmpty), raised(EarthHistogram(b), earthEmpty))
}

// raised normalises the counts h and adds empty to each; all are NaN where there are no counts.
func raised(h []float64, empty float64) []float64 {
	sum := mass(h)
	for i := range h {
		h[i] = h[i]/sum + empty
	}
	return h
}

// faceEmpty is added to each share of a face histogram before two of them are compared, as in the published evaluation.
const faceEmpty = 1e-12

// NearestFaces writes the number of the face nearest to each of the points x (n×3), and NaN for points without one
// (mesh.Tree.Nearest). Whole numbers as float64 are points in R¹, which NoiseFloor can draw.
func NearestFaces(dst []float64, x []float64, t *mesh.Tree) {
	if n := rowsOf("NearestFaces", x, 3); len(dst) != n {
		panic(fmt.Sprintf("metric: %d faces for %d points", len(dst), n))
	}
	for i := range dst {
		dst[i] = math.NaN()
		if f, _, _ := t.Nearest([3]float64(x[3*i : 3*i+3])); f >= 0 {
			dst[i] = float64(f)
		}
	}
}

// FaceJSD returns the JSDivergence (not its root) of two sets of points given by their nearest faces out of a number:
// shares of points, each raised by 1e-12. Points without a face (NaN) are left out; it is NaN if a set has no others.
// Empty faces make it depend on the number of points: compare it with the NoiseFloor of the same number.
func FaceJSD(a, b []float64, faces int) float64 {
	shares := func(face []float64) []float64 {
		count := make([]float64, faces)
		for _, f := range face {
			if !math.IsNaN(f) {
				count[int(f)]++
			}
		}
		return raised(count, faceEmpty)
	}
	return JSDivergence(shares(a), shares(b))
}

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
		dense.Mul(s2, s, s, n)
		dense.Mul(s4, s2, s2, n)
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

// TraceJSD returns the JSDistance between the histograms of each power trace of two sets of matrices, given by their
// PowerTraces, and the mean of the four. A histogram has 100 equal bins between the smallest and the largest value of
// both sides, as a density, raised by 1e-10 in every bin. All are NaN if either side is empty or has a value that is
// not finite.
func TraceJSD(a, b []float64) (each [4]float64, mean float64) {
	rowsOf("TraceJSD", a, len(each))
	rowsOf("TraceJSD", b, len(each))
	finite := dense.Finite(a) && dense.Finite(b)
	for k := range each {
		if each[k] = math.NaN(); finite {
			each[k] = TraceBinning.JSD(Column(a, k, len(each)), Column(b, k, len(each)))
		}
		mean += each[k] / float64(len(each))
	}
	return each, mean
}

// Column returns numbers k, k+d, k+2d … of x: the k-th of each row of d.
func Column(x []float64, k, d int) []float64 {
	out := make([]float64, 0, len(x)/d)
	for i := k; i < len(x); i += d {
		out = append(out, x[i])
	}
	return out
}
