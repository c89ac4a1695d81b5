package check

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
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
	// How far row i is from component a, what it may be, and what rounding explains: in the
	// component's own unit, or where no tolerance is given in the data's.
	far, limit, rounded, unit := values, e.Tolerance, e.Tolerance, ""
	excess := func(i, a int) float64 { return constraint.Excess(values[i*e.C+a], a < e.M) }
	if e.data != nil {
		far, limit = e.far, evidence.Far*e.data.Spread
		rounded, unit = e.data.Rounded()*e.data.Spread, fmt.Sprintf(" (%g %% of the spread of a coordinate)",
			100*evidence.Far)
	}
	distance := func(i, a int) float64 { return constraint.Excess(far[i*e.C+a], a < e.M) }
	feasible := 0
	for i := range n {
		bad := false
		for a := range e.C {
			bad = bad || distance(i, a) > limit
		}
		if !bad {
			feasible++
		}
	}
	var out []Finding
	for a, v := range metric.Violations(e.Names, values, n, e.M) {
		bad, beside, first, worst := 0, 0, -1, 0
		for i := range n {
			s := distance(i, a)
			if s > rounded {
				beside++
			}
			if s > distance(worst, a) {
				worst = i
			}
			if s > limit {
				bad++
				if first < 0 {
					first = i
				}
			}
		}
		f := Finding{Component: v.Component, Numbers: Numbers{
			"median": float64(v.Median), "q90": float64(v.Q90), "q99": float64(v.Q99), "worst": float64(v.Worst),
			"worst_row": float64(v.WorstSample), "violating": float64(bad) / float64(n), "tolerance": limit}}
		f.Message = fmt.Sprintf("violated by %.2g (median), %.2g (99 %%), %.2g (worst, row %d)", v.Median, v.Q99,
			v.Worst, v.WorstSample)
		if e.data != nil {
			f.Numbers["distance"] = distance(worst, a)
		}
		switch {
		case bad > 0:
			f.Status = Fail
			f.Numbers["first_row"] = float64(first)
			f.Message += fmt.Sprintf(": %d of %d rows are beyond the tolerance %.4g%s, first row %d with %.3g", bad, n,
				limit, unit, first, distance(first, a))
			if e.data != nil {
				f.Message += fmt.Sprintf(" (a violation of %.3g); landing refine brings rows that are near to Σ",
					excess(first, a))
			}
		case beside > 0:
			f.add(Warn, ": %d of %d rows are beside Σ by more than rounding explains, row %d the most, "+
				"%.3g away, %.2g %% of the spread of a coordinate; landing refine brings them to it", beside, n,
				worst, distance(worst, a), 100*distance(worst, a)/e.data.Spread)
		case v.Worst == 0:
			f.Message = "no row violates it"
		}
		out = append(out, f)
	}
	if feasible == 0 {
		out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("no row of the data is feasible to %.4g%s: are its "+
			"columns and units those of the constraints?", limit, unit)}}, out...)
	} else if e.data != nil && feasible == n {
		if first, worst, rows := e.data.Beyond(evidence.Far); rows > 0 {
			out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("%d of %d rows are too far from all "+
				"constraints together: the first, row %d, %s; the most, row %d, %s", rows, n, first,
				e.data.Tell(first), worst, e.data.Tell(worst))}}, out...)
		}
	}
	return out
}

// measure measures how far the data is from Σ, and each row from each component alone, where no tolerance is given.
func (e *Evidence) measure(pool *parallel.Pool) {
	n := len(e.Data) / e.D
	if e.Tolerance != 0 || e.C == 0 || n == 0 {
		return
	}
	const block = 64
	e.data, e.far = evidence.Feasible(e.ctx, e.Set, e.Data[:n*e.D], pool), make([]float64, n*e.C)
	rulers := make([]*geometry.Ruler, pool.Workers())
	_ = pool.DoUntil(e.ctx, parallel.Blocks(n, block), func(worker, b int) {
		if rulers[worker] == nil {
			rulers[worker] = geometry.NewRuler(e.Set)
		}
		lo, hi := parallel.Block(b, n, block)
		for i := lo; i < hi; i++ {
			copy(e.far[i*e.C:], rulers[worker].Singles(e.Data[i*e.D:(i+1)*e.D]))
		}
	})
}
