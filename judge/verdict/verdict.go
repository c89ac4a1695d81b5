// Package verdict says whether samples are good, and if not what is wrong with them, in order of
// effect: in words for people and in codes for programs.
//
// It looks at samples, at the rows of the data, at those that no training saw (held out), and at what else was
// measured of a run. Draws of the data's own law, as many as there are samples, are called good with a chance of at
// least 1 − Alarm: every test has its own level (levels), which holds at any number of points where a test is by
// ranks, counts or relabelling, and the levels add up to Alarm. That takes rows that are independent of each other.
//
// Laws are compared with all rows, training rows included: draws of the law are exchangeable with all, and memorised
// rows only bring samples nearer to them. Held-out rows alone reveal memorisation. Samples are not called good if there
// are too few points to detect a fault.
//
// The package knows no run and no command: the caller adds remedies.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A Code names a kind of finding. Codes are stable: programs may go by them.
type Code string

// Codes, in the order of findings of one effect.
const (
	Violation   Code = "violation"    // samples off Σ, above generate.max_violation
	Failed      Code = "failed"       // lost samples, above generate.max_failed
	StartLaw    Code = "start_law"    // generation starts where forward paths do not end
	Chains      Code = "chains"       // the chains behind the prior have not mixed
	Stray       Code = "stray"        // samples far from all rows
	MissedMode  Code = "missed_mode"  // regions of the data with few samples, or none
	Copies      Code = "copies"       // samples on training rows, or next to them
	Walls       Code = "walls"        // too many samples at the edge of an inequality, or too few
	Spread      Code = "spread"       // samples further apart than the data, or nearer
	Blur        Code = "blur"         // samples further from training rows than held-out rows are
	KindOfData  Code = "kind_of_data" // what the kind of data warns of
	Condition   Code = "condition"    // another law given the condition
	Nearby      Code = "nearby_rows"  // rows with near conditions are nearer to the law given the condition
	Observables Code = "observables"  // an observable has another law
	Planes      Code = "planes"       // by two observables samples lie between the groups of rows
	AnotherLaw  Code = "another_law"  // the energy test
	Overfit     Code = "overfit"      // samples nearer to training rows than held-out rows are
	TooShort    Code = "too_short"    // training ended before it was done
)

// All are the codes.
func All() []Code {
	return []Code{Violation, Failed, StartLaw, Chains, Stray, MissedMode, Copies, Walls, Spread, Blur, KindOfData,
		Condition, Nearby, Observables, Planes, AnotherLaw, Overfit, TooShort}
}

// A Grade sums up a verdict.
type Grade string

// Grades.
const (
	Good       Grade = "good"
	Usable     Grade = "usable"      // what was found is too small to matter, or a matter of detail
	NotGood    Grade = "not good"    // a fault was found
	NotDecided Grade = "not decided" // too little could be seen
)

// A Severity says whether a finding makes samples not good.
type Severity string

// Severities.
const (
	Remark Severity = "remark"
	Fault  Severity = "fault"
)

// A Finding is one thing that differs. It has an effect size besides its p-value: among many samples a small
// difference is certain and does not matter.
type Finding struct {
	Code      Code         `json:"code"`
	Severity  Severity     `json:"severity"`
	Says      string       `json:"says"`      // a sentence, without its full stop
	Effect    metric.Float `json:"effect"`    // its size in Unit; null where it has none
	Unit      string       `json:"unit"`      // of the effect and its threshold
	Threshold metric.Float `json:"threshold"` // the effect above which it is a fault; null: it never is
	PValue    metric.Float `json:"p_value"`   // null where there is no test
	Share     metric.Float `json:"share"`     // of the samples that it concerns; null where the effect is no share
	Remedy    *Remedy      `json:"remedy,omitempty"`
}

// A Skip is something that was not judged, or less sharply than it should be.
type Skip struct {
	Code      Code   `json:"code"`
	Why       string `json:"why"`
	Undecided bool   `json:"undecided,omitempty"` // it could hide a fault, so that the grade is not decided
}

// A Verdict is a grade and what was found, faults before remarks and the largest effect first.
type Verdict struct {
	Grade    Grade     `json:"grade"`
	Findings []Finding `json:"findings"`
	Limits   string    `json:"limits,omitempty"` // the result, where no remedy is left
	Skipped  []Skip    `json:"not_judged"`
	Alarm    float64   `json:"false_alarms"` // chance at most that draws of the law itself are found to differ
}

// A measure says in what an effect is counted, and above which size it is a fault; NaN: never.
type measure struct {
	unit  string
	fault float64
}

const (
	shares    = "share of the samples"
	functions = "distance of distribution functions"
)

