package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// Report draws the figures of an evaluation into figures/ and writes the HTML
// report. It returns the report's path.
func (e *Experiment) Report(s *Samples, v *Evaluation) (string, error) {
	p := &pictures{Experiment: e, good: s.Good(), evaluation: v}
	if err := p.draw(); err != nil {
		return "", err
	}
	r := &figure.Report{
		Title:    e.Title(),
		Subtitle: fmt.Sprintf("%s on %s, %d epochs", e.Process.Method, withArticle(constraint.Name(e.Process.Set)), v.Epoch),
		Verdict:  verdict(v),
		Facts:    facts(v),
		Figures:  p.figures,
		Notes:    p.notes,
		Tables:   e.tables(v),
		Globe:    p.globe,
		Surface:  p.surface,
		Config:   string(e.Problem.Resolved()),
		Commands: e.commands(),
	}
	var html bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		return "", err
	}
	return e.Folder.Path(run.ReportFile), e.Folder.Write(run.ReportFile, html.Bytes())
}

// withArticle returns "the sphere", but "SO(10)".
func withArticle(set string) string {
	if first, _ := utf8.DecodeRuneInString(set); unicode.IsUpper(first) {
		return set
	}
	return "the " + set
}

// Title returns the problem's title, or its name.
func (e *Experiment) Title() string {
	if e.Problem.Title != "" {
		return e.Problem.Title
	}
	return e.Problem.Name
}

func (e *Experiment) commands() []string {
	var m run.Manifest
	if err := e.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return nil
	}
	return []string{strings.Join(m.Command, " "), "landing eval " + e.Folder.Dir}
}

func decode(records []run.Record) (epochs []train.Epoch, evaluations []Progress) {
	for _, r := range records {
		switch r.Kind {
		case "epoch":
			var e train.Epoch
			if json.Unmarshal(r.Data, &e) == nil {
				epochs = append(epochs, e)
			}
		case "evaluation":
			var p Progress
			if json.Unmarshal(r.Data, &p) == nil {
				evaluations = append(evaluations, p)
			}
		}
	}
	return
}

func verdict(v *Evaluation) string {
	if v.Samples == v.Failed {
		return fmt.Sprintf("None of %s samples is left: %s.", count(v.Samples), losses(v))
	}
	s := fmt.Sprintf("%s samples, worst violation %s, %s.", count(v.Samples), number(float64(v.Violation.Worst)), losses(v))
	if v.JSD != nil {
		s += fmt.Sprintf(" Distance to the data %.3f; perfect copies of the training rows would score %.3f", v.JSD.Full, v.JSD.Floor.Mean)
		if !math.IsNaN(float64(v.JSD.Uniform)) {
			s += fmt.Sprintf(", uniform samples %.3f", v.JSD.Uniform)
		}
		s += "."
	}
	return s
}

// losses says how many samples were lost, and to what.
func losses(v *Evaluation) string {
	s := fmt.Sprintf("%s lost to a projection", count(v.Failed-v.Wrong))
	if v.Wrong > 0 {
		s += fmt.Sprintf(", %s on a wrong component", count(v.Wrong))
	}
	return s
}

func facts(v *Evaluation) []figure.Fact {
	out := []figure.Fact{
		{Label: "Worst violation", Value: measured(v.Violation.Worst), Note: "mean " + measured(v.Violation.Mean)},
		{Label: "Samples", Value: count(v.Samples), Note: losses(v)},
	}
	if v.JSD != nil {
		out = append(out, figure.Fact{Label: v.JSD.Metric, Value: fmt.Sprintf("%.3f", v.JSD.Full),
			Note: fmt.Sprintf("floor %.4f ± %.4f", v.JSD.Floor.Mean, v.JSD.SD)})
	} else if t := v.TwoSample; t.N > 0 {
		out = append(out, figure.Fact{Label: "Energy distance to held-out data", Value: number(float64(t.Statistic)),
			Note: fmt.Sprintf("floor %s ± %s, p = %.3f", number(float64(t.Mean)), number(float64(t.SD)), t.PValue)})
	}
	return append(out, figure.Fact{Label: "Training", Value: fmt.Sprintf("%.0f s", v.Seconds.Train),
		Note: fmt.Sprintf("generation %.1f s", v.Seconds.Generate)})
}

