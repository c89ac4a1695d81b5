// Package golden reads the golden numbers: results of the reference
// implementation in float64, with given noise.
package golden

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/internal/testkit"
)

// Read reads an NPZ file of golden numbers, or skips the test; see
// testkit.Shared.
func Read(t testing.TB, name string) map[string]arrayfile.Array {
	t.Helper()
	a, err := arrayfile.ReadNPZ(testkit.Shared(t, "golden/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Tolerance is how near to the reference's numbers ours must be.
const Tolerance = 1e-9

// Near fails the test unless every number is within Tolerance of the wanted one.
func Near(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= Tolerance) {
			t.Fatalf("%s: element %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}
