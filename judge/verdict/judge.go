package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A judge collects findings. Strays and missed regions are found first; what is said of the others
// is said of the rest, so that one fault is not told as several.
type judge struct {
	Evidence
	found   []Finding
	skipped []Skip

	outX, outH, outR []bool    // samples, held-out rows and rows that a finding covers
	unitX, unitR     []int     // clusters of samples and rows, of those that are looked at; nil: there are none
	effX, effR       float64   // samples and rows that would say as much if each came alone
	span             int       // rows in their order that depend on each other; 0: they do not
	inflation        float64   // of the variance of a difference between samples and rows, by that, less 1
	centres          []float64 // of regions
	place            float64   // distance up to which points are in one place (metric.Place)
	law              float64   // effects so far of findings that tell of the law of the other rows
}

// add adds a finding. What makes samples useless is a fault whatever its size.
func (j *judge) add(c Code, effect, p float64, format string, v ...any) {
	m := measures[c]
	f := Finding{Code: c, Severity: Remark, Says: fmt.Sprintf(format, v...), Effect: metric.Float(max(effect, 0)),
		Unit: m.unit, Threshold: metric.Float(m.fault), PValue: metric.Float(p), Share: metric.NaN}
	if m.unit == shares {
		f.Share = f.Effect
	}
	if c == Violation || c == Failed || f.Effect > f.Threshold {
		f.Severity = Fault
	}
	j.found = append(j.found, f)
}

func (j *judge) skip(c Code, format string, v ...any) {
	j.skipped = append(j.skipped, Skip{c, fmt.Sprintf(format, v...), c == AnotherLaw || c == Copies})
}

// undecided is skip of what could hide a fault.
func (j *judge) undecided(c Code, format string, v ...any) {
	j.skip(c, format, v...)
	j.skipped[len(j.skipped)-1].Undecided = true
}

// ofLaw are the codes that a wrong start, or too short a training, may be behind.
var ofLaw = []Code{Stray, MissedMode, Walls, Spread, Blur, KindOfData, Condition, Nearby,
	Observables, Planes, AnotherLaw}

func (j *judge) run() {
	j.losses()
	j.thin()
	d := max(j.Dim, 1)
	n, m, rows := len(j.Samples)/d, len(j.Held)/d, len(j.Rows)/d
	j.outX, j.outH, j.outR = make([]bool, n), make([]bool, m), make([]bool, rows)
	blind, few := "", m < FewestHeld
	switch {
	case n == 0:
		blind = "no sample is left"
	case rows < FewestHeld:
		blind = fmt.Sprintf("there are %d rows; expected at least %d", rows, FewestHeld)
	case len(finite(j.Samples)) < len(j.Samples):
		blind = "samples are not finite"
		j.add(Violation, math.NaN(), math.NaN(), "%s", blind)
	case j.Energy.PValue.IsNaN():
		blind = "rows are not finite"
	}
	if blind != "" {
		j.blind(blind, Stray, MissedMode, Copies, Spread, Blur, Observables, Planes, AnotherLaw)
	} else if few {
		j.blind(fmt.Sprintf("%d rows are held out; expected at least %d", m, FewestHeld), Stray, Copies, Blur)
	}
	looked := blind == ""
	if looked {
		j.cluster()
		j.power()
		if !few {
			j.strays()
		}
		j.modes()
		if !few {
			j.copies()
		}
	}
	j.walls()
	if looked {
		j.spread()
		if !few {
			j.blur()
		}
	}
	j.kind()
	if n > 0 {
		j.condition()
	}
	if looked {
		j.planes()
		j.observables()
		j.anotherLaw()
	}
	j.start()
	j.course()
}

// blind says that what looks at points was not looked at.
func (j *judge) blind(why string, codes ...Code) {
	for _, c := range codes {
		j.skip(c, "%s", why)
	}
}

// mostRows bounds the rows that laws are compared with; from more rows, mostRows are taken evenly.
const mostRows = 20_000

// thin takes as many rows as are looked at.
func (e *Evidence) thin() {
	rows := len(e.Rows) / max(e.Dim, 1)
	if rows <= mostRows {
		return
	}
	e.Rows = few(e.Rows, e.Dim, mostRows)
	e.Numbers = slices.Clone(e.Numbers)
	for i, k := range e.Numbers {
		if len(k.Rows) == rows {
			e.Numbers[i].Rows = few(k.Rows, 1, mostRows)
		}
	}
}

