package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var when = time.Date(2026, 11, 23, 1, 2, 4, 0, time.UTC)

// Archives hold their files with names and modes, are of the commit's time, and the same bytes again.
func TestArchives(t *testing.T) {
	files := []file{{"a/landing", 0o755, []byte("program")}, {"a/man/landing.1", 0o644, bytes.Repeat([]byte("x"), 1e5)}}
	for name, write := range map[string]func(io.Writer, []file, time.Time) error{"tar": tarball, "zip": zipped} {
		var one, two bytes.Buffer
		testkit.OK(t, errors.Join(write(&one, files, when), write(&two, files, when)))
		testkit.EqualSlices(t, one.Bytes(), two.Bytes(), "%s: other bytes again", name)
		got := map[string]fs.FileInfo{}
		if name == "zip" {
			z := testkit.Must(zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len())))
			for _, f := range z.File {
				got[f.Name] = f.FileInfo()
			}
		} else {
			z := testkit.Must(gzip.NewReader(&one))
			if !z.ModTime.IsZero() || z.Name != "" {
				t.Errorf("the header is of %v, %q", z.ModTime, z.Name)
			}
			for r := tar.NewReader(z); ; {
				h, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				testkit.OK(t, err)
				got[h.Name] = h.FileInfo()
			}
		}
		for _, f := range files {
			if i := got[f.name]; i == nil || i.Size() != int64(len(f.data)) || i.Mode().Perm() != f.mode ||
				!i.ModTime().Equal(when) {
				t.Errorf("%s: %s is %+v", name, f.name, i)
			}
		}
	}
}

// The program is told its version, its commit and the commit's time, in variables that package run has.
func TestToldToTheProgram(t *testing.T) {
	r := Release{Version: "v1.2.3", sha: "0123abc", time: when}
	testkit.Equal(t, toldPackage, reflect.TypeFor[run.Machine]().PkgPath())
	source := testkit.Must(os.ReadFile("../../experiment/run/manifest.go"))
	wheels := testkit.Must(os.ReadFile("../../python/hatch_build.py"))
	testkit.Contains(t, string(wheels), "{MODULE}/experiment/run.{k}")
	for name, value := range map[string]string{"released": "v1.2.3", "commit": "0123abc",
		"committed": "2026-11-23T01:02:04Z"} {
		if want := " -X " + toldPackage + "." + name + "=" + value; !strings.Contains(r.flags()+" ", want+" ") {
			t.Errorf("no%s in %s", want, r.flags())
		}
		if !regexp.MustCompile(`(?m)^\t` + name + `\s+string\b`).Match(source) {
			t.Errorf("package run has no variable %s of type string", name)
		}
	}
}

// What cannot be released is refused before anything is built.
func TestRefused(t *testing.T) {
	full := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(full, "x"), nil, 0o666))
	for want, r := range map[string]Release{
		`the version is "1.2"; expected one like v1.2.3`: {Version: "1.2"},
		`there is no platform "linux/pdp11"`:             {Version: "v1.2.3", Platforms: []string{"linux/pdp11"}},
		"is not empty":                                   {Version: "v1.2.3", Out: full},
		"there is no commit refs/tags/v77.0.0 here":      {Version: "v77.0.0", Out: t.TempDir(), Repo: "../.."},
	} {
		r.Say = func(string) {}
		testkit.Refused(t, r.Make(context.Background()), want)
	}
}

// What the machine and its user have set for Go is not what is built by, but for where modules are.
func TestGoEnv(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	text := "GOFLAGS=-tags=theirs\nGOPROXY=https://proxy.example.org\n"
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
	for name, value := range map[string]string{"GOENV": file, "GOFLAGS": "", "GOPROXY": "", "GOAMD64": "v3",
		"GOEXPERIMENT": "nodwarf5"} {
		t.Setenv(name, value)
	}
	r := Release{Env: []string{"GOCACHE=/c"}}
	env := testkit.Must(r.goEnv(t.Context(), "."))
	want := map[string]string{"GOFLAGS": "", "GOAMD64": "v1", "GOEXPERIMENT": "", "CGO_ENABLED": "0", "GOCACHE": "/c",
		"GOPROXY": "https://proxy.example.org"}
	got, err := r.settings(t.Context(), ".", env, slices.Sorted(maps.Keys(want))...)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
}

// A version of which the changes do not tell is not released.
func TestTold(t *testing.T) {
	dir := t.TempDir()
	changes := "# Changes\n\n## Unreleased\n\n## 1.2.30, 2026-11-23\n- x\n## 1.3.0\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, changesFile), []byte(changes), 0o666))
	for version, ok := range map[string]bool{"v1.2.30": true, "v1.3.0": true, "v1.2.3": false, "v1.2": false} {
		if err := (&Release{Version: version}).told(dir); (err == nil) != ok {
			t.Errorf("%s: %v", version, err)
		}
	}
	testkit.OK(t, (&Release{Version: "v9.9.9", Commit: "HEAD"}).told(dir))
}

// The same commit gives the same files from two folders with caches of their own, and the program says what it is.
func TestReproducible(t *testing.T) {
	if !testkit.Longest() {
		t.Skip("compiles everything twice: LANDING_LONG=all")
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	outs := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "a", "longer", "way")}
	for _, out := range outs {
		cache := t.TempDir()
		t.Setenv("TMPDIR", t.TempDir()) // where the clone goes
		r := Release{Repo: "../..", Out: out, Version: "v0.0.1", Commit: "HEAD", Platforms: []string{platform},
			Env: []string{"GOCACHE=" + cache}, Say: func(s string) { t.Log(s) }}
		testkit.OK(t, r.Make(t.Context()))
	}
	entries, err := os.ReadDir(outs[0])
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		one, err1 := os.ReadFile(filepath.Join(outs[0], e.Name()))
		two, err2 := os.ReadFile(filepath.Join(outs[1], e.Name()))
		if errors.Join(err1, err2) != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: %d and %d bytes that differ: %v", e.Name(), len(one), len(two), errors.Join(err1, err2))
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	name := "landing_0.0.1_" + strings.ReplaceAll(platform, "/", "_")
	dir := t.TempDir()
	untar := exec.Command("tar", "-xzf", filepath.Join(outs[0], name+".tar.gz"), "-C", dir)
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, name, "landing"), "version", "--json").Output()
	var v struct{ Version, Commit, Time string }
	if err != nil || json.Unmarshal(out, &v) != nil || v.Version != "v0.0.1" || len(v.Commit) != 40 || v.Time == "" {
		t.Errorf("%v: %s", err, out)
	}
	if terms, err := os.ReadFile(filepath.Join(dir, name, licencesFile)); err != nil ||
		!bytes.Contains(terms, []byte("github.com/spf13/cobra")) || !bytes.Contains(terms, []byte("Google")) {
		t.Errorf("the licences of what is linked: %v, %d bytes", err, len(terms))
	}
	if page, err := os.ReadFile(filepath.Join(dir, name, "man", "man1", "landing-train.1")); err != nil ||
		!bytes.Contains(page, []byte("landing v0.0.1")) {
		t.Errorf("the page of train: %v", err)
	}
}
