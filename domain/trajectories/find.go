package trajectories

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// find tells the shares of modes, how far and how smoothly joints go, and what is clear between way points.
func (g *guide) find(x []float64) []domain.Finding {
	var out []domain.Finding
	if len(x) == 0 {
		return nil
	}
	if g.modes != nil {
		out = append(out, g.findModes(x))
	}
	if g.waypoints > 1 {
		out = append(out, g.findPace(x))
	}
	if g.scene.Pairs() > 0 {
		out = append(out, g.findSwept(x))
	}
	if g.limits {
		out = append(out, g.findLimits(x)...)
	}
	return append(out, g.findPlanner(x)...)
}

// unlikely is the chance with which shares of modes of one law are called different, all modes together.
const unlikely = 1e-3

// findModes compares how often each mode comes, by Fisher's exact test.
func (g *guide) findModes(x []float64) domain.Finding {
	n, m := g.rows(x), g.rows(g.data)
	samples := counts(g.of(x), len(g.modes))
	f := domain.Finding{Name: "modes", Note: g.note}
	var differ []string
	widest := 0.0
	for k, name := range g.modes {
		if samples[k] == 0 && g.shares[k] == 0 {
			continue
		}
		p, share := metric.FisherTest(samples[k], n, g.shares[k], m), float64(g.shares[k])/float64(m)
		noise := math.Sqrt(share * (1 - share) / float64(n))
		pooled := float64(samples[k]+g.shares[k]) / float64(n+m)
		widest = max(widest, 3.3*math.Sqrt(pooled*(1-pooled)*(1/float64(n)+1/float64(m))))
		f.Measures = append(f.Measures, domain.Measure{Name: name, Samples: metric.Float(float64(samples[k]) /
			float64(n)), Data: metric.Float(share), Noise: metric.Float(noise), PValue: metric.Float(p)})
		if p < unlikely/float64(len(g.modes)) {
			differ = append(differ, fmt.Sprintf("%s has %s of the samples and %s of the data", name,
				text.Percent(float64(samples[k])/float64(n)), text.Percent(share)))
		}
	}
	if differ != nil {
		f.Warning = true
		for _, m := range f.Measures { // total variation
			f.Share += math.Abs(float64(m.Samples-m.Data)) / 2
		}
		f.Verdict = fmt.Sprintf("shares of modes differ by more than chance: %s; more samples or longer training show "+
			"whether the network or the prior does it", strings.Join(differ, "; "))
		return f
	}
	f.Verdict = fmt.Sprintf("shares of modes differ by no more than chance; with this number of samples a "+
		"difference of about %.2f would be seen", widest)
	return f
}

// swept returns the room along the motions between way points: bounds from below, which are
// proven, and from above, which are at places that were looked at.
func (g *guide) swept(x []float64) (lower, upper []float64) {
	n := g.rows(x)
	lower, upper = make([]float64, n), make([]float64, n)
	domain.EachBlock(g.pool, n, func(lo, hi int) {
		f := g.follower()
		for i := lo; i < hi; i++ {
			s, _ := f.checker.Path(g.motion.path(g.row(x, i)), g.waypoints)
			lower[i], upper[i] = s.Lower, s.Upper
		}
	})
	return lower, upper
}

