package problem

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

const observed = `name: torus
data: {kind: points, path: x.csv}
set:
  dim: 3
  let: {ring: "norm(x[0:2]) - 2"}
  equality:
    - {name: tube, expr: "norm([ring, x[2]]) = 0.6"}
observe:
  - {name: around the tube, expr: "atan2(x[2], ring)", circular: true}
  - {name: "x[j]", for: "j in 0..1", expr: "x[j]", range: [-2.6, 2.6], bins: 20, unit: m}
  - {name: hour, expr: "atan2(x[1], x[0])*12/pi", circular: true, range: [0, 24]}
prior: empirical
`

// Entries have their defaults, formulas see the definitions of the set, and the resolved problem is the same again.
func TestObserve(t *testing.T) {
	p := testkit.Must(Load([]byte(observed), "torus.yaml", "", nil))
	testkit.Must(p.Build())
	again, err := Load(p.Resolved(), "again", "", nil)
	if err != nil || string(again.Resolved()) != string(p.Resolved()) {
		t.Errorf("%v:\n%s", err, p.Resolved())
	}
	o := testkit.Must(p.Observables(3))
	if len(o.List) != 4 {
		t.Fatalf("%+v", o.List)
	}
	tube, first, hour := o.List[0], o.List[1], o.List[3]
	if tube.Lo != -math.Pi || tube.Hi != math.Pi || !tube.Circular || tube.N != 60 ||
		tube.File != "observe-1-around-the-tube" {
		t.Errorf("%+v", tube)
	}
	if first.Name != "x[0]" || first.Lo != -2.6 || first.N != 20 || first.Unit != "m" || first.Circular ||
		first.File != "observe-2-x-0" {
		t.Errorf("%+v", first)
	}
	if hour.Lo != 0 || hour.Hi != 24 || !hour.Circular {
		t.Errorf("%+v", hour)
	}
	got := make([]float64, 4)
	o.Values(got, []float64{0, 2, 0.6}, 1)
	for k, want := range []float64{math.Pi / 2, 0, 2, 6} {
		if math.Abs(got[k]-want) > 1e-15 {
			t.Errorf("%s is %v, want %v", o.List[k].Name, got[k], want)
		}
	}
}

// Faults name file, line, key, and the column of a formula.
func TestObserveFaults(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		p, err := Load([]byte(changed(observed, input)), "torus.yaml", "", nil)
		if err == nil {
			_, err = p.Build()
		}
		return fmt.Sprint(err)
	})
}
