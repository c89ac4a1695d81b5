package trajectories

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

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
