package figure

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// twoJoints is an arm that turns about z and then slides along x.
func twoJoints(trajectories int) *ArmView {
	one := [9]float64{0: 1, 4: 1, 8: 1}
	a := &ArmView{Title: "Trajectories", Steps: 3, Modes: []string{"left", "right" + hostile},
		Joints: []ArmJoint{{Kind: Turns, Wraps: true, R: one, Axis: [3]float64{0, 0, 1}}, {Kind: Fixed, R: one,
			P: [3]float64{1, 0,
				0}},
			{Kind: Slides, R: one, Axis: [3]float64{1, 0, 0}}},
		Tip: ArmPoint{Link: 2, Local: [3]float64{0.5, 0, 0}}, Volume: []ArmSphere{{ArmPoint{1, [3]float64{0, 0.25, 0}},
			0.125}},
		Solids: []Solid{{A: [3]float64{1, 2, 3}, B: [3]float64{1, 2, 3}, Radius: 0.5}, {A: [3]float64{4, 5, 6}, R: one,
			Half: [3]float64{1, 2, 3}}},
		Ends: [][3]float64{{0.75, 0, 0}}}
	data := ArmLayer{Name: "data"}
	for i := range trajectories {
		data.Values = append(data.Values, 0, 0.123456, 1, 0, 2, float64(i))
		data.Labels, data.Modes = append(data.Labels, "row "+strconv.Itoa(i)+hostile), append(data.Modes, i%2)
	}
	a.Layers = []ArmLayer{data, {Name: "samples", Modes: []int{}}}
	return a
}

