package metric

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// Arguments that no test or histogram can have are a programmer's mistake, each of them; the
// least that are allowed are not.
func TestRefusedArguments(t *testing.T) {
	x := []float64{1, 2, 3}
	for name, c := range map[string]struct {
		f       func()
		refused bool
	}{
		"energy":                   {func() { EnergyTest(x, x, 1, 1, 1, 1) }, false},
		"energy without points":    {func() { EnergyTest(nil, x, 1, 1, 1, 1) }, true},
		"energy against none":      {func() { EnergyTest(x, nil, 1, 1, 1, 1) }, true},
		"energy of no points":      {func() { EnergyTest(x, x, 1, 0, 1, 1) }, true},
		"energy, no permutation":   {func() { EnergyTest(x, x, 1, 1, 0, 1) }, true},
		"paired":                   {func() { PairedTest(x, x, 1, 1, 1, 1) }, false},
		"paired without points":    {func() { PairedTest(nil, nil, 1, 1, 1, 1) }, true},
		"paired, of two lengths":   {func() { PairedTest(x, x[:2], 1, 1, 1, 1) }, true},
		"paired, no pairs":         {func() { PairedTest(x, x, 1, 0, 1, 1) }, true},
		"paired, no swaps":         {func() { PairedTest(x, x, 1, 1, 0, 1) }, true},
		"plane":                    {func() { Plane{Hi: [2]float64{1, 1}, N: 1}.JSD(x[:2], x[:2]) }, false},
		"plane without cells":      {func() { Plane{Hi: [2]float64{1, 1}}.JSD(x[:2], x[:2]) }, true},
		"plane without width":      {func() { Plane{Hi: [2]float64{0, 1}, N: 1}.JSD(x[:2], x[:2]) }, true},
		"plane without height":     {func() { Plane{Hi: [2]float64{1, 0}, N: 1}.JSD(x[:2], x[:2]) }, true},
		"bins":                     {func() { Bins{N: 1}.JSD(x, x) }, false},
		"no bins":                  {func() { Bins{}.JSD(x, x) }, true},
		"bins that run backwards":  {func() { Bins{Lo: 1, N: 1}.JSD(x, x) }, true},
		"excess":                   {func() { Excess([]float64{1, 2, 3, 4}, 2, 2) }, false},
		"excess, too many of h":    {func() { Excess([]float64{1, 2, 3, 4}, 2, 3) }, true},
		"excess, fewer than none":  {func() { Excess([]float64{1, 2, 3, 4}, 2, -1) }, true},
		"excess, part of a row":    {func() { Excess([]float64{1, 2, 3}, 2, 1) }, true},
		"excess of no components":  {func() { Excess(nil, 0, 0) }, false},
		"excess, values of none":   {func() { Excess([]float64{1}, 0, 0) }, true},
		"histograms of two widths": {func() { JSDivergence(x, x[:2]) }, true},
	} {
		func() {
			defer func() {
				if refused := recover() != nil; refused != c.refused {
					t.Errorf("%s: refused %v", name, refused)
				}
			}()
			c.f()
		}()
	}
}

// A range is that of the finite values, of equal ones their own, of none zero.
func TestRangeOfBins(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		bins   Bins
		values []float64
		lo, hi float64
	}{
		{Bins{}, []float64{3, 3}, 3, 3}, {Bins{}, []float64{nan, inf, -inf}, 0, 0}, {Bins{}, nil, 0, 0},
		{Bins{}, []float64{2, nan, -1, inf}, -1, 2}, {Bins{Lo: 1, Hi: 2}, []float64{7}, 1, 2},
		{Bins{Lo: 4, Hi: 4}, []float64{7, 8}, 7, 8},
	} {
		half := len(c.values) / 2
		if got := c.bins.Over(c.values[:half], c.values[half:]); got.Lo != c.lo || got.Hi != c.hi {
			t.Errorf("%v has the range %v to %v", c.values, got.Lo, got.Hi)
		}
	}
}

// What is not finite is null in JSON, and null is NaN.
func TestFloatInJSON(t *testing.T) {
	for v, want := range map[float64]string{1.5: "1.5", 0: "0", math.Inf(1): "null", math.Inf(-1): "null", -1: "-1"} {
		if got, err := json.Marshal(Float(v)); err != nil || string(got) != want || Float(v).IsNaN() {
			t.Errorf("%v is %s, %v", v, got, err)
		}
	}
	if got, err := json.Marshal(NaN); err != nil || string(got) != "null" || !NaN.IsNaN() {
		t.Errorf("NaN is %s, %v", got, err)
	}
	for text, want := range map[string]float64{"null": math.NaN(), "2.5": 2.5} {
		f := Float(7)
		if err := json.Unmarshal([]byte(text), &f); err != nil || f != Float(want) && !(f.IsNaN() && math.IsNaN(want)) {
			t.Errorf("%s is %v, %v", text, f, err)
		}
	}
}

