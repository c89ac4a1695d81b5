package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/onnx"
)

// A Reading says how a network F_θ is read as a score:
//
//	s_θ(x, p̃, t) = m(t) F_θ(x, p̃, t, φ(x), χ(t))
//
// The zero Reading is the paper's, s_θ = F_θ(x, p̃, t).
type Reading struct {
	// Center and Unit are those of the coordinates before Given: F_θ reads (x − Center)/Unit, and φ is of
	// x − Center. A first layer sees nothing of points of size 10⁻³, and of those of size 10³, or far from 0,
	// little else than their size. A nil Center is 0, a Unit of 0 is 1.
	Center []float64
	Unit   float64
	// Scales, if not nil, are the data's standard deviations u_j along the coordinates before Given. F_θ then reads
	// (y_j − Center_j)/√(u_j² + v), y and v of Start: numbers of size 1 at all times, however narrow the data are.
	Scales []float64
	// Octaves and Wavelength shape φ(x): sin and cos of 2π 2^i x_j/Wavelength for
	// each coordinate j and i < Octaves, Wavelength being in the unit of x. Plain networks learn
	// fine detail slowly; with such features they start from it (Tancik et al. 2020).
	Octaves    int
	Wavelength float64
	// Start, if not nil, returns b and v. φ is then a function of y = x − b p̃ instead of x, and each of its waves is
	// multiplied by exp(−½ v ω²), ω = 2π 2^i/Wavelength. On a flat Σ a path that is at (x, p̃) at time t began at y,
	// give or take a variance of v in each direction. The score is a function of y plus a linear one of p̃, and waves
	// in the density of the data have shrunk by that factor (langevin.Process.Start).
	Start func(t float64) (b, v float64)
	// Still are the coordinates that noise does not move, in ascending order: Start does not change their waves.
	Still []int
	// TimeOctaves and Horizon shape χ(t): sin and cos of π 2^i t/Horizon for each i < TimeOctaves. Beside coordinates
	// of size 1 a time that goes from 0 to 0.2 is hardly seen.
	TimeOctaves int
	Horizon     float64
	// With Share F_θ reads t/Horizon instead of t: the place of a point on its path, in any unit of time.
	Share bool
	// Given is how the last coordinates of a point, a condition, are read: those of x in the
	// row, and in φ, are standardised. With Null a row ends in a number that is 1 where the
	// condition is hidden (Input.Null), and 0 elsewhere; hidden coordinates are 0. A standardised
	// number is one of units: its waves have the length Wavelength/Unit.
	Given Standard
	Null  bool
	// Gain is m; nil means m = 1.
	Gain func(t float64) float64
}

// A Standard reads numbers c as (c − Mean)/Scale.
type Standard struct{ Mean, Scale []float64 }

// Width returns the width of a network's input row for points in R^d.
func (r Reading) Width(d int, momentum bool) int {
	w := d + 1 + 2*d*r.Octaves + 2*r.TimeOctaves
	if momentum {
		w += d
	}
	if r.Null {
		w++
	}
	return w
}

// NewReader returns the reader of rows (x, p̃, t, φ(x), χ(t)) for points in R^d; without
// momentum, of rows (x, t, φ(x), χ(t)). It panics if the reading is of more coordinates.
func NewReader[T kernel.Float](r Reading, d int, momentum bool) Reader[T] {
	if free := d - len(r.Given.Mean); len(r.Center) > free {
		panic(fmt.Sprintf("score: a center of %d coordinates for points of %d", len(r.Center), free))
	}
	return reader[T]{r, d, momentum}
}

type reader[T kernel.Float] struct {
	reading  Reading
	d        int
	momentum bool
}

func (r reader[T]) In() int { return r.reading.Width(r.d, r.momentum) }

func (r reader[T]) Gain(t float64) float64 {
	if r.reading.Gain == nil {
		return 1
	}
	return r.reading.Gain(t)
}

