package choose

import (
	"fmt"
	"math"
	"strings"
)

// All of a process follows from lengths of the data and of Σ (Measures), so that data in another
// unit give the same process in that unit: x → cx takes τ to cτ and γ to γ/c.

// along returns ℓ = s/√m: the spread along one direction of Σ.
func (m *Measures) along() float64 { return m.Spread / math.Sqrt(float64(max(m.Dim, 1))) }

// Constants of the rules. They are those of the recipes whose figures are in docs/fast.md, in
// units of their own data; docs/auto.md has what else was tried.
const (
	farthest = 2.0 // v/ℓ²: variance of a whole path over that of the data, in each direction
	nearest  = 0.2
	company  = 1.0  // rows that the density at an end of a path is made of
	memory   = 14.0 // γS: how often a path forgets its momentum
	arc      = 0.4  // τ√m/R: the angle that the largest step turns by
	inside   = 0.5  // τ/w: how much of a window the largest step crosses
	thin     = 2.0  // τ√m/R_1%: the largest step over the radius of curvature where Σ is thin
	tail     = 4.0  // of a step's Gaussian length √m ± 1, which still finds Σ along the normal that it left
	start    = 0.1  // τ_0 over the narrowest width
)

// Bounds of the number of steps, and of σ_min/σ_max.
const (
	fewestSteps, mostSteps = 50, 200
	mostThin               = 1000 // where Σ is thin
	flattest               = 0.2
	steepest               = 0.02
)

// A Noise is a process's schedule and friction. What is 0 is open.
type Noise struct {
	Underdamped bool
	Projected   bool // onto Σ along the normal of the point that a step leaves
	Geometric   bool
	Splits      bool // a backward step can split its noise: underdamped, reference convention
	Steps       int
	Horizon     float64
	Min, Max    float64 // σ
	Friction    float64
	Far         bool // generation begins by another law than that of the ends of paths from the rows
}

// Schedule closes what is open in n:
//
//	v  = uℓ²                  how far a path travels in each direction (travels)
//	γS = 14, v = 2(γS − 1 + e^(−γS))/γ²
//	                          S = Σ τ_k and γ: the last momentum, which generation draws anew, then
//	                          knows little of the way (its correlation with it is about 1/√(2γS))
//	τ_max = min(0.4 R/√m, w/2)
//	                          a step is of length τ√m; it turns by an angle of 0.4, and does not
//	                          cross a window at once
//	τ_max ≤ R_5%/(√m + 4)     of projected methods: beyond R the normal of the point that a step leaves
//	                          meets Σ no more, and one step in a million is so long
//	τ_max ≤ 2 R_1%/√m         a step does not leave a thin body far beyond its rim, from where no step leads back
//	N  = 3S/τ_max             of a linear σ; from 50 to 200, and to 1000 where Σ is thin
//	τ_0 ≤ a tenth of the narrowest width: σ_min = σ_max √(τ_0/τ_max), from σ_max/50 to σ_max/5
//
// Overdamped methods have v = S and steps of length √(τm).
func Schedule(l *Measures, n Noise) (Noise, []Choice) {
	ℓ := l.along()
	open := n
	u, goes := l.travels(n.Far)
	v := u * ℓ * ℓ

	// The largest step that Σ bears.
	longest, rim := n.longest(l), n.rim(l)

	// S and γ.
	var S float64
	if open.Min > 0 && open.Max > 0 && open.Horizon > 0 {
		S = open.Horizon * open.Max * open.Max * n.mean(open.Min/open.Max)
	}
	switch {
	case !n.Underdamped:
		if S == 0 {
			S = v
		}
	case S > 0:
		if open.Friction == 0 {
			n.Friction = frictionFor(v, S)
		}
	case open.Friction > 0:
		S = timeFor(v, open.Friction)
	default:
		n.Friction = math.Sqrt(2 * (memory - 1 + math.Exp(-memory)) / v)
		S = memory / n.Friction
	}

	// N and the range of σ, which need each other: r = √(τ_0/τ_max), and N = S/(mean(r) τ_max).
	ratio, given := 0.05, open.Min > 0 && open.Max > 0
	if given {
		ratio = math.Min(open.Min/open.Max, 1)
	}
	for range 20 {
		if open.Steps == 0 {
			want := func(τ float64, most int) int {
				if want := math.Ceil(S / (n.mean(ratio) * τ)); want < float64(most) { // false for NaN
					return int(math.Max(want, fewestSteps))
				}
				return most
			}
			n.Steps = max(want(longest, mostSteps), want(rim, mostThin))
		}
		if given || !(l.Narrow > 0) {
			break
		}
		first, largest := start*l.Narrow, S/(float64(n.Steps)*n.mean(ratio))
		if !n.Underdamped {
			first *= first
		}
		ratio = math.Min(math.Max(math.Sqrt(first/largest), steepest), flattest)
	}

	// T, σ_min, σ_max with T σ_max² mean(ratio) = S.
	switch {
	case open.Horizon == 0 && open.Max == 0 && open.Min == 0:
		n.Horizon = 1
	case open.Horizon == 0 && open.Max > 0:
		n.Horizon = S / (open.Max * open.Max * n.mean(ratio))
	case open.Horizon == 0:
		n.Horizon = S * ratio * ratio / (open.Min * open.Min * n.mean(ratio))
	}
	if open.Max == 0 {
		n.Max = math.Sqrt(S / (n.Horizon * n.mean(ratio)))
	}
	if open.Min == 0 {
		n.Min = n.Max * ratio
	}
	n.Min = math.Min(n.Min, n.Max)
	return n, n.reasons(open, l, S, math.Min(longest, rim), goes)
}

