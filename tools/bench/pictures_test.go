package main

import (
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

var pictures = flag.Bool("pictures", false, "write the picture of docs/benchmarks.md anew")

// A point of a chain of m equations costs about m with its sparse factors and m³ with dense ones.
func TestPictures(t *testing.T) {
	lines := []figure.Series{{Name: "sparse factors"}, {Name: "dense factors"}}
	sizes := []int{10, 30, 100}
	if *pictures {
		sizes = append(sizes, 300)
	}
	for _, m := range sizes {
		lengths := make([]float64, m)
		for i := range lengths {
			lengths[i] = 1
		}
		chain := testkit.Must(zoo.NewChain(3, lengths, nil, false))
		x, out := make([]float64, chain.Dim()), make([]float64, chain.Dim())
		keyed.New(1, keyed.Probe, 0).Normals(x, 0, 0)
		for i := 3; i < len(x); i++ {
			x[i] += x[i-3]
		}
		for i, s := range []constraint.Set{chain, sets.Dense(chain)} {
			block, least := geometry.New(s, 1, 0.1), math.Inf(1)
			for turn := 0; turn == 0 || turn < 20 && least < 1e7; turn++ {
				start, n := time.Now(), 0
				for n == 0 || n < 100 && time.Since(start) < 5*time.Millisecond {
					testkit.OK(t, block.At(x, 1))
					block.Tangent(out, x)
					block.Landing(out)
					n++
				}
				least = min(least, float64(time.Since(start))/float64(n))
			}
			lines[i].X, lines[i].Y = append(lines[i].X, float64(m)), append(lines[i].Y, least/1000)
		}
	}
	if sparse, dense := lines[0].Y[2], lines[1].Y[2]; !(sparse < dense) {
		t.Errorf("100 equations take %.3g µs with sparse factors, %.3g µs with dense ones", sparse, dense)
	}
	if *pictures {
		file := testkit.Must(os.Create("../../docs/images/geometry.png"))
		testkit.OK(t, figure.Lines(figure.LineOptions{XLabel: "equations of a chain", YLabel: "µs per point",
			LogX: true, LogY: true}, lines...).WritePNG(file, 640))
		testkit.OK(t, file.Close())
	}
}