func (r reader[T]) Row(dst []T, at Input) {
	d, x, p := r.d, at.X, at.P
	if len(x) != d || r.momentum != (p != nil) {
		panic(fmt.Sprintf("score: a row of %d coordinates (momentum: %v) for a network of %d (momentum: %v)",
			len(x), p != nil, d, r.momentum))
	}
	if at.Null && !r.reading.Null {
		panic("score: a hidden condition for a network that must see it")
	}
	free := d - len(r.reading.Given.Mean)
	begun := r.start(at.T)
	for j := range x {
		v, unit := r.coordinate(at, j), cmp.Or(r.reading.Unit, 1)
		if j < len(r.reading.Scales) {
			if p != nil {
				v -= begun.b * p[j]
			}
			unit = math.Sqrt(r.reading.Scales[j]*r.reading.Scales[j] + begun.v)
		}
		if j < free {
			v /= unit
		}
		dst[j] = T(v)
	}
	for j, v := range p {
		dst[d+j] = T(v)
	}
	t := at.T
	if r.reading.Share {
		t /= r.reading.Horizon
	}
	dst[d+len(p)] = T(t)
	features := dst[d+len(p)+1:]
	if octaves := r.reading.Octaves; octaves > 0 {
		for j := range x {
			angle, size := r.wave(begun, at, j)
			waves(features[2*j:], angle, size, octaves, 2*d)
		}
		features = features[2*d*octaves:]
	}
	if octaves := r.reading.TimeOctaves; octaves > 0 {
		waves(features, math.Pi/r.reading.Horizon*at.T, 1, octaves, 2)
		features = features[2*octaves:]
	}
	if r.reading.Null {
		features[0] = 0
		if at.Null {
			features[0] = 1
		}
	}
}

// coordinate returns x_j from its center, in the unit of x; of a condition as the network reads it.
func (r reader[T]) coordinate(at Input, j int) float64 {
	given := r.reading.Given
	k := j - (r.d - len(given.Mean))
	switch {
	case k < 0 && j < len(r.reading.Center):
		return at.X[j] - r.reading.Center[j]
	case k < 0:
		return at.X[j]
	case at.Null:
		return 0
	}
	return (at.X[j] - given.Mean[k]) / given.Scale[k]
}

// A start is what the coordinates at a time have in common: Reading.Start's b and v, and of those that move the size
// of the first wave of φ, and its ω.
type start struct{ b, v, size, ω float64 }

func (r reader[T]) start(t float64) start {
	s := start{size: 1, ω: 2 * math.Pi / r.reading.Wavelength}
	if r.reading.Start != nil {
		s.b, s.v = r.reading.Start(t)
		s.size = math.Exp(-s.v * s.ω * s.ω / 2)
	}
	return s
}

// wave returns the angle and the size of the first wave of coordinate j.
func (r reader[T]) wave(s start, at Input, j int) (angle, size float64) {
	y := r.coordinate(at, j)
	if j >= r.d-len(r.reading.Given.Mean) {
		y *= cmp.Or(r.reading.Unit, 1)
	}
	if _, still := slices.BinarySearch(r.reading.Still, j); still {
		return s.ω * y, 1
	}
	if at.P != nil {
		y -= s.b * at.P[j]
	}
	return s.ω * y, s.size
}

// waves writes size^(4^i) times sin and cos of 2^i angle for i < octaves, each pair stride after the one before.
func waves[T kernel.Float](dst []T, angle, size float64, octaves, stride int) {
	sin, cos := math.Sincos(angle)
	for i := range octaves {
		dst[i*stride], dst[i*stride+1] = T(size*sin), T(size*cos)
		sin, cos = 2*sin*cos, (cos-sin)*(cos+sin)
		size *= size
		size *= size
	}
}

