package figure

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// Directions on the sheet: from above, x runs right and y up; from the front, x
// right and z up; the axes of any view are orthonormal and right-handed.
func TestCamera(t *testing.T) {
	for _, c := range []struct {
		from, point, want [3]float64
	}{
		{[3]float64{0, 0, 5}, [3]float64{1, 2, 3}, [3]float64{1, 2, 3}},
		{[3]float64{0, -2, 0}, [3]float64{1, 2, 3}, [3]float64{1, 3, -2}},
		{[3]float64{3, 0, 0}, [3]float64{1, 2, 3}, [3]float64{2, 3, 1}},
	} {
		if got := newCamera(c.from).turn(c.point); distance(got, c.want) > 1e-15 {
			t.Errorf("from %v the point %v is at %v, want %v", c.from, c.point, got, c.want)
		}
	}
	c := newCamera([3]float64{2, -3, 2})
	if e := c.turn(c.view[2]); distance(e, [3]float64{0, 0, 1}) > 1e-15 {
		t.Errorf("the viewer is at %v", e)
	}
	if e := c.turn(vec3{0, 0, 1}); math.Abs(e[0]) > 1e-15 || e[1] <= 0 {
		t.Errorf("up is %v", e)
	}
}

func distance(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// From far to near: what is behind a ball is painted before it, what is in front
// after it and stronger. A bond counts where its middle is.
func TestSpacePaintsFromFarToNear(t *testing.T) {
	for _, l := range []SpaceLayer{
		{Points: []float64{0, -2, 0, 0, 2, 0}},
		{Points: []float64{-1, -2, 0, 1, -2, 0, -1, 2, 0, 1, 2, 0}, Strand: 2},
	} {
		var order string
		var alphas []float64
		for _, item := range Space(SpaceOptions{From: [3]float64{0, -1, 0}, Ball: 1}, l).
			scene.items {
			switch item := item.(type) {
			case shape:
				switch {
				case item.fill == &ocean:
					order += "ball "
				case item.fill != nil && item.fill != &paper:
					order += "bond "
					alphas = append(alphas, item.alpha)
				}
			case dots:
				if item.r != 4 { // the legend's
					order += "dot "
					alphas = append(alphas, item.alpha)
				}
			}
		}
		want := "dot ball dot "
		if l.Strand > 0 {
			want = "bond dot ball bond dot "
		}
		if order != want || alphas[0] >= alphas[len(alphas)-1] {
			t.Errorf("painted %swith strengths %v, want %s", order, alphas, want)
		}
	}
}

func TestSpaceRefusesBrokenRows(t *testing.T) {
	for _, l := range []SpaceLayer{{Points: make([]float64, 4)}, {Points: make([]float64, 9), Strand: 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values in strands of %d were accepted", len(l.Points), l.Strand)
				}
			}()
			Space(SpaceOptions{}, l)
		}()
	}
}

