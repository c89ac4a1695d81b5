package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// TwoSample is the outcome of a two-sample test: the Statistic of N points against M, and the share PValue of
// relabellings that are at least as extreme, the given one among them. Floor is the statistic of those relabellings:
// what two samples of one law score, pooled points being that law. Its SD is NaN for a single relabelling.
type TwoSample struct {
	Statistic Float `json:"statistic"`
	Floor
	PValue Float `json:"p_value"`
	N      int   `json:"samples"`
	M      int   `json:"held_out"`
}

// NoTest is a test that was not made.
func NoTest() TwoSample {
	return TwoSample{Statistic: NaN, Floor: Floor{Mean: NaN, SD: NaN}, PValue: NaN}
}

// EnergyTest asks whether the points x and y of dimension d come from the same law. Its statistic is the energy
// distance (Székely and Rizzo, Journal of Statistical Planning and Inference 143, 2013),
//
//	2 mean|x_i − y_j| − mean|x_i − x_j| − mean|y_i − y_j| ≥ 0,
//
// in units of x, means over all pairs of points, each with itself included. It
// tells any two laws of finite mean apart, given points enough.
//
// The p-value is (1 + #{T* ≥ T})/(1 + permutations) over random relabellings T* of the pooled points: exact at any
// size, never 0. All are NaN if a point is not finite.
//
// Of x and y at most maxPoints points each, chosen at random, are used; memory grows with the square of their number (4
// maxPoints² numbers at most), and each permutation costs half the square of the smaller sample's size.
func EnergyTest(x, y []float64, d, maxPoints, permutations int, seed uint64) TwoSample {
	p := newPool("EnergyTest", x, y, d, maxPoints, seed)
	return newEnergy(p.rows, d, min(p.n, p.m), math.Sqrt).relabelled(p, permutations, seed)
}

// A pool is n points and, after them, m others, and the clusters that they came in; nil: each came alone.
type pool struct {
	rows         []float64
	n, m         int
	unitN, unitM []int
}

// newPool takes at most maxPoints points of each at random. It looks for clusters among more points: a few points from
// clusters may look independent.
func newPool(test string, x, y []float64, d, maxPoints int, seed uint64) *pool {
	p := &pool{n: min(rowsOf(test, x, d), maxPoints), m: min(rowsOf(test, y, d), maxPoints)}
	if p.n < 1 || p.m < 1 {
		panic(fmt.Sprintf("metric: %s of %d and %d points, at most %d each", test, len(x)/d, len(y)/d, maxPoints))
	}
	stream, look := keyed.Subsample.Stream(seed, 0), UnitRows(d)
	take := func(x []float64, n int, sample uint64) []float64 {
		if n == len(x)/d {
			return x
		}
		order := make([]int, len(x)/d)
		stream.Permutation(order, sample, 0)
		return appendRows(nil, x, d, order[:min(max(n, look), len(order))])
	}
	x, y = take(x, p.n, 0), take(y, p.m, 1)
	p.rows = slices.Concat(x[:p.n*d], y[:p.m*d])
	if p.unitN, p.unitM = Clusters(x, y, d); p.unitM != nil {
		p.unitN, p.unitM = p.unitN[:p.n], p.unitM[:p.m]
	}
	return p
}

// relabelled is the test of the first n of n + m points against the others, by random relabellings. Points that came
// together (Clusters) stay together.
func (e *energy) relabelled(p *pool, times int, seed uint64) TwoSample {
	n, m := p.n, p.m
	// The statistic does not care which sample is called the first.
	first := make([]bool, n+m)
	lo := 0
	if m < n {
		lo = n
	}
	for i := lo; i < lo+e.n; i++ {
		first[i] = true
	}
	relabel := NewRelabelling(p.unitN, p.unitM, n, m, keyed.Relabelling.Stream(seed, 0))
	order := make([]int, n+m)
	return e.test(first, n, m, times, func(k int) {
		relabel.Fill(order, k)
		clear(first)
		for _, i := range order[:e.n] {
			first[i] = true
		}
	})
}