// losses reports samples that are missing or not on Σ.
func (j *judge) losses() {
	if j.Violation != "" { // what the samples are for: it concerns all of them
		j.add(Violation, math.NaN(), math.NaN(), "%s", j.Violation)
	}
	if share := float64(j.Failed) / float64(max(j.Asked, 1)); j.Failed > 0 && share > j.MaxFailed {
		lost := "a projection"
		switch {
		case j.Wrong == j.Failed:
			lost = "a wrong component"
		case j.Wrong > 0:
			lost += fmt.Sprintf(", %s of them to a wrong component", text.Count(j.Wrong))
		}
		j.add(Failed, share, math.NaN(), "%s of %s samples are lost to %s; %s may be", text.Count(j.Failed),
			text.Count(j.Asked), lost, text.Percent(j.MaxFailed))
	}
}

// walls reports the wall with the largest difference of shares.
func (j *judge) walls() {
	var worst *Wall
	count := 0
	for i, w := range j.Walls {
		if !w.Differs {
			continue
		}
		if count++; worst == nil || math.Abs(w.Samples-w.Data) > math.Abs(worst.Samples-worst.Data) {
			worst = &j.Walls[i]
		}
	}
	if worst == nil {
		return
	}
	more := ""
	if count > 1 {
		more = fmt.Sprintf("; %d more walls are like that", count-1)
	}
	effect := math.Abs(worst.Samples - worst.Data)
	j.law += effect
	j.add(Walls, effect, math.NaN(), "%s%s", worst.Says, more)
}

// kind passes on what the kind of data warns of.
func (j *judge) kind() {
	for _, k := range j.Kind {
		j.add(KindOfData, cmp.Or(k.Share, math.NaN()), math.NaN(), "%s", k.Says)
	}
}

// start tells where generation begins elsewhere than forward paths end. Backward steps bring no two laws further apart.
func (j *judge) start() {
	if j.Chains != "" {
		j.add(Chains, math.NaN(), math.NaN(), "%s", j.Chains)
	}
	s := j.Start
	switch {
	case s != nil && s.Prior == "empirical": // made of such ends
	case s == nil || s.Paths == 0:
		j.skip(StartLaw, "where forward paths end was not held against the prior")
	case s.PValue <= levels[StartLaw]:
		j.add(StartLaw, excess(s.Apart, s.Paths, s.Paths), s.PValue, "generation starts where forward paths do not "+
			"end, so the network never learned from there (%s prior, p = %.3f): distributions are %.2f apart along "+
			"the worst direction", s.Prior, s.PValue, s.Apart)
	}
}

// excess returns how far a Kolmogorov distance is above its mean between n and m draws of one
// law, 0.8687 √(1/n + 1/m): an estimate, mostly from below, of the share of points in wrong places.
func excess(D float64, n, m int) float64 {
	return max(0, D-0.8687*math.Sqrt(1/float64(n)+1/float64(m)))
}

// rest returns the rows that no finding covers.
func rest(x []float64, d int, out []bool) []float64 {
	if !slices.Contains(out, true) {
		return x
	}
	var kept []float64
	for i, gone := range out {
		if !gone {
			kept = append(kept, x[i*d:(i+1)*d]...)
		}
	}
	return kept
}

// finite returns the numbers of v that are.
func finite(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return x-x != 0 })
}

// few returns at most k rows of x, taken evenly.
func few[T any](x []T, d, k int) []T {
	n := len(x) / d
	if n <= k {
		return x
	}
	out := make([]T, 0, k*d)
	for i := range k {
		at := i * n / k
		out = append(out, x[at*d:(at+1)*d]...)
	}
	return out
}

// where writes a point for people.
func (e *Evidence) where(x []float64) string {
	const shown = 4
	if e.Say != nil {
		return e.Say(x)
	}
	var s []string
	for _, v := range x[:min(len(x), shown)] {
		s = append(s, fmt.Sprintf("%.3g", v))
	}
	if len(x) > shown {
		s = append(s, "…")
	}
	return "(" + strings.Join(s, ", ") + ")"
}
