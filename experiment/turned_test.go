package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A set of atoms sees how they lie, but for one that holds no more of it than one place for each way of
// lying: a centre at the origin.
func TestPlaced(t *testing.T) {
	const bonds = `{name: "bond[i]", for: "i in 0..2", expr: "distance(b[i], b[i+1]) = 1"}`
	// Four atoms of bonds 1 about the origin, and the same moved.
	about := []float64{1, 0.5, 0, 0, 0.5, 0, 0, -0.5, 0, -1, -0.5, 0}
	moved := make([]float64, 12)
	for i, v := range about {
		moved[i] = v + [3]float64{2, 0, 1}[i%3]
	}
	for _, c := range []struct {
		what string
		also string
		x    []float64
		sees string // a component
	}{
		{"bonds", "", moved, ""},
		{"centre", `{name: "centre[k]", for: "k in 0..2", expr: "sum(i in 0..3, b[i][k]) = 0"}`, about, ""},
		{"centre elsewhere", `{name: "centre[k]", for: "k in 0..2", expr: "sum(i in 0..3, b[i][k]) = [8, 0, 4][k]"}`,
			moved, "centre[1]"}, // the turn leaves the first
		{"centre of height", `{name: height, expr: "sum(i in 0..3, b[i][2]) = 0"}`, about, "height"},
		{"first atom held", `{name: "first[k]", for: "k in 0..2", expr: "b[0][k] = [1, 0.5, 0][k]"}`, about,
			"first[0]"},
		{"wall", `{name: "centre[k]", for: "k in 0..2", expr: "sum(i in 0..3, b[i][k]) = 0"}` + wall, about, "wall"},
	} {
		equality, inequality, _ := strings.Cut(c.also, "|")
		text := "set:\n  dim: 12\n  let: {b: \"reshape(x, 4, 3)\"}\n  equality:\n    - " + bonds + "\n"
		if equality != "" {
			text += "    - " + equality + "\n"
		}
		if inequality != "" {
			text += "  inequality:\n    - " + inequality + "\n"
		}
		p := testkit.Must(problem.Load([]byte(text), c.what, "", problem.ParseSettings("prior=empirical")))
		proc := testkit.Must(p.Build())
		want := ""
		if c.sees != "" {
			want = fmt.Sprintf("component %q of the set", c.sees)
		}
		testkit.Equal(t, fixed(proc, c.x), want, "%s", c.what)
	}
}

// wall is an inequality that sees how points lie.
const wall = `|{name: wall, expr: "b[0][2] <= 0.5"}`

// A force that does not turn along is seen, whatever holds the centre.
func TestPlacedPotential(t *testing.T) {
	p := testkit.Must(problem.Load([]byte(`
set: {dim: 9, equality: [{name: "centre[k]", for: "k in 0..2", expr: "x[k] + x[k+3] + x[k+6] = 0"}]}
`), "", "", problem.ParseSettings("prior=empirical")))
	proc := testkit.Must(p.Build())
	x := []float64{1, 0, 0, -1, 1, 0, 0, -1, 0}
	testkit.Equal(t, fixed(proc, x), "")
	proc.Potential = langevin.Linear{B: []float64{1, 0, 0, 0, 0, 0, 0, 0, 0}}
	testkit.Equal(t, fixed(proc, x), "the potential")
}
