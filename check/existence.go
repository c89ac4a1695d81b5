package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// existence reports whether Gauss–Newton steps find points of Σ, and if not
// which components stay violated where they stop.
func existence(s *subject) []Finding {
	numbers := Numbers{"starts": float64(s.tried[0]), "starts_arrived": float64(s.arrived[0]), "rows": float64(s.tried[1]), "rows_arrived": float64(s.arrived[1])}
	f := Finding{Numbers: numbers, Message: fmt.Sprintf("%d of %d random starts reach Σ", s.arrived[0], s.tried[0])}
	if s.tried[1] > 0 {
		f.Message += fmt.Sprintf(", and %d of %d rows of data", s.arrived[1], s.tried[1])
	}
	switch {
	case len(s.on) == 0:
		return s.nothingFound(numbers)
	case s.arrived[1] < s.tried[1]:
		f.Status = Warn
		f.Message += ": rows that Gauss–Newton steps cannot land are far from Σ, or Σ is singular there"
	case 10*s.arrived[0] < s.tried[0]:
		f.Status = Warn
		f.Message += ": Σ is hard to reach from afar; give data, and an empirical prior"
	}
	return []Finding{f}
}

// nothingFound names the components that stay violated at the best of the points
// where the search ended: those conflict there, or no start came near Σ.
func (s *subject) nothingFound(numbers Numbers) []Finding {
	best, at := math.Inf(1), -1
	for i, p := range s.stuck {
		if v := s.worst(p.x); v < best {
			best, at = v, i
		}
	}
	if at < 0 {
		return []Finding{{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
			"the set seems empty: none of %d starts has finite constraints to start from", s.tried[0]+s.tried[1])}}
	}
	ok := s.at(s.stuck[at].x)
	var left []string
	var out []Finding
	for i, v := range s.val {
		if ok && i < s.m && math.Abs(v) <= onΣ && dense.Norm(s.grad(i)) == 0 && len(out) < 2*shown {
			out = append(out, Finding{Component: s.names[i], Status: Fail, Message: fmt.Sprintf(
				"its gradient is 0 where the search from %s ends, so no step leads on from there: does it depend on x?", s.stuck[at].from)})
		}
		if u := constraint.Excess(v, i < s.m); u > 0.1*best && u > onΣ && len(out) < 2*shown {
			left = append(left, fmt.Sprintf("%q by %.3g", s.names[i], u))
			out = append(out, Finding{Component: s.names[i], Status: Fail, Numbers: Numbers{"violation": u},
				Message: fmt.Sprintf("stays violated by %.3g where the search from %s ends", u, s.stuck[at].from)})
		}
	}
	numbers["violation"] = best
	why := ", which conflict there"
	if len(left) == 1 {
		why = ", which nothing lowers there"
	}
	first := Finding{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
		"the set seems empty: none of %d starts reaches Σ. The nearest ends with %s%s", s.tried[0]+s.tried[1], strings.Join(left[:min(len(left), shown)], ", "), why)}
	return append([]Finding{first}, out...)
}

// worst returns the largest violation at x.
func (s *subject) worst(x []float64) float64 {
	s.eval.Values(s.val, x, 1)
	worst := 0.0
	for i, v := range s.val {
		worst = max(worst, constraint.Excess(v, i < s.m))
	}
	return worst
}
