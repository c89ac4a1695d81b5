package metric

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// The power traces of so10_jsd.npz: of the first matrix of the paper's data, which
// so10_ops.npz holds, and where the data are, of the first 200.
func TestGoldenPowerTraces(t *testing.T) {
	want := golden.Read(t, "so10_jsd.npz")["stats"].AsFloat64()
	check := func(x []float64) {
		t.Helper()
		for i, v := range PowerTraces(nil, x, 10) {
			if !(math.Abs(v-want[i]) <= 1e-9) {
				t.Fatalf("statistic %d is %.12g, want %.12g", i, v, want[i])
			}
		}
	}
	check(golden.Read(t, "so10_ops.npz")["x_on"].AsFloat64()[:100])
	a := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/so10/SO10_circle.npy")))
	check(a.AsFloat64()[:200*100])
}

// A turn of the plane by θ has tr S^k = 2 cos kθ.
func TestPowerTracesOfATurn(t *testing.T) {
	const θ = 0.7
	s, c := math.Sincos(θ)
	for i, v := range PowerTraces(nil, []float64{c, -s, s, c}, 2) {
		if want := 2 * math.Cos(float64(TracePowers[i])*θ); math.Abs(v-want) > 1e-15 {
			t.Errorf("tr S^%d = %v, want %v", TracePowers[i], v, want)
		}
	}
}

// Equal sets are at distance 0, sets without a common bin at √ln 2 but for the
// 1e-10 in the empty bins, and what is not finite has none.
func TestTraceJSDLimits(t *testing.T) {
	a := []float64{1, 0, 0, 1, 0.9, 0, 0, 0.8}
	if each, mean := TraceJSD(PowerTraces(nil, a, 2), PowerTraces(nil, a, 2)); mean != 0 {
		t.Errorf("equal sets: %v", each)
	}
	one := []float64{1, 0, 0, 1}
	if each, mean := TraceJSD(PowerTraces(nil, one, 2), PowerTraces(nil, append(one, one...), 2)); mean != 0 {
		t.Errorf("one value in all: %v", each)
	}
	b := []float64{-3, 0, 0, -1, -3.1, 0, 0, -1}
	if _, mean := TraceJSD(PowerTraces(nil, a, 2), PowerTraces(nil, b, 2)); math.Abs(mean-math.Sqrt(math.Ln2)) > 1e-6 {
		t.Errorf("disjoint sets: %v", mean)
	}
	lost := []float64{math.NaN(), 0, 0, 1}
	if _, mean := TraceJSD(PowerTraces(nil, a, 2), PowerTraces(nil, lost, 2)); !math.IsNaN(mean) {
		t.Errorf("NaN: %v", mean)
	}
	if _, mean := TraceJSD(PowerTraces(nil, a, 2), nil); !math.IsNaN(mean) {
		t.Errorf("empty: %v", mean)
	}
}