// measures are those of codes. Mass in the wrong place is a fault above 5 %. Distribution functions 0.1 apart are those
// of normal laws with means 0.25 standard deviations apart. The start's distance bounds what follows from it, so it has
// the threshold of misplaced mass.
var measures = map[Code]measure{
	Violation: {"violation", 0}, Failed: {shares, 0}, StartLaw: {functions, 0.05}, Chains: {"", math.NaN()},
	Stray: {shares, 0.05}, MissedMode: {shares, 0.05}, Copies: {shares, 0.01}, Walls: {shares, 0.05},
	Spread: {functions, 0.1}, Blur: {"times the distance of held-out rows", math.NaN()}, KindOfData: {shares, 0.05},
	Condition: {functions, 0.1}, Nearby: {"times the distance of rows with near conditions", 1}, Planes: {shares, 0.05},
	Observables: {functions, 0.1}, AnotherLaw: {functions, 0.1},
	Overfit: {shares, math.NaN()}, TooShort: {"", math.NaN()},
}

// Alarm is the sum of levels: what is found of a kind of data, or too short a training, adds
// nothing to it, for it is no test.
const Alarm = 0.018

// levels are the chances of false alarms, by code. That of walls is held by who counts there
// (Wall.Differs), that of start_law and condition by their tests. That of another_law is the largest:
// it sees what the others do not, and is bound by EnergySDs besides.
var levels = map[Code]float64{
	AnotherLaw: 0.009, Observables: 0.001, Planes: 0.001, Spread: 0.001, MissedMode: 0.001, Stray: 0.0005,
	Copies: 0.0005, Walls: 0.001, StartLaw: 0.001, Condition: 0.001, Nearby: 0.001,
}

// Level returns the chance of a false alarm of a code, 0 for one that is no test.
func Level(c Code) float64 { return levels[c] }

// FewestHeld is how many rows must be held out for samples to be told from copies, and how many
// there must be for their law to be judged.
const FewestHeld = 20

// mostUnseen is a distance of distribution functions that must be seen if it is there: where samples and rows are so
// few that it may not be, a law is not called good. Of normal laws it is means 0.64 standard deviations apart.
const mostUnseen = 0.25

// Bars of the energy test: standard deviations above the mean of its floor, beyond which samples
// have another law. The floor is skewed, so p must be low too.
const EnergySDs = 3

// Within reports whether an energy distance is within its floor's mean and EnergySDs sd.
func Within(t metric.TwoSample) bool { return t.Statistic <= t.Mean+EnergySDs*t.SD }

// Evidence is what a verdict rests on. What was not measured is nil, or NaN.
type Evidence struct {
	Asked, Failed, Wrong int // samples; of them those that are lost, and of these those on a wrong component
	MaxFailed            float64
	Violation            string // what is wrong, where samples are not feasible; empty: they are

	// Rows of Dim numbers, as their distances are taken: good samples, the rows that their law is held against (all
	// of the data; where samples have the conditions of held-out rows, these alone), rows held out, and rows that
	// training saw; and of samples and held-out rows the distances to the nearest training row.
	Samples, Rows, Held, Train []float64
	Dim                        int
	Rounded                    []float64 // Samples as the rows are rounded (metric.Snap), for SampleNearest; nil: not
	SampleNearest, HeldNearest []float64
	Off                        float64 // how far rows are from the set, where samples lie (root mean square)
	Unit                       string  // of these distances for people; empty: the data's own
	PerUnit                    float64 // of it in a distance of 1

	// Say says where a row is, for people; nil: by its numbers.
	Say func(row []float64) string

	Energy metric.TwoSample // of samples to Rows, conditions included
	Seed   uint64           // of relabellings

	Numbers []Number // observables
	Walls   []Wall
	Start   *Start
	Chains  string      // what is wrong with the chains behind the prior; empty: nothing, or there are none
	Given   *Given      // under a condition
	Kind    []KindFault // of the kind of data
	Course  *Course     // of the training
}

// A Number is an observable of samples and of the rows that they are held against, in their order; and its distance
// of histograms to the data over that of draws from the training rows, NaN where there is none. Values that differ by
// less than Close count as equal, and those a Period apart, unless it is 0.
type Number struct {
	Name          string
	Samples, Rows []float64
	Times         float64
	Close, Period float64
}

// A Wall says which shares of samples and data lie at the edge of an inequality.
type Wall struct {
	Says          string // how they differ
	Samples, Data float64
	Differs       bool // by a test of level Level(Walls) over all walls
}

// Start is where generation starts, held against where forward paths end.
type Start struct {
	Prior  string
	Paths  int     // 0: none was compared
	PValue float64 // of the energy test
	Apart  float64 // the largest distance of distribution functions along a direction
}

// Given is the test of samples against the rows with the same condition.
type Given struct {
	Test          metric.TwoSample
	Samples, Held []float64 // the pairs
	Dim           int
	Nearby        *Retrieved // nil: there are none
}

// Retrieved are training rows with conditions near to those of held-out rows. They are compared with the samples.
type Retrieved struct {
	Rows     int     // number of nearest rows; one of them is taken
	Distance float64 // energy distance, as Given.Test has it of samples
	PValue   float64 // of samples being farther
}

// A KindFault is what a kind of data warns of; Share is how many of the samples, 0 if it does not say.
type KindFault struct {
	Says  string
	Share float64
}

// Of judges samples.
func Of(e Evidence) Verdict {
	j := &judge{Evidence: e}
	j.run()
	return build(j.found, j.skipped)
}

