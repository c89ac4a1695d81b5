package formula

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Families and vectors are several numbers; definitions of the set come first, then
// those of an entry, which later ones see too.
func TestNumbers(t *testing.T) {
	let := Definitions{{Name: "p", Expr: "x[0:2]"}}
	n := testkit.Must(NewNumbers(4, let, []Entry{
		{Component: Component{Name: "angle", Expr: "atan2(p[1], p[0])"}},
		{Component: Component{Name: "pair[i]", For: "i in 0..1", Expr: "x[i] * q[i]"},
			Let: Definitions{{Name: "q", Expr: "x[2:4]"}}},
		{Component: Component{Name: "both", Expr: "q"}},
	}))
	if !slices.Equal(n.Names, []string{"angle", "pair[0]", "pair[1]", "both[0]", "both[1]"}) ||
		!slices.Equal(n.Entry, []int{0, 1, 1, 2, 2}) {
		t.Errorf("%v of entries %v", n.Names, n.Entry)
	}
	got := make([]float64, 10)
	n.Values(got, []float64{0, 2, 3, 4, -1, 0, 5, 6}, 2)
	testkit.EqualSlices(t, got, []float64{math.Pi / 2, 0, 8, 3, 4, math.Pi, -5, 0, 5, 6}, "values")
}

// Faults name the entry, and the place in its formula.
func TestNumbersFaults(t *testing.T) {
	entry := func(name, ranges, formula string) Entry {
		return Entry{Component: Component{Name: name, For: ranges, Expr: formula}}
	}
	for _, c := range []struct {
		entries []Entry
		key     string
		column  int // 0: none
	}{
		{[]Entry{entry("a", "", "x[0]"), entry("b", "", "sin(x[0]) + y")}, "[1].expr", 13},
		{[]Entry{entry("a", "", "x[0] = 1")}, "[0].expr", 0},
		{[]Entry{entry("a", "", "x[7]")}, "[0].expr", 2},
		{[]Entry{entry("", "", "x[0]")}, "[0].name", 0},
		{[]Entry{entry("a", "", "x[0]"), entry("a", "", "x[1]")}, "[1].name", 0},
		{[]Entry{entry("a[i]", "i in 0..", "x[i]")}, "[0].for", 8},
		{[]Entry{{Component: Component{Name: "a", Expr: "u"}, Let: Definitions{{Name: "u", Expr: "x[0] +"}}}},
			"[0].let.u", 6},
	} {
		_, err := NewNumbers(2, nil, c.entries)
		var e *Error
		if !errors.As(err, &e) || e.Key != c.key {
			t.Errorf("%+v: %v", c.entries, err)
			continue
		}
		var at *expr.Error
		if c.column > 0 && (!errors.As(err, &at) || at.Column() != c.column) {
			t.Errorf("%v, want column %d", err, c.column)
		}
	}
}
