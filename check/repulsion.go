package check

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/parallel"
)

// The rule for ε. A step that lands an active inequality pushes it inwards by
// ρ(g + ε) ≈ ρε; a free step near the edge moves it by about s‖Π∇g‖, where
// s = √τ (OLLA) or τ (ULLA) and Π is the projector of the equalities. With
//
//	r = ρε / (s‖Π∇g‖)
//
// small, points fall back at once and stick to the edge; with r large they jump
// over a layer that then stays empty. On an interval r = 1 is best to within the
// noise for both methods, all ρ and γ tried (docs/benchmarks.md).
const (
	sticky    = 0.3 // r below: the law near the edge is off by a layer's mass or more
	overshoot = 3.0
	wideShare = 0.25 // of a window's width that a push may cross
)

// repulsion places ε between sticking to the boundary and overshoot.
func repulsion(s *subject) []Finding {
	if s.c == s.m || s.proc.Method.Projected() || s.proc.Validate() != nil || len(s.on) == 0 {
		return nil
	}
	ε := s.Process.Repulsion
	var out []Finding
	least, most := math.Inf(1), 0.0
	for j := s.m; j < s.c; j++ {
		w, ok := s.window(j)
		if !ok || s.flat[j] {
			continue
		}
		least, most = min(least, w.best), max(most, w.best)
		r := ε / w.best
		f := Finding{Component: s.names[j], Numbers: Numbers{"epsilon": ε, "recommended": w.best, "ratio": r, "width": w.depth, "step": w.step}}
		advice := fmt.Sprintf("ε = %.2g suits this component", w.best)
		switch {
		case w.best > wideShare*w.depth && w.depth > 0:
			f.Status = Warn
			f.Message = fmt.Sprintf("a step moves it by %.2g and its window is only %.2g deep: no ε helps, take smaller steps (a larger N, or a smaller σ_max)", w.step, w.depth)
		case ε > wideShare*w.depth && w.depth > 0:
			f.Status = Warn
			f.Message = fmt.Sprintf("ε = %.3g pushes points through %.0f %% of its window, %.2g deep; %s", ε, 100*min(ε/w.depth, 1), w.depth, advice)
		case r < sticky:
			f.Status = Warn
			f.Message = fmt.Sprintf("ε = %.3g is %.2g of a typical step: points will stick to its edge; %s", ε, r, advice)
		case r > overshoot:
			f.Status = Warn
			f.Message = fmt.Sprintf("ε = %.3g is %.3g typical steps: pushed points overshoot and leave its edge empty; %s", ε, r, advice)
		default:
			f.Message = fmt.Sprintf("ε = %.3g is %.2g of a typical step: neither sticking nor overshoot", ε, r)
		}
		out = append(out, f)
	}
	if most > 30*least {
		out = append(out, Finding{Status: Warn, Numbers: Numbers{"least": least, "most": most}, Message: fmt.Sprintf(
			"one ε serves all inequalities, and they want from %.2g to %.2g: rescale the components to like gradients", least, most)})
	}
	return out
}

// A window is what ε must be compared with at one inequality.
type window struct {
	step  float64 // s‖Π∇g‖: how far a typical step moves g
	best  float64 // the ε with r = 1
	depth float64 // the lowest −g seen: how far inside points can be
}

// window looks at component j where it is nearest to its edge.
func (s *subject) window(j int) (window, bool) {
	points := slices.Concat(s.boundary, s.typical(), s.data, s.states(200))
	depth := 0.0
	type near struct {
		g float64
		x []float64
	}
	var edge []near
	for _, p := range points {
		s.set.Values(s.val, p.x, 1)
		if g := s.val[j]; finite(g) {
			edge = append(edge, near{g, p.x})
			depth = max(depth, -g)
		}
	}
	slices.SortFunc(edge, func(a, b near) int {
		switch {
		case math.Abs(a.g) < math.Abs(b.g):
			return -1
		case math.Abs(a.g) > math.Abs(b.g):
			return 1
		}
		return 0
	})
	var sizes []float64
	b := geometry.NewBlock(equalities{s.set}, 1, 0)
	t := make([]float64, s.d)
	for _, e := range edge[:min(len(edge), 20)] {
		if !s.at(e.x) || b.At(e.x, 1) != nil {
			continue
		}
		b.Tangent(t, append([]float64(nil), s.grad(j)...))
		sizes = append(sizes, norm(t))
	}
	size := median(sizes)
	if !(size > 0) {
		return window{}, false // no step along Σ moves it
	}
	step, ρ := s.typicalStep()
	return window{step: step * size, best: step * size / ρ, depth: depth}, true
}

// typicalStep returns s and ρ at the mean of τ_k.
func (s *subject) typicalStep() (step, ρ float64) {
	mean := 0.0
	for k := range s.proc.Schedule.N {
		mean += s.proc.Schedule.Tau(k) / float64(s.proc.Schedule.N)
	}
	step, ρ = mean, 1
	if !s.proc.Method.Underdamped() {
		step = math.Sqrt(mean)
	}
	if !s.proc.Landing.Implicit {
		ρ = min(s.proc.Landing.Rate*mean, 1)
	}
	return step, ρ
}

// ChooseRepulsion returns the ε that the rule of this package recommends for the
// process on its data (n×d; random starts where there is none), with the reason:
// the median over inequalities, at most a quarter of the shallowest window. It
// is 0 where there are no inequalities.
func ChooseRepulsion(p *langevin.Process, data []float64, seed uint64, pool *parallel.Pool) (ε float64, reason string) {
	if len(p.Set.Inequalities()) == 0 {
		return 0, "there are no inequalities"
	}
	s := newSubject(context.Background(), Input{Process: p, Data: data, Seed: seed}, pool)
	var best []float64
	shallow := math.Inf(1)
	for j := s.m; j < s.c; j++ {
		if w, ok := s.window(j); ok {
			best = append(best, w.best)
			if w.depth > 0 {
				shallow = min(shallow, w.depth)
			}
		}
	}
	ε = median(best)
	switch {
	case !finite(ε):
		return 0, "no inequality moves along Σ"
	case ε > wideShare*shallow:
		return wideShare * shallow, fmt.Sprintf("a quarter of the shallowest window, %.3g deep; a typical step would want %.3g", shallow, ε)
	}
	return ε, fmt.Sprintf("ρε is a typical step across the boundary: median over %d inequalities", len(best))
}
