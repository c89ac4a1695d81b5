package check

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/metric"
)

// feasibility measures how far the data is from Σ, by component and quantile.
// Training refuses data that is further than the tolerance.
func feasibility(s *subject) []Finding {
	n := len(s.Data) / s.d
	if n == 0 {
		return []Finding{{Status: Warn, Message: "no data was given: the checks look at points that random starts reach"}}
	}
	if s.c == 0 {
		return []Finding{{Message: "there is nothing to violate"}}
	}
	values := constraint.Values(s.set, s.Data[:n*s.d])
	feasible := 0
	for i := range n {
		bad := false
		for a, v := range values[i*s.c : (i+1)*s.c] {
			bad = bad || constraint.Excess(v, a < s.m) > s.Tolerance
		}
		if !bad {
			feasible++
		}
	}
	var out []Finding
	for a, v := range metric.Violations(s.names, values, n, s.m) {
		bad, first := 0, -1
		for i := range n {
			if constraint.Excess(values[i*s.c+a], a < s.m) > s.Tolerance {
				bad++
				if first < 0 {
					first = i
				}
			}
		}
		f := Finding{Component: v.Component, Numbers: Numbers{
			"median": float64(v.Median), "q90": float64(v.Q90), "q99": float64(v.Q99), "worst": float64(v.Worst),
			"worst_row": float64(v.WorstSample), "violating": float64(bad) / float64(n), "tolerance": s.Tolerance}}
		f.Message = fmt.Sprintf("violated by %.2g (median), %.2g (99 %%), %.2g (worst, row %d)", v.Median, v.Q99, v.Worst, v.WorstSample)
		if bad > 0 {
			f.Status = Fail
			f.Numbers["first_row"] = float64(first)
			f.Message += fmt.Sprintf(": %d of %d rows are beyond the tolerance %g, first row %d with %.3g", bad, n, s.Tolerance, first, constraint.Excess(values[first*s.c+a], a < s.m))
		} else if v.Worst == 0 {
			f.Message = "no row violates it"
		}
		out = append(out, f)
	}
	if feasible == 0 {
		out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("no row of the data is feasible to %g: are its columns and units those of the constraints?", s.Tolerance)}}, out...)
	}
	return out
}
