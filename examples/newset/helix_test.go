package newset

import (
	"fmt"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/sets"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The suite that every set must pass, alone and as part of others.
func TestHelix(t *testing.T) {
	s := testkit.Must(New(Keys{Slope: 0.5, Turns: 2}))
	for name, s := range map[string]constraint.Set{
		"alone":        s,
		"on a sphere":  constraint.All(s, zoo.Affine{A: [][]float64{{0, 0, 1}}, B: []float64{0.3}}),
		"with another": constraint.Product(s, zoo.Torus{Major: 2, Minor: 0.5}),
	} {
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, s, constrainttest.Options{Spread: 0.5}) })
	}
}

// Once listed it is made by its name in a problem file, with errors that name the key, and joined with others.
func Example() {
	sets.All = append(sets.All, Kind)
	for _, set := range []string{
		"{kind: helix, slope: 0.2, turns: 3}",
		"{kind: helix, turns: 3}",
		"{kind: helix, slope: 0.2, turns: 3, radius: 2}",
		"{product: [{kind: sphere, dim: 3}, {kind: helix, slope: 0.2, turns: 3}]}",
	} {
		p, err := problem.Load([]byte("set: "+set), "mine.yaml", "", nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		process, err := p.Build()
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(constraint.Name(process.Set), constraint.Components(process.Set))
	}
	// Output:
	// helix [cos sin top bottom]
	// mine.yaml:1: set.slope is missing; expected a slope above 0
	// mine.yaml:1: set.radius: this key belongs to set.kind sphere; set.kind is "helix"
	// product of sphere in R^3 and helix [0.radius 1.cos 1.sin 1.top 1.bottom]
}
