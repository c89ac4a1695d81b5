//go:build unix

package inventory_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/study/inventory"
)

// A pipe instead of a file of a run, without a writer, is damage and no reason to wait.
func TestPipes(t *testing.T) {
	for _, name := range []string{run.MetricsFile, run.StatusFile, run.EvaluationFile, run.ConfigFile, ".lock"} {
		f := begin(t, filepath.Join(t.TempDir(), "r"), "trained", 9, "00000009")
		syscall.Unlink(f.Path(name))
		if err := syscall.Mkfifo(f.Path(name), 0o666); err != nil {
			t.Skip(err)
		}
		e := find(t, 1, f.Dir).Runs[0]
		if want := inventory.Damaged; name == ".lock" && e.State != inventory.Finished || name != ".lock" &&
			(e.State != want || !strings.Contains(e.Why, "pipe")) {
			t.Errorf("%s: %s, %s", name, e.State, e.Why)
		}
	}
}

// Where nobody can tell whether a lock is held, a training is taken for one that goes on.
func TestLockUnknown(t *testing.T) {
	f := begin(t, filepath.Join(t.TempDir(), "r"), "training", 3, "00000003")
	syscall.Unlink(f.Path(".lock"))
	if err := syscall.Mkfifo(f.Path(".lock"), 0o666); err != nil {
		t.Skip(err)
	}
	if f.Busy() != run.Unknown {
		t.Fatalf("a pipe in place of a lock: %v", f.Busy())
	}
	if e := find(t, 1, f.Dir).Runs[0]; e.State != inventory.Training || e.Why != "" {
		t.Errorf("%s, %q", e.State, e.Why)
	}
}
