package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
)

// A picture can be drawn as PNG and SVG.
type picture interface {
	WritePNG(w io.Writer, widthPx int) error
	WriteSVG(w io.Writer) error
}

const pictureWidth = 1600 // pixels of PNG files

// Report draws the figures of an evaluation into figures/ and writes the HTML
// report. It returns the report's path.
func (e *Experiment) Report(s *Samples, v *Evaluation) (string, error) {
	var figures []figure.FigureRef
	add := func(name, title, caption string, wide bool, p picture) error {
		var png, svg bytes.Buffer
		if err := p.WritePNG(&png, pictureWidth); err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		if err := p.WriteSVG(&svg); err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		if err := e.Folder.Write("figures/"+name+".png", png.Bytes()); err != nil {
			return err
		}
		if err := e.Folder.Write("figures/"+name+".svg", svg.Bytes()); err != nil {
			return err
		}
		figures = append(figures, figure.FigureRef{Title: title, Caption: caption, SVG: svg.Bytes(), Wide: wide})
		return nil
	}
	var globe *figure.Globe
	var surface *figure.SurfaceView
	good := s.Good()
	switch d := e.Process.Set.Dim(); {
	case e.onEarth():
		layers := []figure.Layer{{Name: "data", LatLon: latLon(e.Data.X)}, {Name: "samples", LatLon: latLon(good)}}
		if err := add("map", "Data and samples", "Each point is one place: the catalogue, training rows and held-out ones, and as many generated samples.", true, figure.WorldMap("", layers)); err != nil {
			return "", err
		}
		side := figure.WorldMap("", layers)
		side.Panels = true
		if err := add("map-panels", "Side by side", "The same points apart.", true, side); err != nil {
			return "", err
		}
		globe = &figure.Globe{Title: "On the sphere", Caption: "The samples lie on the unit sphere to round-off.", Layers: layers}
	case e.surface() != nil:
		m := e.surface().Mesh
		layers := []figure.SurfaceLayer{
			{Name: "data, " + count(e.Data.N), Values: e.density(e.histogram.full)},
			{Name: "samples, " + count(len(good)/d), Values: e.density(e.histogram.marks(good))},
		}
		const caption = "Points by area, as counted on the nearest faces and smoothed over neighbours; one scale for both."
		if _, faces := m.N(); faces <= figure.SurfaceFaces {
			if err := add("surface", "Data and samples", caption+" Seen from two sides.", true, figure.Surface("", m, layers)); err != nil {
				return "", err
			}
			surface = &figure.SurfaceView{Title: "On the surface", Caption: caption, Mesh: m, Layers: layers}
		}
	case d >= 2:
		if d == 3 {
			views := figure.Space(figure.SpaceOptions{}, figure.SpaceLayer{Name: "data", Points: e.Data.X}, figure.SpaceLayer{Name: "samples", Points: good})
			if err := add("space", "In space", "Data beside samples, seen from one side: far points are paler.", true, views); err != nil {
				return "", err
			}
		}
		points := figure.Points("", d, []figure.PointLayer{{Name: "data", Points: e.Data.X}, {Name: "samples", Points: good}})
		if err := add("points", "Data and samples", "Coordinates of data and samples.", true, points); err != nil {
			return "", err
		}
	}
	records, err := e.Folder.Metrics()
	if err != nil {
		return "", err
	}
	epochs, evaluations := decode(records)
	if len(epochs) > 1 {
		var x, loss, rate []float64
		for _, r := range epochs {
			x, loss, rate = append(x, float64(r.Epoch)), append(loss, r.Loss), append(rate, r.Rate)
		}
		if err := add("loss", "Training loss", "Mean over the batches of each epoch.", false,
			figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "CWPM loss", LogY: true}, figure.Series{Name: "loss", X: x, Y: loss})); err != nil {
			return "", err
		}
		if err := add("rate", "Learning rate", "Lowered when the loss stops falling.", false,
			figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "learning rate", LogY: true}, figure.Series{Name: "rate", X: x, Y: rate})); err != nil {
			return "", err
		}
	}
	if len(evaluations) > 1 && v.JSD != nil {
		var x, y, floor []float64
		for _, p := range evaluations {
			x, y, floor = append(x, p.Seconds), append(y, float64(p.JSD)), append(floor, float64(v.JSD.Floor))
		}
		if err := add("jsd", "Distance to the data against training time", "Against all data; the floor is what a perfect memoriser of the training rows scores.", false,
			figure.Lines(figure.LineOptions{XLabel: "seconds of training", YLabel: v.JSD.Metric, LogX: true},
				figure.Series{Name: "samples", X: x, Y: y}, figure.Series{Name: "floor", X: x, Y: floor})); err != nil {
			return "", err
		}
	}
	if len(e.heldOut) > 0 && len(good) > 0 {
		d := e.Process.Set.Dim()
		if err := add("nearest", "Distance to the nearest training point", "Samples much nearer than held-out points would be copies.", false,
			figure.Histogram(figure.HistogramOptions{XLabel: "distance", Log: true},
				figure.Column{Name: "held-out points", Values: metric.NearestDistances(nil, e.heldOut, e.train, d)},
				figure.Column{Name: "samples", Values: metric.NearestDistances(nil, good, e.train, d)})); err != nil {
			return "", err
		}
	}
	if len(good) > 0 {
		label := "|h(x)|"
		if len(e.Process.Set.Inequalities()) > 0 {
			label = "|h(x)|, max(g(x), 0)"
		}
		if err := add("violation", "Constraint violation of the samples", "Values that are exactly zero are counted below the axis.", false,
			figure.Histogram(figure.HistogramOptions{XLabel: label, Log: true}, e.violationColumns(good)...)); err != nil {
			return "", err
		}
	}
	r := &figure.Report{
		Title:    e.Title(),
		Subtitle: fmt.Sprintf("%s on the %s, %d epochs", e.Process.Method, constraint.Name(e.Process.Set), v.Epoch),
		Verdict:  verdict(v),
		Facts:    facts(v),
		Figures:  figures,
		Tables:   e.tables(v),
		Globe:    globe,
		Surface:  surface,
		Config:   string(e.Problem.Resolved()),
		Commands: e.commands(),
	}
	var html bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		return "", err
	}
	return e.Folder.Path(run.ReportFile), e.Folder.Write(run.ReportFile, html.Bytes())
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

