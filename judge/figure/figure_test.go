package figure

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

type drawing interface {
	WriteSVG(io.Writer) error
	WritePNG(io.Writer, int) error
}

func svgOf(t *testing.T, d drawing) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, d.WriteSVG(&b))
	return b.Bytes()
}

// spiral is n places from pole to pole.
func spiral(n int) []float64 {
	out := make([]float64, 0, 2*n)
	for i := range n {
		out = append(out, 180*float64(i)/float64(n)-90, 37*float64(i)-400)
	}
	return out
}

// gallery has every kind of figure, with hostile names, gaps and empty input.
func gallery() map[string]drawing {
	nan, inf := math.NaN(), math.Inf(1)
	layers := []Layer{
		{Name: `data & "more" <b>`, LatLon: spiral(300)},
		{Name: "samples", LatLon: append(spiral(100), nan, 0, 91, 0, 0, inf)},
	}
	curve := Series{Name: "loss", X: []float64{1, 2, 3, 4, 5}, Y: []float64{10, 1, nan, 0.1, -1}}
	return map[string]drawing{
		"map":       WorldMap(false, layers),
		"panels":    WorldMap(true, layers),
		"empty map": WorldMap(false, nil),
		"lines":     Lines(LineOptions{XLabel: "epoch", YLabel: "loss"}, curve),
		"log lines": Lines(LineOptions{LogX: true, LogY: true}, curve, curve),
		"no lines":  Lines(LineOptions{LogY: true}),
		"flat line": Lines(LineOptions{}, Series{Name: "zero", X: []float64{0, 1}, Y: []float64{0, 0}}),
		"plane": Scatter(ScatterOptions{}, 2, PointLayer{Name: "a", Points: []float64{0, 0, 1, nan, 2, 3}, Radius: 3,
			Color: color.NRGBA{200, 0, 0, 90}}),
		"space": Scatter(ScatterOptions{}, 5, PointLayer{Name: "a", Points: make([]float64, 10)},
			PointLayer{Name: "b"}),
		"views": Space(SpaceOptions{Ball: 2},
			SpaceLayer{Name: "a", Points: []float64{0, 0, 3, nan, 2, 3}}, SpaceLayer{Name: "s", Strand: 3,
				Points: make([]float64, 18)}, SpaceLayer{Name: "far", Points: []float64{9, 9, 9}}),
		"tracks": Tracks(TracksOptions{Axes: [2]string{"x, m", "y, m"}, Across: [3]float64{1, 0, 0},
			Up: [3]float64{0, 1, 0}, Solids: []Solid{{A: [3]float64{1, 1, 1}, B: [3]float64{1, 1, 1}, Radius: 0.5},
				{R: [9]float64{0: 1, 4: 1, 8: 1}, Half: [3]float64{1, 2, 3}}}, Ends: []Place{{Name: "start & <goal>"}}},
			TrackLayer{Name: "data", Points: make([]float64, 12), Strand: 2, Mode: -1},
			TrackLayer{Name: "lost", Points: []float64{nan, 0, 0, 1, 1, 1}, Strand: 2, Mode: 9}),
		"no tracks": Tracks(TracksOptions{}, TrackLayer{Strand: 1}),
		"no views":  Space(SpaceOptions{From: [3]float64{0, 0, 1}}),
		"one place": Space(SpaceOptions{}, SpaceLayer{Points: []float64{1, 2, 3}}),
		"far apart": Space(SpaceOptions{}, SpaceLayer{Points: []float64{largest, 0, 0, -largest, 0, 1}}),
		"histogram": Histogram(HistogramOptions{Log: true},
			Column{Name: "a", Values: []float64{1e-9, 1e-3, 0, nan, 1e-3}}),
		"flat histogram": Histogram(HistogramOptions{}, Column{Name: "a", Values: []float64{2, 2}}),
		"unfilled columns": Histogram(HistogramOptions{Log: true, Bins: 3}, Column{Name: "a", Values: nil},
			Column{Name: "b", Values: []float64{0}}),
		"sixty-four series": Lines(LineOptions{}, make([]Series, 64)...),
		"many places":       Scatter(ScatterOptions{}, 3, PointLayer{Name: "a", Points: ball.Mesh(5).Vertices}),
		"band": Lines(LineOptions{XLabel: "x"}, Series{Name: "F", X: []float64{20, 30, 40, 50},
			Y: []float64{1, 2, nan, 4}, Lo: []float64{0, 1, nan, 3}, Hi: []float64{2, 9, nan, 5}}),
		"shaded histogram": Histogram(HistogramOptions{Lo: 100, Hi: 180, Circular: true, Density: true,
			Feasible: [2]float64{130, 170}}, Column{Name: "a", Values: []float64{140, 150, 190, nan}},
			Column{Name: "b", Values: []float64{110, 170}, Thin: true}),
		"torsions": Torsions(TorsionOptions{X: "φ", Y: "ψ", FeasibleX: []float64{-70, -70},
			FeasibleY: []float64{130, 200}},
			PointLayer{Name: "data", Points: []float64{-70, 150, 290, 510, 80, 40, nan, 0}}, PointLayer{Name: "none"}),
		"circles": Circles(Circle{"a – b", []Column{{Name: "data", Values: []float64{5, 15, 200, 205}},
			{Name: "samples"}}}, Circle{"c", nil}, Circle{"d", nil},
			Circle{"e", []Column{{Name: "data", Values: []float64{-90, nan}}}}),
		"surface": Surface(ball.Mesh(1), []SurfaceLayer{{"data", ball.Mesh(1).Vertices[:18]},
			{"samples", make([]float64, 18)}}),
		"tracks beside": Tracks(TracksOptions{Axes: [2]string{"t", "x"}, Across: [3]float64{1, 0, 0},
			Up: [3]float64{0, 0, 1}, Free: true, Beside: true, Solids: []Solid{{A: [3]float64{1, 1, 1},
				B: [3]float64{2, 1, 3}, Radius: 0.5}}, Ends: []Place{{"start", [3]float64{1, 2, 3}}}},
			TrackLayer{Name: "data", Points: spiral(12), Strand: 4, Mode: -1},
			TrackLayer{Name: "left", Points: spiral(9), Strand: 3, Mode: 1}),
	}
}

