package constraint_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
)

func TestExcess(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ v, equality, inequality float64 }{
		{0, 0, 0}, {math.Copysign(0, -1), 0, 0}, {2, 2, 2}, {-2, 2, 0}, {0x1p-1074, 0x1p-1074, 0x1p-1074},
		{-0x1p-1074, 0x1p-1074, 0}, {inf, inf, inf}, {-inf, inf, 0}, {math.NaN(), inf, inf},
	} {
		for equality, want := range map[bool]float64{true: c.equality, false: c.inequality} {
			if got := constraint.Excess(c.v, equality); got != want || math.Signbit(got) {
				t.Errorf("Excess(%v, %v) = %v, want %v", c.v, equality, got, want)
			}
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		m         int
		excess    float64
		component int
	}{
		{nil, 0, 0, -1}, {[]float64{0, -3}, 1, 0, -1}, {[]float64{-3, 2}, 1, 3, 0}, {[]float64{-3, 4, 4}, 1, 4, 1},
		{[]float64{-3, -4}, 2, 4, 1}, {[]float64{1, math.NaN(), math.Inf(1)}, 3, math.Inf(1), 1},
	} {
		if excess, component := constraint.Worst(c.values, c.m); excess != c.excess || component != c.component {
			t.Errorf("Worst(%v, %d) = %v of %d, want %v of %d", c.values, c.m, excess, component, c.excess, c.component)
		}
	}
}