// A ball whose one half has the value 1: the picture is a disc of the right size
// whose left and right halves have the ends of the ramp, lit from the upper left.
func TestSurface(t *testing.T) {
	m := ball.Mesh(4)
	n, _ := m.N()
	values := make([]float64, n)
	v := lookFrom(30)
	for i := range values { // 1 to the right of the first view
		if v.turn(m.Vertex(int32(i)))[0] > 0 {
			values[i] = 1
		}
	}
	one := &scene{w: 100, h: 100}
	one.add(relief{side: 100, mesh: m, shade: values, look: newShading(m), view: v})
	var disc bytes.Buffer
	testkit.OK(t, one.writePNG(&disc, 200))
	img, covered := testkit.Must(png.Decode(&disc)), 0
	for y := range 200 {
		for x := range 200 {
			if _, _, b, _ := img.At(x, y).RGBA(); b < 0xf400 { // the sheet is white
				covered++
			}
		}
	}
	if want := math.Pi * 100 * 100; math.Abs(float64(covered)-want) > 0.02*want {
		t.Errorf("%d pixels of a disc of %.0f", covered, want)
	}
	red := func(img image.Image, x, y int) int { r, _, _, _ := img.At(x, y).RGBA(); return int(r >> 8) }
	blue := func(img image.Image, x, y int) int { _, _, b, _ := img.At(x, y).RGBA(); return int(b >> 8) }
	if left, right := blue(img, 60, 100), blue(img, 140, 100); left < 150 || right > 80 {
		t.Errorf("blue left and right: %d and %d", left, right)
	}
	if above, below := red(img, 90, 30), red(img, 90, 170); above < below+20 {
		t.Errorf("light from above: red %d above, %d below", above, below)
	}

	s := Surface(m, []SurfaceLayer{{"data", values}, {"samples", values}})
	var p, svg bytes.Buffer
	testkit.OK(t, s.WritePNG(&p, 400))
	if whole, err := png.Decode(&p); err != nil || whole.Bounds().Dx() != 400 {
		t.Fatal(err)
	}
	testkit.OK(t, s.WriteSVG(&svg))
	testkit.OK(t, Inline(svg.Bytes()))
	// Half of the faces are in sight, in four views.
	if got := bytes.Count(svg.Bytes(), []byte("<path")); got < 4*1000 || got > 4*1048+1 {
		t.Errorf("%d polygons", got)
	}
	if err := Surface(ball.Mesh(6), nil).WriteSVG(&svg); err == nil {
		t.Error("32768 faces as SVG")
	}
}

// The page carries the mesh and a choice of layers; without a surface it has neither.
func TestSurfaceView(t *testing.T) {
	m := ball.Mesh(1)
	n, _ := m.N()
	values := make([]float64, n)
	values[2] = 0.5
	v := &SurfaceView{Mesh: m, Layers: []SurfaceLayer{{"data", values}, {"samples", values}}}
	r := &Report{Title: "t", Scene: v}
	var page bytes.Buffer
	testkit.OK(t, r.WriteHTML(&page))
	for what, want := range map[string]int{"data-surface-layer checked>data": 1, "data-surface-layer>samples": 1,
		`id="surface-data"`: 1, `"layers":[[0,0,1,0`: 1, `getElementById("surface")`: 1} {
		testkit.Equal(t, bytes.Count(page.Bytes(), []byte(what)), want, "%q is there", what)
	}
	v.Mesh, v.Layers = ball.Mesh(6), nil
	if err := r.WriteHTML(&page); err == nil {
		t.Error("32768 faces in a page")
	}
	page.Reset()
	if err := (&Report{Title: "t"}).WriteHTML(&page); err != nil ||
		bytes.Contains(page.Bytes(), []byte("surface-data")) {
		t.Errorf("%v, or a surface that nobody asked for", err)
	}
}

// Nearer faces come behind those that they hide, and back faces are there only on request.
func TestDepth(t *testing.T) {
	m := ball.Mesh(2)
	n, count := m.N()
	r := relief{side: 1, mesh: m, shade: make([]float64, n), look: newShading(m), view: lookFrom(30)}
	all, front := r.faces(true), r.faces(false)
	testkit.Equal(t, len(all), count, "faces")
	if 2*len(front) > len(all) || len(front) < len(all)/3 {
		t.Fatalf("%d faces of %d are turned to the eye", len(front), len(all))
	}
	for i, f := range all[len(all)-len(front)/2:] { // the nearest half of those in sight
		if !slices.ContainsFunc(front, func(g shape) bool { return g.lines[0][0] == f.lines[0][0] }) {
			t.Errorf("face %d is a back face", i)
		}
	}
}

func TestScaled(t *testing.T) {
	got := scaled([]float64{-1, 0, 1, 5, math.NaN()}, []float64{0, 2, 2, 2})
	for i, want := range []float64{0, 0, 0.5, 1, 0} {
		testkit.Equal(t, got[i], want, "value %d", i)
	}
}