func TestFiguresAreSafeDeterministicXML(t *testing.T) {
	var kept strings.Builder
	all := gallery()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		doc := svgOf(t, all[name])
		var picture bytes.Buffer
		testkit.OK(t, all[name].WritePNG(&picture, 200))
		pixels := testkit.Must(png.Decode(&picture)).(*image.RGBA).Pix
		fmt.Fprintf(&kept, "%x %.8x %s\n", sha256.Sum256(doc), sha256.Sum256(pixels), name)
		if err := Inline(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := string(doc); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s: coordinates that are not finite", name)
		}
		testkit.EqualSlices(t, doc, svgOf(t, gallery()[name]), "%s: two drawings of the same input differ", name)
	}
	page := regexp.MustCompile(`(?s)<(style|script)>.*?</`).ReplaceAllString(htmlOf(t, fullReport(t)), "")
	fmt.Fprintf(&kept, "%x a page but for its style and scripts\n", sha256.Sum256([]byte(page)))
	for _, s := range []Scene{twoJoints(3), twoJoints(200), fullReport(t).Scene, molecules(2), molecules(250),
		&SurfaceView{Mesh: ball.Mesh(1), Layers: []SurfaceLayer{{"data", ball.Mesh(1).Vertices[:18]}}}} {
		live := testkit.Must(NewLive(s))
		fmt.Fprintf(&kept, "%x %s in a page\n", sha256.Sum256(fmt.Append(testkit.Must(json.Marshal(live)),
			live.Layer)), live.Kind)
	}
	testkit.Kept(t, "testdata/figures.txt", kept.String())
}

// Everything drawn lies on the sheet.
func TestFiguresStayOnTheSheet(t *testing.T) {
	for name, d := range gallery() {
		s := d.(*Chart).scene
		on := func(p xy) bool { return p.x >= 0 && p.x <= s.w && p.y >= 0 && p.y <= s.h }
		for _, i := range s.items {
			var points []xy
			switch i := i.(type) {
			case shape:
				for _, line := range i.lines {
					points = append(points, line...)
				}
			case dots:
				points = i.at
			case label:
				points = []xy{i.at}
			}
			for _, p := range points {
				if !on(p) {
					t.Fatalf("%s: %T at %v, the sheet is %g×%g", name, i, p, s.w, s.h)
				}
			}
		}
	}
}

