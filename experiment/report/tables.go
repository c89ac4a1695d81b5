package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
)

// powers writes R^3 as R³.
func powers(s string) string {
	return regexp.MustCompile(`R\^[0-9]+`).ReplaceAllStringFunc(s, func(r string) string {
		n, _ := strconv.Atoi(r[2:])
		return "R" + text.Superscript(n)
	})
}

// withArticle returns "the sphere", but "SO(10)".
func withArticle(set string) string {
	if first, _ := utf8.DecodeRuneInString(set); unicode.IsUpper(first) {
		return set
	}
	return "the " + set
}

// judged is a verdict as a page opens with it.
func judged(v *verdict.Verdict) *figure.Judged {
	out := &figure.Judged{Grade: string(v.Grade), Title: capital(v.Title()), Limits: v.Limits,
		Notes: v.Grouped(),
		Rate:  fmt.Sprintf("Draws of the data's own law are called good at least %.0f times in 100.", 100*(1-v.Alarm))}
	above := map[string]bool{} // commands that stand above
	for _, f := range v.Findings {
		command := f.Remedy.String()
		if above[command] {
			command = ""
		}
		above[command] = true
		out.Findings = append(out.Findings, figure.Finding{Code: string(f.Code), Severity: string(f.Severity),
			Size: f.Size(),
			Says: capital(f.Says) + ".", Remedy: command})
	}
	return out
}

// sentence says what was measured.
func sentence(v *judge.Evaluation) string {
	if v.Samples == v.Failed {
		return fmt.Sprintf("None of %s samples is left: %s.", text.Count(v.Samples), losses(v))
	}
	s := ""
	if keys := problem.Changed(v.Drawn); len(keys) > 0 {
		s = fmt.Sprintf("Drawn by other keys than those of training: %s. ", strings.Join(keys, ", "))
	}
	s += fmt.Sprintf("%s samples, worst violation %s, %s.", text.Count(v.Samples), text.Number(v.Violation.Worst),
		losses(v))
	if v.JSD != nil {
		s += fmt.Sprintf(" Distance to the data %.3f; perfect copies of the training rows would score %.3f", v.JSD.Full,
			v.JSD.Floor.Mean)
		if v.JSD.Law > 0 {
			s += fmt.Sprintf(", new draws of their law about %.3f", v.JSD.Law)
		}
		if !v.JSD.Uniform.IsNaN() {
			s += fmt.Sprintf(", uniform samples %.3f", v.JSD.Uniform)
		}
		s += "."
	}
	return s
}

func losses(v *judge.Evaluation) string {
	s := fmt.Sprintf("%s lost to a projection", text.Count(v.Failed-v.Wrong-v.Broken))
	if v.Broken > 0 {
		s += fmt.Sprintf(", %s broke down on the way", text.Count(v.Broken))
	}
	if v.Wrong > 0 {
		s += fmt.Sprintf(", %s on a wrong component", text.Count(v.Wrong))
	}
	return s
}

func facts(v *judge.Evaluation) []figure.Fact {
	out := []figure.Fact{
		{Label: "Worst violation", Value: text.Measured(v.Violation.Worst), Note: "mean " +
			text.Measured(v.Violation.Mean)},
		{Label: "Samples", Value: text.Count(v.Samples), Note: losses(v)},
	}
	if v.JSD != nil {
		out = append(out, figure.Fact{Label: v.JSD.Metric, Value: fmt.Sprintf("%.3f", v.JSD.Full),
			Note: fmt.Sprintf("floor %.4f ± %.4f", v.JSD.Floor.Mean, v.JSD.SD)})
	} else if t := v.TwoSample; t.N > 0 {
		out = append(out, figure.Fact{Label: "Energy distance to held-out data", Value: text.Number(t.Statistic),
			Note: fmt.Sprintf("floor %s ± %s, p = %.3f", text.Number(t.Mean), text.Number(t.SD), t.PValue)})
	}
	if v.Weights != "" {
		out = append(out, figure.Fact{Label: "Weights", Value: fmt.Sprintf("of epoch %d", v.Epoch), Note: v.Weights})
	}
	fact := figure.Fact{Label: "Training", Value: fmt.Sprintf("%.0f s", v.Seconds.Train),
		Note: fmt.Sprintf("generation %.1f s", v.Seconds.Generate)}
	if c := v.Trained; c != nil && c.Epochs > v.Epoch {
		fact.Value = fmt.Sprintf("%.0f s", c.Seconds)
		fact.Note = fmt.Sprintf("%d epochs; %d of them in %.0f s to the kept weights; %s", c.Epochs, v.Epoch,
			v.Seconds.Train, fact.Note)
	}
	return append(out, fact)
}

