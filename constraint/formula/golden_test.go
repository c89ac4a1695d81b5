package formula_test

import (
	"math"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// Values and gradients of the reference implementation, on and off Σ.
func TestGoldenOps(t *testing.T) {
	for _, c := range []struct {
		file, spec string
		d          int
	}{{"md_ops.npz", "alanine.yaml", 30}, {"robot10_ops.npz", "arm.yaml", 140}} {
		t.Run(c.spec, func(t *testing.T) {
			text := testkit.Must(os.ReadFile("testdata/" + c.spec))
			set, g := build(t, string(text)), golden.Read(t, c.file)
			for _, where := range []string{"on", "off"} {
				f := func(name string) []float64 { return g[name+"_"+where].AsFloat64() }
				x := f("x")
				n := len(x) / c.d
				v, j := make([]float64, 2*n), make([]float64, 2*n*c.d)
				set.NewEvaluator(n).Jacobians(v, j, x, n)
				h, gv, jh, jg := f("h"), f("g"), f("jac_h"), f("jac_g")
				for i := range n {
					within(t, "h", v[2*i:2*i+1], h[i:i+1])
					within(t, "g", v[2*i+1:2*i+2], gv[i:i+1])
					within(t, "∇h", j[2*i*c.d:(2*i+1)*c.d], jh[i*c.d:(i+1)*c.d])
					within(t, "∇g", j[(2*i+1)*c.d:(2*i+2)*c.d], jg[i*c.d:(i+1)*c.d])
				}
			}
		})
	}
}

func within(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9) {
			t.Fatalf("%s: element %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}
