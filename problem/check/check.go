// Package check is the doctor for constraints: before any training it looks at a feasible set, its data and a
// process, and says component by component what will work, what will work badly and what cannot work.
//
// What is looked at is gathered first, once, as Evidence: points on Σ, near Σ and along forward paths (package
// evidence), and what these checks alone ask for. Every check is a pure function from evidence to findings, so its
// numbers are a function of the seed, and no check rests on another.
package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
)

// A Status is the verdict of a finding.
type Status int

const (
	Skip Status = iota - 1 // nothing could be looked at
	Pass
	Warn // it runs, worse than it could
	Fail // it does not run, or runs on another set than was meant
)

var statusNames = [...]string{"SKIP", "PASS", "WARN", "FAIL"}

func (s Status) String() string { return statusNames[s-Skip] }

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Finding is what one check says of one component.
type Finding struct {
	Check     string  `json:"check"`
	Component string  `json:"component"` // empty: of the set or the process as a whole
	Status    Status  `json:"status"`
	Message   string  `json:"message"`
	Numbers   Numbers `json:"numbers,omitempty"`
	Key       string  `json:"key,omitempty"` // of a problem file, that the finding chose a value for
	Value     any     `json:"value,omitempty"`
}

// say sets the status and the message.
func (f *Finding) say(s Status, format string, v ...any) {
	f.Status, f.Message = s, fmt.Sprintf(format, v...)
}

// add sets the status and appends to the message.
func (f *Finding) add(s Status, format string, v ...any) {
	f.say(s, "%s", f.Message+fmt.Sprintf(format, v...))
}

// Numbers are the figures behind a finding.
type Numbers map[string]float64

// MarshalJSON writes null for numbers that are not finite.
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := make(map[string]*float64, len(n))
	for k, v := range n {
		if v-v == 0 {
			out[k] = &v
		} else {
			out[k] = nil
		}
	}
	return json.Marshal(out)
}

// Input is what the doctor looks at.
type Input struct {
	Process   *langevin.Process // with its set; it need not be valid
	Data      []float64         // n×d; nil if there is none
	Tolerance float64           // largest violation that data may have; 0: a share of its spread, evidence.Far
	Uniform   bool              // the prior is the uniform law, not terminal states
	Method    method.Method     // nil: one that follows Process
	Training  *Training         // what to forecast; nil: forward simulation alone
	Seed      uint64
}

// Training is what the forecast of training needs to know.
type Training struct {
	Config  train.Config
	Learned []float64     // training rows
	Method  method.Method // that of the training, or one that prepares more quickly
	Network score.Config
	Before  int              // forward paths that are simulated before the first epoch
	Now     func() time.Time // the clock of the training; nil is time.Now
	Budget  float64          // seconds; 0: none
	Judged  bool             // held-out distances may end it before
}

// checks are all checks, in the order of the report. Those of the process say nothing of a
// method that does not follow it.
var checks = []struct {
	name    string
	run     func(*Evidence) []Finding
	process bool
}{
	{"dimension", dimension, false},
	{"feasible points", existence, false},
	{"finite", finiteness, false},
	{"data", feasibility, false},
	{"rows", repeats, false},
	{"mesh", meshes, false},
	{"gradient on Σ", vanishing, false},
	{"kinks", kinks, false},
	{"rank", ranks, false},
	{"activity", activity, false},
	{"landing rate", landingRate, true},
	{"forward paths", forwardPaths, true},
	{"singular points", singular, true},
	{"offset", offsets, true},
	{"repulsion", repulsion, true},
	{"terminal law", terminalLaw, false},
	{"components", connectedness, false},
	{"forecast", forecast, false},
}

// Run examines the input with every check. The error is the context's; faults of the input are findings.
func Run(ctx context.Context, in Input, pool *parallel.Pool) (*Report, error) {
	e, err := gather(ctx, in, pool)
	if err != nil {
		return nil, err
	}
	r := &Report{Set: constraint.Name(e.Set), Dim: e.D, Equalities: e.M, Inequalities: e.C - e.M,
		Points: len(in.Data) / e.D}
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		findings := []Finding{{Status: Skip, Message: fmt.Sprintf("the method %s does not follow this process",
			e.strange())}}
		switch {
		case c.name == "forecast" && r.Count(Fail) > 0: // trying a training takes long there, if it ends
			findings = nil
		case !c.process || e.stranger == nil:
			findings = c.run(e)
		}
		for _, f := range findings {
			f.Check = c.name
			r.Findings = append(r.Findings, f)
		}
	}
	return r, ctx.Err()
}

// strange is the name of a method that does not follow the process.
func (e *Evidence) strange() string {
	if e.stranger == nil {
		return ""
	}
	return e.stranger.Name()
}

func finite(v float64) bool { return v-v == 0 }

// Evidence is what the checks look at. Nothing changes it once it is gathered.
type Evidence struct {
	*evidence.Evidence
	in         Input
	stranger   method.Method   // that of the input, if it does not follow the process
	ctx        context.Context // ends the checks
	pool       *parallel.Pool
	approaches []approach // how each component behaves where it holds
	flat       []bool     // components whose gradient vanishes there
}

