package main

import (
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
)

// verbNames are what the command calls the verbs of remedies.
var verbNames = map[verdict.Verb]string{
	verdict.Train: "train", verdict.GoOn: "train", verdict.Evaluate: "report", verdict.Report: "report",
	verdict.Generate: "generate", verdict.Distill: "distill", verdict.Check: "check",
}

// commandLine writes the command line of a remedy.
func commandLine(r *verdict.Remedy) string {
	s := "landing " + verbNames[r.Verb]
	flag := func(name, value string) {
		if value != "" {
			s += name + text.Shell(value)
		}
	}
	of := r.Problem + r.Run
	if verbNames[r.Verb] == "train" && slices.Contains(problem.Recipes(), r.Run) { // whose name means the recipe
		of = "./" + r.Run
	}
	flag(" ", of)
	if r.Verb == verdict.Evaluate {
		s += " --text"
	}
	flag(" --data ", r.Data)
	flag(" --variant ", r.Variant)
	if r.Seconds > 0 {
		flag(" --for ", plainDuration(r.For()))
	}
	for _, setting := range r.Settings {
		flag(" --set ", setting)
	}
	if r.Verb == verdict.Generate {
		s += " -n 10000 -o samples.npy"
	}
	return s
}

// suggest is the command line of a verb on a run.
func suggest(verb verdict.Verb, run string) string {
	return commandLine(&verdict.Remedy{Verb: verb, Run: run})
}

// plainDuration writes 1h30m0s as 1h30m.
func plainDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