// Moments and directions by hand, from second moments along the axes; one is 10⁸ times another.
func TestDirectionsByHand(t *testing.T) {
	dst := []float64{1, 1}
	moment(dst, []float64{1, 2, 3, 4}, []float64{1, -1}, 3) // x·v is −1 and −1: the mean of −x is (−2, −3)
	testkit.EqualSlices(t, dst, []float64{-5, -8}, "a moment")
	v := [][]float64{{3, 4, 0}, {6, 8, 0}, {1, 1, 2}}
	orthonormalise(v)
	if !(dense.Norm(v[1]) == 0) || math.Abs(v[2][2]-2/math.Sqrt(4.04)) > 1e-12 || math.Abs(v[0][1]-0.8) > 1e-15 {
		t.Errorf("orthonormal are %v", v)
	}
	for i := range 20 { // dependent but for round-off
		v := [][]float64{{1. / 3, 0.1 * float64(i+1), 0.7}, {0, 0, 0}}
		for j, x := range v[0] {
			v[1][j] = 7.3 * x / float64(i+3)
		}
		if orthonormalise(v); dense.Norm(v[1]) != 0 {
			t.Errorf("a dependent vector leaves %v", v[1])
		}
	}
	const d = 4
	sizes := [d]float64{1, 1e4, 1e2, 0}
	var x, u []float64
	for j, s := range sizes {
		for _, sign := range []float64{1, -1} {
			row := make([]float64, d)
			row[j] = sign * s
			x, u = append(x, row...), append(u, make([]float64, d)...)
		}
	}
	x[0] += 1e-3 // a mean, along the first axis
	got := Directions(x, u, d)
	for k, axis := range []int{0, 1, 2, 0} {
		if len(got) < 4 || math.Abs(got[k][axis]) < 1-1e-6 {
			t.Fatalf("direction %d is %v, want axis %d", k, got[k], axis)
		}
	}
}

// A share of a bin's edge less 10⁻¹⁰ bins counts as above it, one of less does not; the end has the last bin.
func TestEarthBinEdges(t *testing.T) {
	for u, want := range map[float64]int{
		0: 0, (1 - 0.5e-10) / EarthBins: 1, (1 - 1.5e-10) / EarthBins: 0, 1: EarthBins - 1, 0.5: EarthBins / 2,
	} {
		testkit.Equal(t, earthBin(u), want, "%v is in bin", u)
	}
}

// The first face counts as the others do.
func TestFirstFace(t *testing.T) {
	m := ball.Mesh(1)
	tree, got := mesh.NewTree(m), []float64{math.NaN()}
	for f := range min(3, len(m.Faces)/3) {
		var x []float64
		for j := range 3 {
			sum := 0.0
			for _, v := range m.Faces[3*f : 3*f+3] {
				sum += m.Vertices[3*int(v)+j] / 3
			}
			x = append(x, sum)
		}
		if NearestFaces(got, x, tree); got[0] != float64(f) {
			t.Errorf("the middle of face %d is nearest to %v", f, got[0])
		}
	}
}

// One trial on a side is a trial: with one success in all the chance that it is this one is 1/20.
func TestFisherOfOneTrial(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int
		want       float64
	}{
		{1, 1, 0, 19, 0.05}, {0, 19, 1, 1, 0.05}, {0, 0, 3, 5, 1}, {3, 5, 0, 0, 1}, {0, 5, 0, 7, 1}, {5, 5, 7, 7, 1},
		{2, 2, 0, 2, 1. / 3}, {0, 2, 2, 2, 1. / 3}, {1, 2, 1, 2, 1},
	} {
		testkit.Near(t, FisherTest(c.a, c.n, c.b, c.m), c.want, 1e-12, "%d of %d against %d of %d", c.a, c.n, c.b, c.m)
	}
}

// Every place of an order is found, among ties too, with no larger number before it and no smaller one behind.
func TestSelect(t *testing.T) {
	for trial := range uint64(60) {
		size := 1 + int(trial%13)
		x := make([]float64, size)
		keyed.New(6, keyed.Probe, 1).Normals(x, trial, 0)
		for i := range x {
			x[i] = math.Round(2 * x[i]) // ties
		}
		sorted := slices.Sorted(slices.Values(x))
		for n := range size {
			order := make([]int32, size)
			for i := range order {
				order[i] = int32(i)
			}
			if got := find(order, n, func(i int32) float64 { return x[i] }); got != sorted[n] {
				t.Fatalf("place %d of %v is %v", n, x, got)
			}
			for i, o := range order {
				if i < n && x[o] > sorted[n] || i > n && x[o] < sorted[n] {
					t.Fatalf("place %d of %v: the order is %v", n, x, order)
				}
			}
		}
	}
	if got := newTree(nil, 3).nearest([]float64{1, 2, 3}); !math.IsInf(got, 1) {
		t.Errorf("nothing is %v away", got)
	}
	if got := newTree([]float64{math.NaN(), 1}, 2).nearest([]float64{1, 2}); !math.IsInf(got, 1) {
		t.Errorf("a point that is not finite is %v away", got)
	}
}

