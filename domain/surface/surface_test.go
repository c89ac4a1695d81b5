package surface

import (
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/kept"
	"github.com/landing-diffusion/landing/tools/testkit/octahedron"
)

// On a surface points are counted on their nearest faces, in all blocks; 20 000 samples
// are enough; densities do not depend on the number of points, and integrate to one.
func TestFaces(t *testing.T) {
	s := octahedron.Surface()
	pool := testkit.Pool(t, 2)
	const n = 3000
	x := make([]float64, 3*n)
	for i := range n {
		s.SampleUniform(x[3*i:3*i+3], keyed.New(1, keyed.Probe, 0), uint64(i))
	}
	d := testkit.Must(New(domain.Input{Set: s, Data: x, Train: x[:3*2000], Pool: pool}))
	kept.Domain(t, d, x, x[300:1500], 3, "")
	r := d.Distance.Against(x, x[:3*2000], x[3*2000:])
	tree := mesh.NewTree(s.Mesh)
	for i := range n {
		face, _, _ := tree.Nearest([3]float64(x[3*i : 3*i+3]))
		if r.Full[i] != float64(face) || i < 2000 && r.Train[i] != float64(face) || i >= 2000 &&
			r.HeldOut[i-2000] != float64(face) {
			t.Fatalf("point %d is counted on face %v, its nearest is %d", i, r.Full[i], face)
		}
	}
	if len(r.Full) != n || len(r.Train) != 2000 || len(r.HeldOut) != 1000 || r.Dim != 1 || d.Samples != 20_000 {
		t.Errorf("%d, %d and %d marks of dimension %d; %d samples", len(r.Full), len(r.Train), len(r.HeldOut), r.Dim,
			d.Samples)
	}
	if r.Between(r.Full, r.Full) != 0 || r.Between(r.Train, r.HeldOut) != metric.FaceJSD(r.Train, r.HeldOut, 8) {
		t.Error("the distance is not that of counts on faces")
	}
	one, corner := density(s.Mesh, r.Full), s.Mesh.Area()/6 // four thirds of a face at each of six corners
	sum := 0.0
	for v, f := range density(s.Mesh, append(append([]float64(nil), r.Full...), r.Full...)) {
		sum += f * corner
		testkit.Near(t, f, one[v], 1e-12, "vertex %d: density", v)
	}
	testkit.Near(t, sum, 1, 1e-12, "the density integrates")
}

// canvas counts what is drawn on it.
type canvas struct {
	figures, files int
	notes          []string
	surface        bool
}

func (c *canvas) Scene(figure.Scene)                           { c.surface = true }
func (c *canvas) Add(string, figure.FigureRef, figure.Picture) { c.figures++ }
func (c *canvas) PNG(string, figure.Picture)                   { c.files++ }
func (c *canvas) Note(remark string)                           { c.notes = append(c.notes, remark) }

// The picture of a mesh with more faces than a page can draw is a file, and the report says so.
func TestPictureOfAFineMesh(t *testing.T) {
	for _, cut := range []struct {
		cuts  int
		shown bool
	}{{1, true}, {6, false}} {
		m := ball.Mesh(0) // flat faces: on the level set
		for range cut.cuts {
			m = m.Subdivided()
		}
		s := testkit.Must(levelset.NewSurface(octahedron.Network(), m))
		pool := testkit.Pool(t, 1)
		d := testkit.Must(New(domain.Input{Set: s, Pool: pool}))
		x := []float64{1, 0, 0}
		var c canvas
		d.Draw(&c, domain.View{Dim: 3, Reference: d.Distance.Against(x, x, nil), Marks: []float64{0}})
		if (c.figures == 1 && c.surface) != cut.shown || (c.files == 1 && len(c.notes) == 1) == cut.shown {
			t.Errorf("%d cuts: %+v", cut.cuts, c)
		}
		if !cut.shown && !strings.Contains(c.notes[0], "32\u202f768 faces") {
			t.Errorf("%q", c.notes[0])
		}
	}
}
