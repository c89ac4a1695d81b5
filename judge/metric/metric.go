// Package metric scores samples: how far their law is from that of the data, how far they are from the constraint set,
// whether they copy the training rows, and whether the chains that made them have mixed.
//
// A score alone says little. NoiseFloor gives the value that a perfect memoriser of the training rows would get from as
// many samples, EnergyTest says whether two clouds of points can be told apart at all, and CountCopies whether a good
// score was earned by repeating what was seen.
//
// Points are row-major, n×d. Functions panic on shapes that do not fit, which are mistakes of the program; values that
// are not finite never panic, and each function says what they do to its result. The package reads no files and draws
// no figures.
package metric

import "fmt"

// rowsOf returns the number of points in x, and panics if it is not whole.
func rowsOf(name string, x []float64, d int) int {
	if d < 1 {
		panic(fmt.Sprintf("metric: %s: dimension %d", name, d))
	}
	if len(x)%d != 0 {
		panic(fmt.Sprintf("metric: %s: %d numbers are not points of dimension %d", name, len(x), d))
	}
	return len(x) / d
}
