package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// ranks examines the rank of ∇J, the unit gradients of h and of the inequalities that are active: on Σ, on its edges,
// beside Σ and along forward paths. The paper asks for constant rank (rCRCQ): a component that depends on others
// everywhere is redundant and harmless; one that depends on them on Σ but not beside it, or only here and there,
// makes Π jump.
func ranks(e *Evidence) []Finding {
	if e.C == 0 {
		return nil
	}
	n := e.Budget(float64(e.C*e.C*e.D), evidence.MaxPoints)
	t, probe := tally{of: make([]dependence, e.C)}, e.ranked()
	for i := range t.of {
		t.of[i].on, t.of[i].nearest = map[int]int{}, 1
	}
	for k, points := range [][]evidence.Point{evidence.First(e.On, n), evidence.First(e.Boundary, n),
		evidence.First(e.Near, n), e.States(n)} {
		for _, p := range points {
			if probe.At(p.X) {
				t.add(e, probe, k == 0, p)
			}
		}
	}
	t.perturb(e, append(evidence.First(e.On, n/2), evidence.First(e.Boundary, n/2)...))
	var out []Finding
	for i, name := range e.Names {
		if e.flat[i] {
			continue // no gradient to compare
		}
		if f, ok := t.finding(e, i); ok {
			f.Component = name
			out = append(out, f)
		}
	}
	if e.anyFlat() {
		return out
	}
	return append(out, t.summary(e))
}

// A tally is what the gradients of components have in common.
type tally struct {
	of   []dependence
	rank [2]int // least and largest rank of the equalities on Σ
	on   bool   // a point of Σ was looked at
}

// A dependence counts where the gradient of a component is in the span of the others before it.
type dependence struct {
	seen, dependent int
	on              map[int]int // how often each other component shares in it
	nearest         float64     // least sine of the angle to the span of the others, above the tolerance
	at              string      // where that is
	gained          string      // a place of Σ beside which the component becomes independent
	dropped         string      // the first place where it is dependent
}

// present returns the components in J at the values of the probe: equalities, and inequalities at or beyond 0.
func (e *Evidence) present(probe *ranked) []int {
	var index []int
	for i, v := range probe.Val {
		if !e.flat[i] && (i < e.M || v >= -evidence.Tolerance) {
			index = append(index, i)
		}
	}
	return index
}

func (t *tally) add(e *Evidence, probe *ranked, on bool, p evidence.Point) {
	equalities := 0
	for _, l := range e.factor(probe, e.present(probe)) {
		if e.corner(l) {
			continue
		}
		c := &t.of[l.component]
		c.seen++
		shares := l.sine <= geometry.RankTolerance
		switch {
		case shares:
			c.dependent, c.dropped = c.dependent+1, cmp.Or(c.dropped, p.From)
		case l.sine < c.nearest:
			c.nearest, c.at = l.sine, p.From
			shares = l.sine < nearlyParallel
		}
		if l.sine > geometry.RankTolerance && l.component < e.M {
			equalities++
		}
		for _, o := range l.on {
			if shares {
				c.on[o]++
			}
		}
	}
	if on && !t.on {
		t.rank, t.on = [2]int{equalities, equalities}, true
	} else if on {
		t.rank = [2]int{min(t.rank[0], equalities), max(t.rank[1], equalities)}
	}
}

// lostSine is the sine below which a gradient may be dependent at a point of Σ
// that is known to a limited accuracy: near a double root, to half the digits.
const lostSine = 1e-5

// perturb looks at the same components a little beside each point: one that is
// dependent at the point and not beside it breaks constant rank.
func (t *tally) perturb(e *Evidence, points []evidence.Point) {
	x, probe := make([]float64, e.D), e.ranked()
	for n, p := range points {
		if !probe.At(p.X) {
			continue
		}
		index := e.present(probe)
		lost := map[int]float64{}
		for _, l := range e.factor(probe, index) {
			if l.sine < lostSine && !e.corner(l) {
				lost[l.component] = l.sine
			}
		}
		if len(lost) == 0 {
			continue
		}
		dense.AddScaled(x, p.X, 1e-2*e.Radius, e.Direction(n, evidence.ForRanks))
		if !probe.At(x) {
			continue
		}
		for _, l := range e.factor(probe, index) {
			if sine, ok := lost[l.component]; ok && l.sine > 100*max(sine, geometry.RankTolerance) {
				c := &t.of[l.component]
				c.gained = cmp.Or(c.gained, p.From)
			}
		}
	}
}

// nearlyParallel is the sine below which a gradient is called nearly dependent.
const nearlyParallel = 1e-3

func (t *tally) finding(e *Evidence, i int) (Finding, bool) {
	c := t.of[i]
	seen, dependent := c.seen, c.dependent
	if seen == 0 || e.C == 1 && dependent == 0 {
		return Finding{}, false // an inequality that is never active, or nothing to depend on
	}
	f := Finding{Numbers: Numbers{"points": float64(seen), "dependent": float64(dependent), "least_sine": c.nearest}}
	others := c.others(e)
	switch {
	case c.gained != "":
		f.say(Fail, "its gradient depends on %s at %s, and not beside it: they touch there, the rank is "+
			"not constant and Π jumps", others, c.gained)
	case dependent == seen:
		f.say(Warn, "is redundant: its gradient is in the span of %s at each of %d points. The geometry "+
			"copes; it can be left out", others, seen)
	case dependent > 0 && i < e.M:
		f.say(Fail, "its gradient depends on %s at %d of %d points, first %s: the rank is not constant",
			others, dependent, seen, c.dropped)
	case dependent > 0:
		f.Message = fmt.Sprintf("at %d of %d points where it is active its gradient is in the span of %s: other "+
			"constraints hold there", dependent, seen, others)
	case c.nearest < nearlyParallel:
		f.say(Warn, "is nearly dependent on %s: the sine of the angle is %.2g at %s", others, c.nearest, c.at)
	default:
		f.Message = fmt.Sprintf("independent of the components before it (least sine %.2g of %s)", c.nearest,
			text.Counted(seen, "point", "points"))
	}
	return f, true
}