func build(found []Finding, skipped []Skip) Verdict {
	v := Verdict{Findings: append([]Finding{}, found...), Skipped: append([]Skip{}, skipped...), Alarm: Alarm}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(min(order(a.Code), causes), min(order(b.Code), causes)),
			cmp.Compare(b.size(), a.size()), cmp.Compare(order(a.Code), order(b.Code)))
	})
	v.Grade = gradeOf(v.Findings, v.Skipped)
	return v
}

// gradeOf is the grade of what was found and of what could not be judged.
func gradeOf(found []Finding, skipped []Skip) Grade {
	switch {
	case slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Fault }):
		return NotGood
	case slices.ContainsFunc(skipped, func(s Skip) bool { return s.Undecided }):
		return NotDecided
	case len(found) > 0:
		return Usable
	}
	return Good
}

func order(c Code) int { return slices.Index(All(), c) }

// causes is how many codes stand first whatever their effect: other findings may follow from them.
var causes = order(Chains) + 1

// size is the effect in thresholds; 0 where it has none.
func (f Finding) size() float64 {
	if s := float64(f.Effect / f.Threshold); s > 0 {
		return s
	}
	return 0
}

// Has reports whether a code was found.
func (v Verdict) Has(c Code) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Code == c })
}

// Title says the verdict in a line.
func (v Verdict) Title() string {
	faults := 0
	for _, f := range v.Findings {
		if f.Severity == Fault {
			faults++
		}
	}
	remarks := ""
	if n := len(v.Findings) - faults; n > 0 {
		remarks = "; " + text.Plural(n, "remark")
	}
	switch {
	case v.Grade == Good:
		return "good: nothing is wrong that these samples and rows could show"
	case v.Grade == Usable:
		return "usable: nothing is wrong that matters" + remarks
	case faults == 0:
		return "not decided: nothing is seen to be wrong, and too little could be seen to call it good" + remarks
	case faults == 1:
		return "not good: one thing is wrong" + remarks
	default:
		return fmt.Sprintf("not good: %d things are wrong, the largest effect first%s", faults, remarks)
	}
}

// String says it in a line, with all that was found.
func (v Verdict) String() string {
	if len(v.Findings) == 0 {
		title, _, _ := strings.Cut(v.Title(), ":")
		return title
	}
	return strings.Join(v.Says(), "; ")
}

// Says are the findings in a line each.
func (v Verdict) Says() (out []string) {
	for _, f := range v.Findings {
		out = append(out, fmt.Sprintf("%s: %s", f.Code, f.Says))
	}
	return out
}

// Size says an effect in words, with the threshold above which it is a fault; empty where it has none.
func (f Finding) Size() string {
	s := ""
	switch effect := float64(f.Effect); {
	case f.Unit == "" || !(effect > 0):
		return ""
	case f.Unit == shares:
		s = text.Percent(effect) + " of the samples"
	default:
		s = text.Number(effect) + " " + f.Unit
	}
	if f.Threshold > 0 && f.Severity == Remark {
		s += fmt.Sprintf(" (a fault above %s)", text.Number(f.Threshold))
	}
	return s
}

// Grouped returns what was not judged, codes with one reason together.
func (v Verdict) Grouped() []string {
	var out []string
	var at []string
	for _, s := range v.Skipped {
		if i := slices.Index(at, s.Why); i >= 0 {
			out[i] = string(s.Code) + ", " + out[i]
			continue
		}
		at, out = append(at, s.Why), append(out, string(s.Code)+": "+s.Why)
	}
	return out
}

// A Remedy is what to do about a finding: a verb and what it is applied to. Programs go by these fields; Command is the
// command line of it, from the program that has one.
type Remedy struct {
	Verb     Verb     `json:"verb"`
	Run      string   `json:"run,omitempty"`      // run folder that it is applied to, or
	Problem  string   `json:"problem,omitempty"`  // problem file,
	Data     string   `json:"data,omitempty"`     // its data,
	Variant  string   `json:"variant,omitempty"`  // and its variant
	Settings []string `json:"settings,omitempty"` // key=value, over those of run or problem
	Seconds  float64  `json:"seconds,omitempty"`  // of training
	Command  string   `json:"command,omitempty"`
}

// A Verb says what a remedy does.
type Verb string

// Verbs.
const (
	Train    Verb = "train"    // trains a problem anew
	GoOn     Verb = "go_on"    // trains a run for longer
	Evaluate Verb = "evaluate" // scores samples of a run
	Report   Verb = "report"   // scores samples of a run and writes its page
	Generate Verb = "generate" // draws samples of a run
	Distill  Verb = "distill"  // trains a few-step student of a run
	Check    Verb = "check"    // examines a problem
)

// For is how long a training is to take.
func (r *Remedy) For() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// WriteCommands fills in the command lines of the remedies, as line writes them.
func (v *Verdict) WriteCommands(line func(*Remedy) string) {
	for _, f := range v.Findings {
		if f.Remedy != nil && line != nil {
			f.Remedy.Command = line(f.Remedy)
		}
	}
}

// String is the command line, or the verb where there is none.
func (r *Remedy) String() string {
	switch {
	case r == nil:
		return ""
	case r.Command != "":
		return r.Command
	}
	return string(r.Verb)
}
