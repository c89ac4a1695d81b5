package constraint

// A Selector is a set that is only some of the connected components of
// {h = 0, g ≤ 0}, told apart by something that is no smooth constraint: SO(n) is
// the half of O(n) with positive determinant. The dynamics follow h and g alone;
// who uses points of the set must reject those that it does not select.
type Selector interface {
	// Selects reports whether the point x, on or near {h = 0, g ≤ 0}, belongs.
	Selects(x []float64) bool
	// Selection names the condition, for messages: "det > 0".
	Selection() string
}
