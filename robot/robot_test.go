package robot

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/internal/testkit/golden"
)

// Where the reference puts the links of a Panda, and its flange.
func TestPandaGolden(t *testing.T) {
	z := golden.Read(t, "robot_fk.npz")
	q, links, ee := z["q"].AsFloat64(), z["links"].AsFloat64(), z["ee"].AsFloat64()
	a := Panda()
	k, x := a.NewKinematics(), make([]float64, a.Dim())
	for i := range len(q) / 7 {
		a.Coordinates(x, q[7*i:][:7])
		k.At(x)
		for l := range 8 {
			got, want := k.Point(l, [3]float64{}), ee[3*i:][:3]
			if l < 7 {
				want = links[21*i+3*l:][:3]
			}
			for c := range 3 {
				if math.Abs(got[c]-want[c]) > 1e-12 {
					t.Errorf("row %d link %d: %v, want %v", i, l, got, want)
				}
			}
		}
	}
}
