package inventory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Orders are the names of the orders of Sort.
func Orders() []string { return []string{"name", "state", "problem", "distance", "age", "size"} }

// Sort puts runs in an order, of equal ones by name: distance from the smallest, runs without one last; age from the
// youngest; size from the largest. An order that is not one of Orders panics.
func Sort(runs []Entry, order string) {
	slices.SortStableFunc(runs, func(a, b Entry) int {
		return cmp.Or(before(&a, &b, order), strings.Compare(a.Run, b.Run))
	})
}

func before(a, b *Entry, order string) int {
	switch order {
	case "name":
		return 0
	case "state":
		return slices.Index(States(), a.State) - slices.Index(States(), b.State)
	case "problem":
		return strings.Compare(a.Problem, b.Problem)
	case "distance":
		return cmp.Compare(a.far(), b.far())
	case "age":
		return b.Updated.Compare(a.Updated)
	case "size":
		return cmp.Compare(b.Bytes, a.Bytes)
	}
	panic("inventory: no order " + order)
}

// far is the distance, +Inf where there is none.
func (e *Entry) far() float64 {
	if e.Distance == nil || e.Distance.Value.IsNaN() {
		return math.Inf(1)
	}
	return float64(e.Distance.Value)
}