// gather gathers the evidence of an input. The error is the context's.
func gather(ctx context.Context, in Input, pool *parallel.Pool) (*Evidence, error) {
	e := &Evidence{in: in, ctx: ctx, pool: pool}
	if in.Method != nil && in.Method.Capabilities().Follows == nil {
		e.stranger = in.Method
	}
	e.Evidence = evidence.Gather(ctx, evidence.Case{Process: in.Process, Data: in.Data, Still: e.stranger != nil,
		Seed: in.Seed}, pool)
	e.approaches = approaches(e.Evidence)
	for i, a := range e.approaches {
		e.flat = append(e.flat, a.fault(i < e.M) != "")
	}
	return e, ctx.Err()
}

func (e *Evidence) anyFlat() bool { return slices.Contains(e.flat, true) }

// A Report is everything that was found.
type Report struct {
	Set          string    `json:"set"`
	Dim          int       `json:"dim"`
	Equalities   int       `json:"equalities"`
	Inequalities int       `json:"inequalities"`
	Points       int       `json:"data_points"`
	Data         []string  `json:"data"` // what was understood of it
	Findings     []Finding `json:"findings"`
	Why          bool      `json:"-"` // Write gives each chosen key a line with its reason
}

// Status returns the worst status of the findings.
func (r *Report) Status() Status {
	worst := Pass
	for _, f := range r.Findings {
		worst = max(worst, f.Status)
	}
	return worst
}

// Count returns how many findings have a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// shown is the number of components with findings of one check and status that are
// written out one by one; of more, the first few are.
const shown = 4

// Write writes the report for people: one line a finding, aligned. Where one check says the same of many components,
// the rest are counted. Chosen keys stand together, by the part of the problem file they are of, unless Why is set.
func (r *Report) Write(w io.Writer, color bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: d = %d, %s, %s, %s\n", r.Set, r.Dim, text.Counted(r.Equalities, "equality", "equalities"),
		text.Counted(r.Inequalities, "inequality", "inequalities"), text.Counted(r.Points, "data point", "data points"))
	for _, line := range r.Data {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteString("\n")
	lines := r.lines()
	if !r.Why {
		lines = together(lines)
	}
	wide, named := 0, 0
	for _, l := range lines {
		wide, named = max(wide, utf8.RuneCountInString(l.Check)),
			max(named, min(utf8.RuneCountInString(l.Component), 24))
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "%s  %-*s  %-*s  %s\n", painted(l.Status, color), wide, l.Check, named, l.Component, l.Message)
	}
	fmt.Fprintf(&b, "\n%d FAIL, %d WARN, %d PASS", r.Count(Fail), r.Count(Warn), r.Count(Pass))
	if n := r.Count(Skip); n > 0 {
		fmt.Fprintf(&b, ", %d SKIP", n)
	}
	b.WriteString("\n")
	if !r.Why && slices.ContainsFunc(r.Findings, chosen) {
		b.WriteString("Why keys have these values: --why\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// chosen reports whether a finding is a key, of a part of the file, that nobody needs to act on.
func chosen(f Finding) bool { return f.Status == Pass && strings.Contains(f.Key, ".") }

// together puts chosen keys of one part of the problem file into one line.
func together(lines []Finding) (out []Finding) {
	at := map[string]int{} // of a part, in out
	for _, f := range lines {
		if !chosen(f) {
			out = append(out, f)
			continue
		}
		part, key, _ := strings.Cut(f.Key, ".")
		said := key + " " + short(f.Value)
		if i, ok := at[part]; ok {
			out[i].Message += ", " + said
			continue
		}
		at[part] = len(out)
		out = append(out, Finding{Check: f.Check, Component: part, Message: said})
	}
	return out
}

// short writes the value of a key in few digits, a list as its length.
func short(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("%.3g", v)
	case []float64:
		return fmt.Sprintf("(%s)", text.Counted(len(v), "number", "numbers"))
	}
	return fmt.Sprint(v)
}

// lines returns the findings to write out.
func (r *Report) lines() []Finding {
	var out []Finding
	for lo := 0; lo < len(r.Findings); {
		hi := lo
		for hi < len(r.Findings) && r.Findings[hi].Check == r.Findings[lo].Check {
			hi++
		}
		for _, s := range []Status{Fail, Warn, Pass, Skip} {
			var same []Finding
			for _, f := range r.Findings[lo:hi] {
				if f.Status == s && f.Component == "" {
					out = append(out, f)
				} else if f.Status == s {
					same = append(same, f)
				}
			}
			keep := shown
			if s <= Pass {
				keep = 1
			}
			written, rest := map[string]bool{}, map[string]bool{} // components
			for _, f := range same {
				if c := f.Component; written[c] || len(written) < keep {
					written[c] = true
					out = append(out, f)
				} else {
					rest[c] = true
				}
			}
			if len(rest) > 0 {
				out[len(out)-1].Message += fmt.Sprintf(" (and %s alike)", text.Counted(len(rest), "other", "others"))
			}
		}
		lo = hi
	}
	return out
}

func painted(s Status, color bool) string {
	if !color {
		return s.String()
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", [...]int{36, 32, 33, 31}[s-Skip], s)
}
