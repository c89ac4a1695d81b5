package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A folder of scratch is one process's, and is empty, whatever a process left there that was killed.
func TestScratch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".x.parts")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, "left"), 0o777))
	held := testkit.Must(Scratch(dir))
	if _, err := os.Stat(held.Path("left")); err == nil {
		t.Error("what was left is there")
	}
	if _, err := Scratch(dir); err == nil {
		t.Error("two processes have the folder")
	}
	testkit.OK(t, held.Drop())
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is there")
	}
	testkit.OK(t, testkit.Must(Scratch(dir)).Drop())
}
