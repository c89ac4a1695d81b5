package main

import (
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// README.md shows what the demo prints, on a processor with its kernels.
func TestReadmeDemo(t *testing.T) {
	if !testkit.Long() || kernel.Name() != "avx512" {
		t.Skip("half a minute of training, with LANDING_LONG=1 and AVX-512")
	}
	_, text, _ := strings.Cut(string(testkit.Must(os.ReadFile("../../README.md"))), "The demo prints:\n\n")
	text, _, _ = strings.Cut(text, "…")
	printed, lines := ok(t, t.TempDir(), "demo").stdout, 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			if lines++; !strings.Contains(printed, line) {
				t.Errorf("README.md shows %q; the demo prints\n%s", line, printed)
			}
		}
	}
	if lines < 6 {
		t.Errorf("README.md shows %d lines of the demo", lines)
	}
}
