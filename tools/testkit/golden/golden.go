// Package golden reads the golden numbers: results of the reference
// implementation in float64, with given noise. They lie in testdata, whose
// README.md says what each is.
package golden

import (
	"bytes"
	"embed"
	"encoding/json"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

//go:embed testdata
var files embed.FS

// Read reads an NPZ file of golden numbers.
func Read(t testing.TB, name string) map[string]arrayfile.Array {
	t.Helper()
	return Decode(t, testkit.Must(files.ReadFile("testdata/"+name)))
}

// Decode returns the arrays of the bytes of an NPZ file.
func Decode(t testing.TB, b []byte) map[string]arrayfile.Array {
	t.Helper()
	z, arrays := testkit.Must(arrayfile.NewNPZ(bytes.NewReader(b), int64(len(b)))), map[string]arrayfile.Array{}
	for _, name := range z.Names() {
		arrays[name] = testkit.Must(z.Read(name, math.MaxInt))
	}
	return arrays
}

// ReadJSON reads a JSON file of golden numbers into v.
func ReadJSON(t testing.TB, name string, v any) {
	t.Helper()
	testkit.OK(t, json.Unmarshal(testkit.Must(files.ReadFile("testdata/"+name)), v))
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
