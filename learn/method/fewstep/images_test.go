package fewstep

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The image of a row near a wall lies beyond it, as far as the row is before it, and P_Σ mirrors it to the row; rows
// far from the wall have none, nor have sets without walls.
func TestImages(t *testing.T) {
	pool := testkit.Pool(t, 2)
	const height = 0.2
	set := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, height))
	p := &langevin.Process{Set: set, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 40, T: 1.5, SigmaMin: 0.1, SigmaMax: 1.3}}
	m := testkit.Must(New(p, Options{Levels: 2, Draws: 2, Coarse: 0.2, Fine: 0.05}))
	var data []float64
	wall := math.Acos(height)
	for i := range 400 {
		θ, φ := float64(i%100+1)/101*wall, float64(i)
		data = append(data, math.Sin(θ)*math.Cos(φ), math.Sin(θ)*math.Sin(φ), math.Cos(θ))
	}
	s := NewSource[float32](m, data, pool)
	far, last := imaged*m.s[1], m.s[len(m.s)-1]
	r, ok := newRetraction(set, 1), make([]bool, 1)
	with := 0
	for i := range len(data) / 3 {
		x, y := data[3*i:3*i+3], s.images[3*i:3*i+3]
		θ := math.Acos(x[2])
		// The distance to the wall is along the tangent, by the height's slope there.
		near := (x[2]-height)/math.Sin(θ) < far
		if math.IsNaN(y[0]) == near {
			t.Errorf("the row at %.3f of the wall at %.3f: image %v", θ, wall, y)
		}
		if !near || math.IsNaN(y[0]) {
			continue
		}
		with++
		if y[2] >= height {
			t.Errorf("the image of %v is %v, not beyond the wall", x, y)
		}
		f := append([]float64(nil), y...)
		r.block(f, ok, 1)
		dense.Axpy(f, -1, x)
		if off := dense.Norm(f); !ok[0] || !(off <= 1e-3*last) {
			t.Errorf("the image of %v is mirrored to a place %g off", x, off)
		}
		// On a level the image is as likely as the row where both are as far, and certain to be one of them elsewhere.
		middle, beyond := make([]float64, 3), make([]float64, 3)
		for j := range x {
			middle[j] = (x[j] + y[j]) / 2
			beyond[j] = x[j] + 200*(y[j]-x[j])
		}
		for _, c := range []struct {
			at    []float64
			level int
			u     float64
			image bool
		}{{middle, 0, 0.499, true}, {middle, 0, 0.501, false}, {beyond, 0, 0.999, true}, {beyond, 2, 0, false}} {
			if got := s.unfolded(i, c.level, c.at, x, c.u); (&got[0] == &y[0]) != c.image {
				t.Errorf("level %d, u = %v: image %v", c.level, c.u, !c.image)
			}
		}
		near2, far2 := 0.0, 0.0 // the odds at x itself, on the last level but N
		for j := range x {
			far2 += (x[j] - y[j]) * (x[j] - y[j])
		}
		p := 1 / (1 + math.Exp((far2-near2)/(2*m.s[1]*m.s[1])))
		if below, above := s.unfolded(i, 1, x, x, p-1e-9), s.unfolded(i, 1, x, x, p+1e-9); p > 1e-8 &&
			(&below[0] != &y[0] || &above[0] != &x[0]) {
			t.Errorf("odds at the row itself are not %v", p)
		}
	}
	if with < 40 || with > 300 {
		t.Errorf("%d rows have images", with)
	}
	// Targets of a loss are rows or images, as the epoch's number says, and at the last level often images.
	testkit.Must(s.Refresh(t.Context(), 1, 1))
	s.Arrange(1, 5)
	l := newLoss(s, score.NewReader[float32](score.Reading{Gain: m.Gain()}, 3, true), 2*len(data))
	var terms []method.Term
	for i := range len(data) / 3 {
		for k := range 3 {
			terms = append(terms, method.Term{Item: i, K: k, Weight: 1})
		}
	}
	testkit.Must(l.Prepare(terms))
	unfolded, u := 0, make([]float64, 1)
	for r, c := range terms {
		x, x0 := s.at(c.Item, c.K)
		keyed.LevelNoise.Stream(1, 5).Uniforms(u, uint64(c.Item), 3*2+c.K)
		want := s.unfolded(c.Item, c.K, x, x0, u[0])
		if &want[0] != &x0[0] {
			unfolded++
		}
		for j, v := range want {
			if got := l.u[3*r+j] * m.s[2-c.K]; math.Abs(got-(v-x[j])) > 1e-12 {
				t.Fatalf("item %d, level %d: target %v, want %v", c.Item, c.K, got, v-x[j])
			}
		}
	}
	if unfolded < 20 || unfolded > len(terms)/4 {
		t.Errorf("of %d terms %d are unfolded", len(terms), unfolded)
	}
	p.Set = zoo.Sphere{D: 3}
	m = testkit.Must(New(p, m.opt))
	if s := NewSource[float32](m, data, pool); s.images != nil {
		t.Error("a sphere has images")
	}
}