// The page holds joint values to 0.0001, a bounded number of trajectories, the arm and its obstacles. It holds the
// script that plays them once, beside the script that turns canvases.
func TestArmView(t *testing.T) {
	page := htmlOf(t, &Report{Title: "t", Scene: twoJoints(250)})
	_, rest, ok := strings.Cut(page, `id="arm-data">`)
	raw, _, _ := strings.Cut(rest, "</script>")
	var got struct {
		Joints []ArmJoint
		Tip    ArmPoint
		Volume [][5]float64
		Solids []map[string]any
		Ends   [][3]float64
		Steps  int
		Modes  []twoInks
		Layers []armLayer
	}
	if err := json.Unmarshal([]byte(raw), &got); !ok || err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	if len(got.Joints) != 3 || got.Joints[0].Kind != "turn" || !got.Joints[0].Wraps || got.Joints[1].Kind != "fixed" ||
		got.Joints[1].P[0] != 1 || got.Joints[2].Kind != "slide" || got.Joints[2].Axis[0] != 1 {
		t.Errorf("joints %+v", got.Joints)
	}
	if got.Tip.Link != 2 || got.Tip.Local[0] != 0.5 || got.Volume[0] != [5]float64{1, 0, 0.25, 0, 0.125} ||
		got.Solids[0]["radius"] != 0.5 || got.Solids[1]["half"] == nil || got.Solids[1]["radius"] != nil ||
		got.Ends[0][0] != 0.75 || got.Steps != 3 {
		t.Errorf("%+v", got)
	}
	if len(got.Layers) != 1 || len(got.Layers[0].Values) != armTrajectories || got.Layers[0].Values[7][5] != 7 ||
		got.Layers[0].Values[7][1] != 0.1235 || got.Layers[0].Modes[7] != 1 || len(got.Modes) != 2 ||
		got.Modes[0].Light == got.Modes[1].Light {
		t.Errorf("%+v", got.Layers)
	}
	for _, want := range []string{`<canvas id="arm"`, "data-arm-layer>data</label>", `id="arm-time"`} {
		testkit.Contains(t, page, want, "the page")
	}
	for _, never := range []string{"data-arm-layer>samples", "<script>alert"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	testkit.Equal(t, strings.Count(page, "const turnable ="), 1, "what turns canvases is there")
	if a := twoJoints(0); a.Shown(7) != 7 || a.Shown(1000) != 60 || (&ArmView{Steps: 10_000,
		Joints: a.Joints}).Shown(9) != 3 {
		t.Error("how many are shown")
	}
}

func TestArmViewFaults(t *testing.T) {
	for what, spoil := range map[string]func(a *ArmView){
		"no joint":         func(a *ArmView) { a.Joints = a.Joints[1:2] },
		"no way points":    func(a *ArmView) { a.Steps = 0 },
		"half a row":       func(a *ArmView) { a.Layers[0].Values = a.Layers[0].Values[1:] },
		"a label too few":  func(a *ArmView) { a.Layers[0].Labels = a.Layers[0].Labels[1:] },
		"a mode too few":   func(a *ArmView) { a.Layers[0].Modes = a.Layers[0].Modes[1:] },
		"no modes":         func(a *ArmView) { a.Layers[0].Modes = nil },
		"a mode of none":   func(a *ArmView) { a.Layers[0].Modes[1] = 2 },
		"no trajectory":    func(a *ArmView) { a.Layers = a.Layers[1:] },
		"modes of nothing": func(a *ArmView) { a.Modes = nil },
	} {
		a := twoJoints(3)
		spoil(a)
		if _, err := a.view(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Outlines: a ball is a disc of its radius, seen from anywhere; a box turned by 45° about
// the line of sight a square on its corner; a capsule the hull of its two ends.
func TestOutline(t *testing.T) {
	above := [2][3]float64{{1, 0, 0}, {0, 1, 0}}
	s := math.Sqrt(0.5)
	for _, c := range []struct {
		what         string
		solid        Solid
		x0, x1, area float64
	}{
		{"ball", Solid{A: [3]float64{2, 3, 9}, B: [3]float64{2, 3, 9}, Radius: 0.5}, 1.5, 2.5, math.Pi / 4},
		{"capsule", Solid{A: [3]float64{0, 0, 9}, B: [3]float64{3, 0, 9}, Radius: 1}, -1, 4, math.Pi + 6},
		{"capsule from its end", Solid{B: [3]float64{0, 0, 3}, Radius: 1}, -1, 1, math.Pi},
		{"box", Solid{A: [3]float64{1, 1, 1}, R: [9]float64{s, -s, 0, s, s, 0, 0, 0, 1}, Half: [3]float64{1, 1, 5}},
			1 - math.Sqrt2, 1 + math.Sqrt2, 4},
	} {
		o := c.solid.outline(above)
		lo, hi, area := math.Inf(1), math.Inf(-1), 0.0
		for i, p := range o {
			q := o[(i+1)%len(o)]
			lo, hi, area = min(lo, p.x), max(hi, p.x), area+(p.x*q.y-p.y*q.x)/2
		}
		// 72 corners: the area of a disc is 0.13 % too small.
		if math.Abs(lo-c.x0) > 1e-3 || math.Abs(hi-c.x1) > 1e-3 || math.Abs(area-c.area) > 2e-3*c.area {
			t.Errorf("%s: from %v to %v, area %v", c.what, lo, hi, area)
		}
	}
}

// Both axes have the same scale, whatever the shape of what is shown; ways that cannot be drawn are counted.
func TestTracks(t *testing.T) {
	opts := TracksOptions{Axes: [2]string{"x", "y"}, Across: [3]float64{1, 0, 0}, Up: [3]float64{0, 0, 1}}
	way := regexp.MustCompile(`d="M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)"[^>]*stroke-width="0.7"`)
	for _, size := range [][2]float64{{1, 1}, {20, 1}, {1, 20}} {
		doc := string(svgOf(t, Tracks(opts, TrackLayer{Name: "data", Strand: 2, Mode: 0, Points: []float64{0, 7, 0,
			size[0], 8,
			size[1], 0, 0, math.NaN(), 0, 0, 0}})))
		m := way.FindStringSubmatch(doc)
		if m == nil || !strings.Contains(doc, "data, 2 (1 not drawable)") {
			t.Fatalf("no way in %.3000s", doc)
		}
		var v [4]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		dx, dy := v[2]-v[0], v[3]-v[1]
		testkit.Near(t, -dy/dx, size[1]/size[0], 0.02*size[1]/size[0], "%v: a slope", size)
	}
}
