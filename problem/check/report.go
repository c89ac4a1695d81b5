package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/internal/text"
)

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
