// Package testkit holds what tests of several packages share: points, and the reference
// data that a checkout may have beside it.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
)

// Fuzzing spends 60 seconds on making each new input smaller unless the command line says otherwise: no time is left to
// find others.
func init() {
	testing.Init()
	if err := flag.Set("test.fuzzminimizetime", "100x"); err != nil {
		panic(err)
	}
}

// Shared returns the path of a file of the reference data.
// They are looked for under $LANDING_SHARED, else in a folder "shared" beside
// the checkout. Without them the test is skipped; with LANDING_SHARED set, a
// missing file fails it.
func Shared(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("LANDING_SHARED")
	must := root != ""
	if !must {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for ; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				root = filepath.Join(filepath.Dir(dir), "shared")
				break
			}
			if dir == filepath.Dir(dir) {
				t.Fatal("no go.mod above the test's folder")
			}
		}
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if must {
			t.Fatalf("LANDING_SHARED is set but %s is not there", name)
		}
		t.Skipf("needs the reference data %s, which is not beside this checkout", name)
	}
	return path
}

// Long reports whether tests may take long, three minutes in all: where LANDING_LONG is set, as .ci/run does.
func Long() bool { return os.Getenv("LANDING_LONG") != "" }

// Longest reports whether tests may take a quarter of an hour: where LANDING_LONG is all.
func Longest() bool { return os.Getenv("LANDING_LONG") == "all" }

// OK ends the test at an error.
func OK(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Pool starts a pool of `workers` workers, which ends with the test.
func Pool(t interface{ Cleanup(f func()) }, workers int) *parallel.Pool {
	p := parallel.New(workers)
	t.Cleanup(p.Close)
	return p
}

// Must returns v, and panics at an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Err returns the error of a call of two results.
func Err[T any](_ T, err error) error { return err }

// Refused tests that there is an error, with want in it; what says of what.
func Refused(t testing.TB, err error, want string, what ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(append(what, fmt.Sprintf("error %v, want %q in it", err, want))...)
	}
}