// findSwept tells how many motions are clear between way points too.
func (g *guide) findSwept(x []float64) domain.Finding {
	f := domain.Finding{Name: "clearance along motions, of " + g.body(), Note: fmt.Sprintf("Joints go at constant "+
		"rates from way point to way point, the shorter way around. Clearances are lower bounds by the lengths of "+
		"links and the steps of joints, at most %g m below the true ones.", scene.Sharp)}
	var shares [2][4]metric.Float // clear, with the margin, least, median
	touching, worst := 0, 0
	for side, y := range [][]float64{x, g.some()} {
		lower, upper := g.swept(y)
		clear, kept, hit := 0, 0, 0
		at := 0
		for i, v := range lower {
			if v >= 0 {
				clear++
			}
			if v >= g.margin-scene.Sharp {
				kept++
			}
			if upper[i] < 0 {
				hit++
			}
			if v < lower[at] {
				at = i
			}
		}
		if side == 0 {
			touching, worst = hit, at
		}
		n := float64(len(lower))
		for k := range shares[side] {
			shares[side][k] = metric.NaN
		}
		if n > 0 {
			least := lower[at]
			shares[side] = [4]metric.Float{metric.Float(float64(clear) / n), metric.Float(float64(kept) / n),
				metric.Float(least), metric.Float(metric.Median(slices.Clone(lower)))}
		}
	}
	for k, name := range []string{"share proven to touch nothing", fmt.Sprintf("share that keeps the margin of %g m",
		g.margin), "least clearance", "median clearance"} {
		f.Measures = append(f.Measures, compared(name, [4]string{2: "m", 3: "m"}[k], shares[0][k], shares[1][k]))
	}
	clear, least := shares[0][0], shares[0][2]
	if f.Warning = touching > 0 || clear < 1; f.Warning {
		f.Share = float64(1 - clear)
	}
	switch n := text.Count(g.rows(x)); {
	case !f.Warning:
		f.Verdict = fmt.Sprintf("all %s samples are proven to touch nothing between way points; the least clearance "+
			"is %s m", n, text.Number(least))
	case touching == 0:
		f.Verdict = fmt.Sprintf("no sample is seen to touch anything between way points, but %s come so near that "+
			"it is not proven to %g m", text.Percent(1-clear), scene.Sharp)
	default:
		f.Verdict = fmt.Sprintf("%s of %s samples touch something between way points (%s of the data), the worst, "+
			"row %d, by %s m: more way points, a smaller set.step, a larger set.margin or set.clearance=segments keep "+
			"them clear", text.Count(touching), n, text.Percent(1-shares[1][0]), worst, text.Number(-least))
	}
	if g.points() {
		f.Verdict += "; points have no size: set.spheres gives the arm a body"
	}
	return f
}

func (g *guide) body() string {
	if g.points() {
		return fmt.Sprintf("%d points of the arm", len(g.scene.Bodies))
	}
	return fmt.Sprintf("%d spheres of the arm", len(g.scene.Bodies))
}

// points reports whether the arm has no body but points.
func (g *guide) points() bool {
	return !slices.ContainsFunc(g.scene.Bodies, func(b scene.Body) bool { return b.Radius > 0 })
}

// mostSwept bounds the rows of the data that samples are held against.
const mostSwept = 2000

func (g *guide) some() []float64 {
	n := g.rows(g.data)
	if n <= mostSwept {
		return g.data
	}
	out := make([]float64, 0, mostSwept*g.dim)
	for k := range mostSwept {
		out = append(out, g.row(g.data, k*n/mostSwept)...)
	}
	return out
}

// findLimits tells how far joints leave their limits on the shorter ways between way points, which may keep them
// themselves.
func (g *guide) findLimits(x []float64) []domain.Finding {
	measure := func(y []float64) (share, worst float64, joint int) {
		q := make([]float64, g.waypoints*g.arm.Moving())
		for i := range g.rows(y) {
			e, j := g.joints(q, g.motion.path(g.row(y, i)))
			if e > beyondLimit {
				share += 1 / float64(g.rows(y))
			}
			if e > worst {
				worst, joint = e, j
			}
		}
		return share, worst, joint
	}
	share, worst, joint := measure(x)
	data, dataWorst, _ := measure(g.some())
	if share == 0 && data == 0 {
		return nil
	}
	f := domain.Finding{Name: "limits between way points", Measures: []domain.Measure{
		compared("share that leaves a joint's limits", "", metric.Float(share), metric.Float(data)),
		compared("largest excess", "rad or m", metric.Float(worst), metric.Float(dataWorst))}}
	if share == 0 {
		f.Verdict = "no sample leaves a joint's limits on the shorter way between way points"
		return []domain.Finding{f}
	}
	f.Warning, f.Share = true, share
	f.Verdict = fmt.Sprintf("%s of the samples leave a joint's limits on the shorter way between two way points, %s "+
		"the most, by %s %s: set.limits keeps way points inside, set.step keeps motions short", text.Percent(share),
		jointName(g.arm, joint), text.Number(worst), unitOf(g.arm.Joints[joint].Kind))
	return []domain.Finding{f}
}

