package score

import (
	"fmt"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
)

// BenchmarkForward measures the latency of inference through both networks of the paper's recipes.
func BenchmarkForward(b *testing.B) {
	for _, sizes := range [][]int{{7, 512, 512, 512, 512, 512, 3}, {281, 1024, 1024, 1024, 1024, 1024, 140}} {
		for i := range 3 * (kernel.BFloat16 + 1) {
			n, p := []int{1, 64, 2000}[i%3], i/3
			if kernel.Effective(p) != p {
				continue
			}
			m := NewMLP[float32](sizes, 1)
			ws, in := pack(m, p, false).NewWorkspace(n, false), make([]float32, n*m.In())
			for i := range in {
				in[i] = float32(i%17) / 17
			}
			b.Run(fmt.Sprintf("%s/%v/%dwide/%drows", kernel.Name(), p, sizes[1], n), func(b *testing.B) {
				for b.Loop() {
					ws.Forward(in, n)
				}
				flops := 0
				for l := range m.Layers() {
					flops += 2 * n * sizes[l] * sizes[l+1]
				}
				b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
