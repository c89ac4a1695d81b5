package landing

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// release calls .ci/release with more in its environment, and returns what it prints.
func release(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), ".ci/release", args...)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// What cannot be released is refused before anything is built.
func TestReleaseRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("releases are built on Linux")
	}
	full := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(full, "x"), nil, 0o666))
	for want, args := range map[string][]string{
		`the version is "1.2"; expected one like v1.2.3`: {"1.2"},
		`there is no platform "linux/pdp11"`:             {"v1.2.3", "linux/pdp11"},
		"is not empty: nothing is written over":          {"-o", full, "v1.2.3"},
		"there is no commit refs/tags/v77.0.0 here":      {"-o", t.TempDir(), "v77.0.0"},
	} {
		if said, err := release(t, nil, args...); err == nil || !strings.Contains(said, want) {
			t.Errorf("%v: %v, %s", args, err, said)
		}
	}
}

// The linker tells the program its version, its commit and the commit's time in variables that package run has, in
// releases as in wheels: it passes over variables that are not there.
func TestReleaseTellsTheProgram(t *testing.T) {
	source := string(testkit.Must(os.ReadFile("experiment/run/manifest.go")))
	script := string(testkit.Must(os.ReadFile(".ci/release")))
	wheels := string(testkit.Must(os.ReadFile("python/hatch_build.py")))
	testkit.Contains(t, script, "\ntold="+reflect.TypeFor[run.Machine]().PkgPath()+"\n")
	testkit.Contains(t, wheels, "{MODULE}/experiment/run.{k}")
	for _, name := range []string{"released", "commit", "committed"} {
		testkit.Contains(t, script, "-X $told."+name+"=")
		if !regexp.MustCompile(`(?m)^\t` + name + `\s+string\b`).MatchString(source) {
			t.Errorf("package run has no variable %s of type string", name)
		}
	}
}

// The same commit gives the same files from two folders with caches of their own, and the program says what it is.
func TestReleaseReproducible(t *testing.T) {
	if !testkit.Longest() || runtime.GOOS != "linux" {
		t.Skip("compiles everything twice, on Linux: LANDING_LONG=all")
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	outs := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "a", "longer", "way")}
	for _, out := range outs {
		env := []string{"GOCACHE=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
		if said, err := release(t, env, "-o", out, "-c", "HEAD", "v0.0.1", platform); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	entries := testkit.Must(os.ReadDir(outs[0]))
	testkit.Equal(t, len(entries), 4)
	for _, e := range entries {
		one, two := testkit.Must(os.ReadFile(filepath.Join(outs[0], e.Name()))),
			testkit.Must(os.ReadFile(filepath.Join(outs[1], e.Name())))
		if !bytes.Equal(one, two) {
			t.Errorf("%s: %d and %d bytes that differ", e.Name(), len(one), len(two))
		}
	}
	dir, name := t.TempDir(), "landing_0.0.1_"+strings.ReplaceAll(platform, "/", "_")
	untar := exec.Command("tar", "-xzf", filepath.Join(outs[0], name+".tar.gz"), "-C", dir)
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, name, "landing"), "version", "--json").Output()
	var v struct{ Version, Commit, Time string }
	if err != nil || json.Unmarshal(out, &v) != nil || v.Version != "v0.0.1" || len(v.Commit) != 40 || v.Time == "" {
		t.Errorf("%v: %s", err, out)
	}
	for file, want := range map[string]string{"THIRD_PARTY_LICENSES": "github.com/spf13/cobra",
		"man/man1/landing-train.1": "landing v0.0.1", "completions/_landing": "#compdef landing"} {
		testkit.Contains(t, string(testkit.Must(os.ReadFile(filepath.Join(dir, name, file)))), want)
	}
}
