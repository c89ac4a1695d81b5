package discover

import (
	"math"
	"testing"
)

// Seams reports columns that take all of a circle, but not those that take less, more, or few values.
func TestSeams(t *testing.T) {
	const n = 200
	columns := []struct {
		unit  string
		value func(u float64) float64 // of u from 0 to 1
	}{
		{"degrees", func(u float64) float64 { return math.Round(1e2*(360*u-180)) / 1e2 }},
		{"", func(u float64) float64 { return 340*u - 170 }},
		{"radians", func(u float64) float64 { return 2 * math.Pi * u }},
		{"", func(u float64) float64 { return 360*u - 170 }},
		{"", func(u float64) float64 { return 90*math.Round(4*u) - 180 }}, // five values
		{"degrees", func(u float64) float64 { return 360 * u * u }},
		{"radians", func(u float64) float64 { return math.Pi * math.Cos(math.Pi*u) }},
		{"", func(u float64) float64 { return u }},
	}
	d := len(columns)
	x := make([]float64, n*d)
	for i := range n {
		for k, c := range columns {
			x[i*d+k] = c.value(float64(i) / (n - 1))
		}
	}
	got := map[int]string{}
	for _, s := range Seams(x, n, d) {
		got[s.Column] = s.Unit
	}
	for k, c := range columns {
		if got[k] != c.unit {
			t.Errorf("column %d: %q, want %q", k, got[k], c.unit)
		}
	}
}

// Whole degrees end at 359, and are angles of a circle however many rows there are. Those that end at 356 are not.
func TestSeamOfWholeDegrees(t *testing.T) {
	for _, n := range []int{2000, 4000} {
		x := make([]float64, 2*n)
		for i := range n {
			u := float64(i) / float64(n)
			x[2*i], x[2*i+1] = math.Floor(360*u), math.Floor(357*u)
		}
		if got := Seams(x, n, 2); len(got) != 1 || got[0].Column != 0 {
			t.Errorf("%d rows: %v", n, got)
		}
	}
}