func TestPNG(t *testing.T) {
	for name, d := range gallery() {
		var a, b bytes.Buffer
		if err := errors.Join(d.WritePNG(&a, 301), d.WritePNG(&b, 301)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		testkit.EqualSlices(t, a.Bytes(), b.Bytes(), "%s: two images of the same figure differ", name)
		img, err := png.Decode(&a)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		testkit.Equal(t, img.Bounds().Dx(), 301, "%s", name)
		if h := img.Bounds().Dy(); h < 40 || h > 1000 {
			t.Errorf("%s: %d pixels high", name, h)
		}
	}
	for _, width := range []int{-1, 0, maxWidth + 1} {
		if err := Lines(LineOptions{}).WritePNG(io.Discard, width); err == nil {
			t.Errorf("width %d was accepted", width)
		}
	}
}

// A dot on the PNG stands where the projection puts it: the y axis is not flipped, and colours are the layer's.
func TestPNGPlacesDots(t *testing.T) {
	m := WorldMap(false, []Layer{{LatLon: []float64{45, -120}}})
	var b bytes.Buffer
	testkit.OK(t, m.WritePNG(&b, mapWidth))
	img := testkit.Must(png.Decode(&b))
	var at xy
	for _, i := range m.scene.items {
		if d, ok := i.(dots); ok {
			at = d.at[0] // the last one: the legend's comes before
		}
	}
	if r, _, b, _ := img.At(int(at.x), int(at.y)).RGBA(); r>>8 > 130 || b < r {
		t.Errorf("the pixel at %v is %v, want teal", at, img.At(int(at.x), int(at.y)))
	}
	if at.x > mapWidth/2 || at.y > 300 {
		t.Errorf("45° N 120° W is at %v, want the upper left", at)
	}
}

// What cannot be drawn is counted where the reader sees it.
func TestNothingIsDroppedInSilence(t *testing.T) {
	for name, want := range map[string][]string{
		"map":              {"samples, 103 (3 not drawable)", "data &amp;"},
		"plane":            {"a, 3 (1 not drawable)"},
		"lines":            {"loss: 1 point not drawn (not finite or too large)"},
		"log lines":        {"loss: 2 points not drawn"},
		"histogram":        {"a: 1 exactly 0 (not drawn)", "a: 1 value not drawn"},
		"unfilled columns": {"b: 1 exactly 0 (not drawn)"},
		"space":            {"The first 3 of 5 coordinates."},
	} {
		words := wordsOf(t, svgOf(t, gallery()[name]))
		for _, w := range want {
			w = strings.ReplaceAll(w, "&amp;", "&")
			testkit.Contains(t, words, w, "%s", name)
		}
	}
}

// wordsOf is a document's text.
func wordsOf(t *testing.T, doc []byte) string {
	t.Helper()
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		testkit.OK(t, err)
		if text, ok := token.(xml.CharData); ok {
			b.WriteString(strings.TrimRight(string(text), "\n") + " ")
		}
	}
}

func TestLinesBreakAtGaps(t *testing.T) {
	nan := math.NaN()
	c := Lines(LineOptions{}, Series{Name: "a", X: []float64{1, 2, 3, 4, 5, 6, 7}, Y: []float64{1, 2, nan, 4, nan, 6,
		7}})
	var runs, alone int
	for _, i := range c.scene.items {
		switch i := i.(type) {
		case shape:
			if i.stroke != nil && i.stroke.class == "series0" {
				runs = len(i.lines)
			}
		case dots:
			alone = len(i.at)
		}
	}
	if runs != 2 || alone != 1 {
		t.Errorf("%d runs and %d lone points, want 2 and 1", runs, alone)
	}
}

func TestHistogramShares(t *testing.T) {
	c := Histogram(HistogramOptions{Bins: 2}, Column{Name: "a", Values: []float64{0, 0.4, 0.6, 1}},
		Column{Name: "b", Values: []float64{0.1}})
	// Two bins of a with 50 % each, one of b with 100 %: b's stair is twice as high.
	var heights []float64
	for _, i := range c.scene.items {
		if s, ok := i.(shape); ok && s.fill != nil && strings.HasPrefix(s.fill.class, "series") {
			line := s.lines[0]
			heights = append(heights, line[0].y-line[1].y)
		}
	}
	if len(heights) != 2 || math.Abs(heights[1]-2*heights[0]) > 1e-9 {
		t.Errorf("stair heights %v, want the second twice the first", heights)
	}
}

