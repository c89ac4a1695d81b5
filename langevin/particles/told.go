package particles

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

// constantSpread is the share of its size below which a number is the same at all points.
const constantSpread = 1e-9

// barren refuses equalities of numbers that are the same at all points of Σ.
func barren(seen []Seen) error {
	for _, s := range seen {
		if size := math.Max(math.Abs(s.Low), math.Abs(s.High)); !s.equality || !(s.SD <= constantSpread*(size+1)) {
			continue
		} else if size <= tolerance {
			return fault.Errorf(fault.Problem, "", "the equality %q holds at all points of the set already; "+
				"expected one that leaves some out", s.Name)
		}
		return fault.Errorf(fault.Check, "", "the equality %q holds nowhere: its two sides differ by %.4g at all "+
			"samples of the run", s.Name, s.Mean)
	}
	return nil
}

// nearest says how near plain samples come to the constraints.
func nearest(seen []Seen) string {
	var out []string
	for _, s := range seen {
		if !(s.Low <= 0 && s.High >= 0) || s.equality || len(seen) == 1 {
			out = append(out, fmt.Sprintf("%s is %.4g to %.4g", s.Name, s.Low, s.High))
		}
	}
	if out == nil {
		return "Each of the constraints holds at some samples of the run"
	}
	return "At samples of the run " + strings.Join(out, ", ") + " (0, or below of an inequality, is what is asked)"
}
