package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// All that tests and floors draw is the ledger's, so that another version has the same figures: the
// relabellings of an energy test, the swaps of a paired one, and the rows behind a floor.
func TestDrawsOfScores(t *testing.T) {
	const n, m, d, seed, times = 7, 5, 2, 11, 40
	x, y := normals(n*d, 1), normals(m*d, 2)
	pool := slices.Concat(x, y)
	outcome := func(a, b []float64, times int, relabelled func(k int) []bool) (p Float, floor Floor) {
		given, extreme, scores := energyByDefinition(a, b, d), 1, []float64(nil)
		both := slices.Concat(a, b)
		for k := range times {
			var first, rest []float64
			for i, in := range relabelled(k) {
				if row := both[i*d : (i+1)*d]; in {
					first = append(first, row...)
				} else {
					rest = append(rest, row...)
				}
			}
			e := energyByDefinition(first, rest, d)
			scores = append(scores, e)
			if e >= given-1e-12 {
				extreme++
			}
		}
		return Float(extreme) / Float(1+times), NewFloor(scores)
	}
	order := make([]int, n+m)
	p, floor := outcome(x, y, times, func(k int) []bool { // the smaller sample is drawn
		keyed.Relabelling.Stream(seed, 0).Permutation(order, uint64(k), 0)
		first := make([]bool, n+m)
		for _, i := range order[:m] {
			first[i] = true
		}
		return first
	})
	if got := EnergyTest(x, y, d, 100, times, seed); got.PValue != p || math.Abs(float64(got.Mean-floor.Mean)) >
		1e-12 || math.Abs(float64(got.SD-floor.SD)) > 1e-12 || got.Draws != times {
		t.Errorf("an energy test: %+v, want %v and %+v", got, p, floor)
	}
	u := make([]float64, m)
	p, floor = outcome(pool[:m*d], y, times, func(k int) []bool {
		keyed.PairSwaps.Stream(seed, 0).Uniforms(u, 1, k)
		first := make([]bool, 2*m)
		for i, v := range u {
			first[i], first[m+i] = v < 0.5, !(v < 0.5)
		}
		return first
	})
	if got := PairedTest(x[:m*d], y, d, 100, times, seed); got.PValue != p ||
		math.Abs(float64(got.Mean-floor.Mean)) > 1e-12 || math.Abs(float64(got.SD-floor.SD)) > 1e-12 {
		t.Errorf("a paired test: %+v, want %v and %+v", got, p, floor)
	}
	draw := 0
	NoiseFloor(x, d, 9, 3, seed, func(sample []float64) float64 {
		for i := range 9 {
			r := keyed.FloorDraws.Stream(seed, uint64(draw)).Index(n, uint64(i), 0)
			testkit.EqualSlices(t, sample[i*d:(i+1)*d], x[r*d:(r+1)*d], "row %d of draw %d is not row %d", i, draw, r)
		}
		draw++
		return 0
	})
}

// Second moments of the two samples count alike: along an axis where both vary as much there is
// nothing to find, however much that is. At most six directions come from them, one from the means.
func TestDirectionsOfDifferences(t *testing.T) {
	const d = 9
	sizes := [d]float64{100, 3, 2.5, 2, 1.5, 1.2, 1.1, 1, 0.9}
	var x, u []float64
	for j, s := range sizes {
		for _, sign := range []float64{1, -1} {
			row := make([]float64, d)
			row[j] = sign * s
			u = append(u, row...)
			row = slices.Clone(row)
			if j > 0 { // half as wide in all axes but the first: the difference is as their squares
				row[j] /= 2
			}
			x = append(x, row...)
		}
	}
	got := Directions(x, u, d)
	if len(got) != 6 { // the means are equal
		t.Fatalf("%d directions", len(got))
	}
	for k, v := range got[:2] {
		if math.Abs(v[0]) > 1e-9 || math.Abs(v[k+1]) < 0.9 {
			t.Errorf("direction %d is %v, want axis %d", k, v, k+1)
		}
	}
	for i := range x {
		if i%d == 1 {
			x[i] += 0.1
		}
	}
	if got := Directions(x, u, d); len(got) != 7 || math.Abs(got[0][1]-1) > 1e-12 {
		t.Errorf("%d directions, between the means %v", len(got), got[0])
	}
	for _, k := range []int{1, 2} { // of fewer coordinates no more than there are
		got := Directions([]float64{2, -2, 2, -2}, []float64{1, -1, -1, 1}, k)
		if len(got) > k || dense.Norm(got[0]) == 0 {
			t.Errorf("%d directions of R^%d", len(got), k)
		}
	}
}

