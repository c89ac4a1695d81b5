package molecule

import (
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Two ways from a ring's start close a ring if they do not meet before.
func TestClosed(t *testing.T) {
	for _, c := range []struct {
		from  []int // by atom, the one before it on the way from 0
		i, j  int
		atoms []int
	}{
		{[]int{-1, 0, 1, 0}, 2, 3, []int{0, 1, 2, 3}},
		{[]int{-1, 0, 0}, 1, 2, []int{0, 1, 2}},
		{[]int{-1, -1, 4, -1, 0, -1, 4}, 2, 6, nil}, // both by atom 4
	} {
		testkit.EqualSlices(t, closed(c.from, 0, c.i, c.j), c.atoms)
	}
}
