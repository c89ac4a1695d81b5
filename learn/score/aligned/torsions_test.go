package aligned

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The torsion is that of package molecule, sign and all, and its gradient that of differences.
func TestTorsion(t *testing.T) {
	draw := rand.New(rand.NewPCG(11, 12))
	const h = 1e-6
	for range 50 {
		x, atoms := random(draw, 1, 5), [4]int{2, 0, 4, 3}
		var grad, other [quadruple]float64
		φ := torsion(&grad, x, &atoms)
		if want := molecule.Torsion(x, 2, 0, 4, 3); math.Abs(φ-want) > 1e-12 {
			t.Fatalf("the torsion is %v, not %v", φ, want)
		}
		for e := range grad {
			j := 3*atoms[e/3] + e%3
			v := x[j]
			x[j] = v + h
			up := torsion(&other, x, &atoms)
			x[j] = v - h
			down := torsion(&other, x, &atoms)
			x[j] = v
			if d := math.Remainder(up-down, 2*math.Pi) / (2 * h); !(math.Abs(d-grad[e]) <= 1e-6*(1+d*d)) {
				t.Errorf("∂φ by number %d of its atoms is %v, not %v", e, grad[e], d)
			}
		}
	}
}

// What is read of a torsion: waves, the rate at which the momentum turns it, and waves of where it was.
func TestTorsionsAreRead(t *testing.T) {
	draw := rand.New(rand.NewPCG(13, 14))
	c := config(6, true)
	const b, waves, h = 0.3, 3, 1e-6
	c.Options, c.Torsions = score.Options{"torsions": waves}, [][4]int{{0, 1, 2, 3}, {5, 3, 2, 1}}
	c.Start = func(float64) (float64, float64) { return b, 1 }
	m := New[float64](c)
	x, p := random(draw, 1, 6), random(draw, 1, 6)
	row := make([]float64, m.In())
	m.Row(row, score.Input{X: x, P: p, T: 0.2, Item: -1})
	read := row[m.point.In():m.Model.In()]
	if len(read) != 2*(4*waves+1) {
		t.Fatalf("%d numbers of two torsions", len(read))
	}
	for k, q := range c.Torsions {
		of := func(s float64) float64 {
			y := append([]float64(nil), x...)
			for j := range y {
				y[j] += s * p[j]
			}
			return molecule.Torsion(y, q[0], q[1], q[2], q[3])
		}
		var grad [quadruple]float64
		torsion(&grad, x, &q)
		size := 0.0
		for _, g := range grad {
			size += g * g
		}
		φ, rate := of(0), math.Remainder(of(h)-of(-h), 2*math.Pi)/(2*h)
		var want []float64
		for i := 1.0; i <= waves; i++ {
			want = append(want, math.Sin(i*φ), math.Cos(i*φ))
		}
		want = append(want, rate/math.Sqrt(size))
		for i := 1.0; i <= waves; i++ {
			want = append(want, math.Sin(i*(φ-b*rate)), math.Cos(i*(φ-b*rate)))
		}
		for j, v := range want {
			testkit.Near(t, read[k*len(want)+j], v, 1e-6, "number %d of torsion %d", j, k)
		}
	}
}

// An output of a torsion turns it and nothing else that its gradient is at right angles to: with the
// output of torsion k alone, the score is the unit vector along ∇φ_k, in the frame of the point.
func TestTorsionsAreTurned(t *testing.T) {
	draw := rand.New(rand.NewPCG(15, 16))
	c := config(6, false)
	c.Options, c.Torsions = score.Options{"pairs": 2, "torsions": 1}, [][4]int{{0, 1, 2, 3}, {5, 3, 2, 1}}
	m := New[float64](c)
	x := random(draw, 1, 6)
	for k, q := range c.Torsions {
		θ := m.Parameters()
		clear(θ)
		θ[len(θ)-len(c.Torsions)+k] = 2 // the bias of that output
		s := make([]float64, 18)
		score.NewField[float64](m, 1).Eval(s, x, nil, 1, 0.3)
		var grad [quadruple]float64
		torsion(&grad, x, &q)
		size := 0.0
		for _, g := range grad {
			size += g * g
		}
		want := make([]float64, 18)
		for e, g := range grad {
			want[3*q[e/3]+e%3] = 2 * g / math.Sqrt(size)
		}
		if d := worst(s, want); !(d <= 1e-12) {
			t.Errorf("torsion %d: the score is %v, not %v", k, s, want)
		}
	}
}

// Where three atoms are on a line there is no torsion: it is not read, and not turned, and all else is.
func TestTorsionOnALine(t *testing.T) {
	draw := rand.New(rand.NewPCG(17, 18))
	o := turning{atoms: [][4]int{{0, 1, 2, 3}, {1, 0, 3, 4}}, waves: 2, momentum: true}
	x, p := random(draw, 1, 5), random(draw, 1, 5)
	for i := range 9 { // in round numbers, so that it is a line to the last bit
		x[i] = float64(i/3) / 2
	}
	row, along := random(draw, 1, 5)[:o.inputs()], random(draw, 1, 8)
	readTorsions(&o, row, along, score.Input{X: x, P: p})
	for j, v := range append(append([]float64(nil), row[:o.each()]...), along[:quadruple]...) {
		testkit.Equal(t, v, 0, "number %d of the torsion", j)
	}
	if s := worst(along[quadruple:], make([]float64, quadruple)); !(s > 0 && s <= 1) || row[o.each()] == 0 {
		t.Errorf("the other torsion is read as %v, along %v", row[o.each():], along[quadruple:])
	}
}

// A network that cannot know of torsions is refused.
func TestTorsionsAreKnown(t *testing.T) {
	c := score.Config{Dim: 12, Options: score.Options{"torsions": 1}}
	if fits(c) == "" {
		t.Error("torsions of no molecule")
	}
	if c.Torsions = [][4]int{{0, 1, 2, 3}}; fits(c) != "" {
		t.Error(fits(c))
	}
}