// tables are those of an evaluation, with what explains its distances.
func tables(v *judge.Evaluation, distance, observables string) []figure.Table {
	var out []figure.Table
	if len(v.Drawn) > 0 {
		t := figure.Table{Title: "How the samples are drawn", Header: []string{"key", "here", "the run's own"}}
		for _, s := range v.Drawn {
			own := "–" // of a key of a method that is not the run's
			if s.Own != nil {
				own = fmt.Sprint(s.Own)
			}
			t.Rows = append(t.Rows, []string{s.Key, fmt.Sprint(s.Value), own})
		}
		out = append(out, t)
	}
	if v.JSD != nil {
		out = append(out, distances(v.JSD, distance)...)
	}
	if v.Observed != nil {
		out = append(out, distances(v.Observed, observables)...)
	}
	for _, f := range v.Findings {
		out = append(out, found(f))
	}
	if v.Given != nil {
		out = append(out, givenCondition(v.Given))
	}
	if s := v.Start; s != nil && s.Paths > 0 {
		warning := ""
		if s.Warning != "" {
			warning = " WARN: " + s.Warning + "."
		}
		out = append(out, figure.Table{
			Title: "Where generation starts", Header: []string{"", s.Metric},
			Rows: [][]string{
				{fmt.Sprintf("ends of %s forward paths to the prior", text.Count(s.Paths)), text.Fixed(s.Distance)},
				{"floor: two sets of one law", text.Fixed(s.Floor)},
			},
			Note: fmt.Sprintf("Where the two differ, forward paths have not forgotten the data, and generation "+
				"starts at states that the network was not trained on. Energy test of one law: p = %.3f.%s",
				s.PValue, warning),
		})
	}
	t := figure.Table{Title: "Violation by constraint", Header: []string{"constraint", "mean", "median", "90 %", "99 %",
		"worst", "at sample"}}
	for _, c := range v.Component {
		t.Rows = append(t.Rows, []string{c.Component, text.Number(c.Mean), text.Number(c.Median), text.Number(c.Q90),
			text.Number(c.Q99), text.Number(c.Worst), fmt.Sprint(c.WorstSample)})
	}
	if p := v.Programs; p != nil {
		t.Note = fmt.Sprintf("Programs of optimisation within the steps of generation looked for a point of the set "+
			"from %s points, in %.3g iterations each; %s found none.", text.Count(p.Points),
			float64(p.Iterations)/float64(p.Points), text.Count(p.Failed))
	}
	if len(t.Rows) > 0 {
		out = append(out, t)
	}
	if len(v.Walls) > 0 {
		out = append(out, atWalls(v.Walls, v.Bounces))
	}
	if n := v.Nearest; !n.Ratio.IsNaN() {
		heldOut := ""
		if v.HeldOut != "" {
			heldOut = " Held-out points are " + v.HeldOut + "."
		}
		out = append(out, figure.Table{
			Title: "Is it copying?", Header: []string{"", "samples", "held-out points"},
			Rows: [][]string{
				{"median distance to the nearest training point", text.Number(n.Samples), text.Number(n.HeldOut)},
				{"share within 10⁻⁶ of the rows' spread of a training point", text.Percent(n.Copied),
					text.Percent(n.Repeated)},
			},
			Note: fmt.Sprintf("Energy distance of samples to held-out points %s; two samples of "+
				"one law would be at %s ± %s; p = %.3f.",
				text.Number(v.TwoSample.Statistic), text.Number(v.TwoSample.Mean), text.Number(v.TwoSample.SD),
				v.TwoSample.PValue) + heldOut,
		})
	}
	return out
}

func found(f domain.Finding) figure.Table {
	t := figure.Table{Title: capital(f.Name), Header: []string{"", "samples", cmp.Or(f.Beside, "data"), "noise", "p"},
		Note: strings.TrimSpace(capital(f.Verdict) + ". " + f.Note)}
	for _, m := range f.Measures {
		name := m.Name
		if m.Unit != "" {
			name += ", " + m.Unit
		}
		p := "–"
		if !m.PValue.IsNaN() {
			p = fmt.Sprintf("%.3f", m.PValue)
		}
		t.Rows = append(t.Rows, []string{name, text.Measured(m.Samples), text.Measured(m.Data), text.Measured(m.Noise),
			p})
	}
	return t
}

func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[n:]
}