// GraphRow is Row as a graph: (x, p̃, t, φ(x), χ(t)), and where the condition is hidden. It computes as Row does,
// except for the waves of octaves: each is a sine, not a double angle of the octave before.
func (r reader[T]) GraphRow(at Symbols) (onnx.Value, error) {
	g, d, own := at.Graph, r.d, r.reading
	free := d - len(own.Given.Mean)
	// c = (x − from)/per: from the center, in the unit of x; of a condition as the network reads it.
	from, per, unit, wave := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for j := range d {
		per[j], unit[j], wave[j] = 1, cmp.Or(own.Unit, 1), 1
		if j < len(own.Center) {
			from[j] = own.Center[j]
		}
		if k := j - free; k >= 0 {
			from[j], per[j], unit[j], wave[j] = own.Given.Mean[k], own.Given.Scale[k], 1, cmp.Or(own.Unit, 1)
		}
	}
	c := g.Div(g.Sub(at.X, g.Constant(from, 1, d)), g.Constant(per, 1, d))
	var hidden onnx.Value
	if own.Null {
		hidden = g.Unsqueeze(g.Input(GraphHidden, onnx.Batch), 1)
		mask := make([]float64, d) // of the condition
		for j := free; j < d; j++ {
			mask[j] = 1
		}
		c = g.Mul(c, g.Sub(g.Number(1), g.Mul(hidden, g.Constant(mask, 1, d))))
	}
	x, size := c, g.Constant(unit, 1, d)
	if own.Scales != nil {
		moves, squares := make([]float64, d), slices.Repeat([]float64{1}, d)
		for j, u := range own.Scales {
			moves[j], squares[j] = 1, u*u
		}
		y, v, err := r.graphStart(at, c, moves)
		if err != nil {
			return y, err
		}
		x, size = y, g.Of1("Sqrt", g.Add(g.Constant(squares, 1, d), g.Mul(v, g.Constant(moves, 1, d))))
	}
	row := []onnx.Value{g.Div(x, size)}
	if r.momentum {
		row = append(row, at.P)
	}
	t := g.Unsqueeze(at.T, 1)
	if own.Share {
		row = append(row, g.Div(t, g.Number(own.Horizon)))
	} else {
		row = append(row, t)
	}
	if own.Octaves > 0 {
		φ, err := r.graphWaves(at, g.Mul(c, g.Constant(wave, 1, d)))
		if err != nil {
			return onnx.Value{}, err
		}
		row = append(row, φ)
	}
	if own.TimeOctaves > 0 {
		row = append(row, interleave(g, g.Mul(t, g.Constant(doubling(math.Pi/own.Horizon, own.TimeOctaves), 1,
			own.TimeOctaves)), onnx.Value{}, own.TimeOctaves))
	}
	if own.Null {
		row = append(row, hidden)
	}
	return g.Cast(g.Concat(1, row...), onnx.TypeOf[T]()), nil
}

// graphWaves returns φ of y, n×d: of each octave sin and cos of 2^i ω y_j, times exp(−½ v (2^i ω)²).
func (r reader[T]) graphWaves(at Symbols, y onnx.Value) (onnx.Value, error) {
	g, d, octaves, ω := at.Graph, r.d, r.reading.Octaves, 2*math.Pi/r.reading.Wavelength
	var size onnx.Value
	if r.reading.Start != nil {
		moves, shrink := make([]float64, d), make([]float64, octaves*d)
		for j, still := 0, r.reading.Still; j < d; j++ {
			if len(still) > 0 && still[0] == j {
				still = still[1:]
				continue
			}
			moves[j] = 1
			for i, w := range doubling(ω, octaves) {
				shrink[i*d+j] = w * w / 2
			}
		}
		start, v, err := r.graphStart(at, y, moves)
		if err != nil {
			return start, err
		}
		y = start
		size = g.Of1("Exp", g.Of1("Neg", g.Mul(g.Unsqueeze(v, 2), g.Constant(shrink, 1, octaves, d))))
	}
	angle := g.Mul(g.Unsqueeze(y, 1), g.Constant(doubling(ω, octaves), 1, octaves, 1))
	return interleave(g, angle, size, octaves*d), nil
}

// graphStart returns y of coordinates x, where noise moves only some, and v of Start, n×1.
func (r reader[T]) graphStart(at Symbols, x onnx.Value, moves []float64) (y, v onnx.Value, err error) {
	g := at.Graph
	b, err := at.Course("b of its start", func(t float64) float64 { b, _ := r.reading.Start(t); return b })
	v, other := at.Course("v of its start", func(t float64) float64 { _, v := r.reading.Start(t); return v })
	if err = cmp.Or(err, other); err == nil && r.momentum {
		x = g.Sub(x, g.Mul(g.Mul(g.Unsqueeze(b, 1), g.Constant(moves, 1, r.d)), at.P))
	}
	return x, g.Unsqueeze(v, 1), err
}

// interleave returns sin and cos of angles side by side, of as many angles a row, times size if there is one.
func interleave(g *onnx.Graph, angle, size onnx.Value, angles int) onnx.Value {
	sin, cos := g.Of1("Sin", angle), g.Of1("Cos", angle)
	if size.Name != "" {
		sin, cos = g.Mul(size, sin), g.Mul(size, cos)
	}
	return g.Reshape(g.Concat(-1, g.Unsqueeze(sin, -1), g.Unsqueeze(cos, -1)), onnx.Batch, 2*angles)
}

// doubling returns ω, 2ω, 4ω, …
func doubling(ω float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Ldexp(ω, i)
	}
	return out
}
