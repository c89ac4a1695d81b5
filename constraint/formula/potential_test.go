package formula

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// f = sin(x₀)·x₁² + exp(−x₂) and its gradient by hand, at two points, from several
// goroutines; formulas that are no single number are refused at their key.
func TestPotential(t *testing.T) {
	p := testkit.Must(NewPotential(3, Definitions{{Name: "q", Expr: "x[1]^2"}}, "sin(x[0])*q + exp(-x[2])"))
	var _ langevin.Energy = p
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			x := []float64{0.3, -1.2, 0.5, float64(g), 2, -0.4}
			grad, value := make([]float64, 6), make([]float64, 2)
			p.Gradient(grad, x, 2)
			p.Value(value, x, 2)
			for i := range 2 {
				a, b, c := x[3*i], x[3*i+1], x[3*i+2]
				for j, want := range []float64{math.Cos(a) * b * b, 2 * math.Sin(a) * b, -math.Exp(-c)} {
					testkit.Near(t, grad[3*i+j], want, 1e-14*(1+math.Abs(want)), "∂%d at point %d", j, i)
				}
				if want := math.Sin(a)*b*b + math.Exp(-c); math.Abs(value[i]-want) > 1e-14*(1+math.Abs(want)) {
					t.Errorf("f at point %d: %v, want %v", i, value[i], want)
				}
			}
		}()
	}
	all.Wait()
	unknown := Definitions{{Name: "q", Expr: "y"}}
	for text, let := range map[string]Definitions{"x": nil, "x[3]": nil, "x[0": nil, "": nil, "x[0]": unknown} {
		var e *Error
		key := "expr"
		if let != nil {
			key = "let.q"
		}
		if _, err := NewPotential(3, let, text); !errors.As(err, &e) || e.Key != key {
			t.Errorf("%q: %v", text, err)
		}
	}
}
