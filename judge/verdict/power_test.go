package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A process draws rows, which may depend on each other, in random order.
type process struct {
	name string
	d    int
	rows func(n int, st keyed.Stream) []float64
}

// clustered draws up to most rows around each of the places that a normal law has, step apart in one direction after the
// other: each from its place, or from the one before it.
func clusters(name string, d, most int, step float64, walk bool) process {
	return process{name, d, func(n int, st keyed.Stream) []float64 {
		x, place, z := make([]float64, 0, n*d), make([]float64, d), make([]float64, d)
		for c := uint64(0); len(x) < n*d; c++ {
			st.Normals(place, c, 0)
			for i := range 1 + st.Index(most, c, 1) {
				st.Normals(z, c, i+2)
				for k := range z {
					if z[k] = place[k] + step*z[k]; walk {
						place[k] = z[k]
					}
				}
				x = append(x, z...)
			}
		}
		return shuffled(x[:n*d], d, st.Seed())
	}}
}

func rounded(d int) process {
	return process{fmt.Sprintf("rounded rows in R^%d", d), d, func(n int, st keyed.Stream) []float64 {
		x := make([]float64, n*d)
		st.Normals(x, 0, 0)
		for i, v := range x {
			x[i] = math.Round(10*v) / 10
		}
		return x
	}}
}

var dependentRows = []process{
	clusters("swarms", 2, 19, 0.003, false), clusters("wide swarms", 3, 19, 0.05, false),
	clusters("repeated rows", 2, 5, 0, false), clusters("rows repeated within rounding", 5, 5, 1e-5, false),
	rounded(1), rounded(2), clusters("short walks", 3, 19, 0.005, true),
}
