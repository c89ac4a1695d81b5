// Package testkit holds what tests of several packages share: points, and the reference
// data that a checkout may have beside it.
package testkit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/dense"
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

// Long reports whether tests may take long, a minute in all: where LANDING_LONG is set, as .ci/run does.
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

// Cluster returns n points of the unit sphere of R^d around its first axis, a tenth of it
// wide; every other one around the opposite point, if both.
func Cluster(n, d int, both bool) []float64 {
	x := make([]float64, n*d)
	for i := range n {
		row := x[i*d : (i+1)*d]
		keyed.New(7, keyed.Probe, 1).Normals(row, uint64(i), 0)
		for j := range row {
			row[j] *= 0.1
		}
		row[0]++
		if both && i%2 == 1 {
			row[0] -= 2
		}
		size := dense.Norm(row)
		for j := range row {
			row[j] /= size
		}
	}
	return x
}

// blocks are arrayfile.Rows, whose package this one is to test.
type blocks interface {
	~struct {
		N, D   int
		Blocks iter.Seq[[]float64]
	}
}

// InBlocks tests that a writer writes the rows of x, of d numbers each, as the same bytes however they are cut into
// blocks. Each block is overwritten when the next comes.
func InBlocks[R blocks](t testing.TB, name string, write func(w io.Writer, rows R) error, x []float64, d int) {
	t.Helper()
	var want bytes.Buffer
	if err := write(&want, R{len(x) / d, d, slices.Values([][]float64{x})}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, size := range []int{1, 2, 3} {
		var got bytes.Buffer
		buffer := make([]float64, size*d)
		err := write(&got, R{len(x) / d, d, func(yield func([]float64) bool) {
			for at := 0; at < len(x); at += len(buffer) {
				if !yield(buffer[:copy(buffer, x[at:])]) {
					return
				}
			}
		}})
		if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: in blocks of %d rows it has %d bytes, others than the %d of one block (%v)", name, size,
				got.Len(), want.Len(), err)
		}
	}
}

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
	texts   = map[string]*strings.Builder{} // of tests that run, by their names
)

// Keep adds a text to those that a test compares, at its end, with testdata/TEST.txt, as Kept does.
func Keep(t testing.TB, format string, v ...any) {
	if texts[t.Name()] == nil {
		texts[t.Name()] = new(strings.Builder)
		t.Cleanup(func() {
			got := texts[t.Name()].String()
			if delete(texts, t.Name()); runtime.GOARCH == "amd64" {
				Kept(t, filepath.Join(home, "testdata", strings.ReplaceAll(t.Name(), "/", "-")+".txt"), got)
			}
		})
	}
	fmt.Fprintf(texts[t.Name()], format+"\n", v...)
}

// fraction matches the numbers that KeepValue rounds, and scratch the folders of a test, which it names DIR.
var scratch = regexp.MustCompile(`[^\s"'=:,;]*/Test\w*\d{5,}/\d{3}`)
var fraction = regexp.MustCompile(`-?\d+\.\d+(e[-+]?\d+)?|-?\b\d+e[-+]?\d+`)

// KeepValue keeps a text, or a value as JSON where it can be written so. Numbers have four digits, below 1e-9 none:
// kernels round otherwise.
func KeepValue(t testing.TB, v any) {
	text, ok := v.(string)
	if b, err := json.Marshal(v); !ok && err == nil {
		text = string(b)
	} else if !ok {
		text = fmt.Sprintf("%+v", v)
	}
	Keep(t, "%s", fraction.ReplaceAllStringFunc(scratch.ReplaceAllString(text, "DIR"), func(s string) string {
		x := Must(strconv.ParseFloat(s, 64))
		if math.Abs(x) < 1e-9 {
			x = 0
		}
		return strconv.FormatFloat(x, 'g', 4, 64)
	}))
}

// Ordered iterates over a map by its keys.
func Ordered[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// Cases answers the inputs in testdata/TEST.txt, and tests the answers there, as Kept does. An answer follows its input
// in lines that begin with "= ".
func Cases(t testing.TB, answer func(input string) string) {
	t.Helper()
	file := filepath.Join(home, "testdata", t.Name()+".txt")
	var input, all strings.Builder
	for line := range strings.Lines(string(Must(os.ReadFile(file)))) {
		switch {
		case !strings.HasPrefix(line, "= "):
			input.WriteString(line)
			all.WriteString(line)
		case input.Len() > 0:
			got := answer(strings.TrimSuffix(input.String(), "\n"))
			all.WriteString("= " + strings.ReplaceAll(got, "\n", "\n= ") + "\n")
			input.Reset()
		}
	}
	if strings.TrimSpace(input.String()) != "" {
		t.Errorf("%s ends without an answer: a line \"= \" asks for one", file)
	}
	Kept(t, file, all.String())
}
