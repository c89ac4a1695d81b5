package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Steps are counted before they are taken: the elements of what a range adds up, and x.
func TestStepsAreCounted(t *testing.T) {
	steps := func(formula string) int {
		s := NewScope(NewGraph(1000))
		testkit.Must(s.Parse(formula))
		return *s.steps
	}
	if n := steps("x[0]"); n < 1000 {
		t.Errorf("x of 1000 elements is counted as %d steps", n)
	}
	if n := steps("norm(sum(i in 0..49, x))") - steps("norm(sum(i in 0..9, x))"); n < 40*1000 {
		t.Errorf("40 more vectors of 1000 in a sum are counted as %d steps", n)
	}
	// A determinant of 8 rows takes about 64·2⁸ steps.
	if n := steps("det(reshape(x[0:64], 8, 8))") - steps("len(reshape(x[0:64], 8, 8))"); n < 63<<8 || n > 65<<8 {
		t.Errorf("a determinant of 8 rows is counted as %d steps", n)
	}
}

// Every function refuses one argument more than it takes, and one fewer, and not what it takes.
func TestArity(t *testing.T) {
	takes := map[string][2]int{"angle": {2, 3}, "dihedral": {4, 4}, "reshape": {3, 3}, "where": {3, 3},
		"max": {1, -1}, "min": {1, -1}}
	for _, name := range []string{"atan2", "dot", "cross", "distance", "times"} {
		takes[name] = [2]int{2, 2}
	}
	for name := range functions {
		least, most := 1, 1
		if n, ok := takes[name]; ok {
			least, most = n[0], n[1]
		}
		refused := func(n int) bool {
			arguments := strings.TrimSuffix(strings.Repeat("1, ", n), ", ")
			_, err := NewScope(NewGraph(2)).Parse(name + "(" + arguments + ")")
			return err != nil && strings.Contains(err.Error(), fmt.Sprintf("%s takes", name)) &&
				strings.Contains(err.Error(), fmt.Sprintf(", not %d: ", n))
		}
		if least > 1 && !refused(least-1) || refused(least) {
			t.Errorf("%s takes %d arguments", name, least)
		}
		if most > 0 && (refused(most) || !refused(most+1)) {
			t.Errorf("%s takes at most %d arguments", name, most)
		}
	}
}

// What is built in Go after a formula has no place in it.
func TestPlaceEndsWithTheFormula(t *testing.T) {
	g := NewGraph(2)
	testkit.Must(NewScope(g).Parse("x[0] + 1"))
	p := testkit.Must(g.Compile(Sqrt(g.X().At(1))))
	if f := p.Fault([]float64{1, -1}, 0); f == nil || f.Place != (Place{}) {
		t.Errorf("the fault of what no formula says: %+v", f)
	}
}
