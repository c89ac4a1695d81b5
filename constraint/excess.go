package constraint

import "math"

// Excess returns how far the value of a component is from what Σ asks: |v| of an
// equality, max(v, 0) of an inequality, +Inf of NaN.
func Excess(v float64, equality bool) float64 {
	if equality {
		v = math.Abs(v)
	}
	switch {
	case v > 0:
		return v
	case v <= 0:
		return 0
	}
	return math.Inf(1)
}

// Worst returns the largest excess among the values of one point, the first m of them
// equalities, and its component; 0 and −1 if there is none.
func Worst(values []float64, m int) (excess float64, component int) {
	component = -1
	for i, v := range values {
		if e := Excess(v, i < m); e > excess {
			excess, component = e, i
		}
	}
	return excess, component
}