// longest returns the largest τ that Σ bears at most rows.
func (n Noise) longest(l *Measures) float64 {
	m := math.Sqrt(float64(max(l.Dim, 1)))
	τ := math.Min(arc*l.RadiusMedian/m, inside*l.WindowMedian)
	if n.Projected {
		τ = math.Min(τ, l.Radius/(m+tail))
	}
	return n.ofLength(τ)
}

// rim returns the largest τ where Σ is thin.
func (n Noise) rim(l *Measures) float64 {
	return n.ofLength(thin * l.RadiusThin / math.Sqrt(float64(max(l.Dim, 1))))
}

// ofLength returns the τ of a step of some length in each direction.
func (n Noise) ofLength(step float64) float64 {
	if !n.Underdamped {
		return step * step
	}
	return step
}

// Bounds beyond which Strain reports given keys.
const (
	overstep = 4.0  // times the largest step that Σ bears
	short    = 0.02 // v/ℓ²: samples of so short paths are hardly more than the rows
)

// Strain says where a schedule, closed from what was open, does not go with the data, since what was given of it
// contradicts itself or the data: in words, with the keys to leave out.
func Strain(l *Measures, open, n Noise) (notes []string) {
	var given []string
	for _, k := range []struct {
		key string
		by  float64
	}{{"steps", float64(open.Steps)}, {"horizon", open.Horizon}, {"sigma.min", open.Min}, {"sigma.max", open.Max},
		{"friction", open.Friction}} {
		if k.by != 0 {
			given = append(given, "process."+k.key)
		}
	}
	if len(given) == 0 {
		return nil
	}
	keys := strings.Join(given, ", ") + " as given make "
	remedy := "; left out, they follow from the data"
	if len(given) == 1 {
		keys, remedy = given[0]+" as given makes ", "; left out, it follows from the data"
	}
	τ, longest := n.Max*n.Max*n.Horizon/float64(n.Steps), math.Min(n.longest(l), n.rim(l))
	if !n.Underdamped {
		τ, longest = math.Sqrt(τ), math.Sqrt(longest)
	}
	if τ > overstep*longest {
		notes = append(notes, fmt.Sprintf("%ssteps of up to %.3g, and curvature and walls of the set bear %.3g%s", keys,
			τ, longest, remedy))
	}
	if Short(l, n) {
		notes = append(notes, fmt.Sprintf("%spaths that end within %.3g of where they begin, in each direction, where "+
			"rows are %.3g apart: samples will be near copies of rows%s", keys, math.Sqrt(n.Travel()), l.along(),
			remedy))
	}
	return notes
}

// Short reports whether paths end so near to where they begin, beside the spread of the data, that samples will be
// near copies of rows.
func Short(l *Measures, n Noise) bool {
	ℓ := l.along()
	return n.Travel() < short*ℓ*ℓ
}

// travels returns u = v/ℓ², where v is the variance of a whole path in each direction, and the reason.
//
// Generation begins with the ends of paths from the n rows. Their law is p̂_v, the law of the rows after the noise,
// instead of p_v, the data's law after it. For Gaussian data of m directions with the variance ℓ² in each, the variance
// of p̂_v in L² is exactly
//
//	∫ E(p̂_v − p_v)² / ∫ p_v² = (((1 + u)/u)^(m/2) − 1)/n ≈ 1/k,   k = n (u/(1 + u))^(m/2):
//
// the density at an end is made of about k rows. Where k < K = 1 each row has ends of its own, and the way back from
// them leads to this one row. So paths travel at least as far as is needed for those of different rows to meet:
//
//	u = q/(1 − q),   q = (K/n)^(2/m).
//
// To travel farther costs steps and learning, and was worse on all problems (docs/auto.md). But u is at least 0.2,
// since a path must be long in comparison with the detail of the rows. u is at most 2, where only the data's coarsest
// features are left. u is also 2 where generation begins elsewhere: with the uniform law, or the ends of other
// conditions.
func (m *Measures) travels(far bool) (u float64, why string) {
	if far {
		return farthest, fmt.Sprintf("√%v times the data's spread there", farthest)
	}
	q := math.Pow(math.Min(company/float64(max(m.Rows, 1)), 1), 2/float64(max(m.Dim, 1)))
	u = q / (1 - q) // +∞ of few rows
	switch {
	case !(u > nearest):
		return nearest, fmt.Sprintf("√%v times the data's spread there", nearest)
	case u >= farthest:
		return farthest, fmt.Sprintf("√%v times the data's spread there, the farthest", farthest)
	}
	return u, fmt.Sprintf("√%.2g times the data's spread there: so far those of %d rows meet", u, m.Rows)
}

