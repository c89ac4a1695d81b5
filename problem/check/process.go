package check

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// landingRate looks at ρ_k = ασ_k²Δt, the share of a violation that explicit landing removes at step k: h_{k+1} = (1
// − ρ_k) h_k to leading order. It diverges at ρ ≥ 2 and overshoots above 1.
func landingRate(e *Evidence) []Finding {
	p := e.Process
	if p.Method.Projected() {
		return []Finding{{Message: fmt.Sprintf("%s projects at every step and has no landing rate", p.Method)}}
	}
	if !p.Landing.Explicit {
		return []Finding{{Message: "implicit landing: ρ_k = ασ_k²Δt = 1 at every step",
			Numbers: Numbers{"rho_max": 1, "rho_min": 1}}}
	}
	lo, hi, at, sum := p.Rho(0), 0.0, 0, 0.0
	for k := range p.Steps() {
		ρ := p.Rho(k)
		lo, sum = min(lo, ρ), sum+ρ
		if ρ > hi {
			hi, at = ρ, k
		}
	}
	α := p.MonotoneRate()
	f := Finding{Numbers: Numbers{"rho_min": lo, "rho_max": hi, "at_step": float64(at), "alpha": p.Landing.Rate,
		"alpha_recommended": α, "rho_sum": sum}}
	profile := fmt.Sprintf("ρ_k = ασ_k²Δt goes from %.3g to %.3g", lo, hi)
	advice := fmt.Sprintf("α = %.4g makes ρ at most 1", α)
	switch {
	case !(p.Landing.Rate > 0):
		f.say(Fail, "α is %v: nothing lands; %s", p.Landing.Rate, advice)
	case hi >= 2:
		f.say(Fail, "%s, at step %d: landing diverges at 2; %s", profile, at, advice)
	case hi > 1:
		f.say(Warn, "%s, at step %d: landing overshoots and oscillates above 1; %s", profile, at, advice)
	case sum < 3:
		f.say(Warn, "%s, and Σρ_k is %.2g: a violation only shrinks by the factor %.2g "+
			"over a whole path; %s", profile, sum, math.Exp(-sum), advice)
	default:
		f.Message = profile + ": violations decay monotonically"
		if hi < 0.5 {
			f.Message += fmt.Sprintf("; α up to %.4g stays monotone", α)
		}
	}
	return []Finding{f}
}

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
	if lost, ends := e.lostEnds(); lost > 0 {
		f.add(Warn, "; %d of %d paths end where no projection leads to Σ, as at a singular point", lost, ends)
		if lost > 2 && lost > ends/16 { // training allows a hundredth
			f.Status = Fail
		}
		f.Numbers["lost_ends"] = float64(lost)
	}
	steps := float64(e.Paths.Count * e.Paths.Steps)
	if lost := float64(e.Bounces.TurnedBack + e.Bounces.Pushed); lost > 0.9*steps {
		f.say(Fail, "%.3g %% of the steps of %d paths turn back: the inequalities %s leave no room to move. Write "+
			"two that mean an equation as one equality", 100*lost/steps, e.Paths.Count, e.tight())
		f.Numbers["turned back"] = lost / steps
	} else if lost > maxTurned*steps {
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

// lostEnds counts paths whose last state, which training projects to Σ, has no projection.
func (e *Evidence) lostEnds() (lost, of int) {
	if e.Process.NoTerminal || e.Running.Method.Projected() {
		return 0, 0
	}
	solver := geometry.NewSolver(e.Running.Walked(), 0).Until(e.ctx)
	of = min(e.Paths.Count, e.Budget(20*e.Factoring(), 32))
	for i := range of {
		if !solver.Project(append([]float64(nil), e.Paths.At(i, e.Paths.Steps)...), 0) {
			lost++
		}
	}
	return lost, of
}

// tight names the inequalities whose edge is within a tenth of a step of most points of Σ.
func (e *Evidence) tight() string {
	probe, count := e.Probe(), make([]int, e.C)
	var names []string
	for n, p := range e.On {
		probe.At(p.X)
		for i := e.M; i < e.C; i++ {
			if probe.Val[i] >= -0.1*e.LargestStep()*dense.Norm(probe.Grad(i)) {
				count[i]++
			}
			if n == len(e.On)-1 && 2*count[i] > len(e.On) && len(names) < shown {
				names = append(names, strconv.Quote(e.Names[i]))
			}
		}
	}
	return strings.Join(names, ", ")
}

// offsets measures how far from h = 0 the steps hover: a tangential move v leaves h by ½ vᵀ∇²h v, and explicit landing
// removes the share ρ of it at the next step. What hovers by much of a radius of curvature follows another set.
func offsets(e *Evidence) []Finding {
	if e.M == 0 || e.Paths.Count == 0 {
		return nil
	}
	bend := e.bends()
	measured, worst := e.hover()
	var out []Finding
	for i := range e.M {
		bent := measured[i] * bend[i]
		f := Finding{Component: e.Names[i], Numbers: Numbers{"measured": measured[i], "worst": worst[i],
			"over_radius": bent}}
		f.Message = fmt.Sprintf("|h| hovers at %.2g, at worst %.2g", measured[i], worst[i])
		if math.IsNaN(measured[i]) {
			f.Message = fmt.Sprintf("|h| is at worst %.2g; every state is at an edge", worst[i])
		}
		if bent > 0.1 && !e.flat[i] {
			f.add(Warn, ": %.0f %% of a typical radius of curvature of Σ; %s", 100*bent, e.remedy())
		}
		out = append(out, f)
	}
	return out
}

func (e *Evidence) remedy() string {
	switch {
	case e.Running.Method.Projected():
		return "take smaller steps (a larger N, or a smaller σ_max)"
	case e.Running.Landing.Explicit && e.Running.Rho(e.Running.Schedule.N-1) < 0.5:
		return fmt.Sprintf("raise α towards %.3g, or take smaller steps", e.Running.MonotoneRate())
	case e.Running.Method == langevin.OLLA && !e.Running.Curvature && e.Running.Landing.Explicit:
		return "turn on the curvature term, or take smaller steps"
	}
	return "take smaller steps (a larger N, or a smaller σ_max)"
}

// bends returns the curvature of each component along Σ, the largest |vᵀ∇²h v|/(‖v‖²‖∇h‖²) of a point in the units of
// 1/h, as a root mean square over points, since few of them are where Σ is sharpest.
func (e *Evidence) bends() []float64 {
	const draws = 8
	points := evidence.First(e.On, e.Budget(float64(draws*8*e.C*e.D), evidence.MaxPoints))
	b, probe := geometry.New(e.Set, 1, 0), e.Probe()
	bend := make([]float64, e.M)
	v, q := make([]float64, e.D), make([]float64, e.C)
	n := 0
	for i, p := range points {
		if !probe.At(p.X) || b.At(p.X, 1) != nil {
			continue
		}
		grad, most := make([]float64, e.M), make([]float64, e.M)
		for a := range grad {
			grad[a] = dense.Norm(probe.Grad(a))
		}
		for t := range draws {
			e.Normals(v, i*draws+t, evidence.ForBends)
			b.Tangent(v, v)
			e.bend(probe, q, p.X, v)
			if u := dense.Dot(v, v); u > 0 {
				for a := range e.M {
					most[a] = max(most[a], 2*math.Abs(q[a])/u/(grad[a]*grad[a]))
				}
			}
		}
		n++
		for a, b := range most {
			bend[a] += b * b
		}
	}
	for a := range bend {
		bend[a] = math.Sqrt(bend[a] / float64(max(n, 1)))
	}
	return bend
}

// bend writes ½ vᵀ∇²c v for every component, by second differences.
func (e *Evidence) bend(probe *evidence.Probe, dst, x, v []float64) {
	size := dense.Norm(v)
	if size == 0 {
		clear(dst)
		return
	}
	t := 1e-3 * e.Scale / size
	y := make([]float64, e.D)
	mid, plus, minus := make([]float64, e.C), make([]float64, e.C), make([]float64, e.C)
	probe.Values(mid, x, 1)
	dense.AddScaled(y, x, t, v)
	probe.Values(plus, y, 1)
	dense.AddScaled(y, x, -t, v)
	probe.Values(minus, y, 1)
	for i := range dst {
		dst[i] = (plus[i] - 2*mid[i] + minus[i]) / (2 * t * t)
	}
}

// hover returns the root mean square of h over the second half of the forward paths, away from edges, whose pushes
// disturb h too; and the largest |h| anywhere on them.
func (e *Evidence) hover() (rms, worst []float64) {
	rms, worst = make([]float64, e.M), make([]float64, e.M)
	n, probe := 0.0, e.Probe()
	for i := range e.Paths.Count {
		for k := 1; k <= e.Paths.Steps; k++ {
			probe.Values(probe.Val, e.Paths.At(i, k), 1)
			counts := 2*k > e.Paths.Steps
			for _, g := range probe.Val[e.M:] {
				counts = counts && g < -1.01*e.Running.Repulsion
			}
			if counts {
				n++
			}
			for a := range rms {
				worst[a] = max(worst[a], math.Abs(probe.Val[a]))
				if counts {
					rms[a] += probe.Val[a] * probe.Val[a]
				}
			}
		}
	}
	for a := range rms {
		rms[a] = math.Sqrt(rms[a] / n)
	}
	return rms, worst
}
