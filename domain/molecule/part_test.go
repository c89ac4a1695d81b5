package molecule

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A ring of atoms 1 to 4 with a tail 0 and a hydrogen 5.
func TestPart(t *testing.T) {
	m := Anonymous(6)
	for i, e := range []string{"C", "C", "C", "N", "O", "H"} {
		m.Atoms[i].Element = e
	}
	testkit.OK(t, m.SetBonds([]Bond{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 4}, {0, 5}}))
	testkit.EqualSlices(t, m.Heavy(), []int{0, 1, 2, 3, 4}, "heavy atoms")
	p := m.Part([]int{4, 1, 0})
	if p.Atoms[0].Element != "O" || !slices.Equal(p.Bonds, []Bond{{0, 1}, {1, 2}}) {
		t.Errorf("%+v", p)
	}
	for _, c := range []struct {
		j, k int
		want []int
	}{{1, 0, []int{0, 5}}, {0, 1, []int{1, 2, 4, 3}}, {1, 2, nil}, {0, 5, []int{5}}} {
		testkit.EqualSlices(t, m.Beyond(c.j, c.k), c.want, "beyond %d–%d", c.j, c.k)
	}
}
