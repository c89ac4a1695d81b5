package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder of scratch stays while its process holds it, and while it is young; another process then removes it.
func TestScratch(t *testing.T) {
	parent := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fresh, left, other := make("x-1", 0), make("x-2", 2*young), make("y-1", 2*young)
	held, err := Scratch(parent, "x-")
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * young)
	if err := os.Chtimes(held.Dir, then, then); err != nil {
		t.Fatal(err)
	}
	second, err := Scratch(parent, "x-")
	if err != nil {
		t.Fatal(err)
	}
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