// test is the outcome of a test of n points against m, those marked first against the others:
// relabel marks others, times times.
func (e *energy) test(first []bool, n, m, times int, relabel func(k int)) TwoSample {
	if times < 1 {
		panic(fmt.Sprintf("metric: a test of %d relabellings", times))
	}
	var given [1]float64
	e.statistics(given[:], [][]int32{marked(nil, first)})
	statistic := given[0]
	t := TwoSample{Statistic: Float(e.told(statistic)), Floor: Floor{NaN, NaN, times}, PValue: NaN, N: n, M: m}
	if math.IsNaN(statistic) {
		return t
	}
	// Relabellings that tie in exact arithmetic must count as ties.
	bar := statistic - 1e-12*e.total/float64(len(first)*len(first))
	relabelled, extreme := make([]float64, times), 1
	samples := make([][]int32, min(times, together))
	for k := 0; k < times; k += together {
		some := relabelled[k:min(k+together, times)]
		for i := range some {
			relabel(k + i)
			samples[i] = marked(samples[i][:0], first)
		}
		e.statistics(some, samples[:len(some)])
	}
	for _, v := range relabelled {
		if v >= bar {
			extreme++
		}
	}
	t.PValue = Float(extreme) / Float(1+times)
	for k, v := range relabelled {
		relabelled[k] = e.told(v)
	}
	t.Floor = NewFloor(relabelled)
	return t
}

// appendRows appends the rows of x with these numbers to dst.
func appendRows(dst, x []float64, d int, numbers []int) []float64 {
	for _, i := range numbers {
		dst = append(dst, x[i*d:(i+1)*d]...)
	}
	return dst
}

// energy holds what the relabellings of a pool of points share.
type energy struct {
	n     int       // size of the first sample, the smaller one
	dist  []float64 // distances of all pairs, symmetric
	sums  []float64 // sums of the rows of dist
	total float64   // sum of sums

	told func(statistic float64) float64 // as it is reported: a function that never falls
}

// newEnergy prepares the relabellings of the points into n and the rest; the distance of two is a function of the
// square of that in R^d, 0 at 0.
func newEnergy(points []float64, d, n int, of func(squared float64) float64) *energy {
	size := len(points) / d
	e := &energy{n: n, dist: make([]float64, size*size), sums: make([]float64, size),
		told: func(statistic float64) float64 { return statistic }}
	for i := range size {
		for j := range i {
			r := of(dense.SquaredDistance(points[i*d:(i+1)*d], points[j*d:(j+1)*d]))
			e.dist[i*size+j], e.dist[j*size+i] = r, r
			e.sums[i] += r
			e.sums[j] += r
		}
	}
	e.total = floats.Sum(e.sums)
	return e
}

// together is how many relabellings are measured at a time. A row of distances is read from memory once for all of
// them: a thousand relabellings of two thousand points take a quarter of the time that one after the other takes.
const together = 16