// A range that is given stays: values outside are in its first and last bin, or if it is
// circular in theirs a period away. Densities do not depend on the bins' width.
func TestHistogramRange(t *testing.T) {
	heights := func(opts HistogramOptions, values ...float64) (out [][2]float64) { // left end and height of each run
		c := Histogram(opts, Column{Name: "a", Values: values},
			Column{Name: "all", Values: []float64{0.5, 1.5, 2.5, 3.5}, Thin: true})
		for _, i := range c.scene.items {
			if s, ok := i.(shape); ok && s.fill != nil && strings.HasPrefix(s.fill.class, "series") {
				for _, line := range s.lines {
					out = append(out, [2]float64{line[0].x, line[0].y - line[1].y})
				}
			}
		}
		return out
	}
	opts := HistogramOptions{Bins: 4, Lo: 0, Hi: 4, Density: true}
	ends, far := heights(opts, -1, 6), heights(opts, 0.5, 3.5)
	if len(ends) != 2 || ends[0] != far[0] || ends[1] != far[1] {
		t.Errorf("values outside are at %v, those at the ends at %v", ends, far)
	}
	opts.Circular = true
	if got, want := heights(opts, -1, 6), heights(opts, 3, 2); len(got) != 1 || got[0] != want[0] {
		t.Errorf("wrapped values are at %v, want %v", got, want)
	}
	// All in half the range, in bins of half the width: twice the density of the others.
	opts = HistogramOptions{Bins: 8, Lo: 0, Hi: 4, Density: true}
	coarse := HistogramOptions{Bins: 4, Lo: 0, Hi: 4, Density: true}
	fine, wide := heights(opts, 0.25, 0.75, 1.25, 1.75), heights(coarse, 0.25, 0.75, 1.25, 1.75)
	if len(fine) != 1 || len(wide) != 1 || math.Abs(fine[0][1]-wide[0][1]) > 1e-9 {
		t.Errorf("densities %v in eight bins, %v in four", fine, wide)
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"odd LatLon":     func() { svgOf(t, WorldMap(false, []Layer{{LatLon: []float64{1}}})) },
		"ragged series":  func() { Lines(LineOptions{}, Series{X: []float64{1}}) },
		"one coordinate": func() { Scatter(ScatterOptions{}, 1) },
		"ragged points":  func() { Scatter(ScatterOptions{}, 3, PointLayer{Points: make([]float64, 4)}) },
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "figure: ") {
					t.Errorf("%s: recovered %v, want a panic that names the package", name, r)
				}
			}()
			f()
		}()
	}
}

// Layers of many points are drawn by how many there are in a square: files stay small, every point is within a square,
// squares with more are darker, and files do not depend on chance. Layers of few stay dots.
func TestManyPointsAreDrawnByDensity(t *testing.T) {
	const n = 200_000
	points := make([]float64, 3*n)
	state := uint64(1)
	for i := range points { // around 0, and one far away
		sum := 0.0
		for range 4 {
			state = state*6364136223846793005 + 1442695040888963407
			sum += float64(state>>11) / (1 << 53)
		}
		points[i] = sum - 2
	}
	copy(points[3*(n/2):], []float64{5, 5, 5})
	few := []float64{0, 0, 0, 1, 1, 1}
	draw := func() string {
		var b bytes.Buffer
		c := Scatter(ScatterOptions{}, 3, PointLayer{Name: "many", Points: points},
			PointLayer{Name: "few", Points: few})
		testkit.OK(t, c.WriteSVG(&b))
		return b.String()
	}
	svg := draw()
	if len(svg) > 500_000 || svg != draw() {
		t.Errorf("%d bytes, the same twice: %v", len(svg), svg == draw())
	}
	if dots := strings.Count(svg, "<circle"); dots != 3*2+2 { // of few in three planes, and the legend's
		t.Errorf("%d dots", dots)
	}
	if !strings.Contains(svg, "many, 200\u00a0000 (squares, darker where there are more)") ||
		strings.Contains(svg, "few, 2 (squares") {
		t.Error("the legend does not tell dots from squares")
	}
	for plane := range 3 {
		paths := regexp.MustCompile(`fill-opacity="([0-9.]+)" class="fill-series0" d="(M[^"]*h3v3h-3z)"`).
			FindAllStringSubmatch(svg, -1)
		if len(paths) < 3*5 {
			t.Fatalf("%d shades in three planes", len(paths))
		}
		shades := paths[plane*len(paths)/3 : (plane+1)*len(paths)/3]
		if palest, darkest := shades[0], shades[len(shades)-1]; !(palest[1] < darkest[1]) {
			t.Errorf("opacities from %s to %s", palest[1], darkest[1])
		}
	}
	var b bytes.Buffer
	layer := SpaceLayer{Name: "many", Points: points}
	testkit.OK(t, Space(SpaceOptions{}, layer).WriteSVG(&b))
	if b.Len() > 2_000_000 || !strings.Contains(b.String(), "many, 200\u00a0000, 15\u00a0000 drawn") {
		t.Errorf("in space: %d bytes", b.Len())
	}
	testkit.OK(t, Scatter(ScatterOptions{}, 3, PointLayer{Name: "many", Points: points}).WritePNG(io.Discard, 800))
}