// others names the components that one depends on, the most frequent first.
func (c *dependence) others(e *Evidence) string {
	index := slices.SortedFunc(maps.Keys(c.on), func(a, b int) int { return cmp.Or(c.on[b]-c.on[a], a-b) })
	var names []string
	for _, o := range index[:min(len(index), shown)] {
		names = append(names, fmt.Sprintf("%q", e.Names[o]))
	}
	if len(index) > shown {
		names = append(names, fmt.Sprintf("%d more", len(index)-shown))
	}
	return strings.Join(names, ", ")
}

// summary tells the rank of ∇h on Σ.
func (t *tally) summary(e *Evidence) Finding {
	f := Finding{Numbers: Numbers{"rank_min": float64(t.rank[0]), "rank_max": float64(t.rank[1])}}
	switch {
	case !t.on:
		f.Status, f.Message = Warn, "no point of Σ is known to look at"
	case t.rank[0] != t.rank[1]:
		f.say(Fail, "the rank of ∇h on Σ goes from %d to %d", t.rank[0], t.rank[1])
	case t.rank[0] == e.D:
		f.say(Fail, "the rank of ∇h on Σ is d = %d: Σ is isolated points", e.D)
	default:
		f.Message = fmt.Sprintf("the rank of ∇h is %d at every point of Σ: dimension %d",
			t.rank[0], e.D-len(e.Set.Capabilities().Held)-t.rank[0])
	}
	return f
}

// A leg is a unit gradient's part outside the span of those before it.
type leg struct {
	component int
	sine      float64 // its length
	on        []int   // components in whose span the rest lies
}

// corner reports whether l is a wall that depends on two more walls at least. Elastic walls cope: Π is of h alone.
func (e *Evidence) corner(l leg) bool {
	walls := 0
	for _, o := range l.on {
		if o >= e.M {
			walls++
		}
	}
	return l.component >= e.M && walls > 1 && e.Running.Elastic()
}

// A ranked is a probe; of a large set that tells its support, with the equalities by the pattern of their gradients.
type ranked struct {
	*evidence.Probe
	x       []float64
	h       geometry.Geometry
	normals *geometry.Normals // nil: of other sets
}

func (e *Evidence) ranked() *ranked {
	p := &ranked{Probe: e.Probe()}
	if large := e.Budget(float64(e.M*e.M*e.D), evidence.MaxPoints) < evidence.MaxPoints; large &&
		e.Set.Capabilities().Support != nil {
		p.h, p.normals = geometry.New(constraint.EqualitiesOf(e.Set), 1, 0), geometry.NewNormals(e.Set, true)
	}
	return p
}

func (p *ranked) At(x []float64) bool {
	p.x = x
	return p.Probe.At(x)
}

// factor orthogonalises the unit gradients at a probe of the components index, in that order, by Gram–Schmidt done
// twice. Order matters here: a dependent component is the later one. It leaves out the rest once the check is to end.
// By a pattern, equalities come in its order, and one shares in a dependence if its gradient is not orthogonal.
func (e *Evidence) factor(probe *ranked, index []int) []leg {
	var q [][]float64 // orthonormal
	var rows [][]float64
	var base []int // the component that made each q
	var parts []float64
	if probe.normals != nil {
		m, _ := slices.BinarySearch(index, e.M)
		if parts, _ = probe.normals.At(probe.x, index[:m]); parts == nil || probe.h.At(probe.x, 1) != nil {
			return nil
		}
	}
	out := make([]leg, 0, len(index))
	for _, i := range index {
		size := dense.Norm(probe.Grad(i))
		if size < geometry.GradientTolerance || !finite(size) || e.ctx.Err() != nil {
			continue
		}
		u := make([]float64, e.D)
		dense.AddScaled(u, u, 1/size, probe.Grad(i))
		l, r := leg{component: i}, make([]float64, len(q), len(q)+1)
		if i < e.M && parts != nil {
			l.sine = parts[i] / size
		} else {
			if parts != nil {
				probe.h.Tangent(u, u)
			}
			for range 2 {
				dense.Reject(u, q, r)
			}
			l.sine = dense.Norm(u)
		}
		if l.sine < nearlyParallel {
			for p, w := range weights(rows, r) {
				if math.Abs(w) > 1e-6 {
					l.on = append(l.on, base[p])
				}
			}
			own := slices.Clone(probe.Grad(i))
			for o := 0; o < min(i, e.M) && parts != nil; o++ {
				if g := probe.Grad(o); math.Abs(dense.Dot(g, own)) > 1e-6*dense.Norm(g)*size {
					l.on = append(l.on, o)
				}
			}
		}
		if l.sine > geometry.RankTolerance && (i >= e.M || parts == nil) {
			dense.AddScaled(u, u, 1/l.sine-1, u)
			q, base = append(q, u), append(base, i)
			rows = append(rows, append(r, l.sine))
		}
		out = append(out, l)
	}
	return out
}

// weights solves Σ_p w_p (unit gradient p) = Σ_p r_p q_p, where unit gradient p is Σ_{t≤p} rows[p][t] q_t.
func weights(rows [][]float64, r []float64) []float64 {
	w := append([]float64(nil), r...)
	for p := len(rows) - 1; p >= 0; p-- {
		w[p] /= rows[p][p]
		for t := range p {
			w[t] -= w[p] * rows[p][t]
		}
	}
	return w
}
