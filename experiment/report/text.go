package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
)

// mostComponents bounds the constraints that a text lists; JSON has all.
const mostComponents = 8

// WriteText writes what the page of an evaluation says, but for its pictures.
func WriteText(w io.Writer, v *judge.Evaluation) {
	writeVerdict(w, &v.Verdict)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range facts(v) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", strings.ToLower(f.Label), f.Value, f.Note)
	}
	t.Flush()
	for _, table := range tables(brief(v), "", "") {
		fmt.Fprintf(w, "\n%s\n", table.Title)
		for _, row := range append([][]string{table.Header}, table.Rows...) {
			fmt.Fprintf(t, "  %s\n", strings.Join(row, "\t"))
		}
		t.Flush()
		if table.Note != "" {
			fmt.Fprintf(w, "  %s\n", table.Note)
		}
	}
	fmt.Fprintln(w)
	if n := len(v.Component); n > mostComponents && len(v.Families) == 0 {
		fmt.Fprintf(w, "There are %d constraints; the %d worst are listed.\n", n, mostComponents)
	}
	if v.Steps != nil && len(v.Steps.Component) > 0 {
		fmt.Fprintf(w, "On the way: %s.\n", v.Steps)
	}
	if v.TwoSample.M == 0 && v.Failed < v.Samples {
		fmt.Fprintln(w, "Held-out points were not compared: the data has too few points to hold any out.")
	}
}

// writeVerdict says what is wrong, and the commands that mend it.
func writeVerdict(w io.Writer, v *verdict.Verdict) {
	fmt.Fprintln(w, v.Title())
	for i, f := range judged(v).Findings {
		share := f.Share
		if share != "" {
			share = ", " + share
		}
		fmt.Fprintf(w, "  %d. %s%s: %s\n", i+1, f.Code, share, f.Says)
		if f.Remedy != "" {
			fmt.Fprintf(w, "     %s\n", f.Remedy)
		}
	}
	for _, s := range v.Grouped() {
		fmt.Fprintf(w, "  not judged: %s\n", s)
	}
	fmt.Fprintln(w)
}

// brief returns an evaluation with fewer components and walls: families in place of components that are alike, else the
// worst components; walls with a warning before others.
func brief(v *judge.Evaluation) *judge.Evaluation {
	b := *v
	b.Component, b.Walls = slices.Clone(v.Component), slices.Clone(v.Walls)
	slices.SortStableFunc(b.Walls, func(x, y judge.Wall) int {
		return -cmp.Compare(min(1, len(x.Warning)), min(1, len(y.Warning)))
	})
	b.Walls = b.Walls[:min(len(b.Walls), mostComponents)]
	if len(v.Families) > 0 {
		b.Component = nil
		for _, f := range v.Families {
			f.Violation.Component = strings.TrimSpace(fmt.Sprintf("%s (%s) %s", f.Component,
				text.Plural(f.Components, "constraint"), f.Unit))
			b.Component = append(b.Component, f.Violation)
		}
	} else if len(b.Component) > mostComponents {
		slices.SortStableFunc(b.Component, func(x, y metric.Violation) int { return cmp.Compare(y.Worst, x.Worst) })
		b.Component = b.Component[:mostComponents]
	}
	return &b
}
