package aligned

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/scoretest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// random returns n conformations of some atoms.
func random(draw *rand.Rand, n, atoms int) []float64 {
	x := make([]float64, n*3*atoms)
	for i := range x {
		x[i] = 1.5 * draw.NormFloat64()
	}
	return x
}

// config is a small network for `atoms` atoms.
func config(atoms int, momentum bool) score.Config {
	return score.Config{Dim: 3 * atoms, Momentum: momentum, Width: 6, Layers: 2, Seed: 1, Wavelength: 2,
		Reference: random(rand.New(rand.NewPCG(1, 2)), 1, atoms)}
}

func TestConforms(t *testing.T) {
	for _, momentum := range []bool{false, true} {
		c := config(4, momentum)
		scoretest.Run(t, New[float64](c), momentum)
		c.Octaves, c.TimeOctaves, c.Horizon, c.Gain = 2, 3, 2, func(t float64) float64 { return 1 + t }
		c.Options = score.Options{"pairs": 2}
		scoretest.Run(t, New[float64](c), momentum)
		scoretest.Kind(t, Kind, c)
		c.Octaves, c.TimeOctaves, c.Options = 0, 0, score.Options{"torsions": 2}
		c.Torsions = [][4]int{{0, 1, 2, 3}, {3, 1, 0, 2}}
		scoretest.Run(t, New[float64](c), momentum)
		scoretest.Kind(t, Kind, c)
		c.Start = func(t float64) (b, v float64) { return 0.5 + t, 1 }
		scoretest.Run(t, New[float64](c), momentum)
		scoretest.Kind(t, Kind, c)
		c.Dim, c.Held, c.Start = c.Dim+2, 2, nil // numbers behind the positions are read and do not turn
		scoretest.Run(t, New[float64](c), momentum)
	}
}

// The outputs of md_network.npz: the reference implementation's network.
func TestGolden(t *testing.T) {
	g := golden.Read(t, "md_network.npz")
	for _, kind := range []string{"over", "under"} {
		net := testkit.Must(score.FromLayers[float64](g, kind+"_net_layer_"))
		c := score.Config{Dim: 30, Momentum: kind == "under", Reference: g["xref"].AsFloat64()}
		f := score.NewField[float64](Of(c, net), 1)
		in, label, got := g[kind+"_in"].AsFloat64(), g[kind+"_label"].AsFloat64(), make([]float64, 4*30)
		w := len(in) / 4
		for i := range 4 {
			x, p := in[i*w:i*w+30], in[i*w+30:(i+1)*w]
			if !c.Momentum {
				p = nil
			}
			f.Eval(got[30*i:30*i+30], x, p, 1, label[i])
		}
		golden.Near(t, kind, got, g[kind+"_out"].AsFloat64())
	}
}

// spin returns a rotation, as the pose that turns by it.
func spin(draw *rand.Rand) (p superpose.Pose) {
	y := random(draw, 1, 5)
	r, err := superpose.New(y)
	if err != nil {
		panic(err)
	}
	return r.Fit(random(draw, 1, 5))
}

