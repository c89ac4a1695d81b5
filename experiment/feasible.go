package experiment

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
)

// checkFeasible refuses data that is further from Σ than data.tolerance, by the
// first row that is.
func checkFeasible(p *problem.Problem, set constraint.Set, data *dataset.Points) error {
	name, d := dataName(p, data), set.Dim()
	names, values := values(set, data.X)
	tol, rows, first, worst := metric.Float(p.Data.Tolerance), 0, metric.Violation{}, metric.Violation{}
	for i := range data.N {
		v := worstOf(metric.Violations(names, values[i*len(names):(i+1)*len(names)], 1, len(set.Equalities())))
		if v.WorstSample = i; !(v.Worst > tol) {
			continue
		}
		if rows++; rows == 1 {
			first = v
		}
		if v.Worst > worst.Worst {
			worst = v
		}
	}
	if rows > 0 {
		i := first.WorstSample
		if fault := set.Capabilities().Fault; fault != nil && math.IsInf(float64(first.Worst), 1) {
			if err := fault(data.X[i*d : (i+1)*d]); err != nil {
				return &DataError{name, fmt.Sprintf("row %d (from 0): %v", i, err)}
			}
		}
		fault := fmt.Sprintf("row %d (from 0) violates %q by %.3g; expected at most data.tolerance = %g", i,
			first.Component, first.Worst, tol)
		if rows > 1 {
			fault += fmt.Sprintf(". Of %d rows %d do, row %d the most, %q by %.3g", data.N, rows, worst.WorstSample,
				worst.Component, worst.Worst)
		}
		return &DataError{name, fault + "; landing data refine brings rows that are near the set to it"}
	}
	if i := unselected(set, data.X); i >= 0 {
		return &DataError{name, fmt.Sprintf("row %d (from 0) is not in %s, where %s", i, constraint.Name(set),
			set.Capabilities().Selection)}
	}
	return nil
}

// unselected returns the first row of x that the set does not select, or −1.
func unselected(set constraint.Set, x []float64) int {
	selects := set.Capabilities().Selects
	if selects == nil {
		return -1
	}
	d := set.Dim()
	for i := range len(x) / d {
		if !selects(x[i*d : (i+1)*d]) {
			return i
		}
	}
	return -1
}

// worstOf returns the component that is violated most, the first of equals.
func worstOf(v []metric.Violation) (worst metric.Violation) {
	for _, c := range v {
		if c.Worst > worst.Worst {
			worst = c
		}
	}
	return worst
}

// violations summarises how far the rows of x are from Σ, by component.
func violations(set constraint.Set, x []float64) []metric.Violation {
	names, values := values(set, x)
	return metric.Violations(names, values, len(x)/set.Dim(), len(set.Equalities()))
}

// excess returns how far each component is from being satisfied at the rows of x,
// and the number of components.
func excess(set constraint.Set, x []float64) (excess []float64, components int) {
	names, values := values(set, x)
	metric.Excess(values, len(names), len(set.Equalities()))
	return values, len(names)
}

// values returns the components' names, and their values at the rows of x.
func values(set constraint.Set, x []float64) (names []string, values []float64) {
	return constraint.Components(set), constraint.Values(set, x)
}
