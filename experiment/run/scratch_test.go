package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A folder of scratch stays while its process holds it, and while it is young; another process then removes it.
func TestScratch(t *testing.T) {
	parent := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(parent, name)
		testkit.OK(t, os.Mkdir(dir, 0o777))
		then := time.Now().Add(-age)
		testkit.OK(t, os.Chtimes(dir, then, then))
		return dir
	}
	fresh, left, other := make("x-1", 0), make("x-2", 2*young), make("y-1", 2*young)
	held := testkit.Must(Scratch(parent, "x-"))
	then := time.Now().Add(-2 * young)
	testkit.OK(t, os.Chtimes(held.Dir, then, then))
	second := testkit.Must(Scratch(parent, "x-"))
	for dir, stays := range map[string]bool{fresh: true, left: false, other: true, held.Dir: true, second.Dir: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v; stays: %v", filepath.Base(dir), err, stays)
		}
	}
	for _, f := range []*Folder{held, second} {
		if err := f.Drop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.Dir); err == nil {
			t.Errorf("%s is there", f.Dir)
		}
	}
}