// compared is a measure without a law.
func compared(name, unit string, samples, data metric.Float) domain.Measure {
	return domain.Measure{Name: name, Unit: unit, Samples: samples, Data: data, Noise: metric.NaN, PValue: metric.NaN}
}

func unitOf(k robot.Kind) string {
	if k.Turning() {
		return "rad"
	}
	return "m"
}

// beyondLimit is how far a joint may be beyond a limit, in radians or metres.
const beyondLimit = 1e-6

// The planner makes as many motions as there are samples, up to mostPlanned, with trees of plannedNodes each.
const mostPlanned, plannedNodes = 50, 2000

// findPlanner holds samples against motions that the planner finds between the same ends.
func (g *guide) findPlanner(x []float64) []domain.Finding {
	set, err := trajectory.New(g.spec)
	if err != nil || g.waypoints < 2 {
		return nil
	}
	n := min(g.rows(x), mostPlanned)
	x = x[:n*g.dim]
	tips, found := g.allTips(x), make([]*plan.Paths, n)
	g.pool.Do(n, func(_, i int) {
		at := tips[3*i*g.waypoints:]
		start, goal := plan.Point3(at), plan.Point3(at[3*g.waypoints-3:])
		from := make([]float64, g.arm.Moving()) // in another posture the planner would have another task
		g.arm.Angles(from, g.row(x, i)[:g.size])
		b := plan.Batch{Set: set, Spec: g.spec, Tip: g.tip, Options: plan.Options{Nodes: plannedNodes,
			Near: [][]float64{from}, Sd: plan.None}, Count: 1, Seed: uint64(i), Failing: plan.None,
			Start: [2]plan.Point3{start, start}, Goal: [2]plan.Point3{goal, goal}}
		b.Options.Segments = true
		found[i], _ = b.Run(context.Background(), parallel.New(1))
	})
	var planned, took []float64
	for _, p := range found {
		if p != nil {
			planned = append(planned, slices.Concat(p.X, make([]float64, g.dim))[:g.dim]...)
			took = append(took, float64(p.Paths[0].Took)/float64(time.Millisecond))
		}
	}
	f := domain.Finding{Name: "beside the planner", Beside: "planner", Note: fmt.Sprintf("The planner gets a "+
		"query of at most %d nodes between the ends of each of the first %d samples, from its posture. Medians over "+
		"motions.",
		plannedNodes, n)}
	share := float64(len(took)) / float64(n)
	f.Measures = []domain.Measure{compared("motions found", "", metric.NaN, metric.Float(share))}
	f.Verdict = fmt.Sprintf("the planner finds %s of the motions", text.Percent(share))
	if len(took) == 0 {
		return []domain.Finding{f}
	}
	mine, its := g.paces(x), g.paces(planned)
	for k, name := range []string{"way of the joints, rad or m", "change of step over step"} {
		f.Measures = append(f.Measures, compared(name, "", metric.Float(metric.Median(mine[k])),
			metric.Float(metric.Median(its[k]))))
	}
	f.Measures = append(f.Measures, compared("time to plan one", "ms", metric.NaN, metric.Float(metric.Median(took))))
	if g.modes != nil {
		most := func(x []float64) metric.Float {
			return metric.Float(slices.Max(counts(g.of(x), len(g.modes)))) / metric.Float(g.rows(x))
		}
		f.Measures = append(f.Measures, compared("share of the commonest mode", "", most(x), most(planned)))
	}
	if share == 1 && f.Measures[1].Data <= f.Measures[1].Samples {
		f.Verdict += ", by ways that are no longer: where any motion will do, it serves as well alone"
	}
	return []domain.Finding{f}
}

// A median that is this many times the data's, or as much smaller, is bad; what is nearer is
// told and not warned of, however many samples show it.
const uneven = 1.25

