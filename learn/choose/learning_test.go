package choose

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// chosen returns what a key became, nil if nothing.
func chosen(of []Choice, key string) any {
	if i := slices.IndexFunc(of, func(c Choice) bool { return c.Key == key }); i >= 0 {
		return of[i].Value
	}
	return nil
}

// All that is chosen, for data of several kinds and for settings that are given.
func TestChosen(t *testing.T) {
	for _, of := range []func(l *Measures){
		func(*Measures) {},
		func(l *Measures) { l.Rows, l.Narrow, l.WindowMedian = 200_000, 0.2, 0.3 },
		func(l *Measures) { l.Rows, l.Dim, l.Coordinates, l.RadiusMedian, l.RadiusThin = 100, 1, 2, 0.05, 0.01 },
		func(l *Measures) { l.Coordinates, l.Dim, l.Torsions, l.Mode = 40, 7, true, 0.3 },
		func(l *Measures) {
			l.Coordinates, l.Dim, l.Components, l.Work, l.Spread, l.Diameter = 60, 50, 100, 1e6, 30, 70
			for j := range l.Coordinates {
				l.Scales, l.Center = append(l.Scales, float64(j)), append(l.Center, float64(j%2))
			}
		},
		func(l *Measures) { l.Coordinates, l.Dim, l.Spread, l.Narrow, l.Mode = 3000, 2990, 50, 1e-3, 0.7 },
	} {
		l := earth
		of(&l)
		for _, open := range []Noise{{}, {Underdamped: true}, {Underdamped: true, Far: true, Splits: true},
			{Projected: true, Steps: 30}, {Underdamped: true, Projected: true, Max: 1.5}, {Far: true, Geometric: true},
			{Underdamped: true, Splits: true, Horizon: 0.7, Min: 0.2}, {Underdamped: true, Friction: 3}} {
			n, why := Schedule(&l, open)
			testkit.KeepValue(t, []any{n, n.Travel(), Short(&l, n), Strain(&l, open, n), Strain(&l, n, n), why})
			testkit.KeepValue(t, Learning(&l, n))
			testkit.KeepValue(t, Draws(&l, n, n.Steps%11))
			testkit.KeepValue(t, Velocity(&l, n.Steps, n.Underdamped))
		}
	}
}

// An epoch has at most 16 batches and its paths a gigabyte; few rows are all in one batch.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ rows, d, steps, batch, paths int }{
		{160, 3, 50, 160, 160},
		{5000, 3, 50, 1024, 5000},
		{200_000, 3, 50, 1024, 16_384},
		{200_000, 300, 50, 1024, 1 << 27 / (51 * 300)},
		{20, 1 << 22, 1000, 1, 1},
	} {
		batch, paths := batches(c.rows, c.d, c.steps)
		if batch != c.batch || paths != c.paths {
			t.Errorf("%d rows in R^%d, %d steps: batches of %d, %d paths", c.rows, c.d, c.steps, batch, paths)
		}
		l := earth
		l.Rows, l.Coordinates = c.rows, c.d
		out := Learning(&l, Noise{Steps: c.steps, Horizon: 1, Max: 1, Min: 0.1})
		want := any(c.paths)
		if c.paths == c.rows { // silent: one of every row
			want = nil
		}
		if got := chosen(out, "train.paths"); got != want || chosen(out, "train.batch") != c.batch {
			t.Errorf("%d rows in R^%d: train.paths %v, train.batch %v", c.rows, c.d, got, chosen(out, "train.batch"))
		}
	}
}

// Batches are small where spreads are uneven and a step of a path costs more than a row of the network, as it does with
// many components.
func TestSmallBatch(t *testing.T) {
	for _, c := range []struct {
		rows, components int
		widest           float64
		want             int
	}{{2000, 1, 11, 1024}, {2000, 5000, 11, 128}, {100, 5000, 11, 100}, {2000, 5000, 9, 1024}} {
		l := earth
		l.Rows, l.Components, l.Coordinates, l.Scales = c.rows, c.components, 20, []float64{1, c.widest}
		out := Learning(&l, Noise{Steps: 50, Horizon: 1, Max: 1, Min: 0.1})
		testkit.Equal(t, chosen(out, "train.batch"), any(c.want), fmt.Sprint(c))
	}
}

// Coordinates are read by their spreads where these differ and there are no waves. One that does not move says nothing.
func TestScales(t *testing.T) {
	even, uneven, few := make([]float64, 20), make([]float64, 20), []float64{1, 30}
	for j := range even {
		even[j], uneven[j] = 1+float64(j)/3, 1+float64(j)
	}
	even[3], uneven[3] = 0, 0
	for name, c := range map[string]struct{ scales, want []float64 }{
		"even": {even, nil}, "uneven": {uneven, uneven}, "few": {few, nil}, "none moves": {make([]float64, 20), nil},
	} {
		l := earth
		l.Coordinates, l.Scales = len(c.scales), c.scales
		got, _ := chosen(Learning(&l, Noise{Steps: 50, Horizon: 1, Max: 1, Min: 0.1}), "network.scales").([]float64)
		testkit.EqualSlices(t, got, c.want, name)
		if chosen(Velocity(&l, 50, false), "network.scales") != nil {
			t.Errorf("%s: a flow has no start to read", name)
		}
	}
}

