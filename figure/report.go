package figure

import (
	"bytes"
	_ "embed" // for the page's template, style sheet and scripts
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
)

// A Report is the page that tells what a run has found.
type Report struct {
	Title, Subtitle string
	Judged          *Judged // what the page opens with; optional
	Verdict         string  // what was measured, in sentences
	Facts           []Fact
	Figures         []FigureRef
	Notes           []string // what the figures leave out, and why
	Tables          []Table
	Globe           *Globe        // optional
	Surface         *SurfaceView  // optional
	Molecule        *MoleculeView // optional
	Arm             *ArmView      // optional
	Config          string        // the resolved YAML
	Commands        []string      // how to get the same result again
}

// Judged says whether what the page shows is good, and what to do if not.
type Judged struct {
	Good     bool
	Title    string
	Findings []Finding // what is wrong, the worst first
	Notes    []string  // what was not judged, and why
	Rate     string    // how often it is wrong
}

// A Finding is one thing that is wrong.
type Finding struct {
	Code   string
	Share  string // of the samples; may be empty
	Says   string
	Remedy string // a command; may be empty
}

// A Fact is a number worth a card of its own.
type Fact struct{ Label, Value, Note string }

// A FigureRef is a figure with its words. SVG is what a [Chart] or a [Map] writes.
type FigureRef struct {
	Title, Caption string
	SVG            []byte
	Wide           bool // takes the page's whole width, as a map or three planes do
	Row            bool // begins a row
}

// A Table has rows as long as its header. Columns of numbers are set flush right.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
	Note   string
}

//go:embed report.html
var reportHTML string

//go:embed report.css
var reportCSS string

//go:embed report.js
var reportJS string

//go:embed turn.js
var turnJS string

//go:embed globe.js
var globeJS string

//go:embed surface.js
var surfaceJS string

//go:embed molecule.js
var moleculeJS string

//go:embed arm.js
var armJS string

//go:embed scenes.html
var scenesHTML string

var reportTemplate = template.Must(template.Must(template.New("report").Parse(scenesHTML)).Parse(reportHTML))

// WriteHTML writes the report as one self-contained page: it loads nothing from the network, and its content security
// policy forbids that it ever does. It refuses a figure whose SVG this package could not have written, and a table with
// a row that does not fit its header.
func (r *Report) WriteHTML(w io.Writer) error {
	page := struct {
		*Report
		Style      template.CSS
		Script     template.JS
		Figures    []figureView
		Tables     []tableView
		Globe      *globeView
		GlobeJS    template.JS
		Surface    *surfaceView
		SurfaceJS  template.JS
		Molecule   *moleculeView
		MoleculeJS template.JS
		Arm        *armView
		ArmJS      template.JS
		TurnJS     template.JS // of all that are turned by hand
		Commands   string
	}{
		Report:     r,
		Style:      template.CSS(Style()),
		Script:     template.JS(reportJS),
		GlobeJS:    template.JS(globeJS),
		SurfaceJS:  template.JS(surfaceJS),
		MoleculeJS: template.JS(moleculeJS),
		ArmJS:      template.JS(armJS),
		Commands:   strings.Join(r.Commands, "\n"),
	}
	for _, f := range r.Figures {
		if err := checkSVG(f.SVG); err != nil {
			return fmt.Errorf("figure: report figure %q: %w", f.Title, err)
		}
		page.Figures = append(page.Figures, figureView{f, template.HTML(f.SVG)})
	}
	for _, t := range r.Tables {
		v, err := t.view()
		if err != nil {
			return err
		}
		page.Tables = append(page.Tables, v)
	}
	if r.Globe != nil {
		page.Globe = r.Globe.view()
	}
	if r.Surface != nil {
		v, err := r.Surface.view()
		if err != nil {
			return err
		}
		page.Surface = v
	}
	if r.Molecule != nil {
		v, err := r.Molecule.view()
		if err != nil {
			return err
		}
		page.Molecule = v
	}
	if r.Arm != nil {
		v, err := r.Arm.view()
		if err != nil {
			return err
		}
		page.Arm = v
	}
	if r.Globe != nil || r.Surface != nil || r.Molecule != nil || r.Arm != nil {
		page.TurnJS = template.JS(turnJS)
	}
	var out bytes.Buffer
	if err := reportTemplate.Execute(&out, page); err != nil {
		return fmt.Errorf("figure: report: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

type figureView struct {
	FigureRef
	Inline template.HTML
}

type tableView struct {
	Title, Note string
	Header      []cell
	Rows        [][]cell
}

type cell struct {
	Text    string
	Numeric bool
}

// numeric matches cells that a column of numbers may hold, units and all.
var numeric = regexp.MustCompile(`^[-−+±<>≤≥~]?\s*\.?\d|^(NaN|[-+]?Inf|[–—-])$`)

func (t Table) view() (tableView, error) {
	v := tableView{Title: t.Title, Note: t.Note, Header: make([]cell, len(t.Header))}
	for i, h := range t.Header {
		v.Header[i] = cell{h, len(t.Rows) > 0}
	}
	for n, row := range t.Rows {
		if len(row) != len(t.Header) {
			return v, fmt.Errorf("figure: table %q: row %d has %d cells, the header %d", t.Title, n,
				len(row), len(t.Header))
		}
		for i, text := range row {
			if text != "" && !numeric.MatchString(text) {
				v.Header[i].Numeric = false
			}
		}
	}
	for _, row := range t.Rows {
		cells := make([]cell, len(row))
		for i, text := range row {
			cells[i] = cell{text, v.Header[i].Numeric}
		}
		v.Rows = append(v.Rows, cells)
	}
	return v, nil
}