// still is what ways and changes of steps of joints count as at least, in radians or metres: half a degree, or a
// centimetre. Motions without obstacles may be straight, up to round-off.
//
// A verdict counts accelerations and clearances that differ by less as equal. Planned motions keep to the edge of the
// room that the planner reserves, and are straight elsewhere, to round-off: no network draws from such a law.
const still = 0.01

// findPace checks whether joints go as far as in the data, and as smoothly: motions that wander keep every constraint.
// Medians are compared by the exact median test: how many samples and how many rows are above the median of both
// together (Fisher). There is one false alarm in a thousand evaluations.
func (g *guide) findPace(x []float64) domain.Finding {
	f := domain.Finding{Name: "way and pace of the joints", Note: "Medians over motions: of the sum of the lengths " +
		"of steps in the space of joint values, and of the root mean square of their second differences; ratios " +
		"count less than 0.01 as that much."}
	unit, pace := "rad", "rad/step²"
	if g.arm.Sliding() > 0 {
		unit, pace = "rad and m", "rad/step² and m/step²"
	}
	samples, data := g.paces(x), g.paces(g.data)
	worst, factor, told := "", 1.0, math.NaN()
	for k, m := range []domain.Measure{{Name: "way", Unit: unit}, {Name: "change of step over step", Unit: pace}} {
		a, b := samples[k], data[k]
		above, over := aboveMedian(a, b)
		p := metric.FisherTest(above, len(a), over, len(b))
		m.Noise, m.PValue = metric.NaN, metric.Float(p)
		mine, theirs := metric.Median(a), metric.Median(b)
		m.Samples, m.Data = metric.Float(mine), metric.Float(theirs)
		f.Measures = append(f.Measures, m)
		ratio := max(mine, still) / max(theirs, still)
		if p < unlikely/2 && math.Abs(math.Log(ratio)) > math.Abs(math.Log(factor)) {
			worst, factor, told = m.Name, ratio, p
		}
	}
	switch {
	case worst == "":
		f.Verdict = "joints go as far and as smoothly as in the data, but for chance"
	case factor > uneven:
		f.Warning = true
		f.Verdict = fmt.Sprintf("samples wander: the median %s of their joints is %s times the data's (p = %.2g); "+
			"train longer", worst, text.Number(factor), told)
	case factor < 1/uneven:
		f.Warning = true
		f.Verdict = fmt.Sprintf("samples go another way: the median %s of their joints is %s times the data's "+
			"(p = %.2g); look for modes that are missing, and train longer", worst, text.Number(factor), told)
	default:
		f.Verdict = fmt.Sprintf("the median %s of the joints is %s times the data's: more than chance (p = %.2g), but "+
			"little", worst, text.Number(factor), told)
	}
	return f
}

// paces returns how far the joints go in each motion, and how much a step differs from the one before.
func (g *guide) paces(x []float64) (out [2][]float64) {
	n, joints := g.rows(x), g.arm.Moving()
	for k := range out {
		out[k] = make([]float64, n)
	}
	domain.EachBlock(g.pool, n, func(lo, hi int) {
		q := make([]float64, g.waypoints*joints)
		for i := lo; i < hi; i++ {
			g.joints(q, g.motion.path(g.row(x, i)))
			out[0][i], out[1][i] = way(q, joints), roughness(q, joints)
		}
	})
	return out
}

// way returns the length of a polygon through joint values, L×joints.
func way(q []float64, joints int) (sum float64) {
	for l := joints; l < len(q); l += joints {
		far := 0.0
		for j := range joints {
			d := q[l+j] - q[l-joints+j]
			far += d * d
		}
		sum += math.Sqrt(far)
	}
	return sum
}

// aboveMedian returns how many numbers of a and of b are above the median of both.
func aboveMedian(a, b []float64) (above, over int) {
	m := metric.Median(append(append(make([]float64, 0, len(a)+len(b)), a...), b...))
	for _, v := range a {
		if v > m {
			above++
		}
	}
	for _, v := range b {
		if v > m {
			over++
		}
	}
	return above, over
}