// marked appends the numbers of the points that are marked to dst.
func marked(dst []int32, first []bool) []int32 {
	for i, in := range first {
		if in {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// statistics sets dst to the energy distances between samples of points, whose numbers rise, and the other points.
// There are at most together. Only the pairs within a sample, XX, are summed: its rows' sums are XX + XY, and total is
// XX + 2XY + YY. It reads what one goroutine has made, half a million numbers a relabelling: the race detector need not
// look at each of them.
//
//go:norace
func (e *energy) statistics(dst []float64, samples [][]int32) {
	var half, rows [together]float64
	var seen [together]int
	size := len(e.sums)
	for i, sum := range e.sums {
		row := e.dist[i*size:][:size]
		for s, sample := range samples {
			k := seen[s]
			if k == len(sample) || sample[k] != int32(i) {
				continue
			}
			seen[s]++
			rows[s] += sum
			// Four sums that do not wait for each other.
			var a, b, c, d float64
			before := sample[:k]
			for ; len(before) >= 4; before = before[4:] {
				a += row[before[0]]
				b += row[before[1]]
				c += row[before[2]]
				d += row[before[3]]
			}
			for _, j := range before {
				a += row[j]
			}
			half[s] += (a + b) + (c + d)
		}
	}
	n, m := float64(e.n), float64(size-e.n)
	for s := range dst {
		xx := 2 * half[s]
		xy := rows[s] - xx
		yy := e.total - xx - 2*xy
		dst[s] = 2*xy/(n*m) - xx/(n*n) - yy/(m*m)
	}
}

// MMDTest compares the points x and y of dimension d by the maximum mean discrepancy of a Gaussian kernel (Gretton
// and others, Journal of Machine Learning Research 13, 2012),
//
//	MMD² = mean k(x_i, x_j) + mean k(y_i, y_j) − 2 mean k(x_i, y_j),  k(u, v) = exp(−|u − v|²/(2ℓ²)),
//
// means over all pairs, each point with itself included: MMD² ≥ 0, and about 2(1 − mean k)/n for n points each of
// one law, which the floor shows. The statistic is MMD. ℓ² is the median of |y_i − y_j|² over the pairs of the
// data y: it does not depend on x, so that several x are measured by one kernel. Distances are those of R^d.
//
// At most maxPoints points of each are used. MMDTest is EnergyTest with the distance 1 − k, so that p-value and floor
// are the same. All are NaN if a point is not finite, or if half of the points of y are one.
func MMDTest(x, y []float64, d, maxPoints, permutations int, seed uint64) TwoSample {
	p := newPool("MMDTest", x, y, d, maxPoints, seed)
	e := newEnergy(p.rows, d, min(p.n, p.m), gaussian(p.rows[p.n*d:], d))
	e.told = func(squared float64) float64 { return math.Sqrt(max(0, squared)) }
	return e.relabelled(p, permutations, seed)
}

// gaussian returns 1 − exp(−r²/(2ℓ²)) as a function of r², ℓ being the median distance of two rows.
func gaussian(rows []float64, d int) func(squared float64) float64 {
	var squares []float64
	for i := range len(rows) / d {
		for j := range i {
			squares = append(squares, dense.SquaredDistance(rows[i*d:(i+1)*d], rows[j*d:(j+1)*d]))
		}
	}
	width := Median(squares)
	if !(width > 0) || width-width != 0 { // one row, or rows that are one
		return func(float64) float64 { return math.NaN() }
	}
	return func(squared float64) float64 { return -math.Expm1(-squared / (2 * width)) }
}

// PairedTest asks whether x_i and y_i, rows of d numbers, come from the same law given what the two have in common,
// such as a condition among their coordinates. The statistic is EnergyTest's. Under the hypothesis the two of a pair
// may change places, each pair for itself, so the p-value over random swaps, (1 + #{T* ≥ T})/(1 + swaps), is exact at
// any size; a relabelling of all rows would find pairs too much alike. Of the pairs at most maxPairs, chosen at random,
// are used. All is NaN if a number is not finite.
func PairedTest(x, y []float64, d, maxPairs, swaps int, seed uint64) TwoSample {
	n := rowsOf("PairedTest", x, d)
	if n == 0 || len(x) != len(y) || maxPairs < 1 {
		panic(fmt.Sprintf("metric: paired test of %d and %d numbers, at most %d pairs", len(x), len(y), maxPairs))
	}
	used := min(n, maxPairs)
	stream := keyed.PairSwaps.Stream(seed, 0)
	order := make([]int, n)
	if stream.Permutation(order, 0, 0); used == n {
		slices.Sort(order)
	}
	pool := appendRows(appendRows(nil, x, d, order[:used]), y, d, order[:used])
	e := newEnergy(pool, d, used, math.Sqrt)
	first := make([]bool, 2*used)
	for i := range used {
		first[i] = true
	}
	u := make([]float64, used)
	return e.test(first, used, used, swaps, func(k int) {
		stream.Uniforms(u, 1, k)
		for i, v := range u {
			first[i] = v < 0.5
			first[used+i] = !first[i]
		}
	})
}

// FartherTest asks whether x_i is farther from the law of the points y than z_i is. x_i and z_i are pairs that have
// coordinates in common, such as a condition. The statistic is the difference of the energy distances of x and of z to
// y. It is a sum over pairs; a pair's term changes its sign if x_i and z_i change places. The p-value over random signs
// is one-sided, and exact if x_i and z_i have one law. At most maxPoints pairs are used, as in PairedTest.
func FartherTest(x, z, y []float64, d, maxPoints, signs int, seed uint64) (difference, p float64) {
	n := rowsOf("FartherTest", x, d)
	stream, order := keyed.PairSwaps.Stream(seed, 0), make([]int, n)
	if stream.Permutation(order, 0, 0); n <= maxPoints {
		slices.Sort(order)
	}
	order = order[:min(n, maxPoints)]
	mean := func(p, from []float64) (sum float64) {
		for i := 0; i < len(from); i += d {
			sum += math.Sqrt(dense.SquaredDistance(p, from[i:i+d])) * float64(d) / float64(len(from))
		}
		return sum
	}
	x, z, y = appendRows(nil, x, d, order), appendRows(nil, z, d, order), appendRows(nil, y, d, order)
	parts := make([]float64, len(order))
	for i := range parts {
		a, b := x[i*d:(i+1)*d], z[i*d:(i+1)*d]
		parts[i] = (2*mean(a, y) - 2*mean(b, y) - mean(a, x) + mean(b, z) - mean(a, z) + mean(b, x)) /
			float64(len(order))
	}
	difference = floats.Sum(parts)
	extreme, u := 1, make([]float64, len(parts))
	for k := range signs {
		stream.Uniforms(u, 2, k)
		sum := 0.0
		for i, v := range u {
			sum += math.Copysign(parts[i], parts[i]*(v-0.5))
		}
		if sum >= difference {
			extreme++
		}
	}
	return difference, float64(extreme) / float64(1+signs)
}

const (
	quadratic  = 6  // directions from second moments, at most
	iterations = 20 // of the subspace
)

// Directions returns unit vectors of R^d along which the points x (n×d) differ from u: that between the means first,
// then the eigenvectors of the largest eigenvalues, by size, of the difference of second moments about the mean of u.
// Modes whose shifts cancel in the mean show there. The vectors are approximate (subspace iteration): tests along them
// are valid all the same.
func Directions(x, u []float64, d int) [][]float64 {
	centre := meanOf(u, d)
	x, u = minus(x, centre), minus(u, centre)
	mean := meanOf(x, d)
	k := min(quadratic, d)
	basis, next := make([][]float64, k), make([][]float64, k)
	for i := range basis {
		basis[i], next[i] = make([]float64, d), make([]float64, d)
		keyed.SubspaceStart.Stream(0, 0).Normals(basis[i], uint64(i), 0)
	}
	for range iterations {
		orthonormalise(basis)
		for i, v := range basis {
			clear(next[i])
			moment(next[i], x, v, 1)
			moment(next[i], u, v, -1)
		}
		basis, next = next, basis
	}
	orthonormalise(basis)
	out := append([][]float64{mean}, basis...)
	orthonormalise(out[:1])
	return slices.DeleteFunc(out, func(v []float64) bool { return dense.Norm(v) == 0 })
}

func meanOf(x []float64, d int) []float64 {
	mean := make([]float64, d)
	for i := 0; i < len(x); i += d {
		dense.AddScaled(mean, mean, float64(d)/float64(len(x)), x[i:i+d])
	}
	return mean
}

func minus(x, centre []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - centre[i%len(centre)]
	}
	return out
}

// moment adds c times (mean x_i x_iᵀ) v to dst.
func moment(dst, x, v []float64, c float64) {
	d := len(v)
	for i := 0; i < len(x); i += d {
		row := x[i : i+d]
		dense.AddScaled(dst, dst, c*float64(d)/float64(len(x))*dense.Dot(row, v), row)
	}
}

// orthonormalise is the modified Gram–Schmidt process; a vector that depends on those before it becomes 0.
func orthonormalise(v [][]float64) {
	for i, a := range v {
		was := dense.Norm(a)
		dense.Reject(a, v[:i], nil)
		size := dense.Norm(a)
		for j := range a {
			if size > 1e-12*was {
				a[j] /= size
			} else {
				a[j] = 0
			}
		}
	}
}

const (
	principalLeast = 1e-9 // variance of a direction, as a part of the first's
	principalSide  = 1024 // of the largest matrix whose eigenvectors are taken
	principalRows  = 512  // that are taken where there are more rows and coordinates than that
)

// Principal returns the mean of rows of d numbers, at most `most` leading directions, and the directions' share of the
// variance. Directions have unit length and a positive largest entry. Directions in which the rows vary by less than
// 1e-9 of the first's variance are left out. They are eigenvectors of the covariance or, where there are fewer rows
// than coordinates, come from those of the rows' products (XXᵀu = λu gives Xᵀu). If there are more than 1024 of both,
// 512 rows are taken, evenly.
func Principal(rows []float64, d, most int) (mean []float64, axes [][]float64, share float64) {
	n := len(rows) / d
	mean = make([]float64, d)
	for i := range n {
		floats.Add(mean, rows[i*d:(i+1)*d])
	}
	floats.Scale(1/float64(max(n, 1)), mean)
	take, byRows := n, n < d
	if min(n, d) > principalSide {
		take, byRows = principalRows, true
	}
	if take == 0 {
		return mean, nil, 0
	}
	x := mat.NewDense(take, d, nil)
	for i := range take {
		floats.SubTo(x.RawRowView(i), rows[i*n/take*d:][:d], mean)
	}
	var products mat.SymDense
	if byRows {
		products.SymOuterK(1, x)
	} else {
		products.SymOuterK(1, x.T())
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(&products, true) {
		return mean, nil, 0
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	total := floats.Sum(values)
	for k := range min(most, len(values)) {
		at := len(values) - 1 - k
		if !(values[at] > principalLeast*values[len(values)-1]) {
			break
		}
		v := mat.Col(nil, at, &vectors)
		if byRows {
			var y mat.VecDense
			y.MulVec(x.T(), mat.NewVecDense(len(v), v))
			v = y.RawVector().Data
		}
		floats.Scale(1/floats.Norm(v, 2), v)
		if big := slices.MaxFunc(v, larger); big < 0 {
			floats.Scale(-1, v)
		}
		axes = append(axes, v)
		share += values[at] / total
	}
	return mean, axes, share
}

// Project returns ⟨x − mean, v⟩.
func Project(x, mean, v []float64) (y float64) {
	for j, w := range v {
		y += (x[j] - mean[j]) * w
	}
	return y
}

func larger(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }
