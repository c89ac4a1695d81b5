package landing

import (
	"os"
	"regexp"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// What the package's text names is there.
func TestDoc(t *testing.T) {
	text := testkit.Must(os.ReadFile("doc.go"))
	named := regexp.MustCompile(`\[github\.com/landing-diffusion/landing/([a-z/]+)\]`).FindAllSubmatch(text, -1)
	folders := []string{"cmd/landing", "examples/chain", "docs/architecture.md", "constraint/zoo", "constraint/formula",
		"tools/constrainttest"}
	for _, m := range named {
		folders = append(folders, string(m[1]))
	}
	if len(named) < 5 {
		t.Errorf("%d packages are named", len(named))
	}
	for _, f := range folders {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
}
