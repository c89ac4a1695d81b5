package check

import (
	"os"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// docs/check.md has a row for every check.
func TestDocs(t *testing.T) {
	page := string(testkit.Must(os.ReadFile("../../docs/check.md")))
	for _, c := range checks {
		testkit.Contains(t, page, "\n| `"+c.name+"` |", "docs/check.md")
	}
}
