// Package job begins runs of problems, for tests. It does not import package experiment,
// whose own tests use it. Where it is linked, windows are fitted to a sixteenth of the paths.
package job

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/earth"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func init() { pathmatch.FitNumbers = 1 << 13 }

// DemoRows lets data of kind demo have one row of this many: tests that need data, and not many rows, read a few.
func DemoRows(of int) {
	demo := &kinds.All[slices.IndexFunc(kinds.All, func(k domain.Kind) bool { return k.Bundled })]
	demo.Read = func(path string) (*dataset.Points, error) {
		p, err := earth.Demo.Read(path)
		p.N /= of
		for i := range p.N {
			copy(p.X[i*p.D:(i+1)*p.D], p.X[i*of*p.D:])
		}
		p.X = p.X[:p.N*p.D]
		return p, err
	}
}

// A Loaded is an *experiment.Loaded, and R an *experiment.Run.
type Loaded[R any] interface {
	Begin(f *run.Folder, text []byte, command []string) (R, error)
}

// Begin puts a loaded problem into a run folder, which lasts as long as the test.
func Begin[R any](t testing.TB, l Loaded[R], text []byte) R {
	t.Helper()
	f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
	t.Cleanup(f.Unlock)
	return testkit.Must(l.Begin(f, text, []string{"test"}))
}

// New reads a problem file with keys set over it, loads it with load, which is
// experiment.Load, on two workers, and begins a run of it.
func New[R any, L Loaded[R]](t testing.TB, load func(context.Context, *problem.Problem, *parallel.Pool,
	func(string)) (L, error), text []byte, origin string, settings ...string) R {
	t.Helper()
	p := testkit.Must(problem.Load(text, origin, "", problem.ParseSettings(settings...)))
	l := testkit.Must(load(t.Context(), p, testkit.Pool(t, 2), nil))
	return Begin[R](t, l, text)
}
