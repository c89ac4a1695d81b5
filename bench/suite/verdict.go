package suite

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/experiment"
)

// Bars of a problem.
const (
	energySDs     = 3    // standard deviations above the mean of the floor, for the energy distance
	energyTimes   = 3    // times the mean of the floor, at most
	observedTimes = 1.5  // times the floor, for the mean over observables
	startLevel    = 0.01 // p-value at which the start law is told from where paths end
)

// Passed says which bars a result passes.
type Passed struct {
	Energy   bool `json:"energy"`      // within the floor's mean + 3 sd
	Wide     bool `json:"energy_wide"` // within 3 times the floor
	Observed bool `json:"observed"`
	Start    bool `json:"start"`
	Feasible bool `json:"feasible"` // failed samples and violations within their limits
}

// judge sets the verdict: what is wrong, in order of effect, or good.
func (r *Result) judge() {
	e, o := r.Energy, r.Observed
	r.Passed = Passed{
		Energy:   e.Statistic <= e.Mean+energySDs*e.SD,
		Wide:     e.Statistic <= energyTimes*e.Mean,
		Observed: o.Value <= observedTimes*o.Mean,
		Start:    r.Start != "" && !(r.StartP <= startLevel),
		Feasible: r.Error == "" && r.Samples > r.Failed,
	}
	var wrong []string
	tell := func(format string, v ...any) { wrong = append(wrong, fmt.Sprintf(format, v...)) }
	if r.Error != "" {
		tell("%s", r.Error)
	}
	if r.Start != "" && !r.Passed.Start {
		tell("generation starts where forward paths do not end (%s, p = %.3f)", r.Start, float64(r.StartP))
	}
	// Where few directions matter the floor is wide, and draws of the law itself are now and
	// then above three times its mean: within 3 sd there is nothing to tell.
	switch times, sds := float64(e.Statistic/e.Mean), float64((e.Statistic-e.Mean)/e.SD); {
	case e.Statistic.IsNaN() || r.Passed.Energy:
	case !r.Passed.Wide:
		tell("another law: energy distance %.1f × its floor, %.1f sd above it", times, sds)
	default:
		tell("a law near by: energy distance %.1f × its floor, %.1f sd above it", times, sds)
	}
	if !o.Value.IsNaN() && !r.Passed.Observed {
		tell("observables %.1f × their floor%s", o.Times(), r.worst())
	}
	if n := r.Nearest; n.Ratio < experiment.NearCopies {
		tell("copies: %.2f of the distance that held-out rows have to training rows", float64(n.Ratio))
	}
	switch {
	case wrong != nil:
		r.Verdict = strings.Join(wrong, "; ")
	case r.Passed == Passed{true, true, true, true, true}:
		r.Verdict = "good"
	default:
		r.Verdict = "not measured"
	}
}

// worst names the observable that is furthest above its floor.
func (r *Result) worst() string {
	at := -1
	for k, d := range r.Numbers {
		if at < 0 || d.Times() > r.Numbers[at].Times() {
			at = k
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(", %q %.1f ×", r.Numbers[at].Name, r.Numbers[at].Times())
}

// A Bar is how many problems pass one, and how many should.
type Bar struct {
	What   string  `json:"what"`
	Passed int     `json:"passed"`
	Law    *int    `json:"law,omitempty"` // how many new draws of the laws themselves pass, where they were measured
	Of     int     `json:"of"`
	Wanted float64 `json:"wanted"` // share
	Met    bool    `json:"met"`
}

// Bars counts the results that pass, and beside them the laws themselves: a floor has a law
// too, and now and then a perfect model is above it.
func Bars(results []*Result) []Bar {
	bars := []Bar{
		{What: "energy distance within mean + 3 sd of its floor", Wanted: 0.8, Law: new(int)},
		{What: "energy distance within 3 × its floor", Wanted: 1, Law: new(int)},
		{What: "observables within 1.5 × their floor", Wanted: 0.8, Law: new(int)},
		{What: "failed samples and violations within their limits", Wanted: 1},
		{What: "start law not told from where paths end (p > 0.01)", Wanted: 1},
	}
	for _, r := range results {
		law := *r
		law.Energy, law.Observed.Value = r.EnergyLaw, r.Observed.Law
		law.judge()
		of := func(p Passed) [5]bool { return [...]bool{p.Energy, p.Wide, p.Observed, p.Feasible, p.Start} }
		mine, its := of(r.Passed), of(law.Passed)
		for k := range bars {
			b := &bars[k]
			b.Passed += count(mine[k])
			if b.Law != nil {
				*b.Law += count(its[k])
			}
		}
	}
	for k := range bars {
		b := &bars[k]
		b.Of = len(results)
		b.Met = float64(b.Passed) >= b.Wanted*float64(b.Of)
	}
	return bars
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