// Equal points tie in every relabelling; a part of the points is taken from each sample by its own
// order, of pairs by one.
func TestTestsOfParts(t *testing.T) {
	same := []float64{2, 2, 2, 2}
	for _, got := range []TwoSample{EnergyTest(same, same[:3], 1, 9, 7, 3), PairedTest(same, same, 1, 9, 7, 3)} {
		if got.Statistic != 0 || got.PValue != 1 {
			t.Errorf("equal points: %+v", got)
		}
	}
	x, y := make([]float64, 10), make([]float64, 12)
	keyed.New(6, keyed.Probe, 2).Normals(x, 0, 0)
	keyed.New(6, keyed.Probe, 2).Normals(y, 1, 0)
	stream := keyed.Subsample.Stream(3, 0)
	taken := func(x []float64, stream keyed.Stream, sample uint64) []float64 {
		order := make([]int, len(x))
		stream.Permutation(order, sample, 0)
		return appendRows(nil, x, 1, order[:4])
	}
	a, b := taken(x, stream, 0), taken(y, stream, 1)
	if got, want := EnergyTest(x, y, 1, 4, 1, 3), EnergyTest(a, b, 1, 4, 1, 9); got.Statistic != want.Statistic ||
		got.N != 4 || got.M != 4 {
		t.Errorf("parts have %+v, want %v", got, want.Statistic)
	}
	pairs := keyed.PairSwaps.Stream(3, 0)
	a, b = taken(x, pairs, 0), taken(y[:10], pairs, 0)
	if got, want := PairedTest(x, y[:10], 1, 4, 1, 3), PairedTest(a, b, 1, 4, 1, 3); got.Statistic != want.Statistic ||
		got.N != 4 {
		t.Errorf("parts of pairs have %+v, want %v", got, want.Statistic)
	}
}

// Directions along which the rows vary not at all are none, whatever the scale; the largest entry is positive.
func TestPrincipalOfFewDirections(t *testing.T) {
	for _, scale := range []float64{1e-6, 1, 1e6} {
		for _, way := range [][]float64{{1, -3, 2}, {-1, 3, 2}, {0, 0, -1}, {2, 1, -5}} {
			for n := 2; n <= 5; n++ { // fewer rows than coordinates, and more
				var rows []float64
				for i := range n {
					for _, w := range way {
						rows = append(rows, 4*scale+scale*float64(i*i)*w)
					}
				}
				mean, axes, share := Principal(rows, 3, 3)
				if len(axes) != 1 || math.Abs(share-1) > 1e-12 {
					t.Fatalf("%v of %v: %d directions with %v of the variance", way, scale, len(axes), share)
				}
				big := slices.MaxFunc(axes[0], larger)
				along := dense.Dot(axes[0], way) / dense.Norm(way)
				if big < 0 || math.Abs(math.Abs(along)-1) > 1e-6 {
					t.Errorf("%v: the direction %v", way, axes[0])
				}
				for i := range n {
					var want float64
					for j := range 3 {
						want += (rows[3*i+j] - mean[j]) * axes[0][j]
					}
					testkit.Near(t, Project(rows[3*i:3*i+3], mean, axes[0]), want, 1e-12*scale,
						"the projection of row %d", i)
				}
			}
		}
	}
	if _, axes, share := Principal([]float64{1, 2, 1, 2, 1, 2}, 2, 2); len(axes) != 0 || share != 0 {
		t.Errorf("equal rows vary along %v, %v", axes, share)
	}
	testkit.Equal(t, Project([]float64{5, 7}, []float64{2, 3}, []float64{2, -1}), 2, "a projection")
}

// The first columns of values are of equalities, whatever the row.
func TestExcessByColumns(t *testing.T) {
	v := []float64{-1, -2, 3, -4, 5, -6, 7, -8, -9}
	Excess(v, 3, 1)
	testkit.EqualSlices(t, v, []float64{1, 0, 3, 4, 5, 0, 7, 0, 0}, "the excess")
}

// The spread of rows is the root mean square distance from their mean.
func TestSpreadByHand(t *testing.T) {
	for _, c := range []struct {
		x        []float64
		d        int
		mean     []float64
		distance float64
	}{
		{[]float64{1, 2, 5, 10}, 2, []float64{3, 6}, math.Sqrt(4 + 16)},
		{[]float64{1, 3, 8}, 1, []float64{4}, math.Sqrt(26. / 3)},
		{[]float64{7, 8, 9}, 3, []float64{7, 8, 9}, 0},
	} {
		if mean, distance := Spread(c.x, c.d); !slices.Equal(mean, c.mean) || math.Abs(distance-c.distance) > 1e-14 {
			t.Errorf("%v have the mean %v and are %v off it", c.x, mean, distance)
		}
	}
}
