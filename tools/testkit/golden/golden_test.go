package golden

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The numbers are promises: every file is the one that SHA256SUMS lists, and there is no other.
func TestFiles(t *testing.T) {
	list := testkit.Must(files.ReadFile("testdata/SHA256SUMS"))
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: line %q", line)
		}
		want[name] = sum
	}
	entries := testkit.Must(files.ReadDir("testdata"))
	seen := 0
	for _, e := range entries {
		if e.Name() == "README.md" || e.Name() == "SHA256SUMS" {
			continue
		}
		b := testkit.Must(files.ReadFile("testdata/" + e.Name()))
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want[e.Name()] {
			t.Errorf("%s has SHA-256 %s, listed is %q", e.Name(), got, want[e.Name()])
		}
		seen++
	}
	if seen != len(want) {
		t.Errorf("%d files, %d listed, want the same", seen, len(want))
	}
}

// The command does not carry the golden numbers, nor anything else of the tests.
func TestNotInTheCommand(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/landing-diffusion/landing/cmd/landing").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	if !strings.Contains(string(out), "landing/experiment") {
		t.Fatalf("go list -deps names %d bytes without experiment", len(out))
	}
	if strings.Contains(string(out), "tools/testkit") {
		t.Error("cmd/landing imports tools/testkit")
	}
}
