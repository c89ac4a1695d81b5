package suite

import "github.com/landing-diffusion/landing/judge/verdict"

// Bars of a problem, beside that of the energy distance, verdict.Within.
const (
	energyTimes   = 3    // times the mean of the floor, at most
	observedTimes = 1.5  // times the floor, for the mean over observables
	startLevel    = 0.01 // p-value at which the start law differs from the law of the paths' ends
)

// Passed says which bars a result passes.
type Passed struct {
	Energy   bool `json:"energy"`      // within the floor's mean + 3 sd
	Wide     bool `json:"energy_wide"` // within 3 times the floor
	Observed bool `json:"observed"`
	Start    bool `json:"start"`
	Feasible bool `json:"feasible"` // failed samples and violations within their limits
}

// pass says which bars the result passes.
func (r *Result) pass() {
	e, o := r.Energy, r.Observed
	r.Passed = Passed{
		Energy:   verdict.Within(e),
		Wide:     e.Statistic <= energyTimes*e.Mean,
		Observed: o.Value <= observedTimes*o.Mean,
		Start:    r.Start != "" && !(r.StartP <= startLevel),
		Feasible: r.Error == "" && r.Samples > r.Failed,
	}
}

// judge sets the verdict in words: that on the run's samples, or why there are none.
func (r *Result) judge() {
	r.pass()
	told := r.Judged != nil && (r.Judged.Has(verdict.Failed) || r.Judged.Has(verdict.Violation))
	switch {
	case r.Judged == nil && r.Error == "":
		r.Verdict = "not measured"
	case r.Judged == nil:
		r.Verdict = r.Error
	case r.Error != "" && !told:
		r.Verdict = r.Error + "; " + r.Judged.String()
	default:
		r.Verdict = r.Judged.String()
	}
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
		law.pass()
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
