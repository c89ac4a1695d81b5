package verdict

import (
	"encoding/json"
	"time"
)

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
	Force    bool     `json:"force,omitempty"`    // write over an earlier report
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

// UnmarshalJSON reads a remedy, or a command line alone, as evaluations of earlier versions have it.
func (r *Remedy) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &r.Command) == nil {
		return nil
	}
	type plain Remedy
	return json.Unmarshal(text, (*plain)(r))
}