// What is not finite is so by either sign: each function says of −∞ what it says of +∞ and NaN.
func TestNoNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for at := range 3 {
			x := []float64{0, 1, 0, 0, 0, 1}
			x[at] = bad
			testkit.Equal(t, mass(EarthHistogram(x)), 1, "%v at %d", bad, at)
			testkit.Equal(t, newTree(x, 3).nearest([]float64{0, 0, 0}), 1, "%v at %d: the nearest point", bad, at)
			if got := EnergyTest(x, x[3:], 3, 9, 9, 1); !got.Statistic.IsNaN() || !got.PValue.IsNaN() {
				t.Errorf("%v at %d: an energy test says %+v", bad, at, got)
			}
			if each, mean := TraceJSD([]float64{1, 2, 3, 4}, append(x[:3:3], 1)); !math.IsNaN(each[0]) ||
				!math.IsNaN(mean) {
				t.Errorf("%v at %d: traces are %v apart", bad, at, each)
			}
			bins := Bins{Hi: 2, N: 2}
			if got := bins.Shares(x[:3]); math.Abs(got[0]+got[1]-2./3) > 1e-15 {
				t.Errorf("%v at %d: shares %v", bad, at, got)
			}
			testkit.Near(t, bins.JSD([]float64{bad}, []float64{0.5}), math.Sqrt(math.Ln2), 1e-12,
				"%v and a number", bad)
		}
		chain := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		chain[4] = bad
		isNaN(t, "split-R̂", SplitRhat([][]float64{chain, chain}))
		isNaN(t, "effective draws", ESS([][]float64{chain, chain}))
	}
}

// Where points are, far from the origin by 10⁸ of their spread, says nothing of their spread or slope.
func TestFarPoints(t *testing.T) {
	const far = 1e8
	x, y := uniforms(40, 3), uniforms(40, 4)
	for i := range x {
		x[i], y[i] = math.Round(x[i]*1024)/1024, math.Round(y[i]*1024)/1024 // far + x is exact
	}
	move := func(v []float64) []float64 {
		out := slices.Clone(v)
		for i := range out {
			out[i] += far
		}
		return out
	}
	_, near := Spread(x, 2)
	if mean, got := Spread(move(x), 2); math.Abs(got-near) > 1e-12 || math.Abs(mean[0]-far) > 1 {
		t.Errorf("a spread of %v, near the origin %v", got, near)
	}
	want := Slope(x, y)
	for name, got := range map[string]float64{"x": Slope(move(x), y), "y": Slope(x, move(y)),
		"both": Slope(move(x), move(y))} {
		testkit.Near(t, got, want, 1e-9, "with %s far away a slope", name)
	}
}

// Which directions depend on others is a matter of angles: vectors of any length become the same.
func TestDirectionsOfAnyLength(t *testing.T) {
	for _, scale := range []float64{1e-100, 1e-9, 1, 1e9, 1e100} {
		v := [][]float64{{1, 2, 2}, {3.3, 6.6, 6.6}, {0.7, -0.1, 0.4}, {1, 1, 1}}
		want := [][]float64{{1, 2, 2}, {3.3, 6.6, 6.6}, {0.7, -0.1, 0.4}, {1, 1, 1}}
		for i := range v {
			for j := range v[i] {
				v[i][j] *= scale
			}
		}
		orthonormalise(v)
		orthonormalise(want)
		for i := range v {
			for j := range v[i] {
				if math.Abs(v[i][j]-want[i][j]) > 1e-12 {
					t.Errorf("times %v vector %d is %v, want %v", scale, i, v[i], want[i])
				}
			}
			if size := dense.Norm(v[i]); i != 1 && math.Abs(size-1) > 1e-14 || i == 1 && size != 0 {
				t.Errorf("times %v vector %d has the length %v", scale, i, size)
			}
		}
	}
}
