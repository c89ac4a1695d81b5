package score

import (
	"cmp"
	"math"

	"github.com/landing-diffusion/landing/internal/onnx"
)

// GraphRow is Row as a graph: (x, p̃, t, φ(x), χ(t)), and where the condition is hidden. It computes as Row
// does, but for the waves of octaves, each of which is a sine and not a double angle of the one before.
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
	row := []onnx.Value{g.Div(c, g.Constant(unit, 1, d))}
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
		b, err := at.Course("b of its waves", func(t float64) float64 { b, _ := r.reading.Start(t); return b })
		if err != nil {
			return b, err
		}
		v, err := at.Course("v of its waves", func(t float64) float64 { _, v := r.reading.Start(t); return v })
		if err != nil {
			return v, err
		}
		if r.momentum {
			y = g.Sub(y, g.Mul(g.Mul(g.Unsqueeze(b, 1), g.Constant(moves, 1, d)), at.P))
		}
		v = g.Unsqueeze(g.Unsqueeze(v, 1), 2)
		size = g.Of1("Exp", g.Of1("Neg", g.Mul(v, g.Constant(shrink, 1, octaves, d))))
	}
	angle := g.Mul(g.Unsqueeze(y, 1), g.Constant(doubling(ω, octaves), 1, octaves, 1))
	return interleave(g, angle, size, octaves*d), nil
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
