package check

import (
	"errors"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
)

// maxTurned is the share of steps that may turn back at elastic walls.
const maxTurned = 0.02

// forwardPaths reports whether the process can run, and how its forward paths from points on Σ went.
func forwardPaths(e *Evidence) []Finding {
	var out []Finding
	var config *langevin.ConfigError
	var lacks *constraint.UnsupportedError
	switch {
	case errors.As(e.Invalid, &config) && config.Field == "Landing.Rate": // reported by its own check
	case errors.As(e.Invalid, &config), errors.As(e.Invalid, &lacks):
		out = append(out, Finding{Status: Fail, Message: "the process cannot run: " + e.Invalid.Error()})
	}
	if e.Broken != nil {
		f := Finding{Status: Fail, Message: e.Broken.Error()}
		var d *langevin.DivergedError
		if errors.As(e.Broken, &d) {
			f.Component = d.Component
			f.Message = fmt.Sprintf("forward path %d breaks down at step %d: %v", d.Sample, d.Step, d.Err)
			f.Numbers = Numbers{"path": float64(d.Sample), "step": float64(d.Step)}
		}
		return append(out, f)
	}
	if e.Paths.Count == 0 {
		return append(out, Finding{Status: Warn, Message: "no forward path was run"})
	}
	failed := 0
	for _, f := range e.Paths.Failed {
		if f {
			failed++
		}
	}
	f := Finding{Numbers: Numbers{"paths": float64(e.Paths.Count), "failed": float64(failed)}}
	f.Message = fmt.Sprintf("%d paths of %d steps run to the end", e.Paths.Count, e.Paths.Steps)
	if failed > 0 {
		f.say(Warn, "%d of %d paths lose a projection: smaller steps help (a larger N, or a smaller σ_max)",
			failed, e.Paths.Count)
	}
	steps := float64(e.Paths.Count * e.Paths.Steps)
	if lost := float64(e.Bounces.TurnedBack + e.Bounces.Pushed); lost > maxTurned*steps {
		f.add(Warn, "; %.2g %% of steps turn back at walls that cannot mirror them: smaller ones help "+
			"(a larger N, or a smaller σ_max)", 100*lost/steps)
		f.Numbers["turned back"] = lost / steps
	}
	if step := e.LargestStep() * math.Sqrt(float64(max(e.D-e.M, 1))); step > e.Scale {
		f.add(Warn, "; the largest step moves by %.2g, more than the spread %.2g of Σ", step, e.Scale)
		f.Numbers["step"], f.Numbers["spread"] = step, e.Scale
	}
	return append(out, f)
}
