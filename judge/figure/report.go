package figure

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/landing-diffusion/landing/constraint/mesh"
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
	Scene           Scene    // optional
	Config          string   // the resolved YAML
	Commands        []string // how to get the same result again
}

// Judged says whether what the page shows is good, and what to do if not.
type Judged struct {
	Grade    string
	Title    string
	Findings []Finding // what is wrong, the worst first
	Limits   string    // what limits the result, where no remedy is left
	Notes    []string  // what was not judged, and why
	Rate     string    // how often it is wrong
}

// A Finding is one thing that is wrong.
type Finding struct {
	Code           string
	Severity, Size string // of its effect; may be empty
	Says           string
	Remedy         string // a command; may be empty
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

//go:embed *.html *.css *.js
var assets embed.FS

func asset(name string) string {
	b, err := assets.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var reportTemplate = template.Must(template.New("report.html").ParseFS(assets, "scenes.html", "report.html"))

// WriteHTML writes the report as one self-contained page: it loads nothing from the network, and its content security
// policy forbids that it ever does. It refuses a figure whose SVG this package could not have written, and a table with
// a row that does not fit its header.
func (r *Report) WriteHTML(w io.Writer) error {
	page := struct {
		*Report
		Style     template.CSS
		Script    template.JS
		Figures   []figureView
		Tables    []tableView
		Scene     *Live
		TurnJS    template.JS // of all that are turned by hand
		SceneHTML template.HTML
		SceneJS   template.JS
		Commands  string
	}{Report: r, Style: template.CSS(Style()), Script: template.JS(asset("report.js")),
		Commands: strings.Join(r.Commands, "\n")}
	for _, f := range r.Figures {
		if err := Inline(f.SVG); err != nil {
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
	if r.Scene != nil {
		live, err := NewLive(r.Scene)
		if err != nil {
			return err
		}
		page.Scene, page.SceneHTML, page.TurnJS = live, template.HTML(live.HTML), template.JS(asset("turn.js"))
		page.SceneJS = template.JS(fmt.Sprintf("%s%sScene(JSON.parse(document.getElementById(%q).textContent));\n",
			asset(live.Kind+".js"), live.Kind, live.Kind+"-data"))
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

// A Scene is an interactive view: a *Globe, *SurfaceView, *MoleculeView or *ArmView.
type Scene interface {
	view() (*sceneView, error)
}

// A sceneView is what the template of a kind of scene shows, and Data what its script is called with.
type sceneView struct {
	kind, Title, Caption string
	Names                []string // of the layers
	Keys                 []sceneKey
	Data                 any
	last                 any // the last layer as the script takes it; nil where it takes none
}

type sceneKey struct {
	Name, Fill, Class string
}

// A Live is a scene apart from a report, for a page that changes what it shows: its markup, and what its script,
// KindScene of Scripts, is called with. That returns show(i, layer), which takes another layer.
type Live struct {
	Kind  string `json:"kind"` // globe, surface, molecule or arm
	HTML  string `json:"html"`
	Data  any    `json:"data"`
	Layer any    `json:"-"` // the last one as the script takes it; nil: OnSurface makes one
}

// NewLive returns the scene apart from a report.
func NewLive(s Scene) (*Live, error) {
	v, err := s.view()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = reportTemplate.ExecuteTemplate(&b, v.kind, v)
	return &Live{v.kind, b.String(), v.Data, v.last}, err
}

// Scripts are those of all interactive views.
func Scripts() []byte {
	return []byte(asset("turn.js") + asset("globe.js") + asset("surface.js") + asset("molecule.js") + asset("arm.js"))
}

// Style is the style sheet of reports and of interactive views, in light and dark.
func Style() string {
	return asset("report.css") + "@media screen and (prefers-color-scheme:dark){\n" + darkInks() + "}\n"
}

// OnSurface returns points of R³ as a layer that the script of a view of the mesh takes.
func OnSurface(m *mesh.Mesh, x []float64) any {
	look := newShading(m)
	at := make([]float64, len(x))
	for i, v := range x {
		at[i] = decimals((v-look.centre[i%3])/look.radius, 4)
	}
	return map[string]any{"points": at}
}
