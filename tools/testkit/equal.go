package testkit

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// failed reports a value that is not the expected one. what, if any, is a format with its arguments.
func failed(t testing.TB, what []any, fault string) {
	t.Helper()
	if len(what) > 0 {
		fault = fmt.Sprintf(what[0].(string), what[1:]...) + ": " + fault
	}
	t.Error(fault)
}

// Equal tests that got is want.
func Equal[T comparable](t testing.TB, got, want T, what ...any) {
	if got != want {
		t.Helper()
		failed(t, what, fmt.Sprintf("got %v, want %v", got, want))
	}
}

// EqualSlices tests that two slices have the same elements; it names the first that differs.
func EqualSlices[S ~[]E, E comparable](t testing.TB, got, want S, what ...any) {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Helper()
			failed(t, what, fmt.Sprintf("element %d is %v, want %v", i, got[i], want[i]))
			return
		}
	}
	if len(got) != len(want) {
		t.Helper()
		failed(t, what, fmt.Sprintf("%d elements, want %d", len(got), len(want)))
	}
}

// Near tests that got is within a tolerance of want.
func Near(t testing.TB, got, want, tolerance float64, what ...any) {
	if got != want && !(math.Abs(got-want) <= tolerance) {
		t.Helper()
		failed(t, what, fmt.Sprintf("got %v, want %v within %v", got, want, tolerance))
	}
}

// Contains tests that a text has want in it.
func Contains(t testing.TB, text, want string, what ...any) {
	if !strings.Contains(text, want) {
		t.Helper()
		failed(t, what, fmt.Sprintf("no %q in\n%s", want, text))
	}
}

// Kept tests that a text is, line by line, the one kept in a file of the package: what users see changes only on
// purpose. LANDING_UPDATE=1 writes the file. Other processors than amd64 round otherwise; there the test is skipped.
func Kept(t testing.TB, file, got string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the texts kept are those of amd64")
	}
	if os.Getenv("LANDING_UPDATE") != "" {
		OK(t, os.WriteFile(file, []byte(got), 0o666))
	}
	lines := func(s string) []string { return strings.Split(s, "\n") }
	EqualSlices(t, lines(got), lines(string(Must(os.ReadFile(file)))), "%s (LANDING_UPDATE=1 writes it anew)", file)
}

var (
	home, _ = os.Getwd()
	texts   sync.Map // of tests that run, by their names
)

// Keep adds a text to those that a test compares, at its end, with testdata/TEST.txt, as Kept does.
func Keep(t testing.TB, format string, v ...any) {
	if runtime.GOARCH != "amd64" {
		return
	}
	b, old := texts.LoadOrStore(t.Name(), new(strings.Builder))
	fmt.Fprintf(b.(*strings.Builder), format+"\n", v...)
	if old {
		return
	}
	t.Cleanup(func() {
		texts.Delete(t.Name())
		Kept(t, filepath.Join(home, "testdata", filepath.Base(t.Name())+".txt"), b.(*strings.Builder).String())
	})
}
