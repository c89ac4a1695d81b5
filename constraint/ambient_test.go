package constraint_test

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The space around a set has no components, every direction but those held, and the set
// itself within; a set that has none is that space.
func TestAmbient(t *testing.T) {
	cap := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	s := constraint.Ambient(constraint.Hold(cap, []int{1}))
	if n := len(constraint.Components(s)); n != 0 || s.Dim() != 3 || constraint.Name(s) != "R^3" {
		t.Errorf("%d components, %d coordinates, %s", n, s.Dim(), constraint.Name(s))
	}
	if own := s.Capabilities(); !slices.Equal(own.Held, []int{1}) || own.SampleUniform != nil || own.Fault != nil {
		t.Errorf("%+v", own)
	}
	if _, ok := constraint.As[zoo.Cap](s); !ok {
		t.Error("the set within is not found")
	}
	g := geometry.New(s, 2, 0)
	testkit.OK(t, g.At([]float64{1, 2, 3, 4, 5, 6}, 2))
	v := []float64{1, 1, 1, 1, 1, 1}
	g.Tangent(v, v)
	testkit.EqualSlices(t, v, []float64{1, 0, 1, 1, 0, 1}, "tangents")
	if g.Landing(v); !slices.Equal(v, make([]float64, 6)) {
		t.Errorf("it lands by %v", v)
	}
	if e := (zoo.Euclidean{D: 2}); constraint.Ambient(e) != constraint.Set(e) {
		t.Error("R^2 is another set than the space around it")
	}
}
