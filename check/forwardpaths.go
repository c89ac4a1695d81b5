package check

import (
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
)

// forwardPaths reports whether the process can run, and how its forward paths
// from points on Σ went.
func forwardPaths(s *subject) []Finding {
	var out []Finding
	var config *langevin.ConfigError
	var lacks *constraint.UnsupportedError
	switch {
	case errors.As(s.invalid, &config) && config.Field == "Landing.Rate": // reported by its own check
	case errors.As(s.invalid, &config), errors.As(s.invalid, &lacks):
		out = append(out, Finding{Status: Fail, Message: "the process cannot run: " + s.invalid.Error()})
	}
	if s.broken != nil {
		f := Finding{Status: Fail, Message: s.broken.Error()}
		var d *langevin.DivergedError
		if errors.As(s.broken, &d) {
			f.Component = d.Component
			f.Message = fmt.Sprintf("forward path %d breaks down at step %d: %v", d.Sample, d.Step, d.Err)
			f.Numbers = Numbers{"path": float64(d.Sample), "step": float64(d.Step)}
		}
		return append(out, f)
	}
	if s.paths.Count == 0 {
		return append(out, Finding{Status: Warn, Message: "no forward path was run"})
	}
	failed := 0
	for _, f := range s.paths.Failed {
		if f {
			failed++
		}
	}
	f := Finding{Numbers: Numbers{"paths": float64(s.paths.Count), "failed": float64(failed)}}
	f.Message = fmt.Sprintf("%d paths of %d steps run to the end", s.paths.Count, s.paths.Steps)
	if failed > 0 {
		f.Status = Warn
		f.Message = fmt.Sprintf("%d of %d paths lose a projection: smaller steps help (a larger N, or a smaller σ_max)", failed, s.paths.Count)
	}
	if step := s.largestStep() * math.Sqrt(float64(max(s.d-s.m, 1))); step > s.scale {
		f.Status = Warn
		f.Message += fmt.Sprintf("; the largest step moves by %.2g, more than the spread %.2g of Σ", step, s.scale)
		f.Numbers["step"], f.Numbers["spread"] = step, s.scale
	}
	return append(out, f)
}