func (e *Experiment) tables(v *Evaluation) []figure.Table {
	var out []figure.Table
	if v.JSD != nil {
		out = append(out, e.distances(v.JSD)...)
	}
	if s := v.Start; s != nil && s.Paths > 0 {
		out = append(out, figure.Table{
			Title: "Where generation starts", Header: []string{"", s.Metric},
			Rows: [][]string{
				{fmt.Sprintf("ends of %s forward paths to the prior", count(s.Paths)), fixed(s.Distance)},
				{"floor: two sets of one law", fixed(s.Floor)},
			},
			Note: fmt.Sprintf("Where the two differ, forward paths have not forgotten the data, and generation starts at states that the network was not trained on. Energy test of one law: p = %.3f.", s.PValue),
		})
	}
	t := figure.Table{Title: "Violation by constraint", Header: []string{"constraint", "mean", "median", "90 %", "99 %", "worst", "at sample"}}
	for _, c := range v.Component {
		t.Rows = append(t.Rows, []string{c.Component, number(float64(c.Mean)), number(float64(c.Median)), number(float64(c.Q90)), number(float64(c.Q99)), number(float64(c.Worst)), fmt.Sprint(c.WorstSample)})
	}
	if len(t.Rows) > 0 {
		out = append(out, t)
	}
	if n := v.Nearest; !math.IsNaN(float64(n.Ratio)) {
		out = append(out, figure.Table{
			Title: "Is it copying?", Header: []string{"", "samples", "held-out points"},
			Rows: [][]string{
				{"median distance to the nearest training point", number(float64(n.Samples)), number(float64(n.HeldOut))},
				{"share within 10⁻⁶ of a training point", percent(n.Copied), percent(n.Repeated)},
			},
			Note: fmt.Sprintf("Energy distance of samples to held-out points %s; two samples of one law would be at %s ± %s; p = %.3f.",
				number(float64(v.TwoSample.Statistic)), number(float64(v.TwoSample.Mean)), number(float64(v.TwoSample.SD)), v.TwoSample.PValue),
		})
	}
	return out
}

// distances tabulates the distance, and if it is a mean its parts.
func (e *Experiment) distances(j *JSD) []figure.Table {
	out := []figure.Table{{
		Title: j.Metric, Header: []string{"", "against all data", "against held-out data"},
		Rows: [][]string{
			{"samples", fixed(j.Full), fixed(j.HeldOut)},
			{"floor: draws from the training rows", fixed(j.Mean), fixed(j.HeldOutFloor)},
			{"uniform samples", fixed(j.Uniform), ""},
		},
		Note: e.histogram.Note,
	}}
	if len(j.Parts) == 0 {
		return out
	}
	parts := figure.Table{Title: j.Metric + " by statistic", Header: []string{"", "against all data", "floor", "against held-out data", "floor"}}
	for _, p := range j.Parts {
		parts.Rows = append(parts.Rows, []string{p.Name, fixed(p.Full), fmt.Sprintf("%s ± %s", fixed(p.Mean), fixed(p.SD)), fixed(p.HeldOut), fixed(p.HeldOutFloor)})
	}
	return append(out, parts)
}

// measured writes a figure, or a dash where nothing was measured.
func measured(f metric.Float) string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return number(float64(f))
}

func fixed(f metric.Float) string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return fmt.Sprintf("%.4f", f)
}

func percent(f metric.Float) string { return fmt.Sprintf("%.1f %%", 100*f) }

// count groups digits by three with thin spaces.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

var superscript = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻")

// number writes small numbers as 2.2×10⁻¹⁶.
func number(v float64) string {
	if v == 0 || math.Abs(v) >= 0.01 && math.Abs(v) < 1e4 || v-v != 0 {
		return fmt.Sprintf("%.3g", v)
	}
	mantissa, exp, _ := strings.Cut(fmt.Sprintf("%.1e", v), "e")
	power, err := strconv.Atoi(exp)
	if err != nil {
		panic("experiment: " + err.Error()) // %e always has a whole exponent
	}
	return fmt.Sprintf("%s×10%s", mantissa, superscript.Replace(strconv.Itoa(power)))
}
