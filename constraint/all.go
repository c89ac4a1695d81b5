package constraint

import (
	"fmt"
	"strings"
)

// All returns the set of points that are in each of the sets, of one dimension: their constraints on the same
// coordinates. Names that two sets give are told apart by the set's number, "1.radius". What a set knows in closed form
// of its own Σ is not true of fewer points, and is left out; geometry sees to constraints that repeat each other. It
// panics without sets, or where dimensions differ.
func All(sets ...Set) Set {
	if len(sets) == 0 {
		panic("constraint: all of no sets")
	}
	d := sets[0].Dim()
	count := map[string]int{}
	for _, s := range sets {
		if s.Dim() != d {
			panic(fmt.Sprintf("constraint: all of sets in R^%d and R^%d", d, s.Dim()))
		}
		for _, n := range Components(s) {
			count[n]++
		}
	}
	numbered := func(i int, n string) string { return fmt.Sprintf("%d.%s", i, n) }
	s := &all{newJoin(sets, make([]int, len(sets)), d, func(i int, n string) string {
		if count[n] > 1 {
			return numbered(i, n)
		}
		return n
	}), sets}
	if repeated(s.names) {
		s.join = newJoin(sets, make([]int, len(sets)), d, numbered)
	}
	return s
}

func repeated(names []string) bool {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return true
		}
		seen[n] = true
	}
	return false
}

type all struct {
	join
	sets []Set
}

func (s *all) Unwrap() []Set { return s.sets }

func (s *all) Capabilities() Capabilities {
	return s.capabilities("intersection of "+list(s.sets, " and "), func(_ int, err error) error { return err })
}

func (s *all) NewEvaluator(rows int) Evaluator { return s.evaluator(rows).functions() }

func list(sets []Set, between string) string {
	const shown = 3
	var names []string
	for _, s := range sets[:min(shown, len(sets))] {
		name := Name(s)
		switch s.(type) {
		case *all, *product:
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	if more := len(sets) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, between)
}
