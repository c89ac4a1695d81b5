package figure

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

const hostile = `</script><script>alert(1)</script>`

// fullReport uses every part of a report, with hostile text in each.
func fullReport(t *testing.T) *Report {
	layers := []Layer{{Name: "data" + hostile, LatLon: spiral(50)}, {Name: "samples", LatLon: spiral(globeLimit + 700)}}
	chart := Lines(LineOptions{XLabel: hostile}, Series{Name: hostile, X: []float64{1, 2}, Y: []float64{3, 4}})
	return &Report{
		Title: "Run" + hostile, Subtitle: hostile, Verdict: hostile,
		Facts: []Fact{{hostile, "1", hostile}},
		Figures: []FigureRef{{Title: hostile, Caption: hostile, SVG: svgOf(t, chart)},
			{SVG: svgOf(t, WorldMap(false, layers)), Wide: true}},
		Tables: []Table{{
			Title: hostile, Note: hostile,
			Header: []string{hostile, "value"},
			Rows:   [][]string{{hostile, "1.5e-7"}, {"b", "−3 ± 1"}},
		}},
		Scene:    &Globe{Title: hostile, Caption: hostile, Layers: layers},
		Notes:    []string{hostile},
		Config:   "a: " + hostile,
		Commands: []string{"landing train", hostile},
	}
}

func htmlOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, r.WriteHTML(&b))
	return b.String()
}

func TestReportEscapes(t *testing.T) {
	page := htmlOf(t, fullReport(t))
	if strings.Contains(page, "<script>alert") {
		t.Error("a script from the report's text is in the page")
	}
	// What turns canvases, the globe's data, the globe, and the copy button; nothing else.
	testkit.Equal(t, strings.Count(page, "<script"), 4)
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("html/template refused a value")
	}
}

func TestReportNotes(t *testing.T) {
	page := htmlOf(t, &Report{Title: "Run", Notes: []string{"A picture is left out.", "Another too."}})
	for _, want := range []string{`<p class="note">A picture is left out.</p>`, `<p class="note">Another too.</p>`} {
		testkit.Equal(t, strings.Count(page, want), 1, "the page lacks %s", want)
	}
}

func TestReportLoadsNothing(t *testing.T) {
	page := htmlOf(t, fullReport(t))
	for _, load := range []string{`\ssrc\s*=`, `\shref\s*=`, `url\(`, `@import`, `\bfetch\(`, `XMLHttpRequest`,
		`WebSocket`, `<link`, `<img`, `<iframe`, `https://`} {
		testkit.Equal(t, regexp.MustCompile(load).FindString(page), "", "the page")
	}
	// The one address is the name of the SVG language, which nobody fetches.
	if n, names := strings.Count(page, "http://"),
		strings.Count(page, `xmlns="http://www.w3.org/2000/svg"`); n != names {
		t.Errorf("%d addresses, of which %d are namespaces", n, names)
	}
	testkit.Contains(t, page, `default-src 'none'`, "no content security policy")
}

func TestReportIsDeterministic(t *testing.T) {
	first, second := htmlOf(t, fullReport(t)), htmlOf(t, fullReport(t))
	testkit.Equal(t, first, second, "two pages of the same report differ")
}

func TestReportOmitsWhatIsEmpty(t *testing.T) {
	page := htmlOf(t, &Report{Title: "Bare"})
	for _, part := range []string{"<canvas", "<table", "<figure", "<details>", "<dl", "globe-data"} {
		if strings.Contains(page, part) {
			t.Errorf("a bare report has %s", part)
		}
	}
}

func TestReportRefusesForeignSVG(t *testing.T) {
	for name, doc := range map[string]string{
		"empty":       "",
		"no XML":      "<svg",
		"script":      `<svg><script>alert(1)</script></svg>`,
		"namespace":   `<svg xmlns:x="y"><x:script>alert(1)</x:script></svg>`,
		"handler":     `<svg onload="alert(1)"></svg>`,
		"link":        `<svg><g xlink:href="https://example.org"/></svg>`,
		"style":       `<svg><g style="fill:url(https://example.org)"/></svg>`,
		"HTML":        `<svg><foreignObject/></svg>`,
		"other root":  `<g></g>`,
		"nested":      `<svg><svg/></svg>`,
		"second root": `<svg/><g/>`,
		"text beside": `<svg/>text`,
		"CDATA":       `<svg><text><![CDATA[><script>alert(1)</script>]]></text></svg>`,
		"comment":     `<svg><!-- --></svg>`,
		"doctype":     `<!DOCTYPE svg><svg/>`,
		"instruction": `<?xml version="1.0"?><svg/>`,
	} {
		r := &Report{Figures: []FigureRef{{Title: "f", SVG: []byte(doc)}}}
		if err := r.WriteHTML(new(bytes.Buffer)); err == nil {
			t.Errorf("%s: %s was inlined", name, doc)
		}
	}
}

func TestReportRefusesRaggedTable(t *testing.T) {
	r := &Report{Tables: []Table{{Title: "t", Header: []string{"a", "b"}, Rows: [][]string{{"1", "2"}, {"1"}}}}}
	testkit.Refused(t, r.WriteHTML(new(bytes.Buffer)), `table "t": row 1 has 1 cells, the header 2`)
}

func TestTableColumns(t *testing.T) {
	v := testkit.Must(Table{
		Header: []string{"name", "value", "share", "mixed", "gaps"},
		Rows:   [][]string{{"a", "1.5e-7", "12 %", "3", ""}, {"b", "−3 ± 1", "<0.1 %", "none", "–"}},
	}.view())
	for i, want := range []bool{false, true, true, false, true} {
		if v.Header[i].Numeric != want || v.Rows[0][i].Numeric != want {
			t.Errorf("column %q: numeric %t, want %t", v.Header[i].Text, v.Header[i].Numeric, want)
		}
	}
}

// The script reads its data as JSON out of the page, hostile names and all; thinned
// layers are within the limit and owned up to.
func TestGlobeData(t *testing.T) {
	page := htmlOf(t, fullReport(t))
	_, rest, _ := strings.Cut(page, `id="globe-data">`)
	raw, _, _ := strings.Cut(rest, "</script>")
	var data globeData
	testkit.OK(t, json.Unmarshal([]byte(raw), &data))
	testkit.Equal(t, len(data.Land), len(coastline()))
	for i, want := range []int{50, globeLimit} {
		points := data.Layers[i].Points
		if len(points) != 2*want {
			t.Errorf("layer %d has %d points, want %d", i, len(points)/2, want)
		}
		for k := 0; k < len(points); k += 2 {
			if math.Abs(points[k]) > 180 || math.Abs(points[k+1]) > 90 {
				t.Fatalf("layer %d: longitude %g, latitude %g", i, points[k], points[k+1])
			}
		}
	}
	testkit.Contains(t, page, "only 4"+space+"000 of 4"+space+"700 points", "the page does not say")
}

// Every ink of a figure has its dark twin in the page's style sheet.
func TestDarkInks(t *testing.T) {
	sheet := darkInks()
	class := regexp.MustCompile(`class="([^"]*)"`)
	for name, d := range gallery() {
		for _, m := range class.FindAllStringSubmatch(string(svgOf(t, d)), -1) {
			for c := range strings.FieldsSeq(m[1]) {
				testkit.Contains(t, sheet, "."+c+"{", "%s: class %s has no dark colour", name, c)
			}
		}
	}
}
