package formula_test

import (
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func build(t testing.TB, text string) *formula.Set {
	t.Helper()
	var spec formula.Spec
	testkit.OK(t, yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.Strict()))
	return testkit.Must(formula.New(spec))
}

const sphere = `
dim: 3
equality:
  - {name: radius, expr: "norm(x) = 1"}
`

const torus = `
dim: 3
let: {R: "2", r: "0.6", rho: "norm(x[0:2])"}
equality:
  - {name: tube, expr: "sqrt((rho - R)^2 + x[2]^2) - r"}
`

const bonds = `
dim: 15
equality:
  - {name: "bond[j]", for: "j in 0..3", expr: "distance(x[3*j:3*j+3], x[3*j+3:3*j+6]) - 1.3"}
`

const box = `
dim: 3
inequality:
  - {name: low, expr: "-0.4*vector(i in 0..2, i+1) <= x"}
  - {name: "high[i]", for: "i in 0..2", expr: "x[i] <= 0.5 + 0.1*i"}
`

const arm = `
dim: 14
let: {c: "x[0:7]", s: "x[7:14]"}
equality:
  - {name: "unit[j]", for: "j in 0..6", expr: "c[j]^2 + s[j]^2 - 1"}
`

const floor = `
inequality:
  - {name: "floor[j]", for: "j in 0..6", expr: "s[j] >= -0.8"}
`

func TestSuite(t *testing.T) {
	for name, text := range map[string]string{"sphere": sphere, "torus": torus, "bonds": bonds, "arm": arm,
		"box": box, "arm with a floor": arm + floor} {
		t.Run(name, func(t *testing.T) { constrainttest.Run(t, build(t, text), constrainttest.Options{}) })
	}
}

func TestNames(t *testing.T) {
	got := constraint.Components(build(t, box))
	want := []string{"low[0]", "low[1]", "low[2]", "high[0]", "high[1]", "high[2]"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("components %q, want %q", got, want)
		}
	}
}
