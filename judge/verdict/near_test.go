package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/judge/metric"
)

// Conformers repeat minima: some held-out rows lie on training rows, most lie far away. Samples that keep to training
// rows are found with 30 held-out rows; samples of the law itself are not (2.5e-4 a round at most).
func TestCopiesOfRowsInMinima(t *testing.T) {
	for round := range uint64(20) {
		rng := rand.New(rand.NewPCG(7, round))
		nearest := func(n int, repeats float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = 0.05 + 0.02*rng.Float64()
				if rng.Float64() > repeats {
					x[i] = 1.6 + 0.5*rng.Float64()
				}
			}
			return x
		}
		found := func(samples []float64) bool {
			j := &judge{Evidence: Evidence{SampleNearest: samples, HeldNearest: nearest(30, 0.2)}}
			j.copies()
			return len(j.found) > 0 && j.found[0].Code == Copies
		}
		if !found(nearest(8000, 0.93)) {
			t.Errorf("round %d: copies are not found", round)
		}
		if found(nearest(8000, 0.2)) {
			t.Errorf("round %d: draws of the law are called copies", round)
		}
	}
}

// Conformers that were relaxed to minima repeat each other. Draws of their law are no copies, however near to training
// rows: held-out rows are as near. A model that knows only the minima of its rows is found, though its samples lie
// further from these than held-out rows do.
func TestCopiesOfRelaxedRows(t *testing.T) {
	const d, minima = 4, 200
	rng := rand.New(rand.NewPCG(11, 1))
	at := make([]float64, d*minima)
	for i := range at {
		at[i] = rng.NormFloat64()
	}
	draw := func(n int, width float64, of func() int) (x []float64) {
		for range n {
			for k, m := 0, of(); k < d; k++ {
				x = append(x, at[m*d+k]+width*rng.NormFloat64())
			}
		}
		return x
	}
	var seen []int
	law := func() int { // some minima have many rows, most have few
		u := rng.Float64()
		return int(minima * u * u)
	}
	train := draw(400, 1e-5, func() int { seen = append(seen, law()); return seen[len(seen)-1] })
	held := draw(100, 1e-5, law)
	for name, x := range map[string][]float64{
		"law":      draw(4000, 1e-3, law),
		"sharper":  draw(4000, 1e-6, law),
		"memorise": draw(4000, 1e-3, func() int { return seen[rng.IntN(len(seen))] }),
	} {
		v := Of(evidence(x, held, train, d, 300, 1, -10))
		if copies := v.Has(Copies); copies != (name == "memorise") || v.Has(Blur) || !copies && v.Grade != Good ||
			copies && !strings.Contains(v.String(), "lie in the places of training rows") {
			t.Errorf("%s: %v %+v %+v", name, v, v.Findings, v.Skipped)
		}
	}
}

// roundedLaws draw a row, and round one as its file does.
var roundedLaws = []struct {
	name string
	d    int
	draw func(rng *rand.Rand) []float64
	file func(row []float64) []float64
}{
	{"wind", 3, func(rng *rand.Rand) []float64 { // a direction and a speed
		angle, speed := 1.2+2*rng.NormFloat64(), 4*math.Sqrt(rng.ExpFloat64())
		return []float64{math.Cos(angle), math.Sin(angle), speed}
	}, func(x []float64) []float64 {
		angle := math.Round(math.Atan2(x[1], x[0])*180/math.Pi) * math.Pi / 180
		return []float64{math.Cos(angle), math.Sin(angle), math.Round(10*x[2]) / 10}
	}},
	{"shares in percent", 4, func(rng *rand.Rand) []float64 {
		x := make([]float64, 4)
		sum := 0.0
		for k := range x {
			x[k] = rng.ExpFloat64() * float64(k+1)
			sum += x[k]
		}
		for k := range x {
			x[k] *= 100 / sum
		}
		return x
	}, decimals(1)},
	{"plane", 2, func(rng *rand.Rand) []float64 {
		return []float64{rng.NormFloat64(), rng.NormFloat64()}
	}, decimals(1)},
	{"line", 1, func(rng *rand.Rand) []float64 { return []float64{rng.NormFloat64()} }, decimals(3)},
	{"time and count", 2, func(rng *rand.Rand) []float64 {
		return []float64{rng.Float64(), 6 * rng.ExpFloat64()}
	}, func(x []float64) []float64 { return []float64{x[0], math.Round(x[1])} }},
}

// decimals rounds numbers to some decimals, as a file that is written so and read.
func decimals(n int) func([]float64) []float64 {
	return func(x []float64) []float64 {
		out, power := make([]float64, len(x)), math.Pow10(n)
		for k, v := range x {
			out[k] = math.Round(v*power) / power
		}
		return out
	}
}

// Draws of a law are no copies of rounded rows, whether the draws are rounded or not: of all rounds at most a share
// levels[Copies] has such a finding, so two in 300 have a chance of 0.01 at most. Planted copies are found.
func TestCopiesOfRoundedRows(t *testing.T) {
	rounds, n, m := max(6, *verdicts/8), 1500, 2000
	for _, l := range roundedLaws {
		found := map[string]int{}
		for round := range uint64(rounds) {
			rng := rand.New(rand.NewPCG(17, round))
			var rows []float64
			for range m {
				rows = append(rows, l.file(l.draw(rng))...)
			}
			held, train := rows[:m/5*l.d], rows[m/5*l.d:]
			for name, copies := range map[string]int{"law": 0, "rounded": 0, "10 %": n / 10, "30 %": 3 * n / 10,
				"near 30 %": 3 * n / 10} {
				var x []float64
				for i := range n {
					row := l.draw(rng)
					if i < copies {
						at := rng.IntN(len(train)/l.d) * l.d
						row = slices.Clone(train[at : at+l.d])
						for k := range row {
							if strings.HasPrefix(name, "near") {
								row[k] += 1e-4 * rng.NormFloat64()
							}
						}
					}
					if name == "rounded" {
						row = l.file(row)
					}
					x = append(x, row...)
				}
				near := metric.Snap(x, train, l.d)
				if near == nil {
					t.Fatalf("%s: no column counts as rounded", l.name)
				}
				j := &judge{Evidence: Evidence{Samples: x, Rounded: near, Train: train, Dim: l.d,
					SampleNearest: metric.NearestDistances(near, train, l.d),
					HeldNearest:   metric.NearestDistances(held, train, l.d)}}
				j.outX, j.outH = make([]bool, n), make([]bool, m/5)
				j.copies()
				if len(j.found) > 0 {
					found[name]++
				}
			}
		}
		t.Logf("%s, of %d: %v", l.name, rounds, found)
		if found["law"] > 1 || found["rounded"] > 1 || found["10 %"] < rounds || found["30 %"] < rounds {
			t.Errorf("%s, of %d: %v", l.name, rounds, found)
		}
	}
}
