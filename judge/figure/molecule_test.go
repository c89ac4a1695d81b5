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

func svg(t *testing.T, pic Picture) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, pic.WriteSVG(&b))
	testkit.OK(t, Inline(b.Bytes()))
	testkit.OK(t, pic.WritePNG(&bytes.Buffer{}, 300))
	return b.String()
}

// Arcs are cut at 180°; a single angle is a narrow one.
func TestArcs(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want [][2]float64
	}{
		{nil, [][2]float64{{-180, 180}}},
		{[]float64{130, 170}, [][2]float64{{130, 170}}},
		{[]float64{170, 200}, [][2]float64{{170, 180}, {-180, -160}}},
		{[]float64{-200, -170}, [][2]float64{{160, 180}, {-180, -170}}},
		{[]float64{0, 360}, [][2]float64{{-180, 180}}},
		{[]float64{-70, -70}, [][2]float64{{-70.75, -69.25}}},
		{[]float64{180, 180}, [][2]float64{{179.25, 180}, {-180, -179.25}}},
		{[]float64{490, 530}, [][2]float64{{130, 170}}},
	} {
		testkit.EqualSlices(t, arcs(c.in), c.want, "%v", c.in)
	}
	for v, want := range map[float64]float64{180: -180, -180: -180, 190: -170, 0: 0, 725: 5, -725: -5} {
		testkit.Equal(t, turn(v), want, "%v", v)
	}
}

// A plane for each layer, points modulo 360°, what cannot be drawn counted, the window
// shaded in each, in two parts where it crosses 180°.
func TestTorsions(t *testing.T) {
	layers := []PointLayer{{Name: "data", Points: []float64{-70, 150, 290, 510, math.NaN(), 0}}, {Name: "samples"}}
	got := svg(t, Torsions(TorsionOptions{X: "φ", Y: "ψ", FeasibleX: []float64{-70, -70}, FeasibleY: []float64{130,
		200}}, layers...))
	if n := strings.Count(got, "fill-feasible"); n != 2*2+1 { // and the legend's
		t.Errorf("%d shaded parts, want 5", n)
	}
	for _, want := range []string{"φ, °", "ψ, °", "data, 3 (1 not drawable)", "samples, 0", ">90<", ">−180<"} {
		testkit.Contains(t, got, want)
	}
	// Both points of the data are one place.
	places := regexp.MustCompile(`<circle cx="([0-9.]+)" cy="([0-9.]+)" r="1.8"`).FindAllStringSubmatch(got, -1)
	if len(places) != 2 || places[0][1] != places[1][1] || places[0][2] != places[1][2] {
		t.Errorf("places %v", places)
	}
	if strings.Contains(svg(t, Torsions(TorsionOptions{X: "a", Y: "b"}, layers...)), "feasible") {
		t.Error("a window where there is none")
	}
}

// Circles say how many values there are, turn them by whole circles, leave out what is no number, and have 0° above.
func TestCircles(t *testing.T) {
	circle := func(v ...float64) string {
		return svg(t, Circles(Circle{Name: "C0 – C1 – C2 – C3", Columns: []Column{{Name: "held-out rows", Values: v}}}))
	}
	got := circle(5, 5, 365, -355, math.NaN())
	for _, want := range []string{"held-out rows, 5", "C0 – C1 – C2 – C3", ">0°<", ">−90°<"} {
		testkit.Contains(t, got, want)
	}
	if got != circle(5, 5, 5, 5, math.NaN()) || got == circle(5, 5, 5, -5, math.NaN()) {
		t.Error("a whole turn moves a value, or the other side of 0° does not")
	}
	if empty := circle(); strings.Contains(empty, "NaN") {
		t.Error("no values are drawn as NaN")
	}
}

// A window is shaded in a histogram, and named; a band lies about a curve and leaves gaps where the curve does.
func TestShades(t *testing.T) {
	plain := HistogramOptions{XLabel: "ψ", Lo: 120, Hi: 180}
	with := plain
	with.Feasible = [2]float64{130, 170}
	c := Column{Name: "data", Values: []float64{140, 150}}
	if got := svg(t, Histogram(with, c)); strings.Count(got, "fill-feasible") != 2 || !strings.Contains(got,
		">feasible<") {
		t.Error("no window")
	}
	if strings.Contains(svg(t, Histogram(plain, c)), "feasible") {
		t.Error("a window where there is none")
	}
	y := []float64{1, 2, math.NaN(), 3, 4}
	s := Series{Name: "F", X: []float64{0, 1, 2, 3, 4}, Y: y}
	before := strings.Count(svg(t, Lines(LineOptions{}, s)), "fill-series0")
	s.Lo, s.Hi = []float64{0, 1, math.NaN(), 2, 3}, []float64{2, 3, math.NaN(), 4, 9}
	got := svg(t, Lines(LineOptions{}, s))
	if after := strings.Count(got, "fill-series0"); after != before+2 {
		t.Errorf("%d parts of the band, want 2", after-before)
	}
	if !strings.Contains(got, ">8<") { // the axis reaches to the band's end
		t.Error("the band is cut off")
	}
	defer func() {
		if recover() == nil {
			t.Error("a band of another length is taken")
		}
	}()
	s.Hi = s.Hi[:3]
	Lines(LineOptions{}, s)
}

// molecules is a view of n conformations of three atoms.
func molecules(n int) *MoleculeView {
	m := &MoleculeView{Title: "Conformations", Elements: []string{"C", "N", "</script>"}, Names: []string{"C1", "N2",
		"X"}, Bonds: [][2]int{{0, 1}, {1, 2}}}
	data := MoleculeLayer{Name: "data"}
	for i := range n {
		data.Frames = append(data.Frames, 0, 0, 0, 1.23456, float64(i), 0, 2, 2, 2)
		data.Labels = append(data.Labels, "frame")
	}
	m.Layers = []MoleculeLayer{data, {Name: "samples"}}
	return m
}

// The page holds conformations to 0.001 Å, a bounded number, and the script that shows them.
func TestMoleculeView(t *testing.T) {
	m := molecules(250)
	var b bytes.Buffer
	testkit.OK(t, (&Report{Title: "t", Scene: m}).WriteHTML(&b))
	page := b.String()
	_, rest, ok := strings.Cut(page, `id="molecule-data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var got moleculeData
	if err := json.Unmarshal([]byte(text), &got); !ok || err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	if len(got.Layers) != 1 || len(got.Layers[0].Frames) != 100 || got.Layers[0].Frames[7][3] != 1.235 ||
		got.Layers[0].Frames[7][4] != 7 || got.Elements[2] != "</script>" || len(got.Bonds) != 2 {
		t.Errorf("%+v", got.Layers[0].Frames[7])
	}
	for _, want := range []string{`<canvas id="molecule"`, "data-molecule-layer>data</label>", "molecule-frame"} {
		testkit.Contains(t, page, want, "the page")
	}
	if strings.Contains(page, "data-molecule-layer>samples") {
		t.Error("a layer without conformations is offered")
	}
	if m.Shown(7) != 7 || m.Shown(1000) != 100 || (&MoleculeView{Elements: make([]string, 2000)}).Shown(100) != 10 {
		t.Error("how many are shown")
	}
	short := *m
	short.Layers = []MoleculeLayer{{Name: "data", Frames: make([]float64, 9), Labels: nil}}
	for what, v := range map[string]*MoleculeView{"no labels": &short, "no atoms": {}, "nothing to show": {
		Elements: m.Elements, Names: m.Names}} {
		if err := (&Report{Scene: v}).WriteHTML(&bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
