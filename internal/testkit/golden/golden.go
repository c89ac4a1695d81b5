// Package golden reads the golden numbers: results of the reference
// implementation in float64, with given noise.
package golden

import (
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
