package kernel

import (
	"fmt"
	"testing"
)

// each runs a test on every implementation that is tested on this machine.
func each[R interface {
	testing.TB
	Run(string, func(R)) bool
}](r R, f func(r R)) {
	was := active
	defer func() { active = was }()
	for _, active = range implementations() {
		r.Run(Name(), f)
	}
}

func gflops(b *testing.B, ops float64) {
	b.ReportMetric(ops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkLinear(b *testing.B) {
	was := active
	defer func() { active = was }()
	for _, active = range append(available(), nil) {
		for p := range BFloat16 + 1 {
			if Effective(p) == p {
				b.Run(fmt.Sprintf("%s/%v", Name(), p), func(b *testing.B) { benchmarkLinear(b, p) })
			}
		}
	}
}

func benchmarkLinear(b *testing.B, p Precision) {
	for _, s := range [][3]int{{16000, 1024, 1024}, {6400, 512, 512}, {400, 512, 512}, {128, 512, 512}, {64, 512, 512},
		{1, 512, 512}, {400, 512, 7}, {400, 3, 512}} {
		n, out, in := s[0], s[1], s[2]
		if active == nil && n > 1000 {
			continue
		}
		x, y, dw := fill[float32](n*in, 1), fill[float32](n*out, 2), fill[float32](out*in, 3)
		w := NewWeights[float32](out, in, true, p)
		w.Set(dw)
		scratch := make([]float32, Scratch[float32](n, out, in))
		run := func(what string, f func()) {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", what, n, out, in), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				gflops(b, 2*float64(n*out*in))
			})
		}
		run("forward", func() { MulTransposed(y, x, w, n, scratch) })
		run("input", func() { MulWeights(x, y, w, n, scratch) })
		run("weights", func() { AddGradient(dw, y, x, n, out, in, true, p, scratch) })
		if n == 1 {
			run("set", func() { w.Set(dw) })
		}
	}
}

func BenchmarkPasses(b *testing.B) {
	each(b, func(b *testing.B) {
		const n, m = 16, 512
		z, d, bias, y := fill[float32](n*m, 1), make([]float32, n*m), make([]float32, m), make([]float32, n*m)
		run := func(what string, f func()) {
			b.Run(what, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(n*m), "ns/element")
			})
		}
		run("BiasSiLU", func() { BiasSiLU(y, z, bias, n, m) })
		run("SiLUGrad", func() { SiLUGrad(d, z) })
		run("AddRows", func() { AddRows(bias, d, n, m) })
		g := fill[float32](n*m, 5)
		run("Adam", func() {
			Adam(y, z, d, g, AdamStep{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Scale: 1, T: 5})
		})
	})
}