// A path is made anew where the worth of its rows for their cost is largest, of all whole numbers of
// epochs, but for rounding; and never seen more than whole.
func TestRefreshed(t *testing.T) {
	const steps, times = 60, 5
	worth := func(epochs int, cost float64) float64 {
		r := float64(epochs * times)
		return r / ((1 + r/steps) * (cost + r))
	}
	for _, cost := range []float64{0.1, 1, 4, 20, 50, 400} {
		got := refreshed(cost, steps, times)
		if got < 1 || got*times > steps {
			t.Errorf("cost %v: %d epochs", cost, got)
		}
		for n := 1; n*times <= steps; n++ {
			if worth(n, cost) > 1.02*worth(got, cost) {
				t.Errorf("cost %v: %d epochs are worth %.4f, %d are %.4f", cost, got, worth(got, cost), n,
					worth(n, cost))
			}
		}
	}
}

// Torsions have waves of their circle, however many coordinates there are.
func TestWavesOfTorsions(t *testing.T) {
	l := earth
	l.Coordinates, l.Torsions = 60, true
	out := Learning(&l, Noise{Steps: 50, Horizon: 1, Max: 1, Min: 0.1})
	testkit.Equal(t, chosen(out, "network.octaves"), any(2), "octaves")
	testkit.Equal(t, chosen(out, "network.wavelength"), any(2.), "longest wave")
	testkit.Equal(t, chosen(out, "network.width"), any(256), "width")
	testkit.Equal(t, chosen(out, "network.octaves_of"), nil, "they are of the point")
}

// What a path costs, in rows of a batch, is what was measured on two cores (docs/auto.md), within a factor of 2.
func TestPathCost(t *testing.T) {
	for _, c := range []struct {
		name                string
		d, components       int
		work                float64
		width, layers, octs int
		want                float64
	}{
		{"torus", 3, 1, 0, 256, 4, 6, 1.2},
		{"arm5", 10, 6, 0, 256, 4, 6, 8.9},
		{"arm9", 18, 10, 0, 256, 4, 0, 15.5},
		{"so3", 9, 6, 0, 256, 4, 6, 6.7},
		{"affine", 6, 2, 0, 256, 4, 6, 3.6},
		{"d300", 300, 1, 0, 512, 3, 0, 17.6},
		{"so10", 100, 55, 0, 512, 3, 0, 20},
		{"bunny100", 3, 1, 66_818, 256, 4, 4, 18.9},
	} {
		l := Measures{Coordinates: c.d, Components: c.components, Work: c.work}
		got := pathCost(&l, 50, rowWork(&l, c.width, c.layers, c.octs))
		if got > 2*c.want || got < c.want/2 {
			t.Errorf("%s: a path costs %.1f rows, measured %.1f", c.name, got, c.want)
		}
	}
}

// A path serves as many epochs as make the time of the network four times its own, between 1 and 8: an epoch asks twice
// of each of the levels, N among them.
func TestDrawRefresh(t *testing.T) {
	for _, c := range []struct {
		cost         float64
		levels, want int
	}{{0.1, 3, 1}, {2, 3, 1}, {6, 3, 3}, {6, 0, 8}, {19, 3, 8}, {6, 11, 1}} {
		testkit.Equal(t, drawRefresh(c.cost, c.levels), c.want, "paths of %v rows, %d levels", c.cost, c.levels)
	}
	testkit.Equal(t, DrawRefresh(zoo.Sphere{D: 3}, 50, 3, 256, 4, 5), 1, "paths on the sphere serve")
	testkit.Equal(t, DrawRefresh(zoo.Sphere{D: 300}, 50, 3, 64, 2, 0), 8, "paths of 300 coordinates serve")
}

// In few directions levels are shares of the data's spread; in many they are geometric from the last step's on, so that
// with it one is as far from the next as all are.
func TestLevels(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }
	for _, c := range []struct {
		dim, levels int
		first, last float64
	}{{2, 3, 0.32, 0.09}, {6, 1, 0.32, 0.09}, {2, 8, 0.5, 0.06}, {7, 2, 0.3 * 0.5, 0.09 * 0.5}, {45, 1, 0.045, 0.045}} {
		if a, b := Levels(2, 0.5, c.dim, c.levels); !near(a, c.first) || !near(b, c.last) {
			t.Errorf("%d directions, %d levels: %v to %v, want %v to %v", c.dim, c.levels, a, b, c.first, c.last)
		}
	}
}
