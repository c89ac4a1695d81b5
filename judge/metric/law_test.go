package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
)

// cellsOf returns n draws of a law of cells 0, 1, …, cell c with weight 1/(1 + c).
func cellsOf(cells, n int, stream keyed.Stream) []float64 {
	total := 0.0
	for c := range cells {
		total += 1 / float64(1+c)
	}
	x, u := make([]float64, n), make([]float64, 1)
	for i := range x {
		stream.Uniforms(u, uint64(i), 0)
		left, c := u[0]*total, 0
		for ; c < cells-1 && left >= 1/float64(1+c); c++ {
			left -= 1 / float64(1+c)
		}
		x[i] = float64(c)
	}
	return x
}

// jsdOf returns the distance, its divergence and what is always 0.
func jsdOf(cells int) func(a, b []float64) []float64 {
	return func(a, b []float64) []float64 {
		p, q := make([]float64, cells), make([]float64, cells)
		for _, c := range a {
			p[int(c)]++
		}
		for _, c := range b {
			q[int(c)]++
		}
		raised(p, earthEmpty)
		raised(q, earthEmpty)
		d := JSDistance(p, q)
		return []float64{d, d * d, 0}
	}
}

// The estimate is near what new draws of the law score against the rows, on average over data sets, where cells hold
// many rows and where most are empty, for a root and for what it is the root of, of as many draws as rows, fewer and
// more. The seeds are these: nothing here is left to chance.
func TestNewDraws(t *testing.T) {
	for _, c := range []struct {
		cells, rows, n int
		off            float64 // of a root; twice that of a divergence
	}{{20, 2000, 2000, 0.06}, {900, 2000, 2000, 0.06}, {900, 200, 200, 0.06}, {900, 2000, 200, 0.06},
		{20_000, 2000, 2000, 0.06}, {900, 2000, 20_000, 0.16}} {
		score := jsdOf(c.cells)
		var told, scored [2]float64
		const sets, draws = 12, 6
		for set := range sets {
			rows := cellsOf(c.cells, c.rows, keyed.New(uint64(set), keyed.Synthetic, 1))
			law := NewDraws(rows, 1, c.n, 5, score)
			if len(law) != 3 || law[2] != 0 {
				t.Fatalf("%+v: %v", c, law)
			}
			for draw := range draws {
				s := score(cellsOf(c.cells, c.n, keyed.New(uint64(set), keyed.Synthetic, uint64(2+draw))), rows)
				for k := range told {
					scored[k] += s[k] / sets / draws
				}
			}
			for k := range told {
				told[k] += float64(law[k]) / sets
			}
		}
		for k := range told {
			if r := told[k] / scored[k]; math.Abs(r-1) > c.off*float64(1+k) {
				t.Errorf("%+v, part %d: %.4f for %.4f, %.3f times", c, k, told[k], scored[k], r)
			}
		}
	}
}

// It is a function of rows and seed, and does not exist for few rows.
func TestNewDrawsOfFew(t *testing.T) {
	rows := cellsOf(50, 200, keyed.New(1, keyed.Synthetic, 1))
	before := slices.Clone(rows)
	a, b, other := NewDraws(rows, 1, 100, 3, jsdOf(50)), NewDraws(rows, 1, 100, 3, jsdOf(50)),
		NewDraws(rows, 1, 100, 4, jsdOf(50))
	if !slices.Equal(a, b) || slices.Equal(a, other) || !slices.Equal(rows, before) {
		t.Errorf("%v, %v, %v", a, b, other)
	}
	for _, few := range [][]float64{rows[:leastHalved-1], rows[:1], nil} {
		if got := NewDraws(few, 1, 100, 3, func(x, y []float64) []float64 { return []float64{1, 2} }); len(got) != 2 ||
			!got[0].IsNaN() || !got[1].IsNaN() {
			t.Errorf("%d rows: %v", len(few), got)
		}
	}
	if got := NewDraws(rows[:leastHalved], 1, 100, 3, jsdOf(50)); got[0].IsNaN() {
		t.Errorf("%d rows: %v", leastHalved, got)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if got := NewDraws(rows, 1, 100, 3, func(x, y []float64) []float64 { return []float64{v} }); !got[0].IsNaN() {
			t.Errorf("scores of %v: %v", v, got)
		}
	}
}
