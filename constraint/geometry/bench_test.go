package geometry

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// BenchmarkEvaluation times one evaluation of the geometry, At, Tangent and Landing, in ns a point.
func BenchmarkEvaluation(b *testing.B) {
	run := func(name string, s constraint.Set, x []float64) {
		b.Run(name, func(b *testing.B) {
			d := s.Dim()
			n := len(x) / d
			block := New(s, n, 0.1)
			v, out := normals(n*d, 3, 1), make([]float64, n*d)
			for b.Loop() {
				testkit.OK(b, block.At(x, n))
				block.Tangent(out, v)
				block.Landing(out)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n), "ns/point")
		})
	}
	for _, d := range []int{3, 30} {
		run(fmt.Sprintf("m=1/d=%d", d), zoo.Sphere{D: d}, normals(64*d, 1, 1))
	}
	for _, blocks := range []int{10, 40} {
		for _, more := range []int{1, 7} { // 8 and 14 equalities a block
			s := steps{blocks: blocks, k: 7, more: more, wall: math.Inf(1)}
			run(fmt.Sprintf("block=%d/d=%d/groups", 7+more, s.Dim()), s, s.near1(16))
			if blocks == 10 {
				run(fmt.Sprintf("block=%d/d=%d/whole", 7+more, s.Dim()), sets.Dense(s), s.near1(2))
			}
		}
	}
	for _, bonds := range []int{10, 100, 1000, 10000} {
		lengths := make([]float64, bonds)
		for i := range lengths {
			lengths[i] = 1
		}
		s := testkit.Must(zoo.NewChain(3, lengths, nil, false))
		x := normals(s.Dim(), 8, 1)
		for j := 3; j < len(x); j++ {
			x[j] += x[j-3]
		}
		run(fmt.Sprintf("chain=%d/sparse", bonds), s, x)
		if bonds <= 1000 {
			run(fmt.Sprintf("chain=%d/dense", bonds), sets.Dense(s), x)
		}
	}
	o := orthogonal(b, 10)
	run("m=55/d=100/closed", o, haar(o, 64, 0.1))
	run("m=55/d=100/factored", sets.Plain(o), haar(o, 16, 0.1))
}
