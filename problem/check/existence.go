package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// existence reports whether Gauss–Newton steps find points of Σ, and if not
// which components stay violated where they stop.
func existence(e *Evidence) []Finding {
	numbers := Numbers{"starts": float64(e.Starts.Tried), "starts_arrived": float64(e.Starts.Arrived),
		"rows": float64(e.Rows.Tried), "rows_arrived": float64(e.Rows.Arrived)}
	f := Finding{Numbers: numbers, Message: fmt.Sprintf("%d of %d random starts reach Σ", e.Starts.Arrived,
		e.Starts.Tried)}
	if e.Rows.Tried > 0 {
		f.Message += fmt.Sprintf(", and %d of %d rows of data", e.Rows.Arrived, e.Rows.Tried)
	}
	switch {
	case len(e.On) == 0:
		return e.nothingFound(numbers)
	case e.Rows.Arrived < e.Rows.Tried:
		f.add(Warn, ": rows that Gauss–Newton steps cannot land are far from Σ, or Σ is singular there")
	case 10*e.Starts.Arrived < e.Starts.Tried:
		f.add(Warn, ": Σ is hard to reach from afar; give data, and an empirical prior")
	}
	return []Finding{f}
}

// nothingFound names the components that stay violated at the best of the points
// where the search ended: those conflict there, or no start came near Σ.
func (e *Evidence) nothingFound(numbers Numbers) []Finding {
	best, at := math.Inf(1), -1
	probe := e.Probe()
	for i, p := range e.Stuck {
		probe.Values(probe.Val, p.X, 1)
		if v, _ := constraint.Worst(probe.Val, e.M); v < best {
			best, at = v, i
		}
	}
	if at < 0 {
		return []Finding{{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
			"the set seems empty: none of %d starts has finite constraints to start from",
			e.Starts.Tried+e.Rows.Tried)}}
	}
	ok := probe.At(e.Stuck[at].X)
	var left []string
	var out []Finding
	for i, v := range probe.Val {
		if ok && i < e.M && math.Abs(v) <= evidence.Tolerance && dense.Norm(probe.Grad(i)) == 0 && len(out) < 2*shown {
			out = append(out, Finding{Component: e.Names[i], Status: Fail, Message: fmt.Sprintf(
				"its gradient is 0 where the search from %s ends, so no step leads on from there: does it depend on x?",
				e.Stuck[at].From)})
		}
		if u := constraint.Excess(v, i < e.M); u > 0.1*best && u > evidence.Tolerance && len(out) < 2*shown {
			left = append(left, fmt.Sprintf("%q by %.3g", e.Names[i], u))
			out = append(out, Finding{Component: e.Names[i], Status: Fail, Numbers: Numbers{"violation": u},
				Message: fmt.Sprintf("stays violated by %.3g where the search from %s ends", u, e.Stuck[at].From)})
		}
	}
	numbers["violation"] = best
	why := ", which conflict there"
	if len(left) == 1 {
		why = ", which nothing lowers there"
	}
	first := Finding{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
		"the set seems empty: none of %d starts reaches Σ. The nearest ends with %s%s", e.Starts.Tried+e.Rows.Tried,
		strings.Join(left[:min(len(left), shown)], ", "), why)}
	return append([]Finding{first}, out...)
}
