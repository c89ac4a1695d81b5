package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
)

// A student is good within one and a half of its teacher's distance, with no more failures and violation; else
// there are words, and a remedy that trains three times as long.
func TestDistilledVerdict(t *testing.T) {
	teacher := Counted{Evaluations: 50, Distance: 0.1, Ratio: 1, Violation: 1e-13}
	good := Counted{Evaluations: 4, Distance: 0.15, Ratio: 1.5, Violation: 1e-12}
	with := func(change func(*Counted)) Counted {
		c := good
		change(&c)
		return c
	}
	epochs, clock := &problem.Problem{}, &problem.Problem{}
	epochs.Train.Epochs, clock.Train.MaxSeconds = 20, 30.5
	epochs.Generate.MaxViolation, clock.Generate.MaxViolation = 1e-9, 1e-9
	longer := fmt.Sprint(verdict.GoOn, "s", []string{"train.epochs=60"}, 0)
	for name, c := range map[string]struct {
		of            Counted
		p             *problem.Problem
		words, remedy string
	}{
		"good": {good, epochs, "1.50 times", ""},
		"far":  {with(func(c *Counted) { c.Ratio = 1.51 }), epochs, "training may bring", longer},
		"clock": {with(func(c *Counted) { c.Ratio = 2 }), clock, "2.00 times",
			fmt.Sprint(verdict.GoOn, "s", []string(nil), 61)},
		"fails": {with(func(c *Counted) { c.Failed = 1 }), epochs, "1 failed", longer},
		"off":   {with(func(c *Counted) { c.Violation = 2e-9 }), epochs, "violate", longer},
		"fewer": {with(func(c *Counted) { c.Ratio = 2 }), epochs, "take 2, whose samples are 1.25 times",
			fmt.Sprint(verdict.Generate, "s", []string{"generate.evaluations=2"}, 0)},
		"ended": {with(func(c *Counted) { c.Ratio = 2 }), epochs, "shorter training may",
			fmt.Sprint(verdict.Distill, "r", []string{"train.stop=epochs", "train.epochs=14"}, 0)},
		"none": {with(func(c *Counted) { c.Ratio = metric.NaN }), epochs, "no distance",
			fmt.Sprint(verdict.Evaluate, "s", []string(nil), 0)},
	} {
		d := StudentReport{Of: teacher, Samples: []Counted{c.of}}
		switch name { // those that are no better, and are not named: of a failure, too far
		case "fewer":
			d.Samples = append(d.Samples, with(func(c *Counted) { c.Evaluations, c.Ratio = 2, 1.25 }),
				with(func(c *Counted) { c.Evaluations, c.Ratio, c.Failed = 1, 1.125, 1 }))
		case "far":
			d.Samples = append(d.Samples, with(func(c *Counted) { c.Evaluations, c.Ratio = 2, 1.505 }))
		}
		d.judge(c.p, "s", "r", 28, name == "ended")
		command := ""
		if d.Remedy != nil {
			command = fmt.Sprint(d.Remedy.Verb, d.Remedy.Run, d.Remedy.Settings, d.Remedy.Seconds)
		}
		if d.Good != (name == "good") || !strings.Contains(d.Verdict, c.words) ||
			command != c.remedy {
			t.Errorf("%s: good %v, %q, %q", name, d.Good, d.Verdict, command)
		}
	}
}
