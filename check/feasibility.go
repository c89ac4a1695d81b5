package check

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/metric"
)

// feasibility measures how far the data is from Σ, by component and quantile.
// Training refuses data that is further than the tolerance.
func feasibility(e *Evidence) []Finding {
	n := len(e.Data) / e.D
	if n == 0 {
		return []Finding{{Status: Warn,
			Message: "no data was given: the checks look at points that random starts reach"}}
	}
	if e.C == 0 {
		return []Finding{{Message: "there is nothing to violate"}}
	}
	values := constraint.Values(e.Set, e.Data[:n*e.D])
	feasible := 0
	for i := range n {
		bad := false
		for a, v := range values[i*e.C : (i+1)*e.C] {
			bad = bad || constraint.Excess(v, a < e.M) > e.Tolerance
		}
		if !bad {
			feasible++
		}
	}
	var out []Finding
	for a, v := range metric.Violations(e.Names, values, n, e.M) {
		bad, first := 0, -1
		for i := range n {
			if constraint.Excess(values[i*e.C+a], a < e.M) > e.Tolerance {
				bad++
				if first < 0 {
					first = i
				}
			}
		}
		f := Finding{Component: v.Component, Numbers: Numbers{
			"median": float64(v.Median), "q90": float64(v.Q90), "q99": float64(v.Q99), "worst": float64(v.Worst),
			"worst_row": float64(v.WorstSample), "violating": float64(bad) / float64(n), "tolerance": e.Tolerance}}
		f.Message = fmt.Sprintf("violated by %.2g (median), %.2g (99 %%), %.2g (worst, row %d)", v.Median, v.Q99,
			v.Worst, v.WorstSample)
		if bad > 0 {
			f.Status = Fail
			f.Numbers["first_row"] = float64(first)
			f.Message += fmt.Sprintf(": %d of %d rows are beyond the tolerance %g, first row %d with %.3g", bad, n,
				e.Tolerance, first, constraint.Excess(values[first*e.C+a], a < e.M))
		} else if v.Worst == 0 {
			f.Message = "no row violates it"
		}
		out = append(out, f)
	}
	if feasible == 0 {
		out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("no row of the data is feasible to %g: are its "+
			"columns and units those of the constraints?", e.Tolerance)}}, out...)
	}
	return out
}
