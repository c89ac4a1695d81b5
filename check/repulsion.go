package check

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
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
	windows := s.windows()
	least, most := math.Inf(1), 0.0
	for j := s.m; j < s.c; j++ {
		w := windows[j]
		if w.step == 0 || s.flat[j] {
			continue
		}
		if w.far() {
			out = append(out, Finding{Component: s.names[j], Numbers: Numbers{"away": w.away, "step": w.step},
				Message: fmt.Sprintf("no point comes near its edge: −g is at least %.2g, a step moves it by %.2g", w.away, w.step)})
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
	depth float64 // the largest −g seen: how far inside points can be
	away  float64 // the least |g| seen
}

// far reports whether no point came within five steps of the edge.
func (w window) far() bool { return w.away > 5*w.step }

// windows looks at every inequality where it is nearest to its edge; step is 0
// for one that no step along Σ moves.
func (s *subject) windows() []window {
	points := slices.Concat(s.boundary, s.typical(), s.data, s.states(200))
	values := make([]float64, len(points)*s.c)
	for i, p := range points {
		s.eval.Values(values[i*s.c:(i+1)*s.c], p.x, 1)
	}
	out := make([]window, s.c)
	visits := make([][]int, len(points)) // the inequalities to look at from each point
	for j := s.m; j < s.c; j++ {
		at := func(i int) float64 { return math.Abs(values[i*s.c+j]) }
		var order []int
		for i := range points {
			if g := values[i*s.c+j]; finite(g) {
				order = append(order, i)
				out[j].depth = max(out[j].depth, -g)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
		for _, i := range order[:min(len(order), 8)] {
			visits[i] = append(visits[i], j)
		}
		if len(order) > 0 {
			out[j].away = at(order[0])
		}
	}
	sizes := make([][]float64, s.c)
	b := geometry.New(constraint.EqualitiesOf(s.set), 1, 0)
	t := make([]float64, s.d)
	for i, p := range points {
		if len(visits[i]) == 0 || !s.at(p.x) || b.At(p.x, 1) != nil {
			continue
		}
		for _, j := range visits[i] {
			copy(t, s.grad(j))
			b.Tangent(t, t)
			sizes[j] = append(sizes[j], dense.Norm(t))
		}
	}
	step, ρ := s.typicalStep()
	for j := s.m; j < s.c; j++ {
		if size := median(sizes[j]); size > 0 {
			out[j].step, out[j].best = step*size, step*size/ρ
		}
	}
	return out
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
	if s.proc.Landing.Explicit {
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
	for _, w := range s.windows()[s.m:] {
		if w.step > 0 && !w.far() {
			best = append(best, w.best)
			if w.depth > 0 {
				shallow = min(shallow, w.depth)
			}
		}
	}
	ε = median(best)
	switch {
	case !finite(ε):
		return 0, "no point comes near the edge of an inequality"
	case ε > wideShare*shallow:
		return wideShare * shallow, fmt.Sprintf("a quarter of the shallowest window, %.3g deep; a typical step would want %.3g", shallow, ε)
	}
	why := "ρε is a typical step across the boundary"
	if len(best) > 1 {
		why += fmt.Sprintf(": median over %d inequalities", len(best))
	}
	return ε, why
}
