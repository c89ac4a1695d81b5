package langevin

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// among runs f on every rank of a group, each with a simulator of its own.
func among(p *Process, size, rows int, f func(g ranks.Group, s *Simulator)) {
	var wait sync.WaitGroup
	for _, g := range ranks.Local(size) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			pool := parallel.New(1 + g.Rank()%2)
			defer pool.Close()
			s := NewSimulator(p, pool, rows).Tolerate()
			s.Among(g)
			f(g, s)
		}()
	}
	wait.Wait()
}

// cracked is a set whose first component is no number for points whose last coordinate is above a bound, such as
// paths reach by chance.
type cracked struct {
	constraint.Set
	above float64
}

func (c cracked) NewEvaluator(rows int) constraint.Evaluator {
	e := c.Set.NewEvaluator(rows)
	jacobians := e.Jacobians
	e.Jacobians = func(values, jac, x []float64, n int) {
		jacobians(values, jac, x, n)
		for i := range n {
			if x[(i+1)*c.Dim()-1] > c.above {
				values[i*len(values)/n] = math.NaN()
			}
		}
	}
	return e
}

// Paths that are divided among ranks are those of one process on each of them, folds at elastic walls and paths that
// break down included, and so is the report.
func TestForwardAmongRanks(t *testing.T) {
	hemisphere := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	const n, seed, refresh = 50, 5, 4
	for name, set := range map[string]constraint.Set{"walls": hemisphere, "breaks": cracked{zoo.Sphere{D: 3}, 0.97}} {
		p := &Process{Set: set, Method: ULLA, Friction: 3,
			Schedule: Schedule{N: 12, T: 2, SigmaMin: 0.3, SigmaMax: 1.3}}
		x0 := make([]float64, 0, 3*n)
		for i := range n {
			x0 = append(x0, 0, 0, 0)
			hemisphere.Capabilities().SampleUniform(x0[3*i:], keyed.New(1, keyed.Probe, 3), uint64(i))
		}
		pool := testkit.Pool(t, 2)
		var want Paths
		told := testkit.Must(NewSimulator(p, pool, 8).Tolerate().Forward(t.Context(), &want, x0, seed, refresh))
		if name == "walls" && told.Reflected == 0 || name == "breaks" && (told.Broken == 0 || told.Broken == n) {
			t.Fatalf("%s: nothing happens: %+v", name, told)
		}
		ks := []int{2, 12}
		part, lost := make([]float64, 3*n*len(ks)), make([]bool, n)
		for _, size := range []int{1, 2, 3, 4, 60} {
			among(p, size, 8, func(g ranks.Group, s *Simulator) {
				var got Paths
				r, err := s.Forward(t.Context(), &got, x0, seed, refresh)
				if err != nil {
					t.Errorf("%s, rank %d of %d: %v", name, g.Rank(), size, err)
					return
				}
				if !slices.Equal(got.X, want.X) || !slices.Equal(got.Failed, want.Failed) {
					t.Errorf("%s, rank %d of %d has other paths", name, g.Rank(), size)
				}
				for i := range got.folds {
					a, b := &got.folds[i], &want.folds[i]
					if !slices.Equal(a.k, b.k) || !slices.Equal(a.ym, b.ym) || !slices.Equal(a.mirrors, b.mirrors) ||
						!slices.Equal(a.n, b.n) {
						t.Errorf("%s, rank %d of %d: path %d has other folds", name, g.Rank(), size, i)
					}
				}
				if (r.Break == nil) != (told.Break == nil) || r.Break != nil && r.Break.Error() != told.Break.Error() {
					t.Errorf("%s, rank %d of %d: %v; alone %v", name, g.Rank(), size, r.Break, told.Break)
				}
				with := told
				if r.Break, with.Break = nil, nil; !reflect.DeepEqual(r, with) {
					t.Errorf("%s, rank %d of %d reports %+v; alone %+v", name, g.Rank(), size, r, with)
				}
				x, failed := make([]float64, len(part)), make([]bool, n)
				if _, err := s.Partway(t.Context(), x, failed, x0, ks, 0, keyed.PathNoise.Stream(seed, refresh),
					keyed.PathMomentum.Stream(seed, refresh)); err != nil {
					t.Error(err)
				}
				if size == 1 {
					copy(part, x)
					copy(lost, failed)
				} else if !slices.Equal(x, part) || !slices.Equal(failed, lost) {
					t.Errorf("%s, rank %d of %d has other states partway", name, g.Rank(), size)
				}
			})
		}
	}
}

// What ends the simulation on one rank ends it on all: the context of rank 0, or a path that breaks down where that
// is not borne. The error has its place.
func TestForwardAmongRanksEnds(t *testing.T) {
	p := &Process{Set: cracked{zoo.Sphere{D: 3}, 0.97}, Method: ULLA, Friction: 3,
		Schedule: Schedule{N: 12, T: 2, SigmaMin: 0.3, SigmaMax: 1.3}}
	x0 := make([]float64, 3*50)
	for i := range 50 {
		x0[3*i] = 1
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	among(p, 3, 8, func(g ranks.Group, s *Simulator) {
		var paths Paths
		ctx := t.Context()
		if g.Rank() == 0 {
			ctx = over
		}
		if _, err := s.Forward(ctx, &paths, x0, 1, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", g.Rank(), err)
		}
	})
	pool := testkit.Pool(t, 1)
	var paths Paths
	_, want := NewSimulator(p, pool, 1).Forward(t.Context(), &paths, x0, 1, 1)
	var broke *DivergedError
	if !errors.As(want, &broke) {
		t.Fatalf("got %v", want)
	}
	among(p, 3, 1, func(g ranks.Group, s *Simulator) {
		s.tolerant = false
		var paths Paths
		_, err := s.Forward(t.Context(), &paths, x0, 1, 1)
		if !errors.As(err, new(*DivergedError)) || err.Error() != want.Error() {
			t.Errorf("rank %d: %v, alone %v", g.Rank(), err, want)
		}
	})
}
