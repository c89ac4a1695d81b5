package main

import (
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Both kinds of timing run, on the built-in molecule and on one from a file, and are of the size
// of microseconds; a third kind is refused.
func TestMeasure(t *testing.T) {
	file := testkit.Must(amber.ReadPrmtop("../../../../domain/molecule/amber/testdata/dipeptide.prmtop"))
	for _, s := range []*amber.System{amber.AlanineDipeptide(), file} {
		for _, what := range []string{"energies", "steps"} {
			million, err := measure(what, s, amber.Vacuum, amber.AlanineStart(), 0.02)
			if err != nil || !(million > 0.1 && million < 1e4) {
				t.Errorf("%s: %v s a million, %v", what, million, err)
			}
		}
	}
	testkit.Refused(t, testkit.Err(measure("calls", file, amber.Vacuum, amber.AlanineStart(), 1)), `"calls"`)
}