// Travel returns v, the variance of a path in each direction of a flat Σ.
func (n Noise) Travel() float64 {
	S := n.Horizon * n.Max * n.Max * n.mean(n.Min/n.Max)
	if !n.Underdamped {
		return S
	}
	return travelled(n.Friction, S)
}

// mean returns the mean of (σ/σ_max)² over the schedule, with r = σ_min/σ_max.
func (n Noise) mean(r float64) float64 {
	if !n.Geometric {
		return (1 + r + r*r) / 3
	}
	if r > 1-1e-6 {
		return 1
	}
	return (1 - r*r) / (2 * math.Log(1/r))
}

// travelled returns the variance in one direction of a path over the time S: p is stationary.
func travelled(γ, S float64) float64 { return 2 * (γ*S + math.Expm1(-γ*S)) / (γ * γ) }

// timeFor returns the S with travelled(γ, S) = v.
func timeFor(v, γ float64) float64 {
	low, high := 0.0, γ*v/2+math.Sqrt(v)+1/γ // travelled ≥ 2(γS − 1)/γ²
	for travelled(γ, high) < v {
		high *= 2
	}
	return bisect(low, high, func(S float64) bool { return travelled(γ, S) < v })
}

// frictionFor returns the γ with travelled(γ, S) = v; where even a straight path of that time
// is shorter, the γ with which a path forgets its momentum once.
func frictionFor(v, S float64) float64 {
	if v >= travelled(1/S, S) {
		return 1 / S
	}
	return bisect(1/S, math.Max(2*S/v, 2/S), func(γ float64) bool { return travelled(γ, S) > v })
}

// bisect returns where below changes from true to false, to round-off.
func bisect(low, high float64, below func(float64) bool) float64 {
	for range 200 {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if below(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// reasons says why each number that was open is as it is.
func (n Noise) reasons(open Noise, l *Measures, S, longest float64, goes string) (out []Choice) {
	add := func(key string, value any, format string, a ...any) {
		out = append(out, Choice{Key: "process." + key, Value: value, Reason: fmt.Sprintf(format, a...)})
	}
	if open.Friction == 0 && n.Underdamped {
		along := "the one direction"
		if l.Dim != 1 {
			along = fmt.Sprintf("each of %d directions", l.Dim)
		}
		add("friction", n.Friction, "paths travel √v = %.3g in %s of Σ, %s, and forget their momentum %.3g times",
			math.Sqrt(travelled(n.Friction, S)), along, goes, n.Friction*S)
	}
	if open.Steps == 0 {
		switch τ := S / (float64(n.Steps) * n.mean(n.Min/n.Max)); {
		case n.Steps == fewestSteps:
			bound := fmt.Sprintf("the largest step may be %.3g and is %.3g", longest, τ)
			if math.IsInf(longest, 1) {
				bound = fmt.Sprintf("steps of at most %.3g: neither curvature nor walls bound them", τ)
			}
			add("steps", n.Steps, "the fewest that are taken; %s", bound)
		case n.Steps == mostThin || n.Steps == mostSteps && longest == n.longest(l):
			add("steps", n.Steps, "the most that are taken; the largest step should be %.3g and is %.3g", longest, τ)
		case longest < n.longest(l):
			add("steps", n.Steps, "the largest step is %.3g: the radius of curvature, %.3g in a hundredth of the "+
				"directions, bears no longer one", τ, l.RadiusThin)
		default:
			add("steps", n.Steps, "the largest step is %.3g: curvature (radius %.3g) and walls (width %.3g) bear "+
				"no longer one", τ, l.RadiusMedian, l.WindowMedian)
		}
	}
	if n.Splits {
		add("noise", "split", "narrow modes are then not widened, at no cost")
	}
	if open.Horizon == 0 {
		add("horizon", n.Horizon, "only σ²T matters")
	}
	if open.Max == 0 {
		add("sigma.max", n.Max, "σ² adds up to the path's whole time %.3g", S)
	}
	if open.Min == 0 {
		add("sigma.min", n.Min, "the first step is %.3g; modes are as narrow as %.3g",
			n.Min*n.Min*n.Horizon/float64(n.Steps), l.Narrow)
	}
	return out
}