// maxColumns bounds the components that a histogram can tell apart.
const maxColumns = 8

// violationColumns returns each component's violations, or where there are many
// the largest of the equalities and of the inequalities of each sample.
func (e *Experiment) violationColumns(x []float64) []figure.Column {
	set := e.Process.Set
	names, m := constraint.Components(set), len(set.Equalities())
	values, c := e.excess(x)
	n := len(x) / set.Dim()
	var columns []figure.Column
	add := func(name string, from, to int) {
		if from == to {
			return
		}
		column := figure.Column{Name: name}
		for i := range n {
			column.Values = append(column.Values, slices.Max(values[i*c+from:i*c+to]))
		}
		columns = append(columns, column)
	}
	if c > maxColumns {
		add(fmt.Sprintf("largest |h|, m = %d", m), 0, m)
		add(fmt.Sprintf("largest max(g, 0), l = %d", c-m), m, c)
		return columns
	}
	for a, name := range names {
		add(name, a, a+1)
	}
	return columns
}

func latLon(x []float64) []float64 {
	out := make([]float64, 0, len(x)/3*2)
	for i := 0; i < len(x); i += 3 {
		lat, lon := dataset.LatLon(x[i], x[i+1], x[i+2])
		out = append(out, lat, lon)
	}
	return out
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
	s := fmt.Sprintf("%s samples, worst violation %s, %d lost.", count(v.Samples), number(float64(v.Violation.Worst)), v.Failed)
	if v.JSD != nil {
		s += fmt.Sprintf(" Distance to the data %.3f; perfect copies of the training rows would score %.3f, uniform samples %.3f.", v.JSD.Full, v.JSD.Floor, v.JSD.Uniform)
	}
	return s
}

func facts(v *Evaluation) []figure.Fact {
	out := []figure.Fact{
		{Label: "Worst violation", Value: number(float64(v.Violation.Worst)), Note: "mean " + number(float64(v.Violation.Mean))},
		{Label: "Samples", Value: count(v.Samples), Note: fmt.Sprintf("%d lost to a projection", v.Failed)},
	}
	if v.JSD != nil {
		out = append(out, figure.Fact{Label: v.JSD.Metric, Value: fmt.Sprintf("%.3f", v.JSD.Full),
			Note: fmt.Sprintf("floor %.4f ± %.4f", v.JSD.Floor, v.JSD.FloorSD)})
	} else if t := v.TwoSample; t.Samples > 0 {
		out = append(out, figure.Fact{Label: "Energy distance to held-out data", Value: number(float64(t.Statistic)),
			Note: fmt.Sprintf("floor %s ± %s, p = %.3f", number(float64(t.Floor)), number(float64(t.FloorSD)), t.PValue)})
	}
	return append(out, figure.Fact{Label: "Training", Value: fmt.Sprintf("%.0f s", v.Seconds.Train),
		Note: fmt.Sprintf("generation %.1f s", v.Seconds.Generate)})
}

func (e *Experiment) tables(v *Evaluation) []figure.Table {
	var out []figure.Table
	if v.JSD != nil {
		out = append(out, figure.Table{
			Title: v.JSD.Metric, Header: []string{"", "against all data", "against held-out data"},
			Rows: [][]string{
				{"samples", fixed(v.JSD.Full), fixed(v.JSD.HeldOut)},
				{"floor: draws from the training rows", fixed(v.JSD.Floor), fixed(v.JSD.HeldOutFloor)},
				{"uniform samples", fixed(v.JSD.Uniform), ""},
			},
			Note: e.histogram.Note,
		})
	}
	if s := v.Start; s != nil && s.Paths > 0 {
		out = append(out, figure.Table{
			Title: "Where generation starts", Header: []string{"", strings.ToLower(s.Metric[:1]) + s.Metric[1:]},
			Rows: [][]string{
				{fmt.Sprintf("ends of %s forward paths to the prior", count(s.Paths)), fixed(s.Distance)},
				{"floor: two sets of one law", fixed(s.Floor)},
			},
			Note: fmt.Sprintf("Where the two differ, forward paths have not forgotten the data, and generation starts at states that the network was not trained on. Energy test of one law: p = %.3f.", s.PValue),
		})
	}
	t := figure.Table{Title: "Violation by constraint", Header: []string{"constraint", "mean", "median", "90 %", "99 %", "worst", "at sample"}}
	for _, c := range v.Component {
		t.Rows = append(t.Rows, []string{c.Name, number(float64(c.Mean)), number(float64(c.Median)), number(float64(c.Q90)), number(float64(c.Q99)), number(float64(c.Worst)), fmt.Sprint(c.Sample)})
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
				number(float64(v.TwoSample.Statistic)), number(float64(v.TwoSample.Floor)), number(float64(v.TwoSample.FloorSD)), v.TwoSample.PValue),
		})
	}
	return out
}

func fixed(f Float) string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return fmt.Sprintf("%.4f", f)
}

func percent(f Float) string { return fmt.Sprintf("%.1f %%", 100*f) }

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
