package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The committed assembly is what the generator writes, byte for byte.
func TestCommitted(t *testing.T) {
	folder, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	main()
	geometry := filepath.Join(folder, "../../constraint/geometry")
	translateFile(filepath.Join(geometry, "pattern_amd64.s"))
	committed, _ := filepath.Glob(filepath.Join(folder, "*.s"))
	committed = append(committed, filepath.Join(geometry, "pattern_arm64.s"))
	written, _ := filepath.Glob("*.s")
	if len(committed) == 0 || len(committed) != len(written) {
		t.Errorf("the generator writes %v; expected the files %v", written, committed)
	}
	for _, path := range committed {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Base(path)); err != nil || string(got) != string(want) {
			t.Errorf("%s differs from what the generator writes; run go generate (%v)", path, err)
		}
	}
}