// The score turns with the conformation and its momentum, and does not see where it is; the gradient of a loss that
// turns too is the same. In float32, on a network of a size in use: 1e-5 of the largest output.
func TestEquivariance(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	const atoms, n = 10, 32
	for _, octaves := range []int{0, 3} {
		c := config(atoms, true)
		c.Width, c.Layers, c.Octaves = 128, 4, octaves
		c.Options = score.Options{"pairs": float64(octaves), "torsions": float64(octaves)}
		c.Torsions = [][4]int{{0, 1, 2, 3}, {5, 2, 7, 4}, {1, 0, 9, 8}}
		m := Kind.New(c)
		x, p := random(draw, n, atoms), random(draw, n, atoms)
		y, q := make([]float64, len(x)), make([]float64, len(x))
		d := 3 * atoms
		poses := make([]superpose.Pose, n)
		for i := range n {
			poses[i] = spin(draw)
			poses[i].Turn(y[i*d:(i+1)*d], x[i*d:(i+1)*d])
			poses[i].Turn(q[i*d:(i+1)*d], p[i*d:(i+1)*d])
			for j := range d {
				y[i*d+j] += 20 * float64(j%3)
			}
		}
		// score and gradient of Σ ½‖s − p̃‖², whose derivative by s turns with p̃.
		pass := func(x, p []float64) (s, grad []float64) {
			f, w := score.NewField(m, n), m.In()
			s = make([]float64, n*d)
			f.Eval(s, x, p, n, 0.3)
			ws, in, ds := m.Pack(true).NewWorkspace(n, true), make([]float32, n*w), make([]float32, n*d)
			for i := range n {
				m.Row(in[i*w:(i+1)*w], score.Input{X: x[i*d : (i+1)*d], P: p[i*d : (i+1)*d], T: 0.3, Item: -1})
			}
			for i, v := range ws.Forward(in, n) {
				ds[i] = v - float32(p[i])
			}
			g := make([]float32, len(m.Parameters()))
			ws.Backward(g, ds, n, false)
			for _, v := range g {
				grad = append(grad, float64(v))
			}
			return s, grad
		}
		s, grad := pass(x, p)
		turned, again := pass(y, q)
		want := make([]float64, n*d)
		for i := range n {
			poses[i].Turn(want[i*d:(i+1)*d], s[i*d:(i+1)*d])
		}
		near(t, "score", turned, want)
		near(t, "gradient", again, grad)
		// A network that forgot to turn would be far off.
		if worst(turned, s) < 0.1*size(s) {
			t.Error("turning does not turn the score")
		}
		// A mirror image is another molecule.
		for i := range y {
			y[i], q[i] = x[i], p[i]
			if i%3 == 0 {
				y[i], q[i] = -x[i], -p[i]
			}
		}
		mirrored, _ := pass(y, q)
		for i := range mirrored {
			if i%3 == 0 {
				mirrored[i] = -mirrored[i]
			}
		}
		if worst(mirrored, s) < 0.01*size(s) {
			t.Error("the score of a mirror image is the mirror image of the score")
		}
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	d, s := worst(got, want), size(want)
	t.Logf("%s: off by %.2g of %.2g", what, d, s)
	if !(d <= 1e-5*s) {
		t.Errorf("%s: off by %.3g, of at most %.3g", what, d, s)
	}
}

func worst(a, b []float64) (d float64) {
	for i, v := range a {
		d = max(d, math.Abs(v-b[i])) // NaN if one is
	}
	return d
}

func size(a []float64) float64 { return worst(a, make([]float64, len(a))) }

// The MLP's outputs of pairs are forces along the lines between atoms: with outputs of pairs
// alone, of size 1, the score is the gradient of the sum of their distances.
func TestPairs(t *testing.T) {
	for reach, want := range []int{0, 4, 7, 9, 10, 10} {
		if n := len(pairs(5, reach)); n != want || count(5, reach) != want {
			t.Errorf("%d pairs, counted %d, of reach %d; expected %d", n, count(5, reach), reach, want)
		}
	}
	c := config(5, false)
	c.Options = score.Options{"pairs": 2}
	m := New[float64](c)
	θ := m.Parameters()
	clear(θ)
	for i := range m.pairs {
		θ[len(θ)-1-i] = 1 // a bias of the output
	}
	x, s := random(rand.New(rand.NewPCG(9, 10)), 1, 5), make([]float64, 15)
	score.NewField[float64](m, 1).Eval(s, x, nil, 1, 0)
	sum := func() (d float64) {
		for _, p := range m.pairs {
			_, r := apart(x, p)
			d += r
		}
		return d
	}
	for i, at := range x {
		const h = 1e-5
		x[i] = at + h
		up := sum()
		x[i] = at - h
		down := sum()
		x[i] = at
		testkit.Near(t, s[i], (up-down)/(2*h), 1e-9, "coordinate %d", i)
	}
	// Two atoms in one place pull nowhere, and the numbers stay finite.
	copy(x[3:6], x[:3])
	score.NewField[float64](m, 1).Eval(s, x, nil, 1, 0)
	testkit.Equal(t, size(s)-size(s), 0, "the score is %v", s)
	// The MLP reads the distances beyond those of the reference: of one twice as large, as many δ as they are long.
	in := make([]float64, m.In())
	m.Row(in, score.Input{X: c.Reference})
	twice := make([]float64, m.In())
	for i, v := range c.Reference {
		x[i] = 2 * v
	}
	m.Row(twice, score.Input{X: x})
	for i, v := range twice[m.point.In():m.Model.In()] {
		if _, d := apart(c.Reference, m.pairs[i]); math.Abs(v-d/stretch) > 1e-12 {
			t.Errorf("pair %d of the reference made twice as large is read as %v", i, v)
		}
	}
	for i, v := range in[m.point.In():m.Model.In()] {
		if math.Abs(v) > 1e-14 {
			t.Errorf("pair %d of the reference is %v apart from it", i, v)
		}
	}
}

// Where no rotation is nearest a row is NaN, so that neither a loss nor a sample that used it would go unseen.
func TestDegenerateRow(t *testing.T) {
	m := New[float64](config(5, false))
	line := make([]float64, 15)
	for i := range line {
		line[i] = float64(i / 3)
	}
	dst := make([]float64, m.In())
	m.Row(dst, score.Input{X: line})
	for _, v := range dst {
		if !math.IsNaN(v) {
			t.Fatalf("the row is %v", dst)
		}
	}
}

// The reference is a copy.
func TestReferenceIsCopied(t *testing.T) {
	c := config(4, false)
	m, want := New[float64](c), append([]float64(nil), c.Reference...)
	clear(c.Reference)
	if got := m.Constants()[0].Array.Float64; worst(got, want) != 0 {
		t.Errorf("the reference is %v, not %v", got, want)
	}
}

// Prepare finds a reference among the frames, keeps one that is given, and names a frame that cannot be laid on it.
func TestPrepare(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	frames := random(draw, 20, 4)
	c := score.Config{Dim: 12}
	chosen, err := prepare(c, frames)
	i, e := superpose.Central(frames, 4)
	if err != nil || e != nil || worst(chosen.Reference, frames[12*i:12*i+12]) != 0 {
		t.Errorf("%v, %v: reference %v", err, e, chosen.Reference)
	}
	c.Reference = frames[24:36]
	if kept, err := prepare(c, frames); err != nil || worst(kept.Reference, c.Reference) != 0 {
		t.Errorf("%v: reference %v, not the one given", err, kept.Reference)
	}
	for j := range 12 {
		frames[36+j] = float64(j / 3)
	}
	var degenerate *superpose.DegenerateError
	if _, err := prepare(c, frames); !errors.As(err, &degenerate) || degenerate.Frame != 3 {
		t.Errorf("%v; expected frame 3 to be named", err)
	}
	c.Reference = frames[36:48]
	if _, err := prepare(c, frames); !errors.As(err, new(*superpose.ReferenceError)) {
		t.Errorf("a line as the reference: %v", err)
	}
}

func TestFits(t *testing.T) {
	for dim, want := range map[int]string{9: "", 30: "", 6: "points here have 6", 10: "points here have 10"} {
		if got := fits(score.Config{Dim: dim}); got == want && want == "" {
			continue
		} else if want == "" || !strings.Contains(got, want) {
			t.Errorf("%d coordinates: %q", dim, got)
		}
	}
}

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
