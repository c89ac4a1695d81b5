// Package job begins runs of problems, for tests. It does not import package experiment,
// whose own tests use it. Where it is linked, windows are fitted to a sixteenth of the paths.
package job

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/problem"
)

func init() { pathmatch.FitNumbers = 1 << 13 }

// A Loaded is an *experiment.Loaded, and R an *experiment.Run.
type Loaded[R any] interface {
	Begin(f *run.Folder, text []byte, command []string) (R, error)
}

// Begin puts a loaded problem into a run folder, which lasts as long as the test.
func Begin[R any](t testing.TB, l Loaded[R], text []byte) R {
	t.Helper()
	f, err := run.Create(filepath.Join(t.TempDir(), "r"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Unlock)
	r, err := l.Begin(f, text, []string{"test"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// New reads a problem file with keys set over it, loads it with load, which is
// experiment.Load, on two workers, and begins a run of it.
func New[R any, L Loaded[R]](t testing.TB, load func(context.Context, *problem.Problem, *parallel.Pool,
	func(string)) (L, error), text []byte, origin string, settings ...string) R {
	t.Helper()
	p, err := problem.Load(text, origin, "", problem.ParseSettings(settings...))
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	l, err := load(t.Context(), p, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Begin[R](t, l, text)
}