// known is a figure that evaluations of earlier versions do not have.
func known[F ~float64](law F) string {
	if !(law > 0) {
		return ""
	}
	return text.Fixed(law)
}

// words explains what a report's texts, tables and pictures are of.
func words() figure.Table {
	return figure.Table{Title: "Words on this page", Header: []string{"word", "meaning"}, Rows: [][]string{
		{"violation", "how far a sample is from keeping a constraint: |h(x)| of an equality, max(g(x), 0) of an " +
			"inequality, in the unit of its formula"},
		{"held-out", "rows of the data that training did not see"},
		{"Jensen–Shannon distance", "difference of two histograms: 0 if they are equal, at most 0.83"},
		{"energy distance", "difference of two sets of points, by their distances: about 0 for sets of one law"},
		{"floor", "what as many draws from the training rows score by the same measure: samples cannot be told to be " +
			"better than that"},
		{"law", "probability distribution that points are drawn from"},
		{"p", "how often chance alone makes a difference this large"},
		{"copy", "sample that lies on a training row, but for rounding"},
		{"blur", "samples lie farther from training rows than held-out rows do"},
		{"forward path", "a training row on its way to noise; samples are made on the way back"},
	}}
}

func distances(j *judge.JSD, note string) []figure.Table {
	out := []figure.Table{{
		Title: j.Metric, Header: []string{"", "against all data", "against held-out data"},
		Rows: [][]string{
			{"samples", text.Fixed(j.Full), text.Fixed(j.HeldOut)},
			{"floor: draws from the training rows", text.Fixed(j.Mean), text.Fixed(j.HeldOutFloor)},
			{"new draws of the law, by halves of the data", known(j.Law), ""},
			{"uniform samples", text.Fixed(j.Uniform), ""},
		},
		Note: note,
	}}
	if len(j.Parts) == 0 {
		return out
	}
	parts := figure.Table{Title: j.Metric + " by statistic", Header: []string{"", "against all data", "floor",
		"against held-out data", "floor"}}
	for _, p := range j.Parts {
		parts.Rows = append(parts.Rows, []string{p.Name, text.Fixed(p.Full), fmt.Sprintf("%s ± %s", text.Fixed(p.Mean),
			text.Fixed(p.SD)), text.Fixed(p.HeldOut), text.Fixed(p.HeldOutFloor)})
	}
	return append(out, parts)
}

func givenCondition(g *judge.Conditional) figure.Table {
	t := figure.Table{Title: "Given the condition", Header: []string{"where", "samples", "distance", "floor"}}
	for _, b := range g.Bins {
		t.Rows = append(t.Rows, []string{b.String(), text.Count(b.Samples), text.Fixed(b.Full),
			fmt.Sprintf("%s ± %s", text.Fixed(b.Mean), text.Fixed(b.SD))})
	}
	if g.Pairs.M > 0 {
		t.Rows = append(t.Rows, []string{"energy distance to held-out points with the same conditions",
			text.Count(g.Pairs.N), text.Number(g.Pairs.Statistic),
			fmt.Sprintf("%s ± %s, p = %.3f", text.Number(g.Pairs.Mean), text.Number(g.Pairs.SD), g.Pairs.PValue)})
		if n := g.Nearby; n != nil {
			t.Rows = append(t.Rows, []string{"the same of training rows with near conditions, instead of samples",
				text.Count(g.Pairs.N), text.Number(n.Distance), fmt.Sprintf("samples are farther: p = %.4f", n.PValue)})
		}
		t.Note = "A sample for each held-out condition, none of which training saw: the test swaps it with the point " +
			"that was held out. Distances are to all data with a condition in the range."
	}
	if g.Warning != "" {
		t.Note += " WARN: " + g.Warning + "."
	}
	return t
}

func atWalls(walls []judge.Wall, b *method.Bounces) figure.Table {
	t := figure.Table{
		Title: "At the walls", Header: []string{"inequality", "within", "samples", "data", "p", ""},
		Note: "How many points lie within a step of the edge of an inequality: what the last step of generation " +
			"typically moves it by.",
	}
	if b != nil {
		t.Note += fmt.Sprintf(" On the way walls mirrored %s steps and turned %s back; %s states were pushed inside.",
			text.Count(b.Reflected), text.Count(b.TurnedBack), text.Count(b.Pushed))
	}
	for _, w := range walls {
		t.Rows = append(t.Rows, []string{
			w.Component, text.Number(w.Step), text.Percent(w.Samples), text.Percent(w.Reference),
			fmt.Sprintf("%.3f", w.PValue), w.Judged(),
		})
	}
	return t
}
