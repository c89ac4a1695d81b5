package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// By hand: two values a side in four bins, one bin shared.
func TestBinsByHand(t *testing.T) {
	h := Bins{Lo: 0, Hi: 4, N: 4}
	// Shares (½, ½, 0, 0) and (0, ½, 0, ½): half of the mass is apart, ln 2 of divergence.
	near(t, "JSD", h.JSD([]float64{0.5, 1.5}, []float64{1.25, 3}), math.Sqrt(0.5*math.Ln2), 1e-15)
	near(t, "JSD of equals", h.JSD([]float64{0.5, 1.5, 9}, []float64{1.5, 9, 0.5}), 0, 0)
	// One of four values is not finite on one side: its bin of the same width holds ¼, the others differ by as much.
	nan := math.NaN()
	lost := h.JSD([]float64{0.5, 0.5, 0.5, nan}, []float64{0.5, 0.5, 0.5, 0.5})
	near(t, "JSD with a value that is not finite", lost, JSDistance([]float64{3, 1}, []float64{4, 0}), 1e-15)
	isNaN(t, "JSD of nothing", h.JSD(nil, []float64{1}))
	near(t, "JSD of values that are all one", Bins{N: 3}.JSD([]float64{2, 2}, []float64{2}), 0, 0)
	near(t, "JSD of no finite value", Bins{N: 3}.JSD([]float64{nan}, []float64{nan}), 0, 0)
	if got := h.Shares([]float64{-1, 0, 1, 3.9, 4, 9, nan, 2}); !slices.Equal(got,
		[]float64{0.25, 0.125, 0.125, 0.375}) {
		t.Errorf("shares %v: those outside are not in the bins at the ends", got)
	}
}

// Ranges that follow from huge values, or are given so, neither overflow nor panic.
func TestBinsOfHugeValues(t *testing.T) {
	huge := []float64{-1.7e308, 1.7e308, 0, 1e299, math.MaxFloat64}
	for _, h := range []Bins{{N: 10}, {N: 10, Lo: -1.7e308, Hi: 1.7e308}, {N: 10, Lo: -math.MaxFloat64, Hi: 0}} {
		if got := h.Over(huge).Shares(huge); math.Abs(mass(got)-1) > 1e-12 || got[0] == 0 || got[9] == 0 {
			t.Errorf("%+v: shares %v", h, got)
		}
	}
	if d := (Bins{N: 10}).JSD(huge, []float64{0, 1}); !(d > 0) {
		t.Errorf("JSD %v", d)
	}
	if p := Around([]float64{-1.7e308, 0, 1.7e308, 1}, 4, 0.1); math.IsInf(p.Hi[0]-p.Lo[0], 0) {
		t.Errorf("the plane %+v", p)
	}
}

// A circular number has the same bin after a period, to the right and to the left; one that is not has that of the end.
func TestBinsWrap(t *testing.T) {
	h := Bins{Lo: -math.Pi, Hi: math.Pi, N: 60, Circular: true}
	for _, v := range []float64{-3.1, -1, 0, 0.02, 3.1} {
		for _, turns := range []float64{-2, -1, 1, 5} {
			testkit.Equal(t, h.Bin(v+turns*2*math.Pi), h.Bin(v), "%v after %v turns is in bin", v, turns)
		}
	}
	if h.Bin(math.Pi) != 0 || h.Bin(-math.Pi) != 0 || h.Bin(math.Nextafter(math.Pi, 0)) != 59 {
		t.Error("the ends of the period are not one place")
	}
	h.Circular = false
	if h.Bin(math.Pi) != 59 || h.Bin(-7) != 0 || h.Bin(7) != 59 {
		t.Error("values outside the range are not in the bins at its ends")
	}
}

// The published numbers on alanine dipeptide: 60 bins, clipped, density + 1e-6. The numbers are numpy's (histogram with
// density=True, then scipy's jensenshannon) between the halves of the 500 golden rows.
func TestBinsAsPublished(t *testing.T) {
	rows := golden.Read(t, "md_jsd.npz")
	for _, c := range []struct {
		name string
		bins Bins
		want float64
	}{
		{"psi", Bins{Lo: 120, Hi: 180, N: 60, Empty: 1e-6}, 0.18593621456684922},
		{"rmsd", Bins{Lo: -0.05, Hi: 0.6, N: 60, Empty: 1e-6}, 0.18606160069005212},
	} {
		x := rows[c.name].AsFloat64()
		near(t, c.name, c.bins.JSD(x[:250], x[250:]), c.want, 1e-9)
	}
}

// The distance depends on neither order nor unit, and is symmetric.
func TestBinsSymmetries(t *testing.T) {
	const n = 500
	x, y := normals(n, 1), normals(n, 2)
	h := Bins{Lo: -3, Hi: 3, N: 60, Empty: 1e-7}
	want := h.JSD(x, y)
	order := make([]int, n)
	keyed.New(1, keyed.Probe, 3).Permutation(order, 0, 0)
	mixed := make([]float64, n)
	for i, k := range order {
		mixed[i] = x[k]
	}
	near(t, "JSD of a permutation", h.JSD(mixed, y), want, 0)
	near(t, "JSD the other way", h.JSD(y, x), want, 1e-15)
	degrees := Bins{Lo: -3 * 64, Hi: 3 * 64, N: 60, Empty: 1e-7 / 64} // a power of two: no round-off
	for _, v := range [][]float64{x, y} {
		for i := range v {
			v[i] *= 64
		}
	}
	near(t, "JSD in another unit", degrees.JSD(x, y), want, 1e-14)
}
